# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Choices and coins have exactly the laws that T8, T9 and T10 need, on the quick path and on the exact one.

Probabilities come from mpmath. Exactness is tested from both sides: the digits of U are scripted to agree with a cell's
border for 320 bits and to lie below or above it from there on. Level of the statistics: see conftest.py.
"""

from fractions import Fraction

import mpmath as mp
import numpy as np
import pytest

from dperm.errors import ParameterError
from dperm.noise import NotPrivateBits
from dperm.noise.bernoulli import exponential_coins, keep_bounds, keep_coins
from dperm.noise.choice import (
    exponential_choice,
    integer_below,
    partial_sums,
    permute_and_flip,
    uniform_below,
)
from dperm.noise.exponents import Exponents, weight_bounds

WIDE = 2.0
"""A band that leaves every draw to exact arithmetic."""
DEEP = 5
"""Words to which a scripted U agrees with a border."""
COSTS = np.array([0.0, 0.1, 1.0, 2.5, 2.5, 7.0])
COUNTS = [3, 1, 10, 2**40, 0, 2**70]


def pmf(costs, unit, counts=None):
    counts = [1] * len(costs) if counts is None else counts
    unit = mp.mpf(unit.numerator) / unit.denominator if isinstance(unit, Fraction) else mp.mpf(unit)
    weights = [c * mp.exp(-unit * (mp.mpf(x) - mp.mpf(min(costs)))) for x, c in zip(costs, counts, strict=True)]
    return [weight / mp.fsum(weights) for weight in weights]


def flip_pmf(costs, unit):
    """Permute-and-flip, q_h E[1/(1 + other heads)], from the law of the number of heads among the others."""
    coins = [mp.exp(-mp.mpf(unit) * (mp.mpf(x) - mp.mpf(min(costs)))) for x in costs]
    out = []
    for h, own in enumerate(coins):
        heads = [mp.mpf(1)]
        for q in coins[:h] + coins[h + 1 :]:
            heads = [a * (1 - q) + b * q for a, b in zip([*heads, 0], [0, *heads], strict=True)]
        out.append(own * mp.fsum(p / (1 + n) for n, p in enumerate(heads)))
    return out


def as_words(number):
    """An integer below 2^320 as words, the first digits of U = number / 2^320 first."""
    return [(number >> (64 * k)) & (2**64 - 1) for k in reversed(range(DEEP))]


@pytest.fixture
def around(scripted):
    """Two streams whose U agrees with a border in (0, 1) for 320 bits: just below it, and just above."""

    def streams(border):
        number = int(mp.floor(border * mp.mpf(2) ** (64 * DEEP)))
        return scripted(as_words(number)), scripted(as_words(number + 1))

    with mp.workdps(200):
        yield streams


def fit(statistics, indices, probabilities):
    observed = np.bincount(indices, minlength=len(probabilities))
    expected = np.array([float(p) for p in probabilities]) * len(indices)
    assert observed[expected == 0].sum() == 0
    return statistics.chi_square_tail(*statistics.merged(observed[expected > 0], expected[expected > 0]))


# Uniform integers


@pytest.mark.parametrize("bound", [1, 2, 3, 5, 7, 100, 1000])
def test_uniform_integers_are_uniform(bound, statistics, stream):
    drawn = uniform_below(bound, 50_000, stream)
    assert drawn.dtype == np.int64 and drawn.min() >= 0 and drawn.max() < bound
    assert bound == 1 or fit(statistics, drawn, [mp.mpf(1) / bound] * bound) > statistics.level


@pytest.mark.parametrize("bound", [2**61 + 1, 3 * 2**60, 2**62])
def test_uniform_integers_are_uniform_up_to_the_largest_bound(bound, statistics, stream):
    drawn = uniform_below(bound, 50_000, stream)
    assert drawn.min() >= 0 and drawn.max() < bound
    tenths = np.array([10 * int(value) // bound for value in drawn])
    assert fit(statistics, tenths, [mp.mpf(1) / 10] * 10) > statistics.level
    assert statistics.low_bits(drawn, 6) > statistics.level


def test_uniform_integers_refuse_the_words_that_would_favour_small_ones(scripted):
    """bound = 5 takes three bits: 5, 6 and 7 are refused, and high bits do not matter."""
    assert uniform_below(5, 3, scripted([5, 8 + 4, 7, 6, 2**63 + 3, 1])).tolist() == [4, 3, 1]


@pytest.mark.parametrize("bound", [3, 10**40])
def test_big_uniform_integers_are_uniform(bound, statistics, stream):
    drawn = [integer_below(bound, stream) for _ in range(20_000)]
    assert 0 <= min(drawn) and max(drawn) < bound
    thirds = np.array([3 * value // bound for value in drawn])
    assert fit(statistics, thirds, [mp.mpf(1) / 3] * 3) > statistics.level


def test_a_big_uniform_integer_is_decided_on_either_side_of_a_border(scripted):
    """floor(3 U): the digits of 1/3 are 5, 5, 5, ... in base 16."""
    fives = 0x5555555555555555
    assert integer_below(3, scripted([fives] * 4, then=0)) == 0
    assert integer_below(3, scripted([fives] * 4, then=2**64 - 1)) == 1


@pytest.mark.parametrize("bound", [0, -1, 2**62 + 1, 2.5, True])
def test_a_bound_that_makes_no_sense_is_refused(bound, stream):
    with pytest.raises(ParameterError, match="bound must be"):
        uniform_below(bound, 3, stream)


# The float filter


def test_float_weights_are_as_close_as_the_proof_needs():
    """The two bounds of dperm.noise.exponents, over all sizes of costs and units (T10)."""
    random = np.random.default_rng(5)
    for unit in (1.0, 0.1, Fraction(1, 3), 2.0**-900, 3e200):
        scale = 2.0 ** random.uniform(-60, 10, size=400)
        costs = np.concatenate([scale, random.uniform(600, 760, size=200)]) / float(unit)
        least = float(costs.min())
        computed = Exponents(costs, unit, least).floats
        for cost, weight in zip(costs.tolist(), computed.tolist(), strict=True):
            x = Fraction(unit) * (Fraction(cost) - Fraction(least))
            truth = mp.exp(-mp.mpf(x.numerator) / x.denominator)
            error = abs(mp.mpf(weight) - truth)
            assert error <= (truth * mp.mpf(2) ** -41.9 if x <= 700 else 1.01 * mp.exp(-700))
            assert error <= mp.mpf(2) ** -49


@pytest.mark.parametrize("size", [1, 2, 3, 10, 99, 100, 101, 10_000])
def test_partial_sums_are_as_close_as_the_proof_needs(size):
    weights = np.random.default_rng(size).random(size) ** 8
    exact, sums = Fraction(0), partial_sums(weights)
    assert len(sums) == size and (np.diff(sums) >= 0).all()
    for weight, found in zip(weights.tolist(), sums.tolist(), strict=True):
        exact += Fraction(weight)
        assert abs(Fraction(found) - exact) <= exact * Fraction(2 * size**0.5 + 5) / 2**53


@pytest.mark.parametrize("exponent", [0, Fraction(1, 3), 50, 161, 10**6, 10**400])
def test_rational_bounds_hold_the_weight_and_close_in_quickly(exponent):
    """Also where the exponent is astronomical: no time is spent on it."""
    exponent = Fraction(exponent)
    with mp.workdps(200):
        truth = mp.exp(-mp.mpf(exponent.numerator) / exponent.denominator)
        for digits in (40, 80):
            low, high = weight_bounds(exponent, digits)
            assert mp.mpf(low.numerator) / low.denominator <= truth <= mp.mpf(high.numerator) / high.denominator
            assert high - low <= Fraction(3, 10**digits)


# Weighted choices


CASES = {
    "one": (np.array([3.0]), 1.0, None),
    "six": (COSTS, 1.0, None),
    "shifted": (COSTS - 1e3, 0.5, None),
    "a fraction as unit": (COSTS, Fraction(7, 3), None),
    "counts": (COSTS, 4.0, COUNTS),
    "an array of counts": (COSTS, 1.0, np.array([5, 1, 2, 2**40, 0, 7])),
    "far away": (np.array([0.0, 1e308, 5.0, -1e308]), 1.0, None),
    "many": (np.linspace(0, 6, 300), 1.0, None),
}
every_case = pytest.mark.parametrize(("costs", "unit", "counts"), CASES.values(), ids=CASES)


@every_case
def test_choices_have_the_law_of_t8(costs, unit, counts, statistics, stream):
    drawn = [exponential_choice(costs, unit, stream, counts) for _ in range(20_000)]
    truth = pmf(costs, unit, None if counts is None else [int(count) for count in counts])
    assert len(costs) == 1 or max(truth) > 1 - 1e-9 or fit(statistics, drawn, truth) > statistics.level
    assert min(float(truth[h]) for h in set(drawn)) > 1e-9


@every_case
def test_the_exact_path_decides_as_the_quick_one(costs, unit, counts):
    """The same first word of U: the quick path decides it alone, the exact path reads on."""
    for seed in range(15 if len(costs) > 100 else 150):
        quick = exponential_choice(costs, unit, NotPrivateBits(seed).stream(), counts)
        assert exponential_choice(costs, unit, NotPrivateBits(seed).stream(), counts, band=WIDE) == quick


def test_choices_on_the_exact_path_have_the_law_of_t8(statistics, stream):
    costs = np.array([0.0, 0.4, 1.3])
    drawn = [exponential_choice(costs, 1.0, stream, [1, 2, 1], band=WIDE) for _ in range(5_000)]
    assert fit(statistics, drawn, pmf(costs, 1.0, [1, 2, 1])) > statistics.level


@every_case
def test_a_choice_is_decided_on_either_side_of_every_border(costs, unit, counts, around):
    """S_h / W, to 320 bits: below it h, above it the next one with any weight (T10)."""
    counts = None if counts is None else [int(count) for count in counts]
    truth = pmf(costs, unit, counts)
    for h in range(min(len(costs) - 1, 5)):
        border = mp.fsum(truth[: h + 1])
        if not 1e-60 < border < 1 - mp.mpf("1e-60"):
            continue
        below, above = around(border)
        present = [j for j, p in enumerate(truth) if p > 1e-60]
        assert exponential_choice(costs, unit, below, counts) == max(j for j in present if j <= h)
        assert exponential_choice(costs, unit, above, counts) == min(j for j in present if j > h)


def test_a_choice_reads_one_word_whatever_is_chosen(scripted):
    """Time and bits do not depend on the outcome, short of the exact path."""
    for word in np.linspace(0.01, 0.99, 40):
        stream = scripted([int(word * 2**64), 7])
        exponential_choice(COSTS, 1.0, stream)
        assert stream.said == [7]


@pytest.mark.parametrize("counts", [[1, 2], [0] * 6, [1, 1, 1, 1, 1, -1], [1.5] * 6, [2**513] * 6])
def test_counts_that_make_no_sense_are_refused_without_a_word_about_them(counts, stream):
    with pytest.raises(ParameterError, match=r"^counts must be whole numbers from 0 to 2\^512, one for each cost") as e:
        exponential_choice(COSTS, 1.0, stream, counts)
    assert "got" not in str(e.value)


@pytest.mark.parametrize("costs", [np.empty(0), np.array([1.0, np.nan]), np.array([1.0, np.inf]), np.ones((2, 2))])
def test_costs_that_make_no_sense_are_refused_without_a_word_about_them(costs, stream):
    with pytest.raises(ParameterError, match=r"^costs must be a non-empty one-dimensional array of finite doubles"):
        exponential_choice(costs, 1.0, stream)


@pytest.mark.parametrize("unit", [0.0, -1.0, 2.0**-901, float("nan")])
def test_a_unit_that_makes_no_sense_is_refused(unit, stream):
    with pytest.raises(ParameterError, match="unit must be"):
        exponential_choice(COSTS, unit, stream)


@pytest.mark.parametrize("costs", [COSTS, np.zeros(5), np.array([0.0, 50.0, 0.3])], ids=["six", "ties", "one far"])
def test_permute_and_flip_has_its_law(costs, statistics, stream):
    """T8: the first head in random order is uniform among all heads."""
    drawn = [permute_and_flip(costs, 1.0, stream) for _ in range(20_000)]
    assert fit(statistics, drawn, flip_pmf(costs, 1.0)) > statistics.level


# Coins


def test_exponential_coins_have_their_law(statistics, stream):
    for x in (0.01, 0.7, 3.0):
        heads = exponential_coins(np.full(50_000, x), 1.0, stream)
        p = mp.exp(-mp.mpf(x))
        assert fit(statistics, heads.astype(int), [1 - p, p]) > statistics.level


def test_exponential_coins_at_the_least_cost_show_heads_and_far_ones_tails(stream):
    assert exponential_coins(np.full(1000, 2.0), 1.0, stream, least=2.0).all()
    assert exponential_coins(np.full(50, 2.0), 1.0, stream, least=2.0, band=WIDE).all()
    assert not exponential_coins(np.full(50, 1e300), 1.0, stream, least=-1e308, band=WIDE).any()


def test_exponential_coins_fall_alike_on_the_exact_path():
    costs = np.random.default_rng(2).random(3000) * 4
    quick = exponential_coins(costs, Fraction(1, 3), NotPrivateBits(4).stream())
    assert (exponential_coins(costs, Fraction(1, 3), NotPrivateBits(4).stream(), band=WIDE) == quick).all()


@pytest.mark.parametrize("x", [1e-12, 0.3, 1.0, 40.0])
def test_an_exponential_coin_is_decided_on_either_side_of_its_probability(x, around):
    below, above = around(mp.exp(-mp.mpf(x)))
    assert exponential_coins(np.array([x]), 1.0, below).tolist() == [True]
    assert exponential_coins(np.array([x]), 1.0, above).tolist() == [False]


def test_costs_below_the_least_are_refused(stream):
    with pytest.raises(ParameterError, match="costs must not be below the least cost"):
        exponential_coins(np.array([-1.0, 2.0]), 1.0, stream)


def kept(epsilon, values):
    return mp.exp(mp.mpf(epsilon)) / (mp.exp(mp.mpf(epsilon)) + values - 1)


@pytest.mark.parametrize("values", [2, 3, 50])
@pytest.mark.parametrize("epsilon", [0.0, 0.1, 1.0, 4.0])
def test_keep_coins_have_the_law_of_t9(epsilon, values, statistics, stream):
    heads = keep_coins(epsilon, values, 50_000, stream)
    p = kept(epsilon, values)
    assert fit(statistics, heads.astype(int), [1 - p, p]) > statistics.level


@pytest.mark.slow
@pytest.mark.parametrize(("epsilon", "values"), [(0.1, 2), (1.0, 3), (3.0, 50)])
def test_four_million_keep_coins_have_the_law_of_t9(epsilon, values, statistics, stream):
    p = kept(epsilon, values)
    heads = keep_coins(epsilon, values, 4_000_000, stream)
    assert fit(statistics, heads.astype(int), [1 - p, p]) > statistics.level


@pytest.mark.slow
@pytest.mark.parametrize(("costs", "unit", "counts"), [CASES["six"], CASES["counts"]], ids=["six", "counts"])
def test_a_million_choices_have_the_law_of_t8(costs, unit, counts, statistics, stream):
    drawn = [exponential_choice(costs, unit, stream, counts) for _ in range(1_000_000)]
    assert fit(statistics, drawn, pmf(costs, unit, counts)) > statistics.level


@pytest.mark.slow
def test_a_million_permute_and_flips_have_their_law(statistics, stream):
    drawn = [permute_and_flip(COSTS, 1.0, stream) for _ in range(1_000_000)]
    assert fit(statistics, drawn, flip_pmf(COSTS, 1.0)) > statistics.level


def test_keep_coins_fall_alike_on_the_exact_path():
    quick = keep_coins(1.0, 3, 2000, NotPrivateBits(6).stream())
    assert (keep_coins(1.0, 3, 2000, NotPrivateBits(6).stream(), band=1.0) == quick).all()


@pytest.mark.parametrize(("epsilon", "values"), [(0.1, 2), (1.0, 3), (5.0, 2), (30.0, 1000), (0.0, 3)])
def test_a_keep_coin_is_decided_on_either_side_of_its_probability(epsilon, values, around):
    below, above = around(kept(epsilon, values))
    assert keep_coins(epsilon, values, 1, below).tolist() == [True]
    assert keep_coins(epsilon, values, 1, above).tolist() == [False]


def test_bounds_on_the_keep_probability_close_in_on_it():
    with mp.workdps(100):
        for digits in (20, 40, 80):
            low, high = keep_bounds(1.0, 3, digits)
            assert mp.mpf(low.numerator) / low.denominator <= kept(1, 3) <= mp.mpf(high.numerator) / high.denominator
            assert high - low <= Fraction(4, 10**digits)


def test_a_keep_coin_of_a_huge_epsilon_is_kept_at_once(stream):
    assert keep_coins(2.0**20, 2**31, 10_000, stream).all()


def test_draws_from_a_fixed_seed_stay_what_they_are():
    """Golden values, from the first run."""
    stream = NotPrivateBits(1).stream()
    assert [exponential_choice(COSTS, 1.0, stream) for _ in range(12)] == [1, 1, 2, 1, 2, 2, 4, 0, 1, 3, 0, 2]
    assert [permute_and_flip(COSTS, 1.0, stream) for _ in range(12)] == [2, 1, 1, 1, 1, 0, 0, 0, 1, 3, 2, 1]
    assert uniform_below(10, 12, stream).tolist() == [5, 3, 3, 7, 4, 9, 6, 7, 9, 6, 7, 8]
    assert keep_coins(0.5, 3, 12, stream).astype(int).tolist() == [0, 0, 1, 1, 0, 1, 1, 1, 0, 1, 0, 1]


# Mutants


def test_a_mutant_that_forgets_the_counts_dies(assert_killed):
    def check(module):
        stream = NotPrivateBits(3).stream()
        drawn = [module.exponential_choice(np.zeros(2), 1.0, stream, [1, 9]) for _ in range(500)]
        assert 400 < sum(drawn) < 490

    assert_killed(check, "dperm.noise.choice", "floats * np.array(counts, dtype=np.float64)", "floats")


def test_a_mutant_that_counts_the_refused_words_dies(assert_killed):
    def check(module):
        assert module.uniform_below(5, 1000, NotPrivateBits(3).stream()).max() == 4

    assert_killed(check, "dperm.noise.choice", "drawn[drawn < np.uint64(bound)]", "drawn[drawn <= np.uint64(bound)]")


def test_a_mutant_that_keeps_with_e_to_the_epsilon_over_e_to_the_epsilon_plus_k_dies(assert_killed):
    """T9's slip: k for k - 1 in the keep probability."""

    def check(module):
        low, high = module.keep_bounds(1.0, 3, 40)
        assert low <= Fraction(float(kept(1, 3))) + Fraction(1, 2**50)
        assert high >= Fraction(float(kept(1, 3))) - Fraction(1, 2**50)

    assert_killed(
        check,
        "dperm.noise.bernoulli",
        "(values - 1) * high), 1 / (1 + (values - 1) * low)",
        "values * high), 1 / (1 + values * low)",
    )
