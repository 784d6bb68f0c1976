# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Two equal ``dperm fit`` commands at once: one charge, one model, and the second command reports it."""

import os
import shlex
from pathlib import Path

import pytest
from warm_python import package

from dperm.cli import charging, outcome
from dperm.ledger import Ledger
from dperm.privacy import ApproxDP
from dperm.sklearn.files import load_stored

FIT = "fit data.csv --target income --epsilon 1 --schema schema.toml --request-id a --ledger"


@pytest.fixture(params=["sqlite", "postgres"])
def location(request, desk):
    """An account of a ledger, in each kind of store."""
    declared = {"dataset": "census", "blocks": 10}
    if request.param == "sqlite":
        Ledger.open("census.ledger", ApproxDP(3.0, 1e-5, "replace_one"), **declared)
        yield "census.ledger"
        return
    postgres = pytest.importorskip("postgres")
    with postgres.lent() as url:
        Ledger.open(url, ApproxDP(3.0, 1e-5, "replace_one"), **declared)
        yield str(url)


def before_the_charge(monkeypatch, happens):
    """Let something happen after the second command has read the data, and before it charges."""
    reserve = charging.WatchedBudget.reserve

    def late(self, event, **options):
        happens(self.ledger, event)
        return reserve(self, event, **options)

    monkeypatch.setattr(charging.WatchedBudget, "reserve", late)


def first(location, *more):
    """The other command, in a process of its own."""
    code = "from dperm.cli import main; main()"
    done = package().run(code, [*shlex.split(FIT), location, *more], cwd=Path.cwd(), environment=os.environ)
    assert done.returncode == 0


def test_the_second_reports_the_model_of_the_first(location, ends, monkeypatch):
    before_the_charge(monkeypatch, lambda ledger, event: first(location))
    result = ends(0, f"{FIT} '{location}'")
    assert "model.dperm is its model" in result.stdout and "Another run" in result.stderr
    assert "lost" not in result.stdout + result.stderr
    (booked,) = Ledger(location).bookings()
    assert load_stored("model.dperm").estimator.record_.ledger["digest"] == booked.digest
    assert [path.name for path in Path().iterdir() if path.name.startswith(".dperm")] == []


def test_the_second_says_that_the_first_wrote_its_model_elsewhere(location, ends, monkeypatch):
    monkeypatch.setattr(outcome, "WRITING", 0.2)
    before_the_charge(monkeypatch, lambda ledger, event: first(location, "--out", "first.dperm"))
    said = ends(3, f"{FIT} '{location}'").stderr
    assert "the model was written elsewhere" in said and "The model was not written, and is lost" not in said
    assert len(Ledger(location).bookings()) == 1


def test_the_second_says_that_the_first_is_in_progress(location, ends, monkeypatch):
    monkeypatch.setattr(outcome, "PATIENCE", 0.3)
    before_the_charge(monkeypatch, lambda ledger, event: ledger.reserve(event))
    said = ends(3, f"{FIT} '{location}'").stderr
    assert "still in progress" in said and "This run charged nothing" in said and "lost" not in said
    assert [one.state.value for one in Ledger(location).bookings()] == ["reserved"]


def test_the_library_says_that_a_request_is_in_progress(location):
    from dperm import BudgetError, Laplace
    from dperm.accounting import charged

    ledger = Ledger(location, request_id="a")
    ledger.reserve(Laplace(8.0))
    with pytest.raises(BudgetError, match=r"in progress or was killed.*This run charged nothing"):
        with charged(ledger, Laplace(8.0)):
            pytest.fail("noise would be drawn twice")
