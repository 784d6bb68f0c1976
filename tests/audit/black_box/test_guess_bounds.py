# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""From guesses to a bound, with passes and a delta; and the choice of thresholds on a split."""

import math

import numpy as np
import pytest

from dperm.audit.black_box.guess_bounds import RATE_SHARE, GuessCounts, bound_from_counts, count_guesses
from dperm.audit.black_box.threshold_selection import best_thresholds, select_thresholds
from dperm.audit.guesses import approximate_from_guesses, pure_from_guesses
from dperm.audit.intervals import clopper_pearson_lower


def test_guesses_are_counted():
    scores = np.array([3.0, 2.0, 1.0, np.nan, -2.0, -3.0, -3.0])
    included = np.array([True, False, True, True, True, False, False])
    assert count_guesses(scores, included, low=-2.0, high=2.0) == GuessCounts(3, 5, 7)
    assert count_guesses(scores, included, low=0.0, high=0.0) == GuessCounts(4, 6, 7)
    assert count_guesses(np.zeros(7), included, low=0.0, high=0.0) == GuessCounts(
        4, 7, 7
    )  # a tie is a guess, and one only


def test_without_delta_it_is_one_binomial():
    assert bound_from_counts(GuessCounts(900, 1000, 5000), delta=0.0, alpha=0.05) == pure_from_guesses(
        900, 1000, confidence=0.95
    )
    assert bound_from_counts(GuessCounts(0, 0, 5000), delta=0.0, alpha=0.05).epsilon == 0


def test_with_delta_and_no_passes_it_is_one_binomial_too():
    own = bound_from_counts(GuessCounts(900, 1000, 1000), delta=0.1, alpha=0.05)
    assert own == approximate_from_guesses(900, 1000, delta=0.1, confidence=0.95)


def test_with_delta_and_passes_delta_counts_among_the_guesses():
    """By hand: g >= CP_lo(1000, 5000, .005), q >= CP_lo(900, 1000, .045)."""
    found = bound_from_counts(GuessCounts(900, 1000, 5000), delta=0.01, alpha=0.05)
    rate = float(clopper_pearson_lower(1000, 5000, RATE_SHARE * 0.05))
    right = float(clopper_pearson_lower(900, 1000, 0.045))
    assert found.epsilon == pytest.approx(math.log((right - 0.01 / rate) / (1 - right)), rel=1e-9)
    assert (found.delta, found.confidence) == (0.01, 0.95)
    assert bound_from_counts(GuessCounts(10, 10, 100_000), delta=0.01, alpha=0.05).epsilon == 0


def leaking(rng, runs, *, epsilon, delta):
    """The worst of all (epsilon, delta) mechanisms: with probability delta it tells the coin, else it is randomised."""
    included = rng.random(runs) < 0.5
    told = rng.random(runs) < delta
    honest = rng.random(runs) < math.exp(epsilon) / (1 + math.exp(epsilon))
    sign = np.where(included, 1.0, -1.0)
    return included, sign * np.where(told, 2.0, np.where(honest, 1.0, -1.0))


@pytest.mark.parametrize("high", [0.5, 1.5], ids=["all runs", "what delta tells"])
def test_no_rule_of_passing_beats_delta(high):
    """Whoever waits for the delta guesses always right, and yet shows no more than epsilon."""
    rng, wrong = np.random.default_rng(1), 0
    for _ in range(200):
        included, scores = leaking(rng, 2000, epsilon=0.5, delta=0.05)
        found = bound_from_counts(count_guesses(scores, included, low=-high, high=high), delta=0.05, alpha=0.2)
        wrong += found.epsilon > 0.5
    assert wrong <= 200 * 0.2 + 3 * math.sqrt(200 * 0.16)
    naive = approximate_from_guesses(100, 100, delta=0.05, confidence=0.8)
    assert naive.epsilon > 3  # what would be claimed if the passes did not count


def test_thresholds_lie_in_the_tails_of_laplace_noise():
    """Beyond both centres the ratio is e; between them it is less."""
    rng = np.random.default_rng(2)
    included = rng.random(20_000) < 0.5
    low, high = select_thresholds(rng.laplace(included, 1.0), included)
    assert low < 0.2 and high > 0.8


def test_a_score_that_tells_nothing_on_one_side_is_passed_there():
    scores = np.repeat([1.0, 0.0, 0.0], [300, 700, 1000])
    included = np.repeat([True, False, True, False], [300, 350, 350, 1000])  # 1 is always in, 0 is either
    value, (_, high) = best_thresholds(scores, included)
    assert 0 < high <= 1 and value > 2


def test_few_lucky_guesses_are_not_chosen():
    rng = np.random.default_rng(3)
    included = rng.random(10_000) < 0.5
    scores = rng.normal(size=10_000)
    low, high = select_thresholds(scores, included)
    assert count_guesses(scores, included, low=low, high=high).guesses >= 100


def test_scores_that_are_all_unknown_give_no_guess():
    low, high = select_thresholds(np.full(50, np.nan), np.arange(50) % 2 == 0)
    assert (low, high) == (-math.inf, math.inf)


def test_equal_scores_are_not_cut_by_rounding():
    """A likelihood ratio of pure noise has atoms, equal but for the last digits."""
    rng = np.random.default_rng(4)
    included = np.arange(4000) % 2 == 0
    right = np.arange(4000) % 8 < 6
    scores = np.where(right, 1, -1) * np.where(included, 1, -1) * (1 + rng.normal(0, 1e-15, 4000))
    low, high = select_thresholds(scores, included)
    assert count_guesses(scores, included, low=low, high=high).guesses == 4000
