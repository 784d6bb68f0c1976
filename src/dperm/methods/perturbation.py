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

from scipy.special import ndtri

from dperm.accounting.event import Event
from dperm.accounting.events import MULTIPLIERS, Pure
from dperm.accounting.objective import PerturbedObjective, determinant_loss, objective_noise_multiplier
from dperm.accounting.softmax import PerturbedSoftmax, softmax_determinant_loss, softmax_noise_multiplier
from dperm.erm.losses import Logistic
from dperm.erm.spec import ProblemSpec
from dperm.errors import AssumptionError, ConversionError, ParameterError
from dperm.mechanisms.additive import AdditiveMechanism
from dperm.mechanisms.gamma_norm import GammaNormMechanism
from dperm.mechanisms.gaussian import GaussianMechanism
from dperm.mechanisms.goal import quotient_up
from dperm.methods.constants import epsilon_and_delta, gradient_sensitivity, is_pure
from dperm.methods.linear_term import GammaNormTerm, GaussianTerm, LinearTerm
from dperm.noise.gamma_norm import MOST_DIM
from dperm.privacy import GDP, Adjacency, ApproxDP, PureDP
from dperm.privacy.guarantee import AnyGuarantee
from dperm.privacy.rounding import lowered, round_down, round_up

OUTPUT_SHARE = 0.01
"""Of epsilon, for the noise on the coefficients."""
TAIL_SHARE = 1e-3
"""Of delta, likewise."""


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
        return GaussianMechanism.calibrate(residual(spec, tolerance, self.term), self.share, dim=spec.dim)

    def event(self, goal: AnyGuarantee, blur: AdditiveMechanism) -> Event:
        """The perturbed objective (T39, T40, T41, T53a), then a Gaussian."""
        return self.exact + blur.event


@dataclass(frozen=True)
class PurePerturbation(Perturbation):
    """Gamma-norm noise, b of density ~ e^-||b||/s."""

    def blur(self, spec: ProblemSpec, tolerance: float) -> AdditiveMechanism:
        """Gamma-norm noise (T7)."""
        return GammaNormMechanism.calibrate(residual(spec, tolerance, self.term), self.share, dim=spec.dim)

    def event(self, goal: AnyGuarantee, blur: AdditiveMechanism) -> Event:
        """Epsilon, all of it."""
        return Pure(epsilon_and_delta(goal, "objective")[0], goal.adjacency)


def residual(spec: ProblemSpec, tolerance: float, term: LinearTerm) -> float:
    """How far two approximate minimisers can lie apart that have the same exact minimiser, under either adjacency.

    Theorem T43 [Iyengar et al. 2019; the factor 2 is missing in their code, E33].
        Let theta* minimise J + b'theta exactly and ||grad J(theta~) + b~|| <= tau with ||b~ - b|| <= e. Then
        ||theta~ - theta*|| <= tau'/Lambda with tau' = tau + e, and releasing theta~ plus noise is the composition of
        the exact mechanism with an additive one of sensitivity 2 tau'/Lambda.
    Proof: b = -grad J(theta*), so theta~ is a function of the data and of theta*. Given theta*, it lies in a ball of
    radius tau'/Lambda around it, whatever the data are: two such points are 2 tau'/Lambda apart at most. It is not
    doubled again for a replaced record.

    Here b~ is b rounded to a grid: e = sqrt(d) g/2.
    """
    return round_up(2 * (Fraction(tolerance) + Fraction(term.rounding)) / Fraction(spec.strength))


def output_mu(epsilon: float, delta: float) -> float:
    """The mu of the noise on the coefficients: the largest with mu^2/2 + mu t <= z, t = -Phi^-1(delta/1000) (T43).

    z is one percent of epsilon. The loss Z ~ N(mu^2/2, mu^2) of that noise (T6) then has
    P(Z > z) = Phi(-(z - mu^2/2)/mu) <= delta/1000. Rounded down.
    """
    tail = -float(ndtri(TAIL_SHARE * delta))
    room = OUTPUT_SHARE * epsilon
    return lowered(2 * room / (tail + math.sqrt(tail**2 + 2 * room)), 256)


def objective_share(epsilon: float, delta: float) -> tuple[float, float]:
    """(epsilon, delta) for the exact objective perturbation, the rest being the noise on the coefficients (T43).

    Let U be the loss of the one (T40, T41) and Z that of the other. Composed, delta(epsilon) is at most
    E (1 - e^{epsilon - U - Z})_+ <= P(Z > z) + E (1 - e^{(epsilon - z) - U})_+, for any z: on Z <= z the first
    integrand is at most the second, elsewhere it is at most 1. With z and P(Z > z) from `output_mu`, the exact
    mechanism has epsilon - z and delta (1 - 1/1000). Rounded down.
    """
    return lowered(epsilon * (1 - OUTPUT_SHARE)), lowered(delta * (1 - TAIL_SHARE))


def gaussian_perturbation(spec: ProblemSpec, goal: AnyGuarantee) -> GaussianPerturbation:
    """Gaussian b: sigma/L by T40 or T39 (add/remove), T41 (replace-one) or T53a at what `objective_share` leaves."""
    epsilon, delta = epsilon_and_delta(goal, "objective")
    if delta == 0:
        raise ConversionError(
            f'noise="gaussian" in the objective never has a pure guarantee, got goal={goal!r}. Use noise="gamma_norm", '
            f"or a goal with delta > 0."
        )
    own, rest = objective_share(epsilon, delta)
    charge = require_room(spec, own)
    exact = _exact_event(spec, ApproxDP(own, rest, goal.adjacency))
    term = GaussianTerm(round_up(Fraction(exact.noise_multiplier) * Fraction(spec.lipschitz)), spec.dim)
    share = GDP(output_mu(epsilon, delta), goal.adjacency)
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
    charge = 0.0 if free else require_room(spec, own)
    left = round_down(Fraction(own) - Fraction(charge))
    term = GammaNormTerm(quotient_up(gradient_sensitivity(spec, goal.adjacency), left), spec.dim)
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


def determinant_is_free(spec: ProblemSpec, epsilon: float, adjacency: Adjacency) -> bool:
    """Whether the determinant costs nothing.

    Theorem T36b.
        For the logistic loss, not clipped, and Lambda >= w R^2/epsilon (add/remove) or 2 w R^2/epsilon (replace-one),
        noise of density ~ e^{-epsilon ||b||/Delta_g} in the objective is epsilon-DP: f'' = |f'| (1 - |f'|), so a record
        with s = |f'| is charged at most epsilon s for b and epsilon s (1 - s) for the determinant (half of each, and
        half of epsilon for the other record, where one is replaced), and 2s - s^2 <= 1.
    False for the clipped loss (T44).
    """
    if spec.is_clipped or type(spec.loss) is not Logistic:  # a subclass may have another f
        return False
    records = 1 if adjacency is Adjacency.ADD_REMOVE else 2
    return spec.strength >= records * quotient_up(4 * spec.smoothness, epsilon)


def _in_range(multiplier: float, goal: AnyGuarantee) -> float:
    """A noise multiplier that events can have: raised to the smallest, refused beyond the largest."""
    low, high = MULTIPLIERS
    if multiplier > high:
        raise ParameterError(f"goal must ask for less noise than {high:g} gradients, got {goal!r}. Raise epsilon.")
    return max(multiplier, low)


def relative_curvature(spec: ProblemSpec) -> float:
    """The mean of a record's Hessian eigenvalues over Lambda, beta/Lambda for a loss of one score, rounded up."""
    return quotient_up(spec.bend, spec.strength)


def determinant_charge(spec: ProblemSpec) -> float:
    """What the Jacobian of the noise may add to the privacy loss: T37, for several scores T53a; rounded up."""
    curvature = relative_curvature(spec)
    return determinant_loss(curvature) if spec.outputs == 1 else softmax_determinant_loss(curvature, spec.outputs)


def require_room(spec: ProblemSpec, epsilon: float) -> float:
    """What the determinant costs, c = k log(1 + bend/Lambda), if it is below ``epsilon`` (T37, T43a, T53a); rounded up.

    Raises
    ------
    AssumptionError
        Otherwise, with the smallest Lambda that is admissible.
    """
    charge = determinant_charge(spec)
    if charge < epsilon:
        return charge
    least = spec.bend / math.expm1(min(epsilon / spec.loss.rank, 700.0)) * (1 + 1e-9)
    times = "" if spec.loss.rank == 1 else f"{spec.loss.rank} "
    raise AssumptionError(
        f"objective perturbation needs {times}log(1 + beta/Lambda) < {epsilon:.6g}, what epsilon leaves for it (T43a), "
        f"got {charge:.6g} from beta={spec.bend:.6g} and Lambda={spec.strength:.6g}. Give Lambda > {least:.6g}, that "
        f'is C < {1 / least:.6g}, or C=None to let the plan choose; or use method="gradient" (delta > 0) or '
        f'method="output".'
    )
