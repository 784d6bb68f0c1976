# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""The event that a command line describes: expressions and files, in sequence."""

from pathlib import Path
from typing import TYPE_CHECKING

from dperm.cli.grammar import Filling, Given, Node, Sum
from dperm.errors import EventFormatError, ParameterError

if TYPE_CHECKING:
    from dperm.accounting.event import Event


def filling(adjacency: str, value: float | None = None) -> Filling:
    """What completes the expressions, once the adjacency's name is known to be one."""
    from dperm.privacy.adjacency import Adjacency

    if not adjacency:
        raise ParameterError(
            "--adjacency is missing. Give --adjacency add_remove (one record added or removed; n is private) or "
            "--adjacency replace_one (one record replaced by another; n is public). There is no default: the same "
            "events have another epsilon under each, and a number without its adjacency promises nothing."
        )
    return Filling(Adjacency.of(adjacency).value, value)


def read_subject(texts: list[str] | None, files: list[Path] | None) -> Node:
    """All expressions, then all files, as one expression."""
    from dperm.cli.reading import read_expression

    parts = [*(read_expression(text) for text in texts or ()), *(Given(read_event(file)) for file in files or ())]
    if not parts:
        raise ParameterError('no event is given. Write one, for example "gaussian(1.0) * 10", or use --event-file.')
    return Sum(tuple(parts))


def event_of(subject: Node, filling: Filling) -> "Event":
    """The whole event, if its size is within reason."""
    from dperm.accounting.event import MOST_STEPS

    event = subject.event(filling)
    count = steps(event)
    if not 0 < count <= MOST_STEPS:
        raise ParameterError(f"the events must add up to 1 to {MOST_STEPS} repetitions, got {count}.")
    return event


def steps(event: "Event") -> int:
    """Number of elementary events."""
    return sum(count for _, count in event.singles())


def read_event(file: Path) -> "Event":
    """The event stored in a file."""
    from dperm.accounting.serialize import event_from_json

    try:
        return event_from_json(file.read_text(encoding="utf-8"))
    except RecursionError:
        raise EventFormatError(f"{file}: the stored event is nested too deeply.") from None
    except (EventFormatError, UnicodeDecodeError) as error:
        raise EventFormatError(f"{file}: {error}") from None


def require_free(file: Path | None, force: bool) -> None:
    """Refuse to overwrite a file, before anything is computed."""
    if file is not None and file.exists() and not force:
        raise _taken(file)


def write_event(file: Path, event: "Event", *, force: bool) -> None:
    """Store an event for ``--event-file``; an existing file is overwritten only by ``force``."""
    from dperm.accounting.serialize import event_to_json

    try:
        with file.open("w" if force else "x", encoding="utf-8") as stream:
            stream.write(event_to_json(event) + "\n")
    except FileExistsError:
        raise _taken(file) from None


def _taken(file: Path) -> ParameterError:
    return ParameterError(f"--write-event: {file} exists and is left as it is. Give another name, or add --force.")


def event_data(event: "Event") -> object:
    """The event as JSON-ready data."""
    import json

    from dperm.accounting.serialize import event_to_json

    return json.loads(event_to_json(event))


def typed(event: "Event", adjacency: str) -> str | None:
    """The event in the grammar of the command line, if that reads back as the same; None if it does not."""
    from dperm.accounting.spelling import in_grammar
    from dperm.errors import DpermError

    text = in_grammar(event, adjacency)
    try:
        return (
            text if event_data(event_of(read_subject([text], None), filling(adjacency))) == event_data(event) else None
        )
    except DpermError:
        return None
