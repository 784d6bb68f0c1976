# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""A ledger object is a name: every copy of it, in every thread and process, charges one and the same account."""

import copy
import multiprocessing
import os
import pickle
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

import numpy as np
import pytest
from joblib import Parallel, delayed
from sklearn.base import clone
from sklearn.model_selection import cross_val_score

from dperm import Laplace, PureDP
from dperm.errors import BudgetError
from dperm.ledger import Ledger, LedgerReservation, verify
from dperm.sklearn import PrivateLogisticRegression

ADD = "add_remove"
EVENT = Laplace(16.0)


@pytest.fixture
def ledger(open_at):
    return open_at(PureDP(1.0, ADD))


def charge(ledger, number=0):
    """One release, or None if it is refused."""
    try:
        reservation = ledger.reserve(EVENT, request_id=f"{os.getpid()}-{number}")
        reservation.commit("sha256:1")
    except BudgetError:
        return None
    return reservation


@pytest.mark.parametrize(
    "made", [copy.copy, copy.deepcopy, lambda one: pickle.loads(pickle.dumps(one)), lambda one: clone(one, safe=False)]
)
def test_a_copy_charges_the_same_account(ledger, made):
    other = made(ledger)
    assert other == ledger
    assert hash(other) == hash(ledger)
    charge(other, 1), charge(ledger, 2)
    assert other.spent == ledger.spent == {"epsilon": 0.125}


def test_a_reservation_can_be_closed_by_its_copy(ledger):
    reservation = pickle.loads(pickle.dumps(ledger.reserve(EVENT)))
    assert isinstance(reservation, LedgerReservation)
    reservation.commit("sha256:1")
    assert ledger.bookings()[0].state == "committed"
    assert ledger.location not in repr(reservation)


def test_threads_are_granted_what_the_limit_covers(ledger):
    with ThreadPoolExecutor(8) as pool:
        granted = list(pool.map(lambda number: charge(ledger, number), range(24)))
    assert sum(one is not None for one in granted) == 16
    assert (ledger.spent, verify(ledger.location, [ledger.anchor()]).ok) == ({"epsilon": 1.0}, True)


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_processes_are_granted_what_the_limit_covers(ledger, method):
    charge(ledger)  # the parent has a connection, which no child may use
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context(method)) as pool:
        granted = list(pool.map(charge, [ledger] * 20, range(1, 21)))
    charge(ledger, 99)
    assert sum(one is not None for one in granted) == 15
    assert (ledger.spent, verify(ledger.location, [ledger.anchor()]).ok) == ({"epsilon": 1.0}, True)


def test_workers_of_joblib_are_granted_what_the_limit_covers(ledger):
    granted = Parallel(n_jobs=2)(delayed(charge)(ledger, number) for number in range(20))
    assert sum(one is not None for one in granted) == 16
    assert (ledger.spent, verify(ledger.location).ok) == ({"epsilon": 1.0}, True)


@pytest.mark.filterwarnings("ignore:fitted in a joblib worker")  # without a pipeline
def test_folds_of_a_cross_validation_are_charged_each(open_at):
    ledger = open_at(PureDP(4.0, "replace_one"))
    rng = np.random.default_rng(7)
    features = rng.normal(size=(90, 2))
    labels = (features[:, 0] > 0).astype(int)
    declared = {"feature_norm": 1.0, "classes": [0, 1], "ledger": ledger}
    model = PrivateLogisticRegression(epsilon=1.0, delta=0.0, **declared, allow_unprotected_scores=True)
    cross_val_score(model, features, labels, cv=3, n_jobs=2, error_score="raise")
    assert len(ledger.bookings()) == 3
    assert {booking.state for booking in ledger.bookings()} == {"committed"}
    assert ledger.spent["epsilon"] == pytest.approx(3.0)


def test_one_request_id_is_one_release_whoever_asks(ledger):
    once = Ledger(ledger.location, request_id="fit-7")
    with ThreadPoolExecutor(6) as pool:
        reservations = list(pool.map(lambda _: once.reserve(EVENT), range(12)))
    assert sum(not one.repeated for one in reservations) == 1
    assert len(ledger.bookings()) == 1
