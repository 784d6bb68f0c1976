# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Groups of metrics on the command line: ``--groups work=private,public``."""

import csv

from dperm.checks import shown
from dperm.errors import ParameterError


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
            f"--groups must name a column and its public groups, got {shown(text)}. Write --groups work=private,public, "
            "for example."
        )
    return {column: names}
