# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Grammar of events on the command line: ``poisson(gaussian(1.0), rate=0.01) * 1000 + pure(0.1)``.

An expression is a tree of calls, repetitions and sums. `dperm.cli.event_parser` parses it and never evaluates it. A
``?`` is the number that ``dperm calibrate`` computes; every ``?`` is the same number.
"""

from collections.abc import Mapping
from dataclasses import Field, dataclass, fields
from typing import TYPE_CHECKING, Protocol

from dperm.errors import DpermError, ParameterError

if TYPE_CHECKING:
    from dperm.accounting.event import Event, SingleEvent
    from dperm.accounting.runs import Runs

COUNT = "count"
_BEFORE, _SHOWN = 50, 100  # characters of a long text that a message repeats


def parameters(kind: "type[SingleEvent]") -> "tuple[Field[object], ...]":
    """Return the parameters of an event, in order."""
    return fields(kind)  # type: ignore[arg-type]  # every event is a dataclass


@dataclass(frozen=True)
class TextPosition:
    """A column of the text, for messages."""

    text: str
    column: int

    def annotate(self, message: str) -> str:
        """Return the message, the text, and a caret under the position."""
        start = max(0, self.column - _BEFORE)
        shown = "".join(c if c.isprintable() else " " for c in self.text[start : start + _SHOWN])
        return f"{message}\n  {shown}\n  {' ' * (self.column - start)}^"

    def error(self, message: str) -> ParameterError:
        """Return an error with a caret under the position."""
        return ParameterError(self.annotate(message))


@dataclass(frozen=True)
class Substitution:
    """Values for the open parts of an expression: adjacency of declared guarantees, and number for ``?``."""

    adjacency: str
    value: float | None = None


@dataclass(frozen=True)
class Placeholder:
    """A ``?`` in an expression."""

    position: TextPosition

    def filled(self, substitution: Substitution) -> float:
        """Return the number for ``?``; raises ParameterError if there is none."""
        if substitution.value is None:
            raise self.position.error("? is for dperm calibrate only. Write a number here.")
        return substitution.value


class EventNode(Protocol):
    """Part of an expression with an event as its value."""

    def event(self, substitution: Substitution) -> "Event":
        """Return the event; raises ParameterError for invalid numbers."""

    def roles(self) -> set[str]:
        """Return the names of the parameters with ``?``, or "count" for a repetition."""


@dataclass(frozen=True)
class EventCall:
    """``name(arguments)``: an elementary event with its arguments by name."""

    kind: "type[SingleEvent]"
    arguments: "Mapping[str, float | str | Placeholder | EventNode | RunsCall]"
    position: TextPosition

    def event(self, substitution: Substitution) -> "SingleEvent":
        """Return the event; errors show the position in the text."""
        values: dict[str, object] = {}
        if any(field.name == "adjacency" for field in parameters(self.kind)):
            values["adjacency"] = substitution.adjacency
        for name, argument in self.arguments.items():
            values[name] = _value(argument, substitution)
        try:
            return self.kind(**values)
        except DpermError as error:
            raise type(error)(self.position.annotate(f"{error}{self._advice()}")) from None

    def _advice(self) -> str:
        rate = self.arguments.get("rate")
        batch = isinstance(rate, float | int) and rate > 1
        return " If this is a batch size, divide the batch size by n: rate=256/60000." if batch else ""

    def roles(self) -> set[str]:
        """Return the roles of the arguments, including those of a sampled event."""
        own = {name for name, argument in self.arguments.items() if isinstance(argument, Placeholder)}
        nested = (
            one.roles() for one in self.arguments.values() if not isinstance(one, float | int | str | Placeholder)
        )
        return own.union(*nested)


@dataclass(frozen=True)
class RunsCall:
    """``geometric(10)`` and other laws of the number of runs, inside ``best_of``."""

    name: str
    arguments: "Mapping[str, float | Placeholder]"
    position: TextPosition

    def runs(self, substitution: Substitution) -> "Runs":
        """Return the law; errors show the position in the text."""
        from dperm.accounting.runs import Runs

        values = {
            name: argument.filled(substitution) if isinstance(argument, Placeholder) else argument
            for name, argument in self.arguments.items()
        }
        try:
            law: Runs = getattr(Runs, self.name)(**values)
        except DpermError as error:
            raise type(error)(self.position.annotate(str(error))) from None
        return law

    def roles(self) -> set[str]:
        """Return the names of the parameters with ``?``."""
        return {name for name, argument in self.arguments.items() if isinstance(argument, Placeholder)}


@dataclass(frozen=True)
class EventRepeat:
    """A repetition, ``part * count``."""

    part: EventNode
    count: int | Placeholder
    position: TextPosition

    def event(self, substitution: Substitution) -> "Event":
        """Return the repeated event; a number for a ``?`` count is rounded down."""
        count = int(self.count.filled(substitution)) if isinstance(self.count, Placeholder) else self.count
        part = self.part.event(substitution)
        try:
            return part * count
        except DpermError as error:
            raise type(error)(self.position.annotate(str(error))) from None

    def roles(self) -> set[str]:
        """Return the roles of the part, and "count" if the count is ``?``."""
        return self.part.roles() | ({COUNT} if isinstance(self.count, Placeholder) else set())


@dataclass(frozen=True)
class EventSum:
    """A composition, ``part + part + ...``, or all events of a command line."""

    parts: tuple[EventNode, ...]

    def event(self, substitution: Substitution) -> "Event":
        """Return the parts composed in sequence."""
        first, *others = (part.event(substitution) for part in self.parts)
        total: Event = first
        for other in others:
            total = total + other
        return total

    def roles(self) -> set[str]:
        """Return the roles of all parts."""
        return set().union(*(part.roles() for part in self.parts))


@dataclass(frozen=True)
class EventParts:
    """``parallel_parts(event, event, ...)``: one event for each part of the data."""

    kind: "type[SingleEvent]"
    parts: tuple[EventNode, ...]
    position: TextPosition

    def event(self, substitution: Substitution) -> "SingleEvent":
        """Return the event of all parts; errors show the position in the text."""
        events = tuple(part.event(substitution) for part in self.parts)
        try:
            return self.kind(events)  # type: ignore[call-arg]  # only ParallelParts is of this form
        except DpermError as error:
            raise type(error)(self.position.annotate(str(error))) from None

    def roles(self) -> set[str]:
        """Return the roles of all parts."""
        return set().union(*(part.roles() for part in self.parts))


@dataclass(frozen=True)
class StoredEvent:
    """An event from a JSON file."""

    stored: "Event"

    def event(self, substitution: Substitution) -> "Event":
        """Return the stored event; it has an adjacency of its own."""
        return self.stored

    def roles(self) -> set[str]:
        """Return the empty set: a stored event has no ``?``."""
        return set()


def _value(argument: "float | str | Placeholder | EventNode | RunsCall", substitution: Substitution) -> object:
    if isinstance(argument, Placeholder):
        return argument.filled(substitution)
    if isinstance(argument, RunsCall):
        return argument.runs(substitution)
    return argument if isinstance(argument, float | int | str) else argument.event(substitution)
