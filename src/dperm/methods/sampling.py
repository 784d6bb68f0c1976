# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Sampling rate, number of steps and noise of DP-SGD (T46), for linear models and for `dperm.torch`.

Defaults follow from public constants alone. They affect utility and time; no guarantee rests on them. Let mu be the
goal's (T6), over the number of records in which neighbours differ. T steps at rate q need a noise multiplier z. While z
is well above 1 it is about q sqrt(T) / mu, and the noise on the mean gradient, z L / (q n), equals the noise of T steps
on all records (T45): sampling costs nothing. At z = 1.5 it costs a sixth, below 1 soon much more. So q = 1.5 mu /
sqrt(T), and q T = 1.5 mu sqrt(T) passes.

The noise left in the coefficients by all steps depends on their horizon (step size times steps), not on T. More steps
are smaller ones, and reach farther where the data have directions of little curvature.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

from dperm import checks
from dperm.accounting.sampled import RATE, SMALLEST_RATE
from dperm.checks import shown
from dperm.erm.spec import ProblemSpec
from dperm.errors import ParameterError
from dperm.mechanisms.goal import gaussian_mu
from dperm.methods.defaults import descent_strength
from dperm.methods.descent import HEAVY_STEP, KINKED_STEP, MOMENTUM, AveragedIterates, step_unit
from dperm.methods.gradient import MOST_STEPS
from dperm.methods.optimizers import Momentum
from dperm.methods.sampled_noise import SampledNoise, SampledSums, largest_sample, sampled_noise
from dperm.presentation.spelling import arg
from dperm.privacy import ApproxDP
from dperm.sensitivity.arguments import records_exchanged

USUAL_STEPS = 1000
MULTIPLIER = 1.5
SMALLEST_BATCH = 256
"""Smallest expected size of a sample by default; a step with fewer records takes as much time."""
EPOCH_RANGE = (5.0, 50.0)
"""Fewest and most passes by default; in E passes the noise of sampling is about 1/E of the data's own."""
USUAL_AVERAGE = 0.5
STEPS = "It is the number of samples."
MOST_EPOCHS = 10_000
EPOCHS = "It is the mean number of draws of a record, steps times rate; 5 to 50 are usual."
TOO_MANY = f"It is epochs over the rate. Choose fewer {arg('epochs')} or a larger {arg('batch_size')}."
BATCH = "It is the expected size of a sample: rate times n."
FAILURE = 2.0**-40
"""Share of delta for samples too large for the bound on rounding errors."""


@dataclass(frozen=True)
class Sampling(AveragedIterates):
    """Public settings of a run.

    Attributes
    ----------
    rate
        q, the probability of a record to be in a sample.
    steps
        T, the number of samples.
    average
        Share of the steps, at the end, whose iterates are averaged.
    projection
        Largest norm of an iterate.
    """

    rate: float
    steps: int
    average: float = USUAL_AVERAGE
    projection: float = math.inf


def rate_for(steps: int, goal: ApproxDP, n: int) -> float:
    """Return the rate q = 1.5 mu / sqrt(T), with at least 5 passes over the data and 256 records in a sample."""
    wanted = MULTIPLIER * record_mu(goal) / math.sqrt(steps)
    return min(1.0, max(wanted, EPOCH_RANGE[0] / steps, SMALLEST_BATCH / n))


def steps_for(rate: float, goal: ApproxDP) -> int:
    """Return T = (1.5 mu / q)^2 steps, at most 50 passes over the data and at least 1000 steps."""
    wanted = min((MULTIPLIER * record_mu(goal) / rate) ** 2, EPOCH_RANGE[1] / rate)
    return max(USUAL_STEPS, math.ceil(wanted))


def rate_of_epochs(epochs: float, n: int) -> float:
    """Return the rate at which ``epochs`` passes take 1000 steps, with at least 256 records in a sample."""
    return min(1.0, max(epochs / USUAL_STEPS, SMALLEST_BATCH / n))


def default_optimizer(spec: ProblemSpec, goal: ApproxDP, steps: int) -> Momentum:
    """Return momentum .9 with steps for the horizon H of `dperm.methods.descent.default_descent`.

    The step is (1 - .9) H / T for H = n/Lambda, at most 8 units, or 2 at a kink, as there.
    """
    strength = descent_strength(spec, goal)
    horizon = (spec.n or 1) / strength
    longest = (HEAVY_STEP if math.isfinite(spec.smoothness) else KINKED_STEP) * step_unit(spec)
    return Momentum(min((1 - MOMENTUM) * horizon / steps, longest), MOMENTUM)


def record_mu(goal: ApproxDP) -> float:
    """Return the mu available for one added or removed record."""
    return gaussian_mu(goal) / records_exchanged(goal.adjacency)


@dataclass(frozen=True)
class SamplingRequest:
    """Requested sampling settings; the others follow from public constants.

    Attributes
    ----------
    batch_size
        q n, the expected size of a sample; alternative to the rate.
    rate
        q in (0, 1].
    epochs
        q T; alternative to the steps.
    steps
        T.

    Raises
    ------
    ParameterError
        If a number is out of range, or if both of two alternatives are given.
    """

    batch_size: float | None = None
    rate: float | None = None
    epochs: float | None = None
    steps: int | None = None

    def __post_init__(self) -> None:
        """Check the ranges and refuse two alternatives at once."""
        _refuse_two("batch_size", "rate", self.batch_size, self.rate)
        _refuse_two("epochs", "steps", self.epochs, self.steps)
        if self.batch_size is not None:
            checks.positive("batch_size", self.batch_size, BATCH)
        if self.rate is not None:
            checks.between("rate", self.rate, SMALLEST_RATE, 1.0, RATE)
        if self.epochs is not None:
            checks.between("epochs", self.epochs, 1e-9, MOST_EPOCHS, EPOCHS)
        if self.steps is not None:
            checks.count("steps", self.steps, STEPS, most=MOST_STEPS)

    def planned(self, goal: ApproxDP, n: int) -> tuple[float, int]:
        """Return rate and number of steps: the given ones, with defaults for the others."""
        rate = self._rate(goal, n)
        return rate, self._steps(rate, goal)

    def _rate(self, goal: ApproxDP, n: int) -> float:
        if self.rate is not None:
            return float(self.rate)
        if self.batch_size is not None:
            if self.batch_size > n:
                raise ParameterError(
                    argument="batch_size",
                    rule=f"must not exceed {arg('n', n)}",
                    got=repr(self.batch_size),
                    remedy=BATCH,
                )
            return checks.between("batch_size / n", self.batch_size / n, SMALLEST_RATE, 1.0, BATCH)
        if self.epochs is not None:
            return rate_of_epochs(self.epochs, n)
        return rate_for(self.steps or USUAL_STEPS, goal, n)

    def _steps(self, rate: float, goal: ApproxDP) -> int:
        if self.steps is not None:
            return int(self.steps)
        if self.epochs is not None:
            return checks.count("steps", max(1, round(self.epochs / rate)), TOO_MANY, most=MOST_STEPS)
        given = self.rate is not None or self.batch_size is not None
        return min(steps_for(rate, goal), MOST_STEPS) if given else USUAL_STEPS


@dataclass(frozen=True)
class SampledSteps:
    """Public numbers of the released sums: one Poisson sample at ``rate`` in each of ``steps`` steps.

    Attributes
    ----------
    rate
        q, the probability of a record to be in a sample.
    steps
        T, the number of sums.
    lipschitz
        L, the largest norm of one record's contribution to a sum.
    dim
        Number of entries of a sum, or more.
    rows
        Public limit on the number of records.
    """

    rate: float
    steps: int
    lipschitz: float
    dim: int
    rows: int


def planned_noise(steps: SampledSteps, goal: ApproxDP, error: Callable[[int], float]) -> SampledNoise:
    """Return the noise of one step; ``error`` bounds the rounding error of a sample's sum by its number of rows."""
    return sampled_noise(planned_sums(steps, goal, error), goal)


def planned_sums(steps: SampledSteps, goal: ApproxDP, error: Callable[[int], float]) -> SampledSums:
    """Return the sums with their rounding errors and the part of delta reserved for oversized samples.

    A bound for the largest possible sample would be one for all rows. Samples above `largest_sample` are paid for with
    a small part of delta instead.
    """
    failure = goal.delta * FAILURE
    largest = largest_sample(steps.rows, steps.rate, failure / steps.steps)
    return SampledSums(
        lipschitz=steps.lipschitz,
        rate=steps.rate,
        steps=steps.steps,
        dim=steps.dim,
        numerical_error=error(min(largest, steps.rows)),
        failure=failure if largest <= steps.rows else 0.0,
    )


def _refuse_two(first: str, second: str, *given: object) -> None:
    if all(value is not None for value in given):
        raise ParameterError(
            f"only one of {arg(first)} and {arg(second)} can be given, since each follows from the other, got "
            f"{shown(given[0])} and {shown(given[1])}.",
            remedy="Leave one of them out.",
        )
