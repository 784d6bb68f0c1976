# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""What a profile says beside its numbers: engines and reasons, the trade-off, and one clear error for nonsense."""

import itertools
import math
import subprocess
import sys

import mpmath as mp
import numpy as np
import pytest

from dperm.accounting import Approximate, Gaussian, Laplace, Poisson, Pure, RandomizedResponse, account
from dperm.checks import shown
from dperm.errors import AdjacencyError, ParameterError
from dperm.privacy import explain

ADD, REPLACE = "add_remove", "replace_one"


ENGINES = [
    (Gaussian(1.0) * 7 + Gaussian(3.0), ADD, "closed", "closed form"),
    (Pure(0.1, ADD) * 10 + Approximate(0.2, 1e-8, ADD), ADD, "closed", "closed form"),
    (Poisson(Laplace(1.0), rate=0.1), ADD, "closed", "closed form"),
    (Poisson(Gaussian(1e4), rate=1e-4) * 3, ADD, "closed", "total variations"),
    (Poisson(Gaussian(1.0), rate=0.01) * 1000, ADD, "contour", "integration of the moment generating function"),
    (Poisson(Gaussian(1.0), rate=0.01) * 1000, REPLACE, "contour", "integration of the moment generating function"),
    (Laplace(10.0) * 50, ADD, "lattice", "atoms"),
    (RandomizedResponse(0.5, 4) * 10, REPLACE, "lattice", "atoms"),
]


@pytest.mark.parametrize(("event", "adjacency", "engine", "why"), ENGINES, ids=[f"{r[0]}-{r[1]}" for r in ENGINES])
def test_an_answer_says_which_engine_gave_it_and_why(event, adjacency, engine, why):
    profile = account(event, adjacency)
    answer = profile.epsilon_answer(1e-5)
    assert answer.engine == engine and why in answer.why
    assert (answer.lower, answer.upper) == profile.epsilon_bracket(1e-5)
    assert answer.width <= 1e-5
    other = profile.delta_answer(0.3)
    assert other.why and (other.lower, other.upper) == profile.delta_bracket(0.3)
    assert {"T2", "T15", "T23"} <= set(profile.tags)


def test_equal_events_are_one_law_however_they_are_written():
    """T15, T19: the composition is the same value, so the answers are the same numbers."""
    a, b = Poisson(Gaussian(1.0), rate=0.1), Laplace(2.0)
    first = account((a + b * 2) * 3, ADD).directions
    assert first == account(a * 2 + b * 6 + a, ADD).directions
    assert account(Gaussian(2.0) * 4, ADD).directions == account(Gaussian(1.0), ADD).directions


@pytest.mark.parametrize(
    ("event", "rates"),
    [
        (Gaussian(1.0), (0.0, 1e-3, 0.01, 0.1, 0.3, 0.7, 0.99, 1.0)),
        (Laplace(1.0), (0.0, 1e-3, 0.01, 0.1, 0.3, 0.7, 0.99, 1.0)),
        (Pure(0.4, ADD) * 3, (0.0, 1e-3, 0.01, 0.1, 0.3, 0.7, 0.99, 1.0)),
        (Poisson(Gaussian(0.8), rate=0.2) * 5, (0.01, 0.7)),
    ],
    ids=str,
)
def test_the_trade_off_falls_and_stays_under_the_diagonal(event, rates):
    """T2, T19: 0 <= f(x) <= 1 - x."""
    profile = account(event, ADD)
    values = [profile.tradeoff(rate) for rate in rates]
    assert all(0.0 <= value <= 1 - rate for rate, value in zip(rates, values, strict=True))
    assert all(after <= before + 1e-12 for before, after in itertools.pairwise(values))
    assert values[0] > 0.5 and (rates[-1] < 1 or values[-1] == 0.0)


FAR_OUT = """
import resource
resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30))
from dperm.accounting import Gaussian, Poisson, account
for event in (Poisson(Gaussian(0.8), rate=0.2) * 5, Poisson(Gaussian(1.0), rate=0.01) * 1000):
    for epsilon in (60.0, 100.0, 800.0):
        low, high = account(event, "add_remove").delta_bracket(epsilon)
        assert 0 <= low <= high < 1e-40, (event, epsilon, low, high)
"""


def test_an_epsilon_far_beyond_need_costs_neither_time_nor_memory():
    """In a process of its own, with 2 GB: `tradeoff(0.0)` asks such things."""
    subprocess.run([sys.executable, "-c", FAR_OUT], check=True, timeout=20)


def test_the_trade_off_of_the_gaussian_is_its_own():
    """T19: f(x) = Phi(Phi^-1(1 - x) - mu), never above."""
    profile = account(Gaussian(1.0), ADD)
    for quantile in (-3.0, -1.0, 0.0, 2.0):
        rate, exact = float(mp.ncdf(quantile)), mp.ncdf(-quantile - 1)
        assert exact - 1e-6 <= profile.tradeoff(rate) <= exact


@pytest.mark.parametrize("value", [-1e-300, -1, 1.0, 1, 2.5, math.nan, math.inf, "1e-5", None, True, [1e-5]])
def test_a_delta_outside_zero_to_one_is_refused_by_name(value):
    profile = account(Gaussian(1.0), ADD)
    for ask in (profile.epsilon, profile.epsilon_bracket, profile.epsilon_answer):
        with pytest.raises(
            ParameterError, match=r"^delta must be a number in \[0, 1\), got .*well below 1/n"
        ) as caught:
            ask(value)
        assert repr(value) in str(caught.value)


@pytest.mark.parametrize("value", [-1e-300, -1, math.nan, math.inf, "1", None, False, [1.0]])
def test_an_epsilon_that_is_no_finite_number_is_refused_by_name(value):
    profile = account(Gaussian(1.0), ADD)
    for ask in (profile.delta, profile.delta_bracket, profile.delta_answer):
        with pytest.raises(ParameterError, match=r"^epsilon must be a finite number >= 0, got ") as caught:
            ask(value)
        assert repr(value) in str(caught.value)


@pytest.mark.parametrize("value", [-0.1, 1.1, math.nan, "0.1", None, True])
def test_a_false_positive_rate_is_a_probability(value):
    with pytest.raises(ParameterError, match=r"^false_positive_rate must be a number in"):
        account(Gaussian(1.0), ADD).tradeoff(value)


@pytest.mark.parametrize("event", [1.0, None, "gaussian", Gaussian, [Gaussian(1.0)], {"type": "gaussian"}])
def test_only_an_event_is_accounted(event):
    with pytest.raises(ParameterError, match=r"event must be an event such as Gaussian\(1.0\) \* 10") as caught:
        account(event, ADD)
    assert shown(event) in str(caught.value)


@pytest.mark.parametrize("adjacency", [None, "", "add", "REPLACE_ONE", 2])
def test_an_adjacency_has_to_be_one_of_the_two(adjacency):
    with pytest.raises(AdjacencyError, match="no default"):
        account(Gaussian(1.0), adjacency)
    with pytest.raises(AdjacencyError, match="no default"):
        account(Gaussian(1.0))


def test_numpy_targets_are_accepted():
    profile = account(Laplace(2.0), ADD)
    assert profile.epsilon(np.float64(0.01)) == profile.epsilon(0.01)
    assert profile.delta(np.float32(0.25)) == profile.delta(0.25)
    assert type(profile.delta(np.float64(0.25))) is float


def test_answers_of_a_profile_do_not_depend_on_earlier_questions():
    event = Poisson(Gaussian(0.8), 0.001) * 100
    fresh = account(event, "add_remove")
    expected = [fresh.tradeoff(rate) for rate in (0.9, 0.02, 0.5)]
    explained = explain(fresh)
    used = account(event, "add_remove")
    for rate in (0.5, 0.3, 0.001):
        used.tradeoff(rate)
    assert [used.tradeoff(rate) for rate in (0.9, 0.02, 0.5)] == expected
    assert explain(used) == explained == explain(fresh)
