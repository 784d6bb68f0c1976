# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""T33, T34: sensitivities of stopped gradient descent, attained by linear losses and never exceeded; E34 is unsafe."""

import itertools
from fractions import Fraction

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dperm.errors import AdjacencyError, AssumptionError, ParameterError
from dperm.sensitivity import Passes, constant_step_sensitivity, decreasing_step_sensitivity, descent_sensitivity

REPLACE = {"adjacency": "replace_one"}


def run_sgd(gradients, *, passes, batch, steps, gamma=0.0, divisors=None, orders=None):
    """Permutation SGD on linear losses g_i w plus (gamma/2) w^2; the last iterate."""
    m = len(gradients)
    w, t = 0.0, 0
    for k in range(passes):
        order = range(m) if orders is None else orders[k]
        for start in range(0, m, batch):
            t += 1
            chosen = [order[i] for i in range(start, min(start + batch, m))]
            divisor = batch if divisors is None else divisors(len(chosen))
            slope = sum(gradients[i] for i in chosen) / divisor
            w -= steps(t) * (slope + gamma * w)
    return w


def farthest(m, **how):
    """The largest distance over which record is replaced, g = -1 becoming +1."""
    base = np.zeros(m)
    moved = []
    for place in range(m):
        one, other = base.copy(), base.copy()
        one[place], other[place] = -1.0, 1.0
        moved.append(abs(run_sgd(one, **how) - run_sgd(other, **how)))
    return max(moved)


@pytest.mark.parametrize(("batch", "golden"), [(1, 1.0), (5, 0.2)])
def test_convex_bound_is_golden_and_attained(batch, golden):  # T33: golden wu_convex, wu_convex_batch
    bound = constant_step_sensitivity(Passes(20, 5, batch), step_size=0.1, smoothness=1.0, **REPLACE)
    assert bound == pytest.approx(golden, rel=1e-9)
    simulated = farthest(20, passes=5, batch=batch, steps=lambda t: 0.1)
    assert 0.999999 * bound <= simulated <= bound * (1 + 1e-12)


@pytest.mark.parametrize("batch", [1, 2, 5, 10])
def test_decreasing_steps_do_not_divide_by_the_batch(batch):  # T33, E34: golden wu_strong, wu_strong_batch_*
    run = Passes(20, 5, batch)
    bound = decreasing_step_sensitivity(run, strong_convexity=0.5, **REPLACE)
    assert bound == pytest.approx(0.2, rel=1e-9)
    # the objective is quadratic, beta = gamma, so 1/beta never limits the steps 1/(gamma t)
    simulated = farthest(20, passes=5, batch=batch, steps=lambda t: 1 / (0.5 * t), gamma=0.5)
    assert 0.999999 * bound <= simulated <= bound * (1 + 1e-12)
    tensorflow_privacy = 2 / (0.5 * 20 * batch)
    assert simulated >= 0.999999 * batch * tensorflow_privacy


@pytest.mark.parametrize("cap", [0.01, 0.1, 0.3, 1.5])
@pytest.mark.parametrize("batch", [1, 4, 20])
def test_decreasing_steps_with_a_largest_step_stay_within(cap, batch):  # T33: eta_t = min(1/beta, 1/(gamma t))
    bound = decreasing_step_sensitivity(Passes(20, 3, batch), strong_convexity=0.5, **REPLACE)
    simulated = farthest(20, passes=3, batch=batch, steps=lambda t: min(cap, 1 / (0.5 * t)), gamma=0.5)
    assert simulated <= bound * (1 + 1e-12)


def test_constant_step_of_a_strongly_convex_problem_is_golden():  # T33: golden wu_strong_const
    arguments = {"step_size": 0.1, "smoothness": 1.0, "strong_convexity": 0.5, **REPLACE}
    assert constant_step_sensitivity(Passes(20, 10**6), **arguments) == pytest.approx(0.3117624491591719, rel=1e-9)
    bound = constant_step_sensitivity(Passes(20, 5), **arguments)
    assert bound == pytest.approx(0.30991665046912226, rel=1e-9)  # what the golden simulation attained
    simulated = farthest(20, passes=5, batch=1, steps=lambda t: 0.1, gamma=0.5)
    assert 0.999999 * bound <= simulated <= bound * (1 + 1e-12)


@pytest.mark.parametrize("gamma", [0.0, 0.5])
def test_orders_may_change_from_pass_to_pass(gamma):  # T33: every pair of orders of five records, two passes
    bound = constant_step_sensitivity(
        Passes(5, 2, 2, same_divisor=True), step_size=0.3, smoothness=2.0, strong_convexity=gamma, **REPLACE
    )
    worst = 0.0
    for places in itertools.product(range(5), repeat=2):  # where the record stands in each pass
        orders = [[*range(1, place + 1), 0, *range(place + 1, 5)] for place in places]
        how = {"passes": 2, "batch": 2, "steps": lambda t: 0.3, "gamma": gamma, "orders": orders}
        one, other = np.array([-1.0, 0, 0, 0, 0]), np.array([1.0, 0, 0, 0, 0])
        worst = max(worst, abs(run_sgd(one, **how) - run_sgd(other, **how)))
    assert 0.999999 * bound <= worst <= bound * (1 + 1e-12)


def test_a_smaller_last_batch_voids_the_formula_unless_divided_by_b():  # T33: m = 7, b = 3: true .4, formula .133
    with pytest.raises(AssumptionError, match=r"needs a batch that divides records, got batch=3 .*same_divisor=True"):
        Passes(7, 1, 3)
    run = Passes(7, 1, 3, same_divisor=True)
    bound = constant_step_sensitivity(run, step_size=0.2, smoothness=1.0, **REPLACE)
    assert bound == pytest.approx(0.4 / 3, rel=1e-12)
    how = {"passes": 1, "batch": 3, "steps": lambda t: 0.2}
    assert farthest(7, **how) == pytest.approx(bound, rel=1e-12)
    assert farthest(7, **how, divisors=lambda r: r) == pytest.approx(0.4, rel=1e-12)


@pytest.mark.parametrize("strong_convexity", [0.0, 0.05])
def test_no_pair_of_logistic_runs_moves_further(strong_convexity):  # T33, T34: random rows, one replaced
    generator = np.random.default_rng(5)
    smoothness = 0.25 + strong_convexity
    step = (1.0 if strong_convexity else 2.0) / smoothness
    bound = descent_sensitivity(
        30, 25, step_size=step, smoothness=smoothness, strong_convexity=strong_convexity, **REPLACE
    )
    stochastic = constant_step_sensitivity(
        Passes(30, 4, 5), step_size=step, smoothness=smoothness, strong_convexity=strong_convexity, **REPLACE
    )
    for _ in range(20):
        rows = generator.normal(size=(30, 3))
        rows /= np.linalg.norm(rows, axis=1)[:, np.newaxis]
        other = rows.copy()
        other[7] = -rows[7]
        full = [_descend(x, [range(30)] * 25, step, strong_convexity) for x in (rows, other)]
        batches = [range(i, i + 5) for i in range(0, 30, 5)] * 4
        parts = [_descend(x, batches, step, strong_convexity) for x in (rows, other)]
        assert np.linalg.norm(full[0] - full[1]) <= bound
        assert np.linalg.norm(parts[0] - parts[1]) <= stochastic


def _descend(rows, batches, step, gamma):
    w = np.zeros(rows.shape[1])
    for batch in batches:
        x = rows[list(batch)]
        w = w - step * (-(x / (1 + np.exp(x @ w))[:, np.newaxis]).mean(axis=0) + gamma * w)
    return w


def test_full_descent_is_golden():  # T34: golden zhang_gd
    arguments = {"step_size": 0.5, "smoothness": 1.0, **REPLACE}
    assert descent_sensitivity(1000, 50, **arguments) == pytest.approx(0.05, rel=1e-9)
    strong = descent_sensitivity(1000, 50, strong_convexity=0.1, **arguments)
    assert strong == pytest.approx(0.018461100494465737, rel=1e-9)
    assert descent_sensitivity(1000, 10**9, strong_convexity=0.1, **arguments) == pytest.approx(0.02, rel=1e-9)


@pytest.mark.parametrize("mu", [0.0, 0.1, 2.0])
def test_full_descent_is_attained_by_linear_losses(mu):  # T34
    bound = descent_sensitivity(10, 7, step_size=0.5, smoothness=2.0, strong_convexity=mu, **REPLACE)
    simulated = farthest(10, passes=7, batch=10, steps=lambda t: 0.5, gamma=mu)
    assert 0.999999 * bound <= simulated <= bound * (1 + 1e-12)


@given(st.integers(1, 10**6), st.integers(1, 10**6), st.floats(1e-6, 2.0), st.floats(1e-3, 1e3), st.integers(1, 1000))
@settings(max_examples=60)
def test_convex_bounds_are_the_exact_numbers_rounded_up(records, passes, step, slope, batch):  # T33, T34
    run = Passes(records, passes, min(batch, records), same_divisor=True)
    arguments = {"step_size": step, "smoothness": 1.0, "lipschitz": slope, **REPLACE}
    exact = 2 * passes * Fraction(slope) * Fraction(step) / run.batch
    assert exact <= Fraction(constant_step_sensitivity(run, **arguments)) <= exact * (1 + Fraction(1, 2**52))
    exact = 2 * passes * Fraction(slope) * Fraction(step) / records
    assert exact <= Fraction(descent_sensitivity(records, passes, **arguments)) <= exact * (1 + Fraction(1, 2**52))


@given(st.integers(1, 300), st.integers(1, 20), st.floats(1e-5, 1.0), st.floats(1e-6, 1.0), st.integers(1, 30))
@settings(max_examples=60)
def test_strongly_convex_bounds_are_rounded_up(records, passes, step, gamma, batch):  # T33, T34
    run = Passes(records, passes, min(batch, records), same_divisor=True)
    arguments = {"step_size": step, "smoothness": 1.0, "strong_convexity": gamma, **REPLACE}
    with mp.workdps(60):
        keep = 1 - mp.mpf(step) * mp.mpf(gamma)
        exact = 2 * mp.mpf(step) / run.batch * mp.fsum(keep ** (run.updates * j) for j in range(passes))
        assert exact <= constant_step_sensitivity(run, **arguments) <= exact * (1 + mp.mpf(2) ** -40)
        exact = 2 * mp.mpf(step) / records * mp.fsum(keep**j for j in range(passes))
        assert exact <= descent_sensitivity(records, passes, **arguments) <= exact * (1 + mp.mpf(2) ** -40)


def test_steps_that_expand_are_refused():  # T33, T34: eta <= 2/beta, or 1/beta if strongly convex
    run = Passes(20, 5)
    for call in (lambda **k: constant_step_sensitivity(run, **k), lambda **k: descent_sensitivity(20, 5, **k)):
        call(step_size=2.0, smoothness=1.0, **REPLACE)
        with pytest.raises(AssumptionError, match=r"step_size must be at most 2/smoothness = 2\.0, got 2\.001"):
            call(step_size=2.001, smoothness=1.0, **REPLACE)
        call(step_size=1.0, smoothness=1.0, strong_convexity=0.5, **REPLACE)
        with pytest.raises(AssumptionError, match=r"at most 1/smoothness = 1\.0, got 1\.5.*strong_convexity=0\.0"):
            call(step_size=1.5, smoothness=1.0, strong_convexity=0.5, **REPLACE)
        with pytest.raises(ParameterError, match=r"strong_convexity must be at most smoothness = 1\.0, got 2\.0"):
            call(step_size=0.1, smoothness=1.0, strong_convexity=2.0, **REPLACE)
        for beta in (0.3, 0.7, 1.1, 3.0, 49.0):  # 1/beta in floating point is let through
            call(step_size=1 / beta, smoothness=beta, strong_convexity=beta / 2, **REPLACE)


def test_an_expanding_step_would_break_the_bound():  # why 2/beta is a condition: curvature 1, said to be 2/3
    simulated = farthest(10, passes=5, batch=10, steps=lambda t: 3.0, gamma=1.0)
    assert simulated > 2 * descent_sensitivity(10, 5, step_size=3.0, smoothness=2 / 3, **REPLACE)


def test_add_remove_is_refused():  # T33, T34
    for call in (
        lambda: constant_step_sensitivity(Passes(20, 5), step_size=0.1, smoothness=1.0, adjacency="add_remove"),
        lambda: decreasing_step_sensitivity(Passes(20, 5), strong_convexity=0.5, adjacency="add_remove"),
        lambda: descent_sensitivity(20, 5, step_size=0.1, smoothness=1.0, adjacency="add_remove"),
    ):
        with pytest.raises(AdjacencyError, match='is proved for adjacency="replace_one", got "add_remove"'):
            call()


@pytest.mark.parametrize(("name", "bad"), [("records", 0), ("passes", 1.5), ("batch", 21), ("batch", True)])
def test_passes_are_checked_by_name(name, bad):
    with pytest.raises(ParameterError, match=rf"^{name} must be a whole number from 1 to .*got {bad}"):
        Passes(**{"records": 20, "passes": 5, "batch": 1, name: bad})


def _bolt_on_holds(module) -> None:
    run = module.Passes(20, 5, 10)
    simulated = farthest(20, passes=5, batch=10, steps=lambda t: 1 / (0.5 * t), gamma=0.5)
    assert simulated <= module.decreasing_step_sensitivity(run, strong_convexity=0.5, **REPLACE) * (1 + 1e-12)
    simulated = farthest(20, passes=5, batch=10, steps=lambda t: 0.1)
    bound = module.constant_step_sensitivity(run, step_size=0.1, smoothness=1.0, **REPLACE)
    assert simulated <= bound * (1 + 1e-12)
    simulated = farthest(20, passes=5, batch=20, steps=lambda t: 0.1, gamma=0.5)
    bound = module.descent_sensitivity(20, 5, step_size=0.1, smoothness=1.0, strong_convexity=0.5, **REPLACE)
    assert simulated <= bound * (1 + 1e-12)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("(Fraction(gamma) * run.records)", "(Fraction(gamma) * run.records * run.batch)"),  # E34
        ("round_up(2 * Fraction(slope) / (F", "round_up(Fraction(slope) / (F"),
        ("return round_up(move * run.passes)", "return round_up(move)"),
        ("/ run.batch\n", "/ run.records\n"),
        ("raised(2 * slope / (n * mu)", "raised(slope / (n * mu)"),
    ],
)
def test_unsafe_mutants_are_killed(assert_killed, old, new):  # T33, T34, E34
    assert_killed(_bolt_on_holds, "dperm.sensitivity.stopped_descent", old, new)
