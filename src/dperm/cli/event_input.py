# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Events of a command line: expressions and files, composed in sequence."""

from pathlib import Path
from typing import TYPE_CHECKING

from dperm.cli.event_grammar import EventNode, EventSum, StoredEvent, Substitution
from dperm.errors import EventFormatError, ParameterError

if TYPE_CHECKING:
    from dperm.accounting.event import Event


def substitution(adjacency: str, value: float | None = None) -> Substitution:
    """Return the values for the open parts of expressions; refuses an unknown adjacency."""
    from dperm.privacy.adjacency import Adjacency

    if not adjacency:
        raise ParameterError(
            "--adjacency is missing. Give --adjacency add_remove (one record added or removed; n is private) or "
            "--adjacency replace_one (one record replaced by another; n is public). There is no default: epsilon "
            "depends on the adjacency, and a number without it promises nothing."
        )
    return Substitution(Adjacency.of(adjacency).value, value)


def read_events(texts: list[str] | None, files: list[Path] | None) -> EventNode:
    """Return all expressions, then all files, as one expression."""
    from dperm.cli.event_parser import read_expression

    parts = [*(read_expression(text) for text in texts or ()), *(StoredEvent(read_event(file)) for file in files or ())]
    if not parts:
        raise ParameterError('an event is missing. Write one, such as "gaussian(1.0) * 10", or use --event-file.')
    return EventSum(tuple(parts))


def event_of(expression: EventNode, substitution: Substitution) -> "Event":
    """Return the event of an expression, if its number of repetitions is within the limit."""
    from dperm.accounting.event import MOST_STEPS

    event = expression.event(substitution)
    count = steps(event)
    if not 0 < count <= MOST_STEPS:
        raise ParameterError(f"the events must add up to 1 to {MOST_STEPS} repetitions, got {count}.")
    return event


def steps(event: "Event") -> int:
    """Return the number of elementary events."""
    return sum(count for _, count in event.singles())


def read_event(file: Path) -> "Event":
    """Read an event from a JSON file."""
    from dperm.accounting.serialize import event_from_json

    try:
        return event_from_json(file.read_text(encoding="utf-8"))
    except RecursionError:
        raise EventFormatError(f"{file}: the stored event is nested too deeply.") from None
    except (EventFormatError, UnicodeDecodeError) as error:
        raise EventFormatError(f"{file}: {error}") from None


def require_free(file: Path | None, force: bool) -> None:
    """Refuse to overwrite an existing file without ``force``."""
    if file is not None and file.exists() and not force:
        raise _taken(file)


def write_event(file: Path, event: "Event", *, force: bool) -> None:
    """Store an event for ``--event-file``; an existing file is overwritten only with ``force``."""
    from dperm.accounting.serialize import event_to_json

    try:
        with file.open("w" if force else "x", encoding="utf-8") as stream:
            stream.write(event_to_json(event) + "\n")
    except FileExistsError:
        raise _taken(file) from None


def _taken(file: Path) -> ParameterError:
    return ParameterError(f"--write-event: {file} exists and was not changed. Give another name, or add --force.")


def event_data(event: "Event") -> object:
    """Return the event as JSON-serialisable data."""
    import json

    from dperm.accounting.serialize import event_to_json

    return json.loads(event_to_json(event))


def event_text(event: "Event", adjacency: str) -> str | None:
    """Return the event in the grammar of the command line; None if it does not read back as the same event."""
    from dperm.accounting.spelling import in_grammar
    from dperm.errors import DpermError

    text = in_grammar(event, adjacency)
    try:
        return (
            text
            if event_data(event_of(read_events([text], None), substitution(adjacency))) == event_data(event)
            else None
        )
    except DpermError:
        return None
