# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""The head of the page, in plain words: status, promise, what is not covered, key facts, gaps."""

import math
import re
from collections.abc import Iterator, Mapping
from decimal import Decimal
from html import escape
from typing import Any

from dperm.report import fields as words
from dperm.report.ledger_facts import account_of, limit_in_words
from dperm.report.numbers import percent, rounded_up
from dperm.report.stated import gaps_of, known_part
from dperm.report.tiers import ITEMS
from dperm.report.web.values import definitions

NEIGHBOURS = {
    "replace_one": "one record replaced by another (replace_one); the number of records is public",
    "add_remove": "one record added or removed (add_remove); the number of records is protected",
}
_CHANGES = {"replace_one": "Replace any one record by any other", "add_remove": "Add or remove any one record"}
NO_PROMISE = (
    "Nothing is promised about the people in the data. Treat the release as you would treat the data themselves."
)
WEAK = 0.9
"""Beyond this rate of right guesses the page says that the promise is weak."""
_LONGEST_TITLE = 90


def title_of(fields: Mapping[str, object]) -> str:
    """What the page is about, in a few words."""
    product, public, mechanism = fields["product"], fields["public_quantities"], fields["mechanism"]
    if isinstance(product, str) and product != words.NOT_STATED and 0 < len(product) <= _LONGEST_TITLE:
        return product.rstrip(".")
    if isinstance(public, Mapping) and public.get("estimator"):
        return f"Model: {_spaced(str(public['estimator']).removeprefix('Private'))}"
    name = mechanism.get("name", "") if isinstance(mechanism, Mapping) else ""
    return f"Release: {name}" if name else "A release"


def status_html(fields: Mapping[str, object]) -> str:
    """Private or not, so that nobody can miss it."""
    if fields["status"] == words.PRIVATE:
        return f'<div class="status good"><p class="word">Private</p><p>{_promise_in_short(fields)}</p></div>'
    why = str(fields["status"]).removeprefix("NOT PRIVATE: ")
    return f'<div class="status bad"><p class="word">NOT PRIVATE</p><p>{escape(_capital(why))}</p></div>'


def promise_html(fields: Mapping[str, object]) -> str:
    """What is promised, in sentences."""
    return "".join(f"<p>{escape(sentence)}</p>" for sentence in _promise(fields))


def covered_html(fields: Mapping[str, object]) -> str:
    """What is covered, and what is not; nothing where nothing is promised."""
    limits = fields["limits"]
    if fields["status"] != words.PRIVATE or not isinstance(limits, list):
        return ""
    items = "".join(f"<li>{escape(str(line))}</li>" for line in limits)
    covered = f"<h2>What is covered</h2><p>{escape(_capital(str(fields['covered'])))}</p>"
    return f"{covered}<h2>What is not covered</h2><ul>{items}</ul>"


def card_html(fields: Mapping[str, object]) -> str:
    """The key facts."""
    return definitions((name, escape(text)) for name, text in _facts(fields) if text)


def gaps_html(fields: Mapping[str, object]) -> str:
    """Which fields wait for the user, with links to them; nothing if none does."""
    gaps = gaps_of(fields)
    if not gaps:
        return ""
    numbers = {key: item.number for item in ITEMS for key in item.keys}
    links = ", ".join(f'<a href="#field-{numbers[key]}">{escape(words.FIELDS[key])}</a>' for key in gaps)
    count = "One gap" if len(gaps) == 1 else f"{len(gaps)} gaps"
    return f'<div class="gaps"><p><strong>{count} that only the curator can fill:</strong> {links}.</p></div>'


def _promise_in_short(fields: Mapping[str, object]) -> str:
    limits = _limits(fields["parameters"])
    said = f"<strong>{escape(limits)}</strong>" if limits else escape(str(fields["flavour"]))
    unit = str(fields["unit_of_privacy"]).partition(".")[0]
    return f"{said}, for {escape(unit)}. What that means, and how far it goes, is said below."


def _limits(parameters: object) -> str:
    """Such as "epsilon = 1, delta = 1e-6"."""
    if not isinstance(parameters, Mapping):
        return ""
    numbers = {name: value for name, value in parameters.items() if isinstance(value, int | float)}
    return ", ".join(f"{name} = {rounded_up(value)}" for name, value in numbers.items())


def _promise(fields: Mapping[str, object]) -> Iterator[str]:
    parameters, meaning, profile = fields["parameters"], fields["meaning"], fields["profile"]
    if not isinstance(meaning, list):
        yield NO_PROMISE
        return
    if isinstance(parameters, Mapping) and "epsilon" in parameters:
        yield _change(str(fields["adjacency"]), parameters)
    yield from meaning
    if isinstance(profile, Mapping) and float(profile["accuracy"]) > WEAK:
        yield (
            f"Mind these numbers: the promise holds, but it is a weak one. It leaves room for an attacker who is right "
            f"up to {percent(float(profile['accuracy']))} of the time."
        )


def _change(adjacency: str, parameters: Mapping[str, Any]) -> str:
    """The definition (T1), in a sentence."""
    epsilon, delta = float(parameters["epsilon"]), float(parameters.get("delta", 0.0))
    factor = rounded_up(math.exp(epsilon), 3) if epsilon < 700 else "e^" + rounded_up(epsilon)
    slack = f", apart from a remainder of at most one in {_one_in(delta)}" if delta > 0 else ""
    changed = _CHANGES.get(adjacency, "Change one record")
    return f"{changed}, and the probability of any result changes by a factor of at most {factor}{slack}."


def _one_in(delta: float) -> str:
    """1/delta, rounded down to three digits: one in so many is never below delta."""
    number = int(1 / Decimal(repr(delta)))
    scale = 10 ** max(0, len(str(number)) - 3)
    return f"{number // scale * scale:,}"


def _facts(fields: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    public, mechanism = _mapping(fields["public_quantities"]), _mapping(fields["mechanism"])
    private, entry = fields["status"] == words.PRIVATE, _mapping(known_part("ledger_entry", fields["ledger_entry"]))
    yield "Promise", (_limits(fields["parameters"]) or str(fields["flavour"])) if private else "none: NOT PRIVATE"
    yield "Asked for", "" if private else _limits(fields["goal"])
    yield "An attacker's best guess", _guess(fields["profile"])
    yield "Protects", _protected(fields, entry) if private else "nobody"
    yield "Neighbours", NEIGHBOURS.get(str(fields["adjacency"]), "") if private else ""
    yield "Records", f"{public['n']:,}" if isinstance(public.get("n"), int) else ""
    yield "Method", str(mechanism.get("name", ""))
    yield "Data set", str(entry.get("dataset", ""))
    yield "Booked in", f"{_capital(account_of(entry).removeprefix('the '))}, entry {entry.get('seq')}" if entry else ""
    yield "Limit of all releases", limit_in_words(_mapping(entry.get("limit"))) if entry.get("limit") else ""
    yield "Time of the run", str(fields["time"]).replace("T", " ").replace("+00:00", " UTC")


def _protected(fields: Mapping[str, object], entry: Mapping[str, Any]) -> str:
    proved, unit = str(fields["unit_of_privacy"]).partition(".")[0], entry.get("unit")
    return f"{proved} (declared unit: {unit})" if unit and unit != proved else proved


def _guess(profile: object) -> str:
    if not isinstance(profile, Mapping):
        return ""
    return f"right at most {percent(float(profile['accuracy']))} of the time, instead of 50 %"


def _spaced(name: str) -> str:
    """Words in place of camels: Logistic Regression."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name)


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
