# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Plain-language summary of a statement, the same for pages and Markdown: title, guarantee, exclusions, key facts."""

import math
import re
from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any

from dperm.presentation.glossary import HIDDEN, method_description, term
from dperm.presentation.numbers import format_number, format_parameters, format_up
from dperm.presentation.phrases import capitalize, join_sentences
from dperm.privacy.protection import format_success, is_effective
from dperm.report import fields as names
from dperm.report.audits import summarize_audits
from dperm.report.budget_facts import (
    account_name,
    ancestors_from_top,
    format_limit,
    format_spending,
    joint_guarantee,
    later_changes,
    limit_changes,
    time_of_charge,
)
from dperm.report.definitions import change, is_count_protected, neighbours, several_units, unit_of
from dperm.report.field_values import (
    as_mapping,
    is_pair,
    known_part,
    receipt_of,
    stated_part,
    uncovered_parts,
    uncovered_scores_alone,
)
from dperm.report.headline import NO_LIMIT, headline
from dperm.report.metric_facts import BASELINE, DIGITS, EVALUATED, EVALUATED_MODEL, HELD_OUT, HIDDEN_KEY, ROWS

NO_GUARANTEE = "There is no guarantee for the people in the data. Handle the release like the data themselves."
CLAIMED_ONLY = (
    "An audit has refuted this guarantee. The claim below is false for the audited mechanism; see field 29. Handle "
    "the release like the data themselves."
)
NOT_COVERED = (
    "The guarantee of the fit applies to the prepared rows. Transformers fitted to the private data prepared these "
    "rows, so one record can change all of them. The guarantee therefore sets no limit on an attacker. Handle the "
    "release like the data themselves."
)
SCORES_NOT_COVERED = (
    "The guarantee of the fit covers its coefficients, for parameters that were fixed before the data were seen. "
    "Models were evaluated on the private data without noise. The guarantee sets no limit on an attacker who sees the "
    "scores, or a model that was chosen by them."
)
FULL_PROFILE = (
    "These numbers follow from the whole privacy profile of the mechanism (field 21), which can imply tighter bounds "
    "than {pair} alone."
)
STATED_RECORDS = (
    "A person {} has less protection. Largest number of {}s per person, as stated by the curator (not checked): "
)
_LONGEST_TITLE = 90
_LONGEST_TARGET = 40
_LONGEST_STATED = 300
_GROUPS = {
    "epsilon": "epsilon is k times as large",
    "rho": "rho is k squared times as large",
    "mu": "mu is k times as large",
}
_DELTA_GROWS = ", and delta is more than k times as large"


def title_of(fields: Mapping[str, object]) -> str:
    """Return a short title: the stated product, or the model or mechanism."""
    product, public, mechanism = fields["product"], fields["public_quantities"], fields["mechanism"]
    if isinstance(product, str) and product != names.NOT_STATED and 0 < len(product) <= _LONGEST_TITLE:
        return product.rstrip(".")
    if isinstance(public, Mapping) and public.get("estimator"):
        return f"{_split_words(str(public['estimator']).removeprefix('Private'))} (model)"
    if isinstance(public, Mapping) and public.get("model"):
        return f"{public['model']} (PyTorch model)"
    name = mechanism.get("name", "") if isinstance(mechanism, Mapping) else ""
    evaluated = evaluated_model(fields)
    if evaluated:
        return f"Evaluation of {_split_words(str(evaluated['class']).removeprefix('Private'))}{_of_target(fields)}"
    return f"{capitalize(term(name))} (release)" if name else "A release"


def evaluated_model(fields: Mapping[str, object]) -> Mapping[str, Any]:
    """Return class and digests of the model that an evaluation measured; empty for other releases."""
    found = as_mapping(as_mapping(fields["public_quantities"]).get(EVALUATED_MODEL))
    return found if found.get("class") else {}


def _of_target(fields: Mapping[str, object]) -> str:
    target = as_mapping(fields["public_quantities"]).get("target")
    return f" for target {target}" if target and len(str(target)) <= _LONGEST_TARGET else ""


def heading(fields: Mapping[str, object]) -> str:
    """Return the kind of statement: "Privacy statement", "REFUTED BY AN AUDIT" or "NOT PRIVATE"."""
    kinds = {names.PRIVATE: "Privacy statement", names.REFUTED: "REFUTED BY AN AUDIT"}
    return kinds.get(str(fields["status"]), "NOT PRIVATE")


def guarantee_sentences(fields: Mapping[str, object]) -> Iterator[str]:
    """Yield the guarantee in plain sentences."""
    parameters, meaning, profile = fields["parameters"], fields["meaning"], as_mapping(fields["profile"])
    if not isinstance(meaning, list):
        yield NO_GUARANTEE
        return
    if fields["status"] == names.REFUTED:
        yield CLAIMED_ONLY
    elif uncovered_parts(fields):
        yield SCORES_NOT_COVERED if uncovered_scores_alone(fields) else NOT_COVERED
        return
    pair = parameters if isinstance(parameters, Mapping) and "epsilon" in parameters else None
    if pair is not None:
        yield _definition(fields, pair) + _without_delta(pair, profile)
    yield from meaning
    if pair is not None:
        yield FULL_PROFILE.format(pair="epsilon and delta" if pair.get("delta") else "epsilon")
    yield from joint_guarantee(receipt_of(fields))


def exclusions(fields: Mapping[str, object]) -> list[str]:
    """Return sentences about everything that is not covered; persons with several records come first."""
    limits = fields["limits"]
    return [_several_records(fields), *map(str, limits if isinstance(limits, list) else ())]


def _several_records(fields: Mapping[str, object]) -> str:
    """Return the statement about group privacy (T4) for the parameters of the guarantee."""
    stated, parameters = stated_part("contribution_bound", fields["contribution_bound"]), fields["parameters"]
    if stated not in (None, names.NOT_STATED):
        is_short = isinstance(stated, str) and len(stated) <= _LONGEST_STATED
        quotation = f'"{str(stated).rstrip(".")}".' if is_short else "see field 12."
        return STATED_RECORDS.format(several_units(fields), unit_of(fields)) + quotation
    numbers = as_mapping(parameters)
    weaker = next((text for name, text in _GROUPS.items() if name in numbers), "the guarantee is weaker")
    delta = _DELTA_GROWS if numbers.get("delta") and not _holds_without_delta(fields) else ""
    several = f"for a person {several_units(fields, 'k')}, {weaker}{delta}"
    return f"A person {several_units(fields)} has less protection: {several}."


def _definition(fields: Mapping[str, object], parameters: Mapping[str, Any]) -> str:
    """Return the definition of differential privacy (T1) with its numbers, in one sentence."""
    epsilon, delta = float(parameters["epsilon"]), float(parameters.get("delta", 0.0))
    factor = format_up(math.exp(epsilon), 3) if epsilon < 700 else "e^" + format_up(epsilon)
    slack = f", plus an additive term of at most 1 in {_one_in(delta)}" if delta > 0 else ""
    return f"{change(fields)}, the probability of any result changes by a factor of at most {factor}{slack}."


def _without_delta(parameters: Mapping[str, Any], profile: Mapping[str, Any]) -> str:
    """Return the guarantee at delta = 0, from the privacy profile."""
    pure = profile.get("epsilon_at_delta_zero")
    if not parameters.get("delta") or pure is None:
        return ""
    if pure <= parameters["epsilon"]:
        return " The guarantee also holds with delta = 0, without the additive term."
    return f" With delta = 0, without the additive term, the guarantee holds with epsilon = {format_up(pure)}."


def _holds_without_delta(fields: Mapping[str, object]) -> bool:
    """Whether an (epsilon, delta) guarantee also holds with delta = 0; then k records have (k epsilon, 0) (T4)."""
    pure = as_mapping(fields["profile"]).get("epsilon_at_delta_zero")
    return pure is not None and float(pure) <= as_mapping(fields["parameters"]).get("epsilon", 0.0)


def _one_in(delta: float) -> str:
    """Return 1/delta, rounded down to three digits: one in this number is never below delta."""
    number = int(1 / Decimal(repr(delta)))
    scale = 10 ** max(0, len(str(number)) - 3)
    return f"{number // scale * scale:,}"


def _split_words(name: str) -> str:
    """Return a class name as separate words, such as "Logistic Regression"."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name)


def key_facts(fields: Mapping[str, object]) -> list[tuple[str, str]]:
    """Return the key facts of a statement as pairs (name, text), without empty ones."""
    return [(name, text) for name, text in _all_facts(fields) if text]


def _all_facts(fields: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    public, mechanism = as_mapping(fields["public_quantities"]), as_mapping(fields["mechanism"])
    private, entry = fields["status"] in names.PROMISING, receipt_of(fields)
    refuted = fields["status"] == names.REFUTED
    yield "Guarantee", _guarantee(fields)
    yield "Audits", summarize_audits(fields["audit"], as_mapping(fields["parameters"]).get("epsilon"))
    yield "Requested", "" if private else format_parameters(as_mapping(fields["goal"]))
    yield from () if refuted else _attack_success(fields)
    yield "Protects", _protected_unit(fields, entry) if private and not refuted else "nobody"
    yield "Neighbouring data sets", neighbours(fields) if private else ""
    protected = private and is_count_protected(fields)
    yield _count_name("records", protected), _format_count(public.get("n"), protected)
    yield _count_name("groups of records", protected), _format_count(public.get("n_groups"), protected)
    yield "Method", method_description(mechanism.get("name", ""))
    yield "Evaluated model", _evaluated(fields)
    yield _first_metric(fields)
    yield "Data set", str(entry.get("dataset", ""))
    yield "Charged to", _charged(entry)
    for ancestor in ancestors_from_top(entry):
        name = _short_name(ancestor)
        title = f"Limit of parent {name}" if ancestor.get("parents") else f"Joint limit ({name})"
        limit, spending = format_limit(as_mapping(ancestor.get("limit"))), format_spending(ancestor)
        yield title, f"{limit} when this release was charged; spent: {spending}"
    yield f"Limit of {_short_name(entry)}", _limit(entry, private)
    yield "Time of the run", str(fields["time"]).replace("T", " ").replace("+00:00", " UTC")


def _first_metric(fields: Mapping[str, object]) -> tuple[str, str]:
    """Return the first metric of an evaluation stage with its interval; an empty text without one."""
    known = as_mapping(known_part("utility", fields["utility"])) if is_pair("utility", fields["utility"]) else {}
    rows = known.get(ROWS)
    if not isinstance(rows, list) or not rows:
        return "", ""
    first = as_mapping(rows[0])
    level = 100 * float(str(known.get("level", 0.95)))
    held_out = str(known.get(EVALUATED)).startswith(HELD_OUT.partition(";")[0])
    title = f"{capitalize(str(first['metric']))} on {'held-out' if held_out else 'the evaluated'} records"
    guess = next((as_mapping(row) for row in rows if as_mapping(row).get("metric") == BASELINE), None)
    beside = "" if guess is None else f"; {BASELINE}: {_estimated(guess, level)}"
    return title, f"{_estimated(first, level)}{beside}"


def _estimated(row: Mapping[str, Any], level: float) -> str:
    """Return a metric with its interval as text."""
    low, value, high = (format_number(float(row[name]), digits=DIGITS) for name in ("low", "estimate", "high"))
    return f"{HIDDEN if row.get(HIDDEN_KEY) else value} ({level:g} % interval {low} to {high})"


def _evaluated(fields: Mapping[str, object]) -> str:
    """Return class, target and file digest of the model that an evaluation measured; empty for other releases."""
    model = evaluated_model(fields)
    if not model:
        return ""
    file = f"; SHA-256 of the model file: {model['sha256_of_file']}" if model.get("sha256_of_file") else ""
    edits = model.get("edits")
    changed = f"; changed after its release: {', '.join(map(str, edits))}" if isinstance(edits, list) else ""
    return f"{model['class']}{_of_target(fields).replace(' for target', ', target')}{changed}{file}"


def _short_name(receipt: Mapping[str, Any]) -> str:
    return account_name(receipt).removeprefix("the ")


def _charged(entry: Mapping[str, Any]) -> str:
    """Return the charged account with the entry of its ledger; empty without a charge."""
    if not entry:
        return ""
    number = f" (ledger entry {entry['seq']})" if entry.get("seq") is not None else ""
    return f"{capitalize(_short_name(entry))}{number}"


def _guarantee(fields: Mapping[str, object]) -> str:
    claim = format_parameters(as_mapping(fields["parameters"])) or str(fields["flavour"])
    if uncovered_parts(fields):
        scores = uncovered_scores_alone(fields)
        part = "scores on the private data are" if scores else "the preparation of the data is"
        claim = f"{claim} for the fit alone; {part} NOT COVERED"
    texts = {names.PRIVATE: claim, names.REFUTED: f"REFUTED: {claim} was claimed and is false"}
    return texts.get(str(fields["status"]), "none (NOT PRIVATE)")


def _count_name(units: str, protected: bool) -> str:
    return f"Declared number of {units}" if protected else capitalize(units)


def _format_count(number: object, protected: bool) -> str:
    """Return a public number with a note if the true number is protected; empty without a number."""
    if not isinstance(number, int):
        return ""
    return f"{number:,}{' (may differ from the true number, which is protected)' if protected else ''}"


def _limit(entry: Mapping[str, Any], private: bool) -> str:
    """Return the limit in a receipt, and its changes before and possibly after the charge."""
    if not entry.get("limit"):
        return ""
    return join_sentences(
        (
            f"{format_limit(as_mapping(entry['limit']))} {time_of_charge(entry)}.",
            "The limit was changed after the account was opened." if limit_changes(entry) else "",
            later_changes(entry),
            "" if private else "This release has no guarantee; the limit applies to the other releases.",
        )
    )


def _protected_unit(fields: Mapping[str, object], entry: Mapping[str, Any]) -> str:
    proved, unit = str(fields["unit_of_privacy"]).partition(".")[0], entry.get("unit")
    return f"{proved} (declared unit: {unit})" if unit and unit != proved else proved


def _attack_success(fields: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    """Yield the success rate of the best attack on this release, and on all releases of the covering account."""
    found = headline(fields)
    if found.release is not None:
        yield "An attacker's best guess", _guess(found.release.success)
    if found.together is not None:
        yield f"Best guess from everything charged to {found.covering}", _guess(found.together.success)


def _guess(success: float) -> str:
    return format_success(success) if is_effective(success) else f"{format_success(success)}: {NO_LIMIT}"
