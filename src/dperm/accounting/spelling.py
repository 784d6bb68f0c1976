# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Events as short text, in the grammar of the command line: ``poisson(gaussian(1), rate=0.01) * 1000``."""

import json
from collections.abc import Mapping
from typing import Any

from dperm.accounting.event import Event
from dperm.accounting.serialize import event_to_json


def in_grammar(event: Event, adjacency: str = "") -> str:
    """Return the event as text; guarantees declared under ``adjacency`` omit the adjacency."""
    return spelled(json.loads(event_to_json(event)), adjacency)


def spelled(event: Mapping[str, Any], adjacency: str) -> str:
    """Return a stored event (JSON data) as text, with its type and parameters."""
    match event:
        case {"type": "composed", "events": [*parts]}:
            return " + ".join(spelled(part, adjacency) for part in parts)
        case {"type": "repeated", "event": inner, "count": count}:
            part = spelled(inner, adjacency)
            return f"({part}) * {count}" if inner.get("type") == "composed" else f"{part} * {count}"
        case {"type": "parallel_parts", "events": [*parts]}:
            return f"parallel_parts({', '.join(spelled(part, adjacency) for part in parts)})"
        case {"type": "best_of", "event": inner, "runs": runs}:
            return f"best_of({spelled(inner, adjacency)}, {_runs(runs)})"
    names = [name for name in event if name not in ("type", "event", "dperm_event")]
    numbers = [name for name in names if name != "adjacency" or event[name] != adjacency]
    inner = [spelled(event["event"], adjacency)] if "event" in event else []
    texts = [_argument(name, event[name], bare=not inner and name == names[0]) for name in numbers]
    return f"{event.get('type', '?')}({', '.join(inner + texts)})"


def _runs(runs: Mapping[str, Any]) -> str:
    numbers = {name: value for name, value in runs.items() if name != "law"}
    texts = [_argument(name, value, bare=len(numbers) == 1) for name, value in numbers.items()]
    return f"{runs['law']}({', '.join(texts)})"


def _argument(name: str, value: object, *, bare: bool) -> str:
    text = str(value).lower() if isinstance(value, bool) else str(value).removesuffix(".0")
    return text if bare else f"{name}={text}"
