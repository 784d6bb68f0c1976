# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""``dperm plan fit``: method, guarantee, noise and cost of a fit, without data."""

import json
from pathlib import Path

import pytest

from dperm.accounting.serialize import event_from_json
from dperm.cli.event_input import event_data, event_of, read_events, substitution
from dperm.cli.output import plain_up
from dperm.ledger import Ledger
from dperm.privacy import GDP, RDP, ZCDP
from dperm.sklearn.files import load_stored

PLAN = "plan fit --schema schema.toml --epsilon 1 --n 1500"


def test_the_plan_is_the_one_that_a_fit_runs(desk, answered, ends):
    planned = answered(PLAN)
    fitted = answered("fit data.csv --epsilon 1 --schema schema.toml")
    for name in ("estimator", "method", "why", "guarantee", "theorems"):
        assert planned[name] == fitted[name]
    record = load_stored("model.dperm").estimator._fitted.record
    assert planned["event"] == dict(record.event) and record.noise.startswith(planned["noise"])


@pytest.mark.parametrize("adjacency", ["replace_one", "add_remove"])
@pytest.mark.parametrize("method", ["auto", "objective", "output", "gradient", "sgd"])
def test_expect_shows_the_noise_of_the_plan_and_of_the_fit(desk, answered, ends, method, adjacency):
    common = f"--schema schema.toml --epsilon 1 --adjacency {adjacency} --method {method}"
    found = answered(f"plan fit {common} --n 1500")
    (row,) = answered(f"plan expect {common} --n 1500 --no-trials")["outlook"]["methods"]
    assert row["used"] == found["method"] and row["noise_kind"] == found["noise"]
    assert row["noise"] in [*found["numbers"].values(), *_nested(found["numbers"])]
    if adjacency == "add_remove":
        assert "Pass --n 1500 to dperm fit" in ends(0, f"plan fit {common} --n 1500").stdout
    if method != "sgd":
        answered(f"fit data.csv {common} {'--n 1500' if adjacency == 'add_remove' else ''} --force")
        record = load_stored("model.dperm").estimator._fitted.record
        assert {name: record.public[name] for name in found["numbers"]} == found["numbers"]


def _nested(numbers):
    return [value for part in numbers.values() if isinstance(part, dict) for value in part.values()]


def test_the_table_says_the_same(desk, ends):
    said = ends(0, PLAN).stdout
    for words in (
        "no data were read",
        "objective",
        "epsilon = 1",
        "replace_one",
        "T37",
        "noise:",
        "event:      pure(1)",
    ):
        assert words in said


def test_no_data_are_there_at_all(desk, answered):
    Path("data.csv").unlink()
    found = answered("plan fit --schema schema.toml --epsilon 1 --adjacency add_remove --method output --delta 0")
    assert (found["method"], found["guarantee"]["kind"]) == ("output", "PureDP")


def test_the_ledger_prices_the_plan_and_is_charged_nothing(opened, answered, dperm):
    opened(limit=1.5)
    found = answered(f"{PLAN} --ledger census.ledger")["ledger"]
    answered("fit data.csv --epsilon 1 --schema schema.toml --ledger census.ledger")
    (booked,) = Ledger("census.ledger").bookings()
    assert found["cost"] == pytest.approx(booked.cost, rel=1e-9) and found["covered"] is True
    again = dperm(f"{PLAN} --ledger census.ledger --json")
    after = json.loads(again.stdout)["ledger"]
    assert again.exit_code == 3 and after["covered"] is False and "remains" in after["why"]
    said = dperm(f"{PLAN} --ledger census.ledger")
    assert said.exit_code == 3 and "NOT COVERED" in said.stdout and "cost:" in said.stdout
    assert len(Ledger("census.ledger").bookings()) == 1


def test_the_event_is_an_event(desk, answered):
    found = answered(PLAN)
    assert event_data(event_from_json(json.dumps(found["event"]))) == found["event"]
    again = event_of(read_events([found["event_text"]], None), substitution("replace_one"))
    assert event_data(again) == found["event"]


def test_the_event_can_be_approved_as_it_is_printed_or_written(opened, answered, ends):
    opened(approval=True)
    planned = answered(f"{PLAN} --write-event event.json")
    approve = "ledger approve census.ledger --by officer --reason fine"
    assert answered(f"{approve} --request a --event '{planned['event_text']}'")["event"] == planned["event"]
    assert answered(f"{approve} --request b --event-file event.json")["event"] == planned["event"]
    for request in "ab":
        assert answered(f"{PLAN} --ledger census.ledger --request-id {request}")["ledger"]["covered"] is True
    assert "event.json exists" in ends(2, f"{PLAN} --write-event event.json").stderr


def test_a_request_that_was_not_approved_is_not_covered(opened, dperm):
    opened(approval=True)
    result = dperm(f"{PLAN} --ledger census.ledger --request-id c")
    assert result.exit_code == 3 and "under a --request-id that was approved" in result.stdout


def test_numbers_are_below_each_other(desk, ends):
    assert max(map(len, ends(0, PLAN).stdout.splitlines())) < 400


@pytest.mark.parametrize("limit", [ZCDP(1.0, "replace_one"), GDP(2.0, "replace_one"), RDP([(8.0, 5.0)], "replace_one")])
def test_pure_noise_is_costly_on_accounts_of_squares_and_that_is_said(desk, ends, limit):
    Ledger.open("rho.ledger", limit, dataset="d")
    costly = ends(0, f"{PLAN} --method output --delta 0 --ledger rho.ledger").stdout
    assert "charged a high price" in costly and "--method gradient with a --delta > 0" in costly
    assert "charged a high price" not in ends(0, f"{PLAN} --method gradient --ledger rho.ledger").stdout


def test_what_gaussian_noise_would_cost_is_said(desk, ends, answered):
    Ledger.open("rho.ledger", ZCDP(1.0, "replace_one"), dataset="d")
    said = ends(0, f"{PLAN} --method output --ledger rho.ledger").stdout
    cost = answered(f"{PLAN} --method gradient --ledger rho.ledger")["ledger"]["cost"]["rho"]
    assert "charged a high price: rho 0.5." in said and cost < 0.05
    assert f"--method gradient, which costs rho {plain_up(cost)}" in said


@pytest.mark.parametrize(
    ("code", "line", "words"),
    [
        (2, "plan fit --schema schema.toml --epsilon 1", ["--n is missing", "replace_one"]),
        (2, "plan fit --schema schema.toml --n 10", ["Missing option '--epsilon'"]),
        (2, "plan fit --schema schema.toml --epsilon inf --n 10", ["--epsilon"]),
        (2, f"{PLAN} --estimator linear", ["--estimator linear"]),
        (2, f"{PLAN} --method magic", ["method must be"]),
        (2, "plan fit --schema missing.toml --epsilon 1 --n 10", ["missing.toml"]),
        (3, f"{PLAN} --ledger missing.ledger", ["missing.ledger"]),
        (2, "plan fit --epsilon 1 --n 10", ["Missing option '--schema'"]),
    ],
)
def test_what_cannot_be_planned_is_refused(desk, ends, code, line, words):
    said = ends(code, line).stderr
    assert all(word in said for word in words), said
