# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""``dperm fit --request-id``: one command for one id; and what a fit on an account says of it."""

import re
from pathlib import Path

import pytest

from dperm.accounting import Pure
from dperm.ledger import Ledger
from dperm.privacy import ZCDP, ApproxDP, PureDP

FIT = "fit data.csv --epsilon 1 --schema schema.toml --ledger census.ledger --request-id a"
OTHERS = {
    "epsilon": (FIT.replace("epsilon 1", "epsilon 0.5"), "--epsilon was 1.0, and is now 0.5"),
    "delta": (f"{FIT} --delta 1e-9", "--delta was 1e-06, and is now 1e-09"),
    "estimator": (f"{FIT} --estimator svc", "--estimator was PrivateLogisticRegression, and is now PrivateLinearSVC"),
    "method": (f"{FIT} --method output", "--method was auto, and is now output"),
    "C": (f"{FIT} --C 2", "--C was left out, and is now 2.0"),
    "clip": (f"{FIT} --clip 1", "--clip was left out, and is now 1.0"),
    "n": (f"{FIT} --n 1500", "--n was left out, and is now 1500"),
    "seed": (f"{FIT} --seed 3 --not-private", "--seed was left out, and is now 3"),
    "target": (FIT.replace("schema.toml", "pay.toml"), "the target was 'income', and is now 'pay'"),
    "schema": (FIT.replace("schema.toml", "wider.toml"), "--schema differs"),
    "data": (FIT.replace("data.csv", "less.csv"), "the content of the data file differs"),
}


@pytest.fixture
def fitted(opened, ends):
    ledger = opened()
    ends(0, FIT)
    Path("wider.toml").write_text(Path("schema.toml").read_text().replace("high = 90", "high = 99"))
    Path("less.csv").write_text("".join(Path("data.csv").read_text().splitlines(keepends=True)[:-1]))
    return ledger


@pytest.mark.parametrize("other", OTHERS)
def test_another_command_under_the_same_id_is_refused_with_what_differs(fitted, ends, other):
    line, words = OTHERS[other]
    written = Path("model.dperm").read_bytes()
    said = ends(3, line).stderr
    assert "was used for another command" in said and words in said and "Nothing was charged" in said
    assert len(fitted.bookings()) == 1 and Path("model.dperm").read_bytes() == written


def test_the_same_command_and_a_copy_of_the_data_are_the_same(fitted, ends):
    Path("copy.csv").write_bytes(Path("data.csv").read_bytes())
    assert "fitted before" in ends(0, FIT.replace("data.csv", "copy.csv")).stdout
    assert "fitted before" in ends(0, f"{FIT} --estimator logistic --target income").stdout


def test_the_books_keep_the_command_and_a_keyed_fingerprint_of_the_data(fitted):
    (booked,) = fitted.bookings()
    assert booked.facts["command"]["epsilon"] == 1.0 and booked.facts["command"]["seed"] is None
    assert booked.facts["data_file"] == fitted.fingerprint("data.csv") and "SECRET" not in str(booked)


def test_what_was_booked_by_other_means_is_not_compared(fitted, ends, monkeypatch):
    from dperm.cli import command_facts

    monkeypatch.setattr(command_facts, "COMMAND", "not kept")
    assert "fitted before" in ends(0, FIT.replace("epsilon 1", "epsilon 0.5")).stdout


@pytest.mark.parametrize("verb", [FIT, "plan fit --schema schema.toml --epsilon 1 --n 1500 --ledger census.ledger"])
def test_a_delta_above_the_share_is_refused_before_the_data_are_read(opened, ends, monkeypatch, verb):
    from dperm.data import large_tables

    ledger = opened()
    monkeypatch.setattr(large_tables, "table", lambda *given, **more: pytest.fail("the data were read"))
    said = ends(2, f"{verb} --delta 1e-5").stderr
    assert "its share of the limit's delta, 1e-06" in said and "Leave --delta out" in said
    assert ledger.bookings() == ()


def test_a_delta_below_the_share_is_taken(opened, answered):
    opened()
    assert answered(f"{FIT} --delta 1e-7 --method gradient")["guarantee"]["delta"] == 1e-7


def test_of_a_burned_request_it_is_said_that_nothing_was_released(opened, ends, monkeypatch):
    from dperm.errors import DataError

    def fails(self, data, stream):
        raise DataError("the solver gave up.")

    opened()
    with monkeypatch.context() as patched:
        patched.setattr("dperm.methods.objective.ObjectivePlan.learn", fails)
        ends(2, FIT)
    said = ends(3, FIT).stderr
    assert "is burned: that run failed, and nothing was released" in said and "a new --request-id" in said
    assert "Use what the first run wrote" not in said


def test_of_a_request_that_was_killed_nothing_is_known(opened, ends):
    opened().reserve(Pure(0.5, "replace_one"), request_id="a")
    assert "still in progress or was killed" in ends(3, FIT).stderr


def test_parents_are_charged_too_and_that_is_said(desk, ends):
    for name, limit, more in [
        ("top", PureDP(9.0, "replace_one"), {}),
        ("main", PureDP(5.0, "replace_one"), {"parents": ["top"]}),
        ("part", ApproxDP(3.0, 1e-5, "replace_one"), {"parents": ["main"], "blocks": 10}),
    ]:
        Ledger.open("census.ledger", limit, account=name, dataset=name, **more)
    said = ends(0, f"{FIT} --account part --method output --delta 0").stdout
    assert re.search(r"also charged: +epsilon 1, to account 'main' of .*\n +epsilon 1, to account 'top'", said), said
    assert "spendable" not in said
    Ledger("census.ledger", "top").reserve(Pure(7.5, "replace_one"))
    again = f"{FIT.replace('epsilon 1', 'epsilon 0.1').replace('id a', 'id b')} --account part --method output"
    said = ends(0, f"{again} --delta 0 --out b.dperm").stdout
    assert re.search(r"remaining: +ApproxDP: epsilon = 1\.9", said), said
    assert re.search(r"spendable: +ApproxDP: epsilon = 0\.39?.*, limited by account 'top'", said), said


def test_numbers_are_shown_as_they_were_asked_for(desk, ends):
    Ledger.open("census.ledger", PureDP(0.9, "replace_one"), dataset="d")
    said = ends(0, FIT.replace("epsilon 1", "epsilon 0.2")).stdout
    assert "charged:    epsilon 0.2, to account" in said and "spent:      epsilon 0.2 of 0.9\n" in said
    assert "remaining:  PureDP: epsilon = 0.7, adjacency" in said or "remaining:  PureDP: epsilon = 0.69" in said


def test_when_all_releases_are_used_nothing_is_left(desk, ends):
    Ledger.open("census.ledger", ApproxDP(3.0, 2e-6, "replace_one"), dataset="d", blocks=1)
    assert "remaining:  nothing: 1 of 1 releases are used" in ends(0, FIT).stdout


def test_pure_noise_on_an_account_in_rho_is_noted_before_it_is_charged(desk, ends):
    Ledger.open("census.ledger", ZCDP(1.0, "replace_one"), dataset="d")
    said = ends(0, f"{FIT} --method output --delta 0 --n 1500").stderr
    assert "charged a high price: rho 0.5" in said and said.count("Note:") == 2
    assert "dearly" not in ends(0, f"{FIT.replace('id a', 'id b')} --method gradient --out b.dperm").stderr


def test_that_nothing_was_registered_is_noted_after_success_only(opened, ends):
    opened()
    Path("data.csv").write_text("age,work,hours,income\n40,private,many SECRETs,>50K\n")
    assert "not checked" not in ends(2, FIT).stderr
