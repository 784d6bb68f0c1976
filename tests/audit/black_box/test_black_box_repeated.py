# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Any training as a subject: as users write it, in one process and in several."""

import multiprocessing
import os
import signal

import numpy as np
import pytest

from dperm import PureDP
from dperm.audit.black_box import audit, processes, projection, repeated
from dperm.audit.black_box.released import numbers
from dperm.errors import DataError, ParameterError
from dperm.mechanisms import LaplaceMechanism
from dperm.sklearn import PrivateLogisticRegression

CLAIM = PureDP(1.0, "add_remove")
COUNT = LaplaceMechanism.calibrate(1.0, CLAIM)
ROWS = ([1.0, 2.0, 3.0], [1.0, 2.0])
WORKERS = pytest.mark.parametrize("workers", [1, 2])


def noisy_count(rows):
    return COUNT.release(len(rows)).value


def subject_of(train, **more):
    return repeated(train, *ROWS, claimed=more.pop("claimed", CLAIM), **more)


@WORKERS
def test_a_correct_count_is_measured_and_raises_no_alarm(workers):
    seen = []
    found = audit(subject_of(noisy_count, workers=workers), runs=1500, confidence=0.999, seed=1, progress=seen.append)
    assert 0.2 < found.bound.epsilon and not found.violation
    assert seen == sorted(seen) and seen[-1] == 1.0 and len(seen) > 10


@WORKERS
def test_half_the_noise_is_caught(workers):
    found = audit(subject_of(lambda rows: len(rows) + (noisy_count(rows) - len(rows)) / 2, workers=workers), runs=1500)
    assert found.violation and 1.2 < found.bound.epsilon < 2.3


def test_an_estimator_as_a_user_writes_it():
    """The longest record against its opposite; the noise is that of the library, whoever calls it."""
    X, y = np.array([[1.0], [0.0], [0.0], [0.0]]), np.array([1, 0, 1, 0])
    other = np.vstack([[-1.0], X[1:]])
    claimed = PureDP(8.0, "replace_one")

    def train(data):
        model = PrivateLogisticRegression(epsilon=8.0, delta=0.0, feature_norm=1.0, classes=(0, 1), C=10.0)
        return model.fit(*data)

    subject = repeated(train, (X, y), (other, y), claimed=claimed, name="logistic regression")
    found = audit(subject, runs=300, confidence=0.999, seed=1)
    assert not found.violation and found.bound.epsilon > 0.3 and found.subject == "logistic regression"
    less = audit(repeated(train, (X, y), (other, y), claimed=PureDP(0.1, "replace_one")), runs=200, seed=1)
    assert less.violation


def test_no_two_processes_draw_the_same_numbers():
    """Neither our noise nor that of numpy's global generator, which a fork copies."""
    for train in (noisy_count, lambda rows: np.random.random()):  # noqa: NPY002
        outputs = subject_of(train, workers=3).outputs(np.zeros(300, dtype=bool))
        assert len(np.unique(outputs)) == 300


def test_runs_stay_in_order():
    included = np.random.default_rng(1).random(500) < 0.5
    outputs = subject_of(len, workers=2).outputs(included)
    assert np.array_equal(outputs[:, 0], np.where(included, 3.0, 2.0))


def failing(rows):
    raise ValueError(f"the secret is {rows}")


@WORKERS
def test_an_error_is_named_without_what_it_says(workers):
    with pytest.raises(DataError, match=r"train failed with ValueError in line \d+ of failing") as caught:
        audit(subject_of(failing, workers=workers), runs=100)
    assert "secret" not in str(caught.value) and caught.value.__cause__ is None and caught.value.__context__ is None
    assert not multiprocessing.active_children()


def killed(rows):
    os.kill(os.getpid(), signal.SIGKILL)


def test_a_process_that_dies_is_reported():
    with pytest.raises(DataError, match="ended without a word"):
        audit(subject_of(killed, workers=2), runs=100)
    assert not multiprocessing.active_children()


def test_an_interrupt_ends_all_processes():
    def interrupt(share):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        audit(subject_of(noisy_count, workers=2), runs=2000, progress=interrupt)
    assert not multiprocessing.active_children()


def test_what_cannot_be_handed_over_is_refused(monkeypatch):
    monkeypatch.setattr(processes.multiprocessing, "get_all_start_methods", lambda: ["spawn"])
    with pytest.raises(ParameterError, match="workers must be 1 here"):
        audit(subject_of(lambda rows: 1.0, workers=2), runs=100)


def test_bad_arguments_are_refused():
    for wrong, name in (({"train": 1}, "train"), ({"workers": 0}, "workers"), ({"claimed": None}, "claimed")):
        with pytest.raises(ParameterError, match=f"{name} must be"):
            more = {"train": noisy_count, **wrong}
            audit(subject_of(more.pop("train"), **more), runs=100)


class Fitted:
    def __init__(self, coef, intercept=None):
        self.coef_, self.intercept_ = coef, intercept


@pytest.mark.parametrize(
    ("returned", "found"),
    [
        (2.0, [2.0]),
        ([1, 2], [1.0, 2.0]),
        (Fitted(np.array([[1.0, 2.0]]), np.array([3.0])), [1.0, 2.0, 3.0]),
        (Fitted([1.0]), [1.0]),
        (COUNT.release(0.0), None),
        (np.ones((3, 2)), [[1.0, 1.0]] * 3),
    ],
    ids=["number", "list", "model", "model without intercept", "release", "steps"],
)
def test_the_released_numbers_are_found(returned, found):
    own = numbers(returned)
    assert own.shape == (1,) if found is None else own.tolist() == found


def test_what_is_no_number_is_refused():
    with pytest.raises(DataError, match="an object of type str"):
        audit(subject_of(lambda rows: "a word"), runs=100)
    with pytest.raises(DataError, match="as many numbers in every run"):
        audit(subject_of(lambda rows: np.zeros(len(rows))), runs=100)


def test_a_gaussian_trade_off_may_be_assumed():
    from dperm import ApproxDP
    from dperm.mechanisms import GaussianMechanism

    own = GaussianMechanism.calibrate(1.0, ApproxDP(4.0, 1e-5, "add_remove"))
    subject = subject_of(
        lambda rows: own.release(len(rows)).value, claimed=own.goal, statistics=[projection(gaussian=True)]
    )
    found = audit(subject, runs=1500, confidence=0.999, seed=1)
    assert "Gaussian" in found.bound.assumes and 0.5 < found.tightness <= 1
