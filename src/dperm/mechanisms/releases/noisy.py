# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""What the releases that add noise to an exact statistic have in common."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar, Generic, NamedTuple, TypeVar

from numpy.typing import ArrayLike

from dperm.accounting.budget import Budget
from dperm.accounting.event import Event
from dperm.mechanisms.additive import AdditiveMechanism
from dperm.mechanisms.releases import records
from dperm.mechanisms.releases.fixed_point import FixedPoint, Totals
from dperm.mechanisms.run import Facts, release
from dperm.noise.arrays import Floats
from dperm.noise.bits import Bits, Stream
from dperm.privacy import Adjacency, Release
from dperm.privacy.guarantee import AnyGuarantee

Value = TypeVar("Value")


class Read(NamedTuple):
    """A statistic that is ready for noise, and the number of records if that is public."""

    statistic: Floats
    n: int | None


@dataclass(frozen=True)
class NoisyStatistic(ABC, Generic[Value]):
    """An exact statistic of bounded records plus noise, calibrated when the object was made.

    Parameters
    ----------
    goal
        The guarantee to be met by one release; its adjacency decides the sensitivity.
    """

    goal: AnyGuarantee

    name: ClassVar[str]

    @property
    @abstractmethod
    def public(self) -> dict[str, object]:
        """The public constants."""

    @cached_property
    @abstractmethod
    def fixed_point(self) -> FixedPoint:
        """How exact totals become doubles."""

    @cached_property
    @abstractmethod
    def mechanism(self) -> AdditiveMechanism:
        """The noise."""

    @abstractmethod
    def totals(self, data: ArrayLike) -> Totals:
        """The exact statistic of bounded records. **Not private**: what `release` adds noise to."""

    @abstractmethod
    def finished(self, noisy: Floats, n: int | None) -> Value:
        """What is released, from the noisy statistic and public constants; ``n`` is None where it is private."""

    @property
    @abstractmethod
    def standard_error(self) -> float | Floats | None:
        """Standard deviation of the released value around the exact one, before rounding; None where n decides it."""

    @property
    def adjacency(self) -> Adjacency:
        """Which data sets are neighbours."""
        return self.goal.adjacency

    @property
    def event(self) -> Event:
        """What one release spends."""
        return self.mechanism.event

    @cached_property
    def facts(self) -> Facts:
        """What is known of a release beforehand."""
        known = self.mechanism.facts
        public = {"release": self.name, **self.public, "records": records.ASSUMED, "noise_on_the_sum": known.public}
        return replace(known, public=public)

    def release(self, data: ArrayLike, budget: Budget | None = None, *, bits: Bits | None = None) -> Release[Value]:
        """The statistic of ``data`` plus noise.

        Parameters
        ----------
        data
            The private records; they are clipped to the public bounds.
        budget
            What the release is charged to.
        bits
            Where randomness comes from; ``NotPrivateBits(seed)`` makes the release reproducible and NOT PRIVATE.

        Raises
        ------
        DataError
            If the data are empty, of the wrong shape or not finite; before anything is charged or drawn. It is raised
            for the data holder, and names the rule, never a value.
        BudgetError
            If ``budget`` does not cover the event; nothing is charged.
        """
        return release(self.facts, lambda: self._read(data), self._released, budget=budget, bits=bits)

    def _read(self, data: ArrayLike) -> Read:
        """The statistic; the number of records goes on only where it is public (C0.1)."""
        totals = self.totals(data)
        n = totals.records if self.adjacency is Adjacency.REPLACE_ONE else None
        return Read(self.fixed_point.doubles(totals.values), n)

    def _released(self, read: Read, stream: Stream) -> Value:
        return self.finished(self.mechanism.noisy(read.statistic, stream), read.n)
