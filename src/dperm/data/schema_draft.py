# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Draft of a schema from column names and types, with placeholders for the user's declarations."""

from collections.abc import Mapping

from dperm.checks import shown
from dperm.data.schema import PLACEHOLDER
from dperm.data.toml_text import toml_key, toml_string
from dperm.errors import ParameterError
from dperm.presentation.spelling import arg

FILL = f'"{PLACEHOLDER}"'
NUMBER = (f"low = {FILL}", f"high = {FILL}", f"# impute = {FILL}")
CATEGORY = (f"categories = [{FILL}]", f"# impute = {FILL}", "# other = true")
CLASSES = f"classes = [{FILL}, {FILL}]"
RANGE = f"range = [{FILL}, {FILL}]"
HEAD = f"""\
# Draft of a schema for dperm, made from the names (and types) of the columns alone: no values were read.
# Replace every "{PLACEHOLDER}" with values known WITHOUT the data: from a questionnaire, a code book or the law. Values
# taken from the data (a minimum, a mean, the categories that occur) leak information about the data. Delete columns
# that should not be used.
#
# low, high    numbers are clipped to these bounds; bounds that are too wide cost accuracy, bounds that are too narrow
#              clip values; neither costs privacy
# categories   all possible values; each becomes a feature
# other        if true, all other values share one feature; otherwise they are refused
# impute       replaces missing values; without it, missing values are refused
"""
OPEN = "# a number:"
OPEN_OTHER = "# or a category:"


def draft(types: Mapping[str, str], target: str | None = None) -> str:
    """Return the TOML text of a draft. It is not a valid schema until all placeholders are replaced.

    Parameters
    ----------
    types
        "number", "truth", "text", "other", or "" if unknown, by column name.
    target
        Column to predict, if it is known.

    Raises
    ------
    ParameterError
        If there is no column named ``target``.
    """
    if target is not None and target not in types:
        problem = f"{arg('target')}: there is no column named {shown(target)}."
        raise ParameterError(problem, remedy="Names are exact.")
    columns = [_column(name, kind) for name, kind in types.items() if name != target]
    return "\n".join([HEAD, *columns, _target(target, types.get(target or "", ""))])


def _column(name: str, kind: str) -> str:
    """Return the table of one column; an unknown kind has both alternatives in comments."""
    lines = {
        "number": NUMBER,
        "truth": ("low = 0", "high = 1", f"# impute = {FILL}"),
        "text": CATEGORY,
        "other": (f"low = {FILL}  # convert dates and similar values to numbers first, or delete this column",),
    }.get(kind, (OPEN, *map(_commented, NUMBER), OPEN_OTHER, *map(_commented, CATEGORY)))
    return "\n".join([f"[columns.{toml_key(name)}]", *lines, ""])


def _target(name: str | None, kind: str) -> str:
    """Return the table of the target, with classes or a range."""
    if name is None:
        given = ["[target]", f"name = {FILL}  # the column to predict; it must not have a table above"]
    else:
        given = ["[target]", f"name = {toml_string(name)}"]
    ways = {"text": (CLASSES,), "truth": ("classes = [false, true]",)}
    both = ("# a class:", _commented(CLASSES), "# or a number:", _commented(RANGE))
    return "\n".join([*given, *ways.get(kind, both), ""])


def _commented(line: str) -> str:
    return f"# {line.removeprefix('# ')}"
