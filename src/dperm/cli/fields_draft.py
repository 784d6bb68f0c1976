# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""A draft of the fields of a statement that only people can state: keys with hints, all of them commented out."""

from collections.abc import Iterable

HEAD = """\
# What only you can state about this model, for: dperm report MODEL -o statement.html --fields FILE
# Remove the "# " before a line and say what is true; what stays commented out is marked as a gap in the statement.
# The statement rates the protection only when every line marked REQUIRED is filled in.
"""
HINTS = {
    "curator": "who holds the data and answers for the release",
    "intended_use": "what the model is for, and what it is not for",
    "product": "what is released, and to whom",
    "publication_date": "when it is or was published",
    "links": "where the code, the data description and the decision are found",
    "data_domain": "whose data these are: population, time, sampling",
    "contribution_bound": "how many records one person can have, and how that is enforced",
    "reasons": "why this epsilon is acceptable, and who decided it; then why this delta, adjacency and method",
    "tuning": "how hyperparameters were chosen, and whether that used the data",
    "preprocessing": "what was done to the data before, and whether that used them",
    "nonprivate_statistics": "what else is published from the same data without noise",
    "ledger_entry": "where the release is booked, if not in a ledger of dperm",
    "retries": "what was run on the data before this, and thrown away",
    "utility": "how good the model is, and from which data that is known",
}


def fields_draft(gaps: Iterable[str]) -> str:
    """TOML with a line for each gap; valid, and empty, as it is."""
    from dperm.report.fields import FIELDS, REQUIRED

    hints = {name: f"{'REQUIRED: ' if name in REQUIRED else ''}{HINTS.get(name, FIELDS[name])}" for name in gaps}
    return "\n".join([HEAD, *(f'# {hint}\n# {name} = ""\n' for name, hint in hints.items())])
