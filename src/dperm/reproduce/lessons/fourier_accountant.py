# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""The Fourier accountant: errors of its bins, of its tail condition, and of moments (T2, T15, T17, T28, E11).

`CircularLoss` is the accountant in its simplest form; use `dperm.account` in practice. The loss of one step is put on
multiples of h, on a circle of k bins, and its discrete Fourier transform is raised to the power T. Bins are
pessimistic: losses are rounded up, or split by connect-the-dots. Mass above the circle counts as infinite. Sums beyond
half of the circle wrap around. Sums that wrap from below become too large, which is safe; the mass of sums that wrap
from above is bounded and added to delta. Rounding errors of the transform (1e-16 of the total mass) are neglected.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import fft
from scipy.optimize import brentq

from dperm.accounting import Gaussian, Poisson, account
from dperm.accounting.account import AccountedProfile
from dperm.accounting.event import SingleEvent
from dperm.accounting.lattice.grid import LossGrid
from dperm.accounting.lattice.upper import raised
from dperm.accounting.laws.law import LossLaw
from dperm.accounting.rdp import DEFAULT_ORDERS, rdp_epsilon
from dperm.accounting.theorems import gaussian_tail_epsilon, loss_tail_bound
from dperm.data.arrays import Floats
from dperm.privacy import Adjacency
from dperm.privacy.adjacency import Direction
from dperm.report.pictures import Curve, Picture
from dperm.reproduce.lesson import Cell, Check, Effort, Lesson, LessonTable, Outcome

TAIL = 1e-18
"""Largest mass of a step that counts as infinite."""


@dataclass(frozen=True)
class CircularLoss:
    """Composed privacy loss: positive losses with their masses, and the mass that counts as infinite."""

    losses: Floats
    masses: Floats
    infinite: float

    def delta(self, epsilon: float) -> float:
        """Return E (1 - e^(eps - L))_+ (T2)."""
        return float(self.masses @ np.maximum(-np.expm1(epsilon - self.losses), 0.0)) + self.infinite

    def epsilon(self, delta: float) -> float:
        """Return the epsilon at which the profile equals ``delta``."""
        return float(brentq(lambda epsilon: self.delta(epsilon) - delta, 0.0, self.losses[-1], xtol=1e-13))

    def tail_epsilon(self, delta: float) -> float:
        """Return the smallest x with P(L > x) <= ``delta``, the condition of the lecture (T2a)."""
        beyond = self.infinite + np.cumsum(self.masses[::-1])[::-1] - self.masses
        return float(self.losses[np.argmax(beyond <= delta)])


@dataclass(frozen=True)
class Bins:
    """Discretization of the loss of one step.

    Attributes
    ----------
    count
        Number of bins k, even.
    width
        Length k h of the circle.
    dots
        Whether losses are split by connect-the-dots, second order in h, or rounded up to the end of their bin.
    around
        Bound on the probability that the composed loss exceeds width/2.
    """

    count: int
    width: float
    dots: bool
    around: float

    @property
    def spacing(self) -> float:
        """Length h of a bin."""
        return self.width / self.count

    def composed(self, law: LossLaw, steps: int) -> CircularLoss:
        """Return the sum of ``steps`` independent losses on the circle."""
        first, masses, lost = self._step(law)
        circle = np.zeros(self.count)
        np.add.at(circle, np.arange(first, first + len(masses)) % self.count, masses)
        whole = fft.irfft(fft.rfft(circle) ** steps, self.count)
        places = np.arange(1, self.count // 2)
        infinite = -math.expm1(steps * math.log1p(-lost)) + self.around
        return CircularLoss(
            np.asarray(places * self.spacing, dtype=np.float64), np.maximum(whole[places], 0.0), infinite
        )

    def _step(self, law: LossLaw) -> tuple[int, Floats, float]:
        """Return the index of the first bin, the masses starting at this bin, and the mass at infinity."""
        low, high = law.support(TAIL)
        half = self.count // 2 - 1
        first = max(math.floor(low / self.spacing), -half)
        last = min(max(math.ceil(high / self.spacing), first + 1), half)
        grid = LossGrid(first * self.spacing, self.spacing, last - first + 1, False)
        if self.dots:
            return first, *raised(law, grid, TAIL)
        return first, *_rounded_up(law, grid)


def _rounded_up(law: LossLaw, grid: LossGrid) -> tuple[Floats, float]:
    borders = np.concatenate([[-math.inf], grid.losses(), [math.inf]])
    masses = law.masses(borders)[0]
    return np.asarray(masses[:-1]), float(masses[-1])


DELTA = 1e-5
COLUMNS = (
    "mechanism",
    "bins",
    "losses rounded up",
    "losses split between bin ends",
    "tail P(L > epsilon)",
    "Rényi",
    "exact",
)


@dataclass(frozen=True)
class ComposedSteps:
    """Composition of equal steps, and the length of the circle for their losses."""

    name: str
    step: SingleEvent
    steps: int
    width: float = 24.0

    @cached_property
    def profile(self) -> AccountedProfile:
        """Exact privacy profile of all steps."""
        return account(self.step * self.steps, "add_remove")

    @cached_property
    def exact(self) -> float:
        """Exact epsilon at DELTA, to a millionth."""
        return self.profile.epsilon(DELTA)

    @cached_property
    def renyi(self) -> float:
        """Epsilon by Rényi accounting (T16, T17)."""
        return rdp_epsilon(self.steps * self.step.rdp(DEFAULT_ORDERS, Adjacency.ADD_REMOVE), DELTA)

    def circle(self, count: int, *, dots: bool, direction: Direction = Direction.REMOVE) -> CircularLoss:
        """Return the composed loss on ``count`` bins; the exact profile bounds the mass that wraps around (T2b)."""
        near = self.width / 2 - 2
        around = loss_tail_bound(near, self.profile.delta(near), threshold=self.width / 2)
        return Bins(count, self.width, dots, around).composed(self.step.law(direction), self.steps)


@dataclass(frozen=True)
class BinnedEpsilons:
    """Three epsilons from the same number of bins: rounded losses, split losses, and the tail condition."""

    problem: ComposedSteps
    bins: int
    rounded: float
    dots: float
    tail: float

    @classmethod
    def of(cls, problem: ComposedSteps, bins: int) -> "BinnedEpsilons":
        """Compose with both kinds of bins, and evaluate the second result in two ways."""
        rough, fine = (problem.circle(bins, dots=dots) for dots in (False, True))
        return cls(problem, bins, rough.epsilon(DELTA), fine.epsilon(DELTA), fine.tail_epsilon(DELTA))

    @property
    def row(self) -> tuple[Cell, ...]:
        """Row of the table, in the order of COLUMNS."""
        about = self.problem
        return (about.name, self.bins, self.rounded, self.dots, self.tail, about.renyi, about.exact)

    def above(self, epsilon: float) -> float:
        """Return the difference between an epsilon and the exact epsilon."""
        return epsilon - self.problem.exact


GAUSSIAN = ComposedSteps("100 Gaussian steps, sigma = 10", Gaussian(10.0), 100)
SAMPLED = ComposedSteps("1000 steps of DP-SGD, sigma = 1, q = 0.01", Poisson(Gaussian(1.0), rate=0.01), 1000)


def _found(effort: Effort) -> Iterator[BinnedEpsilons]:
    powers = (13, 14, 15, 16) if effort.quick else (13, 14, 15, 16, 17, 18, 19)
    for done, (problem, power) in enumerate([(one, power) for one in (GAUSSIAN, SAMPLED) for power in powers], 1):
        yield BinnedEpsilons.of(problem, 2**power)
        effort.progress(done / (2 * len(powers)))


def _slope(found: list[BinnedEpsilons], epsilon: Callable[[BinnedEpsilons], float]) -> float:
    """Return the log-log slope of the excess against the number of bins for DP-SGD, from the first four numbers."""
    some = [one for one in found if one.problem is SAMPLED][:4]
    excess = [one.above(epsilon(one)) for one in some]
    return float(np.polyfit(np.log([one.bins for one in some]), np.log(excess), 1)[0])


def _checks(found: list[BinnedEpsilons]) -> tuple[Check, ...]:
    first, second = _slope(found, lambda one: one.rounded), _slope(found, lambda one: one.dots)
    last = found[-1]
    other = SAMPLED.circle(last.bins, dots=True, direction=Direction.ADD).epsilon(DELTA)
    safe = all(one.problem.exact * (1 - 1e-6) <= min(one.rounded, one.dots) for one in found)
    return (
        Check("Both discretizations give upper bounds.", safe),
        Check(f"The error of rounding up falls like k^{first:.2f}: first order.", abs(first + 1) < 0.15),
        Check(
            f"The error of splitting losses between bin ends (connect the dots) falls like "
            f"k^{second:.2f}: second order.",
            abs(second + 2) < 0.15,
        ),
        Check(
            f"Finer bins do not improve the tail condition: it gives {last.tail:.3f} instead of {SAMPLED.exact:.3f}, "
            f"and {gaussian_tail_epsilon(1.0, DELTA):.4f} instead of {GAUSSIAN.exact:.4f} for the Gaussian.",
            all(one.above(one.tail) > 0.05 * one.problem.exact for one in found),
        ),
        Check(
            f"Finer bins do not improve Rényi accounting either: it gives {SAMPLED.renyi:.3f}.",
            last.above(SAMPLED.renyi) > 0.1,
        ),
        Check(f"The other direction must be composed too: its epsilon is {other:.3f}.", 0 < other < last.dots),
    )


def _curves(found: list[BinnedEpsilons]) -> tuple[Curve, ...]:
    some = [one for one in found if one.problem is SAMPLED]
    x = tuple(float(one.bins) for one in some)
    return (
        Curve(
            f"tail P(L > epsilon): {some[-1].above(some[-1].tail):.3f}",
            x,
            tuple(one.above(one.tail) for one in some),
            "published",
        ),
        Curve(
            f"Rényi: {some[-1].above(SAMPLED.renyi):.3f}", x, tuple(one.above(SAMPLED.renyi) for one in some), "proved"
        ),
        Curve("losses rounded up", x, tuple(one.above(one.rounded) for one in some)),
        Curve("losses split between bin ends", x, tuple(one.above(one.dots) for one in some)),
    )


def _run(effort: Effort) -> Outcome:
    found = list(_found(effort))
    last = found[-1]
    return Outcome(
        parameters={"delta": DELTA, "length of the circle": SAMPLED.width},
        table=LessonTable(COLUMNS, tuple(one.row for one in found)),
        picture=Picture(
            f"{SAMPLED.name}: excess over the exact epsilon",
            "number of bins k",
            "excess epsilon",
            _curves(found),
            x_log=True,
            y_log=True,
        ),
        checks=_checks(found),
        sentence=(
            f"The discretization error vanishes like 1/k if losses are rounded up, and like 1/k^2 if each is split "
            f"between the two ends of its bin (connect the dots). The errors of the tail condition ({last.tail:.2f} in "
            f"place of {SAMPLED.exact:.2f}) and of Rényi accounting ({SAMPLED.renyi:.2f}) remain. delta is "
            "E(1 - e^(epsilon - L))_+, not P(L > epsilon)."
        ),
    )


LESSON = Lesson(
    name="fourier_accountant",
    title="The Fourier accountant",
    source="Razaviyayn",
    claim=(
        "The lecture explains that privacy losses add up, so their distribution is a convolution power, which the fast "
        "Fourier transform computes in O(k log k). It derives (epsilon, delta)-DP from P(L > epsilon) <= delta. This "
        "tail condition is sufficient but not necessary, and costs a tenth of epsilon or more. The sketch in the "
        "lecture omits the two directions of adjacency, infinite losses and the discretization error."
    ),
    tags=("T2", "T15", "T17", "T28", "E11"),
    run=_run,
)
