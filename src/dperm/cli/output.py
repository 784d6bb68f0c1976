# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Printing: numbers rounded to the safe side, tables that never cut a number off, strict JSON."""

import json
import math
from collections.abc import Iterable, Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal

import typer

INFINITE = "infinite"
DIGITS = 7
BRACKET_DIGITS = 10


def up(number: float, digits: int = DIGITS) -> str:
    """``number`` with so many significant digits, rounded up: the text is never below the number."""
    return _decimal(number, digits, ROUND_CEILING)


def down(number: float, digits: int = DIGITS) -> str:
    """``number`` rounded down: the text is never above the number."""
    return _decimal(number, digits, ROUND_FLOOR)


def plain_up(number: float) -> str:
    """As one would type it, if that takes few digits, else rounded up: the text, read as a double, is never below.

    A release of epsilon 0.2 costs 0.2 and not 0.2000001, although the double is above a fifth by 1e-17.
    """
    return _typed(number) or up(number)


def plain_down(number: float) -> str:
    """The same, rounded down."""
    return _typed(number) or down(number)


def _typed(number: float) -> str:
    """The shortest decimal that is read as this double, if it is short; else nothing."""
    if not math.isfinite(number):
        return ""
    shortest = Decimal(repr(float(number))).normalize()
    return _written(shortest) if len(shortest.as_tuple().digits) <= DIGITS else ""


def bracket(lower: float, upper: float) -> str:
    """Both ends, rounded outwards."""
    return f"[{down(lower, BRACKET_DIGITS)}, {up(upper, BRACKET_DIGITS)}]"


def _decimal(number: float, digits: int, rounding: str) -> str:
    if math.isinf(number):
        return INFINITE
    rounded = Context(prec=digits, rounding=rounding).create_decimal(Decimal(number))
    return _written(rounded)


def _written(rounded: Decimal) -> str:
    """A decimal without needless zeros, with an exponent if it is very small or large."""
    if rounded == 0 or 1e-4 <= abs(rounded) < 1e15:
        text = format(rounded, "f")
        return text.rstrip("0").rstrip(".") if "." in text else text
    return format(rounded.normalize(), "e").replace("e+", "e")


def print_json(data: dict[str, object]) -> None:
    """One JSON object on stdout; a number that is not finite becomes null."""
    typer.echo(json.dumps(strict(data), indent=2, allow_nan=False))


def strict(value: object) -> object:
    """The same data, with null for every number that is not finite."""
    if isinstance(value, dict):
        return {key: strict(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [strict(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def print_table(headers: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """A table as wide as its content: in a narrow window its lines break, but no digit is lost."""
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    for header in headers:
        table.add_column(header, no_wrap=True)
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    wide = Console(width=10_000, highlight=False)
    wide.print(table, soft_wrap=True)


def print_facts(facts: Iterable[tuple[str, str]]) -> None:
    """Lines "name: value" under a table."""
    typer.echo()
    for name, value in facts:
        typer.echo(f"{name + ':':<11} {value}")


def below(lines: Iterable[str]) -> str:
    """Several lines as the value of one fact."""
    return ("\n" + " " * 12).join(lines)


def print_paragraphs(paragraphs: Iterable[str]) -> None:
    """Sentences, each after an empty line, folded to the width of a terminal; in a pipe each is one line."""
    from rich.console import Console
    from rich.text import Text

    console = Console(highlight=False)
    for paragraph in paragraphs:
        console.print()
        console.print(Text(paragraph), soft_wrap=not console.is_terminal)
