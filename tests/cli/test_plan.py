# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""``dperm plan``: what a fit would do and cost, without data."""

import json
from pathlib import Path

import pytest

from dperm.accounting.serialize import event_from_json
from dperm.ledger import Ledger
from dperm.sklearn.files import load_stored

PLAN = "plan --schema schema.toml --epsilon 1 --n 1500"


def test_the_plan_is_the_one_that_a_fit_runs(desk, answered, ends):
    planned = answered(PLAN)
    fitted = answered("fit data.csv --epsilon 1 --schema schema.toml")
    for name in ("estimator", "method", "why", "guarantee", "theorems"):
        assert planned[name] == fitted[name]
    record = load_stored("model.dperm").estimator._fitted.record
    assert planned["event"] == dict(record.event) and record.noise.startswith(planned["noise"])


def test_the_table_says_the_same(desk, ends):
    said = ends(0, PLAN).stdout
    for words in ("no data were read", "objective", "epsilon = 1.0", "replace_one", "T37", "noise:", '"dperm_event"'):
        assert words in said


def test_no_data_are_there_at_all(desk, answered):
    Path("data.csv").unlink()
    found = answered("plan --schema schema.toml --epsilon 1 --adjacency add_remove --method output --delta 0")
    assert (found["method"], found["guarantee"]["kind"]) == ("output", "PureDP")


def test_the_ledger_prices_the_plan_and_is_charged_nothing(opened, answered, ends):
    opened(limit=1.5)
    found = answered(f"{PLAN} --ledger census.ledger")["ledger"]
    answered("fit data.csv --epsilon 1 --schema schema.toml --ledger census.ledger")
    (booked,) = Ledger("census.ledger").bookings()
    assert found["cost"] == pytest.approx(booked.cost, rel=1e-9) and found["covered"] is True
    after = answered(f"{PLAN} --ledger census.ledger")["ledger"]
    assert after["covered"] is False and "remains" in after["why"]
    said = ends(0, f"{PLAN} --ledger census.ledger").stdout
    assert "NOT COVERED" in said and "cost:" in said
    assert len(Ledger("census.ledger").bookings()) == 1


def test_the_event_is_an_event(desk, answered):
    assert event_from_json(json.dumps(answered(PLAN)["event"])) is not None


@pytest.mark.parametrize(
    ("code", "line", "words"),
    [
        (2, "plan --schema schema.toml --epsilon 1", ["--n is missing", "replace_one"]),
        (2, "plan --schema schema.toml --n 10", ["--epsilon"]),
        (2, "plan --schema schema.toml --epsilon inf --n 10", ["--epsilon"]),
        (2, f"{PLAN} --estimator linear", ["--estimator linear"]),
        (2, f"{PLAN} --method magic", ["method must be"]),
        (2, "plan --schema missing.toml --epsilon 1 --n 10", ["missing.toml"]),
        (3, f"{PLAN} --ledger missing.ledger", ["missing.ledger"]),
        (4, "plan --epsilon 1 --n 10", ["--schema", "dperm schema draft"]),
    ],
)
def test_what_cannot_be_planned_is_refused(desk, ends, code, line, words):
    said = ends(code, line).stderr
    assert all(word in said for word in words), said
