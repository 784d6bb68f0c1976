# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Printing of numbers, tables, facts and JSON.

Numbers are rounded in the safe direction, and tables never cut them off.
"""

import json
import math
from collections.abc import Iterable, Sequence
from decimal import Decimal

import typer

from dperm.presentation.numbers import format_down, format_number, format_up

DIGITS = 7
BRACKET_DIGITS = 10


def up(number: float, digits: int = DIGITS) -> str:
    """Return ``number`` with ``digits`` significant digits, rounded up: the text is never below the double."""
    return format_up(Decimal(number), digits)


def down(number: float, digits: int = DIGITS) -> str:
    """Return ``number`` rounded down: the text is never above the double."""
    return format_down(Decimal(number), digits)


def plain_up(number: float) -> str:
    """Return a short decimal as it was typed, and a longer one rounded up.

    A release of epsilon 0.2 costs 0.2 and not 0.2000001, although the double is 1e-17 above a fifth.
    """
    return format_up(float(number), DIGITS)


def plain_down(number: float) -> str:
    """Return a short decimal as it was typed, and a longer one rounded down."""
    return format_down(float(number), DIGITS)


def typed(number: float) -> str:
    """Return an input as it was typed, in full, such as 0.1 or 1e-6."""
    return format_number(number, digits=17)


def bracket(lower: float, upper: float) -> str:
    """Return an interval with ends rounded outwards."""
    return f"[{down(lower, BRACKET_DIGITS)}, {up(upper, BRACKET_DIGITS)}]"


def print_json(data: dict[str, object]) -> None:
    """Print one JSON object, with null for infinite numbers and NaN."""
    typer.echo(json.dumps(strict(data), indent=2, allow_nan=False))


def strict(value: object) -> object:
    """Return the data with null for infinite numbers and NaN."""
    if isinstance(value, dict):
        return {key: strict(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [strict(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def print_table(headers: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print a table as wide as its content: in a narrow window its lines break, but no digit is lost."""
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
    """Print lines "name: value" after an empty line."""
    typer.echo()
    for name, value in facts:
        typer.echo(f"{name + ':':<11} {value}")


def below(lines: Iterable[str]) -> str:
    """Return several lines as the value of one fact, aligned with its first line."""
    return ("\n" + " " * 12).join(lines)


def print_paragraphs(paragraphs: Iterable[str]) -> None:
    """Print sentences after empty lines: folded on a terminal, one line each in a pipe."""
    from rich.console import Console
    from rich.text import Text

    console = Console(highlight=False)
    for paragraph in paragraphs:
        console.print()
        console.print(Text(paragraph), soft_wrap=not console.is_terminal)
