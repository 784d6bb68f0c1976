# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""How much noise an objective needs, and how an approximate minimiser is released (T36a-T43a, T53a).

Of epsilon, one percent pays for the noise on the coefficients; the determinant takes c = k log(1 + bend/Lambda), k the
rank of a record's Hessian and bend the mean of its eigenvalues (1 and beta for a loss of one score); the rest is for b.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction

from dperm.accounting.event import Event
from dperm.accounting.events import MULTIPLIERS, Pure
from dperm.accounting.objective import PerturbedObjective, objective_noise_multiplier
from dperm.accounting.softmax import PerturbedSoftmax, softmax_noise_multiplier
from dperm.erm.spec import ProblemSpec
from dperm.errors import ConversionError, ParameterError
from dperm.mechanisms.additive import AdditiveMechanism
from dperm.mechanisms.gamma_norm import GammaNormMechanism
from dperm.mechanisms.gaussian import GaussianMechanism
from dperm.methods.constants import epsilon_and_delta, is_pure
from dperm.methods.linear_term import GammaNormTerm, GaussianTerm, LinearTerm
from dperm.noise.gamma_norm import MOST_DIM
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
