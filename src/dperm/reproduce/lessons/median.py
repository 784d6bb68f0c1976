# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Objective perturbation of the median releases records; smoothness prevents this, not strong convexity (T42, E8)."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from dperm.accounting import PerturbedObjective, account
from dperm.audit.intervals import clopper_pearson_lower, clopper_pearson_upper
from dperm.data.arrays import Floats
from dperm.erm.smoothing import SmoothPinball
from dperm.noise.simulation import generator
from dperm.report.pictures import Curve, Picture
from dperm.reproduce.lesson import Cell, Check, Effort, Lesson, LessonTable, Outcome
from dperm.theory import median_atom

EPSILON = 2.0
WRONG = 1e-4
NEAR = 1e-9
"""Distance within which a release counts as the record; the search for the minimum is accurate to 1e-13."""
SIGMAS = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0)
COLUMNS = (
    "loss",
    "Lambda",
    "records",
    "sigma",
    "in theory",
    "released",
    "low",
    "high",
    "by a neighbour",
    "delta proved",
)


@dataclass(frozen=True)
class Case:
    """Median loss |w - x| on two records, smoothed on |w - x| <= width; the second record is attacked."""

    name: str
    points: tuple[float, float]
    strength: float
    width: float = 0.0

    def slope(self, distance: Floats) -> Floats:
        """Return the derivative of one record's loss; the smooth loss is twice dperm's smooth pinball loss."""
        if not self.width:
            return np.sign(distance)
        return 2 * SmoothPinball(0.5, self.width).derivative(distance)

    def atom(self, sigma: float) -> float:
        """Return the probability that the release equals the record (T42)."""
        if self.width:
            return 0.0
        return median_atom(self.points, self.points[1], sigma=sigma, regularization=self.strength).probability

    def delta(self, sigma: float) -> float:
        """Return the proved delta at EPSILON under replace-one, with curvature 1/width (T41); 1 for a kink."""
        if not self.width:
            return 1.0
        fit = PerturbedObjective(sigma, curvature=1 / (self.width * self.strength), monotone=False)
        return account(fit, "replace_one").delta(EPSILON)


CASES = (
    Case("median", (0.0, 100.0), 0.0),
    Case("median", (0.0, 1.0), 0.1),
    Case("median", (0.0, 1.0), 1.0),
    Case("smoothed median", (0.0, 1.0), 1.0, width=1.0),
)


def minimizers(
    slope: Callable[[Floats], Floats], points: tuple[float, ...], *, strength: float, noise: Floats
) -> Floats:
    """Return the zeros of sum_i slope(w - x_i) + Lambda w + b for each b, by bisection, which handles kinks."""
    low, high = np.full(len(noise), -1e4), np.full(len(noise), 1e4)
    for _ in range(80):
        middle = (low + high) / 2
        rising = sum((slope(middle - x) for x in points), strength * middle + noise) > 0
        low, high = np.where(rising, low, middle), np.where(rising, middle, high)
    return np.asarray((low + high) / 2)


@dataclass(frozen=True)
class RecordReleases:
    """Number of releases that equal the attacked record, with the record and with a neighbour that lacks it."""

    case: Case
    sigma: float
    draws: int
    hits: int
    neighbour: int

    @classmethod
    def of(cls, case: Case, sigma: float, *, effort: Effort) -> "RecordReleases":
        """Simulate the releases for one case and noise scale."""
        draws = 1000 if effort.quick else 10_000
        random = generator(effort.seed, f"{case} with noise {sigma}")
        first, record = case.points
        hits = [
            np.abs(_releases(case, points, sigma * random.standard_normal(draws)) - record) < NEAR
            for points in (case.points, (first, record * 1.01))
        ]
        return cls(case, sigma, draws, int(hits[0].sum()), int(hits[1].sum()))

    @property
    def share(self) -> float:
        """Measured share of releases that equal the record."""
        return self.hits / self.draws

    @property
    def interval(self) -> tuple[float, float]:
        """Exact confidence interval (Clopper and Pearson), jointly for all settings."""
        level = WRONG / (2 * len(CASES) * len(SIGMAS))
        bounds = (clopper_pearson_lower, clopper_pearson_upper)
        low, high = (float(bound(self.hits, self.draws, level)) for bound in bounds)
        return low, high

    @property
    def row(self) -> tuple[Cell, ...]:
        """Row of the table, in the order of COLUMNS."""
        case = self.case
        records = ", ".join(f"{point:g}" for point in case.points)
        shares = (case.atom(self.sigma), self.share, *self.interval, self.neighbour / self.draws)
        return (case.name, case.strength, records, self.sigma, *shares, case.delta(self.sigma))


def _releases(case: Case, points: tuple[float, float], noise: Floats) -> Floats:
    return minimizers(case.slope, points, strength=case.strength, noise=noise)


def _found(effort: Effort) -> list[RecordReleases]:
    sigmas = SIGMAS[1::2] if effort.quick else SIGMAS
    pairs, found = [(case, sigma) for case in CASES for sigma in sigmas], []
    for case, sigma in pairs:
        found.append(RecordReleases.of(case, sigma, effort=effort))
        effort.progress(len(found) / len(pairs))
    return found


def _checks(found: list[RecordReleases]) -> tuple[Check, ...]:
    kinked = [one for one in found if not one.case.width]
    smooth = [one for one in found if one.case.width]
    strong = max((one for one in kinked if one.case.strength), key=lambda one: one.interval[0])
    noisy = smooth[-1]
    best, left = noisy.case.delta(noisy.sigma), min(case.atom(noisy.sigma) for case in CASES if not case.width)
    return (
        Check(
            "The frequency of releases that equal a record agrees with theory in every setting.",
            all(one.interval[0] <= one.case.atom(one.sigma) <= one.interval[1] for one in kinked),
        ),
        Check(
            "The neighbouring data set without the record never releases it.", all(one.neighbour == 0 for one in found)
        ),
        Check(
            f"Strong convexity does not help: with Lambda = {strong.case.strength:g} delta is at least "
            f"{strong.interval[0]:.2f} at every epsilon.",
            strong.interval[0] > 0.2,
        ),
        Check("The smoothed median is never a record.", all(one.hits == 0 for one in smooth)),
        Check(
            f"With noise of standard deviation {noisy.sigma:g}, the delta of the smoothed median at epsilon = "
            f"{EPSILON:g} is at most {best:.2g}; the delta of the median is at least {left:.2g}.",
            best < 1e-6 * left,
        ),
    )


def _curves(found: list[RecordReleases]) -> tuple[Curve, ...]:
    curves: list[Curve] = []
    for case in CASES:
        some = [one for one in found if one.case == case]
        x, (low, high) = tuple(one.sigma for one in some), zip(*(one.interval for one in some), strict=True)
        name = f"{case.name}, Lambda = {case.strength:g}"
        curves.append(Curve(name, x, y=tuple(one.share for one in some), kind="measured", low=low, high=high))
    return (
        *curves,
        Curve(f"smoothed, proved delta, epsilon = {EPSILON:g}", x, tuple(case.delta(sigma) for sigma in x), "proved"),
    )


def _run(effort: Effort) -> Outcome:
    found = _found(effort)
    first = max((one for one in found if one.case == CASES[0]), key=lambda one: one.share)
    rare = min((one for one in found if not one.case.width), key=lambda one: one.case.atom(one.sigma))
    return Outcome(
        parameters={"seed": effort.seed, "releases of each": found[0].draws, "epsilon": EPSILON, "level": WRONG},
        table=LessonTable(COLUMNS, tuple(one.row for one in found)),
        picture=Picture(
            "Share of releases that equal a record, and the proved delta without a kink",
            "standard deviation of the noise",
            "share of releases, or delta",
            _curves(found),
            x_log=True,
            bands=f"bands: {1 - WRONG:.2%} intervals, jointly",
        ),
        checks=_checks(found),
        sentence=(
            f"With little noise, the perturbed median of 0 and 100 is exactly 100 in {first.share:.0%} of the "
            "releases. Regularization does not remove such atoms. Strong regularization and little noise make them "
            f"rare: {rare.case.atom(rare.sigma):.1g} with Lambda = {rare.case.strength:g} and sigma = {rare.sigma:g}. "
            "Without the kink there are none: privacy needs smoothness together with strong convexity."
        ),
    )


LESSON = Lesson(
    name="median",
    title="The median under objective perturbation",
    source="Razaviyayn",
    claim=(
        "The lecture claims that objective perturbation of the median of {0, 100} fails with probability 1/2, because "
        "the loss is not strongly convex. It does fail, with probability 1/2 as the noise vanishes, but strong "
        "convexity does not help. The kink leaves an atom on every record; a smooth loss has none."
    ),
    tags=("T41", "T42", "E8"),
    run=_run,
)
