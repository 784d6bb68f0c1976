# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""``dperm fit --diagnose``: cells that a fit refuses, printed for the data holder. PRIVATE."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from dperm.cli.running import USAGE, progress_bar
from dperm.errors import ParameterError

if TYPE_CHECKING:
    from dperm.data.diagnosis import BadCell
    from dperm.data.files import Declared

HEADING = "Private: for the data holder only; do not share or log."
_LONGEST = 60


def print_diagnosis(data: Path, declared: "Declared", separator: str, *, as_json: bool) -> None:
    """Print the first cells of a file that violate their declaration, and exit with `USAGE` if there are any.

    The values are printed only on a terminal. Nothing is fitted or charged.

    Raises
    ------
    ParameterError
        If ``as_json`` is True: JSON output is made for other programs and their logs.
    """
    from dperm.data.diagnosis import MOST, bad_cells

    if as_json:
        raise ParameterError("--diagnose prints private records, and has no JSON output.", remedy="Leave out --json.")
    with progress_bar(f"Reading {data.name}") as progress:
        found = bad_cells(data, declared, progress, separator=separator)
    typer.echo(HEADING)
    for cell in found:
        typer.echo(_line(cell, with_value=sys.stdout.isatty()))
    if not found:
        typer.echo(f"dperm fit refuses no cell of {data}. Nothing was fitted or charged.")
        return
    if not sys.stdout.isatty():
        typer.echo("The values are shown on a terminal only.")
    if len(found) == MOST:
        typer.echo(f"Only the first {MOST} are listed; there may be more.")
    typer.echo("Records are counted from 1, without the header and empty lines. Nothing was fitted or charged.")
    raise typer.Exit(USAGE)


def _line(cell: "BadCell", *, with_value: bool) -> str:
    """Return a line about a cell; the representation of its value contains no control characters."""
    from dperm.checks import shortened

    value = "" if cell.column is None or not with_value else f" Value: {shortened(repr(cell.value), _LONGEST)}"
    return f"record {cell.record}: {cell.rule}{value}"
