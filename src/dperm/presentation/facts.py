# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Facts with a stable code and named values, and the sentences that state them."""

import string
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from dperm.presentation.numbers import DIGITS, Rounding, format_number
from dperm.presentation.spelling import Spelling, arg, python_spelling, spell

_ROUNDING: dict[str, Rounding] = {"n": "nearest", "u": "up", "d": "down"}


@dataclass(frozen=True)
class Fact:
    """A statement as data: a code and the values that its sentence mentions.

    ``str(fact)`` is the sentence for Python users; `describe` formats arguments for another front end.

    Attributes
    ----------
    code
        Stable identifier, such as "regularization.balanced".
    template
        Sentence with ``{name}`` for values (with an optional format, ``{name:.3g}``) and ``{@name}`` or
        ``{@name:{value}}`` for arguments. ``{name!u:3}`` rounds a number up to three significant digits, ``!d`` rounds
        it down and ``!n`` to the nearest.
    values
        Plain JSON values by name.

    Examples
    --------
    >>> fact = Fact("bound.excess", "The excess risk is at most {bound!u:3}; set {@n:{n}}.", {"bound": 0.01234, "n": 9})
    >>> print(fact)
    The excess risk is at most 0.0124; set n=9.
    """

    code: str
    template: str
    values: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))

    def describe(self, spelling: Spelling = python_spelling) -> str:
        """Return the sentence, with arguments formatted by ``spelling``."""
        text = _Sentence().vformat(self.template, (), self.values)
        return spell(text, spelling)

    def __str__(self) -> str:
        """Return the sentence for Python users."""
        return self.describe()

    def as_dict(self) -> dict[str, Any]:
        """Return code, values and sentence as plain data, for records and JSON output."""
        return {"code": self.code, "values": dict(self.values), "text": str(self)}


class _Reference:
    """A reference to an argument; its format specification is the value to show."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __format__(self, value: str) -> str:
        return arg(self.name, value or None)


class _Rounded:
    """A number with a direction of rounding; its format specification is the number of significant digits."""

    def __init__(self, number: float, rounding: Rounding) -> None:
        self.number, self.rounding = number, rounding

    def __format__(self, digits: str) -> str:
        return format_number(self.number, rounding=self.rounding, digits=int(digits or DIGITS))


class _Sentence(string.Formatter):
    """Formats values and leaves references to arguments for the front end."""

    def convert_field(self, value: Any, conversion: str | None) -> Any:
        if conversion in _ROUNDING:
            return _Rounded(value, _ROUNDING[conversion])
        return super().convert_field(value, conversion)

    def format_field(self, value: Any, format_spec: str) -> str:
        text = str(super().format_field(value, format_spec))
        return f"{text[:-1]} %" if format_spec.endswith("%") else text

    def get_field(self, field_name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        if field_name.startswith("@"):
            return _Reference(field_name[1:]), field_name
        return super().get_field(field_name, args, kwargs)
