# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Private quantile of bounded numbers, by the exponential mechanism (T8)."""

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from fractions import Fraction
from functools import cached_property
from typing import ClassVar, overload

import numpy as np
from numpy.typing import ArrayLike

from dperm import checks
from dperm.accounting.budget import Budget
from dperm.data.row_groups import RowGroups
from dperm.mechanisms.releases import parameters, records, sensitivities
from dperm.mechanisms.releases.candidates import (
    CandidateGrid,
    EqualCostRuns,
    GridSelection,
    PlaceCounts,
    add_place_counts,
    power_of_two,
    pure_goal,
    require_countable,
)
from dperm.mechanisms.releases.table_columns import NUMBERS, ColumnRecords, Records, records_and_budget, total
from dperm.noise.arrays import Integers
from dperm.noise.bits import Bits, Stream
from dperm.privacy import ApproxDP, PureDP, Release

SHARES = 2**20
"""The share q is rounded to a multiple of 2^-20; costs are then exact doubles for up to 2^33 records."""
MOST_INTERVALS = 2**40


@dataclass(frozen=True)
class Quantile(GridSelection[float]):
    """The q-quantile of numbers clipped to public bounds, selected by the exponential mechanism (T8).

    Candidates are the points of a public grid from low to high. Each record is moved to the nearest candidate, and a
    candidate h is selected with probability proportional to exp(-epsilon cost(h) / (2 Delta)), where

        cost(h) = max(0, #{x < h} - q n, q n - #{x <= h})

    is the number of records between h and the quantile. Here n is the number of records, #{x < h} is the number of
    records below h, and Delta is the sensitivity of the cost: max(q, 1 - q) under add/remove, and 1 under replace-one.

    The cost is the same for all candidates between two consecutive values of the data. The release therefore first
    draws an interval between consecutive values, with a weight that accounts for its number of candidates, and then a
    uniformly random candidate in this interval. The probabilities are exact (T10): q is a multiple of 2^-20, so costs
    are exact doubles for up to 2^33 records, and the draw among the candidates is exact.

    Parameters
    ----------
    goal
        PureDP or ApproxDP; the delta of an ApproxDP goal is not used.
    q
        Level of the quantile, in (0, 1), rounded to a multiple of 2^-20; 0.5 is the median.
    bounds
        Public bounds (low, high) to which the numbers, one per record, are clipped. The released quantile lies in [low,
        high].
    intervals
        Number of intervals of the grid on [low, high], a power of two; at most 2^22 for a table. The bound on the
        rank error grows with the logarithm of this number, so a fine grid costs little.

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

    def _check_parameters(self) -> None:
        self._set(goal=pure_goal(self.goal, type(self).__name__))
        self._set(q=_checked_q(self.q))
        self._set(bounds=parameters.interval("bounds", self.bounds))
        self._set(intervals=power_of_two("intervals", self.intervals, most=MOST_INTERVALS))

    @cached_property
    def shares(self) -> int:
        """Level q as a whole number of units of 2^-20."""
        return round(Fraction(self.q) * SHARES)

    @property
    def sensitivity(self) -> Fraction:
        """Exact sensitivity of the cost."""
        return sensitivities.quantile_cost(Fraction(self.shares, SHARES), self.goal.adjacency)

    @cached_property
    def unit(self) -> Fraction:
        """Exact factor epsilon / (2 Delta) by which the cost is multiplied in the exponent."""
        return Fraction(self.goal.epsilon) / (2 * self.sensitivity)

    @property
    def theorems(self) -> tuple[str, ...]:
        """Tags of the exponential mechanism and of exact sampling."""
        return ("T8", "T10")

    @property
    def public_constants(self) -> dict[str, object]:
        """Parameters, sensitivity, and grid of the candidates."""
        return {
            "release": self.name,
            "records": records.ASSUMED,
            "q": self.shares / SHARES,
            "bounds": self.bounds,
            "intervals": self.intervals,
            "sensitivity": float(self.sensitivity),
        }

    @overload
    def release(self, data: ArrayLike, budget: Budget | None = None, *, bits: Bits | None = None) -> Release[float]: ...

    @overload
    def release(
        self, data: RowGroups, columns: str | Sequence[str], budget: Budget | None = None, *, bits: Bits | None = None
    ) -> Release[float]: ...

    def release(  # type: ignore[misc]  # an array has its budget in the place of the columns
        self,
        data: ArrayLike | RowGroups,
        columns: str | Sequence[str] | Budget | None = None,
        budget: Budget | None = None,
        *,
        bits: Bits | None = None,
    ) -> Release[float]:
        """Release a grid point near the quantile: ``release(array, budget)`` or ``release(table, column, budget)``.

        Parameters
        ----------
        data
            Private numbers, one per record: an array, or a table created by `dperm.data.table`.
        columns
            For a table, the name of the column with the numbers. For an array, leave this argument out; the second
            positional argument is then the budget.
        budget
            Budget to charge; None charges nothing.
        bits
            Source of randomness; ``NotPrivateBits(seed)`` makes the release reproducible and NOT PRIVATE.

        Returns
        -------
        Release
            Released quantile, with guarantee, profile, event and record.

        Raises
        ------
        DataError
            If the data are empty, not one-dimensional or not finite. The error is raised before any charge or draw.
        ParameterError
            If the table does not have the column, or if ``intervals`` is too large for a table.
        BudgetError
            If ``budget`` does not cover the event; nothing is charged.

        Notes
        -----
        **Guarantees.** The release is epsilon-DP, with an exact draw (T8, T10). A table is read once, one row group at
        a time, and its records are counted at the points of the grid. With the same random bits, the value is the same
        as for an array of the records of the table (T203).
        """
        read, charged = records_and_budget(data, columns, budget, layout=NUMBERS)
        if isinstance(read, ColumnRecords):
            require_countable(self.intervals)
        return self._release(lambda: self.stretches(read), charged, bits)

    def snapped(self, data: ArrayLike) -> Integers:
        """Return the index of the candidate nearest to each record. The result is **not private**.

        Parameters
        ----------
        data
            Private records.

        Returns
        -------
        ndarray
            One index per record.
        """
        return self.grid.nearest(records.column(data))

    def stretches(self, data: Records) -> EqualCostRuns:
        """Return all candidates, grouped into runs of equal cost. The result is **not private**.

        A run is either a single candidate to which at least one record is moved, or all candidates before, between or
        after such single candidates.

        Parameters
        ----------
        data
            Private records.

        Returns
        -------
        EqualCostRuns
            First candidate, length and exact cost of each run.
        """
        places, counts = total(SnappedCounts(self.grid).counts, add_place_counts, data)
        upto = np.concatenate(([0], np.cumsum(counts[:, 0])))  # records up to and including each place
        starts = _interleaved(np.concatenate(([0], places + 1)), places)
        below = _interleaved(upto, upto[:-1])
        within = _interleaved(upto, upto[1:])
        lengths = np.diff(starts, append=self.intervals + 1)
        target = int(upto[-1]) * self.shares
        costs = np.maximum(0, np.maximum(below * SHARES - target, target - within * SHARES))
        kept = lengths > 0
        return EqualCostRuns(starts[kept], lengths[kept], np.ldexp(costs[kept].astype(np.float64), -20))

    def _draw(self, runs: EqualCostRuns, stream: Stream) -> float:
        """Return one of the candidates, as a number in the interval."""
        return float(self.grid.points(np.array(runs.choose(self.unit, stream))))


@dataclass(frozen=True)
class SnappedCounts:
    """Number of records nearest to each point of a grid."""

    grid: CandidateGrid

    def counts(self, data: ArrayLike) -> PlaceCounts:
        """Return the counts at the points with records. Not private."""
        places, counts = np.unique(self.grid.nearest(records.column(data)), return_counts=True)
        return PlaceCounts(places, counts[:, np.newaxis])


def _interleaved(even: Integers, odd: Integers) -> Integers:
    """Return gaps at the even positions and records at the odd ones; there is one more gap than records."""
    both = np.empty(len(even) + len(odd), dtype=np.int64)
    both[0::2], both[1::2] = even, odd
    return both


def _checked_q(q: object) -> float:
    checked = checks.positive_delta("q", q, "Give 0.5 for the median, 0.9 for the ninth decile.")
    return min(max(checked, 1 / SHARES), 1 - 1 / SHARES)
