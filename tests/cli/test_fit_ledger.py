# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""``dperm fit --ledger``: asked before the data are read, charged once, and what was charged is said in any case."""

import json
import re
from pathlib import Path

import pytest

from dperm.accounting.budget import State
from dperm.cli import charging
from dperm.data.schema import Schema
from dperm.errors import BudgetError, DataError
from dperm.ledger import Ledger
from dperm.privacy import ApproxDP, PureDP
from dperm.report.model_file import ModelFile, read_model, write_model
from dperm.sklearn.files import load_stored

FIT = "fit data.csv --target income --epsilon 1 --schema schema.toml --ledger census.ledger"


def bookings():
    return Ledger("census.ledger").bookings()


def states():
    return [one.state for one in bookings()]


def test_a_fit_is_charged_once_and_says_what_is_spent_and_left(opened, ends):
    ledger = opened()
    said = ends(0, f"{FIT} --request-id fit-7").stdout
    (booked,) = ledger.bookings()
    assert (booked.state, booked.request_id) == (State.COMMITTED, "fit-7")
    for words in ("charged:", "spent:", "remaining:", "'census'", "census 2026", "one person", "request id: fit-7"):
        assert words in said
    left = float(re.search(r"remaining: .*epsilon = ([0-9.]+)", said)[1])
    assert 0 <= ledger.remaining.epsilon - left < 1e-6
    record = load_stored("model.dperm").estimator._fitted.record
    assert (record.ledger["request_id"], record.ledger["digest"]) == ("fit-7", booked.digest)


def test_json_has_the_receipt_and_the_cost(opened, answered):
    ledger = opened()
    found = answered(FIT)
    (booked,) = ledger.bookings()
    assert found["charged"] == booked.cost and found["ledger"]["spent"] == ledger.spent
    assert found["ledger"]["request_id"] == booked.request_id and booked.request_id.startswith("fit-")


def test_the_adjacency_is_that_of_the_account(opened, ends, answered):
    opened(adjacency="add_remove")
    assert answered(FIT)["adjacency"] == "add_remove"
    assert "add_remove" in ends(2, f"{FIT} --adjacency replace_one --out other.dperm").stderr
    assert answered(f"{FIT} --adjacency add_remove --out third.dperm")["adjacency"] == "add_remove"
    assert len(bookings()) == 2


def test_a_note_says_that_the_data_set_is_declared_and_not_checked(opened, ends):
    opened()
    assert "so dperm cannot check that the data belong to its data set" in ends(0, FIT).stderr


def test_registered_files_are_checked_and_no_note_is_needed(opened, ends):
    opened(files=["data.csv"])
    assert ends(0, FIT).stderr == ""


def test_a_ledger_of_another_data_set_is_refused(opened, ends):
    opened(files=["data.csv"])
    Path("data.csv").write_text(Path("data.csv").read_text() + "40,private,10,<=50K,50,SECRET\n")
    said = ends(3, FIT).stderr
    assert "the ledger is for another data set" in said and "Nothing was charged" in said
    assert bookings() == () and not Path("model.dperm").exists()


@pytest.mark.parametrize("more", ["", "--n 1500"])
def test_a_budget_that_is_used_up_is_refused(opened, ends, more):
    opened(limit=1.5)
    ends(0, FIT)
    said = ends(3, f"{FIT} --out second.dperm {more}").stderr
    assert "of the limit of 1.5 remains" in said and said.count("Nothing was charged") == 1
    assert len(bookings()) == 1 and not Path("second.dperm").exists()


@pytest.mark.parametrize(("adjacency", "more"), [("replace_one", "--n 1500"), ("add_remove", "")])
def test_where_n_is_known_the_budget_is_asked_before_the_data_are_read(opened, ends, monkeypatch, adjacency, more):
    from dperm.data import large_tables

    opened(limit=0.5, adjacency=adjacency)
    monkeypatch.setattr(large_tables, "table", lambda *given, **more: pytest.fail("the data were read"))
    monkeypatch.setattr(charging.Account, "require_file", lambda *given: pytest.fail("the data were hashed"))
    assert "remains" in ends(3, f"{FIT} {more}").stderr


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (FIT.replace("census.ledger", "missing.ledger"), ["missing.ledger"]),
        (FIT.replace("census.ledger", "schema.toml"), ["schema.toml"]),
        (f"{FIT} --account nobody", ["'nobody'", "'census'"]),
    ],
)
def test_a_ledger_that_is_not_there_is_refused(opened, ends, line, words):
    opened()
    said = ends(3, line).stderr
    assert all(word in said for word in words), said
    assert not Path("missing.ledger").exists() and bookings() == ()


def test_the_account_is_named_where_there_are_several(opened, ends):
    opened()
    opened(account="survey", dataset="survey 2026")
    assert "--account must be given: the ledger has 'census', 'survey'" in ends(3, FIT).stderr
    ends(0, f"{FIT} --account survey")
    assert len(Ledger("census.ledger", "survey").bookings()) == 1
    assert Ledger("census.ledger", "census").bookings() == ()


def test_an_approval_is_asked_for_where_the_account_wants_one(opened, ends):
    ledger = opened(approval=True)
    assert "approval" in ends(3, FIT).stderr
    assert "approval" in ends(3, f"{FIT} --request-id a").stderr
    ledger.approve("a", by="officer", reason="fine")
    ends(0, f"{FIT} --request-id a")
    assert states() == [State.COMMITTED]


def test_a_request_that_was_fitted_is_not_fitted_again(opened, ends, answered):
    opened()
    ends(0, f"{FIT} --request-id a")
    written = Path("model.dperm").read_bytes()
    assert "fitted before" in ends(0, f"{FIT} --request-id a").stdout
    assert answered(f"{FIT} --request-id a")["repeated"] is True
    assert Path("model.dperm").read_bytes() == written and len(bookings()) == 1


@pytest.mark.parametrize("out", ["other.dperm", "stranger.dperm", "broken.dperm"])
def test_a_request_that_was_fitted_into_another_file_is_refused(opened, ends, out):
    opened()
    ends(0, f"{FIT} --request-id a")
    ends(0, f"{FIT} --request-id b --out stranger.dperm")
    Path("broken.dperm").write_text("no model")
    said = ends(3, f"{FIT} --request-id a --out {out} --force").stderr
    assert "'a' was charged before and is committed" in said and "new --request-id" in said
    assert len(bookings()) == 2


def test_a_request_that_failed_is_refused_with_what_to_do(opened, ends, monkeypatch):
    opened()
    with monkeypatch.context() as patched:
        patched.setattr("dperm.mechanisms.run.digest", unforeseen)
        said = ends(1, f"{FIT} --request-id a").stderr
    assert "ZeroDivisionError at" in said and "Charged to account 'census'" in said
    assert states() == [State.BURNED]
    assert "'a' was charged before and is burned" in ends(3, f"{FIT} --request-id a").stderr
    assert len(bookings()) == 1 and not Path("model.dperm").exists()


def unforeseen(released):
    raise ZeroDivisionError("SECRET")


def test_a_failure_before_the_charge_costs_nothing_and_says_so(opened, ends):
    opened()
    Path("data.csv").write_text("age,work,hours,income\n40,private,many SECRETs,>50K\n")
    said = ends(2, FIT).stderr
    assert "column 'hours' must hold numbers" in said and "Nothing was charged to account 'census'" in said
    assert bookings() == () and not Path("model.dperm").exists()


def test_a_failure_after_the_charge_says_what_was_charged(opened, ends, monkeypatch):
    opened()

    def fails(self, data, stream):
        raise DataError("the solver gave up.")

    monkeypatch.setattr("dperm.methods.objective.ObjectivePlan.learn", fails)
    said = ends(2, f"{FIT} --request-id a").stderr
    (booked,) = bookings()
    assert booked.state is State.BURNED
    assert "the solver gave up" in said and "Charged to account 'census'" in said
    assert "under request id a, and nothing was released. There are no refunds." in said
    assert "No model was written." in said


def test_a_model_that_cannot_be_written_is_lost_and_that_is_said(opened, ends, monkeypatch):
    opened()

    def full(*given):
        raise OSError(28, "No space left on device", "model.dperm")

    monkeypatch.setattr("dperm.report.whole_file._move_to_new", full)
    said = ends(2, FIT).stderr
    assert "No space left on device" in said and "and the release is recorded" in said
    assert "The model was not written, and is lost" in said
    assert states() == [State.COMMITTED]
    assert [path.name for path in Path().iterdir() if path.name.startswith(".")] == []


def test_a_seeded_fit_is_charged_too(opened, ends):
    ledger = opened()
    ends(0, f"{FIT} --seed 1 --not-private")
    assert [one.facts["seeded"] for one in ledger.bookings()] == [True]


def test_a_fit_without_noise_cannot_be_charged(opened, ends):
    opened()
    assert "cannot be charged" in ends(2, f"{FIT.replace('epsilon 1', 'epsilon inf')} --not-private").stderr
    assert bookings() == ()


def test_a_password_is_not_shown(desk, ends):
    said = ends(2, FIT.replace("census.ledger", "http://me:SECRET@host/db")).stderr
    assert "http://" in said and "***" in said


def test_what_was_charged_can_be_unknown(opened, monkeypatch):
    opened()
    account = charging.Account.of("census.ledger", None, "a")

    def unreadable(self, request_id):
        raise BudgetError("it is locked")

    monkeypatch.setattr(Ledger, "booking", unreadable)
    said, booked = account.charge()
    assert "cannot be read" in said and booked is None


def test_without_a_delta_the_share_of_the_account_is_asked_for(desk, answered):
    Ledger.open("census.ledger", ApproxDP(3.0, 1e-6, "replace_one"), dataset="d", blocks=3)
    found = answered(FIT)
    assert found["guarantee"]["delta"] == Ledger("census.ledger").account_facts.share
    assert found["charged"]["epsilon"] <= 1.0
    Ledger.open("pure.ledger", PureDP(3.0, "replace_one"), dataset="d")
    assert answered(FIT.replace("census.", "pure.") + " --out pure.dperm")["guarantee"]["kind"] == "PureDP"


def test_the_ledger_binds_the_model_that_was_written(opened, ends, answered, dperm):
    """Coefficients, header and schema; the schema of another fit is found although it fits the file."""
    opened()
    ends(0, FIT)
    (note,) = answered("ledger verify census.ledger --model model.dperm")["notes"]
    assert "timestamp" in note
    file = read_model("model.dperm")
    wider = Path("schema.toml").read_text().replace("high = 90", "high = 99")
    Path("wider.toml").write_text(wider)
    schema = Schema.load(Path("wider.toml"))
    data = {**file.data, "schema": schema.to_json()}
    record = json.loads(data["record"])
    record["public"]["schema_digest"] = schema.digest
    write_model("edited.dperm", ModelFile(file.kind, {**data, "record": json.dumps(record)}, file.arrays))
    load_stored("edited.dperm")
    result = dperm("ledger verify census.ledger --model edited.dperm")
    assert result.exit_code == 5 and "a schema that differs from entry" in result.stdout
