# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""The one-run audit for a Gaussian trade-off (A7): golden numbers, the algorithm as printed, edges."""

import numpy as np
import pytest
from scipy.special import ndtr, ndtri

from dperm.audit.coins import coins
from dperm.audit.one_run import one_run
from dperm.audit.one_run_tradeoff import gaussian_from_scores, gaussian_one_run, gaussian_one_run_mu
from dperm.errors import AssumptionError, ParameterError
from dperm.privacy import gaussian_profile

GOLDEN = [(1000, 100, 90, 2.456405), (10_000, 500, 480, 3.790361)]


def rejected(mu: float, v: int, r: int, m: int, alpha: float) -> bool:
    """Algorithm A7 as printed, to the last step."""
    right, wrong = alpha * v / m, alpha * (r - v) / m
    for i in range(v - 1, -1, -1):
        raised = max(wrong, float(ndtr(ndtri(right) - mu)))
        right = min(1.0, right + i / (r - i) * (raised - wrong))
        wrong = raised
    return right + wrong > r / m


@pytest.mark.parametrize(("m", "r", "v", "golden"), GOLDEN)
def test_the_golden_bounds(m, r, v, golden):
    bound = gaussian_one_run(v, r, m, delta=1e-5)
    assert bound.epsilon == pytest.approx(golden, abs=1e-6)
    assert bound.assumes == "the trade-off is Gaussian"
    assert "A7" in bound.method


@pytest.mark.parametrize(
    ("m", "r", "v"),
    [(1000, 100, 90), (300, 300, 180), (300, 300, 300), (50, 6, 6), (2000, 2000, 1080), (10**4, 80, 79)],
)
@pytest.mark.parametrize("confidence", [0.8, 0.95, 0.999])
def test_the_bound_is_rejected_by_the_printed_algorithm_and_a_little_more_is_not(m, r, v, confidence):
    mu = gaussian_one_run_mu(v, r, m, confidence=confidence)
    assert rejected(mu, v, r, m, 1 - confidence) == (mu > 0)
    assert not rejected(mu + 1e-6, v, r, m, 1 - confidence)


@pytest.mark.parametrize("mu", [0.5, 2.0])
def test_it_stays_below_the_truth_and_beats_the_bound_without_the_assumption(mu):
    m = 100_000
    v = int(m * ndtr(mu / 2))
    assert mu / 4 < gaussian_one_run_mu(v, m, m) < mu
    truth = gaussian_profile.epsilon_bracket(mu, 1e-5)[1]
    assert one_run(v, m, m, delta=1e-5).epsilon < gaussian_one_run(v, m, m, delta=1e-5).epsilon < truth


@pytest.mark.parametrize(
    ("v", "r", "m"), [(0, 0, 10), (0, 10, 10), (5, 10, 10), (4, 4, 4), (50_100, 100_000, 100_000), (1, 1, 10**9)]
)
def test_guesses_that_show_nothing(v, r, m):
    assert gaussian_one_run_mu(v, r, m) == 0
    assert gaussian_one_run(v, r, m, delta=1e-5).epsilon == 0


def test_nothing_but_right_guesses_is_a_finite_bound():
    bounds = [gaussian_one_run(n, n, n, delta=1e-5).epsilon for n in (10, 1000, 10**5, 10**9)]
    assert bounds == sorted(bounds)
    assert 0 < bounds[0] and np.isfinite(bounds[-1])


def test_a_large_delta_explains_everything():
    assert gaussian_one_run(90, 100, 100, delta=0.9).epsilon == 0


def test_more_right_guesses_are_a_larger_bound():
    bounds = [gaussian_one_run_mu(v, 200, 400) for v in range(0, 201, 5)]
    assert bounds == sorted(bounds)


def test_a_wrong_weight_would_be_found_out(assert_killed):
    def check(module):
        for m, r, v, golden in GOLDEN:
            assert abs(module.gaussian_one_run(v, r, m, delta=1e-5).epsilon - golden) < 1e-6

    assert_killed(check, "dperm.audit.one_run_tradeoff", "i / (r - i)", "(i + 1) / (r - i)")


def test_guesses_from_scores():
    drawn = coins(200, seed=1)
    found = gaussian_from_scores(drawn.included.astype(float), drawn, guesses_in=40, guesses_out=40, delta=1e-5)
    assert found == gaussian_one_run(80, 80, 200, delta=1e-5)


def test_bad_input_gets_a_clear_error():
    drawn = coins(200, seed=1)
    with pytest.raises(ParameterError, match="NaN"):
        gaussian_from_scores(np.full(200, np.nan), drawn, guesses_in=40, guesses_out=40, delta=1e-5)
    with pytest.raises(ParameterError, match="too few"):
        gaussian_from_scores(np.zeros(200), drawn, guesses_in=1, guesses_out=1, delta=1e-5)
    with pytest.raises(ParameterError, match="positive delta"):
        gaussian_one_run(9, 10, 10, delta=0.0)
    with pytest.raises(AssumptionError, match="independent=False"):
        gaussian_from_scores(np.zeros(200), drawn, guesses_in=9, guesses_out=9, delta=1e-5, independent=False)
    with pytest.raises(ParameterError, match="guesses"):
        gaussian_one_run(9, 11, 10, delta=1e-5)
