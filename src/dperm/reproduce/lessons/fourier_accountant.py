# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""The Fourier accountant: its bins, its way to read delta, and what moments give instead (T2, T15, T17, T28, E11)."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dperm.accounting import Gaussian, Poisson, account
from dperm.accounting.account import AccountedProfile
from dperm.accounting.event import SingleEvent
from dperm.accounting.rdp import DEFAULT_ORDERS, rdp_epsilon
from dperm.accounting.theorems import gaussian_tail_epsilon, loss_tail_bound
from dperm.privacy import Adjacency
from dperm.privacy.adjacency import Direction
from dperm.report.pictures import Curve, Picture
from dperm.reproduce.lesson import Cell, Check, Effort, Lesson, Outcome, Table
from dperm.reproduce.lessons._fourier import Bins, Circle

DELTA = 1e-5
COLUMNS = (
    "what is composed",
    "bins",
    "losses rounded up",
    "losses split between bin ends",
    "tail P(L > epsilon)",
    "Rényi",
    "exact",
)


@dataclass(frozen=True)
class Problem:
    """Equal steps, and the circle on which their losses are added."""

    name: str
    step: SingleEvent
    steps: int
    width: float = 24.0

    @cached_property
    def profile(self) -> AccountedProfile:
        """Exact."""
        return account(self.step * self.steps, "add_remove")

    @cached_property
    def exact(self) -> float:
        """Epsilon, to a millionth."""
        return self.profile.epsilon(DELTA)

    @cached_property
    def renyi(self) -> float:
        """By moments (T16, T17)."""
        return rdp_epsilon(self.steps * self.step.rdp(DEFAULT_ORDERS, Adjacency.ADD_REMOVE), DELTA)

    def circle(self, count: int, *, dots: bool, direction: Direction = Direction.REMOVE) -> Circle:
        """The composed loss on ``count`` bins; what comes around is bounded by the exact profile (T2b)."""
        near = self.width / 2 - 2
        around = loss_tail_bound(near, self.profile.delta(near), threshold=self.width / 2)
        return Bins(count, self.width, dots, around).composed(self.step.law(direction), self.steps)


@dataclass(frozen=True)
class Found:
    """Three epsilons from the same number of bins."""

    problem: Problem
    bins: int
    rounded: float
    dots: float
    tail: float

    @classmethod
    def of(cls, problem: Problem, bins: int) -> "Found":
        """Compose twice, read the second one twice."""
        rough, fine = (problem.circle(bins, dots=dots) for dots in (False, True))
        return cls(problem, bins, rough.epsilon(DELTA), fine.epsilon(DELTA), fine.tail_epsilon(DELTA))

    @property
    def row(self) -> tuple[Cell, ...]:
        """Of the table."""
        about = self.problem
        return (about.name, self.bins, self.rounded, self.dots, self.tail, about.renyi, about.exact)

    def above(self, epsilon: float) -> float:
        """How far an epsilon is above the exact one."""
        return epsilon - self.problem.exact


GAUSSIAN = Problem("100 Gaussian steps, sigma = 10", Gaussian(10.0), 100)
SAMPLED = Problem("1000 steps of DP-SGD, sigma = 1, q = 0.01", Poisson(Gaussian(1.0), rate=0.01), 1000)


def _found(effort: Effort) -> Iterator[Found]:
    powers = (13, 14, 15, 16) if effort.quick else (13, 14, 15, 16, 17, 18, 19)
    for done, (problem, power) in enumerate([(one, power) for one in (GAUSSIAN, SAMPLED) for power in powers], 1):
        yield Found.of(problem, 2**power)
        effort.progress(done / (2 * len(powers)))


def _slope(found: list[Found], epsilon: Callable[[Found], float]) -> float:
    """Of the excess over the bins, on DP-SGD; from the first four, where the excess is far above rounding."""
    some = [one for one in found if one.problem is SAMPLED][:4]
    excess = [one.above(epsilon(one)) for one in some]
    return float(np.polyfit(np.log([one.bins for one in some]), np.log(excess), 1)[0])


def _checks(found: list[Found]) -> tuple[Check, ...]:
    first, second = _slope(found, lambda one: one.rounded), _slope(found, lambda one: one.dots)
    last = found[-1]
    other = SAMPLED.circle(last.bins, dots=True, direction=Direction.ADD).epsilon(DELTA)
    safe = all(one.problem.exact * (1 - 1e-6) <= min(one.rounded, one.dots) for one in found)
    return (
        Check("Both kinds of bins are on the safe side.", safe),
        Check(f"Rounding up costs like k^{first:.2f}: first order in the bins.", abs(first + 1) < 0.15),
        Check(
            f"Splitting them between the ends of a bin (connect the dots) costs like k^{second:.2f}: second order.",
            abs(second + 2) < 0.15,
        ),
        Check(
            f"No bins help the tail: it says {last.tail:.3f} where {SAMPLED.exact:.3f} is exact, and "
            f"{gaussian_tail_epsilon(1.0, DELTA):.4f} for {GAUSSIAN.exact:.4f} of the Gaussian.",
            all(one.above(one.tail) > 0.05 * one.problem.exact for one in found),
        ),
        Check(f"Nor moments: Rényi accounting says {SAMPLED.renyi:.3f}.", last.above(SAMPLED.renyi) > 0.1),
        Check(f"The other direction has to be composed too: here it has {other:.3f}.", 0 < other < last.dots),
    )


def _curves(found: list[Found]) -> tuple[Curve, ...]:
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
        table=Table(COLUMNS, tuple(one.row for one in found)),
        picture=Picture(
            f"{SAMPLED.name}: above the exact epsilon",
            "bins k",
            "excess epsilon",
            _curves(found),
            x_log=True,
            y_log=True,
        ),
        checks=_checks(found),
        sentence=(
            f"The errors of bins vanish, like 1/k if losses are rounded up, like 1/k^2 if each is split between the "
            f"two ends of its bin (connect the dots); those of the tail condition ({last.tail:.2f} for "
            f"{SAMPLED.exact:.2f}) and of moments ({SAMPLED.renyi:.2f}) stay. delta is "
            "E(1 - e^(epsilon - L))_+, not P(L > epsilon)."
        ),
    )


LESSON = Lesson(
    name="fourier_accountant",
    title="The Fourier accountant",
    source="Razaviyayn",
    claim=(
        "Losses add up, so their law is a convolution power, which the fast Fourier transform gives in O(k log k); "
        "(epsilon, delta)-DP follows from P(L > epsilon) <= delta. The tail is sufficient only and costs a tenth "
        "of epsilon or more; and the sketch leaves out both directions, infinite losses and the errors of bins."
    ),
    tags=("T2", "T15", "T17", "T28", "E11"),
    run=_run,
)
