# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Noise of DP gradient descent: the formula of the lecture and the exact formula (T12a, T45, E12, E13)."""

import math
from dataclasses import dataclass

from dperm.accounting.theorems import analytic_gaussian_epsilon, analytic_gaussian_sigma, per_step_epsilon
from dperm.erm.losses import Logistic
from dperm.erm.spec import ProblemSpec
from dperm.methods import GradientPerturbation
from dperm.privacy import ApproxDP
from dperm.report.pictures import Curve, Picture
from dperm.reproduce.lesson import Cell, Check, Effort, Lesson, LessonTable, Outcome, slope

N = 10_000
EPSILON = 0.5
DELTA = 1e-5
STEPS = (1, 3, 10, 30, 100, 300, 1000, 3000, 10_000)
COLUMNS = (
    "T",
    "slide",
    "its derivation, ln(1/delta)",
    "its derivation, ln((T+1)/delta)",
    "exact",
    "slide over exact",
    "true epsilon of the slide",
)


@dataclass(frozen=True)
class DescentNoise:
    """Noise scales for T steps on the mean gradient of N records with norm at most 1."""

    steps: int

    @property
    def moved(self) -> float:
        """Sensitivity of one step: a replaced record moves the mean gradient by 2/N."""
        return 2 / N

    @property
    def slide(self) -> float:
        """Noise on the slide, 8 L sqrt(T)/(epsilon n) (log(1.25/delta) + log(T + 1)), called a variance there (E13)."""
        return 8 * math.sqrt(self.steps) / (EPSILON * N) * (math.log(1.25 / DELTA) + math.log(self.steps + 1))

    @property
    def literal(self) -> float:
        """Noise by the printed derivation, whose per-step epsilon has ln(1/delta) (E12); no valid proof."""
        return self._classical(EPSILON / math.sqrt(8 * self.steps * math.log(1 / DELTA)))

    @property
    def derived(self) -> float:
        """Noise by the corrected derivation with ln((T+1)/delta) (T12a)."""
        return self._classical(per_step_epsilon(EPSILON, count=self.steps, slack=DELTA / (self.steps + 1)))

    def _classical(self, step_epsilon: float) -> float:
        """Return the classical Gaussian noise of a step with delta/(T+1) (T6a)."""
        return self.moved * math.sqrt(2 * math.log(1.25 * (self.steps + 1) / DELTA)) / step_epsilon

    @property
    def exact(self) -> float:
        """Exact noise, 2 L sqrt(T)/(n mu): T steps are one Gaussian mechanism (T45)."""
        return math.sqrt(self.steps) * analytic_gaussian_sigma(EPSILON, DELTA, sensitivity=self.moved)

    @property
    def spent(self) -> float:
        """True epsilon of the slide's noise."""
        return self.true_epsilon(self.slide)

    def true_epsilon(self, noise: float) -> float:
        """Return the true epsilon of a noise scale (T45)."""
        return analytic_gaussian_epsilon(DELTA, noise / math.sqrt(self.steps), sensitivity=self.moved)

    @property
    def row(self) -> tuple[Cell, ...]:
        """Row of the table, in the order of COLUMNS."""
        noises = (self.slide, self.literal, self.derived, self.exact)
        return (self.steps, *noises, self.slide / self.exact, self.spent)


def planned(steps: int) -> float:
    """Return the noise on the mean gradient in dperm's plan of DP-GD, for logistic regression with rows of norm 1."""
    spec = ProblemSpec(Logistic(), radius=1.0, dim=10, n=N)
    plan = GradientPerturbation(steps=steps).plan(spec, ApproxDP(EPSILON, DELTA, "replace_one"))
    return plan.mechanism.scale / N


def _checks(settings: list[DescentNoise]) -> tuple[Check, ...]:
    at = next(one for one in settings if one.steps == 100)
    own, rise = planned(100), slope([one.steps for one in settings], [planned(one.steps) for one in settings])
    return (
        Check("The slide's noise suffices, for every T.", all(one.spent <= EPSILON for one in settings)),
        Check(
            "The slide's noise is at least 10 times the required noise.",
            all(one.slide > 10 * one.exact for one in settings),
        ),
        Check(
            f"For T = 100 the slide's noise is {at.slide / at.exact:.1f} times the required noise: its true epsilon is "
            f"{at.spent:.4f}, not {EPSILON:g}.",
            at.slide / at.exact > 18,
        ),
        Check(
            f"The noise of the derivation as printed suffices as well: for T = 100 its true epsilon is "
            f"{at.true_epsilon(at.literal):.4f}.",
            all(one.true_epsilon(one.literal) <= EPSILON for one in settings),
        ),
        Check(f"The planned noise of dperm's DP-GD grows like T^{rise:.2f}.", abs(rise - 0.5) < 0.01),
        Check(
            f"The DP-GD plan of dperm has noise of {own:.5f} for T = 100: the exact noise.",
            abs(own / at.exact - 1) < 1e-3,
        ),
    )


def _curves(settings: list[DescentNoise]) -> tuple[Curve, ...]:
    """Return the curves; the corrected derivation, close to the slide, is in the table only."""
    x = tuple(float(one.steps) for one in settings)
    return (
        Curve("slide", x, tuple(one.slide for one in settings), "published"),
        Curve("its derivation, as printed (E12)", x, tuple(one.literal for one in settings), "published"),
        Curve("exact", x, tuple(one.exact for one in settings), "proved"),
    )


def _run(effort: Effort) -> Outcome:
    settings = [DescentNoise(steps) for steps in (STEPS[::2] if effort.quick else STEPS)]
    at = next(one for one in settings if one.steps == 100)
    effort.progress(1.0)
    return Outcome(
        parameters={"n": N, "Lipschitz constant": 1.0, "epsilon": EPSILON, "delta": DELTA},
        table=LessonTable(COLUMNS, tuple(one.row for one in settings)),
        picture=Picture(
            f"DP-GD, n = {N:,}, epsilon = {EPSILON:g}, delta = {DELTA:g}",
            "number of steps T",
            "noise scale on the mean gradient",
            _curves(settings),
            x_log=True,
            y_log=True,
        ),
        checks=_checks(settings),
        sentence=(
            f"For 100 steps on 10,000 records the slide requires noise of {at.slide:.4f}. A noise of {at.exact:.6f}, "
            f"{at.slide / at.exact:.1f} times less, gives (0.5, 1e-5). T Gaussian steps are one Gaussian mechanism "
            "with sqrt(T) times the sensitivity, so no composition theorem is needed."
        ),
    )


LESSON = Lesson(
    name="dpgd_noise",
    title="Noise of DP gradient descent",
    source="Razaviyayn",
    claim=(
        "The lecture claims that T steps of DP-GD need noise of 8 L sqrt(T)/(epsilon n) (log(1.25/delta) + log(T + "
        "1)). This noise suffices for epsilon < 1, although the derivation has ln(1/delta) in place of "
        "ln((T+1)/delta). Exact accounting needs 14 times less noise for one step, and 24 times less for 10,000 steps. "
        "The formula is a standard deviation, not a variance."
    ),
    tags=("T6a", "T12a", "T45", "E12", "E13"),
    run=_run,
)
