# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Audits as a page shows them: the verdict first, bounds as rows of a table, numbers rounded down: they are floors."""

from collections.abc import Mapping

from dperm.report.numbers import as_text, rounded_down

FIRST = ("result", "subject")
_PEOPLE = ("rest", "record", "other")
"""Rows of an exact audit's neighbours: [features, target, how many]."""


def audits_shown(audits: object) -> object:
    """A list of audits, each in the order in which it is read; anything else as it is."""
    if not isinstance(audits, list):
        return audits
    return [_shown(audit) if isinstance(audit, Mapping) else audit for audit in audits]


def _shown(audit: Mapping[str, object]) -> dict[str, object]:
    first = {name: audit[name] for name in FIRST if name in audit}
    return {**first, **{name: _part(name, value) for name, value in audit.items() if name not in FIRST}}


def _part(name: str, value: object) -> object:
    if name == "bounds" and isinstance(value, Mapping):
        return [_bound(statistic, bound) for statistic, bound in value.items()]
    if name in _PEOPLE:
        return _people(value)
    return f"{as_text(100 * value)} %" if name == "confidence" and isinstance(value, float) else value


def _bound(statistic: str, bound: object) -> dict[str, object]:
    """One row; an infinite epsilon is null in JSON."""
    if not isinstance(bound, Mapping):
        return {"statistic": statistic, "bound": bound}
    epsilon, delta, confidence = (bound.get(name) for name in ("epsilon", "delta", "confidence"))
    return {
        "statistic": statistic,
        "epsilon, at least": "infinite" if epsilon is None else _floor(epsilon),
        "at delta": _floor(delta),
        "confidence": f"{_percent(confidence)}" if confidence != 1 else "exact",
        "method": bound.get("method", ""),
        "assumes": bound.get("assumes") or "nothing more",
    }


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
