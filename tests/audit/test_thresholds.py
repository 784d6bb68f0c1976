# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Thresholds fixed, selected on a split or paid for (A5), with each of the five rules."""

import inspect

import numpy as np
import pytest

from dperm.audit import thresholds
from dperm.audit.coins import coins
from dperm.audit.guesses import approximate_from_guesses, gaussian_from_guesses, pure_from_guesses
from dperm.audit.rates import from_rates, gaussian_from_rates
from dperm.audit.thresholds import (
    APPROXIMATE_GUESSES,
    GAUSSIAN_GUESSES,
    GAUSSIAN_RATES,
    PURE_GUESSES,
    RATES,
    fixed_threshold,
    split_threshold,
    union_threshold,
)
from dperm.errors import AssumptionError, ParameterError
from dperm.noise.simulation import generator

RUNS = 4000
DRAWN = coins(RUNS, seed=4)
IN = DRAWN.included
SCORES = (2 * IN - 1.0) + np.random.default_rng(4).normal(size=RUNS)
RULES = {
    rule.name: (rule, 0.0 if rule is PURE_GUESSES else 1e-5)
    for rule in (RATES, GAUSSIAN_RATES, PURE_GUESSES, APPROXIMATE_GUESSES, GAUSSIAN_GUESSES)
}


def counted(threshold: float) -> tuple[int, int, int, int]:
    above = SCORES >= threshold
    return int((above & IN).sum()), int(IN.sum()), int((above & ~IN).sum()), int((~IN).sum())


def test_a_fixed_threshold_is_the_bound_of_its_counts():
    tp, n1, fp, n0 = counted(0.3)
    right = tp + n0 - fp
    for rule, expected in (
        (RATES, from_rates(tp, n1, fp, n0, delta=1e-5)),
        (GAUSSIAN_RATES, gaussian_from_rates(tp, n1, fp, n0, delta=1e-5)),
        (APPROXIMATE_GUESSES, approximate_from_guesses(right, RUNS, delta=1e-5)),
        (GAUSSIAN_GUESSES, gaussian_from_guesses(right, RUNS, delta=1e-5)),
    ):
        found = fixed_threshold(SCORES, DRAWN, 0.3, delta=1e-5, rule=rule)
        assert (found.epsilon, found.assumes) == (expected.epsilon, expected.assumes)
        assert found.method == f"{expected.method}, threshold fixed in advance (A5)"


def test_pure_guesses_are_made_in_both_tails():
    guesses = np.abs(SCORES) >= 1.5
    right = int((guesses & ((SCORES > 0) == IN)).sum())
    expected = pure_from_guesses(right, int(guesses.sum())).epsilon
    assert fixed_threshold(SCORES, DRAWN, 1.5, delta=0.0, rule=PURE_GUESSES).epsilon == expected
    holes = np.where(guesses, SCORES, np.nan)  # NaN: no guess
    assert fixed_threshold(holes, DRAWN, 1.5, delta=0.0, rule=PURE_GUESSES).epsilon == expected
    assert union_threshold(holes, DRAWN, [1.5], delta=0.0, rule=PURE_GUESSES).epsilon == pytest.approx(expected)


@pytest.mark.parametrize("name", RULES)
def test_the_union_is_the_best_of_the_thresholds_each_at_its_share(name):
    rule, delta = RULES[name]
    grid = [0.25, 0.5, 1.0, 2.0]
    found = union_threshold(SCORES, DRAWN, grid, delta=delta, rule=rule)
    each = [fixed_threshold(SCORES, DRAWN, t, delta=delta, confidence=1 - 0.05 / 4, rule=rule).epsilon for t in grid]
    assert found.epsilon == pytest.approx(max(each), rel=1e-12)
    assert found.confidence == 0.95
    assert "best of 4 thresholds" in found.method


def test_an_unpaid_union_would_be_found_out(assert_killed):
    def check(module):
        found = module.union_threshold(SCORES, DRAWN, [0.25, 0.5, 1.0], delta=1e-5).epsilon
        assert found < max(fixed_threshold(SCORES, DRAWN, t, delta=1e-5).epsilon for t in (0.25, 0.5, 1.0))

    assert_killed(check, "dperm.audit.thresholds", "alpha_of(confidence) / len(points)", "alpha_of(confidence)")


@pytest.mark.parametrize("name", RULES)
def test_a_split_selects_a_threshold_nearly_as_good_as_the_best(name):
    rule, delta = RULES[name]
    found = split_threshold(SCORES, DRAWN, delta=delta, rule=rule)
    best = max(fixed_threshold(SCORES, DRAWN, t, delta=delta, rule=rule).epsilon for t in np.linspace(0.05, 3, 60))
    assert 0.7 * best < found.epsilon <= 1.1 * best
    assert "selected on 800 other runs (A5)" in found.method


def test_the_runs_that_select_are_not_tested_on():
    """Scores that tell only in the part to select on: the rest must show nothing."""
    order = generator(0, "runs to select a threshold on").permutation(RUNS)  # the shuffle of seed 0
    scores = np.random.default_rng(6).normal(size=RUNS)
    scores[order[:800]] = 10.0 * IN[order[:800]]
    assert fixed_threshold(scores, DRAWN, 5.0, delta=0.0).epsilon > 3
    assert split_threshold(scores, DRAWN, delta=0.0).epsilon == 0
    assert split_threshold(scores, DRAWN, delta=0.0, seed=1).epsilon > 1


def test_to_test_on_the_runs_that_selected_would_be_found_out(assert_killed):
    scores = np.random.default_rng(6).normal(size=RUNS)
    chosen = generator(0, "runs to select a threshold on").permutation(RUNS)[:800]
    scores[chosen] = 10.0 * IN[chosen]

    def check(module):
        assert module.split_threshold(scores, DRAWN, delta=0.0).epsilon == 0

    assert_killed(check, "dperm.audit.thresholds", "order[size:]", "order")


def test_there_is_no_way_to_maximise_without_paying():
    public = {
        name
        for name, item in inspect.getmembers(thresholds, inspect.isfunction)
        if item.__module__ == thresholds.__name__
    }
    assert {name for name in public if not name.startswith("_")} == {
        "fixed_threshold",
        "split_threshold",
        "union_threshold",
    }


def test_rates_allow_stratified_runs_and_guesses_do_not():
    included = np.arange(RUNS) % 2 == 0
    for rule in (RATES, GAUSSIAN_RATES):
        assert fixed_threshold(SCORES, included, 0.0, delta=1e-5, rule=rule).confidence == 0.95
    for rule in (APPROXIMATE_GUESSES, GAUSSIAN_GUESSES):
        with pytest.raises(AssumptionError, match="independent"):
            fixed_threshold(SCORES, included, 0.0, delta=1e-5, rule=rule)
    with pytest.raises(AssumptionError, match="independent"):
        fixed_threshold(SCORES, included, 1.0, delta=0.0, rule=PURE_GUESSES)


def test_bad_input_gets_a_clear_error():
    holes = np.where(IN, np.nan, SCORES)
    with pytest.raises(ParameterError, match="NaN"):
        fixed_threshold(holes, DRAWN, 0.0, delta=0.0)
    with pytest.raises(ParameterError, match="finite"):
        fixed_threshold(SCORES, DRAWN, np.inf, delta=0.0)
    with pytest.raises(ParameterError, match="at least one"):
        union_threshold(SCORES, DRAWN, [], delta=0.0)
    with pytest.raises(ParameterError, match="positive"):
        fixed_threshold(SCORES, DRAWN, 0.0, delta=0.0, rule=PURE_GUESSES)
    with pytest.raises(ParameterError, match="delta must be 0"):
        fixed_threshold(SCORES, DRAWN, 1.0, delta=1e-5, rule=PURE_GUESSES)
    with pytest.raises(ParameterError, match="share"):
        split_threshold(SCORES, DRAWN, delta=0.0, share=0.5)
    with pytest.raises(ParameterError, match="more runs"):
        split_threshold(SCORES[:300], IN[:300], delta=0.0)
    with pytest.raises(ParameterError, match="both True and False"):
        fixed_threshold(SCORES, np.ones(RUNS, dtype=bool), 0.0, delta=0.0)


FUNCTIONS = {
    "fixed": lambda scores, **options: fixed_threshold(scores, DRAWN, 0.3, delta=0.0, **options),
    "union": lambda scores, **options: union_threshold(scores, DRAWN, [0.3, 0.5], delta=0.0, **options),
    "split": lambda scores, **options: split_threshold(scores, DRAWN, delta=0.0, **options),
}


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("rule", [RATES, PURE_GUESSES], ids=lambda rule: rule.name)
@pytest.mark.parametrize(
    "scores",
    ["abc", ["a"] * RUNS, None, SCORES[:, None], SCORES + 1j, [[1.0], [2.0, 3.0]]],
    ids=["text", "texts", "nothing", "matrix", "complex", "ragged"],
)
def test_scores_that_are_no_numbers_are_refused_by_name(scores, rule, name):
    with pytest.raises(ParameterError, match="scores must be"):
        FUNCTIONS[name](scores, rule=rule)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_rules_and_levels_are_checked(name):
    for rule in ("RATES", None, RATES.bound):
        with pytest.raises(ParameterError, match="rule must be one of RATES"):
            FUNCTIONS[name](SCORES, rule=rule)
    for confidence in (0.0, 1.0, 1e-300, "a", np.nan):
        with pytest.raises(ParameterError, match="confidence must be"):
            FUNCTIONS[name](SCORES, confidence=confidence)


def test_a_threshold_is_one_number_and_thresholds_are_a_list():
    for threshold in ("a", None, [1, 2], [[1], [2, 3]], np.nan):
        with pytest.raises(ParameterError, match="threshold must be a finite number"):
            fixed_threshold(SCORES, DRAWN, threshold, delta=0.0)
    for thresholds_ in (["x"], None, [[0.1, 0.2]], [0.1, np.nan]):
        with pytest.raises(ParameterError, match="thresholds must be"):
            union_threshold(SCORES, DRAWN, thresholds_, delta=0.0)
    with pytest.raises(ParameterError, match="delta must be"):
        split_threshold(SCORES, DRAWN, delta="a")


def test_few_lucky_guesses_do_not_win_the_selection():
    """Three of three right beat every honest threshold before shrinking; r >= 100 and v - sqrt(r)/2 keep them out."""
    tally = thresholds.Tally(
        np.array([3, 600]), np.array([0, 400]), np.array([500, 550]), np.array([500, 450]), 1000, 1000
    )
    assert np.argmax(RATES.estimate(tally, 0.0)) == 1
    assert (
        np.argmax(
            thresholds.PURE_GUESSES.estimate(
                thresholds.Tally(*np.array([[3, 60], [0, 40], [0, 60], [0, 40]]), 99, 99), 0.0
            )
        )
        == 1
    )
