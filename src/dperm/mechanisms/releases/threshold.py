# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Private threshold classifier, by the exponential mechanism on a grid (T61)."""

import math
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import KW_ONLY, dataclass
from fractions import Fraction
from functools import cached_property
from typing import ClassVar, cast, overload

import numpy as np
from numpy.typing import ArrayLike

from dperm import checks
from dperm.accounting.budget import Budget
from dperm.checks import shown
from dperm.data.bounded import invalid_rows
from dperm.data.row_groups import RowGroups
from dperm.errors import DataError, ParameterError
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
from dperm.mechanisms.releases.table_columns import Layout, Records, table_columns, total
from dperm.mechanisms.values import items
from dperm.noise.bits import Bits, Stream
from dperm.presentation.spelling import arg
from dperm.privacy import ApproxDP, PureDP, Release
from dperm.privacy.rounding import raised

UP, EITHER = "up", "either"
LABELS = "labels"
MOST_INTERVALS = 2**30
"""Largest number of intervals: all grid points are different doubles, and the side of each record is known."""


@dataclass(frozen=True)
class Cut:
    """Learned decision rule, which predicts ``above`` for x >= threshold and ``below`` otherwise.

    Attributes
    ----------
    threshold
        Smallest x classified as ``above``.
    below, above
        Labels of the two classes.
    """

    threshold: float
    below: Hashable
    above: Hashable


@dataclass(frozen=True)
class Threshold(GridSelection[Cut]):
    """Threshold t on a public grid that separates two classes by x >= t with few errors (T61).

    A threshold together with its direction is a rule. A rule is selected with probability proportional to
    exp(-r errors), where errors is the number of records that the rule misclassifies. Under replace-one, the number of
    errors of every rule changes by -1, 0 or 1 between neighbouring data sets, and r is epsilon/2. Under add/remove, the
    numbers of errors of all rules change in the same direction, by at most 1, and r is epsilon (T8).

    The number of errors is the same for all thresholds between two consecutive values of the data. The release
    therefore first draws an interval between consecutive values, with a weight that accounts for its number of
    thresholds, and then a uniformly random threshold in this interval. The probabilities are exact (T10). The data are
    not clipped to the bounds; a record outside the bounds causes at most one error, like any other record.

    Parameters
    ----------
    goal
        PureDP or ApproxDP; the delta of an ApproxDP goal is not used.
    bounds
        Public range (low, high) of the thresholds.
    classes
        The two public labels; the second is the class of large x.
    orientation
        "up" considers only rules that predict the second class for large x. "either" considers both directions, which
        doubles the number of rules.
    intervals
        Number of intervals of the grid on [low, high], a power of two up to 2^30, or up to 2^22 for a table. The bound
        on the number of additional errors (`error_bound`) grows with the logarithm of this number.
    invalid
        Treatment of records with a non-finite number or a label outside the classes. "raise" raises DataError. With
        "drop", such a record is not counted as an error under any rule.

    Examples
    --------
    >>> from dperm import PureDP
    >>> from dperm.mechanisms.releases import Threshold
    >>> fever = Threshold(PureDP(1.0, "add_remove"), bounds=(35.0, 42.0), classes=("well", "ill"))
    >>> fever.event
    Pure(epsilon=1.0, adjacency=<Adjacency.ADD_REMOVE: 'add_remove'>)
    >>> fever.release([36.4, 36.9, 38.2, 39.5], ["well", "well", "ill", "ill"]).value.above
    'ill'
    """

    goal: PureDP | ApproxDP
    _: KW_ONLY
    bounds: tuple[float, float]
    classes: tuple[Hashable, Hashable] = (0, 1)
    orientation: str = UP
    intervals: int = 2**20
    invalid: str = "raise"

    name: ClassVar[str] = "threshold"

    def _check_parameters(self) -> None:
        self._set(goal=pure_goal(self.goal, type(self).__name__))
        self._set(bounds=parameters.interval("bounds", self.bounds))
        self._set(classes=_checked_classes(self.classes))
        self._set(orientation=_checked_orientation(self.orientation))
        self._set(intervals=power_of_two("intervals", self.intervals, most=MOST_INTERVALS))
        self._set(invalid=invalid_rows(self.invalid))

    @property
    def candidates(self) -> int:
        """Number G of candidate rules: the number of thresholds times the number of directions."""
        return self.grid.size * (2 if self.orientation == EITHER else 1)

    @cached_property
    def unit(self) -> Fraction:
        """Exact factor r by which the number of errors is multiplied in the exponent."""
        return Fraction(self.goal.epsilon) / sensitivities.errors_span(self.goal.adjacency)

    @property
    def theorems(self) -> tuple[str, ...]:
        """Tags of the exponential mechanism and of exact sampling."""
        return ("T8", "T10", "T61")

    @property
    def public_constants(self) -> dict[str, object]:
        """Parameters, sensitivity, and grid of the candidates."""
        return {
            "release": self.name,
            "records": records.ASSUMED,
            "bounds": self.bounds,
            "classes": [repr(label) for label in self.classes],
            "orientation": self.orientation,
            "intervals": self.intervals,
            "invalid": self.invalid,
            "sensitivity": 1.0,
        }

    def error_bound(self, probability: float) -> float:
        """Return a bound on the number of additional errors of the released rule, compared with the best rule (T61).

        The bound is (ln G + ln(1/probability)) / r, rounded up, where G is the number of `candidates` and r is `unit`.
        For n records, the bound divided by n is a bound on the excess empirical risk. Under replace-one, it is
        2 (ln G + ln(1/probability)) / (n epsilon), and under add/remove it is half as large.

        Parameters
        ----------
        probability
            Probability that the bound is exceeded, in (0, 1].

        Returns
        -------
        float
            Bound on the number of additional errors, exceeded with probability at most ``probability``.

        Raises
        ------
        ParameterError
            If an argument is out of range.
        """
        probability = checks.rate("probability", probability)
        return raised((math.log(self.candidates) - math.log(probability)) / float(self.unit))

    @overload
    def release(
        self, data: ArrayLike, labels: ArrayLike, budget: Budget | None = None, *, bits: Bits | None = None
    ) -> Release[Cut]: ...

    @overload
    def release(
        self, data: RowGroups, columns: Sequence[str], budget: Budget | None = None, *, bits: Bits | None = None
    ) -> Release[Cut]: ...

    def release(  # type: ignore[misc]  # a table has its columns in the place of the labels
        self,
        data: ArrayLike | RowGroups,
        labels: ArrayLike | None = None,
        budget: Budget | None = None,
        *,
        columns: Sequence[str] | None = None,
        bits: Bits | None = None,
    ) -> Release[Cut]:
        """Release a rule with few errors: ``release(array, labels, budget)`` or ``release(table, columns, budget)``.

        Parameters
        ----------
        data
            Private numbers, one per record: an array, or a table created by `dperm.data.table`.
        labels
            Private labels, one per record, each of which is one of the classes. For a table, the second positional
            argument is instead a pair of column names: the column of the numbers, and the column of the labels.
        columns
            For a table, the pair of column names as a keyword argument. Leave it out for an array.
        budget
            Budget to charge; None charges nothing.
        bits
            Source of randomness; ``NotPrivateBits(seed)`` makes the release reproducible and NOT PRIVATE.

        Returns
        -------
        Release
            Decision rule, with guarantee, profile, event and record.

        Raises
        ------
        DataError
            If the data are empty, not one-dimensional, of a different length from the labels, or invalid (see
            ``invalid``). The error is raised before any charge or draw.
        ParameterError
            If the table does not have these columns, or if ``intervals`` is too large for a table.
        BudgetError
            If ``budget`` does not cover the event; nothing is charged.

        Notes
        -----
        **Guarantees.** The release is epsilon-DP, with an exact draw (T8, T10, T61). A table is read once, one row
        group at a time, and its records are counted at the points of the grid. With the same random bits, the value is
        the same as for arrays of the records of the table (T203).
        """
        if isinstance(data, RowGroups):
            require_countable(self.intervals)
            layout = Layout(2, numeric=1, values=self.classes)
            read = table_columns(data, labels if columns is None else columns, layout)
            return self._release(lambda: self._runs(read), budget, bits)
        if columns is not None:
            raise ParameterError(argument="columns", rule="must be left out for an array", got=shown(columns))
        return self._release(lambda: self._runs(data, cast(ArrayLike, labels)), budget, bits)

    def stretches(self, data: ArrayLike, labels: ArrayLike) -> EqualCostRuns:
        """Return all rules, grouped into runs of consecutive rules with the same number of errors.

        The result is **not private**. With "either", the rules that predict the first class for large x come last.

        Parameters
        ----------
        data
            Private numbers, one per record.
        labels
            Private labels, one per record.

        Returns
        -------
        EqualCostRuns
            First rule, length and number of errors of each run.
        """
        return self._runs(data, labels)

    def _runs(self, *data: Records) -> EqualCostRuns:
        """Return all rules in runs of equal errors, for numbers and labels or for columns of a table."""
        counter = ClassCounts(self.grid, self.classes, self.invalid)
        places, counts = total(counter.counts, add_place_counts, *data)
        number, (zeros, ones) = counts.sum(), counts.T
        # below every record all zeros are errors; past a place its ones are, and its zeros no longer
        errors = zeros.sum() + np.concatenate(([0], np.cumsum(ones - zeros)))
        starts = np.concatenate(([0], places + 1))
        counts = np.diff(starts, append=self.grid.size)
        if self.orientation == EITHER:
            starts, counts = np.concatenate((starts, self.grid.size + starts)), np.tile(counts, 2)
            errors = np.concatenate((errors, number - errors))
        kept = counts > 0
        return EqualCostRuns(starts[kept], counts[kept], errors[kept].astype(np.float64))

    def _draw(self, runs: EqualCostRuns, stream: Stream) -> Cut:
        """Return one of the rules."""
        turned, number = divmod(runs.choose(self.unit, stream), self.grid.size)
        threshold = float(self.grid.points(np.array(number)))
        below, above = reversed(self.classes) if turned else self.classes
        return Cut(threshold, below, above)


@dataclass(frozen=True)
class ClassCounts:
    """Number of records of both classes at each point of a grid."""

    grid: CandidateGrid
    classes: tuple[Hashable, Hashable]
    invalid: str

    def counts(self, data: ArrayLike, labels: ArrayLike) -> PlaceCounts:
        """Return the counts of both classes at the last point that the records reach. Not private."""
        values = records.extended_column(data)
        codes = records.places(LABELS, items(LABELS, labels), self.classes)
        if len(codes) != len(values):
            raise DataError(argument=LABELS, rule=f"must be as many as the {records.NAME}: one for each record")
        finite, known = np.isfinite(values), codes != records.NOWHERE
        if self.invalid == "raise":
            _require(finite.all(), records.NAME, "must be finite")
            _require(known.all(), LABELS, "must all be one of the two declared classes")
        valid = finite & known
        second = codes[valid] == 1
        places, where = np.unique(self.grid.last_at_most(values[valid]), return_inverse=True)
        counts = [np.bincount(where[kind], minlength=len(places)) for kind in (~second, second)]
        return PlaceCounts(places, np.stack(counts, axis=1))


def _require(holds: np.bool_, name: str, rule: str) -> None:
    if not holds:
        remedy = f"Correct the records, or give {arg('invalid', 'drop')} to leave invalid ones out."
        raise DataError(argument=name, rule=rule, remedy=remedy)


def _checked_classes(classes: object) -> tuple[Hashable, Hashable]:
    """Return two different hashable labels, each equal to itself."""
    try:
        first, second = cast(Iterable[Hashable], classes)
        if not isinstance(classes, str) and len({first, second}) == 2 and first == first and second == second:
            return first, second
    except (TypeError, ValueError):
        pass
    raise ParameterError(
        argument="classes", rule="must be a pair of different public labels, such as (0, 1)", got=shown(classes)
    ) from None


def _checked_orientation(orientation: object) -> str:
    if not isinstance(orientation, str) or orientation not in (UP, EITHER):
        raise ParameterError(
            argument="orientation",
            rule='must be "up" or "either"',
            got=shown(orientation),
            remedy=f"To put the first class above the threshold, reverse {arg('classes')}.",
        )
    return orientation
