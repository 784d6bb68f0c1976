# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""The fields of a statement that say what was run."""

from collections.abc import Iterator, Mapping

from dperm.privacy.record import Record
from dperm.report import fields as words


def run_facts(record: Record) -> dict[str, object]:
    """What was run."""
    return {
        **(_fit(record) if "estimator" in record.public else _one_release(record)),
        "composition": "one release. Post-processing costs nothing; further releases add up.",
        "implementation": f"dperm {record.versions.get('dperm', '')}".strip(),
        "security": words.EXACT if record.grade == "exact" else words.NOT_STATED,
        "sampling": _sampling(record.event),
        "steps": record.public.get("steps", 1),
        "accountant": {"name": "dperm", "theorems": record.theorems, "error": words.NO_ERROR},
        "noise_source": {"law": record.noise, "grade": record.grade, "eta": record.eta, "tau": record.tau},
        "code_version": record.versions,
        "time": words.NOT_STATED if record.timestamp is None else record.timestamp,
        "limits": _limits(record),
    }


def _limits(record: Record) -> tuple[str, ...]:
    """What is not covered, or not to be relied on."""
    return (*words.LIMITS, *_clipping(record), *((words.FAST,) if record.grade == "fast" else ()))


def _clipping(record: Record) -> tuple[str, ...]:
    """What clipped gradients do to the predictions."""
    share, loss = record.public.get("clip_share"), str(record.public.get("loss"))
    if loss == "squared" and share is not None:
        return (words.SQUARED,)
    return (words.CLIPPED[loss],) if loss in words.CLIPPED and isinstance(share, float) and share < 1 else ()


def _fit(record: Record) -> dict[str, object]:
    """What only a fit has."""
    public = dict(record.public)
    why = public.pop("why", words.NOT_STATED)
    taken = {name: public.pop(name) for name in words.TAKEN_AS_PUBLIC if name in public}
    return {
        "public_quantities": taken,
        "mechanism": {"name": public.pop("method", words.NOT_STATED), **public, "event": record.event},
        "covered": words.ONE_FIT,
        "reasons": why,
        "preprocessing": words.PREPROCESSING,
        "nonprivate_statistics": words.STATISTICS,
    }


def _one_release(record: Record) -> dict[str, object]:
    """What any other release has."""
    name = record.public.get("release", record.public.get("mechanism", words.NOT_STATED))
    return {
        "public_quantities": record.public,
        "mechanism": {"name": name, "event": record.event},
        "covered": words.ONE_RELEASE,
    }


def _sampling(event: Mapping[str, object]) -> str:
    """The sampling that the event accounts for: the run draws what its event says."""
    kinds = set(_types(event))
    found = {"poisson": "Poisson sampling", "without_replacement": "sampling without replacement"}
    return ", ".join(text for kind, text in found.items() if kind in kinds) or "none: every record is used"


def _types(data: object) -> Iterator[str]:
    """Every "type" inside the JSON of an event."""
    if isinstance(data, Mapping):
        yield str(data.get("type"))
        for value in data.values():
            yield from _types(value)
    elif isinstance(data, list | tuple):
        for value in data:
            yield from _types(value)
