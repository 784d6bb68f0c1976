# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Audits of a statement: stored data, verdict on the status, summary line and display."""

import math
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from dperm.audit.finding import WITHIN_CLAIM, Finding
from dperm.errors import ParameterError
from dperm.presentation.numbers import INFINITE, format_down, format_number, format_up
from dperm.presentation.phrases import capitalize, count_of, join_sentences
from dperm.report import fields as names
from dperm.report.field_values import type_name

VIOLATION = "VIOLATION"
"""Start of the verdict of a finding that refutes the claim."""
POWERLESS = "powerless"
"""Key in a finding for the reason why it could not have refuted the claim."""
_RULE = "must be a list of findings, or of mappings of plain data"
_FIRST = ("result", "subject")
_ROWS = ("rest", "record", "other")
"""Keys of an exact audit for rows of its neighbouring data sets: [features, target, number of records]."""
_NAMES = {
    "bounds": "lower bounds",
    "dim": "coefficients",
    "at": "largest at theta",
    "rest": "other records",
    "record": "the record",
    "other": "its replacement",
    "dperm": "dperm version",
}


def audits_of(audits: object) -> object:
    """Return findings or mappings as the list that a statement stores; "none" without any.

    Raises
    ------
    ParameterError
        If ``audits`` is not a list of findings or mappings.
    """
    if not isinstance(audits, Iterable) or isinstance(audits, Mapping | str | bytes):
        raise ParameterError(argument="audits", rule=_RULE, got=type_name(audits))
    return [_stored(audit, place) for place, audit in enumerate(audits)] or names.NONE


def _stored(audit: object, place: int) -> Mapping[str, object]:
    if isinstance(audit, Finding):
        audit = audit.as_dict()
    if not isinstance(audit, Mapping):
        raise ParameterError(argument="audits", rule=_RULE, got=f"{type_name(audit)} as item {place}")
    return {str(name): _plain(item) for name, item in audit.items()}


def _plain(value: Any) -> Any:
    """Return a value as JSON stores it: numpy arrays as lists, infinite numbers as null."""
    if isinstance(value, Mapping):
        return {str(name): _plain(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if hasattr(value, "tolist"):
        return _plain(value.tolist())
    return None if isinstance(value, float) and math.isinf(value) else value


def listed(audits: object) -> list[Mapping[str, Any]]:
    """Return the audits in mapping form; an empty list if there is no list of audits."""
    return [audit for audit in audits if isinstance(audit, Mapping)] if isinstance(audits, list | tuple) else []


def with_verdict(fields: Mapping[str, object]) -> dict[str, object]:
    """Return the fields with the status implied by the audits; a run without a guarantee keeps its status."""
    if fields["status"] not in names.PROMISING:
        return dict(fields)
    return {**fields, "status": names.REFUTED if is_refuted(fields["audit"]) else names.PRIVATE}


def is_refuted(audits: object) -> bool:
    """Return whether one of the audits has found a violation."""
    return any(map(refutes, listed(audits)))


def refutes(audit: Mapping[str, Any]) -> bool:
    """Return whether an audit found a violation, by its flag or by the text of its result."""
    return audit.get("violation") is True or str(audit.get("result", "")).startswith(VIOLATION)


def refutation(fields: Mapping[str, object]) -> str:
    """Return the first refuting verdict; empty if there is none."""
    if fields["status"] != names.REFUTED:
        return ""
    return next(str(audit.get("result", "")) for audit in listed(fields["audit"]) if refutes(audit))


def claimed_epsilon(bound: Mapping[str, Any], audit: Mapping[str, Any]) -> float | None:
    """Return the claimed epsilon at the delta of a bound; None if it is infinite or unknown.

    Audits of versions before 0.9.0 have it only if the claim was made at the same delta.
    """
    claimed = bound.get("claimed_epsilon")
    if isinstance(claimed, int | float):
        return float(claimed)
    goal = audit.get("claimed")
    if "claimed_epsilon" in bound or not isinstance(goal, Mapping) or goal.get("delta", 0.0) != bound.get("delta"):
        return None
    return float(goal["epsilon"]) if isinstance(goal.get("epsilon"), int | float) else None


def summarize_audits(audits: object, promised: object = None) -> str:
    """Return all audits of a statement in one line.

    An example is "2 audits, no violation found: epsilon >= 0.98 at 95 % confidence, claimed 1 (no leak: 0)".

    Parameters
    ----------
    audits
        Stored value of the field ``audit``.
    promised
        Epsilon of the statement. The line says if an audited mechanism uses only a part of it.
    """
    found = listed(audits)
    if not found:
        return "this release has not been audited" if audits == names.NONE else str(audits)
    count = count_of(len(found), "audit")
    if is_refuted(audits):
        return f"REFUTED by {sum(map(refutes, found))} of {count}"
    if all(audit.get(POWERLESS) for audit in found):
        return f"{count}, none with enough runs to refute the claim"
    bounds = [(bound, _partial_claim(audit, promised)) for audit in found for bound in _unconditional_bounds(audit)]
    largest, part = max(bounds, default=(None, ""))
    if not largest:
        return f"{count}, no violation found"
    return f"{count}, no violation found: epsilon >= {_format_size(*largest)}{part} (no leak: 0)"


def _unconditional_bounds(audit: Mapping[str, Any]) -> Iterator[tuple[float, float, float, float]]:
    """Yield (epsilon, confidence, delta, claimed epsilon) of all bounds without assumptions."""
    bounds = audit.get("bounds")
    for bound in bounds.values() if isinstance(bounds, Mapping) else ():
        if isinstance(bound, Mapping) and not bound.get("assumes"):
            numbers: list[Any] = [bound.get(name) for name in ("epsilon", "confidence", "delta")]
            if all(isinstance(number, int | float) for number in numbers):
                claimed = claimed_epsilon(bound, audit)
                level = min(numbers[1], _joint_confidence(audit))
                yield numbers[0], level, numbers[2], math.inf if claimed is None else claimed


def _joint_confidence(audit: Mapping[str, Any]) -> float:
    found = audit.get("confidence")
    return float(found) if isinstance(found, int | float) else 1.0


def _partial_claim(audit: Mapping[str, Any], promised: object) -> str:
    """Return a phrase if the audited mechanism uses only a part of the promised epsilon."""
    goal = audit.get("claimed")
    claimed = goal.get("epsilon") if isinstance(goal, Mapping) else None
    if not isinstance(promised, int | float) or not isinstance(claimed, int | float) or claimed >= promised:
        return ""
    return f", the part of epsilon {format_up(promised, 4)} that the audited mechanism uses"


def _format_size(epsilon: float, confidence: float, delta: float, claimed: float) -> str:
    level = "with certainty" if confidence == 1 else f"at {_confidence(confidence)} confidence"
    at = f" at delta {format_down(delta)}" if delta else ""
    claim = "" if math.isinf(claimed) else f", claimed {format_up(claimed, 4)}"
    return f"{format_down(epsilon, 4)}{at} {level}{claim}"


def audits_for_display(audits: object) -> object:
    """Return audits in reading order: the verdict first, then one line per bound; other values unchanged.

    Measured epsilons are lower bounds and are rounded down.
    """
    if not isinstance(audits, list):
        return audits
    return [_displayed(audit) if isinstance(audit, Mapping) else audit for audit in audits]


def _displayed(audit: Mapping[str, object]) -> object:
    bounds = audit.get("bounds")
    if isinstance(bounds, Mapping) and "result" in audit:
        return {_summary(audit): {name: _bound_line(bound, audit) for name, bound in bounds.items()}}
    first = {name: audit[name] for name in _FIRST if name in audit}
    rest = {_NAMES.get(name, name): _displayed_part(name, value) for name, value in audit.items() if name not in _FIRST}
    return {**first, **rest}


def _summary(audit: Mapping[str, object]) -> str:
    """Return subject, number of runs and result in one sentence; the JSON has the rest."""
    runs = audit.get("runs")
    count = f", {runs:,} runs" if isinstance(runs, int) else ""
    powerless = f" {capitalize(str(audit[POWERLESS]))}" if audit.get(POWERLESS) else ""
    result = str(audit["result"]).rstrip(".")
    explanation = str(audit.get("explanation") or (WITHIN_CLAIM if not refutes(audit) else ""))
    subject = capitalize(str(audit.get("subject", "audit")))
    return join_sentences((f"{subject}{count}. {result}.{powerless}", explanation, "Lower bounds"))


def _displayed_part(name: str, value: object) -> object:
    if name == "bounds" and isinstance(value, Mapping):
        return {statistic: _bound_line(bound, {}) for statistic, bound in value.items()}
    if name in _ROWS:
        return _format_rows(value)
    return ("exact" if value == 1 else _confidence(value)) if name == "confidence" else value


def _bound_line(bound: object, audit: Mapping[str, object]) -> object:
    """Return a bound with its claim in one line; an infinite epsilon is null in JSON."""
    if not isinstance(bound, Mapping):
        return bound
    epsilon, delta, confidence = (bound.get(name) for name in ("epsilon", "delta", "confidence"))
    size = INFINITE if epsilon is None else f"at least {_rounded_down(epsilon)}"
    claimed = claimed_epsilon(bound, audit)
    baseline = f"({'' if claimed is None else f'claimed: at most {format_up(claimed, 4)}, '}no leak: 0)"
    level = "with certainty" if confidence == 1 else f"with {_confidence(confidence)} confidence"
    assumes = f"; assumes that {bound['assumes']}" if bound.get("assumes") else ""
    return f"epsilon {size} {baseline} at delta {_rounded_down(delta)}, {level}: {bound.get('method', '')}{assumes}"


def _rounded_down(value: object) -> object:
    return format_down(value) if isinstance(value, int | float) else value


def _confidence(value: object) -> object:
    return f"{format_down(100 * value)} %" if isinstance(value, int | float) else value


def _format_rows(rows: object) -> object:
    """Return rows as text, such as "x = 1, y = 1"; "none" without rows."""
    if rows is None:
        return "none"
    if _is_row(rows):
        return _format_row(rows)
    if isinstance(rows, list) and rows and all(_is_row(row) for row in rows):
        return "; ".join(f"{row[2]} with {_format_row(row)}" for row in rows)
    return rows


def _is_row(row: object) -> bool:
    return isinstance(row, list) and len(row) == 3 and isinstance(row[0], list) and not isinstance(row[1], list)


def _format_row(row: object) -> str:
    assert isinstance(row, list)
    return f"x = {', '.join(format_number(entry) for entry in row[0])}, y = {format_number(row[1])}"
