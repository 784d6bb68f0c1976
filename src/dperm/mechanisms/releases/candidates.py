# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Candidates on a public grid of an interval, in runs of equal cost, and the exact choice of one of them (T8, T10)."""

from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from dperm import checks
from dperm.accounting.events import LARGEST_EPSILON
from dperm.checks import shown
from dperm.errors import ConversionError, ParameterError
from dperm.mechanisms.goal import checked_goal
from dperm.noise.arrays import Floats, Integers
from dperm.noise.bits import Stream
from dperm.noise.choice import exponential_choice, integer_below
from dperm.privacy import ApproxDP, PureDP

LEAST_EPSILON = 2.0**-100


class Stretches(NamedTuple):
    """Runs of neighbouring candidates of equal cost: where each begins, how many they are, and the cost. Private."""

    starts: Integers
    counts: Integers
    costs: Floats

    def chosen(self, unit: Fraction, stream: Stream) -> int:
        """The number of a candidate, with probability proportional to e^-unit cost, exactly.

        A stretch by its weight, counts e^-unit cost, then a candidate in it, uniformly.
        """
        stretch = exponential_choice(self.costs, unit, stream, counts=self.counts)
        return int(self.starts[stretch]) + integer_below(int(self.counts[stretch]), stream)


@dataclass(frozen=True)
class Grid:
    """The points low + (high - low) j/intervals for j = 0, ..., intervals, a power of two, in doubles."""

    low: float
    high: float
    intervals: int

    @property
    def size(self) -> int:
        """The number of points."""
        return self.intervals + 1

    def points(self, numbers: Integers) -> Floats:
        """The doubles that the points of these numbers are; they do not fall as the numbers rise."""
        share = numbers / self.intervals  # exact: a power of two
        return np.clip(self.low + (self.high - self.low) * share, self.low, self.high)

    def nearest(self, values: Floats) -> Integers:
        """The number of the point nearest to each value, up to rounding; values beyond the ends go to them."""
        return np.rint(self._shares(values)).astype(np.int64)

    def upto(self, values: Floats) -> Integers:
        """The number of the last point that is at most each value, exactly; -1 if there is none.

        The quotient is off by less than 1 if points are more than two units of rounding apart, as they are for up to
        2^30 intervals: it is compared with the points themselves.
        """
        numbers = np.floor(self._shares(values)).astype(np.int64)
        numbers -= self.points(numbers) > values
        following = np.minimum(numbers + 1, self.intervals)
        return np.where(self.points(following) <= values, following, numbers)

    def _shares(self, values: Floats) -> Floats:
        """Where the values are, in steps of the grid, from 0 to its last number."""
        share = (np.clip(values, self.low, self.high) - self.low) / (self.high - self.low)
        return np.clip(share * self.intervals, 0, self.intervals)


def pure_goal(goal: object, release: str) -> PureDP | ApproxDP:
    """``goal``, if it is one that the exponential mechanism is calibrated to."""
    checked = checked_goal(goal)
    if isinstance(checked, PureDP | ApproxDP):
        if not LEAST_EPSILON <= checked.epsilon <= LARGEST_EPSILON:
            raise ParameterError(f"goal must have epsilon from 2^-100 to {LARGEST_EPSILON:g}, got {shown(goal)}.")
        return checked
    raise ConversionError(
        f"{release} is calibrated to PureDP(epsilon, adjacency) or ApproxDP(epsilon, delta, adjacency), "
        f"got goal={shown(goal)}. Give the epsilon to spend; a budget of another kind accounts for it (T16, T20)."
    )


def power_of_two(name: str, value: object, *, most: int) -> int:
    """``value`` as an int, if it is a power of two."""
    checked = checks.count(name, value, "It is a power of two.", most=most)
    if checked & (checked - 1):
        raise ParameterError(f"{name} must be a power of two, got {shown(value)}.")
    return checked
