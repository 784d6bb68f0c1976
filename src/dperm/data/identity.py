# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Equality of the values that name a person, a class or a category.

A guarantee for a person covers all records with that person's key. It is only as good as the rule for equal keys, so
the rule is written down here and used everywhere:

- Numbers of different types are equal if Python calls them equal: ``1``, ``True``, ``np.int64(1)`` and ``IntEnum(1)``,
  or ``0.0`` and ``-0.0``. NaN names nothing.
- Text of different types is equal if its characters are: ``"a"``, ``np.str_("a")`` and a ``StrEnum`` with that value.
- Text in different Unicode normal forms looks the same and is the same person or category. Among class labels and
  names, which come back to the user, such pairs are refused instead.
- Text, numbers and bytes are different kinds, never equal, and are not mixed.
"""

import unicodedata
from collections.abc import Iterable, Mapping, Set
from enum import Enum
from functools import lru_cache
from typing import Any

import numpy as np

from dperm.errors import DataError

Key = int | str | bytes | tuple["Key", ...]


def same_text(text: str) -> str:
    """``text`` as a plain string in Unicode normal form C: equal for all spellings of the same characters."""
    plain = str.__str__(text)
    return plain if plain.isascii() else unicodedata.normalize("NFC", plain)


def plain_label(label: object) -> object:
    """``label`` as a plain string or number where it is one; 0.0 for -0.0. Anything else stays as it is."""
    if isinstance(label, str):
        return str.__str__(label)
    plain = label.item() if isinstance(label, np.generic) else label
    return 0.0 if isinstance(plain, float) and plain == 0 else plain


def ambiguous(labels: Iterable[object]) -> bool:
    """Whether two of these plain labels are equal, or are the same text in different Unicode normal forms.

    Text that ends with NUL counts as the text without it, because numpy cuts it off.
    """
    listed = list(labels)
    return len({same_text(label).rstrip("\0") if isinstance(label, str) else label for label in listed}) < len(listed)


class KeyRule(Enum):
    """Rules for keys of persons, as sentences for the holder of the data; they name no value, row or count."""

    SEQUENCE = "The keys must be a one-dimensional sequence, such as a list, an array or a column of a table."
    MISSING = "A key is missing (None, NaN, NaT or empty text). Give every record a key, or leave the record out."
    FLOATS = "The keys must not be floats, which have no safe rule for equality. Convert them to integers or text."
    KIND = "A key is of another type than integer, text, bytes or tuple of these. Convert the keys to text."
    MIXED = "The keys must all be of one kind: all integers, all text, all bytes, or tuples of one form."


def person_keys(keys: object) -> list[Key]:
    """The keys in canonical form: two are equal if and only if they name the same person.

    Keys are whole numbers, text or bytes, or tuples of them, all of one kind. Others could split the records of one
    person, or join those of two.

    Raises
    ------
    DataError
        With the `KeyRule` that is broken, if a key is something else (a float, a date, something missing, an object
        with an equality of its own), if kinds are mixed, or if ``keys`` is not a one-dimensional sequence.
    """
    found = [_canonical(key) for key in _listed(keys)]
    broken = _first_broken(found)
    if broken is None and len({_kind(key) for key in found}) > 1:
        broken = KeyRule.MIXED
    if broken is not None:
        raise DataError(broken.value)
    return found  # type: ignore[return-value]  # no rule is in it


def _listed(keys: Any) -> list[Any]:
    """The items of a one-dimensional sequence; refused: containers without an order or without items of their own."""
    if isinstance(keys, str | bytes | Mapping | Set) or not isinstance(keys, Iterable) or getattr(keys, "ndim", 1) != 1:
        raise DataError(KeyRule.SEQUENCE.value)
    if np.ma.is_masked(keys):
        raise DataError(KeyRule.MISSING.value)
    if isinstance(keys, np.ndarray) and keys.dtype.kind not in "biufSUO":  # a missing date would become a number
        raise DataError((KeyRule.MISSING if any(map(_is_missing, keys)) else KeyRule.KIND).value)
    read = next((getattr(keys, name) for name in ("tolist", "to_pylist") if hasattr(keys, name)), None)
    return list(keys) if read is None else read()


def _canonical(key: Any) -> Key | KeyRule:
    """A plain integer, text in normal form C, bytes, or a tuple of them; the broken rule for anything else."""
    if _is_missing(key):
        return KeyRule.MISSING
    if isinstance(key, tuple):
        parts = tuple(_canonical(part) for part in tuple.__iter__(key))
        broken = _first_broken(parts)
        if broken is not None:
            return broken
        return parts if _has_plain_equality(type(key)) else KeyRule.KIND  # type: ignore[return-value]  # no rule is in it
    if isinstance(key, float | np.floating):
        return KeyRule.FLOATS
    kind: Any = type(key)
    if not isinstance(key, int | str | bytes | np.integer | np.bool_) or not _has_plain_equality(kind):
        return KeyRule.KIND
    if isinstance(key, str):
        return same_text(key)
    if isinstance(key, bytes):
        return bytes.__getitem__(key, slice(None))
    return int.__index__(key if isinstance(key, int) else np.generic.item(key))  # not the methods of a derived type


def _is_missing(key: Any) -> bool:
    """Whether ``key`` is empty text, or a missing value of Python, numpy or pandas."""
    if isinstance(key, str | bytes):
        return len(key) == 0
    if isinstance(key, np.datetime64 | np.timedelta64):
        return bool(np.isnat(key))
    if isinstance(key, float | np.floating):
        return bool(np.isnan(key))
    return key is None or type(key).__name__ in ("NAType", "NaTType")


def _first_broken(found: Iterable[Key | KeyRule]) -> KeyRule | None:
    """The first broken rule in the order of `KeyRule`, whatever the order of the keys; None if all are kept."""
    broken = {one for one in found if isinstance(one, KeyRule)}
    return next((rule for rule in KeyRule if rule in broken), None)


@lru_cache(maxsize=256)
def _has_plain_equality(kind: type) -> bool:
    """Whether ``kind`` compares its values as the built-in or numpy type that it derives from."""
    base = next(one for one in kind.__mro__ if one.__module__ in ("builtins", "numpy"))
    return kind.__eq__ is base.__eq__ and kind.__hash__ is base.__hash__


def _kind(key: Key | KeyRule) -> object:
    return tuple(_kind(part) for part in key) if isinstance(key, tuple) else type(key)
