# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""T21, T22, T24 (single steps) and T27 against golden numbers (shared/golden/theory.json) and mpmath."""

import math

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dperm.accounting.theorems import (
    amplify_poisson,
    amplify_without_replacement,
    analytic_gaussian_delta,
    analytic_gaussian_epsilon,
    poisson_gaussian_delta,
    shuffle_without_amplification,
    shuffled_delta_lower,
    without_replacement_gaussian_delta,
)
from dperm.errors import AdjacencyError, ParameterError
from dperm.privacy.adjacency import Adjacency, Direction

BOTH = ("replace_one", "add_remove")


Mixture = list[tuple[float, float]]
"""(weight, mean) of unit normals."""


def density(mixture: Mixture, x: mp.mpf) -> mp.mpf:
    return mp.fsum(weight * mp.npdf(x, mean) for weight, mean in mixture)


def mass_above(mixture: Mixture, x: mp.mpf) -> mp.mpf:
    return mp.fsum(weight * mp.ncdf(mean - x) for weight, mean in mixture)


def hockey_stick(p: Mixture, q: Mixture, epsilon: float) -> float:
    """H_{e^eps}(P || Q) where p/q is monotone: the tail beyond the one point where p = e^eps q (T1, T2)."""
    with mp.workdps(40):
        limit = mp.exp(mp.mpf(epsilon))

        def gap(x):
            return density(p, x) / density(q, x) - limit

        low, high = mp.mpf(-40), mp.mpf(40)
        if gap(low) * gap(high) > 0:
            return 0.0
        x = mp.findroot(gap, (low, high), solver="bisect", tol=1e-60, maxsteps=200, verify=False)
        upper = mass_above(p, x) - limit * mass_above(q, x)
        return float(upper if gap(high) > 0 else 1 - limit - upper)


def test_amplification_is_golden():  # T21: golden amp
    for epsilon, delta in (
        amplify_poisson(1.0, 1e-5, rate=0.01, adjacency="add_remove"),
        amplify_without_replacement(1.0, 1e-5, sample_size=10, population=1000, adjacency="replace_one"),
        amplify_without_replacement(
            1.0, 1e-5, sample_size=10, population=999, adjacency="add_remove", base="replace_one"
        ),
        amplify_poisson(1.0, 1e-5, rate=0.01, adjacency="replace_one", base=BOTH),
    ):
        assert epsilon == pytest.approx(0.01703686323617655, rel=1e-9)
        assert delta == pytest.approx(1e-7, rel=1e-9)


def test_twice_q_epsilon_holds_up_to_1_2564():  # T21: golden amp.max_eps_for_2qe (the limit q -> 0)
    root = 1.256431208626068
    assert amplify_poisson(root - 1e-6, 0.0, rate=1e-9, adjacency="add_remove")[0] <= 2e-9 * (root - 1e-6)
    assert amplify_poisson(root + 1e-6, 0.0, rate=1e-9, adjacency="add_remove")[0] > 2e-9 * (root + 1e-6)


@given(st.floats(0, 1000), st.floats(0, 0.9))
@settings(max_examples=60)
def test_sampling_everything_is_the_identity(epsilon, delta):  # T21
    assert amplify_poisson(epsilon, delta, rate=1.0, adjacency="add_remove") == (epsilon, delta)
    assert amplify_without_replacement(
        epsilon, delta, sample_size=7, population=7, adjacency=Adjacency.REPLACE_ONE
    ) == (epsilon, delta)


@given(st.floats(0, 1000), st.floats(1e-12, 1.0))
@settings(max_examples=60)
def test_amplified_epsilon_is_the_formula_rounded_up(epsilon, rate):  # T21
    value, _ = amplify_poisson(epsilon, 0.0, rate=rate, adjacency="add_remove")
    with mp.workdps(500):
        truth = mp.log1p(mp.mpf(rate) * mp.expm1(mp.mpf(epsilon)))
        assert truth <= value <= truth * (1 + mp.mpf(1e-12)) + mp.mpf(1e-320)


def test_amplification_refuses_the_mixed_cases():  # T21
    with pytest.raises(AdjacencyError, match=r"Poisson sampling under replace_one.*DP under add_remove"):
        amplify_poisson(1.0, 0.0, rate=0.1, adjacency="replace_one")
    with pytest.raises(AdjacencyError, match=r"DP under replace_one \(T21\)"):
        amplify_poisson(1.0, 0.0, rate=0.1, adjacency="replace_one", base="add_remove")
    with pytest.raises(AdjacencyError, match=r"without replacement under add_remove.*DP under replace_one"):
        amplify_without_replacement(1.0, 0.0, sample_size=1, population=9, adjacency="add_remove")
    with pytest.raises(AdjacencyError, match="DP under add_remove"):
        amplify_poisson(1.0, 0.0, rate=0.1, adjacency="add_remove", base="replace_one")
    for bad in (5, "both", ["both"]):
        with pytest.raises(AdjacencyError, match="no default"):
            amplify_poisson(1.0, 0.0, rate=0.1, adjacency="add_remove", base=bad)


def test_why_poisson_under_replace_needs_both_relations():  # T21 (ii): .02295 > .01269
    base = analytic_gaussian_delta(1.0, 1.0)  # add_remove only: sensitivity 1
    epsilon, claimed = amplify_poisson(1.0, base, rate=0.1, adjacency="replace_one", base=BOTH)
    truth = hockey_stick([(0.9, 0), (0.1, 1)], [(0.9, 0), (0.1, -1)], epsilon)  # the pair of T25
    assert claimed == pytest.approx(0.01269, abs=1e-5)
    assert truth == pytest.approx(0.02295, abs=1e-5)
    honest = analytic_gaussian_delta(1.0, 1.0, sensitivity=2.0)  # replace: sensitivity 2; add_remove follows
    assert truth <= amplify_poisson(1.0, honest, rate=0.1, adjacency="replace_one", base=BOTH)[1]


def test_why_sampling_without_replacement_needs_a_replace_base():  # T21 (i): .3824 > .0952
    # {-1,-1,-1} against {-1,-1,-1,1}, m = 3: N(-3) against N(-3)/4 + 3 N(-1)/4
    only_add_remove, replace = (analytic_gaussian_delta(1.0, 1.0, sensitivity=s) for s in (1.0, 2.0))
    sizes = {"sample_size": 3, "population": 3, "adjacency": "add_remove", "base": "replace_one"}
    epsilon, claimed = amplify_without_replacement(1.0, only_add_remove, **sizes)
    truth = hockey_stick([(0.25, -3), (0.75, -1)], [(1, -3)], epsilon)
    assert claimed == pytest.approx(0.0952, abs=1e-4)
    assert truth == pytest.approx(0.3824, abs=1e-4)
    assert truth == pytest.approx(amplify_without_replacement(1.0, replace, **sizes)[1], rel=1e-9)  # attained


def test_single_poisson_step_is_golden():  # T22: golden psg_closed, psg_single (quadrature)
    remove = poisson_gaussian_delta(0.1, 1.0, rate=0.1, direction=Direction.REMOVE)
    add = poisson_gaussian_delta(0.1, 1.0, rate=0.1, direction="add")
    assert remove == pytest.approx(0.01847193068806207, rel=1e-9)
    assert add == pytest.approx(7.526744981031049e-06, rel=1e-6)
    end = -math.log1p(-0.1)
    assert end == pytest.approx(0.10536051565782628, rel=1e-12)
    assert poisson_gaussian_delta(end * (1 + 1e-12), 1.0, rate=0.1, direction="add") == 0.0


@pytest.mark.parametrize("epsilon", [0.0, 0.05, 0.5, 3.0])
@pytest.mark.parametrize("sigma", [0.7, 5.0])
@pytest.mark.parametrize("rate", [0.001, 0.1, 0.9])
def test_single_poisson_step_is_the_hockey_stick_rounded_up(epsilon, sigma, rate):  # T22, T2
    with mp.workdps(40):
        p, q = [(1 - mp.mpf(rate), 0), (mp.mpf(rate), 1 / mp.mpf(sigma))], [(1, 0)]
    for direction, pair in ((Direction.REMOVE, (p, q)), (Direction.ADD, (q, p))):
        value, truth = (
            poisson_gaussian_delta(epsilon, sigma, rate=rate, direction=direction),
            hockey_stick(*pair, epsilon),
        )
        assert truth * (1 - 1e-15) <= value <= truth * (1 + 1e-9) + 1e-300


@given(st.floats(0, 5), st.floats(0.2, 100), st.floats(1e-6, 1))
@settings(max_examples=80)
def test_one_poisson_step_is_within_amplification(epsilon, sigma, rate):  # T21 at the exact base is T22
    base = analytic_gaussian_delta(epsilon, sigma)
    amplified, delta = amplify_poisson(epsilon, min(base, 1 - 1e-12), rate=rate, adjacency="add_remove")
    remove, add = (poisson_gaussian_delta(amplified, sigma, rate=rate, direction=d) for d in ("remove", "add"))
    assert remove <= delta * (1 + 1e-9) + 1e-300
    assert add <= remove * (1 + 1e-12)
    assert remove >= delta * (1 - 1e-6) - 1e-12


def test_sampling_every_record_is_the_gaussian_itself():  # T22, T24
    for direction in (Direction.REMOVE, Direction.ADD):
        step = poisson_gaussian_delta(0.7, 1.3, rate=1.0, direction=direction)
        assert step == pytest.approx(analytic_gaussian_delta(0.7, 1.3), rel=1e-12)
    whole = without_replacement_gaussian_delta(0.7, 1.3, rate=1.0)
    assert whole == pytest.approx(analytic_gaussian_delta(0.7, 1.3, sensitivity=2.0), rel=1e-12)


def test_direction_must_be_remove_or_add():  # T22
    for direction in ("replace", Direction.REPLACE, 3):
        with pytest.raises(AdjacencyError, match="direction must be"):
            poisson_gaussian_delta(0.1, 1.0, rate=0.1, direction=direction)


def test_single_step_without_replacement_is_golden():  # T24: golden wor_profile_check
    value = without_replacement_gaussian_delta(0.5, 1.0, rate=0.1)
    assert value == pytest.approx(0.032968236854112605, rel=1e-9)


def shuffled_at(threshold, epsilon: float, sigma: float, steps: int):
    """T27 as printed at one C."""
    c, s = mp.mpf(threshold), mp.mpf(sigma)
    others = mp.ncdf(c / s) ** (steps - 1)
    return (1 - mp.ncdf((c - 2) / s) * others) - mp.exp(epsilon) * (1 - mp.ncdf((c - 1) / s) * others)


def test_shuffling_is_not_poisson():  # T27: golden chua_0.4_4.0, whose grid of C is coarser
    lower = shuffled_delta_lower(4.0, 0.4, batches=10_000)
    assert lower == pytest.approx(0.22605560807621816, rel=1e-6)
    with mp.workdps(30):
        best = mp.findroot(lambda c: mp.diff(lambda x: shuffled_at(x, 4.0, 0.4, 10_000), c), 2.0)
        truth = shuffled_at(best, 4.0, 0.4, 10_000)
        assert truth * (1 - 1e-9) <= lower <= truth
    poisson = 1.1706361585735154e-05  # the same run under T22, same source
    assert lower > 10_000 * poisson


@given(st.floats(0, 6), st.floats(0.2, 5), st.integers(1, 10**6))
@settings(max_examples=60)
def test_shuffled_lower_bound_stays_below_what_is_promised(epsilon, sigma, batches):  # T27, both sides
    lower = shuffled_delta_lower(epsilon, sigma, batches=batches)
    zero_out = analytic_gaussian_delta(epsilon, sigma)  # one batch holds the record: mu = 1/sigma
    mu = shuffle_without_amplification(sigma, 1, adjacency="replace_one")
    assert 0 <= lower <= zero_out <= analytic_gaussian_delta(epsilon, 1 / mu) * (1 + 1e-12)
    if batches == 1:
        assert lower == pytest.approx(zero_out, rel=1e-6, abs=1e-12)


def test_one_batch_is_the_gaussian():  # T27 with T = 1 is T6
    assert shuffled_delta_lower(1.0, 1.0, batches=1) == pytest.approx(0.1269367375066439, rel=1e-9)


def test_shuffling_without_amplification():  # T27
    mu = shuffle_without_amplification(4.0, 9, adjacency="replace_one")
    assert 1.5 <= mu <= 1.5 * (1 + 1e-13)
    assert analytic_gaussian_epsilon(1e-5, 1 / mu) == pytest.approx(analytic_gaussian_epsilon(1e-5, 4.0 / 6), rel=1e-9)
    with pytest.raises(AdjacencyError, match=r'replace_one" \(T27\), got "add_remove".*Poisson'):
        shuffle_without_amplification(4.0, 9, adjacency="add_remove")


def test_removing_a_record_from_shuffled_batches_is_worse_than_mu_one():  # T27: .264 against .127
    # B = 2, sigma = 1, gradients -1, -1, -1 and the removed +1: sums (0,-2) or (-2,0) with it, (-2,-1) without
    u = np.linspace(-9, 7, 1601)
    normal = {mean: np.exp(-((u - mean) ** 2) / 2) / math.sqrt(2 * math.pi) for mean in (0, -1, -2)}
    present = (np.outer(normal[0], normal[-2]) + np.outer(normal[-2], normal[0])) / 2
    absent = np.outer(normal[-2], normal[-1])
    true_delta = float(np.maximum(present - math.e * absent, 0).sum()) * 1e-4
    assert true_delta == pytest.approx(0.264, abs=1e-3)
    assert true_delta > 2 * analytic_gaussian_delta(1.0, 1.0)


def test_sample_larger_than_population_is_refused():  # T21
    with pytest.raises(ParameterError, match="sample_size must be at most population = 9, got 10"):
        amplify_without_replacement(1.0, 0.0, sample_size=10, population=9, adjacency="replace_one")
