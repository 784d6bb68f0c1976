# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Values of fields: facts of the run, statements of the user, and gaps.

A value is plain data, or "not stated" for a gap. In the fields of `dperm.report.fields.BESIDE` it is a mapping with the
keys "known" (facts of the run) and "stated" (text of the user, or "not stated").
"""

import re
import unicodedata
from collections.abc import Mapping
from types import NoneType
from typing import Any

from dperm.checks import shown
from dperm.errors import ParameterError
from dperm.report import fields as names

KNOWN, STATED = "known", "stated"
DOMAIN, UTILITY = "data_domain", "utility"
_OPEN_TASKS = (
    *("todo", "to do", "tbd", "tba", "fixme", "xxx", "fill in", "fill me in", "to be determined"),
    names.NOT_STATED,
)
"""First words of a text that is still to be written."""
_NEGATIONS = (names.NONE, "nil")
"""Texts that are an answer in the fields of `dperm.report.fields.NONE_IS_AN_ANSWER`, and placeholders in the others."""
_PLACEHOLDERS = (
    *("not applicable", "not available", "not known", "not yet known", "none yet", "nothing yet"),
    *("na", "unknown", "pending", *_NEGATIONS),
)
"""Texts that state nothing; upper case and punctuation do not matter."""
_LEADING_PLACEHOLDERS = re.compile(f"^(?:(?:{'|'.join(_PLACEHOLDERS)})(?: |$))+")


def initial_fields(known: Mapping[str, object]) -> dict[str, object]:
    """Return all fields in their order, filled with the facts of a run; the others are "not stated"."""
    return {name: _initial_value(name, known) for name in names.FIELDS}


def with_stated(fields: Mapping[str, object], stated: object) -> dict[str, object]:
    """Return ``fields`` with the statements of the user.

    Raises
    ------
    ParameterError
        If ``stated`` names an unknown field, or one that follows from the release.
    """
    return {**fields, **{name: _merged(name, fields[name], value) for name, value in _checked(stated).items()}}


def with_declared(fields: Mapping[str, object], declared: object) -> dict[str, object]:
    """Return ``fields`` with the declared schema of the columns among the known facts of the data domain."""
    if declared is None:
        return dict(fields)
    value = fields[DOMAIN]
    known, stated = known_part(DOMAIN, value), stated_part(DOMAIN, value)
    before = known if isinstance(known, Mapping) else {}
    return {**fields, DOMAIN: {KNOWN: {**before, names.DECLARED: declared}, STATED: stated}}


def is_pair(name: str, value: object) -> bool:
    """Return whether a value keeps known facts and statements of the user apart."""
    return name in names.BESIDE and isinstance(value, Mapping) and bool(value) and set(value) <= {KNOWN, STATED}


def known_part(name: str, value: object) -> object:
    """Return the facts of the run in a value; None if it has none."""
    if is_pair(name, value):
        return value.get(KNOWN)  # type: ignore[attr-defined]  # a pair is a mapping
    return None if value == names.NOT_STATED else value


def stated_part(name: str, value: object) -> object:
    """Return the statement of the user in a value: "not stated" for a gap, None where none is needed."""
    if is_pair(name, value):
        return value.get(STATED)  # type: ignore[attr-defined]  # a pair is a mapping
    return names.NOT_STATED if value == names.NOT_STATED else None


def receipt_of(fields: Mapping[str, object]) -> Mapping[str, Any]:
    """Return the receipt of the charged budget; an empty mapping if no budget was charged."""
    return as_mapping(known_part("ledger_entry", fields["ledger_entry"]))


def as_mapping(value: object) -> Mapping[str, Any]:
    """Return the value if it is a mapping, otherwise an empty mapping."""
    return value if isinstance(value, Mapping) else {}


def uncovered_parts(fields: Mapping[str, object]) -> tuple[str, ...]:
    """Return the sentences about preparation and scores that the guarantee does not cover; empty for most fits."""
    limits = fields["limits"] if isinstance(fields["limits"], list | tuple) else ()
    return tuple(str(line) for line in limits if str(line).startswith(names.UNCOVERED))


def uncovered_scores_alone(fields: Mapping[str, object]) -> bool:
    """Return whether only scores on the private data are not covered, and the preparation of the data is."""
    parts = uncovered_parts(fields)
    return bool(parts) and all(part.startswith(names.UNCOVERED_SCORES) for part in parts)


def gaps_of(fields: Mapping[str, object]) -> tuple[str, ...]:
    """Return the names of the fields with a gap."""
    return tuple(name for name, value in fields.items() if stated_part(name, value) == names.NOT_STATED)


def required_gaps(fields: Mapping[str, object]) -> tuple[str, ...]:
    """Return the names of the required fields without a statement of the user; facts of the run do not replace it."""
    return tuple(name for name in names.REQUIRED if not _is_stated(name, fields[name]))


def _is_stated(name: str, value: object) -> bool:
    stated = stated_part(name, value) if name in names.BESIDE else value
    return not _is_blank(name, stated)


def _is_blank(name: str, value: object) -> bool:
    """Return whether a value is blank; in a required field, also whether a part of it is a placeholder such as "TODO".

    Every part of a list or mapping counts. Booleans and 0 state nothing in a required field.
    """
    if name not in names.REQUIRED:
        return value is None or value == names.NOT_STATED or (isinstance(value, str) and not value.strip())
    if isinstance(value, Mapping):
        return not value or any(_is_blank(name, part) for part in value.values())
    if isinstance(value, list | tuple):
        return not value or any(_is_blank(name, part) for part in value)
    if isinstance(value, bool | NoneType):
        return True
    if not isinstance(value, str):
        return not value
    return _is_placeholder(value) and not (name in names.NONE_IS_AN_ANSWER and _words(value) in _NEGATIONS)


def _is_placeholder(value: str) -> bool:
    """Return whether a text has no letter or digit, consists of placeholders, or is an open task ("TODO: ask")."""
    rest = _LEADING_PLACEHOLDERS.sub("", _words(value))
    return not rest.strip("_ ") or any(f"{rest} ".startswith(f"{task} ") for task in _OPEN_TASKS)


def _words(value: str) -> str:
    """Return the words of a text in lower case without punctuation; single letters are joined, so N/A becomes na."""
    text = " ".join(re.findall(r"\w+", unicodedata.normalize("NFKC", value).casefold()))
    return re.sub(r"\b(\w) (?=\w\b)", r"\1", text)


def _initial_value(name: str, known: Mapping[str, object]) -> object:
    if name not in known:
        return names.NOT_STATED
    return {KNOWN: known[name], STATED: names.NOT_STATED} if name in names.PARTLY_KNOWN else known[name]


def _merged(name: str, value: object, stated: object) -> object:
    """Return the user's text, beside the known facts where there are any; placeholders count as "not stated"."""
    stated = names.NOT_STATED if _is_blank(name, stated) else stated
    if name not in names.BESIDE or (name == UTILITY and not is_pair(name, value)):
        return stated  # a measured utility is a mapping of its own
    known = known_part(name, value)
    return {STATED: stated} if known is None else {KNOWN: known, STATED: stated}


def _checked(fields: object) -> Mapping[str, object]:
    if not isinstance(fields, Mapping):
        raise ParameterError(
            argument="fields", rule='must be a mapping, such as {"curator": "me"}', got=type_name(fields)
        )
    wrong = [name for name in fields if name not in names.STATED_BY_THE_USER]
    if wrong:
        raise ParameterError(
            argument="fields",
            rule=f"may name {', '.join(names.STATED_BY_THE_USER)}",
            got=shown(wrong[0]) if isinstance(wrong[0], str) else type_name(wrong[0]),
            remedy="The other fields of a statement follow from the release.",
        )
    return fields


def type_name(value: object) -> str:
    """Return the type of a value, which may be private, for an error message."""
    return f"an object of type {type(value).__name__}"
