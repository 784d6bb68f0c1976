# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Candidates on a public grid of an interval, in runs of equal cost, and exact selection among them (T8, T10)."""

from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import ClassVar, NamedTuple, TypeVar

import numpy as np

from dperm import checks
from dperm.accounting.event import Event
from dperm.accounting.events import LARGEST_EPSILON, Pure
from dperm.checks import shown
from dperm.errors import ConversionError, ParameterError
from dperm.mechanisms.goal import checked_goal
from dperm.mechanisms.mechanism import Law, Mechanism
from dperm.noise.arrays import Floats, Integers
from dperm.noise.bits import Stream
from dperm.noise.choice import exponential_choice, integer_below
from dperm.presentation.spelling import arg
from dperm.privacy import ApproxDP, PureDP

Value = TypeVar("Value")

LEAST_EPSILON = 2.0**-100
MOST_TABLE_INTERVALS = 2**22
"""Largest number of intervals for a table. The counts and their runs take up to 0.7 gigabytes."""


class EqualCostRuns(NamedTuple):
    """Runs of neighbouring candidates of equal cost: first candidate, length and cost of each run. Not private."""

    starts: Integers
    counts: Integers
    costs: Floats

    def choose(self, unit: Fraction, stream: Stream) -> int:
        """Draw the number of a candidate with probability proportional to e^(-unit cost), exactly.

        The function draws a run by its weight, count e^(-unit cost), then a uniform candidate in this run.
        """
        stretch = exponential_choice(self.costs, unit, stream, counts=self.counts)
        return int(self.starts[stretch]) + integer_below(int(self.counts[stretch]), stream)


@dataclass(frozen=True)
class CandidateGrid:
    """Points low + (high - low) j/intervals for j = 0, ..., intervals, a power of two, as doubles."""

    low: float
    high: float
    intervals: int

    @property
    def size(self) -> int:
        """Number of grid points, intervals + 1."""
        return self.intervals + 1

    def points(self, numbers: Integers) -> Floats:
        """Return the grid points of these numbers as doubles, non-decreasing in the number."""
        share = numbers / self.intervals  # exact: a power of two
        return np.clip(self.low + (self.high - self.low) * share, self.low, self.high)

    def nearest(self, values: Floats) -> Integers:
        """Return the number of the nearest point for each value, up to rounding.

        Values beyond the ends map to the ends.
        """
        return np.rint(self._shares(values)).astype(np.int64)

    def last_at_most(self, values: Floats) -> Integers:
        """Return the number of the last point that is at most each value, exactly; -1 if there is none.

        The quotient has an error below 1 if points are more than two units of rounding apart, as for up to 2^30
        intervals. The function then compares it with the points themselves.
        """
        numbers = np.floor(self._shares(values)).astype(np.int64)
        numbers -= self.points(numbers) > values
        following = np.minimum(numbers + 1, self.intervals)
        return np.where(self.points(following) <= values, following, numbers)

    def _shares(self, values: Floats) -> Floats:
        """Return the positions of the values in steps of the grid, clipped to the grid."""
        share = (np.clip(values, self.low, self.high) - self.low) / (self.high - self.low)
        return np.clip(share * self.intervals, 0, self.intervals)


class PlaceCounts(NamedTuple):
    """Records at the points of a grid. Not private.

    Attributes
    ----------
    places
        Numbers of the points with records, increasing; -1 for records below the first point.
    counts
        Number of records of each kind at each point: a row for each point, and a column for each kind.
    """

    places: Integers
    counts: Integers


def add_place_counts(one: PlaceCounts, other: PlaceCounts) -> PlaceCounts:
    """Return the counts of the records of both."""
    merged = np.sort(np.concatenate((one.places, other.places)), kind="stable")  # merges two sorted runs
    places = merged[np.diff(merged, prepend=-2) > 0]  # no place is below -1
    counts = np.zeros((len(places), one.counts.shape[1]), dtype=np.int64)
    for part in (one, other):
        counts[np.searchsorted(places, part.places)] += part.counts
    return PlaceCounts(places, counts)


def require_countable(intervals: int) -> None:
    """Refuse grids with too many points for a table: the counts at all points must fit into memory."""
    if intervals > MOST_TABLE_INTERVALS:
        raise ParameterError(
            argument="intervals",
            rule="must be at most 2^22 for a table, since the counts at all points of the grid are held in memory",
            got=shown(intervals),
            remedy="Choose 2**20, for example, or give the records as an array.",
        )


def pure_goal(goal: object, release: str) -> PureDP | ApproxDP:
    """Return ``goal`` if it is PureDP or ApproxDP with an epsilon in the supported range."""
    checked = checked_goal(goal)
    if isinstance(checked, PureDP | ApproxDP):
        if not LEAST_EPSILON <= checked.epsilon <= LARGEST_EPSILON:
            raise ParameterError(
                argument="goal", rule=f"must have epsilon from 2^-100 to {LARGEST_EPSILON:g}", got=shown(goal)
            )
        return checked
    raise ConversionError(
        f"{release} is calibrated to PureDP(epsilon, adjacency) or ApproxDP(epsilon, delta, adjacency), got "
        f"{arg('goal', shown(goal))}.",
        remedy="Give the epsilon to spend; a budget of another kind accounts for it (T16, T20).",
    )


def power_of_two(name: str, value: object, *, most: int) -> int:
    """Return ``value`` as an int if it is a power of two."""
    checked = checks.count(name, value, "Give a power of two.", most=most)
    if checked & (checked - 1):
        raise ParameterError(argument=name, rule="must be a power of two", got=shown(value))
    return checked


class GridSelection(Mechanism[EqualCostRuns, Value]):
    """Base class of releases by the exponential mechanism on a `CandidateGrid` (T8).

    A subclass is a frozen dataclass with the fields ``goal``, ``bounds`` and ``intervals``. It computes the costs of
    all candidates, in runs of equal cost.
    """

    goal: PureDP | ApproxDP
    bounds: tuple[float, float]
    intervals: int

    name: ClassVar[str]

    @property
    def grid(self) -> CandidateGrid:
        """Grid of the candidates on the interval."""
        return CandidateGrid(*self.bounds, self.intervals)

    @property
    def candidates(self) -> int:
        """Number of candidates; by default, every grid point is a candidate."""
        return self.grid.size

    @property
    @abstractmethod
    def unit(self) -> Fraction:
        """Exact exponent per unit of cost."""

    @cached_property
    def event(self) -> Event:
        """Pure event with the epsilon of the goal."""
        return Pure(self.goal.epsilon, self.goal.adjacency)

    @property
    def law(self) -> Law:
        """Description of the exact sampling by the exponential mechanism, as stored in the record of a release."""
        return Law(f"exponential mechanism over {self.candidates} candidates, drawn exactly")
