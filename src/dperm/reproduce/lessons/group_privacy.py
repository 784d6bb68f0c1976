# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Group privacy for k records: from one record's (epsilon, delta), and exact for Gaussian noise (T4, T19)."""

from dataclasses import dataclass

from dperm.accounting.theorems import laplace_profile
from dperm.privacy import GDP, ApproxDP
from dperm.privacy.gaussian_profile import mu_for
from dperm.privacy.group import group, group_profile
from dperm.report.pictures import Curve, Picture
from dperm.reproduce.lesson import Cell, Check, Effort, Lesson, LessonTable, Outcome

EPSILON = 0.5
DELTA = 1e-6
SIZES = (1, 2, 3, 4, 6, 8, 10, 12, 16, 20, 24)
COLUMNS = (
    "k",
    "epsilon k",
    "delta by the formula",
    "delta, exact",
    "ratio",
    "epsilon at delta = 1e-6, formula",
    "epsilon at delta = 1e-6, exact",
)


@dataclass(frozen=True)
class RecordGroup:
    """Group of k records, under Gaussian noise that is exactly (EPSILON, DELTA)-DP for one record."""

    k: int

    @property
    def one(self) -> GDP:
        """Guarantee for one record, mu-GDP (T6)."""
        return GDP(mu_for(EPSILON, DELTA), "add_remove")

    @property
    def formula(self) -> ApproxDP:
        """Group guarantee (k eps, delta (e^(k eps) - 1)/(e^eps - 1)) (T4)."""
        return group(ApproxDP(EPSILON, DELTA, "add_remove"), self.k)

    @property
    def exact(self) -> float:
        """Exact delta at k epsilon, of k mu-GDP: k records move the statistic k times as far (T4, T19)."""
        return group(self.one, self.k).profile().delta(self.k * EPSILON)

    @property
    def epsilons(self) -> tuple[float, float]:
        """Epsilons at DELTA: by the formula at the best point of one record's profile, and exact."""
        return (
            group_profile(self.one.profile(), self.k).epsilon(DELTA),
            group(self.one, self.k).profile().epsilon(DELTA),
        )

    @property
    def row(self) -> tuple[Cell, ...]:
        """Row of the table, in the order of COLUMNS."""
        delta = self.formula.delta
        return (self.k, self.formula.epsilon, delta, self.exact, delta / self.exact, *self.epsilons)


def laplace_group(k: int) -> float:
    """Return the delta of Laplace noise for k records just below k epsilon; k epsilon is tight if it is > 0 (T5)."""
    return laplace_profile(k * EPSILON * (1 - 1e-6), 1 / EPSILON, sensitivity=float(k))


def _checks(settings: list[RecordGroup]) -> tuple[Check, ...]:
    ratios = [one.formula.delta / one.exact for one in settings]
    last, later = settings[-1], settings[1:]
    return (
        Check("The formula is valid for every k.", all(ratio >= 1 - 1e-9 for ratio in ratios)),
        Check(
            f"The overestimate of the formula grows with k: a factor of {ratios[-1]:.0f} for k = {last.k}.",
            ratios == sorted(ratios) and ratios[-1] > 10,
        ),
        Check("The exact delta also grows faster than k.", all(one.exact > one.k * DELTA for one in later)),
        Check(
            "At a fixed delta, epsilon grows faster than k.", all(min(one.epsilons) > one.k * EPSILON for one in later)
        ),
        Check("Laplace noise attains k epsilon.", all(laplace_group(one.k) > 0 for one in settings)),
    )


def _curves(settings: list[RecordGroup]) -> tuple[Curve, ...]:
    x = tuple(float(one.k) for one in settings)
    return (
        Curve("formula", x, tuple(one.formula.delta for one in settings), "published"),
        Curve("exact, Gaussian noise", x, tuple(one.exact for one in settings), "proved"),
        Curve("k delta", x, tuple(one.k * DELTA for one in settings), "wrong"),
    )


def _run(effort: Effort) -> Outcome:
    settings = [RecordGroup(k) for k in (SIZES[:3] + SIZES[4::2] if effort.quick else SIZES)]
    last = settings[-1]
    effort.progress(1.0)
    return Outcome(
        parameters={"epsilon": EPSILON, "delta": DELTA, "mu": settings[0].one.mu},
        table=LessonTable(COLUMNS, tuple(one.row for one in settings)),
        picture=Picture(
            f"Group privacy, one record ({EPSILON:g}, {DELTA:g})-DP: delta at k epsilon",
            "group size k",
            "delta",
            _curves(settings),
            y_log=True,
        ),
        checks=_checks(settings),
        sentence=(
            f"(0.5, 1e-6) for one record becomes (1.5, {settings[2].formula.delta:.3g}) for three. For {last.k} "
            f"records the formula gives {last.formula.delta:.2g}, where Gaussian noise has {last.exact:.2g}: keep the "
            "mu of the mechanism, which becomes k times as large, rather than a pair of numbers."
        ),
    )


LESSON = Lesson(
    name="group_privacy",
    title="Privacy of groups",
    source="Razaviyayn",
    claim=(
        "The lecture claims that an (epsilon, delta)-DP mechanism is (k epsilon, delta (e^(k eps) - 1)/(e^eps - 1))-DP "
        "for data sets that differ in k records. This is right, and uses only the pair (epsilon, delta). Gaussian "
        "noise does better, because it is k mu-GDP for k records."
    ),
    tags=("T4", "T5", "T6", "T19"),
    run=_run,
)
