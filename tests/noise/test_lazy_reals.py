# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""The exact path of the samplers (T10c): digits on demand, comparisons that are decided exactly, and the tail.

In production the exact path decides about one proposal in 4e9. Here it is made to work: by a wide band, by few strips
(so that the tail is near), and by proposals chosen next to the place where acceptance changes.
"""

from decimal import Context, localcontext
from fractions import Fraction
from itertools import pairwise

import mpmath
import numpy as np
import pytest

from dperm.noise import NotPrivateBits, integer_noise, lazy_reals, sampler
from dperm.noise import rational_bounds as exact_bounds
from dperm.noise.lazy_reals import BinaryReal, TailReal, accept_in_strip, accept_in_tail
from dperm.noise.rational_bounds import exp_bounds, log_bounds
from dperm.noise.sampler import ACCEPTED_AT_LEAST, BAND, BLOCK, draws
from dperm.noise.shapes import EXPONENTIAL, NORMAL
from dperm.noise.strips import THRESHOLD_BITS, strip_table

SHAPES = {"normal": NORMAL, "exponential": EXPONENTIAL}
ALL_ONES = 2**64 - 1
NEAR_TAIL = {"rounded Gaussian": 80, "rounded Laplace": 40, "discrete Laplace": 40}  # 11 % and 20 % of the draws at 50


def exact(value):
    return mpmath.mpf(value.numerator) / value.denominator


def acceptance(table, strip, place):
    """p = alpha e^-cost / w at ``place`` strip widths, to 60 digits."""
    return table.alpha * mpmath.exp(-exact(table.shape.cost(place * table.width))) / table.weights[strip]


# Bounds on functions and numbers.


@pytest.mark.parametrize("digits", [20, 40, 80])
@pytest.mark.parametrize(
    "value", [Fraction(0), Fraction(1, 10**30), Fraction(1, 3), Fraction(22, 7), Fraction(7777, 13), Fraction(2000)]
)
def test_the_bounds_on_exp_contain_it_and_are_as_close_as_promised(value, digits):
    exp_is_bounded(exact_bounds, value, digits)


def exp_is_bounded(module, value, digits):
    low, high = module.exp_bounds(value, digits)
    with mpmath.workdps(2 * digits + 20):
        assert exact(low) < mpmath.exp(-exact(value)) < exact(high)
        assert exact(high) / exact(low) - 1 < mpmath.mpf(10) ** -(digits - 1)


def test_the_bounds_do_not_depend_on_the_user_s_decimal_context():
    """`-x` and `+x` of a Decimal round to the thread's context, whatever context the rest of a computation has."""
    expected = exp_bounds(Fraction(22, 7), 40), log_bounds(Fraction(1, 3), 40)
    with localcontext(Context(prec=3)):
        assert (exp_bounds(Fraction(22, 7), 40), log_bounds(Fraction(1, 3), 40)) == expected


@pytest.mark.parametrize("digits", [20, 40, 80])
@pytest.mark.parametrize(
    "value", [Fraction(1, 2**200), Fraction(1, 3), Fraction(1, 2), 1 - Fraction(1, 10**9), 1 - Fraction(1, 2**300)]
)
def test_the_bounds_on_log_contain_it_and_are_as_close_as_promised(value, digits):
    low, high = log_bounds(value, digits)
    with mpmath.workdps(3 * digits + 120):
        assert exact(low) < -mpmath.log(exact(value)) < exact(high)
        assert exact(high - low) < mpmath.mpf(10) ** -digits


def test_digits_that_were_drawn_stay_drawn(stream):
    number = BinaryReal(5, 3, stream)
    seen = [number.bounds(bits) for bits in (3, 10, 64, 70, 1000, 70, 3)]
    for (low, high), (inner_low, inner_high) in pairwise(seen):
        assert low <= inner_low < inner_high <= high or (inner_low, inner_high) == (low, high)
    assert seen[0] == (Fraction(5, 8), Fraction(6, 8))
    assert seen[-1] == seen[-2] == seen[-3]


def test_a_number_reads_no_more_words_than_it_needs(scripted):
    number = BinaryReal(1, 1, scripted([3, 5], then=7))
    assert number.bounds(1) == (Fraction(1, 2), Fraction(1))
    assert number.bounds(65)[0] == Fraction(1, 2) + Fraction(3, 2**65)
    assert number.bounds(66)[0] == Fraction(1, 2) + Fraction(3, 2**65) + Fraction(5, 2**129)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("first", [0, 1, 2**63, ALL_ONES])
def test_a_place_in_the_tail_is_known_ever_better(shape, first, stream):
    """Bounds nest and shrink, and they are those of strips + -log(V) / (rate h)."""
    table = strip_table(SHAPES[shape], 50.0, 80)
    place = TailReal(BinaryReal(first, 64, stream), table)
    widths = [place.bounds(bits) for bits in (16, 64, 128, 256, 512)]
    for (low, high), (inner_low, inner_high) in pairwise(widths):
        assert table.strips <= low <= inner_low < inner_high <= high
    low, high = widths[-1]
    assert high - low < Fraction(1, 2**500)
    with mpmath.workdps(200):
        uniform = exact(place.uniform.bounds(600)[0])
        stretch = exact(table.shape.tail_rate(table.strips * table.width) * table.width)
        assert exact(low) - mpmath.mpf(2) ** -499 < table.strips - mpmath.log(uniform) / stretch < exact(high)


# Decisions.


def comparison_agrees_with_sixty_digits(module, shape, scripted):
    """U next to p: the last of 160 digits lower or higher, and the digits of p itself followed by zeros or by ones.

    In strip 1000 of the normal law p is 2^-262: 160 zeros decide nothing yet.
    """
    table = strip_table(SHAPES[shape], 50.0)
    for strip, digits in ((0, 1), (7, 2**52 + 12345), (100, 2**53 - 1), (300, 3), (1000, 5)):
        edge = int(mpmath.floor(acceptance(table, strip, strip + Fraction(digits, 2**53)) * mpmath.mpf(2) ** 160))
        for first, then, expected in (
            (edge - 1, ALL_ONES, True),
            (edge, 0, True),
            (edge, ALL_ONES, False),
            (edge + 1, 0, False),
        ):
            if first < 0:
                continue
            place = module.BinaryReal((strip << 53) | digits, 53, scripted([]))
            uniform = module.BinaryReal(first, 160, scripted([], then))
            assert module.accept_in_strip(table, place, strip, uniform) is expected


@pytest.mark.parametrize("shape", SHAPES)
def test_a_comparison_agrees_with_sixty_digits(shape, scripted):
    comparison_agrees_with_sixty_digits(lazy_reals, shape, scripted)


@pytest.mark.parametrize("shape", SHAPES)
def test_a_comparison_in_the_tail_agrees_with_sixty_digits(shape, scripted):
    """The ratio is alpha e^-cost(start) / (w rate h) e^-v^2/2 for the normal law, without the last factor for e^-z."""
    table = strip_table(SHAPES[shape], 50.0, 80)
    start = table.strips * table.width
    rate = table.shape.tail_rate(start)
    for uniform in (2**64 // 3, 2**63, 2**60 + 17):
        v = -mpmath.log(mpmath.mpf(uniform) / 2**64) / exact(rate)
        extra = v * v / 2 if shape == "normal" else 0
        scale = table.alpha / (table.weights[-1] * exact(rate * table.width))
        p = scale * mpmath.exp(-exact(table.shape.cost(start)) - extra)
        edge = int(mpmath.floor(p * mpmath.mpf(2) ** 160))
        assert 0 < p <= 1
        for first, then, expected in ((edge, 0, True), (edge, ALL_ONES, False)):
            place = TailReal(BinaryReal(uniform, 64, scripted([])), table)
            assert accept_in_tail(table, place, BinaryReal(first, 160, scripted([], then))) is expected


def proposals_next_to_the_edge(table, rng, size):
    """(strip, digits, 32 bits of U) with U just below, at and just above p, in random and extreme places."""
    strips = np.concatenate([[0, 0, table.strips - 1], rng.integers(0, table.strips // 2, size - 3)]).tolist()
    digits = np.concatenate([[0, 2**53 - 1, 2**53 - 1], rng.integers(0, 2**53, size - 3)]).tolist()
    for number, (strip, digit) in enumerate(zip(strips, digits, strict=True)):
        p = acceptance(table, strip, strip + Fraction(digit, 2**53))
        edge = int(mpmath.floor(p * 2**32)) + number % 5 - 2
        yield strip, digit, min(max(edge, 0), 2**32 - 1)


def said_by(proposals):
    """The words from which the sampler makes these proposals: strips, then uniforms, then places."""
    strips, digits, uniforms = (np.array(column, dtype=np.uint64) for column in zip(*proposals, strict=True))
    columns = strips << np.uint64(THRESHOLD_BITS)  # the lowest word of a column is its own
    short = np.concatenate([columns, uniforms]).astype("<u4").view("<u8")
    return [*short.tolist(), *(digits << np.uint64(11)).tolist()]


def expected_places(table, proposals, then):
    """The places accepted if all digits that nobody chose are ``then``: zeros, or ones (in the limit)."""
    ones = 1 if then else 0
    for strip, digit, uniform in proposals:
        p = acceptance(table, strip, strip + Fraction(digit + ones, 2**53))
        if mpmath.mpf(uniform + ones) < p * 2**32:
            yield (strip << 53) | digit


def decides_like_sixty_digits(module, scripted, shape, band):
    table = strip_table(SHAPES[shape], 50.0)
    size = 300
    count = min(BLOCK, int(size / ACCEPTED_AT_LEAST) + 32)
    proposals = list(proposals_next_to_the_edge(table, np.random.default_rng(5), count))
    for then in (0, ALL_ONES):
        block = next(module.draws(table, size, scripted(said_by(proposals), then), band=band))
        assert block.fixed.tolist() == list(expected_places(table, proposals, then))


@pytest.mark.parametrize("band", [BAND, 2.0**-8, 1.0])
@pytest.mark.parametrize("shape", SHAPES)
def test_every_proposal_next_to_the_edge_is_decided_as_in_sixty_digits(shape, band, scripted):
    """Element by element, whether the quick comparison or the exact one decides, for both extreme continuations."""
    decides_like_sixty_digits(sampler, scripted, shape, band)


@pytest.mark.parametrize("band", [2.0**-8, 2.0**-3])
@pytest.mark.parametrize("shape", SHAPES)
def test_the_exact_path_accepts_what_the_quick_path_accepts(shape, band):
    """The same proposals: the same places and signs, in the same order, though the exact path draws further digits."""
    table = strip_table(SHAPES[shape], 3.3)
    quick = next(draws(table, BLOCK, NotPrivateBits(7).stream()))
    slow = next(draws(table, BLOCK, NotPrivateBits(7).stream(), band=band))
    assert not quick.lazy
    assert len(slow.lazy) > band * BLOCK / 2
    assert (quick.fixed == slow.fixed).all()
    assert (quick.negative == slow.negative).all()


@pytest.mark.parametrize("shape", SHAPES)
def test_a_quick_decision_holds_whatever_digits_follow(shape, scripted):
    """Random proposals, the exact decision for continuations of zeros, of ones and of random words: all the same."""
    table = strip_table(SHAPES[shape], 3.3)
    block = next(draws(table, BLOCK, NotPrivateBits(8).stream()))
    taken = {int(fixed) for fixed in block.fixed}
    words = NotPrivateBits(8).stream().words(2 * BLOCK)
    short = words[:BLOCK].view(np.uint32)
    strips = sampler._strips(table, short[:BLOCK])
    for number in range(0, BLOCK, 40):
        strip, uniform = int(strips[number]), int(short[BLOCK + number])
        fixed = (strip << 53) | (int(words[BLOCK + number]) >> 11)
        for then in (scripted([], 0), scripted([], ALL_ONES), NotPrivateBits(9).stream()):
            decided = accept_in_strip(table, BinaryReal(fixed, 53, then), strip, BinaryReal(uniform, 32, then))
            assert decided == (fixed in taken)


def test_a_lazy_number_rounds_as_its_first_digits_do(stream):
    """53 digits after a strip's point decide the rounding, so the digits drawn on top must not change it."""
    table = strip_table(NORMAL, 3.3)
    block = next(draws(table, 4000, stream, band=0.25))
    assert len(block.lazy) > 500
    plain = sampler.Draws(block.fixed, block.negative, {})
    for halves in (0, 1):
        assert (integer_noise._floors(table, block, halves) == integer_noise._floors(table, plain, halves)).all()


# Laws on the exact path.


@pytest.mark.parametrize("name", ["rounded Gaussian", "rounded Laplace", "discrete Laplace"])
@pytest.mark.parametrize("scale", [1.0, 50.0, 1.9 * 2.0**40])
def test_a_wide_band_does_not_change_the_law(name, scale, statistics, stream):
    law = statistics.laws[name](scale)
    found = statistics.p_values(law.sampler(scale, 40_000, stream, band=2.0**-6), law)
    assert min(found.values()) > statistics.level, found


@pytest.mark.parametrize("name", NEAR_TAIL)
def test_a_near_tail_does_not_change_the_law(name, statistics, stream):
    law = statistics.laws[name](50.0)
    found = statistics.p_values(law.sampler(50.0, 6_000, stream, strips=NEAR_TAIL[name]), law)
    assert min(found.values()) > statistics.level, found


@pytest.mark.slow
@pytest.mark.parametrize("name", NEAR_TAIL)
@pytest.mark.parametrize("scale", [1.0, 50.0, 1.9 * 2.0**40])
def test_the_law_is_unchanged_in_the_exact_path_s_long_run(name, scale, statistics):
    law = statistics.laws[name](scale)
    tail = law.sampler(scale, 100_000, NotPrivateBits(11).stream(), strips=100)
    wide = law.sampler(scale, 1_000_000, NotPrivateBits(12).stream(), band=2.0**-8)
    found = [p for values in (tail, wide) for p in statistics.p_values(values, law).values()]
    assert min(found) > statistics.level, found


# Mutants.


def tail_law(monkeypatch, statistics, stream):
    law = statistics.laws["rounded Gaussian"](50.0)

    def check(module):
        with monkeypatch.context() as patch:
            patch.setattr(sampler, "accept_in_tail", module.accept_in_tail)
            patch.setattr(sampler, "TailReal", module.TailReal)
            values = law.sampler(50.0, 3_000, stream, strips=80)
        assert min(statistics.p_values(values, law).values()) > statistics.level

    return check


TAIL_MUTANTS = [
    ("Fraction(table.alpha, table.weights[-1]) / (rate * table.width)", "Fraction(table.alpha, table.weights[-1])"),
    (
        "return fixed + table.shape.tail_cost(low / rate), fixed + table.shape.tail_cost(high / rate)",
        "return fixed, fixed",
    ),
    ("self.table.strips + low / stretch, self.table.strips + high / stretch", "low / stretch, high / stretch"),
    ("stretch = self.table.shape.tail_rate(start) * self.table.width", "stretch = self.table.width"),
]


@pytest.mark.parametrize(("old", "new"), TAIL_MUTANTS)
def test_a_mutant_of_the_tail_dies(old, new, monkeypatch, statistics, stream, assert_killed):
    assert_killed(tail_law(monkeypatch, statistics, stream), "dperm.noise.lazy_reals", old, new)


COMPARISON_MUTANTS = [
    ("if last <= low", "if first <= low"),
    ("if first >= high", "if last >= high"),
    ("Fraction(table.alpha, table.weights[strip])", "Fraction(table.alpha - 1, table.weights[strip])"),
    ("(self.digits << WORD) | integer(self.stream, WORD)", "self.digits << WORD"),
]


@pytest.mark.parametrize(("old", "new"), COMPARISON_MUTANTS)
def test_a_mutant_of_the_exact_comparison_dies(old, new, scripted, assert_killed):
    def check(module):
        comparison_agrees_with_sixty_digits(module, "normal", scripted)

    assert_killed(check, "dperm.noise.lazy_reals", old, new)


SAMPLER_MUTANTS = [
    ("kept = excess <= -1 - margin", "kept = excess <= -margin"),  # the last of 32 digits taken for all of them
    ("excess >= margin", "excess >= -0.5"),
    ("place >> _UNUSED", "place >> _FIRST"),
]


@pytest.mark.parametrize(("old", "new"), SAMPLER_MUTANTS)
def test_a_mutant_of_the_quick_comparison_dies(old, new, scripted, assert_killed):
    def check(module):
        decides_like_sixty_digits(module, scripted, "normal", BAND)

    assert_killed(check, "dperm.noise.sampler", old, new)


def test_lazy_is_what_the_sampler_uses():
    """The mutants above are put in place of these names."""
    assert sampler.accept_in_tail is lazy_reals.accept_in_tail
    assert sampler.accept_in_strip is lazy_reals.accept_in_strip
