# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Numbers as text: short ones as they are, long ones with a few digits, ceilings rounded up."""

import math
import re
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Context, Decimal

from dperm.privacy.protection import is_effective

DIGITS = 6
NO_LIMIT = "no effective limit"
"""Stands for a rate that a guarantee permits to be almost 1."""


def as_text(number: float | Decimal, *, rounding: str = ROUND_HALF_EVEN, digits: int = DIGITS) -> str:
    """``number`` with at most so many significant digits; short numbers as Python writes them."""
    if isinstance(number, bool | int):
        return str(number)
    if not math.isfinite(number):
        return "infinite" if number > 0 else str(number)
    exact = number if isinstance(number, Decimal) else written(number)
    if len(exact.normalize().as_tuple().digits) <= digits:
        return _short_exponent(f"{float(exact):.15g}")
    rounded = Context(prec=digits, rounding=rounding).create_decimal(exact)
    if rounded == 0 or 1e-4 <= abs(float(exact)) < 1e15:
        text = format(rounded, "f")
        return text.rstrip("0").rstrip(".") if "." in text else text
    return _short_exponent(format(rounded.normalize(), "e"))


def rounded_up(number: float | Decimal, digits: int = DIGITS) -> str:
    """The text is never below the number: for epsilon, delta, limits, what is spent, what an attacker can do."""
    return as_text(number, rounding=ROUND_CEILING, digits=digits)


def rounded_down(number: float | Decimal, digits: int = DIGITS) -> str:
    """The text is never above the number: for what is left."""
    return as_text(number, rounding=ROUND_FLOOR, digits=digits)


def left(most: float, spent: float, digits: int = DIGITS) -> str:
    """What is left of a limit, rounded down; the difference is taken in decimals, where nothing is lost."""
    if not (math.isfinite(most) and math.isfinite(spent)):
        return rounded_down(most - spent, digits)
    return rounded_down(written(most) - written(spent), digits)


def percent(rate: float) -> str:
    """A probability as a percentage, rounded up; never "100 %", which would limit nothing."""
    if not is_effective(rate):
        return NO_LIMIT
    texts = (rounded_up(100 * written(rate), digits) for digits in (3, 4, 5, DIGITS))
    return f"{next(text for text in texts if text != '100')} %"


def written(number: float) -> Decimal:
    """The decimal that Python and JSON write for a float: the shortest that is read back as the same."""
    return Decimal(repr(float(number)))


def _short_exponent(text: str) -> str:
    """1e-6 for 1e-06, 1e20 for 1e+20."""
    return re.sub(r"e([+-]?)0*(\d)", lambda found: f"e{found[1].replace('+', '')}{found[2]}", text)
