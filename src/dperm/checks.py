# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Checks of public arguments: one function per rule.

Each function takes the argument's Python name, its value and an optional remedy, and returns a plain Python number.
NumPy scalars are accepted; booleans, strings, NaN and infinities are refused.
"""

import math
import re
from fractions import Fraction
from numbers import Integral, Number, Real
from pathlib import PurePath

from dperm.errors import ParameterError

LARGEST_COUNT = 2**53  # beyond, counts are no longer exact in floating point
_BYTES = {"": 1, "b": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9, "tb": 10**12} | {
    "kib": 2**10,
    "mib": 2**20,
    "gib": 2**30,
    "tib": 2**40,
}
_SIZE = re.compile(r"([0-9]{1,15}(?:\.[0-9]{1,15})?) ?([a-z]*)", re.IGNORECASE | re.ASCII)


def real(name: str, value: object, *, rule: str = "a finite number", remedy: str = "") -> float:
    """Return ``value`` as a float; ParameterError unless it is a finite real number."""
    if isinstance(value, bool) or not isinstance(value, Real):
        raise _refusal(name, value, rule, remedy)
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise _refusal(name, value, rule, remedy)
    return number


def positive(name: str, value: object, remedy: str = "") -> float:
    """Return ``value`` as a float; ParameterError unless 0 < value < infinity."""
    rule = "a finite number > 0"
    return _within(name, value, real(name, value, rule=rule, remedy=remedy) > 0, rule, remedy)


def nonnegative(name: str, value: object, remedy: str = "") -> float:
    """Return ``value`` as a float; ParameterError unless 0 <= value < infinity."""
    rule = "a finite number >= 0"
    return _within(name, value, real(name, value, rule=rule, remedy=remedy) >= 0, rule, remedy)


def above(name: str, value: object, bound: float, remedy: str = "") -> float:
    """Return ``value`` as a float; ParameterError unless bound < value < infinity."""
    rule = f"a finite number > {bound:g}"
    return _within(name, value, real(name, value, rule=rule, remedy=remedy) > bound, rule, remedy)


def between(name: str, value: object, low: float, high: float, remedy: str = "") -> float:
    """Return ``value`` as a float; ParameterError unless low <= value <= high."""
    rule = f"a number in [{low:g}, {high:g}]"
    return _within(name, value, low <= real(name, value, rule=rule, remedy=remedy) <= high, rule, remedy)


def rate(name: str, value: object, remedy: str = "") -> float:
    """Return a sampling rate as a float; ParameterError unless 0 < value <= 1."""
    rule = "a number in (0, 1]"
    return _within(name, value, 0 < real(name, value, rule=rule, remedy=remedy) <= 1, rule, remedy)


def probability(name: str, value: object, remedy: str = "") -> float:
    """Return ``value`` as a float; ParameterError unless 0 <= value <= 1."""
    rule = "a number in [0, 1]"
    return _within(name, value, 0 <= real(name, value, rule=rule, remedy=remedy) <= 1, rule, remedy)


def small_delta(name: str, value: object, remedy: str = "") -> float:
    """Return the delta of a guarantee as a float; ParameterError unless 0 <= value < 1."""
    rule = "a number in [0, 1)"
    return _within(name, value, 0 <= real(name, value, rule=rule, remedy=remedy) < 1, rule, remedy)


def positive_delta(name: str, value: object, remedy: str = "") -> float:
    """Return ``value`` as a float; ParameterError unless 0 < value < 1."""
    rule = "a number in (0, 1)"
    return _within(name, value, 0 < real(name, value, rule=rule, remedy=remedy) < 1, rule, remedy)


def count(name: str, value: object, remedy: str = "", *, least: int = 1, most: int = LARGEST_COUNT) -> int:
    """Return ``value`` as an int; ParameterError unless it is a whole number from ``least`` to ``most``."""
    if isinstance(value, bool) or not isinstance(value, Integral) or not least <= int(value) <= most:
        limit = "2^53" if most == LARGEST_COUNT else f"{most:,}"
        raise _refusal(name, value, f"a whole number from {least} to {limit}", remedy)
    return int(value)


def memory_size(name: str, value: object, remedy: str = "") -> int:
    """Return a number of bytes as an int; ParameterError unless it is a whole number >= 0 or text such as "500MB".

    Units of text are B, kB, MB, GB and TB (powers of 1000), and KiB, MiB, GiB and TiB (powers of 1024), in any case.
    """
    found: object = value
    if isinstance(value, str) and (parts := _SIZE.fullmatch(value.strip())) and parts[2].lower() in _BYTES:
        found = int(Fraction(parts[1]) * _BYTES[parts[2].lower()])
    if isinstance(found, bool) or not isinstance(found, Integral) or not 0 <= int(found) <= LARGEST_COUNT:
        raise _refusal(name, value, 'a number of bytes from 0 to 2^53, or text such as "500MB" or "2GB"', remedy)
    return int(found)


def truth(name: str, value: object, remedy: str = "") -> bool:
    """Return ``value`` as a bool; ParameterError unless it is a truth value of Python or numpy."""
    from numpy import bool_  # importing dperm imports no numpy

    if not isinstance(value, bool | bool_):
        raise _refusal(name, value, "True or False", remedy)
    return bool(value)


def _within(name: str, value: object, holds: bool, rule: str, remedy: str) -> float:
    if not holds:
        raise _refusal(name, value, rule, remedy)
    return float(value)  # type: ignore[arg-type]  # real() has accepted it


def _refusal(name: str, value: object, rule: str, remedy: str) -> ParameterError:
    return ParameterError(argument=name, rule=f"must be {rule}", got=shown(value), remedy=remedy)


def shown(value: object) -> str:
    """Return the repr of a value that may be a public constant, and only the type name of any other value.

    If a caller swaps two arguments, a message with the repr of an array, a list or a table would reveal private data.

    Parameters
    ----------
    value
        Value of an argument.

    Returns
    -------
    str
        Text for an error message. The repr is used for numbers, text, types, None, dperm objects, and lists of at most
        two of them. A path is shown as its text.
    """
    if isinstance(value, int) and abs(value) >= 10**1000:
        return "an integer of more than a thousand digits"  # Python refuses to format it
    if isinstance(value, PurePath):
        return shortened(repr(str(value)))
    parts = value if isinstance(value, tuple | list) and len(value) <= 2 else [value]
    if all(_may_be_public(part) for part in parts):
        return shortened(repr(value))
    return f"an object of type {type(value).__name__}"


def shown_few(values: object, most: int = 8) -> str:
    """Return the repr of a list of up to ``most`` public constants, each declared by the user; otherwise `shown`."""
    if isinstance(values, tuple | list | range) and len(values) <= most and all(map(_may_be_public, values)):
        return shortened(repr(values))
    return shown(values)


def _may_be_public(value: object) -> bool:
    own = type(value).__module__.partition(".")[0] == "dperm"
    return own or value is None or isinstance(value, Number | str | type)


def shortened(text: str, longest: int = 1000) -> str:
    """Return the first ``longest`` characters of a text, with "..." if there are more."""
    return text if len(text) <= longest else f"{text[:longest]}..."
