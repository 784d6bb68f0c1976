# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""A statement of what was released and what is promised about it: assembled here, and only here."""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from dperm.checks import shown
from dperm.errors import ParameterError
from dperm.privacy.explain import explain
from dperm.privacy.guarantee import guarantee_as_dict
from dperm.privacy.record import Record, Release
from dperm.report import fields as words
from dperm.report.html import table

FORMAT = 1
"""Version of the JSON of a statement."""


@dataclass(frozen=True)
class Statement:
    """What a privacy officer asks about a release, field by field, as plain JSON data.

    Fields that only the user can fill say "not stated" until they are given to `statement`. Nothing in it depends on
    private data beyond the release itself.
    """

    fields: Mapping[str, object]

    def __post_init__(self) -> None:
        """Keep an own copy, as JSON reads it back."""
        object.__setattr__(self, "fields", _plain(self.fields))

    def __getitem__(self, name: str) -> object:
        """The value of a field."""
        return self.fields[name]

    @property
    def is_private(self) -> bool:
        """False for a seeded run and for a run without noise."""
        return self.fields["status"] == words.PRIVATE

    def to_dict(self) -> dict[str, object]:
        """All fields, in an own copy."""
        return _plain(self.fields)

    def to_json(self) -> str:
        """All fields and the version of the format, as one line of JSON."""
        return json.dumps({"format": FORMAT, **self.fields}, allow_nan=False)

    def __str__(self) -> str:
        """Two columns of text."""
        return "\n".join(f"{words.FIELDS[name]}: {_line(value)}" for name, value in self.fields.items())

    def _repr_html_(self) -> str:
        """A table, for notebooks."""
        return table((words.FIELDS[name], value) for name, value in self.fields.items())


def statement(
    release: Release[Any], audits: Iterable[Mapping[str, object]] = (), fields: Mapping[str, object] | None = None
) -> Statement:
    """The statement of one release.

    Parameters
    ----------
    release
        What a run returned; everything is taken from its record, its guarantee and its profile.
    audits
        Results of audits, each as a mapping of plain data.
    fields
        What only you can know: curator, intended_use, product, publication_date, links, data_domain, ....

    Raises
    ------
    ParameterError
        If ``fields`` names a field that does not exist, or one that follows from the release.
    """
    if not isinstance(release, Release):
        raise ParameterError(f"release must be what a run returned, got {shown(release)}.")
    found = [dict(audit) for audit in audits]
    return _ordered({**_promise(release), **_run(release.record), "audit": found or "none"}, fields)


def unprotected(public: Mapping[str, object], fields: Mapping[str, object] | None = None) -> Statement:
    """The statement of a fit without noise: there is no guarantee, and it says so."""
    known = {"status": words.NO_NOISE, "public_quantities": public, "covered": "nothing"}
    return _ordered({**known, "mechanism": "none", "noise_source": "none", "audit": "none"}, fields)


def _promise(release: Release[Any]) -> dict[str, object]:
    """What is promised."""
    record, kind = release.record, guarantee_as_dict(release.record.guarantee)
    explained = explain(release).as_dict()
    return {
        "status": words.PRIVATE if record.is_private else words.SEEDED,
        "meaning": explained.pop("sentences"),
        "flavour": words.FLAVOURS[str(kind.pop("kind"))],
        "adjacency": kind.pop("adjacency"),
        "parameters": kind,
        "unit_of_privacy": explained.pop("unit"),
        "trust_model": words.TRUST,
        "profile": explained,
    }


def _run(record: Record) -> dict[str, object]:
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
        "code_version": {**record.versions, "time": record.timestamp},
        "limits": (*words.LIMITS, words.FAST) if record.grade == "fast" else words.LIMITS,
    }


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


def _ordered(known: Mapping[str, object], stated: Mapping[str, object] | None) -> Statement:
    """All fields in their order: known, stated by the user, or "not stated"."""
    given = dict(stated or {})
    wrong = [name for name in given if name not in words.STATED_BY_THE_USER]
    if wrong:
        raise ParameterError(
            f"fields may name {', '.join(words.STATED_BY_THE_USER)}; got {shown(wrong[0])}. The other fields of a "
            f"statement follow from the release."
        )
    filled = {"contribution_bound": words.CONTRIBUTION, **known, **given}
    return Statement({name: filled.get(name, words.NOT_STATED) for name in words.FIELDS})


def _plain(fields: Mapping[str, object]) -> dict[str, object]:
    try:
        return dict(json.loads(json.dumps(dict(fields), allow_nan=False)))
    except (TypeError, ValueError) as error:
        raise ParameterError(f"a statement holds JSON data only (no NaN or Infinity): {error}") from error


def _line(value: object) -> str:
    if isinstance(value, Mapping):
        return "; ".join(f"{name} = {_line(item)}" for name, item in value.items())
    return " ".join(_line(item) for item in value) if isinstance(value, list) else str(value)
