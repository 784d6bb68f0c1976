# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""How much noise an objective needs, and how an approximate minimiser is released (T36a-T43a, T53a).

Of epsilon, one percent pays for the noise on the coefficients; the determinant takes c = k log(1 + bend/Lambda), k the
rank of a record's Hessian and bend the mean of its eigenvalues (1 and beta for a loss of one score); the rest is for b.
"""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import ClassVar, cast

from dperm.accounting.event import Event
from dperm.accounting.events import MULTIPLIERS, Pure
from dperm.accounting.objective import PerturbedObjective, objective_noise_multiplier
from dperm.accounting.softmax import PerturbedSoftmax, softmax_noise_multiplier
from dperm.data.arrays import Floats
from dperm.data.bounded import BoundedData
from dperm.erm.minimize import minimize
from dperm.erm.rounding import longest as longest_minimizer
from dperm.erm.spec import ProblemSpec
from dperm.errors import AssumptionError, ConversionError, ParameterError
from dperm.mechanisms.additive import AdditiveMechanism
from dperm.mechanisms.gamma_norm import GammaNormMechanism
from dperm.mechanisms.gaussian import GaussianMechanism
from dperm.methods.coefficient_noise import PURE_NOISE_IS_SMALLER, checked_noise
from dperm.methods.conditions import epsilon_and_delta, is_pure, require_gradient_of_loss, without_kink
from dperm.methods.defaults import objective_regularization, regularized
from dperm.methods.linear_term import GammaNormTerm, GaussianTerm, LinearTerm
from dperm.methods.plan import Plan, noise_norm, solver_tolerance
from dperm.noise.bits import Stream
from dperm.noise.gamma_norm import MOST_DIM
from dperm.presentation.facts import Fact
from dperm.privacy import GDP, ApproxDP, PureDP
from dperm.privacy.guarantee import AnyGuarantee
from dperm.privacy.rounding import lowered, round_down
from dperm.sensitivity.minimizer import approximate_minimizer_sensitivity
from dperm.sensitivity.objective import (
    OUTPUT_SHARE,
    coefficient_noise_mu,
    determinant_is_free,
    gamma_norm_scale,
    gaussian_scale,
    objective_share,
    relative_curvature,
    require_determinant_charge,
)


@dataclass(frozen=True)
class Perturbation(ABC):
    """Noise for the objective, and what the noise on the coefficients may spend.

    Attributes
    ----------
    term
        The law of b.
    determinant
        What the determinant was charged, as a part of epsilon.
    share
        The guarantee of the noise on the coefficients.
    """

    term: LinearTerm
    determinant: float
    share: GDP | PureDP
    theorems: tuple[str, ...]

    @abstractmethod
    def blur(self, spec: ProblemSpec, tolerance: float) -> AdditiveMechanism:
        """The noise that hides how exactly the objective was minimised."""

    @abstractmethod
    def event(self, goal: AnyGuarantee, blur: AdditiveMechanism) -> Event:
        """What both noises spend."""


@dataclass(frozen=True)
class GaussianPerturbation(Perturbation):
    """Gaussian b; ``exact`` is what the exact minimiser spends."""

    exact: PerturbedObjective | PerturbedSoftmax

    def blur(self, spec: ProblemSpec, tolerance: float) -> AdditiveMechanism:
        """Gaussian noise (T6)."""
        return GaussianMechanism.calibrate(
            approximate_minimizer_sensitivity(spec, tolerance, rounding=self.term.rounding), self.share, dim=spec.dim
        )

    def event(self, goal: AnyGuarantee, blur: AdditiveMechanism) -> Event:
        """The perturbed objective (T39, T40, T41, T53a), then a Gaussian."""
        return self.exact + blur.event


@dataclass(frozen=True)
class PurePerturbation(Perturbation):
    """Gamma-norm noise, b of density ~ e^-||b||/s."""

    def blur(self, spec: ProblemSpec, tolerance: float) -> AdditiveMechanism:
        """Gamma-norm noise (T7)."""
        return GammaNormMechanism.calibrate(
            approximate_minimizer_sensitivity(spec, tolerance, rounding=self.term.rounding), self.share, dim=spec.dim
        )

    def event(self, goal: AnyGuarantee, blur: AdditiveMechanism) -> Event:
        """Epsilon, all of it."""
        return Pure(epsilon_and_delta(goal, "objective")[0], goal.adjacency)


def gaussian_perturbation(spec: ProblemSpec, goal: AnyGuarantee) -> GaussianPerturbation:
    """Gaussian b: sigma/L by T40 or T39 (add/remove), T41 (replace-one) or T53a at what `objective_share` leaves."""
    epsilon, delta = epsilon_and_delta(goal, "objective")
    if delta == 0:
        raise ConversionError(
            f'noise="gaussian" in the objective never has a pure guarantee, got goal={goal!r}. Use noise="gamma_norm", '
            f"or a goal with delta > 0."
        )
    own, rest = objective_share(epsilon, delta)
    charge = require_determinant_charge(spec, own)
    exact = _exact_event(spec, ApproxDP(own, rest, goal.adjacency))
    term = GaussianTerm(gaussian_scale(spec, exact.noise_multiplier), spec.dim)
    share = GDP(coefficient_noise_mu(epsilon, delta), goal.adjacency)
    return GaussianPerturbation(term, charge, share, exact.tags(goal.adjacency), exact)


def _exact_event(spec: ProblemSpec, share: ApproxDP) -> PerturbedObjective | PerturbedSoftmax:
    """The perturbed objective with the least noise that meets ``share`` (T43a)."""
    epsilon, delta, adjacency = share.epsilon, share.delta, share.adjacency
    curvature = relative_curvature(spec)
    if spec.outputs > 1:
        found = softmax_noise_multiplier(epsilon, delta, curvature, spec.outputs, adjacency)
        return PerturbedSoftmax(_in_range(found, share), curvature, spec.outputs)
    monotone = spec.loss.monotone
    found = objective_noise_multiplier(epsilon, delta, curvature, adjacency, monotone)
    return PerturbedObjective(_in_range(found, share), curvature, monotone)


def pure_perturbation(spec: ProblemSpec, goal: AnyGuarantee) -> PurePerturbation:
    """Pure noise of density ~ e^{-epsilon' ||b||/Delta_g}, epsilon' = epsilon - c - the blur's share (T36a, T36b)."""
    epsilon, _ = epsilon_and_delta(goal, "objective")
    share = lowered(OUTPUT_SHARE * epsilon)
    own = round_down(Fraction(epsilon) - Fraction(share))
    free = determinant_is_free(spec, own, goal.adjacency)
    charge = 0.0 if free else require_determinant_charge(spec, own)
    left = round_down(Fraction(own) - Fraction(charge))
    term = GammaNormTerm(gamma_norm_scale(spec, goal.adjacency, left), spec.dim)
    return PurePerturbation(term, charge, PureDP(share, goal.adjacency), ("T36b",) if free else ("T36a", "T37"))


def smallest_perturbation(spec: ProblemSpec, goal: AnyGuarantee) -> Perturbation:
    """The smaller of the two noises, of those that meet ``goal``.

    Raises
    ------
    AssumptionError
        If the determinant leaves no room for either.
    """
    if is_pure(goal):
        return pure_perturbation(spec, goal)
    gaussian = gaussian_perturbation(spec, goal)
    if spec.dim > MOST_DIM:
        return gaussian
    pure = pure_perturbation(spec, goal)
    return pure if pure.term.deviation < gaussian.term.deviation else gaussian


def _in_range(multiplier: float, goal: AnyGuarantee) -> float:
    """A noise multiplier that events can have: raised to the smallest, refused beyond the largest."""
    low, high = MULTIPLIERS
    if multiplier > high:
        raise ParameterError(f"goal must ask for less noise than {high:g} gradients, got {goal!r}. Raise epsilon.")
    return max(multiplier, low)


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
