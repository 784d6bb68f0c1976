# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Equality of the values that name a person, a class or a category.

A guarantee for a person covers all records with that person's key. It depends on the rule for equal keys, so there is
one rule for all of dperm:

- Numbers of different types are equal if Python's ``==`` holds: ``1``, ``True``, ``np.int64(1)`` and ``IntEnum(1)``, or
  ``0.0`` and ``-0.0``. NaN is not a label.
- Text of different types is equal if its characters are: ``"a"``, ``np.str_("a")`` and a ``StrEnum`` with that value.
- Text in different Unicode normal forms looks the same and names the same person or category. Class labels and names
  are returned to the user, so such pairs are refused there.
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
    """Return ``text`` as a plain string in Unicode normal form C, equal for all spellings of the same characters."""
    plain = str.__str__(text)
    return plain if plain.isascii() else unicodedata.normalize("NFC", plain)


def plain_label(label: object) -> object:
    """Return text and numbers as plain Python objects, with 0.0 for -0.0, and anything else unchanged."""
    if isinstance(label, str):
        return str.__str__(label)
    plain = label.item() if isinstance(label, np.generic) else label
    return 0.0 if isinstance(plain, float) and plain == 0 else plain


def ambiguous(labels: Iterable[object]) -> bool:
    """Whether two of these plain labels are equal, or are the same text in different Unicode normal forms.

    Trailing NUL characters are ignored, because numpy removes them.
    """
    listed = list(labels)
    return len({same_text(label).rstrip("\0") if isinstance(label, str) else label for label in listed}) < len(listed)


class KeyRule(Enum):
    """Rules for keys of persons, as error messages without any value, row or count."""

    SEQUENCE = "The keys must be a one-dimensional sequence, such as a list, an array or a column of a table."
    MISSING = "A key is missing (None, NaN, NaT or empty text). Give every record a key, or leave the record out."
    FLOATS = "The keys must not be floats, which have no safe rule for equality. Convert them to integers or text."
    KIND = "A key is of another type than integer, text, bytes or tuple of these. Convert the keys to text."
    MIXED = "The keys must all be of one kind: all integers, all text, all bytes, or tuples of one form."


def person_keys(keys: object) -> list[Key]:
    """Return the keys in canonical form: two are equal if and only if they name the same person.

    Parameters
    ----------
    keys
        One-dimensional sequence of whole numbers, text, bytes, or tuples of them, all of one kind. Keys of other types
        could split the records of one person, or join those of two.

    Raises
    ------
    DataError
        If a key is of any other type (a float, a date, a missing value, an object with its own equality), if kinds are
        mixed, or if ``keys`` is not one-dimensional. The message is the broken `KeyRule`.
    """
    found = [_canonical(key) for key in _listed(keys)]
    broken = _first_broken(found)
    if broken is None and len({_kind(key) for key in found}) > 1:
        broken = KeyRule.MIXED
    if broken is not None:
        raise DataError(broken.value)
    return found  # type: ignore[return-value]  # no rule is in it


def _listed(keys: Any) -> list[Any]:
    """Return the items of a one-dimensional sequence; raise DataError for text, mappings, sets and masked keys."""
    if isinstance(keys, str | bytes | Mapping | Set) or not isinstance(keys, Iterable) or getattr(keys, "ndim", 1) != 1:
        raise DataError(KeyRule.SEQUENCE.value)
    if np.ma.is_masked(keys):
        raise DataError(KeyRule.MISSING.value)
    if isinstance(keys, np.ndarray) and keys.dtype.kind not in "biufSUOT":  # a missing date would become a number
        raise DataError((KeyRule.MISSING if any(map(_is_missing, keys)) else KeyRule.KIND).value)
    read = next((getattr(keys, name) for name in ("tolist", "to_pylist") if hasattr(keys, name)), None)
    return list(keys) if read is None else read()


def _canonical(key: Any) -> Key | KeyRule:
    """Return a plain integer, text in normal form C, bytes, or a tuple of them; the broken rule for other keys."""
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
    return int.__index__(key if isinstance(key, int) else np.generic.item(key))  # without the methods of a derived type


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
    """Return the first broken rule in the order of `KeyRule`, independent of the order of keys; None if none is."""
    broken = {one for one in found if isinstance(one, KeyRule)}
    return next((rule for rule in KeyRule if rule in broken), None)


@lru_cache(maxsize=256)
def _has_plain_equality(kind: type) -> bool:
    """Whether ``kind`` compares its values as the built-in or numpy type that it derives from."""
    base = next(one for one in kind.__mro__ if one.__module__ in ("builtins", "numpy"))
    return kind.__eq__ is base.__eq__ and kind.__hash__ is base.__hash__


def _kind(key: Key | KeyRule) -> object:
    return tuple(_kind(part) for part in key) if isinstance(key, tuple) else type(key)
