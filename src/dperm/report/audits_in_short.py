# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""All audits of a statement in a line: none, how much of the claim they have reached, or that it is refuted."""

import math
from collections.abc import Iterator, Mapping
from typing import Any

from dperm.report import fields as words
from dperm.report.audits import claim_beside, is_refuted, listed, refutes
from dperm.report.numbers import rounded_down, rounded_up

POWERLESS = "powerless"
"""The fact of a finding that says why it could not have refuted anything."""


def audits_in_short(audits: object, promised: object = None) -> str:
    """Such as "2 audits, no violation found: epsilon >= 0.98 at 95 % confidence, claimed 1 (no leak: 0)".

    ``promised`` is the epsilon of the statement: where an audit is about a part of it, the line says so.
    """
    found = listed(audits)
    if not found:
        return "none: nobody has tried to refute it" if audits == words.NONE else str(audits)
    count = f"{len(found)} audit{'s' if len(found) > 1 else ''}"
    if is_refuted(audits):
        return f"REFUTED by {sum(map(refutes, found))} of {count}"
    if all(audit.get(POWERLESS) for audit in found):
        return f"{count}, and none could have refuted anything: too few runs"
    sizes = [(size, _part(audit, promised)) for audit in found for size in _sizes(audit)]
    largest, part = max(sizes, default=(None, ""))
    return f"{count}, no violation found" + (f": epsilon >= {_size(*largest)}{part} (no leak: 0)" if largest else "")


def refutation(fields: Mapping[str, object]) -> str:
    """The first verdict that refutes the claim; nothing if none does."""
    if fields["status"] != words.REFUTED:
        return ""
    return next(str(audit.get("result", "")) for audit in listed(fields["audit"]) if refutes(audit))


def _sizes(audit: Mapping[str, Any]) -> Iterator[tuple[float, float, float, float]]:
    """(epsilon, confidence, delta, claimed epsilon) of all bounds that assume nothing; infinite without a claim."""
    bounds = audit.get("bounds")
    for bound in bounds.values() if isinstance(bounds, Mapping) else ():
        if isinstance(bound, Mapping) and not bound.get("assumes"):
            numbers: list[Any] = [bound.get(name) for name in ("epsilon", "confidence", "delta")]
            if all(isinstance(number, int | float) for number in numbers):
                claimed = claim_beside(bound, audit)
                level = min(numbers[1], _confidence(audit))
                yield numbers[0], level, numbers[2], math.inf if claimed is None else claimed


def _part(audit: Mapping[str, Any], promised: object) -> str:
    """That the audited mechanism uses a part of the promised epsilon, and another mechanism the rest."""
    goal = audit.get("claimed")
    claimed = goal.get("epsilon") if isinstance(goal, Mapping) else None
    if not isinstance(promised, int | float) or not isinstance(claimed, int | float) or claimed >= promised:
        return ""
    return f", the part of epsilon {rounded_up(promised, 4)} that the audited mechanism uses"


def _confidence(audit: Mapping[str, Any]) -> float:
    """Of all bounds of the audit together."""
    found = audit.get("confidence")
    return float(found) if isinstance(found, int | float) else 1.0


def _size(epsilon: float, confidence: float, delta: float, claimed: float) -> str:
    level = "exactly" if confidence == 1 else f"at {rounded_down(100 * confidence)} % confidence"
    at = f" at delta {rounded_down(delta)}" if delta else ""
    beside = "" if math.isinf(claimed) else f", claimed {rounded_up(claimed, 4)}"
    return f"{rounded_down(epsilon, 4)}{at} {level}{beside}"
