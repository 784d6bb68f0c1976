# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Privacy statements from the record of a release, its guarantee and its privacy profile."""

import math
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from dperm.errors import ParameterError
from dperm.privacy.explain import explain
from dperm.privacy.guarantee import PureDP, guarantee_as_dict
from dperm.privacy.record import Record, Release
from dperm.report import fields as names
from dperm.report.audits import audits_of, with_verdict
from dperm.report.budget_facts import unit_of_privacy
from dperm.report.contradictions import NO_PROMISE
from dperm.report.definitions import unit_description
from dperm.report.engine_facts import engine_trust
from dperm.report.field_values import initial_fields, type_name, with_stated
from dperm.report.run_facts import NO_DPERM_NOISE, run_facts, uncovered_scores, uncovered_transformers
from dperm.report.statement import Statement
from dperm.report.summary import NOT_COVERED, SCORES_NOT_COVERED

if TYPE_CHECKING:
    from dperm.audit.finding import Finding

TRUST = (
    "central: the party that computes the release has access to the data. The guarantee protects against everyone who "
    "sees only the release."
)


def statement(
    release: Release[Any],
    audits: "Iterable[Mapping[str, object] | Finding]" = (),
    fields: Mapping[str, object] | None = None,
) -> Statement:
    """Return the privacy statement of one release.

    Parameters
    ----------
    release
        Result of a run. All facts come from the record, the guarantee and the profile of the release.
    audits
        Findings of audits, or mappings of plain data such as ``finding.as_dict()``.
    fields
        Values of the fields that only the user can know, such as curator, intended_use and product.

    Returns
    -------
    Statement
        The statement. Its status is NOT PRIVATE for a seeded run, and REFUTED if an audit found a violation.

    Raises
    ------
    ParameterError
        If ``fields`` names an unknown field or a field that follows from the release, or if ``release`` is not a
        release.

    Examples
    --------
    >>> from dperm import PureDP
    >>> from dperm.mechanisms import LaplaceMechanism
    >>> from dperm.report import statement
    >>> release = LaplaceMechanism.calibrate(1.0, PureDP(0.5, "add_remove")).release(42)
    >>> statement(release, fields={"curator": "Statistical Office"}).to_markdown().splitlines()[0]
    '# Privacy statement: Laplace (release)'
    """
    if not isinstance(release, Release):
        raise _not_a_release(release)
    if release.record.seeded:
        return seeded(release.record, audits, fields)
    return _assembled({**_guarantee_facts(release), **run_facts(release.record), "audit": audits_of(audits)}, fields)


def seeded(
    record: Record, audits: "Iterable[Mapping[str, object] | Finding]" = (), fields: Mapping[str, object] | None = None
) -> Statement:
    """Return the privacy statement of a run with seeded noise: the requested guarantee and the status NOT PRIVATE.

    Parameters
    ----------
    record
        Record of the seeded run.
    audits, fields
        See `statement`.

    Returns
    -------
    Statement
        The statement.
    """
    goal = guarantee_as_dict(record.guarantee)
    nothing = {**_NO_GUARANTEE, "status": names.SEEDED, "goal": goal, "adjacency": goal["adjacency"]}
    nothing["limits"] = (names.SEEDED,)
    return _assembled({**run_facts(record), **nothing, "audit": audits_of(audits)}, fields)


def unprotected(public: Mapping[str, object], fields: Mapping[str, object] | None = None) -> Statement:
    """Return the privacy statement of a fit without noise, with the status NOT PRIVATE.

    Parameters
    ----------
    public
        Quantities of the fit that are assumed to be public, keyed by name.
    fields
        See `statement`.

    Returns
    -------
    Statement
        The statement.
    """
    run = dict.fromkeys(("mechanism", "noise_source", "accountant", "sampling", "steps", "audit"), names.NONE)
    rest = {
        "status": names.NO_NOISE,
        "public_quantities": public,
        "implementation": "dperm",
        "security": NO_DPERM_NOISE,
        "composition": names.NOTHING,
        "code_version": names.NOT_RECORDED,
        "time": names.NOT_RECORDED,
        "limits": (names.NO_NOISE,),
    }
    return _assembled({**_NO_GUARANTEE, **run, **rest}, fields)


_NO_GUARANTEE = dict.fromkeys((*NO_PROMISE, "goal", "adjacency"), names.NOTHING)


def _guarantee_facts(release: Release[Any]) -> dict[str, object]:
    kind = guarantee_as_dict(release.record.guarantee)
    explained = {name: value for name, value in explain(release).as_dict().items() if name not in ("unit", "level")}
    explained["epsilons"] = _within_goal(explained["epsilons"], kind)
    pure = release.profile.epsilon(0.0)
    if isinstance(release.record.guarantee, PureDP):
        pure = min(pure, release.record.guarantee.epsilon)
    sentences = explained.pop("sentences")
    return {
        "status": names.PRIVATE,
        "goal": dict(kind),
        "meaning": _uncovered_meaning(release.record) or sentences,
        "flavour": names.FLAVOURS[str(kind.pop("kind"))],
        "adjacency": kind.pop("adjacency"),
        "parameters": kind,
        "unit_of_privacy": unit_of_privacy(unit_description(release.record), release.record.ledger),
        "trust_model": " ".join((TRUST, *engine_trust(release.record))),
        "profile": {**explained, "epsilon_at_delta_zero": pure if math.isfinite(pure) else None},
    }


def _uncovered_meaning(record: Record) -> tuple[str, ...]:
    """Return the meaning of a guarantee that does not cover preparation or scores; empty for most releases."""
    if uncovered_transformers(record):
        return (NOT_COVERED,)
    return (SCORES_NOT_COVERED,) if uncovered_scores(record) else ()


def _within_goal(rows: Any, goal: Mapping[str, Any]) -> list[dict[str, object]]:
    """Return pairs (delta, epsilon) of the profile; the guarantee bounds epsilon at its own delta and above.

    The profile is computed from the event, and its upper bound may exceed the guarantee in the last digits.
    """
    if "epsilon" not in goal:
        return list(rows)
    bound = float(goal["epsilon"])
    return [
        {**row, "epsilon": bound if row["epsilon"] is None else min(float(row["epsilon"]), bound)}
        if row["delta"] >= goal.get("delta", 0.0)
        else row
        for row in rows
    ]


def _assembled(known: Mapping[str, object], stated: Mapping[str, object] | None) -> Statement:
    return Statement(with_stated(with_verdict(initial_fields(known)), {} if stated is None else stated))


def _not_a_release(value: object) -> ParameterError:
    remedy = ""
    if isinstance(value, Statement):
        remedy = 'Add your own fields to a statement with filled({"curator": "me"}).'
    elif hasattr(type(value), "statement_"):
        remedy = 'A fitted estimator has its statement: statement_.filled({"curator": "me"}).'
    return ParameterError(
        argument="release", rule="must be a Release, as a run returns it", got=type_name(value), remedy=remedy
    )
