# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Objective perturbation: minimise J(theta) + b'theta with random b, then add noise for the solver's error (T35-T43a).

The module `dperm.sensitivity.objective` computes the privacy cost of each part.
"""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import ClassVar, cast

from dperm.accounting.dominance import largest_curvature
from dperm.accounting.event import Composed, Event
from dperm.accounting.events import MULTIPLIERS, Pure
from dperm.accounting.objective import PerturbedObjective, determinant_loss, objective_noise_multiplier
from dperm.accounting.softmax import PerturbedSoftmax, softmax_determinant_loss, softmax_noise_multiplier
from dperm.data.arrays import Floats
from dperm.data.bounded import BoundedData
from dperm.erm.loss import Loss
from dperm.erm.minimize import minimize
from dperm.erm.rounding import minimizer_norm_bound
from dperm.erm.spec import ProblemSpec
from dperm.errors import AssumptionError, ConversionError, ParameterError
from dperm.mechanisms.additive import AdditiveMechanism
from dperm.mechanisms.gamma_norm import GAMMA_NORM_SHAPE, GammaNormMechanism
from dperm.mechanisms.gaussian import GaussianMechanism
from dperm.mechanisms.goal import quotient_down, quotient_up
from dperm.mechanisms.mechanism import noise_at
from dperm.methods.coefficient_noise import PURE_NOISE_IS_SMALLER, checked_noise
from dperm.methods.conditions import epsilon_and_delta, is_pure, require_gradient_of_loss, smooth_alternatives
from dperm.methods.declared_event import (
    assumed_problem,
    event_of_another_kind,
    noise_event_of,
    noise_share,
    refuse_noise,
    require_goal_covers,
)
from dperm.methods.defaults import (
    chosen_strength,
    default_clip,
    objective_regularization,
    with_default_regularization,
)
from dperm.methods.linear_term import GammaNormTerm, GaussianTerm, LinearTerm
from dperm.methods.plan import Plan, noise_norm, solver_tolerance
from dperm.noise.bits import Stream
from dperm.noise.gamma_norm import MOST_DIM
from dperm.presentation.facts import Fact
from dperm.presentation.spelling import arg, quoted_arg
from dperm.privacy import GDP, ApproxDP, PureDP
from dperm.privacy.guarantee import AnyGuarantee
from dperm.privacy.rounding import few_digits_down, few_digits_up, lowered, round_down
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

NOISES = ("auto", "gaussian", "gamma_norm")


@dataclass(frozen=True)
class Perturbation(ABC):
    """Noise for the objective, and the budget of the noise on the coefficients.

    Attributes
    ----------
    term
        Distribution of b.
    determinant
        Part of epsilon charged for the determinant.
    share
        Guarantee of the noise on the coefficients.
    theorems
        Tags of the theorems behind the noise in the objective.
    """

    term: LinearTerm
    determinant: float
    share: GDP | PureDP
    theorems: tuple[str, ...]

    @abstractmethod
    def blur(self, spec: ProblemSpec, tolerance: float) -> AdditiveMechanism:
        """Return the noise on the coefficients that covers the solver's tolerance."""

    @abstractmethod
    def event(self, goal: AnyGuarantee, blur: AdditiveMechanism) -> Event:
        """Return the event of both noises together."""


@dataclass(frozen=True)
class GaussianPerturbation(Perturbation):
    """Gaussian b; ``exact`` is the event of the exact minimiser."""

    exact: PerturbedObjective | PerturbedSoftmax

    def blur(self, spec: ProblemSpec, tolerance: float) -> AdditiveMechanism:
        """Return Gaussian noise on the coefficients (T6)."""
        return GaussianMechanism.calibrate(
            approximate_minimizer_sensitivity(spec, tolerance, rounding=self.term.rounding), self.share, dim=spec.dim
        )

    def event(self, goal: AnyGuarantee, blur: AdditiveMechanism) -> Event:
        """Return the perturbed objective (T39, T40, T41, T53a) plus a Gaussian."""
        return self.exact + blur.event


@dataclass(frozen=True)
class PurePerturbation(Perturbation):
    """Gamma-norm noise, b of density ~ e^(-||b||/s)."""

    def blur(self, spec: ProblemSpec, tolerance: float) -> AdditiveMechanism:
        """Return gamma-norm noise on the coefficients (T7)."""
        return GammaNormMechanism.calibrate(
            approximate_minimizer_sensitivity(spec, tolerance, rounding=self.term.rounding), self.share, dim=spec.dim
        )

    def event(self, goal: AnyGuarantee, blur: AdditiveMechanism) -> Event:
        """Return a pure event with all of epsilon."""
        return Pure(epsilon_and_delta(goal, "objective")[0], goal.adjacency)


def gaussian_perturbation(spec: ProblemSpec, goal: AnyGuarantee) -> GaussianPerturbation:
    """Return Gaussian b with sigma/L by T40 or T39 (add/remove), T41 (replace-one) or T53a, for `objective_share`.

    Raises
    ------
    ConversionError
        If the goal has delta = 0.
    AssumptionError
        If the determinant leaves no epsilon for b.
    """
    epsilon, delta = epsilon_and_delta(goal, "objective")
    if delta == 0:
        raise ConversionError(
            f"{quoted_arg('noise', 'gaussian')} in the objective never has a pure guarantee, got goal={goal!r}.",
            remedy=f"Use {quoted_arg('noise', 'gamma_norm')}, or a goal with delta > 0.",
        )
    own, rest = objective_share(epsilon, delta)
    charge = require_determinant_charge(spec, own)
    exact = _exact_event(spec, ApproxDP(own, rest, goal.adjacency))
    term = GaussianTerm(gaussian_scale(spec, exact.noise_multiplier), spec.dim)
    share = GDP(coefficient_noise_mu(epsilon, delta), goal.adjacency)
    return GaussianPerturbation(term, charge, share, exact.tags(goal.adjacency), exact)


def _exact_event(spec: ProblemSpec, share: ApproxDP) -> PerturbedObjective | PerturbedSoftmax:
    """Return the perturbed objective with the least noise that meets ``share`` (T43a)."""
    epsilon, delta, adjacency = share.epsilon, share.delta, share.adjacency
    curvature = relative_curvature(spec)
    if spec.outputs > 1:
        found = softmax_noise_multiplier(epsilon, delta, curvature, spec.outputs, adjacency)
        return PerturbedSoftmax(_in_range(found, share), curvature, spec.outputs)
    monotone = spec.loss.monotone
    found = objective_noise_multiplier(epsilon, delta, curvature, adjacency, monotone)
    return PerturbedObjective(_in_range(found, share), curvature, monotone)


def pure_perturbation(spec: ProblemSpec, goal: AnyGuarantee) -> PurePerturbation:
    """Return pure noise of density ~ e^{-epsilon' ||b||/Delta_g} (T36a, T36b).

    Epsilon' is epsilon without the determinant's charge and the share of the coefficient noise.
    """
    epsilon, _ = epsilon_and_delta(goal, "objective")
    share = lowered(OUTPUT_SHARE * epsilon)
    own = round_down(Fraction(epsilon) - Fraction(share))
    free = determinant_is_free(spec, own, goal.adjacency)
    charge = 0.0 if free else require_determinant_charge(spec, own)
    left = round_down(Fraction(own) - Fraction(charge))
    term = GammaNormTerm(gamma_norm_scale(spec, goal.adjacency, left), spec.dim)
    return PurePerturbation(term, charge, PureDP(share, goal.adjacency), ("T36b",) if free else ("T36a", "T37"))


def smallest_perturbation(spec: ProblemSpec, goal: AnyGuarantee) -> Perturbation:
    """Return the smaller of Gaussian and gamma-norm noise, among those that meet ``goal``.

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
    """Return a noise multiplier within the range of events: raised to the smallest, refused beyond the largest."""
    low, high = MULTIPLIERS
    if multiplier > high:
        raise ParameterError(
            argument="goal",
            rule=f"must need less noise than {high:g} gradients",
            got=repr(goal),
            remedy="Choose a larger epsilon.",
        )
    return max(multiplier, low)


@dataclass(frozen=True)
class ObjectivePerturbation:
    """Minimiser of the regularised objective plus a random linear term (T36a, T40, T41, T43).

    The solver minimises J(theta) + b'theta, where J is the regularised objective, theta is the vector of coefficients,
    and b is a random vector. The solver is accurate only up to a tolerance, so a small amount of noise on the
    coefficients hides the error of the solver. The method applies to smooth losses of linear models. The regularization
    strength Lambda (`ProblemSpec.regularization`) must be large enough that the privacy loss of the Jacobian
    determinant is less than epsilon (T37, T53a). For a loss of one score, this privacy loss is log(1 + beta/Lambda),
    where beta is the smoothness of the loss of one record (`ProblemSpec.smoothness`).

    Let sigma be the standard deviation of each coordinate of b. In a direction in which the loss has curvature h, the
    random term moves the minimiser by an amount with standard deviation sigma/(h + Lambda). Output perturbation instead
    adds noise with a standard deviation of about sigma/Lambda in every direction.

    Parameters
    ----------
    noise
        Distribution of the noise: "gaussian" (requires delta > 0), "gamma_norm" (gives pure DP), or "auto" for the one
        of the two that meets the goal with less noise.

    Examples
    --------
    >>> from dperm import ApproxDP
    >>> from dperm.erm.losses import Logistic
    >>> from dperm.erm.spec import ProblemSpec
    >>> from dperm.methods import ObjectivePerturbation
    >>> spec = ProblemSpec(Logistic(), radius=1.0, dim=50, n=10_000, regularization=5.0)
    >>> plan = ObjectivePerturbation().plan(spec, ApproxDP(1.0, 1e-5, "add_remove"))
    >>> round(plan.linear_term.scale, 1)  # scale of b (T43a)
    3.9
    """

    noise: str = "auto"

    plans_from_event: ClassVar[bool] = True

    def __post_init__(self) -> None:
        """Check the name of the noise distribution."""
        checked_noise(self.noise, NOISES)

    def plan(self, spec: ProblemSpec, goal: AnyGuarantee) -> "ObjectivePlan":
        """Return a plan with noise in the objective, a tolerance for the solver, and noise on the coefficients.

        Parameters
        ----------
        spec
            Public constants of the problem.
        goal
            Target privacy guarantee of the run.

        Returns
        -------
        ObjectivePlan
            The plan.

        Raises
        ------
        AssumptionError
            If a condition of the method's theorem does not hold. The message states a remedy.
        """
        epsilon_and_delta(goal, "objective")
        require_smooth(spec)
        spec, reasons = with_default_regularization(spec, goal, objective_regularization)
        found = self._perturbation(spec, goal)
        tolerance = solver_tolerance(spec, linear=found.term.longest, adjacency=goal.adjacency)
        reasons.append(noise_reason(spec, found))
        if isinstance(found, PurePerturbation) and not is_pure(goal):
            reasons.append(PURE_NOISE_IS_SMALLER)
        blur = found.blur(spec, tolerance)
        return ObjectivePlan(spec, goal, why=tuple(reasons), tolerance=tolerance, output_noise=blur, perturbation=found)

    def declare_event(
        self, goal: AnyGuarantee, loss: Loss, *, clip: float | None = None, n: int | None = None
    ) -> Event:
        """Return the accounting event of a plan for ``goal``, before the number of features is known (T70).

        The event contains the noise multiplier of the linear term, the relative curvature, and the multiplier of the
        noise on the coefficients. The relative curvature is beta/Lambda, where beta is the smoothness of the loss of
        one record and Lambda is the regularization strength; for several classes, the mean nonzero eigenvalue of the
        Hessian of one record replaces beta. Lambda is the default for an assumed number of coefficients
        (`dperm.methods.declared_event`). The noise is always Gaussian.

        Parameters
        ----------
        goal
            ApproxDP with delta > 0: the guarantee of the training run alone, without other stages.
        loss
            Loss of the problem; for several classes, `Softmax` with the upper limit on the number of classes.
        clip
            Clipping norm divided by the bound on the norm of a row; None for the default.
        n
            Public number of records; None if it is not declared.

        Returns
        -------
        Event
            `PerturbedObjective` or `PerturbedSoftmax`, composed with a Gaussian event.

        Raises
        ------
        ConversionError
            If the goal has delta = 0.

        Examples
        --------
        >>> from dperm import ApproxDP
        >>> from dperm.erm.losses import Logistic
        >>> from dperm.erm.spec import ProblemSpec
        >>> from dperm.methods import ObjectivePerturbation
        >>> method, goal = ObjectivePerturbation(), ApproxDP(1.0, 1e-5, "add_remove")
        >>> event = method.declare_event(goal, Logistic())
        >>> wide, narrow = (ProblemSpec(Logistic(), 1.0, dim, clip=0.5) for dim in (2000, 10))
        >>> method.plan_from_event(wide, event, goal).event == method.plan_from_event(narrow, event, goal).event
        True
        """
        refuse_noise(self.noise, "objective")
        epsilon, delta = epsilon_and_delta(goal, "objective")
        spec = assumed_problem(loss, clip=clip, n=n)
        spec = spec.clipped(default_clip(spec))
        require_smooth(spec)
        spec, _ = with_default_regularization(spec, goal, objective_regularization)
        exact = gaussian_perturbation(spec, goal).exact
        return exact + noise_event_of(coefficient_noise_mu(epsilon, delta), goal.adjacency)

    def plan_from_event(self, spec: ProblemSpec, event: Event, goal: AnyGuarantee) -> "ObjectivePlan":
        """Return a plan with exactly the declared event, once the problem is known (T70).

        The event depends neither on the number of coefficients nor on their scale (T37-T41). It sets a lower bound on
        the regularization strength Lambda: beta divided by the event's relative curvature, as defined in
        `declare_event`. If ``spec.regularization`` is None, Lambda is the larger of this bound and the default for
        ``spec``. The standard deviation of the linear term is the event's noise multiplier times L, the bound on the
        gradient norm of one record (``spec.lipschitz``). The noise multiplier of the noise on the coefficients is at
        least the one in the event.

        An event for K classes also covers a softmax loss with fewer classes. If the data turn out to have two classes,
        the event also covers logistic regression with one score (`dperm.accounting.dominance`).

        Parameters
        ----------
        spec
            Constants of the problem; they may depend on earlier releases.
        event
            Result of `declare_event`.
        goal
            Goal that was passed to `declare_event`: the guarantee of the training run alone.

        Returns
        -------
        ObjectivePlan
            The plan.

        Raises
        ------
        AssumptionError
            If ``spec.regularization`` is below the smallest Lambda that the event covers, or the event was declared for
            a different loss.
        ParameterError
            If ``event`` is not an event of this method, or its privacy loss exceeds ``goal``.
        """
        refuse_noise(self.noise, "objective")
        exact, blur = _parts(event)
        share = noise_share(blur, goal)
        goal = require_goal_covers(goal, event)
        require_smooth(spec)
        _require_covered_loss(exact, spec)
        spec, reasons = _regularization_for_event(exact, spec, goal)
        term = GaussianTerm(gaussian_scale(spec, exact.noise_multiplier), spec.dim)
        found = GaussianPerturbation(
            term, _determinant(exact), share, (*exact.tags(goal.adjacency), "T70"), _own_event(spec, term.scale)
        )
        tolerance = solver_tolerance(spec, linear=term.longest)
        reasons = (*reasons, noise_reason(spec, found))
        noise = found.blur(spec, tolerance)
        return ObjectivePlan(
            spec, goal, why=reasons, tolerance=tolerance, output_noise=noise, perturbation=found, declared=event
        )

    def _perturbation(self, spec: ProblemSpec, goal: AnyGuarantee) -> Perturbation:
        """Return the requested noise distribution, or the smaller of the two for "auto"."""
        match self.noise:
            case "gaussian":
                return gaussian_perturbation(spec, goal)
            case "gamma_norm":
                return pure_perturbation(spec, goal)
        return smallest_perturbation(spec, goal)


@dataclass(frozen=True)
class ObjectivePlan(Plan):
    """Plan of `ObjectivePerturbation`. Here ``output_noise`` only hides the error of the solver (T43)."""

    perturbation: Perturbation

    method: ClassVar[str] = "objective"

    @property
    def linear_term(self) -> LinearTerm:
        """Noise term b of the objective."""
        return self.perturbation.term

    @property
    def mechanism(self) -> AdditiveMechanism:
        """Noise on the coefficients, which hides the error of the solver."""
        return cast(AdditiveMechanism, self.output_noise)

    @cached_property
    def event(self) -> Event:
        """Event of the perturbed objective and of the noise on its approximate minimiser."""
        return self.stated_event(self.perturbation.event(self.goal, self.mechanism))

    @property
    def theorems(self) -> tuple[str, ...]:
        """Tags of the theorems on the perturbation and on the approximate minimiser."""
        clipped = ("T44",) if self.spec.clip else ()
        return (*self.perturbation.theorems, "T43", "T43a", "T31", "T54", *clipped, *self.mechanism.facts.theorems)

    @property
    def noise(self) -> str:
        """Distributions of the noise in the objective and on the coefficients."""
        term, law = self.linear_term, self.mechanism.law
        return f"{noise_at('in the objective', term.words, term.family)}; {law.words_at('on the coefficients')}"

    @property
    def noise_family(self) -> str:
        """Description of the noise without its rounding grid."""
        term, law = self.linear_term, self.mechanism.law
        return f"{term.family} in the objective; {law.family} on the coefficients"

    @property
    def numbers(self) -> dict[str, object]:
        """Tolerance, privacy loss of the determinant, and public numbers of the two noise distributions."""
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
        """Bound on the minimiser with the longest linear term, plus the noise on it."""
        found = minimizer_norm_bound(self.spec, self.most_rows, self.linear_term.longest)
        return found + noise_norm(self.mechanism, self.spec.dim)

    def learn(self, data: BoundedData, stream: Stream) -> Floats:
        """Draw b once, find one certified minimiser, add noise once; b is never drawn again (T43)."""
        linear = self.linear_term.draw(stream)
        theta = minimize(data, self.spec, cast(float, self.tolerance), linear=linear)
        return self.mechanism.noisy(theta, stream)


def _parts(event: Event) -> tuple[PerturbedObjective | PerturbedSoftmax, Event]:
    """Return the perturbed objective and the noise on the coefficients of a declared event."""
    match event:
        case Composed(events=(PerturbedObjective() | PerturbedSoftmax() as exact, blur)):
            return exact, blur
    raise event_of_another_kind(event, "objective perturbation")


def _determinant(exact: PerturbedObjective | PerturbedSoftmax) -> float:
    """Return the privacy loss that the event reserves for the determinant (T37, T53a)."""
    if isinstance(exact, PerturbedObjective):
        return determinant_loss(exact.curvature)
    return softmax_determinant_loss(exact.curvature, exact.classes)


def _own_event(spec: ProblemSpec, scale: float) -> PerturbedObjective | PerturbedSoftmax:
    """Return the event of the noise in use, from its absolute scale and the problem's own L and beta/Lambda."""
    multiplier, curvature = quotient_down(scale, spec.lipschitz), relative_curvature(spec)
    if spec.outputs > 1:
        return PerturbedSoftmax(multiplier, curvature, spec.outputs)
    return PerturbedObjective(multiplier, curvature, spec.loss.monotone)


def _require_covered_loss(exact: PerturbedObjective | PerturbedSoftmax, spec: ProblemSpec) -> None:
    """Refuse a loss whose tails or classes the event does not cover (T39, T40, T53a, T70)."""
    if isinstance(exact, PerturbedSoftmax):
        covered, words = spec.loss.monotone or 1 < spec.outputs <= exact.classes, f"at most {exact.classes} classes"
    else:
        covered = spec.outputs == 1 and (spec.loss.monotone or not exact.monotone)
        words = "a loss of one score" + (" with slopes of one sign" if exact.monotone else "")
    if not covered:
        classes = f" with {spec.outputs} classes" if spec.outputs > 1 else ""
        raise AssumptionError(
            f"the declared event is that of {words}, got the loss {spec.loss.name!r}{classes} (T70).",
            remedy="Declare the event for this loss and for the largest number of classes, and merge rarer classes.",
        )


def least_regularization(exact: PerturbedObjective | PerturbedSoftmax, spec: ProblemSpec) -> float:
    """Return the smallest Lambda that a declared event covers, rounded up: its relative curvature is no larger."""
    return quotient_up(spec.bend, round_down(largest_curvature(exact, spec.outputs)))


def _regularization_for_event(
    exact: PerturbedObjective | PerturbedSoftmax, spec: ProblemSpec, goal: AnyGuarantee
) -> tuple[ProblemSpec, tuple[Fact, ...]]:
    """Return the problem with the given Lambda, or the larger of the default and the smallest that is covered."""
    least = least_regularization(exact, spec)
    if spec.regularization is not None:
        if spec.regularization < least:
            raise AssumptionError(
                f"the declared event covers Lambda >= {few_digits_up(least):g}, since its relative curvature "
                f"beta/Lambda is {exact.curvature:.6g}, got Lambda={spec.regularization:.6g} (T70).",
                remedy=f"Choose {arg('C')} <= {few_digits_down(1 / least):g}, or {arg('C', 'None')} to let the plan "
                f"choose.",
            )
        return spec, ()
    choice = objective_regularization(spec, goal)
    if choice.value < least:
        cause = "as the smallest value whose privacy cost is within the cost declared before the data were read"
        choice = chosen_strength(least, "declared", cause)
    return spec.with_regularization(choice.value), (choice.why,)


def require_smooth(spec: ProblemSpec) -> None:
    """Refuse a kink (T42): the minimiser has an atom there at every noise level; strong convexity does not help."""
    if not math.isfinite(spec.smoothness):
        raise AssumptionError(
            f"objective perturbation needs a smooth loss, got {spec.loss.name!r}: the minimiser lies on a kink with "
            f"positive probability, and the minimiser of neighbouring data does not (T42).",
            remedy=smooth_alternatives(spec.loss),
        )
    require_gradient_of_loss(spec, "objective")


def noise_reason(spec: ProblemSpec, found: Perturbation) -> Fact:
    """Return the noise in the objective and the cost of the determinant as a reason of the plan."""
    charged = "costs an epsilon of {determinant:.3g}" if found.determinant else "costs nothing"
    family = found.term.family
    shape = f"{GAMMA_NORM_SHAPE}, and " if found.term.name == GammaNormMechanism.name else ""
    return Fact(
        "noise.objective",
        f"{family[0].upper()}{family[1:]} of standard deviation {{deviation:.3g}} is added to each coordinate of the "
        f"gradient of the objective. The noise {shape}is calibrated to per-record gradients of norm at most "
        f"{{gradient:.3g}}. The Jacobian determinant of the map from this noise to the coefficients {charged} at "
        f"Lambda = {{strength:.3g}} (T37).",
        {
            "deviation": found.term.deviation,
            "law": found.term.name,
            "gradient": spec.lipschitz,
            "determinant": found.determinant,
            "strength": spec.strength,
        },
    )
