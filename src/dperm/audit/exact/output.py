# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""The exact audit of output perturbation: how far a record moves the minimiser, in units of the noise (T29-T32)."""

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
from dperm.data.targets import Classes, Interval, Kind
from dperm.erm.minimize import minimize
from dperm.erm.spec import ProblemSpec
from dperm.errors import ParameterError
from dperm.methods.output import OutputPlan
from dperm.noise.grid import Norm
from dperm.privacy import Adjacency
from dperm.privacy.gaussian_profile import epsilon_bracket
from dperm.privacy.rounding import lowered

CROWD = 10_000
ANGLES = (0.2, 0.45)


@dataclass(frozen=True)
class Design:
    """Rows of the unit ball of a plane, all with the target 1: a crowd, the record, and what takes its place."""

    name: str
    crowd: tuple[tuple[float, float], int]
    record: tuple[float, float]
    other: tuple[float, float]


def designs(dim: int) -> tuple[Design, ...]:
    """In one dimension opposite records, with a crowd of short rows or without; in more also the crowd of T30.

    Short rows push theta and hardly bend the objective. The crowd of T30, many records e1, holds the margin of the
    record (-eta, +-sqrt(1 - eta^2)) so far below 0 that its slope is nearly 1, while nothing resists it across.
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
    """A design as data for a problem, in as many rows as its n allows."""

    design: Design
    spec: ProblemSpec
    adjacency: Adjacency

    @cached_property
    def pair(self) -> tuple[BoundedData, BoundedData]:
        """Record and other (replace-one), or record and nobody (add/remove)."""
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
        target = Classes((-1, 1)) if self.spec.loss.labels is Kind.SIGN else Interval(-1.0, 1.0)
        labels = np.ones(len(X), dtype=int) if self.spec.loss.labels is Kind.SIGN else np.ones(len(X))
        return enforce(X, labels, space, target)

    def _padded(self, rows: Floats) -> Floats:
        """In the dimension and the radius of the problem."""
        X = np.zeros((len(rows), self.spec.width))
        shared = min(2, self.spec.width)
        X[:, :shared] = self.spec.radius * rows[:, :shared]
        return X


GAUSSIAN = "gaussian"


@dataclass(frozen=True)
class Displacement:
    """How far neighbours of a design move what is released, in scales of the noise, rounded down."""

    design: str
    size: float


def output(plan: OutputPlan, *, progress: Callable[[float], None] | None = None) -> Finding:
    """A lower bound on the epsilon of output perturbation, exactly, for the law of the noise before rounding.

    Both data sets go through the real bounds and the real solver. Noise of density ~ e^{-||x||/s} around two points has
    the largest privacy loss ||theta - theta'||/s, attained at theta (T7); Gaussian noise is exactly mu-GDP with
    mu = ||theta - theta'||/sigma (T6). The designs reach the bound of T30 or nearly.

    Parameters
    ----------
    plan
        Of `OutputPerturbation`, for a loss of one score; rows are in the first two coordinates.
    progress
        Is told the share that is done.

    Examples
    --------
    >>> from dperm import PureDP
    >>> from dperm.audit import exact
    >>> from dperm.erm.losses import HuberHinge
    >>> from dperm.erm.spec import ProblemSpec
    >>> from dperm.methods import OutputPerturbation
    >>> spec = ProblemSpec(HuberHinge(), radius=1.0, dim=1, regularization=100.0)
    >>> print(exact.output(OutputPerturbation().plan(spec, PureDP(1.0, "replace_one"))))
    No violation found: epsilon >= 0.9999 exactly, claimed 1 (largest loss).
    """
    if not isinstance(plan, OutputPlan):
        raise ParameterError(f"plan must be a plan of OutputPerturbation, got {shown(plan)}.")
    require_one_score(plan.spec.loss)
    best = max(_moves(plan, progress), key=lambda move: move.size)
    profile = account(plan.event, plan.adjacency)
    name = f"output perturbation of dperm ({plan.spec.loss.name}, {plan.mechanism.name} noise, d = {plan.spec.dim})"
    facts = {"neighbours": best.design, "moved": best.size}
    return Finding(name, plan.goal, _bounds(plan, best.size), 1.0, profile, facts)


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
    """In the norm of the noise."""
    return float(np.abs(moved).sum() if plan.mechanism.norm is Norm.L1 else np.linalg.norm(moved))


def _bounds(plan: OutputPlan, size: float) -> dict[str, LowerBound]:
    """The loss at a point; of Gaussian noise, for which that is infinite, epsilon where the goal is looked at."""
    if plan.mechanism.name.lower() != GAUSSIAN:
        return {"largest loss": LowerBound(size, 0.0, 1.0, "privacy loss at a point (T7)")}
    return {
        f"hockey stick at delta {delta:.3g}": LowerBound(
            epsilon_bracket(size, delta)[0], delta, 1.0, "Gaussian profile (T6)"
        )
        for delta in exact_audit_deltas(plan.goal)
    }
