# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Fields of a statement: names, titles, order, numbered tiers, and the texts of its status.

The statuses, `NOT_STATED`, `NOTHING`, `NONE`, `FLAVOURS`, `DECLARED` and `UNCOVERED` are stored in JSON and read back.
Changing them breaks stored statements.
"""

from collections.abc import Iterator
from dataclasses import dataclass

NOT_STATED = "not stated"
"""Marks a gap: only the user can know the value, and has not given it."""
NOTHING = "nothing"
NONE = "none"
NOT_RECORDED = "not recorded"

FIELDS = {
    "status": "Privacy",
    "meaning": "Meaning",
    "curator": "Curator",
    "intended_use": "Intended use",
    "product": "Released product",
    "publication_date": "Publication date",
    "links": "Links",
    "goal": "Requested guarantee",
    "flavour": "Variant of differential privacy",
    "parameters": "Privacy parameters",
    "unit_of_privacy": "Unit of privacy",
    "trust_model": "Trust model",
    "adjacency": "Adjacency",
    "data_domain": "Data domain",
    "public_quantities": "Public quantities",
    "contribution_bound": "Records per unit of privacy",
    "composition": "Composition and post-processing",
    "covered": "Scope of the guarantee",
    "implementation": "Implementation",
    "security": "Security",
    "reasons": "Reasons for epsilon and the other choices",
    "mechanism": "Mechanism",
    "sampling": "Sampling",
    "steps": "Steps",
    "accountant": "Accountant",
    "profile": "Privacy profile",
    "tuning": "Tuning runs",
    "preprocessing": "Preprocessing",
    "nonprivate_statistics": "Non-private statistics of the data",
    "noise_source": "Noise source",
    "code_version": "Software versions",
    "time": "Time of the run",
    "ledger_entry": "Ledger entry",
    "retries": "Failed and repeated runs",
    "audit": "Audits",
    "utility": "Utility",
    "limits": "Limitations",
}
"""Titles of all fields, by name."""

STATED_BY_THE_USER = (
    "curator",
    "intended_use",
    "product",
    "publication_date",
    "links",
    "data_domain",
    "contribution_bound",
    "reasons",
    "tuning",
    "preprocessing",
    "nonprivate_statistics",
    "ledger_entry",
    "retries",
    "utility",
)
"""Fields that the user may state. The others follow from the release and cannot be overwritten."""

PARTLY_KNOWN = (
    "contribution_bound",
    "data_domain",
    "reasons",
    "tuning",
    "preprocessing",
    "nonprivate_statistics",
    "utility",
)
"""Fields that the run knows in part; the user states the rest."""

BESIDE = (*PARTLY_KNOWN, "ledger_entry", "retries")
"""Fields that keep the facts of the run beside the user's text; the text never replaces them."""

REQUIRED = ("curator", "contribution_bound", "reasons", "tuning", "preprocessing", "nonprivate_statistics")
"""Fields without which the protection of a person is not rated.

They state who is responsible, why epsilon was chosen, how many records a person has, and what else was learned from
the same data.
"""

NONE_IS_AN_ANSWER = ("tuning", "preprocessing", "nonprivate_statistics")
"""Required fields in which "none" states a fact; in the others it is a placeholder."""

FLAVOURS = {
    "PureDP": "pure: epsilon-DP",
    "ApproxDP": "approximate: (epsilon, delta)-DP",
    "ZCDP": "zero-concentrated: rho-zCDP",
    "GDP": "Gaussian: mu-GDP",
    "RDP": "Renyi DP",
}

SEEDED = (
    "NOT PRIVATE: the noise follows from a seed, and whoever knows the seed can subtract it. Nothing is promised; the "
    "same run without a seed would have met what was asked for."
)
NO_NOISE = "NOT PRIVATE: epsilon = inf was asked for, no noise was added, and there is no guarantee."
PRIVATE = "PRIVATE, as far as is stated below."
REFUTED = (
    "REFUTED BY AN AUDIT: what is claimed below and what an audit has measured cannot both be true. Rely on nothing "
    "that is promised here until that is explained."
)
PROMISING = (PRIVATE, REFUTED)
"""Statuses of statements that claim a guarantee."""

_STATUS_TEXTS = {
    PRIVATE: "PRIVATE, within the limits stated below.",
    SEEDED: (
        "NOT PRIVATE: the noise was drawn from a seed, and anyone who knows the seed can subtract the noise. No "
        "guarantee holds. The same run without a seed would have met the requested guarantee."
    ),
    NO_NOISE: "NOT PRIVATE: epsilon = inf was requested. No noise was added, and there is no guarantee.",
    REFUTED: (
        "REFUTED BY AN AUDIT: the guarantee claimed below contradicts the measurement of an audit. Do not rely on "
        "this statement until the contradiction is explained."
    ),
}

DECLARED = "columns, as declared"
"""Key of the declared schema in the known part of ``data_domain``."""
UNCOVERED = "NOT COVERED: "
"""Start of a fact that no statement of the user can make up for."""
UNCOVERED_SCORES = UNCOVERED + "the scores "
"""Start of the fact that models were evaluated on the private data; the guarantee of the fit itself holds."""


def status_text(status: object) -> str:
    """Return a stored status in the words shown to readers."""
    return _STATUS_TEXTS.get(str(status), str(status))


@dataclass(frozen=True)
class NumberedField:
    """Numbered entry of the page: one field of a statement, or several related ones."""

    number: int
    keys: tuple[str, ...]

    @property
    def title(self) -> str:
        """Heading of the entry on the page."""
        return _TITLES.get(self.keys[0], FIELDS[self.keys[0]])


@dataclass(frozen=True)
class Tier:
    """Section of numbered fields that answer one question."""

    title: str
    question: str
    items: tuple[NumberedField, ...]


_LAYOUT = (
    (
        "The release",
        "Who publishes what, and for what purpose?",
        (("curator",), ("intended_use",), ("product",), ("publication_date",), ("links",)),
    ),
    (
        "The guarantee",
        "How private is the release, and for whom?",
        (("flavour",), ("unit_of_privacy",), ("parameters", "goal"), ("trust_model",)),
    ),
    (
        "Assumptions and choices",
        "Which assumptions does the guarantee rest on, and why were these choices made?",
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
        "The run",
        "What was run, how was it accounted for, and which questions remain open?",
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
    "parameters": "Privacy parameters and requested guarantee",
    "implementation": "Implementation and security",
    "code_version": "Software versions, time and ledger entry",
}

HINTS = {
    "curator": "the organization or person responsible for the data and this release, with contact details.",
    "intended_use": "the purpose of the release, and uses for which it is not suitable.",
    "product": "the published product and its form, described for readers without prior knowledge.",
    "publication_date": "the date on which the release is published.",
    "links": "URLs of the release, its documentation and the applicable rules.",
    "data_domain": "the people whom the records describe, the time and place of collection, and the possible values.",
    "contribution_bound": "the largest number of records of one person, and how this limit is enforced.",
    "reasons": "why this epsilon is acceptable, who approved it, and why this delta, adjacency and method were chosen.",
    "tuning": (
        "every other run on the same data, with the charge for that run, and how this model was selected. Selection by "
        "scores on private data is not covered."
    ),
    "preprocessing": "all changes to the data before the fit, and whether any of them combined several records.",
    "nonprivate_statistics": (
        "statistics that were computed from the data without differential privacy and seen by anyone (means, ranges, "
        "plots), if any."
    ),
    "ledger_entry": "where this release is recorded, if anywhere. It was not charged to an account of a dperm ledger.",
    "retries": "runs that failed or were repeated, and whether they were charged.",
    "utility": (
        "the accuracy of the release, overall and by group, with confidence intervals and a description of the test "
        "data."
    ),
}
"""Contents of the fields that only the user can know."""


def _tiers() -> Iterator[Tier]:
    number = 0
    for title, question, groups in _LAYOUT:
        items = tuple(NumberedField(number + place, keys) for place, keys in enumerate(groups, start=1))
        number += len(items)
        yield Tier(title, question, items)


TIERS = tuple(_tiers())
"""Sections of the page. The first three follow the public registry of deployments, the last is about learned models.

"status" and "meaning" head the page and have no number.
"""

ITEMS = tuple(item for tier in TIERS for item in tier.items)
"""The 31 numbered fields."""


MEASURED = "utility"
OTHER_MEASUREMENTS = "measurements of utility that are not listed above, and a description of the test data."
"""Hint of the field on utility of a release with private metrics."""


def gap_text(key: str, *, known: bool = False) -> str:
    """Return the text shown in place of a missing field; ``known`` says that facts of the run stand above it."""
    hint = OTHER_MEASUREMENTS if known and key == MEASURED else HINTS[key]
    return f"{'Required. ' if key in REQUIRED else ''}To be stated by the curator: {hint}"
