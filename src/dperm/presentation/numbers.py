# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Number formatting for all front ends.

Short decimals are printed as typed. Longer ones are rounded to a few significant digits in a stated direction: upper
bounds up, lower bounds and remaining amounts down. Very small and large numbers have an exponent.
"""

import math
from collections.abc import Mapping
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Context, Decimal
from typing import Any, Literal

Rounding = Literal["nearest", "up", "down"]
"""Direction of rounding."""

DIGITS = 6
"""Significant digits by default."""
INFINITE = "infinite"
_FIRST = ("kind", "epsilon", "delta")
_ROUNDING = {"nearest": ROUND_HALF_EVEN, "up": ROUND_CEILING, "down": ROUND_FLOOR}


def format_number(number: float | Decimal, *, rounding: Rounding = "nearest", digits: int = DIGITS) -> str:
    """Return a number as text.

    Parameters
    ----------
    number
        Number to format. The shortest decimal that reads back as the same double is formatted, so 0.1 is "0.1".
    rounding
        "nearest", "up" (the text is never below the number) or "down" (never above it).
    digits
        Largest number of significant digits.

    Returns
    -------
    str
        The number without trailing zeros; "infinite", "-infinite" or "not a number" for special values.

    Examples
    --------
    >>> format_number(0.1), format_number(1 / 3, rounding="up", digits=3), format_number(8.3e-8)
    ('0.1', '0.334', '8.3e-8')
    """
    if isinstance(number, bool | int):
        return str(number)
    if not math.isfinite(number):
        return INFINITE if number > 0 else f"-{INFINITE}" if number < 0 else "not a number"
    exact = number if isinstance(number, Decimal) else decimal(number)
    rounded = Context(prec=digits, rounding=_ROUNDING[rounding]).create_decimal(exact)
    return _as_typed(rounded)


def format_up(number: float | Decimal, digits: int = DIGITS) -> str:
    """Return a number rounded up: for epsilon, delta, limits, spending and attack success."""
    return format_number(number, rounding="up", digits=digits)


def format_down(number: float | Decimal, digits: int = DIGITS) -> str:
    """Return a number rounded down: for lower bounds and remaining amounts."""
    return format_number(number, rounding="down", digits=digits)


def format_bracket(lower: float, upper: float, digits: int = 10) -> str:
    """Return an interval whose ends are rounded outwards."""
    return f"[{format_down(lower, digits)}, {format_up(upper, digits)}]"


def format_remaining(limit: float, spent: float, digits: int = DIGITS) -> str:
    """Return the remaining part of a limit, rounded down. The difference is computed in decimals, without error."""
    if not (math.isfinite(limit) and math.isfinite(spent)):
        return format_down(limit - spent, digits)
    return format_down(decimal(limit) - decimal(spent), digits)


def format_percent(rate: float) -> str:
    """Return a probability as a percentage, rounded up to three digits; above 99 %, up to four decimals.

    Between 99 % and 100 %, the difference from 100 % has two significant digits where four decimals suffice.

    Examples
    --------
    >>> format_percent(0.7310586), format_percent(0.9934), format_percent(0.99999)
    ('73.2 %', '99.34 %', '99.999 %')
    """
    percentage = 100 * decimal(rate)
    digits = 3 if not 99 < percentage < 100 else min(DIGITS, 3 - (100 - percentage).adjusted())
    return f"{format_up(percentage, digits)} %"


def format_parameters(parameters: Mapping[str, Any]) -> str:
    """Return the numbers of a guarantee as text, each rounded up; other values are left out.

    Examples
    --------
    >>> format_parameters({"delta": 1e-6, "epsilon": 1.0, "adjacency": "replace_one"})
    'epsilon = 1, delta = 1e-6'
    """
    numbers = {name: value for name, value in epsilon_first(parameters).items() if isinstance(value, int | float)}
    return ", ".join(f"{name} = {format_up(value)}" for name, value in numbers.items())


def epsilon_first(numbers: Mapping[str, Any]) -> dict[str, Any]:
    """Return the entries with kind, epsilon and delta first; the others keep their order."""
    first = [name for name in _FIRST if name in numbers]
    return {name: numbers[name] for name in (*first, *(name for name in numbers if name not in _FIRST))}


def decimal(number: float) -> Decimal:
    """Return the shortest decimal that reads back as the same double."""
    return Decimal(repr(float(number)))


def _as_typed(number: Decimal) -> str:
    """Write a decimal without trailing zeros, with an exponent outside [1e-4, 1e15)."""
    if number == 0 or Decimal("1e-4") <= abs(number) < Decimal("1e15"):
        text = format(number, "f")
        return text.rstrip("0").rstrip(".") if "." in text else text
    mantissa, _, exponent = format(number.normalize(), "e").partition("e")
    return f"{mantissa}e{int(exponent)}"
