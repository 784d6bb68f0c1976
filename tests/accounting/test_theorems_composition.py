# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""T11, T12, T12a, T13, T14 against golden numbers (shared/golden/theory.json), mpmath and each other."""

import itertools
import math

import mpmath as mp
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from dperm.accounting.theorems import (
    advanced_composition,
    advanced_composition_delta,
    basic_composition,
    heterogeneous_composition_delta,
    heterogeneous_composition_epsilon,
    optimal_composition_delta,
    optimal_composition_epsilon,
    per_step_epsilon,
)
from dperm.accounting.theorems._binomial import log_response_mass
from dperm.errors import AssumptionError

epsilons = st.floats(1e-3, 3.0)
deltas = st.sampled_from([0.0, 1e-12, 1e-6, 1e-3])


def misprinted_advanced_composition(epsilon: float, count: int, slack: float) -> float:
    """S1's formula with its misprint e^{eps+1} (E1)."""
    drift = count * epsilon * math.expm1(epsilon) / math.exp(epsilon + 1)
    return epsilon * math.sqrt(2 * count * math.log(1 / slack)) + drift


def optimal_by_mpmath(epsilon: float, delta: float, count: int, total: float) -> mp.mpf:
    """T13 as printed, in 60 digits."""
    with mp.workdps(60):
        e, top = mp.mpf(epsilon), mp.mpf(total)
        terms = (
            mp.binomial(count, k) * max(mp.exp((count - k) * e) - mp.exp(top + k * e), 0) for k in range(count + 1)
        )
        return 1 - (1 - mp.mpf(delta)) ** count * (1 - sum(terms) / (1 + mp.exp(e)) ** count)


def heterogeneous_by_mpmath(epsilons: list[float], deltas: list[float], total: float) -> mp.mpf:
    """T14 as printed, over all subsets, in 60 digits."""
    with mp.workdps(60):
        es, excess = [mp.mpf(e) for e in epsilons], mp.mpf(0)
        for signs in itertools.product((0, 1), repeat=len(es)):
            inside = sum(e for e, s in zip(es, signs, strict=True) if s)
            excess += max(mp.exp(inside) - mp.exp(mp.mpf(total) + sum(es) - inside), 0)
        keep = mp.fprod(1 - mp.mpf(d) for d in deltas)
        return 1 - keep * (1 - excess / mp.fprod(1 + mp.exp(e) for e in es))


def test_basic_composition_adds_and_rounds_up():  # T11
    assert basic_composition([0.5, 0.25], [0.0, 0.125]) == (0.75, 0.125)
    assert basic_composition([], []) == (0.0, 0.0)
    epsilon, delta = basic_composition([0.1] * 10, [1e-6] * 10)
    assert mp.mpf(epsilon) >= 10 * mp.mpf(0.1)
    assert epsilon == pytest.approx(1.0, rel=1e-15)
    assert delta == pytest.approx(1e-5, rel=1e-15)
    assert basic_composition([1.0] * 3, [0.4] * 3)[1] == 1.0


@pytest.mark.parametrize(
    ("epsilon", "count", "slack", "correct", "misprint"),
    [
        (0.1, 100, 1e-5, 5.298109661766881, 5.148609486921709),
        (1.0, 10, 1e-5, 19.79544286645156, 17.49971287319976),
        (0.5, 100, 1e-6, 38.52854196897012, 33.520072899935286),
        (2.0, 20, 1e-6, 77.47952624776659, 59.739454921679126),
        (1.0, 1000, 1e-6, 628.3429708869207, 398.7699715617406),
    ],
)
def test_advanced_composition_is_the_golden_one_and_not_the_misprint(epsilon, count, slack, correct, misprint):
    value, delta = advanced_composition(epsilon, 0.0, count=count, slack=slack)  # T12, E1
    assert correct <= value <= correct * (1 + 1e-13)
    assert slack <= delta <= slack * (1 + 1e-13)
    assert misprinted_advanced_composition(epsilon, count, slack) == pytest.approx(misprint, rel=1e-12)


def test_the_misprint_is_unsafe():  # E1: golden adv_typo_1_1000
    claimed = misprinted_advanced_composition(1.0, 1000, 1e-6)
    true_delta = optimal_composition_delta(1.0, 0.0, count=1000, total_epsilon=claimed)
    assert true_delta == pytest.approx(0.9862516950680872, rel=1e-9)
    correct, _ = advanced_composition(1.0, 0.0, count=1000, slack=1e-6)
    assert optimal_composition_delta(1.0, 0.0, count=1000, total_epsilon=correct) < 1e-6


def test_the_sharper_delta_is_sharper():  # T12; golden composition.delta_total
    sharp = advanced_composition_delta(1e-6, count=100, slack=1e-5)
    assert sharp == pytest.approx(0.00010999405021405728, rel=1e-9)
    assert sharp < advanced_composition(0.1, 1e-6, count=100, slack=1e-5)[1]
    with mp.workdps(40):
        truth = 1 - (1 - mp.mpf(1e-6)) ** 100 * (1 - mp.mpf(1e-5))
        assert truth <= sharp <= truth * (1 + mp.mpf(1e-13))
    assert advanced_composition_delta(0.0, count=7, slack=1e-5) == 1e-5


@given(st.floats(1e-3, 0.999), st.integers(1, 2000), st.floats(1e-9, 0.5))
@settings(max_examples=50)
def test_per_step_epsilon_keeps_the_promise(epsilon, count, slack):  # T12a
    step = per_step_epsilon(epsilon, count=count, slack=slack)
    assert step == pytest.approx(epsilon / math.sqrt(8 * count * math.log(1 / slack)), rel=1e-13)
    assert advanced_composition(step, 0.0, count=count, slack=slack)[0] <= epsilon
    assert optimal_composition_delta(step, 0.0, count=count, total_epsilon=epsilon) <= slack


def test_per_step_epsilon_refuses_outside_its_conditions():  # T12a
    with pytest.raises(AssumptionError, match=r"T12a.*epsilon < 1.*got 1\.0"):
        per_step_epsilon(1.0, count=10, slack=1e-5)
    with pytest.raises(AssumptionError, match="slack <= 1/2"):
        per_step_epsilon(0.5, count=10, slack=0.6)


def test_the_lecture_of_gradient_descent_needs_log_of_t_plus_1_over_delta():  # E12
    epsilon, delta, count = 0.5, 1e-5, 100
    share = delta / (count + 1)
    right = per_step_epsilon(epsilon, count=count, slack=share)
    misprint = epsilon / math.sqrt(8 * count * math.log(1 / delta))
    assert right < misprint
    total = optimal_composition_delta(right, share, count=count, total_epsilon=epsilon)
    assert total <= delta


@pytest.mark.parametrize(
    ("epsilon", "count", "delta", "optimal"),
    [
        (1.0, 10, 1e-5, 9.999770634534942),
        (0.5, 100, 1e-6, 33.319788238577544),
        (2.0, 20, 1e-6, 39.999987338491636),
        (1.0, 1000, 1e-6, 591.0796504544095),
    ],
)
def test_optimal_epsilon_is_golden(epsilon, count, delta, optimal):  # T13: golden adv_typo_*
    value = optimal_composition_epsilon(epsilon, 0.0, count=count, total_delta=delta)
    assert value == pytest.approx(optimal, rel=1e-9)


def test_optimal_composition_is_golden():  # T13: golden kov_formula_check, composition
    assert optimal_composition_delta(0.5, 1e-3, count=4, total_epsilon=1.0) == pytest.approx(
        0.09851010448874553, rel=1e-9
    )
    assert optimal_composition_delta(0.5, 0.0, count=4, total_epsilon=1.0) == pytest.approx(
        0.09489511194634485, rel=1e-9
    )
    total = advanced_composition_delta(1e-6, count=100, slack=1e-5)
    assert optimal_composition_epsilon(0.1, 1e-6, count=100, total_delta=total) == pytest.approx(
        4.306791372518365, rel=1e-9
    )


@given(epsilons, deltas, st.integers(1, 60), st.floats(0.0, 1.2))
@settings(max_examples=60)
def test_optimal_delta_is_the_printed_formula_rounded_up(epsilon, delta, count, share):  # T13
    total = share * count * epsilon
    value, truth = (f(epsilon, delta, count, total) for f in (_optimal, optimal_by_mpmath))
    assert truth <= value <= float(truth) * (1 + 1e-11) + 1e-15 * total  # the losses k eps are rounded up


def _optimal(epsilon: float, delta: float, count: int, total: float) -> float:
    return optimal_composition_delta(epsilon, delta, count=count, total_epsilon=total)


@given(epsilons, deltas, st.integers(1, 400), st.floats(1e-9, 0.9))
@settings(max_examples=80)
def test_optimal_epsilon_inverts_optimal_delta(epsilon, delta, count, total):  # T13
    assume(total >= 1 - (1 - delta) ** count * (1 - 1e-12))
    value = optimal_composition_epsilon(epsilon, delta, count=count, total_delta=total)
    assert _optimal(epsilon, delta, count, value) <= total
    if value > 0:
        assert _optimal(epsilon, delta, count, value * (1 - 1e-6)) >= total * (1 - 1e-9)


@given(epsilons, deltas, st.integers(1, 400), st.floats(1e-9, 0.5))
@settings(max_examples=80)
def test_advanced_is_never_below_optimal(epsilon, delta, count, slack):  # T11, T12, T13
    advanced, _ = advanced_composition(epsilon, delta, count=count, slack=slack)
    total = advanced_composition_delta(delta, count=count, slack=slack)
    assume(total < 1)
    optimal = optimal_composition_epsilon(epsilon, delta, count=count, total_delta=total)
    assert 0 <= optimal <= advanced
    assert optimal <= basic_composition([epsilon] * count, [delta] * count)[0]


def test_the_order_of_the_three_theorems_at_a_hundred_steps():  # T11, T12, T13: golden composition
    basic, _ = basic_composition([0.1] * 100, [1e-6] * 100)
    advanced, _ = advanced_composition(0.1, 1e-6, count=100, slack=1e-5)
    total = advanced_composition_delta(1e-6, count=100, slack=1e-5)
    optimal = optimal_composition_epsilon(0.1, 1e-6, count=100, total_delta=total)
    assert basic > advanced > optimal > advanced / 1.25


def test_a_million_mechanisms():  # T13: k = 1e6 responses are nearly Gaussian, mu = eps sqrt(k) = 1 (T6)
    epsilon = optimal_composition_epsilon(1e-3, 0.0, count=10**6, total_delta=1e-5)
    assert epsilon == pytest.approx(4.377178095681232, rel=1e-5)
    assert _optimal(1e-3, 0.0, 10**6, epsilon) <= 1e-5


def test_pure_composition_at_the_sum_of_the_epsilons_is_pure():  # T13
    assert _optimal(0.7, 0.0, 1, 0.7) == 0.0
    assert _optimal(0.7, 1e-6, 1, 0.7) == 1e-6
    assert _optimal(1.0, 0.0, 2, 2.0) == 0.0
    assert _optimal(0.1, 0.0, 10, 1.01) == 0.0
    assert 0 < _optimal(0.1, 0.0, 10, 1.0) < 1e-16  # ten times the double 0.1 is a little more than 1
    assert 1.0 <= optimal_composition_epsilon(0.1, 0.0, count=10, total_delta=0.0) <= 1.0 + 1e-15
    assert optimal_composition_epsilon(0.0, 1e-6, count=1, total_delta=1e-6) == 0.0


def test_a_total_delta_that_no_epsilon_reaches_is_refused():  # T13
    with pytest.raises(AssumptionError, match="total_delta must be at least"):
        optimal_composition_epsilon(0.1, 1e-6, count=100, total_delta=1e-5)


def test_murtagh_vadhan_is_golden():  # T14: golden murtagh_vadhan
    value = heterogeneous_composition_delta([0.2, 0.5, 1.0], [1e-6, 0.0, 1e-5], total_epsilon=1.2)
    assert value == pytest.approx(0.11795146866634054, rel=1e-9)


@given(st.lists(st.tuples(st.sampled_from([0.1, 0.3, 0.7, 1.1, 2.0]), deltas), min_size=1, max_size=8), st.floats(0, 1))
@settings(max_examples=40)
def test_heterogeneous_delta_is_the_printed_formula_rounded_up(pairs, share):  # T14
    es, ds = [e for e, _ in pairs], [d for _, d in pairs]
    total = share * sum(es)
    value, truth = heterogeneous_composition_delta(es, ds, total_epsilon=total), heterogeneous_by_mpmath(es, ds, total)
    assert truth <= value <= float(truth) * (1 + 1e-11) + 1e-14
    if 0 < value < 1:
        assert heterogeneous_composition_epsilon(es, ds, total_delta=value) <= total * (1 + 1e-9) + 1e-9


@given(epsilons, deltas, st.integers(1, 300), st.floats(0, 1))
@settings(max_examples=40)
def test_equal_parameters_are_the_homogeneous_case(epsilon, delta, count, share):  # T13, T14
    total = share * count * epsilon
    left = heterogeneous_composition_delta([epsilon] * count, [delta] * count, total_epsilon=total)
    assert left == pytest.approx(_optimal(epsilon, delta, count, total), rel=1e-12, abs=0)


def test_heterogeneous_epsilon_meets_its_target_with_twenty_different_epsilons():  # T14
    es = np.linspace(0.1, 0.5, 20)
    epsilon = heterogeneous_composition_epsilon(es, [1e-9] * 20, total_delta=1e-6)
    assert heterogeneous_composition_delta(es, [1e-9] * 20, total_epsilon=epsilon) <= 1e-6
    assert heterogeneous_composition_delta(es, [1e-9] * 20, total_epsilon=epsilon - 1e-6) > 1e-6


def test_too_many_different_epsilons_point_to_account():  # T14
    with pytest.raises(AssumptionError, match=r"#P-hard.*account\(\)"):
        heterogeneous_composition_delta(np.linspace(0.1, 0.5, 22), [0.0] * 22, total_epsilon=1.0)


@given(st.floats(1e-4, 20), st.integers(1, 10**6), st.floats(-12, 12))
@settings(max_examples=80)
def test_binomial_atoms_are_rounded_up_and_tight(epsilon, count, deviations):
    mean = count / (1 + math.exp(epsilon))
    lies = min(max(round(mean + deviations * math.sqrt(mean)), 0), count)
    value = float(log_response_mass(np.array([float(lies)]), count, epsilon)[0])
    with mp.workdps(60):
        odds = mp.mpf(epsilon)
        truth = mp.log(mp.binomial(count, lies)) + (count - lies) * odds - count * mp.log1p(mp.exp(odds))
        assert 0 <= float(value - truth) < 1e-10
