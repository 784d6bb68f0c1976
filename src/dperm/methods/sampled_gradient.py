# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""DP-SGD for linear models: gradient descent with noisy gradients of Poisson samples (T46)."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

import numpy as np

from dperm import checks
from dperm.accounting.event import Event
from dperm.checks import shown
from dperm.data.arrays import Floats
from dperm.data.bounded import BoundedData
from dperm.erm.loss import Loss
from dperm.erm.rounding import gradient_error
from dperm.erm.spec import ProblemSpec
from dperm.errors import ParameterError
from dperm.mechanisms.mechanism import noise_at
from dperm.methods.declared_event import assumed_problem, require_goal_covers
from dperm.methods.defaults import UNKNOWN_RECORDS, descent_clip
from dperm.methods.descent import project
from dperm.methods.gradient import AVERAGE, PROJECTION, default_projection, public_normaliser
from dperm.methods.optimizers import Optimizer
from dperm.methods.plan import FAR, Plan, row_limit
from dperm.methods.sampled_noise import (
    FAMILY,
    DeclaredSteps,
    SampledNoise,
    SampledSums,
    approximate_goal,
    largest_sample,
)
from dperm.methods.sampling import (
    USUAL_AVERAGE,
    SampledSteps,
    Sampling,
    SamplingRequest,
    default_optimizer,
    planned_noise,
)
from dperm.methods.table_samples import TableSamples
from dperm.noise.bits import Stream
from dperm.noise.keyed import DrawNumbers
from dperm.presentation.facts import Fact
from dperm.presentation.spelling import arg
from dperm.privacy import ApproxDP
from dperm.privacy.guarantee import AnyGuarantee


@dataclass(frozen=True)
class SampledGradient:
    """DP-SGD: gradient descent with noisy gradients of Poisson samples of the records (T46).

    The loss may be smooth or nonsmooth. In each step, each record is drawn independently with probability q. Gaussian
    noise is added to the sum of the clipped gradients of the sample. The noisy sum is then divided by q n, the expected
    sample size for the declared number n of records. An empty sample is treated like any other. The optimizer,
    averaging, projection and the gradient of the regulariser are post-processing (T3). If a parameter is None, its
    default is computed from public constants (`dperm.methods.sampling`).

    Parameters
    ----------
    batch_size
        Expected sample size q n; an alternative to ``rate``.
    rate
        Probability q of drawing a record in each step, in (0, 1].
    epochs
        Expected number of passes over the data, q times the number of steps; an alternative to ``steps``.
    steps
        Number of steps, from 1 to 10^6.
    optimizer
        `Momentum`, `Adam` or `AdamW`; None uses heavy-ball momentum with a step size computed from public constants.
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
    >>> from dperm.methods.sampled_gradient import SampledGradient
    >>> spec = ProblemSpec(Logistic(), radius=1.0, dim=10, n=100_000)
    >>> plan = SampledGradient(batch_size=1000, epochs=10).plan(spec, ApproxDP(1.0, 1e-6, "add_remove"))
    >>> plan.sampling.steps, round(plan.step_noise.scale, 2)
    (1000, 1.56)
    """

    batch_size: float | None = None
    rate: float | None = None
    epochs: float | None = None
    steps: int | None = None
    optimizer: Optimizer | None = None
    average: float | None = None
    projection: float | None = None

    plans_from_event: ClassVar[bool] = True

    def __post_init__(self) -> None:
        """Check the ranges of all given settings."""
        self.samples  # noqa: B018  # checks the request
        if self.average is not None:
            checks.between("average", self.average, 0.0, 1.0, AVERAGE)
        if self.projection is not None:
            checks.positive("projection", self.projection, PROJECTION)
        if self.optimizer is not None:
            _check_optimizer(self.optimizer)

    def plan(self, spec: ProblemSpec, goal: AnyGuarantee) -> "SampledGradientPlan":
        """Return a plan with sampling rate, number of steps and noise, such that all steps together meet ``goal``.

        Parameters
        ----------
        spec
            Public constants of the problem.
        goal
            Target privacy guarantee of the run.

        Returns
        -------
        SampledGradientPlan
            The plan.

        Raises
        ------
        AssumptionError
            If a condition of the method's theorem does not hold. The message states a remedy.
        """
        goal = approximate_goal(goal)
        sampling = self._sampling(spec, goal, public_normaliser(spec, "sgd"))
        noise = step_noise(spec, goal, sampling)
        return self._plan(spec, goal, sampling=sampling, noise=noise)

    def declare_event(
        self, goal: AnyGuarantee, loss: Loss, *, clip: float | None = None, n: int | None = None
    ) -> Event:
        """Return the accounting event of a plan for ``goal``, before the number of features is known (T70).

        The event fixes the sampling rate, the number of steps and the noise multipliers. One of the noise multipliers
        accounts for rounding errors; it is chosen for an assumed number of coefficients.

        Parameters
        ----------
        goal
            ApproxDP with delta > 0: the guarantee of the training run alone, without other stages.
        loss
            Loss of the problem; for several classes, `Softmax` with the upper limit on the number of classes.
        clip
            Clipping norm divided by the bound on the norm of a row; None for the default.
        n
            Public number of records, used for the default sampling rate; None if it is not declared.

        Returns
        -------
        Event
            Composition of one Poisson-sampled Gaussian event per step, including the cost of rounding errors.

        Raises
        ------
        ConversionError
            If the goal is not ApproxDP with delta > 0.
        ParameterError
            If ``batch_size`` is set, but ``n`` is None.
        """
        goal = approximate_goal(goal)
        if n is None and self.batch_size is not None:
            raise ParameterError(
                argument="batch_size",
                rule=f"needs a public {arg('n')} to declare an event, whose sampling rate is fixed (T70)",
                remedy=f"Give {arg('rate')} instead.",
            )
        spec = assumed_problem(loss, clip=clip, n=n or UNKNOWN_RECORDS)
        spec = spec.clipped(descent_clip(spec))
        return step_noise(spec, goal, self._sampling(spec, goal, public_normaliser(spec, "sgd"))).event

    def plan_from_event(self, spec: ProblemSpec, event: Event, goal: AnyGuarantee) -> "SampledGradientPlan":
        """Return a plan with exactly the declared event, once the problem is known (T70).

        The event fixes the sampling rate, the number of steps and the noise multipliers. ``spec.n`` may be
        a noisy count of the records; it is used to scale the noisy sums and to compute the default step size.

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
        SampledGradientPlan
            The plan.

        Raises
        ------
        ParameterError
            If ``event`` is not an event of this method, or its privacy loss exceeds ``goal``.
        """
        declared = DeclaredSteps.of(event, goal.adjacency)
        goal = approximate_goal(require_goal_covers(goal, event))
        public_normaliser(spec, "sgd")
        same = replace(self, batch_size=None, epochs=None, rate=declared.rate, steps=declared.steps)
        sampling = same._sampling(spec, goal, public_normaliser(spec, "sgd"))
        rows, failure = row_limit(spec.n), declared.failure
        largest = largest_sample(rows, declared.rate, failure / declared.steps) if failure else rows
        sums = SampledSums(
            lipschitz=spec.lipschitz,
            rate=declared.rate,
            steps=declared.steps,
            dim=spec.dim,
            numerical_error=gradient_error(spec, min(largest, rows), sampling.longest),
            failure=failure,
        )
        return self._plan(spec, goal, sampling=sampling, noise=declared.noise(sums, goal.adjacency), declared=event)

    def _plan(
        self,
        spec: ProblemSpec,
        goal: ApproxDP,
        *,
        sampling: Sampling,
        noise: SampledNoise,
        declared: Event | None = None,
    ) -> "SampledGradientPlan":
        """Return the plan of these samples and this noise, with the reason."""
        normaliser = public_normaliser(spec, "sgd")
        optimizer = self.optimizer or default_optimizer(spec, goal, sampling.steps)
        expected = sampling.rate * normaliser
        why = Fact(
            "noise.sgd",
            "{steps} steps, each on a Poisson sample of the records ({@n:{n}}), {expected:.6g} on average; the last "
            "{averaged} iterates are averaged. Each step adds noise of standard deviation {deviation:.3g} to the mean "
            "gradient, calibrated to per-record gradients of norm at most {gradient:.3g}.",
            {
                "steps": sampling.steps,
                "expected": expected,
                "n": normaliser,
                "averaged": sampling.averaged,
                "deviation": noise.scale / expected,
                "gradient": spec.lipschitz,
            },
        )
        return SampledGradientPlan(
            spec,
            goal,
            why=(why,),
            tolerance=None,
            output_noise=None,
            sampling=sampling,
            optimizer=optimizer,
            step_noise=noise,
            declared=declared,
        )

    @property
    def samples(self) -> SamplingRequest:
        """Requested sampling settings, after validation."""
        return SamplingRequest(self.batch_size, self.rate, self.epochs, self.steps)

    def _sampling(self, spec: ProblemSpec, goal: ApproxDP, n: int) -> Sampling:
        """Return the given sampling settings, with defaults for the others."""
        rate, steps = self.samples.planned(goal, n)
        return Sampling(
            rate=rate,
            steps=steps,
            average=USUAL_AVERAGE if self.average is None else float(self.average),
            projection=default_projection(spec) if self.projection is None else float(self.projection),
        )


@dataclass(frozen=True)
class SampledGradientPlan(Plan):
    """Plan of `SampledGradient`. In each step, ``step_noise`` is added to the sum of the gradients of the sample."""

    sampling: Sampling
    optimizer: Optimizer
    step_noise: SampledNoise

    method: ClassVar[str] = "sgd"

    @cached_property
    def event(self) -> Event:
        """Sampled Gaussian of each step, plus the cost of rounding (`dperm.methods.sampled_noise`)."""
        return self.stated_event(self.step_noise.event)

    @property
    def theorems(self) -> tuple[str, ...]:
        """Tags of the theorems on sampling, clipping, post-processing and noise."""
        declared = ("T70",) * (self.declared is not None)
        return ("T46", "T207", "T44", "T3", "T54", *declared, *self.step_noise.theorems)

    @property
    def noise(self) -> str:
        """Distribution of the noise on the gradient of each sample."""
        return noise_at(self._place, self.step_noise.words, FAMILY)

    @property
    def noise_family(self) -> str:
        """Description of the noise without its rounding grid."""
        return f"{FAMILY} {self._place}"

    @property
    def _place(self) -> str:
        return f"on the sum of the sample's gradients in each of {self.sampling.steps} steps"

    @property
    def numbers(self) -> dict[str, object]:
        """Public numbers of the sampling, the optimizer and one step's noise."""
        return {
            **self.sampling.numbers,
            "batch_size": self.sampling.rate * public_normaliser(self.spec, self.method),
            "optimizer": self.optimizer.numbers,
            "step_noise": self.step_noise.numbers,
        }

    @property
    def longest(self) -> float:
        """Radius of the projection, with a margin for rounding errors."""
        return self.sampling.longest

    @property
    def intermediate(self) -> dict[str, float]:
        """Bounds on a noisy mean gradient and on a step of one of dperm's optimizers along it.

        Momentum sums gradients with weights of at most 1/(1 - m). Adam divides a mean of them by at least ``stable``.
        """
        spec, n, numbers = self.spec, public_normaliser(self.spec, self.method), self.optimizer.numbers
        noise = FAR * math.sqrt(spec.dim) * self.step_noise.scale
        mean = (self.most_rows * spec.lipschitz + noise) / (self.sampling.rate * n)
        mean += (spec.regularization or 0.0) / n * self.longest
        size, momentum, decay = (_number(numbers.get(name)) for name in ("step_size", "momentum", "decay"))
        direction = mean / (_number(numbers.get("stable")) or 1 - min(momentum, 0.999))
        return {"gradients": mean, "steps": size * direction + (1 + size * decay) * self.longest}

    def learn(self, data: BoundedData, stream: Stream) -> Floats:
        """Descend along noisy gradients of samples; only `TableSamples.sum` touches the data.

        Each step has a draw number of its own, used up before its noise is drawn (T207). The noisy sum is divided by
        q n, never by the size of the sample (T46, E9).
        """
        n, strength = public_normaliser(self.spec, self.method), self.spec.regularization or 0.0
        rate, expected = self.sampling.rate, self.sampling.rate * n
        draws = DrawNumbers(stream, rows=data.rows)
        samples = TableSamples(data, draws, rate=rate, expected=expected, steps=self.sampling.steps)

        def gradient(theta: Floats) -> Floats:
            total = samples.sum(self.spec, theta)
            draws.use_up()
            noisy = self.step_noise.noisy(total, stream)
            return noisy / expected + (strength / n) * theta

        return run_optimizer(gradient, self.optimizer, self.sampling, dim=self.spec.dim)


def run_optimizer(
    gradient: Callable[[Floats], Floats], optimizer: Optimizer, sampling: Sampling, *, dim: int
) -> Floats:
    """Return the mean of the last iterates of the optimizer, started at 0 and projected after each step."""
    walk, theta, total = optimizer.start(dim, sampling.steps), np.zeros(dim), np.zeros(dim)
    for step in range(sampling.steps):
        theta = project(walk.step(theta, gradient(theta)), sampling.projection)
        if step >= sampling.steps - sampling.averaged:
            total += theta
    return total / sampling.averaged


def step_noise(spec: ProblemSpec, goal: ApproxDP, sampling: Sampling) -> SampledNoise:
    """Return the noise of one step for gradients clipped at L (T44), with the rounding errors of their sums."""
    steps = SampledSteps(
        rate=sampling.rate, steps=sampling.steps, lipschitz=spec.lipschitz, dim=spec.dim, rows=row_limit(spec.n)
    )
    return planned_noise(steps, goal, lambda rows: gradient_error(spec, rows, sampling.longest))


def _number(value: object) -> float:
    """Return a number of an optimizer; 0 if it has none of this name."""
    return float(value) if isinstance(value, int | float) else 0.0


def _check_optimizer(optimizer: object) -> None:
    if isinstance(optimizer, type) or not isinstance(optimizer, Optimizer):
        raise ParameterError(
            argument="optimizer",
            rule="must be an object such as Momentum(0.1, 0.9), Adam(0.01) or AdamW(0.01) of dperm.methods.optimizers",
            got=shown(optimizer),
        )
