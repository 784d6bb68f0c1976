# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""A statement of what was released and what is promised about it: assembled here, and only here."""

import json
from collections.abc import Iterable, Iterator, KeysView, Mapping
from dataclasses import dataclass
from typing import Any

from dperm.checks import shown
from dperm.errors import ParameterError
from dperm.privacy.explain import explain
from dperm.privacy.guarantee import guarantee_as_dict
from dperm.privacy.record import Record, Release
from dperm.report import fields as words
from dperm.report.html import table
from dperm.report.run_facts import run_facts
from dperm.report.text import lines

FORMAT = 1
"""Version of the JSON of a statement."""


@dataclass(frozen=True)
class Statement:
    """What a privacy officer asks about a release, field by field, as plain JSON data.

    Fields that only the user can know say "not stated" until ``filled`` gives them. Nothing in it depends on private
    data beyond the release itself. It reads as a mapping does: ``statement["curator"]``, ``dict(statement)``.
    """

    fields: Mapping[str, object]

    def __post_init__(self) -> None:
        """Keep an own copy, as JSON reads it back."""
        object.__setattr__(self, "fields", _plain(self.fields))

    def __getitem__(self, name: str) -> object:
        """The value of a field."""
        return self.fields[name]

    def __iter__(self) -> Iterator[str]:
        """The names of the fields."""
        return iter(self.fields)

    def __len__(self) -> int:
        """Number of fields."""
        return len(self.fields)

    def keys(self) -> KeysView[str]:
        """The names of the fields."""
        return self.fields.keys()

    def filled(self, fields: Mapping[str, object]) -> "Statement":
        """A copy in which the fields that only the user can know have these values.

        Raises
        ------
        ParameterError
            If ``fields`` names a field that does not exist, or one that follows from the release.
        """
        return Statement({**self.fields, **_stated(fields)})

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
        """A field after the other; lists have a line for each item, mappings are indented."""
        return "\n".join(line for name, value in self.fields.items() for line in lines(words.FIELDS[name], value))

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
        raise ParameterError(_no_release(release))
    if release.record.seeded:
        return seeded(release.record, audits, fields)
    known = {**_promise(release), **run_facts(release.record), "audit": _checked_audits(audits)}
    return _ordered(known, fields)


def seeded(
    record: Record, audits: Iterable[Mapping[str, object]] = (), fields: Mapping[str, object] | None = None
) -> Statement:
    """The statement of a run with a seed: what was asked for is in it, and that nothing is promised."""
    nothing = dict.fromkeys(("meaning", "flavour", "parameters", "profile", "covered"), words.NOTHING)
    goal = guarantee_as_dict(record.guarantee)
    promised = {"status": words.SEEDED, **nothing, "goal": goal, "adjacency": goal["adjacency"]}
    return _ordered({**run_facts(record), **promised, "audit": _checked_audits(audits)}, fields)


def unprotected(public: Mapping[str, object], fields: Mapping[str, object] | None = None) -> Statement:
    """The statement of a fit without noise: there is no guarantee, and it says so."""
    known = {"status": words.NO_NOISE, "public_quantities": public, "covered": words.NOTHING}
    return _ordered({**known, "mechanism": "none", "noise_source": "none", "audit": "none"}, fields)


def _promise(release: Release[Any]) -> dict[str, object]:
    """What is promised."""
    kind = guarantee_as_dict(release.record.guarantee)
    explained = explain(release).as_dict()
    return {
        "status": words.PRIVATE,
        "goal": dict(kind),
        "meaning": explained.pop("sentences"),
        "flavour": words.FLAVOURS[str(kind.pop("kind"))],
        "adjacency": kind.pop("adjacency"),
        "parameters": kind,
        "unit_of_privacy": explained.pop("unit"),
        "trust_model": words.TRUST,
        "profile": explained,
    }


def _ordered(known: Mapping[str, object], stated: Mapping[str, object] | None) -> Statement:
    """All fields in their order: known, stated by the user, or "not stated"."""
    filled = {"contribution_bound": words.CONTRIBUTION, **known, **_stated({} if stated is None else stated)}
    return Statement({name: filled.get(name, words.NOT_STATED) for name in words.FIELDS})


def _stated(fields: object) -> dict[str, object]:
    """What the user states, if it is for the user to state."""
    if not isinstance(fields, Mapping):
        raise ParameterError(f'fields must be a mapping, such as {{"curator": "me"}}, got {_kind(fields)}.')
    wrong = [name for name in fields if name not in words.STATED_BY_THE_USER]
    if wrong:
        found = shown(wrong[0]) if isinstance(wrong[0], str) else _kind(wrong[0])
        raise ParameterError(
            f"fields may name {', '.join(words.STATED_BY_THE_USER)}; got {found}. The other fields of a statement "
            f"follow from the release."
        )
    return dict(fields)


def _checked_audits(audits: object) -> object:
    """The audits as a list; "none" without any."""
    found = list(audits) if isinstance(audits, Iterable) and not isinstance(audits, Mapping | str) else [None]
    if not all(isinstance(audit, Mapping) for audit in found):
        raise ParameterError(f"audits must be a list of mappings of plain data, got {_kind(audits)}.")
    return found or "none"


def _no_release(given: object) -> str:
    """What to do with what is no release."""
    rule = f"release must be what a run returned (a Release), got {_kind(given)}."
    if isinstance(given, Statement):
        return f'{rule} A statement takes your own fields by its filled({{"curator": "me"}}).'
    if hasattr(type(given), "statement_"):
        return f'{rule} A fitted estimator has its statement: statement_.filled({{"curator": "me"}}).'
    return rule


def _kind(value: object) -> str:
    return f"an object of type {type(value).__name__}"


def _plain(fields: Mapping[str, object]) -> dict[str, object]:
    try:
        return dict(json.loads(json.dumps(dict(fields), allow_nan=False)))
    except (TypeError, ValueError) as error:
        raise ParameterError(f"a statement holds JSON data only (no NaN or Infinity): {error}") from error
