# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Files of audits: what was found, and of which claim, so that no statement carries the audit of another model."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dperm.errors import ParameterError

if TYPE_CHECKING:
    from dperm.audit import Finding
    from dperm.methods.plan import Plan
    from dperm.privacy import Record

FORMAT = 1
_KEYS = {"dperm_audit", "of", "audits"}
_PLANNED = ("guarantee", "event", "numbers")


def write_audit(path: Path, plan: "Plan", findings: Sequence["Finding"]) -> None:
    """Whole or not at all."""
    from importlib.metadata import version

    from dperm.cli.audit.printing import plain
    from dperm.cli.output import strict
    from dperm.report.whole_file import write_text

    audits = [{**plain(finding.as_dict()), "dperm": version("dperm")} for finding in findings]
    data = strict({"dperm_audit": FORMAT, "of": _claim(plan), "audits": audits})
    write_text(path, json.dumps(data, indent=2, allow_nan=False) + "\n")


def read_audits(paths: Sequence[Path], estimator: Any) -> list[Mapping[str, Any]]:
    """What is in the files, if it was found of the plan behind a fitted estimator, and says what follows from it."""
    from dperm.sklearn.replan import replan

    found = [(path, audit) for path in paths for audit in _read(path, estimator.record_)]
    plan = replan(estimator) if found else None
    for path, audit in found:
        if plan is not None:
            _require_agreement(path, audit, plan)
    return [audit for _, audit in found]


def _require_agreement(path: Path, audit: Mapping[str, Any], plan: "Plan") -> None:
    from dperm.cli.audit.checked import disagreement

    differs = disagreement(audit, plan)
    if differs:
        raise ParameterError(
            f"--audit: {path} contradicts itself: its {differs} is not what follows from its bounds and from the claim "
            "of this model. It was changed, or written by another version; run dperm audit model again."
        )


def _claim(plan: "Plan") -> dict[str, object]:
    """What is claimed and by what: guarantee, event and every number of the plan."""
    from dperm.cli.audit.printing import plain
    from dperm.cli.subject import event_data
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
            f"--audit: {path} is the audit of another model: its {differs} is not that of this one. Run dperm audit "
            "model on this model."
        )
    return list(data["audits"])


def _loaded(path: Path) -> dict[str, Any]:
    """The content, if it is an audit of a format that is known."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError):
        data = None
    if not isinstance(data, dict) or data.keys() != _KEYS or not _is_shaped(data):
        raise ParameterError(f"--audit: {path} is not a file that dperm audit model --out wrote.")
    if data["dperm_audit"] != FORMAT:
        raise ParameterError(f"--audit: {path} has format {data['dperm_audit']}, and this version reads {FORMAT}.")
    return data


def _is_shaped(data: Mapping[str, Any]) -> bool:
    audits, of = data["audits"], data["of"]
    listed = isinstance(audits, list) and bool(audits) and all(isinstance(audit, dict) for audit in audits)
    return listed and isinstance(of, dict) and of.keys() == set(_PLANNED) and isinstance(of["numbers"], dict)


def _difference(of: Mapping[str, Any], record: "Record") -> str:
    """The first thing in which claim and record differ; nothing if they agree."""
    from dperm.cli.audit.printing import plain
    from dperm.privacy.guarantee import guarantee_as_dict

    if of["guarantee"] != plain(guarantee_as_dict(record.guarantee)):
        return "guarantee"
    if of["event"] != record.event:
        return "event"
    return next((name for name, value in of["numbers"].items() if record.public.get(name) != value), "")
