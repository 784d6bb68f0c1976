# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Audits as a page shows them: the verdict first, each bound in a line, numbers rounded down: they are floors."""

from collections.abc import Mapping

from dperm.audit.finding import WITHIN_CLAIM
from dperm.report.audits import claim_beside, refutes
from dperm.report.audits_in_short import POWERLESS
from dperm.report.numbers import as_text, rounded_down, rounded_up
from dperm.report.plain import capital

FIRST = ("result", "subject")
_PEOPLE = ("rest", "record", "other")
"""Rows of an exact audit's neighbours: [features, target, how many]."""
_NAMES = {
    "bounds": "lower bounds",
    "dim": "coefficients",
    "at": "largest at theta",
    "rest": "the others",
    "record": "the record",
    "other": "in its place",
    "dperm": "version of dperm",
}


def audits_shown(audits: object) -> object:
    """A list of audits, each in the order in which it is read; anything else as it is."""
    if not isinstance(audits, list):
        return audits
    return [_shown(audit) if isinstance(audit, Mapping) else audit for audit in audits]


def _shown(audit: Mapping[str, object]) -> object:
    """One sentence and the bounds of a finding; anything else in the order in which it is read."""
    bounds = audit.get("bounds")
    if isinstance(bounds, Mapping) and "result" in audit:
        return {_sentence(audit): {name: _bound(bound, audit) for name, bound in bounds.items()}}
    first = {name: audit[name] for name in FIRST if name in audit}
    rest = {_NAMES.get(name, name): _part(name, value) for name, value in audit.items() if name not in FIRST}
    return {**first, **rest}


def _sentence(audit: Mapping[str, object]) -> str:
    """What was attacked, how often, and what came out; all else is in the JSON."""
    runs = audit.get("runs")
    often = f", {runs:,} runs" if isinstance(runs, int) else ""
    powerless = f" {capital(str(audit[POWERLESS]))}" if audit.get(POWERLESS) else ""
    result = str(audit["result"]).rstrip(".")
    explanation = str(audit.get("explanation") or (WITHIN_CLAIM if not refutes(audit) else ""))
    subject = capital(str(audit.get("subject", "audit")))
    return " ".join(part for part in (f"{subject}{often}. {result}.{powerless}", explanation, "Lower bounds") if part)


def _part(name: str, value: object) -> object:
    if name == "bounds" and isinstance(value, Mapping):
        return {statistic: _bound(bound, {}) for statistic, bound in value.items()}
    if name in _PEOPLE:
        return _people(value)
    return ("exact" if value == 1 else _percent(value)) if name == "confidence" else value


def _bound(bound: object, audit: Mapping[str, object]) -> object:
    """One line with the claim and the value of no leak; an infinite epsilon is null in JSON."""
    if not isinstance(bound, Mapping):
        return bound
    epsilon, delta, confidence = (bound.get(name) for name in ("epsilon", "delta", "confidence"))
    size = "infinite" if epsilon is None else f"at least {_floor(epsilon)}"
    claimed = claim_beside(bound, audit)
    baseline = f"({'' if claimed is None else f'claimed: at most {rounded_up(claimed, 4)}, '}no leak: 0)"
    level = "exactly" if confidence == 1 else f"with {_percent(confidence)} confidence"
    assumes = f"; assumes that {bound['assumes']}" if bound.get("assumes") else ""
    return f"epsilon {size} {baseline} at delta {_floor(delta)}, {level}: {bound.get('method', '')}{assumes}"


def _floor(value: object) -> object:
    return rounded_down(value) if isinstance(value, int | float) else value


def _percent(value: object) -> object:
    return f"{rounded_down(100 * value)} %" if isinstance(value, int | float) else value


def _people(rows: object) -> object:
    """Rows in words, such as "x = 1, y = 1"; "nobody" where there is none."""
    if rows is None:
        return "nobody"
    if _is_row(rows):
        return _row(rows)
    if isinstance(rows, list) and rows and all(_is_row(row) for row in rows):
        return "; ".join(f"{row[2]} with {_row(row)}" for row in rows)
    return rows


def _is_row(row: object) -> bool:
    return isinstance(row, list) and len(row) == 3 and isinstance(row[0], list) and not isinstance(row[1], list)


def _row(row: object) -> str:
    assert isinstance(row, list)
    return f"x = {', '.join(as_text(entry) for entry in row[0])}, y = {as_text(row[1])}"
