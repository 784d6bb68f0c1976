# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""What neighbours differ in, one record or one group of records, and the sentences that name it."""

from collections.abc import Mapping

from dperm.privacy.record import Record
from dperm.report import fields as words

RECORD, GROUP = "record", "group"
_NEIGHBOURS = {
    "replace_one": "one {0} replaced by another (replace_one); the number of {0}s is public",
    "add_remove": "one {0} added or removed (add_remove); the number of {0}s is protected",
}
_CHANGES = {"replace_one": "Replace any one {0} by any other", "add_remove": "Add or remove any one {0}"}
_SETS = {
    "replace_one": "D and D' have the same number of {0}s and differ in one of them.",
    "add_remove": "D' is D with one {0} added or removed.",
}
_SEVERAL = {RECORD: "with several records", GROUP: "in several groups"}


def unit_of(fields: Mapping[str, object]) -> str:
    """The unit of a statement: "record" or "group"."""
    public = fields["public_quantities"]
    return GROUP if isinstance(public, Mapping) and public.get("unit") == GROUP else RECORD


def neighbours(fields: Mapping[str, object]) -> str:
    """What neighbours are, in a line; an adjacency that is not known stands as it is."""
    adjacency = str(fields["adjacency"])
    return _NEIGHBOURS.get(adjacency, adjacency).format(unit_of(fields))


def change(fields: Mapping[str, object]) -> str:
    """What makes a neighbour, as the beginning of a sentence."""
    return _CHANGES.get(str(fields["adjacency"]), "Change one {0}").format(unit_of(fields))


def neighbouring_sets(fields: Mapping[str, object]) -> str:
    """Neighbours D and D', for the mathematics."""
    return _SETS.get(str(fields["adjacency"]), "").format(unit_of(fields))


def several(fields: Mapping[str, object]) -> str:
    """Whom group privacy is about: a person "with several records", or "in several groups"."""
    return _SEVERAL[unit_of(fields)]


def unit_in_words(record: Record) -> str:
    """The unit that is proved, as a field of the statement."""
    return f"one {RECORD}" if record.unit == RECORD else words.ONE_GROUP.format(_most(record))


def contribution(record: Record) -> str:
    """Records for each unit of privacy."""
    return words.CONTRIBUTION if record.unit == RECORD else words.GROUP_CONTRIBUTION.format(_most(record))


def _most(record: Record) -> object:
    return record.public.get("records_per_group", words.NOT_RECORDED)
