# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Releases that charge a ledger: mechanisms, statistics and estimators, in the order that every run keeps."""

import json

import numpy as np
import pytest

from dperm import ApproxDP, PureDP
from dperm.errors import BudgetError, DataError, LedgerError, NotPrivateWarning, ParameterError
from dperm.ledger import Anchor, Ledger, verify
from dperm.mechanisms import GaussianMechanism, LaplaceMechanism, releases
from dperm.methods import OutputPerturbation, output
from dperm.noise import NotPrivateBits
from dperm.privacy.digest import digest
from dperm.sklearn import PrivateLinearRegression, PrivateLogisticRegression

ONE = "replace_one"
RNG = np.random.default_rng(3)
FEATURES = RNG.normal(size=(200, 3))
LABELS = (FEATURES[:, 0] > 0).astype(int)


@pytest.fixture
def ledger(open_at):
    return open_at(ApproxDP(20.0, 1e-4, ONE), blocks=10)


def regression(ledger, **changes):
    settings = {"epsilon": 2.0, "delta": 1e-6, "feature_norm": 1.0, "classes": [0, 1], "ledger": ledger}
    return PrivateLogisticRegression(**{**settings, **changes})


class Unreadable:
    """A value that must not be read."""

    def __array__(self, dtype=None, copy=None):
        raise AssertionError("the data were read")


def record_of(model):
    """The record of a fit; its receipt is in the statement, where users find it."""
    record = model._fitted.record
    assert model.statement_["ledger_entry"] == record.ledger
    return record


def assert_booked(ledger, record):
    """The record's receipt is anchored in the books, at the line that closed its reservation with its digest."""
    anchor = Anchor.from_receipt(json.loads(record.to_json())["ledger"])
    assert anchor.is_signed
    assert verify(ledger.location, [anchor], prices=True).problems == ()
    line = ledger.entries()[anchor.seq - 1]
    assert (line.hash, line.kind, line.body) == (anchor.hash, "commit", {"digest": record.ledger["digest"]})
    reserved = ledger.entries()[line.about - 1]
    assert reserved.request_id == record.ledger["request_id"]
    assert reserved.body["event"] == record.event


@pytest.mark.parametrize(
    "release",
    [
        lambda budget: LaplaceMechanism.calibrate(1.0, PureDP(0.5, ONE)).release(3.0, budget),
        lambda budget: GaussianMechanism.calibrate(1.0, ApproxDP(0.5, 1e-6, ONE), dim=2).release([1.0, 2.0], budget),
        lambda budget: releases.Mean(PureDP(0.5, ONE), bounds=(0, 100), n=2).release([40.0, 50.0], budget=budget),
        lambda budget: releases.Histogram(PureDP(0.5, ONE), categories=["a", "b"]).release(
            ["a", "b", "a"], budget=budget
        ),
    ],
    ids=["laplace", "gaussian", "mean", "histogram"],
)
def test_a_release_carries_a_receipt_that_can_be_verified(ledger, release):
    released = release(ledger)
    receipt = released.record.ledger
    assert_booked(ledger, released.record)
    assert receipt["digest"] == digest(released.value)
    assert (receipt["releases"], receipt["dataset"], receipt["unit"]) == (1, "census 2026", "one person")
    assert 0 < receipt["spent"]["epsilon"] <= 0.5 + 1e-9


def test_a_fit_carries_a_receipt_that_can_be_verified(ledger):
    model = regression(ledger).fit(FEATURES, LABELS)
    assert_booked(ledger, record_of(model))
    (booking,) = ledger.bookings()
    assert booking.digest == record_of(model).ledger["digest"]
    assert booking.facts["seeded"] is False
    assert booking.facts["noise"] == record_of(model).noise
    assert set(booking.facts["versions"]) >= {"dperm", "numpy", "python"}


def test_a_saved_model_keeps_its_receipt_and_not_the_ledger(ledger, tmp_path):
    model = regression(ledger).fit(FEATURES, LABELS)
    model.save(tmp_path / "model.dperm")
    again = PrivateLogisticRegression.load(tmp_path / "model.dperm")
    assert again.ledger is None
    assert record_of(again).ledger == record_of(model).ledger
    assert verify(ledger.location, [Anchor.from_receipt(record_of(again).ledger)]).ok
    assert str(ledger.location).encode() not in (tmp_path / "model.dperm").read_bytes()


def test_bad_data_raise_before_anything_is_charged(ledger):
    broken = FEATURES.copy()
    broken[7, 1] = np.nan
    for fit in (
        lambda: regression(ledger).fit(broken, LABELS),
        lambda: regression(ledger).fit(FEATURES, np.where(LABELS, 9, 0)),
        lambda: releases.Mean(PureDP(0.5, ONE), bounds=(0, 100), n=1).release([float("nan")], budget=ledger),
    ):
        with pytest.raises(DataError):
            fit()
    assert (ledger.bookings(), ledger.spent["epsilon"]) == ((), 0.0)


def test_a_budget_that_is_used_up_leaves_the_data_unread(ledger):
    mechanism = LaplaceMechanism.calibrate(1.0, PureDP(19.0, ONE))
    mechanism.release(0.0, ledger)
    with pytest.raises(BudgetError, match=r"of the limit of 20.0 remains in account 'main'"):
        mechanism.release(Unreadable(), ledger)
    with pytest.raises(BudgetError, match=r"but only .* of the limit of"):
        regression(ledger).fit(np.full((200, 3), np.nan), Unreadable())
    assert len(ledger.bookings()) == 1


def test_an_adjacency_that_is_not_the_ledger_s_is_refused_before_the_data_are_read(open_at):
    ledger = open_at(ApproxDP(20.0, 1e-4, "add_remove"), blocks=10)
    with pytest.raises(ValueError, match="add_remove"):
        regression(ledger).fit(np.full((200, 3), np.nan), Unreadable())
    assert ledger.bookings() == ()


def test_a_fit_that_fails_burns_and_the_books_say_the_type_only(ledger, monkeypatch):
    def fails(*arguments, **options):
        raise RuntimeError("row 17 is a secret")

    monkeypatch.setattr(output.OutputPlan, "learn", fails)
    with pytest.raises(RuntimeError, match="secret") as caught:
        regression(ledger, method=OutputPerturbation()).fit(FEATURES, LABELS)
    assert "stays charged" in caught.value.__notes__[0]
    (booking,) = ledger.bookings()
    assert (booking.state, booking.reason, booking.digest) == ("burned", "RuntimeError before commit", None)
    assert ledger.spent["epsilon"] > 0
    assert "secret" not in str(ledger.entries())


def test_what_cannot_be_booked_is_not_released(ledger, monkeypatch):
    """The commit fails: the numbers are drawn, and nobody gets them."""

    def fails(self, digest):
        raise LedgerError("the disk is full")

    monkeypatch.setattr("dperm.ledger.reservation.LedgerReservation.commit", fails)
    model = regression(ledger)
    with pytest.raises(LedgerError, match="the disk is full"):
        model.fit(FEATURES, LABELS)
    assert not hasattr(model, "coef_")
    assert ledger.bookings()[0].state == "burned"


@pytest.mark.filterwarnings("ignore::dperm.errors.NotPrivateWarning")
def test_a_seeded_fit_is_charged_and_marked(ledger):
    """Its noise is no secret. The books and every later receipt say so."""
    model = regression(ledger, random_state=7).fit(FEATURES, LABELS)
    LaplaceMechanism.calibrate(1.0, PureDP(0.5, ONE)).release(1.0, ledger, bits=NotPrivateBits(1))
    honest = regression(ledger).fit(FEATURES, LABELS)
    assert [booking.facts["seeded"] for booking in ledger.bookings()] == [True, True, False]
    assert (model._fitted.record.ledger["seeded"], record_of(honest).ledger["seeded"]) == (1, 2)
    assert record_of(honest).ledger["releases"] == 3
    assert ledger.spent["epsilon"] > 4


def test_a_seed_warns_as_ever(ledger):
    with pytest.warns(NotPrivateWarning):
        regression(ledger, random_state=7).fit(FEATURES, LABELS)


def test_a_fit_without_privacy_cannot_be_charged(ledger):
    with pytest.raises(ParameterError, match="cannot be charged"):
        regression(ledger, epsilon=float("inf")).fit(FEATURES, LABELS)
    assert ledger.bookings() == ()


def test_a_fit_under_a_request_id_happens_once(ledger):
    once = Ledger(ledger.location, request_id="fit-7")
    first = regression(once).fit(FEATURES, LABELS)
    with pytest.raises(BudgetError, match="request id 'fit-7' was charged before and is committed"):
        regression(once).fit(FEATURES, LABELS)
    with pytest.raises(BudgetError, match="request id 'fit-7' was used for"):
        regression(once, epsilon=1.0).fit(FEATURES, LABELS)
    assert record_of(first).ledger["request_id"] == "fit-7"
    assert len(ledger.bookings()) == 1


def test_a_regression_charges_as_a_classifier_does(ledger):
    model = PrivateLinearRegression(epsilon=2.0, delta=1e-6, feature_norm=1.0, label_range=(-1, 1), ledger=ledger)
    model.fit(FEATURES, np.clip(FEATURES[:, 0], -1, 1))
    assert_booked(ledger, record_of(model))


def test_several_fits_add_up_to_what_the_meter_says(ledger):
    for epsilon in (0.5, 1.0, 2.0):
        regression(ledger, epsilon=epsilon).fit(FEATURES, LABELS)
    assert ledger.spent["epsilon"] == pytest.approx(sum(booking.cost["epsilon"] for booking in ledger.bookings()))
    assert ledger.spent["epsilon"] <= 3.5 + 1e-6
    assert ledger.spent["delta"] == pytest.approx(3e-5)
