# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""The head of a statement in plain words, the same for pages and Markdown: title, promise, what is not covered."""

import math
import re
from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any

from dperm.report import fields as words
from dperm.report.labels import epsilon_first
from dperm.report.labels import words as in_words
from dperm.report.ledger_facts import together
from dperm.report.numbers import rounded_up
from dperm.report.stated import known_part, stated_part
from dperm.report.unit import change, several, unit_of

NO_PROMISE = (
    "Nothing is promised about the people in the data. Treat the release as you would treat the data themselves."
)
CLAIMED_ONLY = (
    "An audit has refuted this. What follows is what was claimed, and it is not true of what was audited; see field "
    "29. Treat the release as you would treat the data themselves."
)
NOT_COVERED = (
    "The fit keeps its guarantee for the rows that it was given. Transformers fitted to the private data prepared "
    "these rows, so one record can change all of them. No limit on an attacker follows. Treat the release as you would "
    "treat the data themselves."
)
CURVE = (
    "These numbers follow from the whole curve of the mechanism, which can promise more than {pair} alone; the plots "
    "and the privacy profile show it."
)
_LONGEST_TITLE = 90
_GROUPS = {
    "epsilon": "with k times this epsilon",
    "rho": "with k squared times this rho",
    "mu": "with k times this mu",
}
_DELTA_GROWS = ", and delta becomes more than k times as large"
STATED_RECORDS = "A person {} has less protection than one {} has. Stated by the curator, not checked: "
_LONGEST_STATED = 300


def title_of(fields: Mapping[str, object]) -> str:
    """What the statement is about, in a few words."""
    product, public, mechanism = fields["product"], fields["public_quantities"], fields["mechanism"]
    if isinstance(product, str) and product != words.NOT_STATED and 0 < len(product) <= _LONGEST_TITLE:
        return product.rstrip(".")
    if isinstance(public, Mapping) and public.get("estimator"):
        return f"Model: {_spaced(str(public['estimator']).removeprefix('Private'))}"
    if isinstance(public, Mapping) and public.get("model"):
        return f"Model: {public['model']} (PyTorch)"
    name = mechanism.get("name", "") if isinstance(mechanism, Mapping) else ""
    return f"Release: {in_words(name)}" if name else "A release"


def heading(fields: Mapping[str, object]) -> str:
    """What kind of statement it is: the first words of the page."""
    kinds = {words.PRIVATE: "Privacy statement", words.REFUTED: "REFUTED BY AN AUDIT"}
    return kinds.get(str(fields["status"]), "NOT PRIVATE")


def limits_of(parameters: object) -> str:
    """Such as "epsilon = 1, delta = 1e-6"."""
    if not isinstance(parameters, Mapping):
        return ""
    numbers = {name: value for name, value in epsilon_first(parameters).items() if isinstance(value, int | float)}
    return ", ".join(f"{name} = {rounded_up(value)}" for name, value in numbers.items())


def promised(fields: Mapping[str, object]) -> Iterator[str]:
    """What is promised, in sentences."""
    parameters, meaning, profile = fields["parameters"], fields["meaning"], as_mapping(fields["profile"])
    if not isinstance(meaning, list):
        yield NO_PROMISE
        return
    if fields["status"] == words.REFUTED:
        yield CLAIMED_ONLY
    elif uncovered_preparation(fields):
        yield NOT_COVERED
        return
    pair = parameters if isinstance(parameters, Mapping) and "epsilon" in parameters else None
    if pair is not None:
        yield _change(fields, pair) + _without_delta(pair, profile)
    yield from meaning
    if pair is not None:
        yield CURVE.format(pair="epsilon and delta" if pair.get("delta") else "epsilon")
    yield from together(receipt_of(fields))


def uncovered_preparation(fields: Mapping[str, object]) -> tuple[str, ...]:
    """Return the sentences about a preparation of the data that the guarantee does not cover; empty for most fits."""
    limits = fields["limits"]
    return (
        tuple(str(line) for line in limits if str(line).startswith(words.UNCOVERED)) if isinstance(limits, list) else ()
    )


def not_covered(fields: Mapping[str, object]) -> list[str]:
    """What is not covered, or not to be relied on; the persons with several records first."""
    limits = fields["limits"]
    return [_several_records(fields), *map(str, limits if isinstance(limits, list) else ())]


def receipt_of(fields: Mapping[str, object]) -> Mapping[str, Any]:
    """The receipt of the budget that was charged; empty without one."""
    return as_mapping(known_part("ledger_entry", fields["ledger_entry"]))


def as_mapping(value: object) -> Mapping[str, Any]:
    """The value if it is a mapping; else an empty one."""
    return value if isinstance(value, Mapping) else {}


def capital(text: str) -> str:
    """With a capital letter."""
    return text[:1].upper() + text[1:]


def _several_records(fields: Mapping[str, object]) -> str:
    """Group privacy (T4), of the kind that is promised."""
    stated, parameters = stated_part("contribution_bound", fields["contribution_bound"]), fields["parameters"]
    if stated not in (None, words.NOT_STATED):
        is_short = isinstance(stated, str) and len(stated) <= _LONGEST_STATED
        said = f'"{str(stated).rstrip(".")}".' if is_short else "see field 12."
        return STATED_RECORDS.format(several(fields), unit_of(fields)) + said
    numbers = as_mapping(parameters)
    less = next((text for name, text in _GROUPS.items() if name in numbers), "less")
    delta = _DELTA_GROWS if numbers.get("delta") else ""
    of_one_person = f"k {unit_of(fields)}s of one person are protected {less}{delta}"
    return f"A person {several(fields)} has less protection: {of_one_person}."


def _change(fields: Mapping[str, object], parameters: Mapping[str, Any]) -> str:
    """The definition (T1), in a sentence."""
    epsilon, delta = float(parameters["epsilon"]), float(parameters.get("delta", 0.0))
    factor = rounded_up(math.exp(epsilon), 3) if epsilon < 700 else "e^" + rounded_up(epsilon)
    slack = f", apart from a remainder of at most one in {_one_in(delta)}" if delta > 0 else ""
    return f"{change(fields)}, and the probability of any result changes by a factor of at most {factor}{slack}."


def _without_delta(parameters: Mapping[str, Any], profile: Mapping[str, Any]) -> str:
    """Whether the same holds with delta = 0, by the curve."""
    pure = profile.get("epsilon_at_delta_zero")
    if not parameters.get("delta") or pure is None:
        return ""
    if pure <= parameters["epsilon"]:
        return " It holds with delta = 0 too, without this remainder."
    return f" With delta = 0, without this remainder, epsilon = {rounded_up(pure)} holds."


def _one_in(delta: float) -> str:
    """1/delta, rounded down to three digits: one in so many is never below delta."""
    number = int(1 / Decimal(repr(delta)))
    scale = 10 ** max(0, len(str(number)) - 3)
    return f"{number // scale * scale:,}"


def _spaced(name: str) -> str:
    """Words in place of camels: Logistic Regression."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name)
