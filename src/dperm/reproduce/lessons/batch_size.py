# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Division by the expected batch size: the actual size of a Poisson sample reveals the record (T22, T46, E9)."""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import gammaln

from dperm.accounting.theorems import poisson_gaussian_delta
from dperm.data.arrays import Floats
from dperm.report.pictures import Curve, Picture
from dperm.reproduce.lesson import Check, Effort, Lesson, LessonTable, Outcome

OTHERS = 1000
RATE = 0.01
MULTIPLIER = 1.0
EPSILONS = (0.0, 0.05, 0.1, 0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 2.0)
COLUMNS = ("epsilon", "delta claimed", "delta, divided by q n", "delta, divided by the sample's size", "ratio")


def sizes(most: int = 60) -> Floats:
    """Return the probabilities of 0, 1, 2, ... other records in a sample; numbers above ``most`` are negligible."""
    k = np.arange(most + 1)
    logs = gammaln(OTHERS + 1) - gammaln(k + 1) - gammaln(OTHERS - k + 1)
    return np.asarray(np.exp(logs + k * math.log(RATE) + (OTHERS - k) * math.log1p(-RATE)))


@dataclass(frozen=True)
class ClippedStep:
    """One DP-SGD step with clipped gradients in one dimension, and noise sigma/(q n).

    The gradient of the attacked record is -1, and the gradient of every other record is 1.

    Attributes
    ----------
    own
        Whether the sum is divided by the actual sample size, at least 1, or by q n.
    """

    own: bool

    @cached_property
    def grid(self) -> Floats:
        """Grid of outputs: all means, and 12 standard deviations around them."""
        reach = 12 * self.noise
        top = 1.0 if self.own else len(sizes()) / (OTHERS * RATE)
        return np.linspace(-1.0 - reach, top + reach, 8001)

    @property
    def noise(self) -> float:
        """Standard deviation, calibrated to a record that moves the output by 1/(q n)."""
        return MULTIPLIER / (OTHERS * RATE)

    def law(self, record: bool) -> Floats:
        """Return the density of the output on the grid, with or without the record in the sample."""
        k = np.arange(len(sizes()))
        means = (k - record) / (np.maximum(k + record, 1) if self.own else OTHERS * RATE)
        bells = np.exp(-(((self.grid[:, None] - means) / self.noise) ** 2) / 2)
        return np.asarray(bells @ sizes() / (self.noise * math.sqrt(2 * math.pi)))

    @cached_property
    def pair(self) -> tuple[Floats, Floats]:
        """Densities with the record in the data, and without it."""
        without = self.law(False)
        return (1 - RATE) * without + RATE * self.law(True), without

    def delta(self, epsilon: float) -> float:
        """Return the delta of this pair, the larger of both directions, by quadrature (T1): a lower bound."""
        present, absent = self.pair
        width = self.grid[1] - self.grid[0]
        orders = ((present, absent), (absent, present))
        return max(float(np.maximum(p - math.exp(epsilon) * q, 0.0).sum() * width) for p, q in orders)


def claimed(epsilon: float) -> float:
    """Return the delta of a Poisson-sampled Gaussian step, under removal of a record (T22)."""
    return poisson_gaussian_delta(epsilon, MULTIPLIER, rate=RATE, direction="remove")


def _checks(rows: tuple[tuple[float, ...], ...]) -> tuple[Check, ...]:
    at = next(row for row in rows if row[0] == 1.0)
    return (
        Check("With division by q n, the claim holds at every epsilon.", all(row[2] <= row[1] for row in rows)),
        Check(
            "With division by the actual sample size, the claim is false at every epsilon.",
            all(row[3] > row[1] for row in rows),
        ),
        Check(
            f"At epsilon = 1 delta is {at[3]:.2g}, not {at[1]:.2g}: {at[4]:.2g} times as much.",
            at[4] > 1e4,
        ),
    )


def _curves(rows: tuple[tuple[float, ...], ...]) -> tuple[Curve, ...]:
    epsilon, promised, expected, own, _ = zip(*rows, strict=True)
    return (
        Curve("divided by the sample's size", epsilon, own, "wrong"),
        Curve("claimed", epsilon, promised, "published"),
        Curve("divided by q n, these data", epsilon, expected, "measured"),
    )


def _run(effort: Effort) -> Outcome:
    steps = ClippedStep(own=False), ClippedStep(own=True)
    found = [(epsilon, claimed(epsilon), *(step.delta(epsilon) for step in steps)) for epsilon in EPSILONS]
    rows = tuple((*numbers, numbers[3] / numbers[1]) for numbers in found)
    at = next(row for row in rows if row[0] == 1.0)
    effort.progress(1.0)
    return Outcome(
        parameters={"other records": OTHERS, "sampling rate": RATE, "noise multiplier": MULTIPLIER, "clip": 1.0},
        table=LessonTable(COLUMNS, rows),
        picture=Picture(
            f"One step of DP-SGD with q n = {OTHERS * RATE:g}, noise multiplier {MULTIPLIER:g}",
            "epsilon",
            "delta",
            _curves(rows),
            y_log=True,
        ),
        checks=_checks(rows),
        sentence=(
            f"With division by the actual sample size, one record moves the output by 2/(size + 1), most in a small "
            f"sample: delta at epsilon = 1 is {at[3]:.2g}, where {at[1]:.2g} is claimed. With division by the expected "
            "size it moves the output by at most 1/(q n)."
        ),
    )


LESSON = Lesson(
    name="batch_size",
    title="Divide by the expected batch size",
    source="Razaviyayn",
    claim=(
        "In the lecture, DP-SGD averages the clipped gradients over the batch, dividing by the batch size. This is "
        "wrong: the size of a Poisson sample depends on whether the record is in the data, and the noise is calibrated "
        "to a sum. The sum must be divided by the expected size q n, which is public."
    ),
    tags=("T22", "T46", "E9"),
    run=_run,
)
