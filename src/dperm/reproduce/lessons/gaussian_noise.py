# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""The textbook's Gaussian noise and the exact one: too much for small epsilon, too little for large (T6, T6a, E2)."""

import math
from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq

from dperm.accounting.theorems import analytic_gaussian_delta, analytic_gaussian_sigma
from dperm.report.pictures import Curve, Picture
from dperm.reproduce.lesson import Cell, Check, Effort, Lesson, Outcome, Table

DELTAS = (1e-2, 1e-3, 1e-5, 1e-8)
LISTED = (0.1, 0.5, 0.99, 1.0, 2.0, 5.0, 8.0, 10.0)
"""Epsilons of the table; the picture has more."""
COLUMNS = (
    "delta claimed",
    "epsilon",
    "sigma, textbook",
    "sigma, exact",
    "ratio",
    "true delta of the textbook's",
    "fails from epsilon",
)


def printed_sigma(epsilon: float, delta: float) -> float:
    """sqrt(2 ln(1.25/delta))/epsilon, for every epsilon as the lectures have it; the theorem ends at 1 (T6a, E2).

    Not `classical_gaussian_sigma`, which refuses where nothing is proved.
    """
    return math.sqrt(2 * math.log(1.25 / delta)) / epsilon


@dataclass(frozen=True)
class Setting:
    """Both noises at one epsilon and delta, for sensitivity 1."""

    epsilon: float
    delta: float

    @property
    def printed(self) -> float:
        """The textbook's noise."""
        return printed_sigma(self.epsilon, self.delta)

    @property
    def exact(self) -> float:
        """The least noise (T6)."""
        return analytic_gaussian_sigma(self.epsilon, self.delta)

    @property
    def ratio(self) -> float:
        """How many times the least noise the textbook has."""
        return self.printed / self.exact

    @property
    def true_delta(self) -> float:
        """What the textbook's noise really has at this epsilon (T6)."""
        return analytic_gaussian_delta(self.epsilon, self.printed)

    def row(self, fails: float) -> tuple[Cell, ...]:
        """Of the table."""
        return (self.delta, self.epsilon, self.printed, self.exact, self.ratio, self.true_delta, fails)


def first_failure(delta: float) -> float:
    """The epsilon from which the textbook's noise has more than ``delta``."""
    return float(brentq(lambda epsilon: math.log(Setting(epsilon, delta).true_delta / delta), 1.0, 20.0, xtol=1e-10))


def _checks(failures: dict[float, float]) -> tuple[Check, ...]:
    below = [Setting(epsilon, delta) for delta in DELTAS for epsilon in LISTED if epsilon < 1]
    bad = Setting(10.0, 1e-5)
    dearest = max(one.ratio for one in below)
    return (
        Check("Where the theorem is proved, below epsilon = 1, it holds.", all(o.true_delta <= o.delta for o in below)),
        Check(f"It wastes there: up to {dearest:.2f} times the noise that is needed.", dearest > 1.5),
        Check(
            f"At epsilon = 10 and delta = 1e-5 the true delta is {bad.true_delta:.3g}: the promise is broken.",
            bad.true_delta > 2 * bad.delta,
        ),
        Check(
            "It fails from " + ", ".join(f"{failures[delta]:.4f} (delta = {delta:g})" for delta in DELTAS) + " on.",
            all(
                Setting(end * 1.001, delta).ratio < 1 < Setting(end * 0.999, delta).ratio
                for delta, end in failures.items()
            ),
        ),
    )


def _curves(points: int) -> tuple[Curve, ...]:
    """Without the largest delta, which wastes so much that the others would look flat."""
    x = tuple(float(epsilon) for epsilon in np.geomspace(0.1, 20.0, points))
    ratios = tuple(
        Curve(f"textbook, delta = {delta:g}", x, tuple(Setting(epsilon, delta).ratio for epsilon in x), "published")
        for delta in DELTAS[1:]
    )
    needed = Curve("needed (exact)", (x[0], x[-1]), (1.0, 1.0), "proved")
    return (*ratios, needed)


def _run(effort: Effort) -> Outcome:
    failures = {delta: first_failure(delta) for delta in DELTAS}
    rows = tuple(Setting(epsilon, delta).row(failures[delta]) for delta in DELTAS for epsilon in LISTED)
    curves = _curves(12 if effort.quick else 30)
    effort.progress(1.0)
    return Outcome(
        parameters={"sensitivity": 1.0},
        table=Table(COLUMNS, rows),
        picture=Picture(
            "The textbook's noise over the noise that is needed; its theorem ends at epsilon = 1",
            "epsilon",
            "ratio of sigmas",
            curves,
            x_log=True,
        ),
        checks=_checks(failures),
        sentence=(
            f"At delta = 1e-5 the textbook's noise is {Setting(0.1, 1e-5).ratio:.2f} times what is needed at epsilon = "
            f"0.1, {Setting(1.0, 1e-5).ratio:.2f} times at 1, and too little from epsilon = {failures[1e-5]:.2f} on. "
            "The exact noise needs no condition on epsilon."
        ),
    )


LESSON = Lesson(
    name="gaussian_noise",
    title="How much Gaussian noise",
    source="Bellet, Razaviyayn",
    claim=(
        "Noise of sigma = sensitivity sqrt(2 ln(1.25/delta))/epsilon is (epsilon, delta)-DP, for every epsilon. It is "
        "proved for epsilon < 1 only, where it is more than needed, and it is wrong for epsilon beyond 7 to 9."
    ),
    tags=("T6", "T6a", "E2"),
    run=_run,
)
