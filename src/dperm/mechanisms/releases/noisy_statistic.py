# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Base class of releases of an exact statistic plus noise."""

from abc import abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, NamedTuple, TypeVar

from numpy.typing import ArrayLike

from dperm.accounting.budget import Budget
from dperm.accounting.event import Event
from dperm.mechanisms.additive import AdditiveMechanism
from dperm.mechanisms.goal import checked_goal
from dperm.mechanisms.mechanism import Law, Mechanism
from dperm.mechanisms.releases import records
from dperm.mechanisms.releases.fixed_point import FixedPoint, Totals
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
    def totals(self, data: ArrayLike) -> Totals:
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

        None if the standard deviation depends on a private n.
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

    def release(self, data: ArrayLike, budget: Budget | None = None, *, bits: Bits | None = None) -> Release[Value]:
        """Release the statistic of ``data`` plus noise.

        Parameters
        ----------
        data
            Private records, clipped to the public bounds.
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
            message is meant for the data holder; it states the rule that was broken, but no value.
        BudgetError
            If ``budget`` does not cover the event; nothing is charged.

        Notes
        -----
        **Guarantees.** The release satisfies ``goal`` for all data within the declared shape (T5, T6, T7, T10). Under
        add/remove the number of records stays private (C0.1), except that it is at least one.

        ===========================================  ============================
        data                                         result
        ===========================================  ============================
        empty, nan, inf                              DataError before the charge
        beyond the bounds                            clipped
        number of records differs from declared n    DataError before the charge
        ===========================================  ============================
        """
        return self._release(lambda: self._read(data), budget, bits)

    def _read(self, data: ArrayLike) -> StatisticInput:
        """Return the statistic; pass on the number of records only if it is public (C0.1)."""
        totals = self.totals(data)
        n = totals.records if self.adjacency is Adjacency.REPLACE_ONE else None
        return StatisticInput(self.fixed_point.doubles(totals.values), n)

    def _draw(self, raw: StatisticInput, stream: Stream) -> Value:
        return self.finished(self.mechanism.noisy(raw.statistic, stream), raw.n)
