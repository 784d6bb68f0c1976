# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""A threshold that tells two classes apart, by the exponential mechanism on a grid (T61)."""

import math
from collections.abc import Hashable, Iterable
from dataclasses import KW_ONLY, dataclass
from fractions import Fraction
from functools import cached_property
from typing import ClassVar, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dperm import checks
from dperm.accounting.budget import Budget
from dperm.accounting.event import Event
from dperm.accounting.events import Pure
from dperm.checks import shown
from dperm.data.bounded import invalid_rows
from dperm.errors import DataError, ParameterError
from dperm.mechanisms.releases import parameters, records, sensitivities
from dperm.mechanisms.releases.candidates import Grid, Stretches, power_of_two, pure_goal
from dperm.mechanisms.run import Facts, release
from dperm.mechanisms.values import items
from dperm.noise.arrays import Integers
from dperm.noise.bits import Bits, Stream
from dperm.privacy import ApproxDP, PureDP, Release
from dperm.privacy.rounding import raised

UP, EITHER = "up", "either"
LABELS = "labels"
MOST_INTERVALS = 2**30
"""Points of the grid are then different doubles, and a record lies on a known side of each."""


@dataclass(frozen=True)
class Cut:
    """The rule that was learnt: ``above`` for x >= threshold, ``below`` for the others."""

    threshold: float
    below: Hashable
    above: Hashable


@dataclass(frozen=True)
class Threshold:
    """A threshold t on a public grid that tells two classes apart by x >= t, with few errors (T61).

    A threshold, and with it the direction, is chosen with probability proportional to exp(-r errors), where errors
    counts the records that the rule gets wrong. A record is an error or is none: under replace-one every count moves by
    -1 to 1 and r = epsilon/2; under add/remove all of them move one way, by 0 to 1, and r = epsilon (T8).

    Between neighbouring records the count is constant: records are sorted, first such a stretch of thresholds is
    chosen, weighted by its length, then a threshold in it, uniformly. The probabilities are exact (T10). The count is
    that of the released rule on the data as they are: records beyond the bounds need not be clipped, since each is
    still one error at most.

    Parameters
    ----------
    goal
        PureDP, or ApproxDP, whose delta is not used.
    bounds
        (low, high), public: thresholds are from low to high.
    classes
        The two labels, public: the second is the one of large x.
    orientation
        "up", or "either": then the first class may be the one of large x, and twice as many rules compete.
    intervals
        The grid divides [low, high] into this many, a power of two up to 2^30. A finer grid costs accuracy in
        proportion to its logarithm.
    invalid
        "raise" refuses data with a number that is not finite or a label that is no class; "drop" counts such a record
        as no error of any rule.

    Examples
    --------
    >>> from dperm import PureDP
    >>> from dperm.mechanisms.releases import Threshold
    >>> fever = Threshold(PureDP(1.0, "add_remove"), bounds=(35.0, 42.0), classes=("well", "ill"))
    >>> fever.event
    Pure(epsilon=1.0, adjacency=<Adjacency.ADD_REMOVE: 'add_remove'>)
    >>> fever.release([36.4, 36.9, 38.2, 39.5], ["well", "well", "ill", "ill"]).value
    Cut(threshold=..., below='well', above='ill')
    """

    goal: PureDP | ApproxDP
    _: KW_ONLY
    bounds: tuple[float, float]
    classes: tuple[Hashable, Hashable] = (0, 1)
    orientation: str = UP
    intervals: int = 2**20
    invalid: str = "raise"

    name: ClassVar[str] = "threshold"

    def __post_init__(self) -> None:
        """Check everything and calibrate, before any data is seen."""
        set_field = object.__setattr__
        set_field(self, "goal", pure_goal(self.goal, type(self).__name__))
        set_field(self, "bounds", parameters.interval("bounds", self.bounds))
        set_field(self, "classes", _checked_classes(self.classes))
        set_field(self, "orientation", _checked_orientation(self.orientation))
        set_field(self, "intervals", power_of_two("intervals", self.intervals, most=MOST_INTERVALS))
        set_field(self, "invalid", invalid_rows(self.invalid))
        self.facts  # noqa: B018  # everything follows from the parameters

    @property
    def grid(self) -> Grid:
        """The thresholds."""
        return Grid(*self.bounds, self.intervals)

    @property
    def candidates(self) -> int:
        """G, the number of rules."""
        return self.grid.size * (2 if self.orientation == EITHER else 1)

    @cached_property
    def unit(self) -> Fraction:
        """The factor r of the number of errors, exactly."""
        return Fraction(self.goal.epsilon) / sensitivities.errors_span(self.goal.adjacency)

    @cached_property
    def event(self) -> Event:
        """What one release spends: r times the width of the interval in which errors move, the goal's epsilon."""
        return Pure(self.goal.epsilon, self.goal.adjacency)

    @cached_property
    def facts(self) -> Facts:
        """What is known of a release beforehand."""
        return Facts(
            goal=self.goal,
            event=self.event,
            noise=f"exponential mechanism over {self.candidates} candidates, drawn exactly",
            theorems=("T8", "T10", "T61"),
            public={
                "release": self.name,
                "records": records.ASSUMED,
                "bounds": self.bounds,
                "classes": [repr(label) for label in self.classes],
                "orientation": self.orientation,
                "intervals": self.intervals,
                "invalid": self.invalid,
                "sensitivity": 1.0,
            },
        )

    def error_bound(self, probability: float) -> float:
        """How many more errors than the best rule the released one makes, except with this probability (T61).

        (ln G + ln(1/probability)) / r, rounded up; divided by n it is the excess empirical risk,
        2 (ln G + ln(1/probability)) / (n epsilon) under replace-one and half of that under add/remove.
        """
        probability = checks.rate("probability", probability)
        return raised((math.log(self.candidates) - math.log(probability)) / float(self.unit))

    def release(
        self, data: ArrayLike, labels: ArrayLike, budget: Budget | None = None, *, bits: Bits | None = None
    ) -> Release[Cut]:
        """A rule with few errors on ``data``, one number per record, and ``labels``, one of the classes for each.

        Raises
        ------
        DataError
            If the data are empty, not one-dimensional or not as many as the labels, or not valid (see ``invalid``);
            before anything is charged or drawn.
        BudgetError
            If ``budget`` does not cover the event; nothing is charged.
        """
        return release(self.facts, lambda: self.stretches(data, labels), self._chosen, budget=budget, bits=bits)

    def stretches(self, data: ArrayLike, labels: ArrayLike) -> Stretches:
        """All rules, in runs with equally many errors, which are **not private**; the other direction comes second."""
        numbers, second = self._read(data, labels)
        places, where = np.unique(numbers, return_inverse=True)
        ones, zeros = (np.bincount(where[mask], minlength=len(places)) for mask in (second, ~second))
        # below every record all zeros are errors; past a place its ones are, and its zeros no longer
        errors = zeros.sum() + np.concatenate(([0], np.cumsum(ones - zeros)))
        starts = np.concatenate(([0], places + 1))
        counts = np.diff(starts, append=self.grid.size)
        if self.orientation == EITHER:
            starts, counts = np.concatenate((starts, self.grid.size + starts)), np.tile(counts, 2)
            errors = np.concatenate((errors, len(numbers) - errors))
        kept = counts > 0
        return Stretches(starts[kept], counts[kept], errors[kept].astype(np.float64))

    def _chosen(self, found: Stretches, stream: Stream) -> Cut:
        """One of the rules."""
        turned, number = divmod(found.chosen(self.unit, stream), self.grid.size)
        threshold = float(self.grid.points(np.array(number)))
        below, above = reversed(self.classes) if turned else self.classes
        return Cut(threshold, below, above)

    def _read(self, data: ArrayLike, labels: ArrayLike) -> tuple[Integers, NDArray[np.bool_]]:
        """Of each valid record, the last threshold that it reaches, and whether it is of the second class."""
        values = records.extended_column(data)
        codes = records.places(LABELS, items(LABELS, labels), self.classes)
        if len(codes) != len(values):
            raise DataError(f"{LABELS} must be as many as the {records.NAME}: one for each record.")
        finite, known = np.isfinite(values), codes != records.NOWHERE
        if self.invalid == "raise":
            _require(finite.all(), f"{records.NAME} must be finite")
            _require(known.all(), f"{LABELS} must all be one of the two declared classes")
        valid = finite & known
        return self.grid.upto(values[valid]), codes[valid] == 1


def _require(holds: np.bool_, rule: str) -> None:
    if not holds:
        raise DataError(f'{rule}. Correct the records, or give invalid="drop" to leave the others out.')


def _checked_classes(classes: object) -> tuple[Hashable, Hashable]:
    """Two different labels that a dictionary finds again."""
    try:
        first, second = cast(Iterable[Hashable], classes)
        if not isinstance(classes, str) and len({first, second}) == 2 and first == first and second == second:
            return first, second
    except (TypeError, ValueError):
        pass
    raise ParameterError(
        f"classes must be a pair of different public labels, such as (0, 1), got {shown(classes)}."
    ) from None


def _checked_orientation(orientation: object) -> str:
    if not isinstance(orientation, str) or orientation not in (UP, EITHER):
        raise ParameterError(
            f'orientation must be "up" or "either", got {shown(orientation)}. For the first class above, turn classes.'
        )
    return orientation
