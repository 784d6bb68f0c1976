# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Text that is folded to the width of a terminal; in a pipe each sentence stays on its line."""

import math
import shutil
import sys
import textwrap
from collections.abc import Iterable

import typer

_WIDEST = 120
_BAR = 16


def is_terminal() -> bool:
    """Whether somebody is looking at stdout."""
    return sys.stdout.isatty()


def print_folded(text: str, *, first: str = "", rest: str = "", err: bool = False) -> None:
    """A paragraph after ``first``, its other lines after ``rest``."""
    if not (sys.stderr if err else sys.stdout).isatty():
        typer.echo(first + text, err=err)
        return
    width = min(shutil.get_terminal_size().columns, _WIDEST) - 1
    lines = textwrap.wrap(
        text, width, initial_indent=first, subsequent_indent=rest, break_on_hyphens=False, break_long_words=False
    )
    typer.echo("\n".join(lines), err=err)


def print_named(rows: Iterable[tuple[str, str]]) -> None:
    """Lines "name: value", the values in one column."""
    rows = list(rows)
    width = max(len(name) for name, _ in rows) + 3
    for name, value in rows:
        print_folded(value, first=f"{name + ':':<{width}}", rest=" " * width)


def used(share: float) -> str:
    """How much of a limit is used, rounded up; on a terminal with a bar."""
    percent = f"{math.ceil(100 * share):>3} %"
    if not is_terminal():
        return percent.strip()
    full, empty = ("█", "░") if (sys.stdout.encoding or "").lower().startswith("utf") else ("#", ".")
    filled = min(_BAR, math.ceil(_BAR * share))
    return f"{percent} {full * filled}{empty * (_BAR - filled)}"
