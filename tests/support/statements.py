# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Statements of every kind: with gaps, from a ledger, filled, of a seeded run, and without noise."""

import warnings
from dataclasses import replace
from functools import cache

from families import FAMILIES

from dperm import ApproxDP, PrivacyProfile, Record, Release
from dperm.report import Statement, seeded, statement, unprotected

RECEIPT = {
    "ledger": "5f0c9a1de2b84c7f9a61d0e4b7c3a812",
    "account": "census",
    "seq": 7,
    "hash": "a3" * 32,
    "public_key": "b7" * 32,
    "signature": "c9" * 64,
    "request_id": "fit-7",
    "digest": "sha256:" + "d1" * 32,
    "dataset": "census 2026",
    "unit": "one person",
    "limit": {"kind": "ApproxDP", "epsilon": 3.0, "delta": 1e-5, "adjacency": "replace_one"},
    "blocks": 10,
    "composition": "basic",
    "parents": [],
    "capacity": {"epsilon": 3.0, "delta": 1e-5},
    "spent": {"epsilon": 1.2345678901234567, "delta": 4e-6},
    "releases": 3,
    "burned": 1,
    "open": 2,
    "seeded": 0,
}
POINTS = [
    {"epsilon": 1.0, "value": 0.845, "low": 0.832, "high": 0.858},
    {"epsilon": 0.1, "value": 0.71, "low": 0.69, "high": 0.73},
]
STATED = {
    "curator": "Statistical Office, privacy@example.org",
    "intended_use": "Teaching.",
    "product": "Coefficients of a logistic regression",
    "publication_date": "2026-12-01",
    "links": ["https://example.org/census"],
    "data_domain": "Households, one row for each.",
    "contribution_bound": "1, by the key of the household.",
    "reasons": "The privacy board of the office chose epsilon on 1 March.",
    "preprocessing": "Each record on its own, by a public table.",
    "nonprivate_statistics": "None.",
    "tuning": "None.",
    "retries": "None.",
    "ledger_entry": "Page 3 of the book.",
    "utility": {"measure": "accuracy", "points": POINTS, "without_privacy": 0.866, "by_guessing": 0.52},
}


@cache
def fitted():
    """A private model of the first family."""
    return FAMILIES["logistic"].make(method="gradient").fit(*FAMILIES["logistic"].data)


def profile() -> PrivacyProfile:
    """The curve of the model."""
    return fitted().profile_


def record(**changes: object) -> Record:
    """The record of the model, with changes."""
    return replace(fitted()._fitted.record, **changes)


def of_record(found: Record) -> Statement:
    """The statement of a release with this record."""
    return statement(Release(None, found.guarantee, profile(), found.event, found))


def booked(**changes: object) -> Statement:
    """The statement of the model, charged to a ledger with this receipt."""
    return of_record(record(ledger={**RECEIPT, **changes}))


@cache
def kinds() -> dict[str, Statement]:
    """A statement of each kind."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        seeded_model = FAMILIES["logistic"].make(random_state=1).fit(*FAMILIES["logistic"].data)
    return {
        "with gaps": fitted().statement_,
        "booked": booked(),
        "filled": fitted().statement_.filled(STATED),
        "booked and filled": booked().filled(STATED),
        "seeded": seeded_model.statement_,
        "seeded and booked": seeded(record(seeded=True, ledger={**RECEIPT, "seeded": 1})),
        "without noise": unprotected({"estimator": "PrivateLogisticRegression", "n": 10}),
        "of a bare record": of_record(
            Record(ApproxDP(1.0, 1e-6, "replace_one"), {"dperm_event": 1, "type": "gaussian"})
        ),
    }
