# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""A quantile of bounded numbers, by the exponential mechanism (T8)."""

from dataclasses import KW_ONLY, dataclass
from fractions import Fraction
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from dperm import checks
from dperm.accounting.budget import Budget
from dperm.accounting.event import Event
from dperm.accounting.events import Pure
from dperm.mechanisms.releases import parameters, records, sensitivities
from dperm.mechanisms.releases.candidates import Grid, Stretches, power_of_two, pure_goal
from dperm.mechanisms.run import Facts, release
from dperm.noise.arrays import Integers
from dperm.noise.bits import Bits, Stream
from dperm.privacy import ApproxDP, PureDP, Release

SHARES = 2**20
"""The share q is rounded to a multiple of 2^-20: then costs are exact doubles for up to 2^33 records."""
MOST_INTERVALS = 2**40


@dataclass(frozen=True)
class Quantile:
    """The q-quantile of numbers that are clipped to public bounds, chosen by the exponential mechanism (T8).

    Candidates are the points of a public grid from low to high. Each record is moved to the nearest of them, and a
    candidate h is chosen with probability proportional to exp(-epsilon cost(h) / (2 Delta)), where

        cost(h) = max(0, #{x < h} - q n, q n - #{x <= h})

    counts the records by which h misses the quantile, and Delta is max(q, 1 - q) under add/remove and 1 under
    replace-one. Between neighbouring records the cost is constant: first such a stretch of candidates is chosen,
    weighted by its length, then a candidate in it, uniformly. The probabilities are exact (T10): q is a multiple of
    2^-20, so costs are exact doubles for up to 2^33 records, and the choice among them is exact.

    Parameters
    ----------
    goal
        PureDP, or ApproxDP, whose delta is not used.
    q
        Which quantile: 0 < q < 1, rounded to a multiple of 2^-20; 0.5 is the median.
    bounds
        (low, high): numbers, one per record, are clipped to [low, high], and the quantile is one of them.
    intervals
        The grid divides [low, high] into this many, a power of two. A finer grid costs accuracy in proportion to its
        logarithm.

    Examples
    --------
    >>> from dperm import PureDP
    >>> from dperm.mechanisms.releases import Quantile
    >>> median = Quantile(PureDP(1.0, "replace_one"), 0.5, bounds=(0.0, 100.0))
    >>> median.event
    Pure(epsilon=1.0, adjacency=<Adjacency.REPLACE_ONE: 'replace_one'>)
    >>> 0.0 <= median.release([20.0, 30.0, 40.0]).value <= 100.0
    True
    """

    goal: PureDP | ApproxDP
    q: float
    _: KW_ONLY
    bounds: tuple[float, float]
    intervals: int = 2**20

    name: ClassVar[str] = "quantile"

    def __post_init__(self) -> None:
        """Check everything and calibrate, before any data is seen."""
        set_field = object.__setattr__
        set_field(self, "goal", pure_goal(self.goal, type(self).__name__))
        set_field(self, "q", _checked_q(self.q))
        set_field(self, "bounds", parameters.interval("bounds", self.bounds))
        set_field(self, "intervals", power_of_two("intervals", self.intervals, most=MOST_INTERVALS))
        self.facts  # noqa: B018  # everything follows from the parameters

    @property
    def grid(self) -> Grid:
        """The candidates."""
        return Grid(*self.bounds, self.intervals)

    @cached_property
    def shares(self) -> int:
        """The share q in multiples of 2^-20."""
        return round(Fraction(self.q) * SHARES)

    @property
    def sensitivity(self) -> Fraction:
        """Sensitivity of the cost, exactly."""
        return sensitivities.quantile_cost(Fraction(self.shares, SHARES), self.goal.adjacency)

    @cached_property
    def unit(self) -> Fraction:
        """The factor epsilon / (2 Delta) of the cost, exactly."""
        return Fraction(self.goal.epsilon) / (2 * self.sensitivity)

    @cached_property
    def event(self) -> Event:
        """What one release spends: 2 Delta unit, which is the goal's epsilon."""
        return Pure(self.goal.epsilon, self.goal.adjacency)

    @cached_property
    def facts(self) -> Facts:
        """What is known of a release beforehand."""
        return Facts(
            goal=self.goal,
            event=self.event,
            noise=f"exponential mechanism over {self.intervals + 1} candidates, drawn exactly",
            theorems=("T8", "T10"),
            public={
                "release": self.name,
                "records": records.ASSUMED,
                "q": self.shares / SHARES,
                "bounds": self.bounds,
                "intervals": self.intervals,
                "sensitivity": float(self.sensitivity),
            },
        )

    def release(self, data: ArrayLike, budget: Budget | None = None, *, bits: Bits | None = None) -> Release[float]:
        """A point of the grid near the quantile of ``data``; the arguments and errors are those of the other releases.

        Raises
        ------
        DataError
            If the data are empty, not one-dimensional or not finite; before anything is charged or drawn.
        BudgetError
            If ``budget`` does not cover the event; nothing is charged.
        """
        return release(self.facts, lambda: self.stretches(data), self._chosen, budget=budget, bits=bits)

    def snapped(self, data: ArrayLike) -> Integers:
        """The nearest candidate of each record, by its number, which is **not private**."""
        return self.grid.nearest(records.column(data))

    def stretches(self, data: ArrayLike) -> Stretches:
        """All candidates, in runs of equal cost, with exact costs, which are **not private**.

        The distinct records alternate with the gaps before, between and after them.
        """
        places, counts = np.unique(self.snapped(data), return_counts=True)
        upto = np.concatenate(([0], np.cumsum(counts)))  # records up to and including each place
        starts = _interleaved(np.concatenate(([0], places + 1)), places)
        below = _interleaved(upto, upto[:-1])
        within = _interleaved(upto, upto[1:])
        lengths = np.diff(starts, append=self.intervals + 1)
        target = int(upto[-1]) * self.shares
        costs = np.maximum(0, np.maximum(below * SHARES - target, target - within * SHARES))
        kept = lengths > 0
        return Stretches(starts[kept], lengths[kept], np.ldexp(costs[kept].astype(np.float64), -20))

    def _chosen(self, found: Stretches, stream: Stream) -> float:
        """One of the candidates, as a number in the interval."""
        return float(self.grid.points(np.array(found.chosen(self.unit, stream))))


def _interleaved(even: Integers, odd: Integers) -> Integers:
    """Gaps at the even places, records at the odd ones: one gap more than there are records."""
    both = np.empty(len(even) + len(odd), dtype=np.int64)
    both[0::2], both[1::2] = even, odd
    return both


def _checked_q(q: object) -> float:
    checked = checks.positive_delta("q", q, "0.5 is the median, 0.9 the ninth decile.")
    return min(max(checked, 1 / SHARES), 1 - 1 / SHARES)
