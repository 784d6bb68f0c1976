# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""The one-run audit (A6): golden numbers, a plain computation, edges, and guesses from scores."""

import numpy as np
import pytest
from scipy.stats import binom

from dperm.audit.coins import coins
from dperm.audit.guesses import pure_from_guesses
from dperm.audit.one_run import from_scores, one_run, one_run_p_value
from dperm.errors import AssumptionError, ParameterError

P_VALUES = [
    (1000, 100, 90, 1.0, 0.0, 2.7358128007661584e-05),
    (1000, 100, 90, 1.0, 1e-5, 8.412885614385309e-04),
    (1000, 100, 90, 2.0, 1e-5, 0.3449868367938024),
    (10_000, 500, 480, 2.0, 1e-5, 3.7245552388433e-03),
    (1000, 1000, 600, 0.0, 0.0, 1.3642320780329735e-10),
]
BOUNDS = [
    (1000, 100, 90, 0.0, 1.630823),
    (1000, 100, 90, 1e-5, 1.626144),
    (10_000, 500, 480, 1e-5, 2.770387),
    (100_000, 2000, 1950, 1e-5, 3.229489),
]


def plain(v: int, r: int, m: int, epsilon: float, delta: float) -> float:
    """The formula as printed."""
    law, i = binom(r, 1 / (1 + np.exp(-epsilon))), np.arange(1, v + 1)
    windows = law.sf(v - i - 1) - law.sf(v - 1)
    return min(1.0, law.sf(v - 1) + 2 * m * delta * np.max(windows / i, initial=0.0))


@pytest.mark.parametrize(("m", "r", "v", "epsilon", "delta", "golden"), P_VALUES)
def test_the_golden_p_values(m, r, v, epsilon, delta, golden):
    assert one_run_p_value(v, r, m, epsilon=epsilon, delta=delta) == pytest.approx(golden, rel=1e-13)


@pytest.mark.parametrize(("m", "r", "v", "delta", "golden"), BOUNDS)
def test_the_golden_bounds(m, r, v, delta, golden):
    bound = one_run(v, r, m, delta=delta)
    assert bound.epsilon == pytest.approx(golden, abs=1e-6)
    assert (bound.delta, bound.confidence, bound.assumes) == (delta, 0.95, "")
    assert "A6" in bound.method


def test_the_search_for_the_window_agrees_with_trying_all():
    rng = np.random.default_rng(1)
    for _ in range(400):
        r = int(rng.integers(1, 150))
        v, m = int(rng.integers(0, r + 1)), r + int(rng.integers(0, 500))
        epsilon, delta = float(rng.exponential(1.5)), float(10 ** rng.uniform(-8, -1))
        found = one_run_p_value(v, r, m, epsilon=epsilon, delta=delta)
        assert found == pytest.approx(plain(v, r, m, epsilon, delta), rel=1e-10, abs=1e-14)


@pytest.mark.parametrize("confidence", [0.5, 0.9, 0.95, 0.999])
@pytest.mark.parametrize("delta", [0.0, 1e-4, 0.01])
def test_the_bound_is_rejected_and_a_little_more_is_not(confidence, delta):
    bound = one_run(190, 200, 200, delta=delta, confidence=confidence).epsilon
    alpha = 1 - confidence
    assert plain(190, 200, 200, bound, delta) <= alpha or bound == 0
    assert plain(190, 200, 200, bound + 1e-6, delta) > min(alpha, 0.499)


def test_below_one_half_p_grows_with_epsilon():
    """Else the bound would have to be the first epsilon that is not rejected."""
    rng = np.random.default_rng(2)
    for _ in range(60):
        r = int(rng.integers(1, 150))
        v, m, delta = int(rng.integers(1, r + 1)), r + int(rng.integers(0, 500)), float(10 ** rng.uniform(-6, -1))
        p = np.array([one_run_p_value(v, r, m, epsilon=float(e), delta=delta) for e in np.linspace(0, 6, 40)])
        first = int(np.argmax(np.append(p, 1.0) >= 0.5))
        assert (np.diff(p[:first]) >= 0).all()
        assert (p[first:] >= 0.5).all()


def test_without_delta_it_is_the_single_binomial():
    assert one_run(90, 100, 1000, delta=0.0).epsilon == pytest.approx(pure_from_guesses(90, 100).epsilon, rel=1e-8)


@pytest.mark.parametrize(("v", "r", "m"), [(0, 0, 10), (0, 10, 10), (5, 10, 10), (4, 4, 4), (1, 1, 10**9)])
def test_guesses_that_show_nothing(v, r, m):
    assert one_run(v, r, m, delta=0.0).epsilon == 0
    assert one_run(v, r, m, delta=1e-5).epsilon == 0


def test_a_large_delta_explains_everything():
    assert one_run(1000, 1000, 1000, delta=0.5).epsilon == 0
    bounds = [one_run(1000, 1000, 1000, delta=delta).epsilon for delta in (0.0, 1e-9, 1e-6, 1e-4)]
    assert bounds == sorted(bounds, reverse=True)
    assert bounds[-1] > 0


def test_huge_numbers_and_huge_epsilons():
    bound = one_run(6 * 10**8, 10**9, 10**9, delta=1e-12).epsilon
    assert 0.4050 < bound < np.log(1.5)
    assert np.isfinite(one_run(10**9, 10**9, 10**9, delta=0.0).epsilon)
    for epsilon in (40.0, 300.0, 1e4):
        assert one_run_p_value(100, 100, 100, epsilon=epsilon, delta=1e-5) == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("counts", "name"), [((3, 2, 10), "correct"), ((3, 11, 10), "guesses"), ((0, 0, 0), "canaries")]
)
def test_impossible_counts_are_refused_by_name(counts, name):
    with pytest.raises(ParameterError, match=name):
        one_run(*counts, delta=0.0)


def test_half_the_delta_would_be_found_out(assert_killed):
    def check(module):
        for m, r, v, epsilon, delta, golden in P_VALUES:
            assert abs(module.one_run_p_value(v, r, m, epsilon=epsilon, delta=delta) / golden - 1) < 1e-12

    assert_killed(check, "dperm.audit.one_run", "beta + 2 * m * delta", "beta + m * delta")


def guessed(scores, included, *, ins=50, outs=50, delta=0.0, **options):
    return from_scores(scores, included, guesses_in=ins, guesses_out=outs, delta=delta, **options)


def test_the_highest_scores_are_guessed_in_and_the_lowest_out():
    drawn = coins(200, seed=1)
    clear = drawn.included.astype(float)
    assert guessed(clear, drawn) == one_run(100, 100, 200, delta=0.0)
    assert guessed(clear, drawn.included.copy()) == one_run(100, 100, 200, delta=0.0)
    assert guessed(-clear, drawn).epsilon == 0
    assert guessed(clear, drawn, ins=0, outs=30) == one_run(30, 30, 200, delta=0.0)
    half_blind = np.where(np.arange(200) < 100, clear, 0.5)
    right = 2 * min(50, int(drawn.included[:100].sum()), int((~drawn.included[:100]).sum()))
    assert guessed(half_blind, drawn).epsilon >= one_run(right, 100, 200, delta=0.0).epsilon


def test_infinite_scores_are_scores():
    drawn = coins(200, seed=1)
    assert guessed(np.where(drawn.included, np.inf, -np.inf), drawn) == one_run(100, 100, 200, delta=0.0)


def test_ties_do_not_look_at_the_coins():
    """Equal scores: the same positions are guessed whatever the coins, and half the guesses are right."""
    right = []
    for seed in range(300):
        drawn = coins(100, seed)
        p = guessed(np.zeros(100), drawn, ins=20, outs=20)
        right.append(p.epsilon > 0)
    assert np.mean(right) <= 0.05 + 5 * np.sqrt(0.05 * 0.95 / 300)


def test_ties_do_not_go_by_position():
    """Members listed last, but for a few, and all scores equal: by position every guess would be right."""
    rng = np.random.default_rng(0)
    included = np.sort(rng.random(30) < 0.5)
    included[:6], included[-6:] = [0, 1, 0, 0, 1, 0], [1, 1, 0, 1, 0, 1]
    assert guessed(np.zeros(30), included, ins=10, outs=10).epsilon == 0


@pytest.mark.parametrize(
    ("scores", "included", "options", "word"),
    [
        (np.full(200, np.nan), coins(200, 1), {}, "NaN"),
        (np.zeros((200, 1)), coins(200, 1), {}, "one number per canary"),
        (np.zeros(99), coins(99, 1), {}, "must not exceed the number of canaries"),
        (np.zeros(200), coins(201, 1), {}, "one entry per score"),
        (np.zeros(200), np.ones(200, dtype=bool), {}, "both True and False"),
        (np.zeros(200), np.zeros(200), {}, "one boolean"),
        (np.zeros(200), coins(200, 1), {"ins": -1}, "guesses_in"),
        (np.zeros(200), coins(200, 1), {"ins": 2, "outs": 2}, "too few"),
        (np.zeros(4), coins(4, 1), {"ins": 2, "outs": 2}, "too few"),
        (np.zeros(200), coins(200, 1), {"delta": 0.3}, "smaller delta"),
        (np.zeros(200), coins(200, 1), {"confidence": 1.0}, "confidence"),
    ],
    ids=[
        "nan",
        "matrix",
        "guesses",
        "length",
        "all in",
        "floats",
        "negative",
        "few guesses",
        "few canaries",
        "delta",
        "sure",
    ],
)
def test_bad_input_gets_a_clear_error(scores, included, options, word):
    with pytest.raises(ParameterError, match=word):
        guessed(scores, included, **options)


def test_coins_declared_or_seen_to_be_dependent_are_refused():
    with pytest.raises(AssumptionError, match="independent=False"):
        guessed(np.zeros(200), coins(200, 1), independent=False)
    with pytest.raises(AssumptionError, match="independent coins"):
        guessed(np.zeros(200), np.arange(200) < 100)
