# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Contradictions between the fields of a stored statement."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from dperm.errors import EventFormatError
from dperm.privacy.guarantee import guarantee_as_dict, guarantee_from_dict
from dperm.report import fields as names
from dperm.report.audits import is_refuted
from dperm.report.budget_facts import ANCESTORS
from dperm.report.definitions import unit_of
from dperm.report.field_values import as_mapping, known_part, receipt_of

NO_PROMISE = ("meaning", "flavour", "parameters", "unit_of_privacy", "trust_model", "profile", "covered")
"""Fields with the value "nothing" in a statement without a guarantee."""
_MAPPINGS = ("mechanism", "noise_source", "accountant", "sampling")
"""Fields that describe a run with noise."""
_TEXTS = ("flavour", "unit_of_privacy", "trust_model", "composition", "covered", "implementation", "security", "time")
_RATES = ("advantage", "accuracy", "posterior", "surprise")
_PAIRS = {
    "true_positive_rates": ("false_positive_rate", "true_positive_rate"),
    "epsilons": ("delta", "epsilon"),
}
_OR_NULL = ("gdp_mu", "epsilon_at_delta_zero")
_PROFILE = {"adjacency", *_RATES, *_PAIRS, *_OR_NULL}


def contradictions(fields: Mapping[str, object]) -> Iterator[str]:
    """Yield the contradictions, as endings of the sentence "cannot read a statement: ..."."""
    yield from _shapes(fields)
    status = fields["status"]
    if status in names.PROMISING:
        yield from _of_a_promise(fields)
        if is_refuted(fields["audit"]) is not (status == names.REFUTED):
            yield "its status does not follow from its audits."
    elif status in (names.SEEDED, names.NO_NOISE):
        yield from _of_no_promise(fields)
    else:
        yield "its status is unknown."


def _of_a_promise(fields: Mapping[str, object]) -> Iterator[str]:
    nothing = [name for name in NO_PROMISE if fields[name] == names.NOTHING]
    nothing += [name for name in _MAPPINGS if not isinstance(fields[name], Mapping)]
    if nothing:
        yield f"it is PRIVATE, but its {nothing[0]} is empty."
    goal, numbers = _guarantee(fields["goal"]), as_mapping(fields["parameters"])
    head = {"kind": as_mapping(fields["goal"]).get("kind"), "adjacency": fields["adjacency"]}
    if goal is None or goal != _guarantee({**numbers, **head}) or head.keys() & numbers.keys():
        yield "its goal does not match its parameters and its adjacency."
    elif fields["flavour"] != names.FLAVOURS[str(goal["kind"])]:
        yield "its flavour does not match its goal."
    if not str(fields["unit_of_privacy"]).startswith(f"one {unit_of(fields)}"):
        yield "its unit of privacy does not match its public quantities."
    if not _is_texts(fields["meaning"]):
        yield "its meaning is not a list of sentences."
    if not _is_profile(as_mapping(fields["profile"]), fields["adjacency"]):
        yield "its profile is incomplete or has impossible numbers."
    if "NOT PRIVATE" in json.dumps([fields["noise_source"], fields["limits"]]) or _all_seeded(receipt_of(fields)):
        yield "it is PRIVATE, but its noise, its limits or its ledger entry say NOT PRIVATE."


def _of_no_promise(fields: Mapping[str, object]) -> Iterator[str]:
    promising = [name for name in NO_PROMISE if fields[name] != names.NOTHING]
    if promising:
        yield f"it is NOT PRIVATE, but its {promising[0]} is not empty."
    goal = _guarantee(fields["goal"]) if fields["status"] == names.SEEDED else None
    requested = (names.NOTHING, names.NOTHING) if goal is None else (goal, goal["adjacency"])
    if (fields["goal"], fields["adjacency"]) != requested or (goal is None) != (fields["status"] == names.NO_NOISE):
        yield "its goal and its adjacency do not match a run that is NOT PRIVATE."
    if fields["limits"] != [fields["status"]]:
        yield "it is NOT PRIVATE, but its limits do not say so."


def _shapes(fields: Mapping[str, object]) -> Iterator[str]:
    """Yield the fields with values of an unknown form."""
    right = {
        **{name: isinstance(fields[name], str) and fields[name] != "" for name in _TEXTS},
        **{name: isinstance(fields[name], Mapping) or fields[name] == names.NONE for name in _MAPPINGS},
        "public_quantities": isinstance(fields["public_quantities"], Mapping),
        "limits": _is_texts(fields["limits"]),
        "accountant": fields["accountant"] == names.NONE or _is_accountant(as_mapping(fields["accountant"])),
        "ledger_entry": _is_receipt(known_part("ledger_entry", fields["ledger_entry"])),
    }
    yield from (f"its {name} has an unknown form." for name, holds in right.items() if not holds)


def _is_accountant(accountant: Mapping[str, object]) -> bool:
    tags = accountant.get("theorems")
    return isinstance(tags, list) and all(isinstance(tag, str) for tag in tags)


def _is_receipt(receipt: object) -> bool:
    """Return whether there is no receipt, or all of its accounts have a limit and a spending."""
    if receipt is None:
        return True
    above = as_mapping(receipt).get(ANCESTORS, [])
    if not isinstance(above, list) or not all(isinstance(one, Mapping) and "account" in one for one in above):
        return False
    return all(_is_account(one) for one in (receipt, *above))


def _is_account(receipt: object) -> bool:
    """Return whether an account has a limit, names of parents, and spending in the currencies of its capacity."""
    parents = as_mapping(receipt).get("parents", [])
    if not isinstance(parents, list) or not all(isinstance(parent, str) for parent in parents):
        return False
    spent, capacity = (as_mapping(as_mapping(receipt).get(name)) for name in ("spent", "capacity"))
    numbers = all(_is_number(value) for value in (*spent.values(), *capacity.values()))
    limit = _guarantee(as_mapping(receipt).get("limit"))
    return limit is not None and numbers and bool(spent) and spent.keys() == capacity.keys()


def _guarantee(data: object) -> dict[str, Any] | None:
    """Return a valid guarantee as JSON stores it; None for other data."""
    try:
        found = guarantee_from_dict(data) if isinstance(data, Mapping) else None
    except EventFormatError:
        return None
    return None if found is None else dict(json.loads(json.dumps(guarantee_as_dict(found))))


def _is_texts(value: object) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(text, str) and text for text in value)


def _is_profile(profile: Mapping[str, Any], adjacency: object) -> bool:
    if profile.keys() != _PROFILE or profile["adjacency"] != adjacency:
        return False
    pairs = all(_are_pairs(profile[name], keys) for name, keys in _PAIRS.items())
    rates = all(_is_number(profile[name], 1.0) for name in _RATES)
    return pairs and rates and all(profile[name] is None or _is_number(profile[name]) for name in _OR_NULL)


def _are_pairs(rows: object, keys: tuple[str, str]) -> bool:
    """Return whether the rows have these keys and valid numbers; null stands for an infinite number."""
    if not isinstance(rows, list) or not rows:
        return False
    known = all(isinstance(row, Mapping) and row.keys() == set(keys) for row in rows)
    return (
        known
        and all(_is_number(row[keys[0]], 1.0) for row in rows)
        and all(row[keys[1]] is None or _is_number(row[keys[1]]) for row in rows)
    )


def _is_number(value: object, most: float = float("inf")) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= most


def _all_seeded(receipt: Mapping[str, Any]) -> bool:
    """Return whether all charged runs used a seed, including this release."""
    seeded, *counts = (receipt.get(name, 0) for name in ("seeded", "releases", "burned", "open"))
    return all(_is_number(count) for count in (seeded, *counts)) and seeded >= sum(counts) > 0
