# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Accounting of DP-SGD: amplification and composition of (epsilon, delta) pairs, or exact (T21-T23, T26)."""

from dataclasses import dataclass

import numpy as np

from dperm.accounting import Gaussian, Poisson, account
from dperm.accounting.rdp import DEFAULT_ORDERS, poisson_gaussian_rdp, rdp_epsilon
from dperm.accounting.theorems import (
    advanced_composition,
    amplify_poisson,
    analytic_gaussian_epsilon,
    optimal_composition_epsilon,
)
from dperm.report.pictures import Curve, Picture
from dperm.reproduce.lesson import Cell, Check, Effort, Lesson, LessonTable, Outcome

DELTA = 1e-5
RATE = 0.01
MULTIPLIERS = (1.0, 4.0)
COLUMNS = (
    "noise multiplier",
    "q",
    "steps",
    "lemma, then advanced composition",
    "lemma, then optimal composition",
    "Rényi",
    "exact",
    "exact, lower end",
)


@dataclass(frozen=True)
class SampledGaussianSteps:
    """Steps of DP-SGD with Poisson sampling: sums of clipped gradients with Gaussian noise (T46)."""

    multiplier: float
    rate: float
    steps: int

    @property
    def step(self) -> tuple[float, float]:
        """Pair (epsilon, delta) of one step by the amplification lemma (T21); half of DELTA is shared by the steps."""
        delta = min(DELTA / (2 * self.steps * self.rate), 0.5)
        return amplify_poisson(
            analytic_gaussian_epsilon(delta, self.multiplier), delta, rate=self.rate, adjacency="add_remove"
        )

    @property
    def advanced(self) -> float:
        """Total epsilon as in the lecture: the lemma, then advanced composition (T12)."""
        epsilon, delta = self.step
        return advanced_composition(epsilon, delta, count=self.steps, slack=DELTA - self.steps * delta)[0]

    @property
    def optimal(self) -> float:
        """Smallest total epsilon from (epsilon, delta) pairs: the lemma, then optimal composition (T13)."""
        epsilon, delta = self.step
        return optimal_composition_epsilon(epsilon, delta, count=self.steps, total_delta=DELTA)

    @property
    def renyi(self) -> float:
        """Total epsilon by Rényi accounting (T26, T17)."""
        curve = poisson_gaussian_rdp(DEFAULT_ORDERS, self.multiplier, rate=self.rate, adjacency="add_remove")
        return rdp_epsilon(self.steps * curve, DELTA)

    @property
    def exact(self) -> tuple[float, float]:
        """Lower and upper bound on the total epsilon, from the composed mechanism itself (T22, T23)."""
        event = Poisson(Gaussian(self.multiplier), rate=self.rate) * self.steps
        return account(event, "add_remove").epsilon_bracket(DELTA)

    @property
    def row(self) -> tuple[Cell, ...]:
        """Row of the table, in the order of COLUMNS."""
        low, high = self.exact
        return (self.multiplier, self.rate, self.steps, self.advanced, self.optimal, self.renyi, high, low)


def _rows(effort: Effort) -> tuple[tuple[Cell, ...], ...]:
    counts = (10, 100, 1000) if effort.quick else (1, 3, 10, 30, 100, 300, 1000, 3000, 10_000)
    settings = [SampledGaussianSteps(multiplier, RATE, count) for multiplier in MULTIPLIERS for count in counts]
    rows: list[tuple[Cell, ...]] = []
    for setting in settings:
        rows.append(setting.row)
        effort.progress(len(rows) / len(settings))
    return tuple(rows)


def _checks(rows: tuple[tuple[Cell, ...], ...]) -> tuple[Check, ...]:
    numbers = np.array([row[3:] for row in rows], dtype=np.float64)
    advanced, optimal, renyi, high, low = numbers.T
    at = next(i for i, row in enumerate(rows) if row[:3] == (1.0, RATE, 1000))
    long = [i for i, row in enumerate(rows) if int(row[2]) >= 100]
    return (
        Check(
            "Exact accounting gives the smallest epsilon in every setting.",
            bool(np.all(high <= np.minimum(optimal, renyi))),
        ),
        Check(
            "The lower and upper bounds of exact accounting agree to a millionth.",
            bool(np.all(high - low <= 2e-6 * high)),
        ),
        Check(
            "Optimal composition never exceeds advanced composition.",
            bool(np.all(optimal <= advanced * (1 + 1e-9))),
        ),
        Check(
            "For 100 steps or more, both are at least 5 times too large.", bool(np.all(optimal[long] > 5 * high[long]))
        ),
        Check(
            f"With noise multiplier 1 and 1000 steps they give {advanced[at]:.0f} and {optimal[at]:.0f} instead of "
            f"{high[at]:.4f}; Rényi accounting gives {renyi[at]:.2f}.",
            bool(optimal[at] > 100 * high[at] and renyi[at] < 1.3 * high[at]),
        ),
    )


def _curves(rows: tuple[tuple[Cell, ...], ...]) -> tuple[Curve, ...]:
    shown = np.array([row[2:7] for row in rows if row[0] == MULTIPLIERS[0]], dtype=np.float64).T
    steps, advanced, optimal, renyi, exact = (tuple(float(number) for number in line) for line in shown)
    return (
        Curve("lemma, advanced composition", steps, advanced, "published"),
        Curve("lemma, optimal composition", steps, optimal, "proved"),
        Curve("Rényi", steps, renyi, "proved"),
        Curve("exact", steps, exact, "proved"),
    )


def _run(effort: Effort) -> Outcome:
    rows = _rows(effort)
    at = SampledGaussianSteps(1.0, RATE, 1000)
    return Outcome(
        parameters={"delta": DELTA, "sampling rate": RATE},
        table=LessonTable(COLUMNS, rows),
        picture=Picture(
            f"DP-SGD with noise multiplier 1, q = {RATE:g}, delta = {DELTA:g}",
            "number of steps T",
            "epsilon",
            _curves(rows),
            x_log=True,
            y_log=True,
        ),
        checks=_checks(rows),
        sentence=(
            f"A thousand steps of DP-SGD with noise multiplier 1 and q = 0.01 have epsilon = {at.exact[1]:.2f}. "
            f"Amplification and composition of (epsilon, delta) pairs give {at.advanced:.0f}: an accountant has to "
            "compose the mechanisms themselves."
        ),
    )


LESSON = Lesson(
    name="dpsgd_accounting",
    title="Accounting of DP-SGD",
    source="Razaviyayn",
    claim=(
        "The lecture derives the privacy of DP-SGD from amplification and advanced composition. The result is valid "
        "but loose: with common noise multipliers epsilon is too large by a factor of hundreds, because a pair "
        "(epsilon, delta) does not describe how rarely the privacy loss is large."
    ),
    tags=("T12", "T13", "T21", "T22", "T23", "T26"),
    run=_run,
)
