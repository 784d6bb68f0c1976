# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Any training as a subject: as users write it, in one process and in several."""

import multiprocessing
import os
import random
import signal
import traceback
from collections import Counter
from functools import partial

import numpy as np
import pytest
from false_alarms import unpredictable

from dperm import ApproxDP, PureDP
from dperm.audit.black_box import audit, of_plan, processes, projection, repeated
from dperm.audit.black_box.processes import first_outputs, varies_enough
from dperm.audit.black_box.training import Trainings, released_numbers
from dperm.erm.losses import Logistic
from dperm.erm.spec import ProblemSpec
from dperm.errors import DataError, ParameterError
from dperm.mechanisms import GaussianMechanism, LaplaceMechanism
from dperm.methods import SampledGradient
from dperm.noise import NotPrivateBits
from dperm.sklearn import PrivateLogisticRegression

CLAIM = PureDP(1.0, "add_remove")
COUNT = LaplaceMechanism.calibrate(1.0, CLAIM)
ROWS = ([1.0, 2.0, 3.0], [1.0, 2.0])
RUNS = 4000
"""With so many runs the bounds asserted here are six standard deviations or more from the mean."""
SIX_DEVIATIONS = 2e-9
"""Probability of a normal variable beyond six standard deviations."""
WORKERS = pytest.mark.parametrize("workers", [1, 2])


def noisy_count(rows):
    return COUNT.release(len(rows)).value


def subject_of(train, **more):
    return repeated(train, *ROWS, claimed=more.pop("claimed", CLAIM), **more)


@WORKERS
@unpredictable(SIX_DEVIATIONS, checks=2)
def test_a_correct_count_is_measured_and_raises_no_alarm(workers):
    seen = []
    found = audit(subject_of(noisy_count, workers=workers), runs=RUNS, confidence=0.999, seed=1, progress=seen.append)
    assert 0.2 < found.bound.epsilon and not found.violation
    assert seen == sorted(seen) and seen[-1] == 1.0 and len(seen) > 10


@WORKERS
@unpredictable(SIX_DEVIATIONS, checks=3)
def test_half_the_noise_is_caught(workers):
    found = audit(subject_of(lambda rows: len(rows) + (noisy_count(rows) - len(rows)) / 2, workers=workers), runs=RUNS)
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


@unpredictable(3e-8, checks=2)  # 45,000 pairs on a grid of 2^-40 at most
def test_no_two_processes_draw_the_same_numbers():
    """Neither our noise nor that of numpy's global generator, which a fork copies."""
    for train in (noisy_count, lambda rows: np.random.random()):  # noqa: NPY002
        outputs = subject_of(train, workers=3).outputs(np.zeros(300, dtype=bool))
        assert len(np.unique(outputs)) == 300


def held(make):
    """A training that holds a generator, which a fork copies."""
    draw = make()
    return lambda rows: len(rows) + draw()


HELD = {
    "numpy": lambda: np.random.default_rng(1).laplace,
    "random": lambda: random.Random(1).random,
    "seeded bits": lambda: partial(seeded_noise, NotPrivateBits(1)),
    "coins": lambda: partial(np.random.default_rng(1).integers, 2),
    "rare coins": lambda: partial(np.random.default_rng(1).binomial, 1, 0.27),
}


def seeded_noise(bits):
    return float(COUNT.noisy(np.zeros(1), bits.stream())[0])


@pytest.mark.parametrize("kind", HELD)
def test_processes_that_repeat_each_other_are_found_out(kind):
    """The same numbers in every process are no independent runs, whatever the coins say."""
    included = np.random.default_rng(2).random(400) < 0.5
    with pytest.raises(ParameterError, match="train repeats its random numbers in every process"):
        subject_of(held(HELD[kind]), workers=4).outputs(included)
    assert not multiprocessing.active_children()
    assert len(subject_of(held(HELD[kind])).outputs(included)) == 400


@unpredictable(2.0**-32, checks=18)  # 32 equal coins, six pairs of processes, three times
@pytest.mark.parametrize("kind", ["numpy", "coins"])
def test_generators_of_their_own_are_no_repetition(kind):
    def train(rows):
        rng = np.random.default_rng()
        return len(rows) + (rng.laplace() if kind == "numpy" else rng.integers(2))

    for _ in range(3):
        assert len(subject_of(train, workers=4).outputs(np.zeros(200, dtype=bool))) == 200


LAWS = {
    "coins": [0.5, 0.5],
    "a fifth": [0.2, 0.8],
    "a tenth": [0.1, 0.9],
    "eight values": [1 / 8] * 8,
    "geometric": (0.5 ** np.arange(1, 20)).tolist(),
}


@pytest.mark.parametrize("law", LAWS)
def test_independent_processes_hardly_ever_look_like_copies(law):
    """Outputs of few values: 1,500 processes, a million pairs."""
    chances, rng = np.array(LAWS[law]) / sum(LAWS[law]), np.random.default_rng(3)
    draws = iter(rng.choice(len(chances), size=1500 * 38, p=chances).tolist())
    found = [first_outputs(Trainings(lambda data: next(draws), 1, 0)) for _ in range(1500)]
    looks = Counter(rows.tobytes() for rows in found if varies_enough(rows))
    assert sum(count * (count - 1) / 2 for count in looks.values()) <= 8
    assert looks or law == "a tenth"


def test_seeded_noise_of_a_plan_wants_one_process():
    plan = SampledGradient(rate=0.2, steps=4).plan(
        ProblemSpec(Logistic(), 1.0, 1, n=20), ApproxDP(4.0, 1e-5, "add_remove")
    )
    with pytest.raises(ParameterError, match=r"workers must be 1 with bits=NotPrivateBits\(seed=1\)"):
        of_plan(plan, bits=NotPrivateBits(1), workers=2)
    with pytest.raises(ParameterError, match="workers must be"):
        of_plan(plan, workers="a")


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


class Telling:
    """A model whose coefficients cannot be read, and whose error tells why."""

    def __init__(self, rows):
        self.rows = rows

    @property
    def coef_(self):
        raise ValueError(f"singular row, the secret is {self.rows}")


class TellingArray:
    def __init__(self, rows):
        self.rows = rows

    def __array__(self, *arguments, **options):
        raise RuntimeError(f"the secret is {self.rows}")


@WORKERS
@pytest.mark.parametrize("kind", [Telling, TellingArray])
def test_what_goes_wrong_while_numbers_are_read_is_not_repeated(kind, workers):
    with pytest.raises(DataError, match=f"got an object of type {kind.__name__}") as caught:
        audit(subject_of(kind, workers=workers), runs=50)
    shown = "".join(traceback.format_exception(caught.value))
    assert "the secret is [" not in shown and caught.value.__cause__ is None and caught.value.__context__ is None


def killed(rows):
    os.kill(os.getpid(), signal.SIGKILL)


def test_a_process_that_dies_is_reported():
    with pytest.raises(DataError, match="died without reporting an error"):
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
    for wrong, name in (
        ({"train": 1}, "train"),
        ({"workers": 0}, "workers"),
        ({"claimed": None}, "claimed"),
        ({"profile": "abc"}, "profile"),
        ({"profile": PureDP(1.0, "replace_one").profile()}, "profile"),
        ({"statistics": projection()}, "statistics"),
        ({"statistics": "a"}, "statistics"),
    ):
        with pytest.raises(ParameterError, match=f"{name} must (be|have)"):
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
    own = released_numbers(returned)
    assert own.shape == (1,) if found is None else own.tolist() == found


def test_what_is_no_number_is_refused():
    with pytest.raises(DataError, match="an object of type str"):
        audit(subject_of(lambda rows: "a word"), runs=100)
    for nothing in ([], np.zeros((0, 3))):
        with pytest.raises(DataError, match="at least one released number, got none"):
            audit(subject_of(lambda rows, nothing=nothing: nothing), runs=100)
    for odd in (1j, [1.0, 1j], ["1.5"], [[1.0], [1.0, 2.0]], Fitted([1.0], "a")):
        with pytest.raises(DataError, match="must return the released numbers: an array"):
            audit(subject_of(lambda rows, odd=odd: odd), runs=100)
    with pytest.raises(DataError, match="the same number of values in every run"):
        audit(subject_of(lambda rows: np.zeros(len(rows))), runs=100)


def test_a_gaussian_trade_off_may_be_assumed():
    own = GaussianMechanism.calibrate(1.0, ApproxDP(4.0, 1e-5, "add_remove"))
    subject = subject_of(
        lambda rows: own.release(len(rows)).value, claimed=own.goal, statistics=[projection(gaussian=True)]
    )
    found = audit(subject, runs=RUNS, confidence=0.999, seed=1)
    assert "Gaussian" in found.bound.assumes and 0.5 < found.tightness <= 1
