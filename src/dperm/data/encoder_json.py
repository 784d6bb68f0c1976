# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Declared columns as JSON and back. The format is versioned; a reader refuses what it does not know."""

import json
from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from dperm.checks import shortened, shown
from dperm.data.columns import AnyColumn, Categorical, Numeric
from dperm.errors import ParameterError

VERSION = 1
_KINDS: dict[str, type[AnyColumn]] = {"numeric": Numeric, "categorical": Categorical}
_TEXT = "text must be what PublicEncoder.to_json wrote"


def to_json(columns: Mapping[str, AnyColumn]) -> str:
    """One line of standard JSON: a list, since the order of the columns is that of the features."""
    written = [_encoded(name, column) for name, column in columns.items()]
    return json.dumps({"dperm_encoder": VERSION, "columns": written}, allow_nan=False)


def from_json(text: str) -> dict[str, AnyColumn]:
    """The columns that `to_json` wrote, unchecked.

    Raises
    ------
    ParameterError
        If the text is something else, or of a version that is not known here.
    """
    try:
        data = json.loads(text, object_pairs_hook=_unique)
    except (ValueError, TypeError, RecursionError) as error:
        raise ParameterError(f"{_TEXT}, and it is not JSON: {shortened(str(error))}.") from None
    found = data.get("dperm_encoder") if isinstance(data, dict) else None
    if type(found) is not int or found != VERSION:
        raise ParameterError(f'{_TEXT}, with "dperm_encoder": {VERSION}, got {shown(found)}. Upgrade dperm.')
    listed = data.get("columns")
    if set(data) != {"dperm_encoder", "columns"} or not isinstance(listed, list):
        raise ParameterError(f'{_TEXT}, with a list of "columns" and nothing else.')
    return _unique([_decoded(column) for column in listed])


def _encoded(name: str, column: AnyColumn) -> dict[str, object]:
    kind = next(kind for kind, known in _KINDS.items() if isinstance(column, known))
    return {"name": name, "type": kind} | {item.name: getattr(column, item.name) for item in fields(column)}


def _decoded(data: object) -> tuple[str, AnyColumn]:
    given = dict(data) if isinstance(data, dict) else {}
    name, kind = given.pop("name", None), given.pop("type", None)
    if not isinstance(name, str) or not isinstance(kind, str) or kind not in _KINDS:
        raise ParameterError(f'{_TEXT}: each column has a "name", and a "type" that is one of {", ".join(_KINDS)}.')
    expected = {item.name for item in fields(_KINDS[kind])}
    if set(given) != expected:
        raise ParameterError(f"{_TEXT}: the {kind} column {shown(name)} has the fields {', '.join(sorted(expected))}.")
    return name, _KINDS[kind](**given)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A dictionary whose keys are all different: the last one winning would be a guess."""
    data = dict(pairs)
    if len(data) < len(pairs):
        raise ParameterError(f"{_TEXT}, and names something twice.")
    return data
