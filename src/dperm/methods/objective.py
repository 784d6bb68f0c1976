# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Objective perturbation: minimise J(theta) + b'theta with random b, then blur what the solver left over (T35-T43)."""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, cast

from dperm.accounting.event import Event
from dperm.data.arrays import Floats
from dperm.data.bounded import BoundedData
from dperm.erm.minimize import minimize
from dperm.erm.rounding import longest as longest_minimizer
from dperm.erm.spec import ProblemSpec
from dperm.errors import AssumptionError
from dperm.mechanisms.additive import AdditiveMechanism
from dperm.methods.constants import (
    PURE_NOISE_IS_SMALLER,
    checked_noise,
    epsilon_and_delta,
    is_pure,
    require_gradient_of_loss,
    without_kink,
)
from dperm.methods.linear_term import LinearTerm
from dperm.methods.perturbation import (
    Perturbation,
    PurePerturbation,
    gaussian_perturbation,
    pure_perturbation,
    smallest_perturbation,
)
from dperm.methods.plan import Plan, noise_norm, solver_tolerance
from dperm.methods.rules import objective_regularization, regularized
from dperm.noise.bits import Stream
from dperm.presentation.facts import Fact
from dperm.privacy.guarantee import AnyGuarantee

NOISES = ("auto", "gaussian", "gamma_norm")


@dataclass(frozen=True)
class ObjectivePerturbation:
    """The minimiser of the regularised problem plus a random linear term (T36a, T40, T41), released by T43.

    For smooth losses of linear models with Lambda large enough that log(1 + beta/Lambda) < epsilon. Its noise in a
    direction of curvature h is sigma/(h + Lambda), where output perturbation has sigma/Lambda.

    Parameters
    ----------
    noise
        "gaussian" (needs delta > 0), "gamma_norm" (pure), or "auto": whichever is smaller of those that meet the goal.

    Examples
    --------
    >>> from dperm import ApproxDP
    >>> from dperm.erm.losses import Logistic
    >>> from dperm.erm.spec import ProblemSpec
    >>> from dperm.methods import ObjectivePerturbation
    >>> spec = ProblemSpec(Logistic(), radius=1.0, dim=50, n=10_000, regularization=5.0)
    >>> plan = ObjectivePerturbation().plan(spec, ApproxDP(1.0, 1e-5, "add_remove"))
    >>> round(plan.linear_term.scale, 1)  # of b; 3.905 with an exact solver (T43a)
    3.9
    """

    noise: str = "auto"

    def __post_init__(self) -> None:
        """Check the name."""
        checked_noise(self.noise, NOISES)

    def plan(self, spec: ProblemSpec, goal: AnyGuarantee) -> "ObjectivePlan":
        """Noise for the objective, a tolerance for its minimiser, and noise for what the tolerance leaves open."""
        epsilon_and_delta(goal, "objective")
        require_smooth(spec)
        spec, reasons = regularized(spec, goal, objective_regularization)
        found = self._perturbation(spec, goal)
        tolerance = solver_tolerance(spec, linear=found.term.longest)
        reasons.append(noise_reason(spec, found))
        if isinstance(found, PurePerturbation) and not is_pure(goal):
            reasons.append(PURE_NOISE_IS_SMALLER)
        blur = found.blur(spec, tolerance)
        return ObjectivePlan(spec, goal, tuple(reasons), tolerance, blur, found)

    def _perturbation(self, spec: ProblemSpec, goal: AnyGuarantee) -> Perturbation:
        """The law that was asked for, or the smaller of the two."""
        match self.noise:
            case "gaussian":
                return gaussian_perturbation(spec, goal)
            case "gamma_norm":
                return pure_perturbation(spec, goal)
        return smallest_perturbation(spec, goal)


@dataclass(frozen=True)
class ObjectivePlan(Plan):
    """A plan of `ObjectivePerturbation`; ``output_noise`` only hides what the solver leaves over (T43)."""

    perturbation: Perturbation

    method: ClassVar[str] = "objective"

    @property
    def linear_term(self) -> LinearTerm:
        """The noise in the objective."""
        return self.perturbation.term

    @property
    def mechanism(self) -> AdditiveMechanism:
        """The noise on the coefficients."""
        return cast(AdditiveMechanism, self.output_noise)

    @cached_property
    def event(self) -> Event:
        """The perturbed objective, then the noise on its approximate minimiser."""
        return self.perturbation.event(self.goal, self.mechanism)

    @property
    def theorems(self) -> tuple[str, ...]:
        """The perturbation's, and the approximate minimiser's."""
        clipped = ("T44",) if self.spec.clip else ()
        return (*self.perturbation.theorems, "T43", "T43a", "T31", "T54", *clipped, *self.mechanism.facts.theorems)

    @property
    def noise(self) -> str:
        """Of both kinds."""
        return f"in the objective: {self.linear_term.words}; on the coefficients: {self.mechanism.law.words}"

    @property
    def numbers(self) -> dict[str, object]:
        """The tolerance, and those of both noises."""
        return {
            "tolerance": self.tolerance,
            "determinant_loss": self.perturbation.determinant,
            "objective_noise": self.linear_term.name,
            "objective_noise_scale": self.linear_term.scale,
            "objective_noise_standard_deviation": self.linear_term.deviation,
            "objective_noise_grid": self.linear_term.grid.step,
            "output_noise": dict(self.mechanism.facts.public),
        }

    @property
    def longest(self) -> float:
        """The minimiser with the longest linear term, and the noise on it."""
        found = longest_minimizer(self.spec, self.most_rows, self.linear_term.longest)
        return found + noise_norm(self.mechanism, self.spec.dim)

    def learn(self, data: BoundedData, stream: Stream) -> Floats:
        """One draw of b, one certified minimiser, one draw of the blur; b is never drawn again (T43)."""
        linear = self.linear_term.draw(stream)
        theta = minimize(data, self.spec, cast(float, self.tolerance), linear=linear)
        return self.mechanism.noisy(theta, stream)


def require_smooth(spec: ProblemSpec) -> None:
    """Refuse a kink (T42): a point mass stays on it whatever the noise, and strong convexity does not help."""
    if not math.isfinite(spec.smoothness):
        raise AssumptionError(
            f"objective perturbation needs a smooth loss, got {spec.loss.name!r}: the minimiser sits on a kink with "
            f"positive probability, and a neighbour's does not (T42). {without_kink(spec.loss)}"
        )
    require_gradient_of_loss(spec, "objective")


def noise_reason(spec: ProblemSpec, found: Perturbation) -> Fact:
    """Return the noise in the objective and the cost of the determinant as a reason of the plan."""
    charged = "costs {determinant:.3g} of epsilon" if found.determinant else "costs nothing"
    return Fact(
        "noise.objective",
        "Noise of standard deviation {deviation:.3g} ({law}) is added to the gradient of the objective, for gradients "
        f"of at most {{gradient:.3g}}. The determinant {charged} at Lambda = {{strength:.3g}} (T37).",
        {
            "deviation": found.term.deviation,
            "law": found.term.name,
            "gradient": spec.lipschitz,
            "determinant": found.determinant,
            "strength": spec.strength,
        },
    )
