# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Groups of metrics on the command line: ``--groups work=private,public``."""

import csv
from collections.abc import Mapping

from dperm.checks import shown
from dperm.errors import ParameterError


def groups_text(groups: Mapping[str, tuple[str, ...]]) -> str:
    """Return groups as the option was written: ``work=private,public``."""
    return ";".join(f"{column}={','.join(names)}" for column, names in groups.items())


def declared_groups(text: str | None) -> dict[str, tuple[str, ...]] | None:
    """Return the groups by the name of their column; None if the option is left out.

    Groups are separated by commas. A group that contains a comma is written in double quotes, as in a CSV file.

    Raises
    ------
    ParameterError
        If the text has no column or no group.
    """
    if text is None:
        return None
    column, _, listed = text.partition("=")
    try:
        names = tuple(next(csv.reader([listed], strict=True), []))
    except csv.Error:
        names = ()
    if not column or not names or not all(names):
        raise ParameterError(
            f"--groups must name a column and its public groups, got {shown(text)}. Write --groups "
            "work=private,public, for example."
        )
    return {column: names}
