# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Exact audit of output perturbation (T29-T32).

The audit computes the distance between the minimizers for two neighbouring data sets, relative to the noise.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import cast

import numpy as np

from dperm.accounting import account
from dperm.audit.claim import exact_audit_deltas
from dperm.audit.exact.density import require_one_score
from dperm.audit.finding import Finding
from dperm.audit.lower_bound import LowerBound
from dperm.checks import shown
from dperm.data.arrays import Floats
from dperm.data.bounded import BoundedData, enforce
from dperm.data.space import FeatureSpace
from dperm.data.targets import Classes, Interval, LabelKind
from dperm.erm.minimize import minimize
from dperm.erm.spec import ProblemSpec
from dperm.errors import ParameterError
from dperm.methods.output import OutputPlan
from dperm.noise.grid import Norm
from dperm.privacy import Adjacency
from dperm.privacy.gaussian_profile import epsilon_bracket
from dperm.privacy.rounding import lowered

CROWD = 10_000
"""Number of records in a crowd."""
ANGLES = (0.2, 0.45)
GAUSSIAN = "gaussian"


@dataclass(frozen=True)
class Design:
    """Neighbours in the unit disk, all with target 1.

    Attributes
    ----------
    name
        Description for the report.
    crowd
        Common row, and its multiplicity.
    record, other
        The record that differs, and its replacement.
    """

    name: str
    crowd: tuple[tuple[float, float], int]
    record: tuple[float, float]
    other: tuple[float, float]


def designs(dim: int) -> tuple[Design, ...]:
    """Return candidate designs that move the minimizer far (T30).

    In one dimension the records are opposite, with or without a crowd of short rows. Short rows shift theta with little
    added curvature. More dimensions add the crowd of T30, many records e1: it keeps the margin of the record
    (-eta, +-sqrt(1 - eta^2)) far below 0. The record's slope is then close to 1, and no other record acts in the second
    direction.
    """
    found = [
        Design("opposite records", ((0.0, 0.0), 1), (1.0, 0.0), (-1.0, 0.0)),
        Design("opposite records beside a crowd of short rows", ((0.01, 0.0), CROWD), (-1.0, 0.0), (1.0, 0.0)),
    ]
    for eta in ANGLES if dim > 1 else ():
        across = math.sqrt(1 - eta * eta)
        found.append(Design(f"across a crowd, eta = {eta:g}", ((1.0, 0.0), CROWD), (-eta, across), (-eta, -across)))
    if dim > 1:  # for noise of the L1 norm
        half = math.sqrt(0.5)
        found.append(Design("opposite records on a diagonal", ((0.0, 0.0), 1), (half, half), (-half, -half)))
    return tuple(found)


@dataclass(frozen=True)
class DesignNeighbours:
    """Data sets of a design for a problem, with as many rows as its n allows."""

    design: Design
    spec: ProblemSpec
    adjacency: Adjacency

    @cached_property
    def pair(self) -> tuple[BoundedData, BoundedData]:
        """Data with the record, and with its replacement (replace_one) or without it (add_remove)."""
        if self.adjacency is Adjacency.REPLACE_ONE:
            return self._data(self.design.record), self._data(self.design.other)
        return self._data(self.design.record), self._data(None)

    def _data(self, record: tuple[float, float] | None) -> BoundedData:
        row, count = self.design.crowd
        room = count if self.spec.n is None or self.adjacency is Adjacency.ADD_REMOVE else self.spec.n - 1
        rows = [np.tile(row, (min(count, room), 1)), np.zeros((max(0, room - count), 2))]
        rows += [] if record is None else [np.array([record])]
        X = self._padded(np.concatenate(rows))
        space = FeatureSpace(self.spec.width, norm=self.spec.radius, intercept=False)
        target = Classes((-1, 1)) if self.spec.loss.labels is LabelKind.SIGN else Interval(-1.0, 1.0)
        labels = np.ones(len(X), dtype=int) if self.spec.loss.labels is LabelKind.SIGN else np.ones(len(X))
        return enforce(X, labels, space, target)

    def _padded(self, rows: Floats) -> Floats:
        """Return the rows in the dimension and with the radius of the problem."""
        X = np.zeros((len(rows), self.spec.width))
        shared = min(2, self.spec.width)
        X[:, :shared] = self.spec.radius * rows[:, :shared]
        return X


@dataclass(frozen=True)
class Displacement:
    """Distance between the minimizers of a design's neighbours, in multiples of the noise scale, rounded down."""

    design: str
    size: float


def output(plan: OutputPlan, *, progress: Callable[[float], None] | None = None) -> Finding:
    """Return a lower bound on the epsilon of output perturbation, without sampling (A8).

    The audit builds neighbouring data sets, enforces the plan's bounds on them, and finds their minimizers theta and
    theta' with the plan's solver. If the noise has a density proportional to e^{-||x||/s}, the largest privacy loss
    between theta plus noise and theta' plus noise is ||theta - theta'||/s, attained at theta (T7). If the noise is
    Gaussian with standard deviation sigma, the two distributions have the trade-off curve of mu-GDP with
    mu = ||theta - theta'||/sigma (T6). The data sets are chosen to make ||theta - theta'|| close to the sensitivity
    bound of T30. The bound refers to the continuous noise distribution, before rounding to a grid.

    Parameters
    ----------
    plan
        Plan of `OutputPerturbation` for a loss with one score. In the audited data sets, all features after the second
        are 0.
    progress
        Callback that receives the completed fraction of the work, in (0, 1].

    Returns
    -------
    Finding
        Lower bound with confidence 1 and the verdict on the plan's goal.

    Raises
    ------
    ParameterError
        If ``plan`` has an unsupported type, or its loss has several scores.

    Examples
    --------
    >>> from dperm import PureDP
    >>> from dperm.audit import exact
    >>> from dperm.erm.losses import HuberHinge
    >>> from dperm.erm.spec import ProblemSpec
    >>> from dperm.methods import OutputPerturbation
    >>> spec = ProblemSpec(HuberHinge(), radius=1.0, dim=1, regularization=100.0)
    >>> print(exact.output(OutputPerturbation().plan(spec, PureDP(1.0, "replace_one"))))
    No violation found: epsilon >= 0.9999 with certainty, claimed 1 (largest loss).
    """
    if not isinstance(plan, OutputPlan):
        raise ParameterError(argument="plan", rule="must be a plan of OutputPerturbation", got=shown(plan))
    require_one_score(plan.spec.loss)
    best = max(_moves(plan, progress), key=lambda move: move.size)
    profile = account(plan.event, plan.adjacency)
    name = f"output perturbation of dperm ({plan.spec.loss.name}, {plan.mechanism.name} noise, d = {plan.spec.dim})"
    facts = {"neighbours": best.design, "moved": best.size}
    return Finding(name, plan.goal, bounds=_bounds(plan, best.size), confidence=1.0, profile=profile, facts=facts)


def _moves(plan: OutputPlan, progress: Callable[[float], None] | None) -> list[Displacement]:
    found, chosen = [], designs(plan.spec.width)
    for place, design in enumerate(chosen):
        pair = DesignNeighbours(design, plan.spec, plan.adjacency).pair
        one, two = (minimize(data, plan.spec, cast(float, plan.tolerance)) for data in pair)
        found.append(Displacement(design.name, lowered(_length(plan, one - two) / plan.mechanism.scale, 64)))
        if progress is not None:
            progress((place + 1) / len(chosen))
    return found


def _length(plan: OutputPlan, moved: Floats) -> float:
    """Return the length in the norm of the noise."""
    return float(np.abs(moved).sum() if plan.mechanism.norm is Norm.L1 else np.linalg.norm(moved))


def _bounds(plan: OutputPlan, size: float) -> dict[str, LowerBound]:
    """Return the loss at a point; for Gaussian noise, with unbounded loss, the epsilon at the deltas of the goal."""
    if plan.mechanism.name.lower() != GAUSSIAN:
        return {"largest loss": LowerBound(size, 0.0, 1.0, "privacy loss at a point (T7)")}
    return {
        f"hockey stick at delta {delta:.3g}": LowerBound(
            epsilon_bracket(size, delta)[0], delta, 1.0, "Gaussian profile (T6)"
        )
        for delta in exact_audit_deltas(plan.goal)
    }
