# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""The 31 fields of a statement in their tiers, and what to write where only the user can know.

The first tiers are those of the public registry of deployments (who, how private, on what domain); the last is what
releases of learned models need besides.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from dperm.report.fields import FIELDS, REQUIRED


@dataclass(frozen=True)
class Item:
    """A numbered field of the page: one key of a statement, or several that belong together."""

    number: int
    keys: tuple[str, ...]

    @property
    def title(self) -> str:
        """The words that a reader sees."""
        return _TITLES.get(self.keys[0], FIELDS[self.keys[0]])


@dataclass(frozen=True)
class Tier:
    """Fields that answer one question."""

    title: str
    question: str
    items: tuple[Item, ...]


_LAYOUT = (
    (
        "The release",
        "Who publishes what, and what for?",
        (("curator",), ("intended_use",), ("product",), ("publication_date",), ("links",)),
    ),
    (
        "The promise",
        "How private is it, and for whom?",
        (("flavour",), ("unit_of_privacy",), ("parameters", "goal"), ("trust_model",)),
    ),
    (
        "What the promise rests on",
        "What was taken for granted, and why was it done in this way?",
        (
            ("data_domain",),
            ("public_quantities",),
            ("contribution_bound",),
            ("composition",),
            ("implementation", "security"),
            ("reasons",),
        ),
    ),
    (
        "The learning",
        "What was run, how was it accounted for, and what is left open?",
        (
            ("adjacency",),
            ("mechanism",),
            ("sampling",),
            ("steps",),
            ("accountant",),
            ("profile",),
            ("covered",),
            ("tuning",),
            ("preprocessing",),
            ("nonprivate_statistics",),
            ("noise_source",),
            ("code_version", "time", "ledger_entry"),
            ("retries",),
            ("audit",),
            ("utility",),
            ("limits",),
        ),
    ),
)

_TITLES = {
    "parameters": "Its parameters, and what was asked for",
    "implementation": "Implementation and security",
    "code_version": "Versions, time, and entry in the ledger",
}

HINTS = {
    "curator": "who answers for the data and for this release: an organisation or a person, and how to reach them.",
    "intended_use": "what the release is meant for, and what it should not be used for.",
    "product": "what is published, for a reader who has never heard of it, and in which form.",
    "publication_date": "the day on which the release is published.",
    "links": "where the release, its documentation and the rules that it follows can be read.",
    "data_domain": "what the records are: about whom, from where and when, and which values are possible.",
    "contribution_bound": "how many records one person can have at most, and what makes sure of it.",
    "reasons": "why this epsilon is acceptable and who decided it; then why this delta, adjacency and method.",
    "tuning": (
        "every other run on the same data, and how each of them was charged; and how this model was chosen among "
        "others: if by scores on private data, that is not covered."
    ),
    "preprocessing": "what was done to the data before the fit, and whether it looked at several records together.",
    "nonprivate_statistics": "which numbers of the data were looked at without privacy (means, ranges, plots), if any.",
    "ledger_entry": "where this release is booked, if anywhere: it was charged to no budget of dperm.",
    "retries": "which runs failed or were repeated, and whether they were charged.",
    "utility": "how good the release is, with confidence intervals and by group, and on which data that was measured.",
}
"""What to write into a field that only the user can know."""


def _tiers() -> Iterator[Tier]:
    number = 0
    for title, question, groups in _LAYOUT:
        items = tuple(Item(number + place, keys) for place, keys in enumerate(groups, start=1))
        number += len(items)
        yield Tier(title, question, items)


TIERS = tuple(_tiers())
"""All tiers; "status" and "meaning" head the page and have no number."""

ITEMS = tuple(item for tier in TIERS for item in tier.items)
"""The 31 fields."""


def gap_text(key: str) -> str:
    """What a gap says to a reader."""
    return f"{'Required. ' if key in REQUIRED else ''}Only the curator can know this: {HINTS[key]}"
