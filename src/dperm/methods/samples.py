# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""How often DP-SGD samples, and how much: what was asked for, made into a rate, steps and noise (T46).

The same functions plan the DP-SGD of linear models and that of `dperm.torch`.
"""

from collections.abc import Callable
from dataclasses import dataclass

from dperm import checks
from dperm.accounting.sampled import RATE, SMALLEST_RATE
from dperm.checks import shown
from dperm.errors import ParameterError
from dperm.methods.gradient import MOST_STEPS
from dperm.methods.sampled_noise import SampledNoise, SampledSums, largest_sample, sampled_noise
from dperm.methods.sampling import USUAL_STEPS, rate_for, rate_of_epochs, steps_for
from dperm.privacy import ApproxDP

STEPS = "It is the number of samples that are drawn."
MOST_EPOCHS = 10_000
EPOCHS = "It is the mean number of times that a record is drawn, steps times rate; 5 to 50 are usual."
TOO_MANY = "It is epochs over the rate. Give fewer epochs or a larger batch_size."
BATCH = "It is the expected size of a sample: rate times n."
FAILURE = 2.0**-40
"""Of delta, what is left for samples so large that rounding errors are not bounded."""


@dataclass(frozen=True)
class Samples:
    """What was asked for of the samples; the rest follows from public constants (`dperm.methods.sampling`).

    Attributes
    ----------
    batch_size
        q n, the expected size; it or the rate.
    rate
        q in (0, 1].
    epochs
        q T; it or the steps.
    steps
        T.
    """

    batch_size: float | None = None
    rate: float | None = None
    epochs: float | None = None
    steps: int | None = None

    def __post_init__(self) -> None:
        """Check what was given."""
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
        """Rate and number of steps: what was given, and the default elsewhere."""
        rate = self._rate(goal, n)
        return rate, self._steps(rate, goal)

    def _rate(self, goal: ApproxDP, n: int) -> float:
        if self.rate is not None:
            return float(self.rate)
        if self.batch_size is not None:
            if self.batch_size > n:
                raise ParameterError(f"batch_size={self.batch_size!r} must not exceed n={n!r}. {BATCH}")
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
class Steps:
    """Public numbers of the sums that are released: a Poisson sample's, at ``rate``, in each of ``steps`` steps.

    Attributes
    ----------
    lipschitz
        L, the largest norm that one record adds to a sum.
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


def planned_noise(steps: Steps, goal: ApproxDP, error: Callable[[int], float]) -> SampledNoise:
    """The noise of one step; ``error`` bounds the rounding error of the sum of a sample of so many rows."""
    return sampled_noise(planned_sums(steps, goal, error), goal)


def planned_sums(steps: Steps, goal: ApproxDP, error: Callable[[int], float]) -> SampledSums:
    """The sums with their rounding errors, and the part of delta that is left for samples of unheard-of size.

    A bound for as many rows as a sample may hold would be one for all rows; samples that are larger than
    `largest_sample` are paid for with a small part of delta instead.
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
            f"only one of {first} and {second} can be given, since each follows from the other, got "
            f"{shown(given[0])} and {shown(given[1])}. Leave one of them out."
        )
