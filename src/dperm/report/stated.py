# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""What the run knows and what the user states, side by side; and the gaps that are left.

A value is plain data; or "not stated", a gap; or, in the fields of ``BESIDE``, a mapping with the keys "known" (by the
run) and "stated" (by the user, or "not stated", a gap too).
"""

import re
from collections.abc import Mapping
from types import NoneType

from dperm.checks import shown
from dperm.errors import ParameterError
from dperm.report import fields as words

KNOWN, STATED = "known", "stated"
DOMAIN = "data_domain"
_OPEN_TASKS = (
    "todo",
    "to do",
    "tbd",
    "tba",
    "t b d",
    "fixme",
    "xxx",
    "fill in",
    "fill me in",
    "to be determined",
    "not stated",
)
"""First words of a text that is still to be written."""
_PLACEHOLDERS = ("n a", "na", "unknown", "pending", words.NOT_STATED)
"""Texts that state nothing; upper case and punctuation do not matter."""


def assembled(known: Mapping[str, object]) -> dict[str, object]:
    """All fields in their order, from what is known of the run; the rest is "not stated"."""
    return {name: _beginning(name, known) for name in words.FIELDS}


def with_stated(fields: Mapping[str, object], stated: object) -> dict[str, object]:
    """``fields`` with what the user states.

    Raises
    ------
    ParameterError
        If ``stated`` names a field that does not exist, or one that follows from the release.
    """
    return {**fields, **{name: _merged(name, fields[name], value) for name, value in _checked(stated).items()}}


def with_declared(fields: Mapping[str, object], declared: object) -> dict[str, object]:
    """``fields`` with what a schema declares of the columns, beside what else is known of the domain of the data."""
    if declared is None:
        return dict(fields)
    found = fields[DOMAIN]
    known, stated = known_part(DOMAIN, found), stated_part(DOMAIN, found)
    before = known if isinstance(known, Mapping) else {}
    return {**fields, DOMAIN: {KNOWN: {**before, words.DECLARED: declared}, STATED: stated}}


def is_pair(name: str, value: object) -> bool:
    """Whether a value says who knows what."""
    return name in words.BESIDE and isinstance(value, Mapping) and bool(value) and set(value) <= {KNOWN, STATED}


def known_part(name: str, value: object) -> object:
    """What the run knows; None if it knows nothing."""
    if is_pair(name, value):
        return value.get(KNOWN)  # type: ignore[attr-defined]  # a pair is a mapping
    return None if value == words.NOT_STATED else value


def stated_part(name: str, value: object) -> object:
    """What the user says in a field that is not the run's alone; "not stated" is a gap, None if there is no need."""
    if is_pair(name, value):
        return value.get(STATED)  # type: ignore[attr-defined]  # a pair is a mapping
    return words.NOT_STATED if value == words.NOT_STATED else None


def gaps_of(fields: Mapping[str, object]) -> tuple[str, ...]:
    """The names of the fields in which something is left for the user to state."""
    return tuple(name for name, value in fields.items() if stated_part(name, value) == words.NOT_STATED)


def required_gaps(fields: Mapping[str, object]) -> tuple[str, ...]:
    """Names of the required fields that the user has not stated; a fact of the run does not replace a statement."""
    return tuple(name for name in words.REQUIRED if not _is_stated(name, fields[name]))


def _is_stated(name: str, value: object) -> bool:
    stated = stated_part(name, value) if name in words.BESIDE else value
    return not _says_nothing(name, stated)


def _says_nothing(name: str, value: object) -> bool:
    """Return whether a value is blank; in a required field, also whether a part of it is a placeholder such as "TODO".

    Every part of a list or mapping counts. Booleans and 0 state nothing in a required field.
    """
    if name not in words.REQUIRED:
        return value is None or value == words.NOT_STATED or (isinstance(value, str) and not value.strip())
    if isinstance(value, Mapping):
        return not value or any(_says_nothing(name, part) for part in value.values())
    if isinstance(value, list | tuple):
        return not value or any(_says_nothing(name, part) for part in value)
    if isinstance(value, bool | NoneType):
        return True
    if not isinstance(value, str):
        return not value
    text = " ".join(re.findall(r"\w+", value.casefold()))  # letters and digits alone: marks and spaces state nothing
    is_open = any(f"{text} ".startswith(f"{task} ") for task in _OPEN_TASKS)
    refuses = text == words.NONE and name not in words.NONE_IS_AN_ANSWER
    return not text.strip("_ ") or text in _PLACEHOLDERS or is_open or refuses


def _beginning(name: str, known: Mapping[str, object]) -> object:
    if name not in known:
        return words.NOT_STATED
    return {KNOWN: known[name], STATED: words.NOT_STATED} if name in words.PARTLY_KNOWN else known[name]


def _merged(name: str, found: object, stated: object) -> object:
    """The user's words: alone in the user's own fields, else beside what is known; placeholders state nothing."""
    stated = words.NOT_STATED if _says_nothing(name, stated) else stated
    if name not in words.BESIDE:
        return stated
    known = known_part(name, found)
    return {STATED: stated} if known is None else {KNOWN: known, STATED: stated}


def _checked(fields: object) -> Mapping[str, object]:
    """What the user states, if it is for the user to state."""
    if not isinstance(fields, Mapping):
        raise ParameterError(f'fields must be a mapping, such as {{"curator": "me"}}, got {kind_of(fields)}.')
    wrong = [name for name in fields if name not in words.STATED_BY_THE_USER]
    if wrong:
        found = shown(wrong[0]) if isinstance(wrong[0], str) else kind_of(wrong[0])
        raise ParameterError(
            f"fields may name {', '.join(words.STATED_BY_THE_USER)}; got {found}. The other fields of a statement "
            f"follow from the release."
        )
    return fields


def kind_of(value: object) -> str:
    """The type alone: the value may be private."""
    return f"an object of type {type(value).__name__}"
