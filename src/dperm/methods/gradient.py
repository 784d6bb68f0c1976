# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Gradient perturbation: gradient descent with clipped per-record gradients and Gaussian noise (T44, T45)."""

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

from dperm import checks
from dperm.accounting.event import Event, Repeated
from dperm.data.arrays import Floats
from dperm.data.bounded import BoundedData
from dperm.erm.gradient import loss_gradient
from dperm.erm.loss import Loss
from dperm.erm.rounding import gradient_error
from dperm.erm.spec import ProblemSpec
from dperm.errors import AssumptionError, ConversionError, ParameterError
from dperm.mechanisms.calibration import PUSHES, covers
from dperm.mechanisms.gaussian import GaussianMechanism
from dperm.mechanisms.goal import checked_goal, gaussian_mu
from dperm.methods.conditions import is_pure
from dperm.methods.declared_event import (
    assumed_problem,
    declared_noise,
    event_of_another_kind,
    noise_share,
    require_goal_covers,
)
from dperm.methods.defaults import UNKNOWN_RECORDS, descent_clip
from dperm.methods.descent import DescentSettings, default_descent, descend
from dperm.methods.plan import Plan, noise_norm, row_limit
from dperm.noise.bits import Stream
from dperm.presentation.facts import Fact
from dperm.presentation.spelling import arg, quoted_arg
from dperm.privacy import GDP
from dperm.privacy.guarantee import AnyGuarantee
from dperm.privacy.rounding import lowered
from dperm.sensitivity.minimizer import gradient_sensitivity

MOST_STEPS = 10**6
STEPS = "It is the number of passes over the data."
STEP_SIZE = "It multiplies the gradient of the mean loss."
MOMENTUM = "It is the heavy-ball parameter; 0 is plain gradient descent."
AVERAGE = "It is the share of the steps, at the end, whose mean is released; 0 releases the last."
PROJECTION = "Iterates are kept within this distance of 0."


@dataclass(frozen=True)
class GradientPerturbation:
    """Full-batch gradient descent with Gaussian noise added to every gradient (T45).

    The loss may be smooth or nonsmooth. The data enter a run only through the noisy gradients. Momentum, averaging,
    projection and the gradient of the regulariser are post-processing (T3). If a parameter is None, its default is
    computed from public constants (`dperm.methods.descent`).

    Parameters
    ----------
    steps
        Number of steps, from 1 to 10^6. Each step uses all records.
    step_size
        Step size, greater than 0; it multiplies the noisy gradient of the mean loss.
    momentum
        Heavy-ball momentum in [0, 0.999]; 0 is plain gradient descent.
    average
        Fraction of the steps, in [0, 1], whose iterates are averaged, counted from the end of the run. With 0, the last
        iterate is released.
    projection
        Largest L2 norm of an iterate. Iterates with a larger norm are scaled down to it. The bounds on rounding errors
        rely on this limit.

    Examples
    --------
    >>> from dperm import ApproxDP
    >>> from dperm.erm.losses import Logistic
    >>> from dperm.erm.spec import ProblemSpec
    >>> from dperm.methods import GradientPerturbation
    >>> spec = ProblemSpec(Logistic(), radius=1.0, dim=10, n=10_000)
    >>> plan = GradientPerturbation(steps=100).plan(spec, ApproxDP(0.5, 1e-5, "replace_one"))
    >>> round(plan.mechanism.scale / 10_000, 4)  # noise on the mean gradient (T45)
    0.0141
    """

    steps: int | None = None
    step_size: float | None = None
    momentum: float | None = None
    average: float | None = None
    projection: float | None = None

    plans_from_event: ClassVar[bool] = True

    def __post_init__(self) -> None:
        """Check the ranges of all given settings."""
        if self.steps is not None:
            checks.count("steps", self.steps, STEPS, most=MOST_STEPS)
        if self.step_size is not None:
            checks.between("step_size", self.step_size, 1e-100, 1e100, STEP_SIZE)
        if self.momentum is not None:
            checks.between("momentum", self.momentum, 0.0, 0.999, MOMENTUM)
        if self.average is not None:
            checks.between("average", self.average, 0.0, 1.0, AVERAGE)
        if self.projection is not None:
            checks.positive("projection", self.projection, PROJECTION)

    def plan(self, spec: ProblemSpec, goal: AnyGuarantee) -> "GradientPlan":
        """Return a plan with noise in each step, calibrated so that all steps together meet ``goal``.

        Parameters
        ----------
        spec
            Public constants of the problem.
        goal
            Target privacy guarantee of the run.

        Returns
        -------
        GradientPlan
            The plan.

        Raises
        ------
        AssumptionError
            If a condition of the method's theorem does not hold. The message states a remedy.
        """
        goal = checked_goal(goal)
        _refuse_pure(goal)
        default = default_descent(spec, goal, public_normaliser(spec))
        descent = self._chosen(spec, default)
        mechanism = step_mechanism(spec, goal, descent)
        why = (noise_reason(spec, descent, mechanism),)
        return GradientPlan(
            spec, goal, why=why, tolerance=None, output_noise=None, descent=descent, mechanism=mechanism
        )

    def declare_event(
        self, goal: AnyGuarantee, loss: Loss, *, clip: float | None = None, n: int | None = None
    ) -> Event:
        """Return the accounting event of a plan for ``goal``, before the number of features is known (T70).

        The event consists of one Gaussian event per step. The number of steps is ``steps`` if set, and otherwise the
        default for an assumed number of coefficients.

        Parameters
        ----------
        goal
            Guarantee of the training run alone, without other stages. It must not be pure, because the noise is
            Gaussian.
        loss
            Loss of the problem; it affects the default number of steps.
        clip
            Clipping norm divided by the bound on the norm of a row; None for the default.
        n
            Public number of records, used for the default number of steps; None if it is not declared.

        Returns
        -------
        Event
            Composition of one Gaussian event per step.
        """
        goal = checked_goal(goal)
        _refuse_pure(goal)
        spec = assumed_problem(loss, clip=clip, n=n or UNKNOWN_RECORDS)
        spec = spec.clipped(descent_clip(spec))
        descent = self._chosen(spec, default_descent(spec, goal, public_normaliser(spec)))
        return declared_noise(goal, times=descent.steps)

    def plan_from_event(self, spec: ProblemSpec, event: Event, goal: AnyGuarantee) -> "GradientPlan":
        """Return a plan with exactly the declared event, once the problem is known (T70).

        The event fixes the number of steps and the noise multiplier. The noisy sums of gradients are divided by
        ``spec.n``, which may be a noisy count of the records.

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
        GradientPlan
            The plan.

        Raises
        ------
        ParameterError
            If ``event`` is not an event of this method, or its privacy loss exceeds ``goal``.
        """
        step, steps = (event.event, event.count) if isinstance(event, Repeated) else (event, 1)
        share, goal = noise_share(step, goal), require_goal_covers(goal, event)
        if self.steps not in (None, steps):
            raise event_of_another_kind(event, f"gradient perturbation with {arg('steps', self.steps)}")
        descent = replace(self, steps=steps)._chosen(spec, default_descent(spec, goal, public_normaliser(spec)))
        mechanism = GaussianMechanism.calibrate(
            gradient_sensitivity(spec, goal.adjacency),
            share,
            dim=spec.dim,
            numerical_error=gradient_error(spec, row_limit(spec.n), descent.longest),
        )
        why = (noise_reason(spec, descent, mechanism),)
        return GradientPlan(
            spec,
            goal,
            why=why,
            tolerance=None,
            output_noise=None,
            descent=descent,
            mechanism=mechanism,
            declared=event,
        )

    def _chosen(self, spec: ProblemSpec, default: DescentSettings) -> DescentSettings:
        """Return the given settings, with defaults for the others."""
        return DescentSettings(
            steps=default.steps if self.steps is None else int(self.steps),
            step_size=default.step_size if self.step_size is None else float(self.step_size),
            momentum=default.momentum if self.momentum is None else float(self.momentum),
            average=default.average if self.average is None else float(self.average),
            projection=default_projection(spec) if self.projection is None else float(self.projection),
        )


@dataclass(frozen=True)
class GradientPlan(Plan):
    """Plan of `GradientPerturbation`. In each step, ``mechanism`` adds noise to the sum of the gradients."""

    descent: DescentSettings
    mechanism: GaussianMechanism

    method: ClassVar[str] = "gradient"

    @cached_property
    def event(self) -> Event:
        """Composition of one Gaussian event per step."""
        return self.stated_event(self.mechanism.event * self.descent.steps)

    @property
    def theorems(self) -> tuple[str, ...]:
        """Tags of the theorems on clipping, composition and noise."""
        declared = ("T70",) * (self.declared is not None)
        return ("T45", "T44", "T3", "T54", *declared, *self.mechanism.facts.theorems)

    @property
    def noise(self) -> str:
        """Distribution of the noise on the gradient of each step."""
        return self.mechanism.law.words_at(self._place)

    @property
    def noise_family(self) -> str:
        """Description of the noise without its rounding grid."""
        return f"{self.mechanism.law.family} {self._place}"

    @property
    def _place(self) -> str:
        return f"on the gradient in each of {self.descent.steps} steps"

    @property
    def numbers(self) -> dict[str, object]:
        """Settings of the descent and public numbers of one step's noise."""
        return {**self.descent.numbers, "step_noise": dict(self.mechanism.facts.public)}

    @property
    def longest(self) -> float:
        """Radius of the projection, with a margin for rounding errors."""
        return self.descent.longest

    @property
    def intermediate(self) -> dict[str, float]:
        """Bounds on a noisy mean gradient and on a step along it with momentum."""
        spec, n = self.spec, public_normaliser(self.spec)
        slope = self.most_rows * spec.lipschitz + noise_norm(self.mechanism, spec.dim)
        mean = (slope + (spec.regularization or 0.0) * self.longest) / n
        return {"gradients": mean, "steps": self.descent.step_size * mean + 3 * self.longest}

    def learn(self, data: BoundedData, stream: Stream) -> Floats:
        """Descend along noisy gradients of the mean loss; only ``loss_gradient`` touches the data."""
        normaliser, strength = public_normaliser(self.spec), self.spec.regularization or 0.0

        def gradient(theta: Floats) -> Floats:
            noisy = self.mechanism.noisy(loss_gradient(data, self.spec, theta), stream)
            return (noisy + strength * theta) / normaliser

        return descend(gradient, self.descent, self.spec.dim)


def noise_reason(spec: ProblemSpec, descent: DescentSettings, mechanism: GaussianMechanism) -> Fact:
    """Return the settings of the descent and the noise of one step as a reason of the plan."""
    normaliser = public_normaliser(spec)
    return Fact(
        "noise.gradient",
        "{steps} steps of size {step_size:.3g} with momentum {momentum:g}; the last {averaged} iterates are averaged. "
        "Each step adds noise of standard deviation {deviation:.3g} to the mean gradient, calibrated to "
        "per-record gradients of norm at most {gradient:.3g} and {@n:{n}}.",
        {
            "steps": descent.steps,
            "step_size": descent.step_size,
            "momentum": descent.momentum,
            "averaged": descent.averaged,
            "deviation": mechanism.scale / normaliser,
            "gradient": spec.lipschitz,
            "n": normaliser,
        },
    )


def public_normaliser(spec: ProblemSpec, method: str = "gradient") -> int:
    """Return the public n that divides the gradients; it must be declared under add/remove as well (T45).

    Raises
    ------
    ParameterError
        If n is not declared.
    """
    if spec.n is None:
        raise ParameterError(
            argument="n",
            rule=f"must be declared for {quoted_arg('method', method)}: it divides the sum of the gradients, "
            f"and a number "
            "taken from the data would be a release of its own (T45)",
            remedy="A rough public number is enough.",
        )
    return spec.n


def step_mechanism(spec: ProblemSpec, goal: AnyGuarantee, descent: DescentSettings) -> GaussianMechanism:
    """Return the noise of one step: T steps are mu-GDP with mu = sqrt(T) Delta_g / sigma (T19, T45) and meet ``goal``.

    Rounding of the computed gradient adds twice its bound to the sensitivity. The accountant certifies the result.
    """
    moved = gradient_sensitivity(spec, goal.adjacency)
    error = gradient_error(spec, row_limit(spec.n), descent.longest)
    each = gaussian_mu(goal) / math.sqrt(descent.steps)
    for ulps in PUSHES:
        share = GDP(lowered(each, 8 + 4 * ulps), goal.adjacency)
        found = GaussianMechanism.calibrate(moved, share, dim=spec.dim, numerical_error=error)
        if covers(goal, found.event * descent.steps):
            return found
    raise AssumptionError(
        "no noise scale near the exact one could be certified.", remedy="Choose a slightly larger goal."
    )


def default_projection(spec: ProblemSpec) -> float:
    """Return the projection radius: 1000/R, or less where rounding would add 1 % to the sensitivity.

    Margins of a thousand are far beyond use. Rounding errors grow with the radius; it is not lowered below 30/R.
    """
    rows, widest = row_limit(spec.n), 1000 / spec.radius
    still = gradient_error(spec, rows, 0.0)
    slope = (gradient_error(spec, rows, widest) - still) / widest
    allowed = max(spec.lipschitz / 200 - still, 0.0) / slope if slope else widest
    return min(widest, max(allowed, 30 / spec.radius))


def _refuse_pure(goal: AnyGuarantee) -> None:
    if is_pure(goal):
        raise ConversionError(
            f"{quoted_arg('method', 'gradient')} adds Gaussian noise, which never has a pure guarantee (T6), "
            f"got goal={goal!r}.",
            remedy=f"Set {arg('delta')} > 0, or use {quoted_arg('method', 'objective')} or "
            f"{quoted_arg('method', 'output')} with a smooth loss.",
        )
