# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""The exact audit of output perturbation: how far a record moves the minimiser, in units of the noise (T29-T32)."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import cast

import numpy as np

from dperm.accounting import account
from dperm.audit.exact.claims import deltas_of
from dperm.audit.exact.crowds import Neighbours, designs
from dperm.audit.exact.turns import of_one_score
from dperm.audit.finding import Finding
from dperm.audit.lower_bound import LowerBound
from dperm.checks import shown
from dperm.data.arrays import Floats
from dperm.erm.minimize import minimize
from dperm.errors import ParameterError
from dperm.methods.output import OutputPlan
from dperm.noise.grid import Norm
from dperm.privacy.gaussian_profile import epsilon_bracket
from dperm.privacy.rounding import lowered

GAUSSIAN = "gaussian"


@dataclass(frozen=True)
class Move:
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
    of_one_score(plan.spec.loss)
    best = max(_moves(plan, progress), key=lambda move: move.size)
    profile = account(plan.event, plan.adjacency)
    name = f"output perturbation of dperm ({plan.spec.loss.name}, {plan.mechanism.name} noise, d = {plan.spec.dim})"
    facts = {"neighbours": best.design, "moved": best.size}
    return Finding(name, plan.goal, _bounds(plan, best.size), 1.0, profile, facts)


def _moves(plan: OutputPlan, progress: Callable[[float], None] | None) -> list[Move]:
    found, chosen = [], designs(plan.spec.width)
    for place, design in enumerate(chosen):
        pair = Neighbours(design, plan.spec, plan.adjacency).pair
        one, two = (minimize(data, plan.spec, cast(float, plan.tolerance)) for data in pair)
        found.append(Move(design.name, lowered(_length(plan, one - two) / plan.mechanism.scale, 64)))
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
        for delta in deltas_of(plan.goal)
    }
