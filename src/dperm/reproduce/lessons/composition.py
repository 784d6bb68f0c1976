# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Composition of T mechanisms: basic, advanced, misprinted, optimal, exact for Gaussian noise (T11-T13, T19, E1)."""

import math
from dataclasses import dataclass

import numpy as np

from dperm.accounting.theorems import (
    advanced_composition,
    analytic_gaussian_epsilon,
    analytic_gaussian_sigma,
    optimal_composition_delta,
    optimal_composition_epsilon,
)
from dperm.report.pictures import Curve, Picture
from dperm.reproduce.lesson import Cell, Check, Effort, Lesson, LessonTable, Outcome

SLACK = 1e-6
"""Total delta."""
STEP_DELTA = 1e-10
"""Delta of one Gaussian step, which is never pure-DP."""
EPSILONS = (0.1, 1.0)
COUNTS = (1, 2, 3, 5, 10, 20, 30, 50, 100, 200, 300, 500, 1000)
FEW = 30
"""Number of mechanisms with epsilon = 1 up to which optimal composition hardly improves on the sum."""
COLUMNS = (
    "epsilon of each mechanism",
    "T",
    "basic",
    "advanced",
    "misprinted",
    "optimal",
    "Gaussian",
    "true delta of the misprint",
)


def misprinted(epsilon: float, count: int, slack: float) -> float:
    """Return advanced composition with the misprinted denominator e^(eps+1) for e^eps + 1 (E1); not a valid bound."""
    spread = epsilon * math.sqrt(2 * count * math.log(1 / slack))
    return spread + count * epsilon * math.expm1(epsilon) / math.exp(epsilon + 1)


@dataclass(frozen=True)
class ComposedMechanisms:
    """Total epsilons of ``count`` mechanisms, each epsilon-DP, or (epsilon, STEP_DELTA)-DP if Gaussian."""

    epsilon: float
    count: int

    @property
    def basic(self) -> float:
        """Sum of the epsilons (T11); delta stays 0."""
        return self.count * self.epsilon

    @property
    def advanced(self) -> float:
        """Square-root law of advanced composition (T12)."""
        return advanced_composition(self.epsilon, 0.0, count=self.count, slack=SLACK)[0]

    @property
    def printed(self) -> float:
        """Total epsilon by the misprinted formula on the slide."""
        return misprinted(self.epsilon, self.count, SLACK)

    @property
    def optimal(self) -> float:
        """Smallest total epsilon that follows from epsilon alone (T13)."""
        return optimal_composition_epsilon(self.epsilon, 0.0, count=self.count, total_delta=SLACK)

    @property
    def gaussian(self) -> float:
        """Exact total epsilon of Gaussian mechanisms: mu grows like sqrt(T) (T19)."""
        sigma = analytic_gaussian_sigma(self.epsilon, STEP_DELTA)
        return analytic_gaussian_epsilon(SLACK, sigma / math.sqrt(self.count))

    @property
    def true_delta(self) -> float:
        """Delta of randomized responses at the total epsilon of the misprint (T13)."""
        return optimal_composition_delta(self.epsilon, 0.0, count=self.count, total_epsilon=self.printed)

    @property
    def row(self) -> tuple[Cell, ...]:
        """Row of the table, in the order of COLUMNS."""
        epsilons = (self.basic, self.advanced, self.printed, self.optimal, self.gaussian)
        return (self.epsilon, self.count, *epsilons, self.true_delta)


def _slope(settings: list[ComposedMechanisms]) -> float:
    counts, epsilons = zip(*((one.count, one.advanced) for one in settings), strict=True)
    return float(np.polyfit(np.log(counts), np.log(epsilons), 1)[0])


def _checks(settings: list[ComposedMechanisms]) -> tuple[Check, ...]:
    last = settings[-1]
    unsafe = [one.count for one in settings if one.epsilon == last.epsilon and one.true_delta > SLACK]
    weak = _slope([one for one in settings if one.epsilon == EPSILONS[0]])
    return (
        Check("The optimal epsilon is the smallest proved bound, for every T.", all(_in_order(o) for o in settings)),
        Check(
            f"Up to T = {FEW} basic composition of epsilon = {last.epsilon:g} is within 0.1% of optimal composition.",
            all(
                one.basic <= 1.001 * one.optimal for one in settings if one.epsilon == last.epsilon and one.count <= FEW
            ),
        ),
        Check(f"Advanced composition of epsilon = 0.1 grows like T^{weak:.2f}.", abs(weak - 0.5) < 0.15),
        Check(
            f"With epsilon = 1, T = 1000 the misprinted formula gives {last.printed:.1f}, below the optimum "
            f"{last.optimal:.1f}.",
            last.printed < last.optimal,
        ),
        Check(f"At that epsilon, randomized response has a delta of {last.true_delta:.3f}.", last.true_delta > 0.98),
        Check(
            f"With epsilon = 1, the misprinted formula is too small for T >= {min(unsafe, default=0)}.", bool(unsafe)
        ),
        Check(
            f"Gaussian mechanisms with the same (epsilon, {STEP_DELTA:g}) have a total epsilon of {last.gaussian:.1f}.",
            all(one.gaussian < one.optimal for one in settings if one.count > 1),
        ),
    )


def _in_order(one: ComposedMechanisms) -> bool:
    return one.optimal <= min(one.basic, one.advanced) * (1 + 1e-12)


def _curves(settings: list[ComposedMechanisms]) -> tuple[Curve, ...]:
    x = tuple(float(one.count) for one in settings)
    return (
        Curve(f"basic (nearly optimal up to T = {FEW})", x, tuple(one.basic for one in settings), "published"),
        Curve("advanced", x, tuple(one.advanced for one in settings), "proved"),
        Curve("optimal", x, tuple(one.optimal for one in settings), "proved"),
        Curve("advanced, misprinted", x, tuple(one.printed for one in settings), "wrong"),
        Curve("Gaussian, exact", x, tuple(one.gaussian for one in settings), "proved"),
    )


def _run(effort: Effort) -> Outcome:
    counts = (1, 10, 100, 1000) if effort.quick else COUNTS
    settings = [ComposedMechanisms(epsilon, count) for epsilon in EPSILONS for count in counts]
    shown = [one for one in settings if one.epsilon == EPSILONS[-1]]
    last = settings[-1]
    effort.progress(1.0)
    return Outcome(
        parameters={"total delta": SLACK, "delta of a Gaussian step": STEP_DELTA},
        table=LessonTable(COLUMNS, tuple(one.row for one in settings)),
        picture=Picture(
            "Composition of T mechanisms with epsilon = 1 each, total delta = 1e-6",
            "number of mechanisms T",
            "total epsilon",
            _curves(shown),
            x_log=True,
            y_log=True,
        ),
        checks=_checks(settings),
        sentence=(
            f"A thousand mechanisms with epsilon = 1 have a total epsilon of {last.optimal:.0f} at best "
            f"({last.advanced:.0f} by advanced composition). The misprinted formula gives {last.printed:.0f}, where "
            f"the true delta is {last.true_delta:.3f}. Gaussian mechanisms have {last.gaussian:.0f} in total: "
            "knowing the mechanism is worth more than any theorem about epsilons."
        ),
    )


LESSON = Lesson(
    name="composition",
    title="Composition theorems",
    source="Razaviyayn",
    claim=(
        "The lecture claims that T mechanisms with the same epsilon have a total epsilon of epsilon sqrt(2T "
        "ln(1/delta')) + T epsilon (e^eps - 1)/e^(eps+1). The denominator is an unsafe misprint for e^eps + 1. "
        "Composition theorems are loose for a given mechanism, because they use only its epsilon."
    ),
    tags=("T11", "T12", "T13", "T19", "E1"),
    run=_run,
)
