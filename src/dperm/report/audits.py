# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Audits as they enter a statement: as plain data, and a refutation turns its status."""

import math
from collections.abc import Iterable, Mapping
from typing import Any

from dperm.errors import ParameterError
from dperm.report import fields as words
from dperm.report.stated import kind_of

VIOLATION = "VIOLATION"
"""How the verdict of a finding begins that refutes a claim."""


def audits_of(audits: object) -> object:
    """Findings, or mappings of plain data, as the list that a statement holds; "none" without any.

    Raises
    ------
    ParameterError
        If they are anything else.
    """
    rule = "audits must be a list of mappings of plain data, or of findings"
    if not isinstance(audits, Iterable) or isinstance(audits, Mapping | str | bytes):
        raise ParameterError(f"{rule}, got {kind_of(audits)}.")
    return [_data(audit, f"{rule}; item {place} is") for place, audit in enumerate(audits)] or words.NONE


def with_verdict(fields: Mapping[str, object]) -> dict[str, object]:
    """The fields, with the status that follows from the audits; where nothing is promised, nothing is refuted."""
    if fields["status"] not in words.PROMISING:
        return dict(fields)
    return {**fields, "status": words.REFUTED if is_refuted(fields["audit"]) else words.PRIVATE}


def is_refuted(audits: object) -> bool:
    """Whether one of the audits has found a violation."""
    return any(map(refutes, listed(audits)))


def refutes(audit: Mapping[str, Any]) -> bool:
    """Whether an audit says so, in its verdict or in words."""
    return audit.get("violation") is True or str(audit.get("result", "")).startswith(VIOLATION)


def claim_beside(bound: Mapping[str, Any], audit: Mapping[str, Any]) -> float | None:
    """The claimed epsilon at the delta of a bound; None where no finite epsilon is claimed, or nobody knows.

    Audits written before version 0.9.0 have it only where the claim is made at the same delta.
    """
    claimed = bound.get("claimed_epsilon")
    if isinstance(claimed, int | float):
        return float(claimed)
    goal = audit.get("claimed")
    if "claimed_epsilon" in bound or not isinstance(goal, Mapping) or goal.get("delta", 0.0) != bound.get("delta"):
        return None
    return float(goal["epsilon"]) if isinstance(goal.get("epsilon"), int | float) else None


def listed(audits: object) -> list[Mapping[str, Any]]:
    """The audits that can be read; none where there is no list of them."""
    return [audit for audit in audits if isinstance(audit, Mapping)] if isinstance(audits, list | tuple) else []


def _data(audit: object, wrong: str) -> Mapping[str, object]:
    from dperm.audit.finding import Finding

    if isinstance(audit, Finding):
        audit = audit.as_dict()
    if not isinstance(audit, Mapping):
        raise ParameterError(f"{wrong} {kind_of(audit)}.")
    return {str(name): _plain(item) for name, item in audit.items()}


def _plain(value: Any) -> Any:
    """What JSON has: arrays and numbers of numpy become Python's, and an infinite number null."""
    if isinstance(value, Mapping):
        return {str(name): _plain(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if hasattr(value, "tolist"):
        return _plain(value.tolist())
    return None if isinstance(value, float) and math.isinf(value) else value
