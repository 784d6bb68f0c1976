# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""A draft of the fields of a statement that only people can state: keys with hints, all of them commented out."""

from collections.abc import Iterable

HEAD = """\
# What only you can state about this model, for: dperm report MODEL -o statement.html --fields FILE
# Remove the "# " before a line and say what is true; what stays commented out is marked as a gap in the statement.
# The statement rates the protection only when every line marked REQUIRED is filled in.
"""


def fields_draft(gaps: Iterable[str]) -> str:
    """TOML with a line for each gap; valid, and empty, as it is."""
    from dperm.report.fields import FIELDS, REQUIRED
    from dperm.report.tiers import HINTS

    hints = {name: f"{'REQUIRED: ' if name in REQUIRED else ''}{HINTS.get(name, FIELDS[name])}" for name in gaps}
    return "\n".join([HEAD, *(f'# {hint}\n# {name} = ""\n' for name, hint in hints.items())])
