# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Text layout: folded to the width of a terminal, one line per paragraph in a pipe."""

import math
import shutil
import sys
import textwrap
from collections.abc import Iterable

import typer

_WIDEST = 120
_BAR = 16


def is_terminal() -> bool:
    """Return whether stdout is a terminal."""
    return sys.stdout.isatty()


def print_folded(text: str, *, first: str = "", rest: str = "", err: bool = False) -> None:
    """Print a paragraph; its first line starts with ``first``, the others with ``rest``."""
    if not (sys.stderr if err else sys.stdout).isatty():
        typer.echo(first + text, err=err)
        return
    width = min(shutil.get_terminal_size().columns, _WIDEST) - 1
    lines = textwrap.wrap(
        text, width, initial_indent=first, subsequent_indent=rest, break_on_hyphens=False, break_long_words=False
    )
    typer.echo("\n".join(lines), err=err)


def print_named(rows: Iterable[tuple[str, str]]) -> None:
    """Print lines "name: value" with the values in one column."""
    rows = list(rows)
    width = max(len(name) for name, _ in rows) + 3
    for name, value in rows:
        print_folded(value, first=f"{name + ':':<{width}}", rest=" " * width)


def format_share(share: float) -> str:
    """Return the used share of a limit in percent, rounded up; on a terminal with a bar."""
    percent = f"{math.ceil(100 * share):>3} %"
    if not is_terminal():
        return percent.strip()
    full, empty = ("█", "░") if (sys.stdout.encoding or "").lower().startswith("utf") else ("#", ".")
    filled = min(_BAR, math.ceil(_BAR * share))
    return f"{percent} {full * filled}{empty * (_BAR - filled)}"
