# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Textbook and exact Gaussian noise: too much for small epsilon, too little for large epsilon (T6, T6a, E2)."""

import math
from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq

from dperm.accounting.theorems import analytic_gaussian_delta, analytic_gaussian_sigma
from dperm.report.pictures import Curve, Picture
from dperm.reproduce.lesson import Cell, Check, Effort, Lesson, LessonTable, Outcome

DELTAS = (1e-2, 1e-3, 1e-5, 1e-8)
LISTED = (0.1, 0.5, 0.99, 1.0, 2.0, 5.0, 8.0, 10.0)
"""Epsilons in the table; the plot has more."""
COLUMNS = (
    "delta claimed",
    "epsilon",
    "sigma, textbook",
    "sigma, exact",
    "ratio",
    "true delta of the textbook",
    "fails from epsilon",
)


def printed_sigma(epsilon: float, delta: float) -> float:
    """Return sqrt(2 ln(1.25/delta))/epsilon, as in the lectures; the theorem holds only for epsilon < 1 (T6a, E2).

    `classical_gaussian_sigma` has the same formula but refuses larger epsilons.
    """
    return math.sqrt(2 * math.log(1.25 / delta)) / epsilon


@dataclass(frozen=True)
class GaussianScales:
    """Textbook and exact noise scale at one epsilon and delta, for sensitivity 1."""

    epsilon: float
    delta: float

    @property
    def printed(self) -> float:
        """Noise scale of the textbook."""
        return printed_sigma(self.epsilon, self.delta)

    @property
    def exact(self) -> float:
        """Smallest sufficient noise scale (T6)."""
        return analytic_gaussian_sigma(self.epsilon, self.delta)

    @property
    def ratio(self) -> float:
        """Textbook noise divided by the smallest sufficient noise."""
        return self.printed / self.exact

    @property
    def true_delta(self) -> float:
        """True delta of the textbook noise at this epsilon (T6)."""
        return analytic_gaussian_delta(self.epsilon, self.printed)

    def row(self, fails: float) -> tuple[Cell, ...]:
        """Return the row of the table; ``fails`` is the smallest epsilon at which the textbook noise fails."""
        return (self.delta, self.epsilon, self.printed, self.exact, self.ratio, self.true_delta, fails)


def first_failure(delta: float) -> float:
    """Return the epsilon above which the true delta of the textbook noise exceeds ``delta``."""
    return float(
        brentq(lambda epsilon: math.log(GaussianScales(epsilon, delta).true_delta / delta), 1.0, 20.0, xtol=1e-10)
    )


def _checks(failures: dict[float, float]) -> tuple[Check, ...]:
    below = [GaussianScales(epsilon, delta) for delta in DELTAS for epsilon in LISTED if epsilon < 1]
    bad = GaussianScales(10.0, 1e-5)
    dearest = max(one.ratio for one in below)
    return (
        Check(
            "Below epsilon = 1, where the textbook formula is proved, it is sufficient.",
            all(o.true_delta <= o.delta for o in below),
        ),
        Check(
            f"Below epsilon = 1 the textbook formula gives up to {dearest:.2f} times the required noise.", dearest > 1.5
        ),
        Check(
            f"At epsilon = 10 and delta = 1e-5 the true delta is {bad.true_delta:.3g}: the claim is false.",
            bad.true_delta > 2 * bad.delta,
        ),
        Check(
            "The formula fails for epsilon >= "
            + ", ".join(f"{failures[delta]:.4f} (delta = {delta:g})" for delta in DELTAS)
            + ".",
            all(
                GaussianScales(end * 1.001, delta).ratio < 1 < GaussianScales(end * 0.999, delta).ratio
                for delta, end in failures.items()
            ),
        ),
    )


def _curves(points: int) -> tuple[Curve, ...]:
    """Return the curves, without the largest delta, whose ratio would flatten the others."""
    x = tuple(float(epsilon) for epsilon in np.geomspace(0.1, 20.0, points))
    ratios = tuple(
        Curve(
            f"textbook, delta = {delta:g}", x, tuple(GaussianScales(epsilon, delta).ratio for epsilon in x), "published"
        )
        for delta in DELTAS[1:]
    )
    needed = Curve("needed (exact)", (x[0], x[-1]), (1.0, 1.0), "proved")
    return (*ratios, needed)


def _run(effort: Effort) -> Outcome:
    failures = {delta: first_failure(delta) for delta in DELTAS}
    rows = tuple(GaussianScales(epsilon, delta).row(failures[delta]) for delta in DELTAS for epsilon in LISTED)
    curves = _curves(12 if effort.quick else 30)
    effort.progress(1.0)
    return Outcome(
        parameters={"sensitivity": 1.0},
        table=LessonTable(COLUMNS, rows),
        picture=Picture(
            "Textbook noise divided by the required noise; the theorem ends at epsilon = 1",
            "epsilon",
            "textbook sigma / exact sigma",
            curves,
            x_log=True,
        ),
        checks=_checks(failures),
        sentence=(
            f"At delta = 1e-5 the textbook noise is {GaussianScales(0.1, 1e-5).ratio:.2f} times the required noise at "
            f"epsilon = 0.1 and {GaussianScales(1.0, 1e-5).ratio:.2f} times at epsilon = 1. It is insufficient for "
            f"epsilon >= {failures[1e-5]:.2f}. The exact noise needs no condition on epsilon."
        ),
    )


LESSON = Lesson(
    name="gaussian_noise",
    title="How much Gaussian noise is needed",
    source="Bellet, Razaviyayn",
    claim=(
        "The lectures claim that noise with sigma = sensitivity sqrt(2 ln(1.25/delta))/epsilon is (epsilon, delta)-DP "
        "for every epsilon. This is proved only for epsilon < 1, where less noise suffices. The claim fails above a "
        "threshold of about 7 to 9, which depends on delta."
    ),
    tags=("T6", "T6a", "E2"),
    run=_run,
)
