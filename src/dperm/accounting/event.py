# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Events as values, with repetition and composition.

An event is frozen, compares by value and can be written as JSON (`dperm.accounting.serialize`). **The meaning of an
event never changes once published**; a new meaning gets a new name. Only `Repeated` stores a count: ``step * 1000``
repeats an event, ``a + b`` composes two events.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from dperm import checks
from dperm.accounting.laws.law import LossLaw
from dperm.checks import shown
from dperm.errors import ParameterError
from dperm.privacy.adjacency import Adjacency, Direction

Json = dict[str, object]
MOST_STEPS = 10**9
REPEATED = "An event is repeated a whole number of times, at least once."
Orders = NDArray[np.float64]


class Event(ABC):
    """One access to the data, as described to the accountant.

    Compose events with ``+`` and repeat an event with ``*``. Events may use the outputs of earlier events, if all
    events were declared beforehand.
    """

    @abstractmethod
    def singles(self) -> "Iterator[tuple[SingleEvent, int]]":
        """Yield each elementary event with its number of repetitions."""

    def __mul__(self, count: object) -> "Event":
        """Return the composition of ``count`` repetitions of this event, in sequence."""
        times = checks.count("count", count, REPEATED, most=MOST_STEPS)
        return Repeated.of(self, times)

    __rmul__ = __mul__

    def __add__(self, other: object) -> "Event":
        """Return the composition of this event and a later event ``other``."""
        if not isinstance(other, Event):
            raise ParameterError(
                f"an event can only be composed with an event, got {shown(other)}. Use event * count to repeat it."
            )
        return Composed.of(self, other)


class SingleEvent(Event):
    """Elementary event with its privacy loss in every direction covered by a theorem."""

    kind: ClassVar[str]
    """Type name in JSON; never reused for another meaning."""

    def singles(self) -> "Iterator[tuple[SingleEvent, int]]":
        """Yield this event with a count of 1."""
        yield self, 1

    def reading(self, adjacency: Adjacency) -> Adjacency:
        """Return the adjacency under which the privacy loss is computed.

        If no dominating pair is known under replace-one, the loss is computed under add/remove and converted by T4.

        Parameters
        ----------
        adjacency
            Neighbouring relation of the guarantee, a member of `Adjacency`.

        Returns
        -------
        Adjacency
            Adjacency under which the privacy loss is computed.

        Raises
        ------
        AdjacencyError
            If no theorem covers this event under ``adjacency``.
        """
        return adjacency

    def unwrapped(self) -> "SingleEvent":
        """Return an event with exactly the same privacy loss.

        The result is the inner event if this event only wraps another one. Otherwise, it is this event itself. Budgets
        compute exact costs from the result, after `reading` has checked the adjacency.
        """
        return self

    @abstractmethod
    def law(self, direction: Direction) -> LossLaw:
        """Return the privacy loss distribution of a dominating pair in this direction.

        Parameters
        ----------
        direction
            Direction of the neighbouring pair, which determines the adjacency.

        Returns
        -------
        LossLaw
            Privacy loss distribution of the dominating pair.
        """

    @abstractmethod
    def rdp(self, orders: Orders, adjacency: Adjacency) -> Orders:
        """Return an upper bound on the Rényi curve tau(alpha) at ``orders`` (T16).

        Parameters
        ----------
        orders
            Rényi orders alpha > 1.
        adjacency
            Neighbouring relation of the guarantee, a member of `Adjacency`.

        Returns
        -------
        ndarray
            Values of the curve at ``orders``, rounded up.
        """

    @abstractmethod
    def tags(self, adjacency: Adjacency) -> tuple[str, ...]:
        """Return the tags of the theorems behind the privacy loss.

        Parameters
        ----------
        adjacency
            Neighbouring relation of the guarantee, a member of `Adjacency`.

        Returns
        -------
        tuple[str, ...]
            Theorem tags such as "T6".
        """

    @abstractmethod
    def fields(self) -> Json:
        """Return the event's parameters as JSON-serialisable data."""


@dataclass(frozen=True)
class Repeated(Event):
    """One event, repeated a number of times."""

    event: Event
    count: int

    def __post_init__(self) -> None:
        """Check the event and the count; numpy integers are accepted."""
        _require_event(self.event)
        object.__setattr__(self, "count", checks.count("count", self.count, REPEATED, most=MOST_STEPS))

    @classmethod
    def of(cls, event: Event, count: int) -> Event:
        """Return ``event * count``, multiplying nested counts; a count of 1 returns ``event`` unchanged."""
        if count == 1:
            return event
        if isinstance(event, Repeated):
            return cls(event.event, event.count * count)
        return cls(event, count)

    def singles(self) -> Iterator[tuple[SingleEvent, int]]:
        """Yield the inner event's elementary events, with counts multiplied by ``count``."""
        for single, times in self.event.singles():
            yield single, times * self.count


@dataclass(frozen=True)
class Composed(Event):
    """Several events run in sequence."""

    events: tuple[Event, ...]

    def __post_init__(self) -> None:
        """Check that the composition is not empty and contains only events."""
        object.__setattr__(self, "events", tuple(self.events))
        if not self.events:
            raise ParameterError("a composition needs at least one event, got none.")
        for event in self.events:
            _require_event(event)

    @classmethod
    def of(cls, *events: Event) -> "Composed":
        """Compose the events in order, flattening nested compositions."""
        flat: list[Event] = []
        for event in events:
            flat.extend(event.events if isinstance(event, Composed) else (event,))
        return cls(tuple(flat))

    def singles(self) -> Iterator[tuple[SingleEvent, int]]:
        """Yield the elementary events of all parts, in order."""
        for event in self.events:
            yield from event.singles()


def _require_event(event: object) -> None:
    if not isinstance(event, Event):
        raise ParameterError(f"an event is made of events such as Gaussian(1.0), got {shown(event)}.")


def elementary(event: Event) -> tuple[tuple[SingleEvent, int], ...]:
    """Return every elementary event with its count.

    Raises ParameterError for more than MOST_STEPS steps in total, or for excessive nesting.
    """
    try:
        singles = tuple(event.singles())
    except RecursionError:
        raise ParameterError("the event is nested too deeply. Write a * 3 + b rather than ((a + ...) + ...).") from None
    total = sum(count for _, count in singles)
    if total > MOST_STEPS:
        raise ParameterError(f"an event may have {MOST_STEPS:,} steps in all, got {shown(total)}.")
    return singles
