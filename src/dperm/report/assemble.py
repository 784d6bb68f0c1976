# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Statements are assembled here, and only here: from the record of a release, its guarantee and its profile."""

import math
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from dperm.errors import ParameterError
from dperm.privacy.explain import explain
from dperm.privacy.guarantee import guarantee_as_dict
from dperm.privacy.record import Record, Release
from dperm.report import fields as words
from dperm.report.audits import audits_of, with_verdict
from dperm.report.contradictions import NO_PROMISE
from dperm.report.ledger_facts import unit_of_privacy
from dperm.report.plain import NOT_COVERED
from dperm.report.preparation import uncovered
from dperm.report.run_facts import run_facts
from dperm.report.stated import assembled, kind_of, with_stated
from dperm.report.statement import Statement
from dperm.report.unit import unit_in_words

if TYPE_CHECKING:
    from dperm.audit.finding import Finding


def statement(
    release: Release[Any],
    audits: "Iterable[Mapping[str, object] | Finding]" = (),
    fields: Mapping[str, object] | None = None,
) -> Statement:
    """The statement of one release.

    Parameters
    ----------
    release
        What a run returned; everything is taken from its record, its guarantee and its profile.
    audits
        Findings of audits, or mappings of plain data.
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
    return _made({**_promise(release), **run_facts(release.record), "audit": audits_of(audits)}, fields)


def seeded(
    record: Record, audits: "Iterable[Mapping[str, object] | Finding]" = (), fields: Mapping[str, object] | None = None
) -> Statement:
    """The statement of a run with a seed: what was asked for is in it, and that nothing is promised."""
    goal = guarantee_as_dict(record.guarantee)
    promised = {**_NO_PROMISE, "status": words.SEEDED, "goal": goal, "adjacency": goal["adjacency"]}
    promised["limits"] = (words.SEEDED,)
    return _made({**run_facts(record), **promised, "audit": audits_of(audits)}, fields)


def unprotected(public: Mapping[str, object], fields: Mapping[str, object] | None = None) -> Statement:
    """The statement of a fit without noise: there is no guarantee, and it says so."""
    run = dict.fromkeys(("mechanism", "noise_source", "accountant", "sampling", "steps", "audit"), words.NONE)
    rest = {
        "status": words.NO_NOISE,
        "public_quantities": public,
        "implementation": "dperm",
        "security": words.NO_NOISE_OF_OURS,
        "composition": words.NOTHING,
        "code_version": words.NOT_RECORDED,
        "time": words.NOT_RECORDED,
        "limits": (words.NO_NOISE,),
    }
    return _made({**_NO_PROMISE, **run, **rest}, fields)


_NO_PROMISE = dict.fromkeys((*NO_PROMISE, "goal", "adjacency"), words.NOTHING)


def _promise(release: Release[Any]) -> dict[str, object]:
    """What is promised."""
    kind = guarantee_as_dict(release.record.guarantee)
    explained = {name: value for name, value in explain(release).as_dict().items() if name not in ("unit", "level")}
    pure = release.profile.epsilon(0.0)
    sentences = explained.pop("sentences")
    return {
        "status": words.PRIVATE,
        "goal": dict(kind),
        "meaning": (NOT_COVERED,) if uncovered(release.record) else sentences,
        "flavour": words.FLAVOURS[str(kind.pop("kind"))],
        "adjacency": kind.pop("adjacency"),
        "parameters": kind,
        "unit_of_privacy": unit_of_privacy(unit_in_words(release.record), release.record.ledger),
        "trust_model": words.TRUST,
        "profile": {**explained, "epsilon_at_delta_zero": pure if math.isfinite(pure) else None},
    }


def _made(known: Mapping[str, object], stated: Mapping[str, object] | None) -> Statement:
    """All fields in their order: known, stated by the user, or "not stated"."""
    return Statement(with_stated(with_verdict(assembled(known)), {} if stated is None else stated))


def _no_release(given: object) -> str:
    """What to do with what is no release."""
    rule = f"release must be what a run returned (a Release), got {kind_of(given)}."
    if isinstance(given, Statement):
        return f'{rule} A statement takes your own fields by its filled({{"curator": "me"}}).'
    if hasattr(type(given), "statement_"):
        return f'{rule} A fitted estimator has its statement: statement_.filled({{"curator": "me"}}).'
    return rule
