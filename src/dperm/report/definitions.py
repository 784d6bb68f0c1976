# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Unit of privacy, neighbouring data sets, and the mathematical definitions at the end of a statement."""

import json
from collections.abc import Iterator, Mapping

from dperm.privacy.record import Record
from dperm.report import fields as names

RECORD, GROUP = "record", "group"
CONTRIBUTION = (
    "One record per person is assumed, not checked. A person with k records has only the weaker guarantee for groups "
    "of k records."
)
ONE_GROUP = "one group (all records with one key, of which at most {} are used)"
GROUP_CONTRIBUTION = (
    "At most {} records of each group were used: the first ones in the order of the data set. The run enforced this "
    "limit. The keys are not checked: the curator must ensure that all records of a person are in one group."
)
_NEIGHBOURS = {
    "replace_one": "one {0} replaced by another (replace_one); the number of {0}s is public",
    "add_remove": "one {0} added or removed (add_remove); the number of {0}s is protected",
}
_CHANGES = {
    "replace_one": "If any one {0} is replaced by any other",
    "add_remove": "If any one {0} is added or removed",
}
_CHANGED = {"replace_one": "replaced", "add_remove": "added or removed"}
_DATA_SETS = {
    "replace_one": "D and D' have the same number of {0}s and differ in one of them.",
    "add_remove": "D' is D with one {0} added or removed.",
}
_SEVERAL = {RECORD: "with {} records", GROUP: "in {} groups"}

DEFINITIONS = {
    "PureDP": "P(M(D) ∈ S) ≤ e^ε P(M(D') ∈ S)  for all neighbours D, D' and all events S.",
    "ApproxDP": "P(M(D) ∈ S) ≤ e^ε P(M(D') ∈ S) + δ  for all neighbours D, D' and all events S.",
    "ZCDP": "D_α(M(D) ‖ M(D')) ≤ ρ α  for all neighbours D, D' and all orders α > 1 (Rényi divergence).",
    "GDP": (
        "Distinguishing M(D) from M(D') is at least as hard as distinguishing N(0, 1) from N(μ, 1), for all neighbours "
        "D, D'."
    ),
    "RDP": "D_α(M(D) ‖ M(D')) ≤ τ(α)  for all neighbours D, D', at the orders α of the curve (Rényi divergence).",
}
PROFILE = "δ(ε) = sup over neighbours of sup over S of P(M(D) ∈ S) − e^ε P(M(D') ∈ S)"
ATTACK = "TPR ≤ 1 − sup over ε of max(0, 1 − δ(ε) − e^ε x, e^−ε (1 − δ(ε) − x))  at FPR x"


def unit_of(fields: Mapping[str, object]) -> str:
    """Return the unit of privacy of a statement: "record" or "group"."""
    public = fields["public_quantities"]
    return GROUP if isinstance(public, Mapping) and public.get("unit") == GROUP else RECORD


def is_count_protected(fields: Mapping[str, object]) -> bool:
    """Return whether the guarantee protects the number of records, so that a public number is only declared."""
    return fields["adjacency"] == "add_remove"


def neighbours(fields: Mapping[str, object]) -> str:
    """Return the definition of neighbouring data sets in one line; an unknown adjacency is returned unchanged."""
    adjacency = str(fields["adjacency"])
    return _NEIGHBOURS.get(adjacency, adjacency).format(unit_of(fields))


def changed_by(fields: Mapping[str, object]) -> str:
    """Return the change of one record as a participle, "replaced" or "added or removed"."""
    return _CHANGED.get(str(fields["adjacency"]), "changed")


def change(fields: Mapping[str, object]) -> str:
    """Return the change between neighbouring data sets as a conditional clause, "If any one record is ..."."""
    return _CHANGES.get(str(fields["adjacency"]), "If one {0} changes").format(unit_of(fields))


def several_units(fields: Mapping[str, object], number: str = "several") -> str:
    """Return the phrase for a person that group privacy applies to: "with several records" or "in several groups"."""
    return _SEVERAL[unit_of(fields)].format(number)


def unit_description(record: Record) -> str:
    """Return the proved unit of privacy."""
    return f"one {RECORD}" if record.unit == RECORD else ONE_GROUP.format(_records_per_group(record))


def contribution(record: Record) -> str:
    """Return the number of records per unit of privacy, and whether it is enforced."""
    return CONTRIBUTION if record.unit == RECORD else GROUP_CONTRIBUTION.format(_records_per_group(record))


def _records_per_group(record: Record) -> object:
    return record.public.get("records_per_group", names.NOT_RECORDED)


def mathematics(fields: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    """Yield definition, privacy profile, event and theorems as pairs (kind, text).

    The kinds are "text", "formula" and "code". A run without a guarantee has the event alone.
    """
    yield from _definition(fields)
    mechanism, accountant = fields["mechanism"], fields["accountant"]
    event = mechanism.get("event") if isinstance(mechanism, Mapping) else None
    tags = accountant.get("theorems") if isinstance(accountant, Mapping) else None
    if event:
        yield from (("text", "Accounted event:"), ("code", json.dumps(event, indent=1)))
    if tags:
        yield "text", f"Theorems, by their tags in the dperm documentation: {', '.join(map(str, tags))}."


def _definition(fields: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    goal = fields["goal"]
    if fields["status"] not in names.PROMISING or not isinstance(goal, Mapping):
        yield "text", "There is no guarantee to define."
        return
    data_sets = _DATA_SETS.get(str(fields["adjacency"]), "").format(unit_of(fields))
    yield "text", f"Neighbouring data sets: {data_sets}"
    yield from (("text", "Guarantee of the mechanism M:"), ("formula", DEFINITIONS[str(goal["kind"])]))
    yield from (("text", "Privacy profile:"), ("formula", PROFILE))
    bound = "Bound on the true-positive rate (TPR) of every attack at a false-positive rate (FPR):"
    yield from (("text", bound), ("formula", ATTACK))
