# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Model header: class, parameters and public facts, all known before the data are read.

A ledger entry binds both halves of a model. The reservation holds the digest of the header, the commit entry the digest
of the released coefficients. An edit of either half in a model file contradicts the ledger. The digest depends on
public facts only.
"""

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, final

import numpy as np

from dperm.accounting.budget import Budget, Reservation
from dperm.accounting.event import Event
from dperm.data.encoder import checked_columns, columns_to_data
from dperm.privacy import Adjacency
from dperm.privacy.digest import digest
from dperm.report.binding import NAMED_LATER, PUBLIC_FACTS

HEADER = "model_header"
"""Name of the header's digest among the facts of a reservation."""
EVALUATION = "evaluation"
"""Name of the evaluated model and its target among the facts of a reservation."""
_LEFT_OUT = ("ledger",)


def plain_parameters(given: Mapping[str, Any], method: str) -> dict[str, object]:
    """Return the arguments of an estimator's constructor as JSON-serialisable data, without the ledger.

    Parameters
    ----------
    given
        Arguments by name.
    method
        Name of the method, stored in place of a method object.
    """
    found = {name: value for name, value in given.items() if name not in _LEFT_OUT}
    for name in ("clip_predictions", "allow_unprotected_scores"):
        if not found.get(name, True):  # the default, which files of earlier versions do not have
            del found[name]
    found["adjacency"] = Adjacency.of(found["adjacency"]).value
    found["epsilon"] = "inf" if found["epsilon"] == math.inf else found["epsilon"]
    found["method"] = found["method"] if isinstance(found["method"], str) else method
    found["random_state"] = found["random_state"] if isinstance(found["random_state"], int | np.integer) else None
    if found.get("class_weight") is not None:
        found["class_weight"] = [[key, value] for key, value in found["class_weight"].items()]
    if found.get("terms") is not None:
        found["terms"] = columns_to_data(checked_columns(found["terms"]))
    return {name: _plain(value) for name, value in found.items()}


def header_digest(
    kind: str, parameters: Mapping[str, object], public: Mapping[str, object], *, by_schema: bool = False
) -> str:
    """Return the SHA-256 digest of a model header.

    Parameters
    ----------
    kind
        Class name of the estimator.
    parameters
        Arguments as `plain_parameters` returns them.
    public
        Public facts of the model.
    by_schema
        Whether a schema named the columns after the fit. The digest of the schema then binds the names.
    """
    known = {name: value for name, value in public.items() if name not in NAMED_LATER}
    columns = None if by_schema else public.get("columns")
    content = ["dperm model header", kind, dict(parameters), known, columns]
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), default=_json_number)
    return f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"


def prepared_digest(header: str, schema: str, released: Any) -> str:
    """Return the digest that a ledger commits for a model that is a stage of a larger release.

    Parameters
    ----------
    header
        Digest of the model header, which is known only after the release of the schema.
    schema
        Digest of the schema.
    released
        Released coefficients.
    """
    content = json.dumps(["dperm prepared model", header, schema, digest(released)])
    return f"sha256:{hashlib.sha256(content.encode()).hexdigest()}"


def searched_digest(header: str, schema: str | None, released: Any) -> str:
    """Return the digest that a ledger commits for the best model of a private search.

    Parameters
    ----------
    header
        Digest of the model header, which is known only after the choice of the setting.
    schema
        Digest of a schema that was found privately; None without one.
    released
        Released coefficients.
    """
    content = json.dumps(["dperm searched model", header, schema, digest(released)])
    return f"sha256:{hashlib.sha256(content.encode()).hexdigest()}"


@final
@dataclass(frozen=True)
class HeaderBudget:
    """`Budget` that adds digests of the model header and of the public facts to the facts of each reservation."""

    budget: Budget
    digest: str
    public_facts: str

    def check(self, event: Event) -> None:
        """Raise BudgetError if the budget does not cover ``event``; charges nothing."""
        self.budget.check(event)

    def reserve(
        self, event: Event, *, request_id: str | None = None, facts: Mapping[str, object] | None = None
    ) -> Reservation:
        """Charge ``event`` to the budget, with both digests among the facts."""
        bound = {HEADER: self.digest, PUBLIC_FACTS: self.public_facts}
        return self.budget.reserve(event, request_id=request_id, facts={**(facts or {}), **bound})


@final
@dataclass(frozen=True)
class EvaluationBudget:
    """`Budget` that adds the public facts of an evaluation to the facts of each reservation.

    The entry names the evaluated model and the target, with which ``dperm ledger verify`` compares the statement.
    """

    budget: Budget
    public: Mapping[str, object]

    def check(self, event: Event) -> None:
        """Raise BudgetError if the budget does not cover ``event``; charges nothing."""
        self.budget.check(event)

    def reserve(
        self, event: Event, *, request_id: str | None = None, facts: Mapping[str, object] | None = None
    ) -> Reservation:
        """Charge ``event`` to the budget, with model and target among the facts."""
        bound = {EVALUATION: named_evaluation(self.public)}
        return self.budget.reserve(event, request_id=request_id, facts={**(facts or {}), **bound})


def named_evaluation(public: Mapping[str, object]) -> dict[str, object]:
    """Return the evaluated model and the target among the public facts of an evaluation."""
    return {name: public[name] for name in ("evaluated_model", "target") if name in public}


def _plain(value: Any) -> Any:
    """Return numbers, text and their lists and mappings as plain Python data."""
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, tuple | list | range) else value


def _json_number(value: object) -> object:
    """Return a numpy number as a Python number, and the type name of anything else, which no file can hold."""
    if isinstance(value, Integral):
        return int(value)
    return float(value) if isinstance(value, Real) else type(value).__name__
