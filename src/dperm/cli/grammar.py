# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""The short grammar of events: ``poisson(gaussian(1.0), rate=0.01) * 1000 + pure(0.1)``.

An expression is a tree of calls, repetitions and sums, made by `dperm.cli.reading` from a text that is parsed and
never evaluated. A ``?`` stands for the number that ``dperm calibrate`` looks for; every ``?`` is the same number.
"""

from collections.abc import Mapping
from dataclasses import Field, dataclass, fields
from typing import TYPE_CHECKING, Protocol

from dperm.errors import DpermError, ParameterError

if TYPE_CHECKING:
    from dperm.accounting.event import Event, SingleEvent

COUNT = "count"
_BEFORE, _SHOWN = 50, 100  # of a long text a message repeats only this much, around the place


def parameters(kind: "type[SingleEvent]") -> "tuple[Field[object], ...]":
    """The parameters of an event, in order."""
    return fields(kind)  # type: ignore[arg-type]  # every event is a dataclass


@dataclass(frozen=True)
class Place:
    """A column of the text, for messages."""

    text: str
    column: int

    def pointed(self, message: str) -> str:
        """The message, the text, and a caret under the place."""
        start = max(0, self.column - _BEFORE)
        shown = "".join(c if c.isprintable() else " " for c in self.text[start : start + _SHOWN])
        return f"{message}\n  {shown}\n  {' ' * (self.column - start)}^"

    def error(self, message: str) -> ParameterError:
        """A refusal of what stands here."""
        return ParameterError(self.pointed(message))


@dataclass(frozen=True)
class Filling:
    """What an expression leaves open: the adjacency of declared guarantees, and the number for ``?``."""

    adjacency: str
    value: float | None = None


@dataclass(frozen=True)
class Hole:
    """A ``?``."""

    place: Place

    def filled(self, filling: Filling) -> float:
        """The number that takes its place."""
        if filling.value is None:
            raise self.place.error("a ? is a number to be found by dperm calibrate. Write a number here.")
        return filling.value


class Node(Protocol):
    """A part of an expression that stands for an event."""

    def event(self, filling: Filling) -> "Event":
        """The event."""

    def roles(self) -> set[str]:
        """What the ``?`` inside stand for: names of parameters, or "count"."""


@dataclass(frozen=True)
class Call:
    """``name(arguments)``: one elementary event, its arguments by name."""

    kind: "type[SingleEvent]"
    arguments: "Mapping[str, float | str | Hole | Node]"
    place: Place

    def event(self, filling: Filling) -> "SingleEvent":
        """The event; what it refuses is reported with its place."""
        values: dict[str, object] = {}
        if any(field.name == "adjacency" for field in parameters(self.kind)):
            values["adjacency"] = filling.adjacency
        for name, argument in self.arguments.items():
            values[name] = _value(argument, filling)
        try:
            return self.kind(**values)
        except DpermError as error:
            raise type(error)(self.place.pointed(f"{error}{self._advice()}")) from None

    def _advice(self) -> str:
        rate = self.arguments.get("rate")
        batch = isinstance(rate, float | int) and rate > 1
        return " If this is a batch size, divide the batch size by n: rate=256/60000." if batch else ""

    def roles(self) -> set[str]:
        """Its own, and those of a sampled event."""
        own = {name for name, argument in self.arguments.items() if isinstance(argument, Hole)}
        nested = (argument.roles() for argument in self.arguments.values() if isinstance(argument, Call))
        return own.union(*nested)


@dataclass(frozen=True)
class Repeat:
    """``part * count``."""

    part: Node
    count: int | Hole
    place: Place

    def event(self, filling: Filling) -> "Event":
        """The repeated event; a number found for the count is rounded down."""
        count = int(self.count.filled(filling)) if isinstance(self.count, Hole) else self.count
        part = self.part.event(filling)
        try:
            return part * count
        except DpermError as error:
            raise type(error)(self.place.pointed(str(error))) from None

    def roles(self) -> set[str]:
        """A count, if it is open, and the part's."""
        return self.part.roles() | ({COUNT} if isinstance(self.count, Hole) else set())


@dataclass(frozen=True)
class Sum:
    """``part + part + ...``, and the several events of one command line."""

    parts: tuple[Node, ...]

    def event(self, filling: Filling) -> "Event":
        """All parts, in sequence."""
        first, *others = (part.event(filling) for part in self.parts)
        total: Event = first
        for other in others:
            total = total + other
        return total

    def roles(self) -> set[str]:
        """Those of all parts."""
        return set().union(*(part.roles() for part in self.parts))


@dataclass(frozen=True)
class Given:
    """An event that was read from a file."""

    given: "Event"

    def event(self, filling: Filling) -> "Event":
        """The event as it was stored; it carries its own adjacency."""
        return self.given

    def roles(self) -> set[str]:
        """None."""
        return set()


def _value(argument: "float | str | Hole | Node", filling: Filling) -> object:
    if isinstance(argument, Hole):
        return argument.filled(filling)
    return argument if isinstance(argument, float | int | str) else argument.event(filling)
