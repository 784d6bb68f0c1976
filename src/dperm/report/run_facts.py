# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""The fields of a statement that say what was run."""

from collections.abc import Iterator, Mapping

from dperm.privacy.record import Record
from dperm.report import fields as words
from dperm.report.ledger_facts import ledger_facts
from dperm.report.preparation import preprocessing, uncovered
from dperm.report.training_facts import is_training, of_groups, training_facts, training_limits, training_security
from dperm.report.unit import contribution

_SECURITY = {"exact": words.EXACT, "fast": words.FAST}


def run_facts(record: Record) -> dict[str, object]:
    """What was run."""
    return {
        "contribution_bound": contribution(record),
        **_what(record),
        **ledger_facts(record.ledger, seeded=record.seeded),
        "implementation": f"dperm {record.versions.get('dperm', '')}".strip(),
        "security": _security(record),
        "sampling": of_groups(_sampling(record.event), record),
        "steps": record.public.get("steps", 1),
        "accountant": {"name": "dperm", "theorems": record.theorems, "error": words.NO_ERROR},
        "noise_source": {"law": record.noise, "grade": record.grade, "eta": record.eta, "tau": record.tau},
        "code_version": record.versions or words.NOT_RECORDED,
        "time": words.NOT_RECORDED if record.timestamp is None else record.timestamp,
        "limits": _limits(record),
    }


def _what(record: Record) -> dict[str, object]:
    """What was released, by the kind of the run."""
    if is_training(record):
        return training_facts(record)
    return _fit(record) if "estimator" in record.public else _one_release(record)


def _security(record: Record) -> str:
    """How the noise was made."""
    return training_security(record) if is_training(record) else _SECURITY.get(record.grade, words.NO_NOISE_OF_OURS)


def _limits(record: Record) -> tuple[str, ...]:
    """What is not covered, or not to be relied on."""
    if is_training(record):
        return (*uncovered(record), *words.LIMITS, *training_limits(record))
    return (*uncovered(record), *words.LIMITS, *_clipping(record), *((words.FAST,) if record.grade == "fast" else ()))


def _clipping(record: Record) -> tuple[str, ...]:
    """What clipped gradients do to the predictions."""
    share, loss = record.public.get("clip_share"), str(record.public.get("loss"))
    if loss == "squared" and share is not None:
        return (words.SQUARED,)
    return (words.CLIPPED[loss],) if loss in words.CLIPPED and isinstance(share, float) and share < 1 else ()


def _fit(record: Record) -> dict[str, object]:
    """What only a fit has."""
    public = dict(record.public)
    why = {"reasons": public.pop("why")} if "why" in public else {}
    taken = {name: public.pop(name) for name in words.TAKEN_AS_PUBLIC if name in public}
    method = public.pop("method", words.UNNAMED)
    return {
        "public_quantities": taken,
        "mechanism": {"name": method, **public, "event": record.event},
        "covered": " ".join((words.FIT, words.SEARCH, _on_the_way(method))),
        "preprocessing": preprocessing(record, words.PREPROCESSING),
        "nonprivate_statistics": words.STATISTICS,
        **why,
    }


def _on_the_way(method: object) -> str:
    """Whether more than the final model is covered."""
    return words.ALL_ITERATES if method in words.STEPS_COVERED else words.FINAL_MODEL


def _one_release(record: Record) -> dict[str, object]:
    """What any other release has."""
    name = record.public.get("release", record.public.get("mechanism", words.UNNAMED))
    return {
        "public_quantities": record.public,
        "mechanism": {"name": name, "event": record.event},
        "covered": words.ONE_RELEASE,
    }


def _sampling(event: Mapping[str, object]) -> dict[str, str]:
    """The sampling that the event accounts for, and that was run: the run draws what its event says."""
    scheme = ", ".join(dict.fromkeys(_schemes(event)))
    if not scheme:
        return {"assumed": words.NO_SAMPLING, "run": words.NO_SAMPLING}
    return {"assumed": scheme, "run": scheme, "why": words.SAME_SAMPLING}


def _schemes(data: object) -> Iterator[str]:
    """Every sampling inside the JSON of an event, in words."""
    if isinstance(data, Mapping):
        if data.get("type") in words.SCHEMES:
            yield f"{words.SCHEMES[str(data['type'])]} at rate {data.get('rate')}"
        for value in data.values():
            yield from _schemes(value)
    elif isinstance(data, list | tuple):
        for value in data:
            yield from _schemes(value)
