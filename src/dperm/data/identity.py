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
from functools import lru_cache
from typing import Any

import numpy as np

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


def person_keys(keys: object) -> list[Key] | None:
    """The keys in canonical form: two are equal if and only if they name the same person.

    Keys are whole numbers, text or bytes, or tuples of them, all of one kind. None if one of them is anything else
    (a float, a date, something missing, an object with an equality of its own), if kinds are mixed, or if ``keys`` is
    not a one-dimensional sequence: such keys could split the records of one person, or join those of two.
    """
    listed = _listed(keys)
    canonical = None if listed is None else [_canonical(key) for key in listed]
    if canonical is None or None in canonical or len({_kind(key) for key in canonical}) > 1:
        return None
    return canonical  # type: ignore[return-value]  # no None is in it


def _listed(keys: Any) -> list[Any] | None:
    """The items of a one-dimensional sequence; None for what has no order or no items of its own."""
    if isinstance(keys, str | bytes | Mapping | Set) or np.ma.is_masked(keys) or getattr(keys, "ndim", 1) != 1:
        return None
    if isinstance(keys, np.ndarray) and keys.dtype.kind not in "biuSUO":  # a missing date would become a number
        return None
    read = next((getattr(keys, name) for name in ("tolist", "to_pylist") if hasattr(keys, name)), None)
    return list(keys) if read is None else read()


def _canonical(key: Any) -> Key | None:
    """A plain integer, text in normal form C, bytes, or a tuple of them; None for anything else."""
    if isinstance(key, tuple):
        parts = tuple(_canonical(part) for part in key)
        return None if None in parts or not _has_plain_equality(type(key)) else parts  # type: ignore[return-value]
    kind: Any = type(key)
    if not isinstance(key, int | str | bytes | np.integer | np.bool_) or not _has_plain_equality(kind):
        return None
    if isinstance(key, str):
        return same_text(key)
    return bytes.__getitem__(key, slice(None)) if isinstance(key, bytes) else int(key)


@lru_cache(maxsize=256)
def _has_plain_equality(kind: type) -> bool:
    """Whether ``kind`` compares its values as the built-in or numpy type that it derives from."""
    base = next(one for one in kind.__mro__ if one.__module__ in ("builtins", "numpy"))
    return kind.__eq__ is base.__eq__ and kind.__hash__ is base.__hash__


def _kind(key: Key | None) -> object:
    return tuple(_kind(part) for part in key) if isinstance(key, tuple) else type(key)
