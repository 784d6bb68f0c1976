# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Audit files: findings with the attacked claim.

Reading checks that the file belongs to the model, and that its verdicts follow from its bounds and the claim.
"""

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dperm.errors import DpermError, ParameterError

if TYPE_CHECKING:
    from dperm.audit import Finding
    from dperm.methods.plan import Plan
    from dperm.privacy import Record
    from dperm.privacy.profile import PrivacyProfile

FORMAT = 1
_KEYS = {"dperm_audit", "of", "audits"}
_PLANNED = ("guarantee", "event", "numbers")
_AUDIT_KEYS = ("subject", "claimed", "confidence", "bounds", "result", "explanation", "violation", "dperm")
"""Keys of every audit; all others are facts."""


def write_audit(path: Path, plan: "Plan", findings: Sequence["Finding"]) -> None:
    """Write the findings on a plan, atomically."""
    from importlib.metadata import version

    from dperm.cli.audit.findings_output import plain
    from dperm.cli.output import strict
    from dperm.report.whole_file import write_text

    audits = [{**plain(finding.as_dict()), "dperm": version("dperm")} for finding in findings]
    data = strict({"dperm_audit": FORMAT, "of": _claim(plan), "audits": audits})
    write_text(path, json.dumps(data, indent=2, allow_nan=False) + "\n")


def read_audits(paths: Sequence[Path], estimator: Any) -> list[Mapping[str, Any]]:
    """Read audits of the plan of a fitted estimator.

    Raises
    ------
    ParameterError
        If a file is not an audit, belongs to another model, or contradicts itself.
    """
    from dperm.sklearn.replan import replan

    found = [(path, audit) for path in paths for audit in _read(path, estimator.record_)]
    plan = replan(estimator) if found else None
    for path, audit in found:
        if plan is not None:
            _require_agreement(path, audit, plan)
    return [audit for _, audit in found]


def _require_agreement(path: Path, audit: Mapping[str, Any], plan: "Plan") -> None:
    differs = disagreement(audit, plan)
    if differs:
        raise ParameterError(
            f"--audit: {path} contradicts itself: its {differs} does not follow from its bounds and the claim of this "
            "model. It was changed, or written by another version. Run dperm audit model again."
        )


def _claim(plan: "Plan") -> dict[str, object]:
    """Return guarantee, event and numbers of a plan."""
    from dperm.cli.audit.findings_output import plain
    from dperm.cli.event_input import event_data
    from dperm.privacy.guarantee import guarantee_as_dict

    return {
        "guarantee": guarantee_as_dict(plan.goal),
        "event": event_data(plan.event),
        "numbers": plain(plan.describe()),
    }


def _read(path: Path, record: "Record | None") -> list[Mapping[str, Any]]:
    data = _loaded(path)
    if record is None:
        raise ParameterError(f"--audit: {path} cannot belong to a model that was fitted without noise. Leave it out.")
    differs = _difference(data["of"], record)
    if differs:
        raise ParameterError(
            f"--audit: {path} is the audit of another model: its {differs} differs from this model. Run dperm audit "
            "model on this model."
        )
    return list(data["audits"])


def _loaded(path: Path) -> dict[str, Any]:
    """Return the content of an audit file of a known format."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError):
        data = None
    if not isinstance(data, dict) or data.keys() != _KEYS or not _is_shaped(data):
        raise ParameterError(f"--audit: {path} is not a file written by dperm audit model --out.")
    if data["dperm_audit"] != FORMAT:
        raise ParameterError(f"--audit: {path} has format {data['dperm_audit']}, and this version reads {FORMAT}.")
    return data


def _is_shaped(data: Mapping[str, Any]) -> bool:
    audits, of = data["audits"], data["of"]
    listed = isinstance(audits, list) and bool(audits) and all(isinstance(audit, dict) for audit in audits)
    return listed and isinstance(of, dict) and of.keys() == set(_PLANNED) and isinstance(of["numbers"], dict)


def _difference(of: Mapping[str, Any], record: "Record") -> str:
    """Return the first field in which claim and record differ; empty if they agree."""
    from dperm.cli.audit.findings_output import plain
    from dperm.privacy.guarantee import guarantee_as_dict

    if of["guarantee"] != plain(guarantee_as_dict(record.guarantee)):
        return "guarantee"
    if of["event"] != record.event:
        return "event"
    return next((name for name, value in of["numbers"].items() if record.public.get(name) != value), "")


def disagreement(audit: Mapping[str, Any], plan: "Plan") -> str:
    """Return the wrong field of an audit, given its bounds and the claim of the plan; empty if all are right."""
    from dperm.cli.audit.power import powerless
    from dperm.report.audits import POWERLESS

    try:
        subject, finding = _rebuilt(audit, plan)
        reason = powerless(finding, subject) if subject is not None else ""
    except (DpermError, KeyError, TypeError, ValueError, AttributeError):
        return "data"
    right = {"violation": finding.violation, POWERLESS: reason}
    differs = next((name for name, value in right.items() if audit.get(name, "") != value), "")
    if not differs and not finding.matches_result(audit.get("result")):
        return "result"
    return differs or _baseline_disagreement(audit, finding)


def _baseline_disagreement(audit: Mapping[str, Any], finding: "Finding") -> str:
    """Return the wrong baseline field; empty if all are right, or missing as in audits before version 0.9.0."""
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


def _rebuilt(audit: Mapping[str, Any], plan: "Plan") -> "tuple[Any, Finding]":
    """Return the attacked subject (None for an exact audit), and the finding made again."""
    from dperm.audit import Finding
    from dperm.audit.black_box import of_plan
    from dperm.privacy.guarantee import guarantee_from_dict

    subject = None if audit["confidence"] == 1 else of_plan(plan)
    claimed, profile = _exact(plan) if subject is None else (subject.claimed, subject.profile)
    if guarantee_from_dict(audit["claimed"]) != claimed:
        raise ValueError("another claim")
    bounds = {str(name): _bound(bound) for name, bound in audit["bounds"].items()}
    facts = {name: value for name, value in audit.items() if name not in _AUDIT_KEYS}
    return subject, Finding(
        str(audit["subject"]), claimed, bounds=bounds, confidence=audit["confidence"], profile=profile, facts=facts
    )


def _bound(data: Mapping[str, Any]) -> Any:
    from dperm.audit import LowerBound
    from dperm.audit.lower_bound import NO_LEAK

    epsilon = math.inf if data["epsilon"] is None else data["epsilon"]
    own = {name: value for name, value in data.items() if name not in ("claimed_epsilon", *NO_LEAK)}
    return LowerBound(**{**own, "epsilon": epsilon})


def _exact(plan: "Plan") -> "tuple[Any, PrivacyProfile | None]":
    """Return claim and privacy profile of the exact audit of a plan."""
    from dperm.accounting import account
    from dperm.audit.exact.objective import objective_of_plan
    from dperm.methods.objective import ObjectivePlan

    if isinstance(plan, ObjectivePlan):
        found = objective_of_plan(plan)
        return found.claimed, found.profile
    return plan.goal, account(plan.event, plan.adjacency)
