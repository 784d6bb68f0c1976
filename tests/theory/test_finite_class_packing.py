# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""T60: no pure algorithm beats the packing bound, and the chain of inequalities is attained; E20 has K for K - 1."""

import math

import mpmath as mp
import pytest

from dperm.errors import DpermError
from dperm.theory import packing_sample_size

REPLACE, ADD = {"adjacency": "replace_one"}, {"adjacency": "add_remove"}


def exponential_success(sets, n, rate):
    """On n copies of record i, scored by how often a record occurs: P(i) of the exponential mechanism (T8)."""
    return 1 / (1 + (sets - 1) * math.exp(-rate * n))


def test_the_golden_number():  # packing
    assert packing_sample_size(1001, 1.0, **REPLACE) == pytest.approx(9.104979856318357, rel=1e-13)
    assert packing_sample_size(1001, 1.0, **ADD) == pytest.approx(9.104979856318357 / 2, rel=1e-13)


@pytest.mark.parametrize("sets", [2, 3, 1001])
@pytest.mark.parametrize("epsilon", [0.1, 1.0])
@pytest.mark.parametrize("success", [0.6, 0.9, 0.99])
def test_the_bound_is_where_the_best_law_at_distance_n_succeeds_just_so(sets, epsilon, success):
    """Randomised response over K answers at n epsilon attains every inequality of the proof: E20's K is too large."""
    n = packing_sample_size(sets, epsilon, success=success, **REPLACE)
    response = math.exp(n * epsilon) / (math.exp(n * epsilon) + sets - 1)
    assert response == pytest.approx(success, rel=1e-9)
    printed = math.log(success * sets / (1 - success)) / epsilon
    assert printed > n * (1 + 1e-9)


@pytest.mark.parametrize(("relation", "rate"), [(REPLACE, 0.5), (ADD, 1.0)])
def test_a_mechanism_that_exists_needs_at_least_so_many_records_and_at_most_twice(relation, rate):
    """The exponential mechanism on K data sets of n equal records, at epsilon = 1: rate 1/2, or 1 under add/remove."""
    sets = 1001
    bound = packing_sample_size(sets, 1.0, **relation)
    assert exponential_success(sets, math.ceil(bound) - 1, rate) < 0.9
    assert exponential_success(sets, math.ceil(2 * bound), rate) >= 0.9


def test_the_bound_is_rounded_down():
    with mp.workdps(50):
        for sets, success in [(2, 0.5000001), (3, 1 / 3), (2, 0.9), (10**9, 1e-3), (1001, 0.9)]:
            exact = mp.log(mp.mpf(success) * (sets - 1) / (1 - mp.mpf(success)))
            found = packing_sample_size(sets, 0.3, success=success, **REPLACE)
            assert 0 <= found <= max(0, exact / mp.mpf(0.3))
            assert found >= exact / mp.mpf(0.3) - mp.mpf(10) ** -13


def test_where_guessing_is_enough_nothing_is_needed():
    assert packing_sample_size(2, 1.0, success=0.5, **REPLACE) == 0.0
    assert packing_sample_size(10, 1.0, success=0.05, **REPLACE) == 0.0


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("sets", {"sets": 1}),
        ("sets", {"sets": 10.5}),
        ("epsilon", {"epsilon": 0.0}),
        ("success", {"success": 1.0}),
        ("success", {"success": 0.0}),
        ("adjacency", {"adjacency": "none"}),
    ],
)
def test_a_wrong_argument_is_refused_by_its_name(name, change):
    with pytest.raises(DpermError, match=f"^{name} "):
        packing_sample_size(**{"sets": 10, "epsilon": 1.0, **REPLACE, **change})


def claims_no_more_than_is_true(module):
    for sets in (2, 5, 1001):
        n = module.packing_sample_size(sets, 1.0, **REPLACE)
        assert math.exp(n) / (math.exp(n) + sets - 1) <= 0.9 + 1e-12
    # two data sets of n records with nothing in common are 2n additions and removals apart
    n = module.packing_sample_size(2, 1.0, **ADD)
    assert math.exp(2 * n) / (math.exp(2 * n) + 1) <= 0.9 + 1e-12


@pytest.mark.parametrize(
    ("old", "new"),
    [("math.log(sets - 1)", "math.log(sets)"), ("is Adjacency.REPLACE_ONE else 2", "is Adjacency.REPLACE_ONE else 1")],
    ids=["E20: K for K - 1", "the same distance under add/remove"],
)
def test_wrong_forms_are_seen(old, new, assert_killed):
    assert_killed(claims_no_more_than_is_true, "dperm.theory.finite_class", old, new)


def is_rounded_down_where_the_terms_cancel(module):
    """s near 1/K, where the odds (K - 1) s/(1 - s) are 1, up to what doubles can tell; a small epsilon magnifies it."""
    with mp.workdps(60):
        for sets in (4, 11, 101, 1001):
            for steps in range(-3, 4):
                success = 1 / sets + steps * math.ulp(1 / sets)
                exact = mp.log(mp.mpf(success) * (sets - 1) / (1 - mp.mpf(success)))
                for epsilon in (1.0, 1e-6):
                    found = module.packing_sample_size(sets, epsilon, success=success, **REPLACE)
                    assert max(0, exact - mp.mpf(10) ** -14) <= found * mp.mpf(epsilon) <= max(0, exact)


def test_the_rounding_of_terms_that_cancel_is_taken_off(assert_killed):
    assert_killed(is_rounded_down_where_the_terms_cancel, "dperm.theory.finite_class", "odds - slack", "odds")
