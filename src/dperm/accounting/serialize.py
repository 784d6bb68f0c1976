# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Conversion of events to and from JSON. The format is versioned; readers refuse unknown content and never guess."""

import json
from collections.abc import Mapping
from typing import cast

from dperm.accounting.best_of import BestOf
from dperm.accounting.bounded_range import BoundedRange
from dperm.accounting.event import Composed, Event, Json, Repeated, SingleEvent
from dperm.accounting.events import Approximate, Gaussian, Laplace, Pure, RandomizedResponse
from dperm.accounting.objective import PerturbedObjective
from dperm.accounting.parallel import ParallelParts
from dperm.accounting.replace_only import ReplaceOneOnly
from dperm.accounting.runs import runs_from_fields
from dperm.accounting.sampled import Poisson, WithoutReplacement
from dperm.accounting.softmax import PerturbedSoftmax
from dperm.accounting.thresholded import ThresholdedValues
from dperm.checks import shown
from dperm.errors import DpermError, EventFormatError, ParameterError

VERSION = 1
_PLAIN: dict[str, type[SingleEvent]] = {
    e.kind: e
    for e in (
        Gaussian,
        Laplace,
        Pure,
        Approximate,
        RandomizedResponse,
        PerturbedObjective,
        PerturbedSoftmax,
        BoundedRange,
        ThresholdedValues,
    )
}
_Nesting = Poisson | WithoutReplacement | ReplaceOneOnly | BestOf
"""Elementary events that wrap another event."""
_NESTING: dict[str, type[_Nesting]] = {e.kind: e for e in (Poisson, WithoutReplacement, ReplaceOneOnly, BestOf)}


def event_to_json(event: Event) -> str:
    """Return the event as one line of standard JSON, which contains no NaN and no Infinity.

    Parameters
    ----------
    event
        Event to store.

    Returns
    -------
    str
        JSON text that includes a format version.

    Raises
    ------
    ParameterError
        If ``event`` is not an event.
    """
    if not isinstance(event, Event):
        raise ParameterError(f"event must be an event such as Gaussian(1.0) * 10, got {shown(event)}.")
    return json.dumps({"dperm_event": VERSION, **_encode(event)}, allow_nan=False)


def event_from_json(text: str) -> Event:
    """Return the event that is stored in a JSON text.

    Parameters
    ----------
    text
        JSON text written by `event_to_json`, or the record of a release written by `Record.to_json`.

    Returns
    -------
    Event
        The event.

    Raises
    ------
    EventFormatError
        If the text is not JSON, has an unsupported format version, or does not contain a valid event.

    Examples
    --------
    >>> from dperm.accounting import Gaussian, event_from_json, event_to_json
    >>> event_from_json(event_to_json(Gaussian(1.0) * 3)) == Gaussian(1.0) * 3
    True
    """
    try:
        data = json.loads(text, object_pairs_hook=_unique)
        if isinstance(data, dict) and isinstance(data.get("event"), dict) and "guarantee" in data:
            data = data["event"]  # a record
        found = data.pop("dperm_event", None) if isinstance(data, dict) else None
        if type(found) is not int or found != VERSION:
            raise EventFormatError(
                f'an event has "dperm_event": {VERSION}, got {shown(found)}. Read it with the version that wrote it.'
            )
        return _decode(data)
    except EventFormatError:
        raise
    except (ValueError, TypeError, RecursionError) as error:
        raise EventFormatError(f"an event is stored as JSON, and this is not JSON: {error}.") from None


def _unique(pairs: list[tuple[str, object]]) -> Json:
    """Return the object as a dict; raise EventFormatError for duplicate keys instead of guessing."""
    data = dict(pairs)
    if len(data) < len(pairs):
        raise EventFormatError("a stored event names the same field twice.")
    return data


def _encode(event: Event) -> Json:
    if isinstance(event, Repeated):
        return {"type": "repeated", "count": event.count, "event": _encode(event.event)}
    if isinstance(event, Composed):
        return {"type": "composed", "events": [_encode(part) for part in event.events]}
    if isinstance(event, ParallelParts):
        return {"type": event.kind, "events": [_encode(part) for part in event.events]}
    single = cast(SingleEvent, event)
    inner = {"event": _encode(single.event)} if isinstance(single, _Nesting) else {}
    return {"type": single.kind, **single.fields(), **inner}


def _decode(data: object) -> Event:
    if not isinstance(data, Mapping):
        raise EventFormatError(f'an event is an object with a "type", got {shown(data)}.')
    fields = {key: value for key, value in data.items() if key != "type"}
    kind = data.get("type")
    try:
        return _make(kind, fields)
    except (TypeError, KeyError) as error:
        raise EventFormatError(f"the stored {kind!r} event has missing or unknown fields: {error}.") from None
    except EventFormatError:
        raise
    except DpermError as error:
        raise EventFormatError(f"the stored {kind!r} event is not valid: {error}") from None


def _make(kind: object, fields: Json) -> Event:
    if kind == "repeated":
        return Repeated(_decode(fields.pop("event")), **fields)  # type: ignore[arg-type]
    if kind == "composed":
        return Composed(tuple(_decode(part) for part in _parts(**fields)))
    if kind == ParallelParts.kind:
        return ParallelParts(tuple(_decode(part) for part in _parts(**fields)))
    if kind == BestOf.kind and isinstance(fields.get("runs"), Mapping):
        fields["runs"] = runs_from_fields(cast(Mapping[str, object], fields["runs"]))
    if isinstance(kind, str) and kind in _NESTING:
        return _NESTING[kind](_decode(fields.pop("event")), **fields)  # type: ignore[arg-type]
    if isinstance(kind, str) and kind in _PLAIN:
        return _PLAIN[kind](**fields)
    known = ", ".join(sorted([*_PLAIN, *_NESTING, "repeated", "composed", ParallelParts.kind]))
    raise EventFormatError(f"unknown event type {kind!r}; this version knows {known}.")


def _parts(events: object) -> list[object]:
    """Return the list of a "composed" event; raise EventFormatError if it is not a non-empty list."""
    if not isinstance(events, list) or not events:
        raise EventFormatError(f'a stored composition has a list of "events", at least one, got {shown(events)}.')
    return events
