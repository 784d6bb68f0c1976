# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""The audits of a file once more: verdicts follow from bounds and claim, and a file that says otherwise is refused."""

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from dperm.errors import DpermError

if TYPE_CHECKING:
    from dperm.audit import Finding
    from dperm.methods.plan import Plan
    from dperm.privacy.profile import PrivacyProfile

_TOLD = ("subject", "claimed", "confidence", "bounds", "result", "explanation", "violation", "dperm")
"""What every audit has; the rest are facts."""


def disagreement(audit: Mapping[str, Any], plan: "Plan") -> str:
    """In what an audit differs from what follows from its own bounds and from the claim of the plan; nothing if not."""
    from dperm.cli.audit.power import powerless
    from dperm.report.audits import POWERLESS

    try:
        subject, finding = _again(audit, plan)
        words = powerless(finding, subject) if subject is not None else ""
    except (DpermError, KeyError, TypeError, ValueError, AttributeError):
        return "data"
    right = {"violation": finding.violation, "result": str(finding), POWERLESS: words}
    differs = next((name for name, value in right.items() if audit.get(name, "") != value), "")
    return differs or _baseline_disagreement(audit, finding)


def _baseline_disagreement(audit: Mapping[str, Any], finding: "Finding") -> str:
    """The baseline that is not the one of the finding; audits written before version 0.9.0 have none."""
    from dperm.audit.lower_bound import NO_LEAK

    if not finding.matches_explanation(audit.get("explanation", finding.explanation)):
        return "explanation"
    for name, data in audit["bounds"].items():
        claimed = finding.claimed_epsilon(finding.bounds[name].delta)
        right = {"claimed_epsilon": claimed if math.isfinite(claimed) else None, **NO_LEAK}
        if any(not _is_same(data[key], value) for key, value in right.items() if key in data):
            return "claimed epsilon"
    return ""


def _is_same(written: object, right: float | None) -> bool:
    if right is None or not isinstance(written, int | float):
        return written is right
    return math.isclose(written, right, rel_tol=1e-9)


def _again(audit: Mapping[str, Any], plan: "Plan") -> "tuple[Any, Finding]":
    """What was attacked (nothing for an exact audit), and the finding."""
    from dperm.audit import Finding
    from dperm.audit.black_box import of_plan
    from dperm.privacy.guarantee import guarantee_from_dict

    subject = None if audit["confidence"] == 1 else of_plan(plan)
    claimed, profile = _exact(plan) if subject is None else (subject.claimed, subject.profile)
    if guarantee_from_dict(audit["claimed"]) != claimed:
        raise ValueError("another claim")
    bounds = {str(name): _bound(bound) for name, bound in audit["bounds"].items()}
    facts = {name: value for name, value in audit.items() if name not in _TOLD}
    return subject, Finding(str(audit["subject"]), claimed, bounds, audit["confidence"], profile, facts)


def _bound(data: Mapping[str, Any]) -> Any:
    from dperm.audit import LowerBound
    from dperm.audit.lower_bound import NO_LEAK

    epsilon = math.inf if data["epsilon"] is None else data["epsilon"]
    own = {name: value for name, value in data.items() if name not in ("claimed_epsilon", *NO_LEAK)}
    return LowerBound(**{**own, "epsilon": epsilon})


def _exact(plan: "Plan") -> "tuple[Any, PrivacyProfile | None]":
    """Claim and curve of the exact audit of a plan."""
    from dperm.accounting import account
    from dperm.audit.exact.objective import objective_of_plan
    from dperm.methods.objective import ObjectivePlan

    if isinstance(plan, ObjectivePlan):
        found = objective_of_plan(plan)
        return found.claimed, found.profile
    return plan.goal, account(plan.event, plan.adjacency)
