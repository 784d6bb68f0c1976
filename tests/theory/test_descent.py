# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""T47, T48: bounds for DP gradient descent, golden, rounded up, at the best number of steps, and never exceeded."""

import math

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dperm.errors import AdjacencyError, ParameterError
from dperm.privacy.gaussian_profile import mu_for
from dperm.theory import dpgd_excess_risk, last_iterate_bound

GOAL = {"epsilon": 1.0, "delta": 1e-5, "adjacency": "replace_one"}


def as_printed(n, dim, mu, steps, *, moved=2, slope=1.0, width=1.0) -> mp.mpf:
    """T48's formula in 40 digits."""
    with mp.workdps(40):
        noise = moved**2 * mp.mpf(dim) * mp.mpf(slope) ** 2 / (mp.mpf(n) * mp.mpf(mu)) ** 2
        return 2 * mp.mpf(width) * (2 + mp.log(steps)) * mp.sqrt(mp.mpf(slope) ** 2 / steps + noise)


def test_last_iterate_bound_by_hand():  # T47
    assert last_iterate_bound(1, diameter=1.0, gradient_norm=1.0) == pytest.approx(4.0, rel=1e-12)
    assert last_iterate_bound(100, diameter=2.0, gradient_norm=3.0) == pytest.approx(
        12 * (2 + math.log(100)) / 10, rel=1e-12
    )
    assert last_iterate_bound(100, diameter=2.0, gradient_norm=3.0, step_scale=0.1) == pytest.approx(
        (40 + 0.9) * (2 + math.log(100)) / 10, rel=1e-12
    )


@given(st.integers(1, 10**9), st.floats(0.01, 100), st.floats(0.01, 100), st.floats(0.01, 100))
@settings(max_examples=40)
def test_the_best_step_scale_is_the_one_taken(steps, width, size, scale):  # T47: c = D/G
    best = last_iterate_bound(steps, diameter=width, gradient_norm=size)
    assert best <= last_iterate_bound(steps, diameter=width, gradient_norm=size, step_scale=scale) * (1 + 1e-12)


def test_no_run_of_projected_sgd_is_worse():  # T47, E14: steps c/sqrt(t) from t = 1 on
    generator = np.random.default_rng(3)
    for steps in (1, 10, 200):
        last = np.zeros(400)  # |w - 1/2| on [-1, 1], gradients +-1 with noise of deviation 1: D = 2, G^2 = 2
        for t in range(1, steps + 1):
            gradient = np.sign(last - 0.5) + generator.normal(size=400)
            last = np.clip(last - 2 / math.sqrt(2) / math.sqrt(t) * gradient, -1, 1)
        bound = last_iterate_bound(steps, diameter=2.0, gradient_norm=math.sqrt(2))
        assert np.abs(last - 0.5).mean() <= bound
        if steps == 200:
            assert np.abs(last - 0.5).mean() >= 0.02 * bound


@pytest.mark.parametrize(
    ("n", "steps", "golden"),
    [(10_000, 1_230_907, 0.08094176708039227), (10**6, 21_794_447_537, 0.001266900994804267)],
)
def test_excess_risk_is_golden(n, steps, golden):  # T48: golden dpgd_excess, the best T of a grid of 400 up to 1e15
    at_golden, best = dpgd_excess_risk(n, 10, steps=steps, **GOAL), dpgd_excess_risk(n, 10, **GOAL)
    assert at_golden.bound == pytest.approx(golden, rel=1e-9)
    assert best.bound < at_golden.bound  # a better T than the grid has, by less than 2e-5 of the bound
    assert best.bound == pytest.approx(golden, rel=2e-5)


def test_noise_is_golden():  # T45: golden dpgd_sigma, 18.6 times less than the slide's
    risk = dpgd_excess_risk(10_000, 3, epsilon=0.5, delta=1e-5, adjacency="replace_one", steps=100)
    assert risk.sigma == pytest.approx(0.014063653351165014, rel=1e-9)
    assert risk.sigma >= 2 * 10 / (1e4 * mu_for(0.5, 1e-5))


def test_the_bound_is_never_more_than_that_of_any_point():  # T48: always capped at L D
    risk = dpgd_excess_risk(10, 1000, lipschitz=3.0, diameter=2.0, **GOAL)
    assert risk.bound == pytest.approx(6.0, rel=1e-12)
    assert risk.bound >= 6.0


@given(st.integers(1, 10**7), st.integers(1, 1000), st.floats(0.01, 20), st.floats(1e-12, 0.1), st.integers(1, 10**9))
@settings(max_examples=60)
def test_bounds_are_rounded_up(n, dim, epsilon, delta, steps):  # T48
    for adjacency, moved in (("replace_one", 2), ("add_remove", 1)):
        risk = dpgd_excess_risk(n, dim, epsilon=epsilon, delta=delta, adjacency=adjacency, steps=steps)
        truth = as_printed(n, dim, mu_for(epsilon, delta), steps, moved=moved)
        assert min(truth, 1) <= risk.bound <= min(truth, 1) * (1 + mp.mpf(1e-12))


@given(st.integers(10**3, 10**8), st.integers(1, 200), st.floats(0.1, 8), st.floats(-3, 3))
@settings(max_examples=60)
def test_no_other_number_of_steps_is_better(n, dim, epsilon, shift):  # T48
    goal = {"epsilon": epsilon, "delta": 1e-6, "adjacency": "replace_one"}
    best = dpgd_excess_risk(n, dim, **goal)
    for steps in (1, best.steps - 1, best.steps + 1, round(best.steps * 10**shift)):
        other = dpgd_excess_risk(n, dim, steps=min(max(steps, 1), 2**53), **goal)
        assert best.bound <= other.bound * (1 + 1e-14)


def test_add_remove_needs_half_the_noise():  # T48, T45
    one, two = (
        dpgd_excess_risk(10_000, 10, epsilon=1.0, delta=1e-5, adjacency=adjacency, steps=50)
        for adjacency in ("add_remove", "replace_one")
    )
    assert two.sigma == pytest.approx(2 * one.sigma, rel=1e-12)
    assert one.bound <= two.bound


def test_no_run_of_dp_gradient_descent_is_worse():  # T48: the spatial median of points, noise as planned
    generator = np.random.default_rng(4)
    n, dim, steps = 2000, 2, 400
    points = generator.normal(size=(n, dim)) * 0.2 + 0.3
    risk = dpgd_excess_risk(n, dim, diameter=2.0, steps=steps, **{**GOAL, "epsilon": 4.0})
    size = math.sqrt(1 + dim * risk.sigma**2)
    losses = []
    for _ in range(10):
        w = np.zeros(dim)
        for t in range(1, steps + 1):
            away = w - points
            gradient = (away / np.maximum(np.linalg.norm(away, axis=1), 1e-12)[:, np.newaxis]).mean(axis=0)
            w = w - 2 / size / math.sqrt(t) * (gradient + risk.sigma * generator.normal(size=dim))
            w /= max(1.0, np.linalg.norm(w))
        losses.append(np.linalg.norm(w - points, axis=1).mean())
    least = np.linalg.norm(np.median(points, axis=0) - points, axis=1).mean()
    assert -1e-3 <= np.mean(losses) - least <= risk.bound


@pytest.mark.parametrize(
    ("name", "bad"),
    [("n", 0), ("dim", 0), ("epsilon", 0.0), ("delta", 0.0), ("lipschitz", -1.0), ("diameter", math.inf), ("steps", 0)],
)
def test_nonsense_is_refused_by_name(name, bad):
    with pytest.raises(ParameterError, match=rf"^{name} must be .*got {bad}"):
        dpgd_excess_risk(**{"n": 100, "dim": 2, **GOAL, name: bad})


def test_adjacency_has_no_default():
    with pytest.raises(AdjacencyError, match="there is no default"):
        dpgd_excess_risk(100, 2, epsilon=1.0, delta=1e-5, adjacency=None)
