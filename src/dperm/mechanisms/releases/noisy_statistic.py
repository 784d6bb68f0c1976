# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Base class of releases of an exact statistic plus noise."""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, NamedTuple, TypeVar, overload

from numpy.typing import ArrayLike

from dperm.accounting.budget import Budget
from dperm.accounting.event import Event
from dperm.data.row_groups import RowGroups
from dperm.mechanisms.additive import AdditiveMechanism
from dperm.mechanisms.goal import checked_goal
from dperm.mechanisms.mechanism import Law, Mechanism
from dperm.mechanisms.releases import records
from dperm.mechanisms.releases.fixed_point import FixedPoint, Totals
from dperm.mechanisms.releases.table_columns import NUMBERS, Layout, Records, records_and_budget
from dperm.noise.arrays import Floats
from dperm.noise.bits import Bits, Stream
from dperm.privacy import Adjacency, Release
from dperm.privacy.guarantee import AnyGuarantee

Value = TypeVar("Value")


class StatisticInput(NamedTuple):
    """Exact statistic before noise, and the number of records if it is public."""

    statistic: Floats
    n: int | None


@dataclass(frozen=True)
class NoisyStatistic(Mechanism[StatisticInput, Value]):
    """Exact statistic of bounded records plus noise, calibrated on construction.

    Parameters
    ----------
    goal
        Guarantee of one release; its adjacency determines the sensitivity.
    """

    goal: AnyGuarantee

    name: ClassVar[str]

    def _check_parameters(self) -> None:
        self._set(goal=checked_goal(self.goal))

    @property
    @abstractmethod
    def public(self) -> dict[str, object]:
        """Public constants of this release."""

    @cached_property
    @abstractmethod
    def fixed_point(self) -> FixedPoint:
        """Conversion of exact totals to doubles."""

    @cached_property
    @abstractmethod
    def mechanism(self) -> AdditiveMechanism:
        """Mechanism that adds the noise."""

    @abstractmethod
    def totals(self, data: Records) -> Totals:
        """Return the exact statistic of the bounded records, which is **not private**.

        Parameters
        ----------
        data
            Private records.

        Returns
        -------
        Totals
            Exact totals, in units of the fixed-point format.
        """

    @abstractmethod
    def finished(self, noisy: Floats, n: int | None) -> Value:
        """Return the value to release, computed from the noisy statistic and public constants.

        Parameters
        ----------
        noisy
            Noisy statistic.
        n
            Public number of records; None if it is private.

        Returns
        -------
        number or ndarray
            Value to release.
        """

    @property
    @abstractmethod
    def standard_error(self) -> float | Floats | None:
        """Standard deviation of the released value around the exact value, before rounding.

        None if the standard deviation depends on a private number of records.
        """

    @property
    def event(self) -> Event:
        """Event of the mechanism that adds the noise."""
        return self.mechanism.event

    @property
    def law(self) -> Law:
        """Distribution of the noise on the exact statistic."""
        return self.mechanism.law

    @property
    def theorems(self) -> tuple[str, ...]:
        """Tags of the mechanism that adds the noise."""
        return self.mechanism.theorems

    @property
    def public_constants(self) -> dict[str, object]:
        """Constants of the release and of its noise."""
        noise = self.mechanism.public_constants
        return {"release": self.name, **self.public, "records": records.ASSUMED, "noise_on_the_sum": noise}

    @property
    def _layout(self) -> Layout:
        """Columns of a table that the release reads."""
        return NUMBERS

    @overload
    def release(self, data: ArrayLike, budget: Budget | None = None, *, bits: Bits | None = None) -> Release[Value]: ...

    @overload
    def release(
        self,
        data: RowGroups,
        columns: str | Sequence[str],
        budget: Budget | None = None,
        *,
        bits: Bits | None = None,
    ) -> Release[Value]: ...

    def release(  # type: ignore[misc]  # an array has its budget in the place of the columns
        self,
        data: ArrayLike | RowGroups,
        columns: str | Sequence[str] | Budget | None = None,
        budget: Budget | None = None,
        *,
        bits: Bits | None = None,
    ) -> Release[Value]:
        """Release the statistic of ``data`` plus noise: ``release(array, budget)`` or ``release(table, columns)``.

        Parameters
        ----------
        data
            Private records: an array, or a table of `dperm.data.table`. Values beyond the public bounds are clipped,
            unless the class states another treatment.
        columns
            For a table, the name of the column with the records; for rows, the names of ``dim`` columns. For an array,
            leave this argument out; the second positional argument is then the budget.
        budget
            Budget to charge; None charges nothing.
        bits
            Source of randomness; ``NotPrivateBits(seed)`` makes the release reproducible and NOT PRIVATE.

        Returns
        -------
        Release
            Released value, with guarantee, profile, event and record.

        Raises
        ------
        DataError
            If the data are empty, of the wrong shape or not finite. The error is raised before any charge or draw. The
            message is meant for the data holder; it states the rule that was broken, but no value. For a table, the
            message names the column and the row group.
        ParameterError
            If a table has no such columns.
        BudgetError
            If ``budget`` does not cover the event; nothing is charged.

        Notes
        -----
        **Guarantees.** The release satisfies ``goal`` for all data within the declared shape (T5, T6, T7, T10). Under
        add/remove the number of records stays private (C0.1), except that it is at least one. A table is read once,
        row group by row group. The value is the same as for an array of its records, for the same random bits (T203).

        ===========================================  ==================================
        data                                         result
        ===========================================  ==================================
        empty, nan, inf                              DataError before the charge
        beyond the bounds                            clipped, or as the class states
        number of records differs from declared n    DataError before the charge
        ===========================================  ==================================
        """
        read, charged = records_and_budget(data, columns, budget, layout=self._layout)
        return self._release(lambda: self._read(read), charged, bits)

    def _read(self, data: Records) -> StatisticInput:
        """Return the statistic; pass on the number of records only if it is public (C0.1)."""
        totals = self.totals(data)
        n = totals.records if self.adjacency is Adjacency.REPLACE_ONE else None
        return StatisticInput(self.fixed_point.doubles(totals.values), n)

    def _draw(self, raw: StatisticInput, stream: Stream) -> Value:
        return self.finished(self.mechanism.noisy(raw.statistic, stream), raw.n)
