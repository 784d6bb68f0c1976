# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""The strip tables of T10c in exact arithmetic: what must hold for the accepted places to have the right density.

Weights are integers that sum to 2^32, none is too small, the alias table reproduces each of them, and the quick
comparison's floating point is far inside the band that is left to exact arithmetic.
"""

from fractions import Fraction

import mpmath
import numpy as np
import pytest

from dperm.noise.sampler import BAND, _heights, _strips
from dperm.noise.shapes import EXPONENTIAL, NORMAL
from dperm.noise.strips import COLUMN_BITS, STRIPS, THRESHOLD_BITS, TOTAL, strip_table

SHAPES = {"normal": NORMAL, "exponential": EXPONENTIAL}
# Powers of two and their lower neighbours, where log2 rounds; the ends of the range; ordinary scales.
SCALES = (2.0**-4, 0.3, 1.0, 3.3, 50.0, 1.37 * 2.0**20, np.nextafter(2.0**40, 0), 1.9 * 2.0**40, 2.0**46, 2.0**52)
CASES = [(shape, scale, STRIPS) for shape in SHAPES for scale in SCALES] + [
    (shape, scale, strips) for shape in SHAPES for scale in (1.0, 50.0) for strips in (40, 100)
]
FILTER_ERROR = BAND / 16


@pytest.fixture(params=CASES, ids=str)
def table(request):
    shape, scale, strips = request.param
    return strip_table(SHAPES[shape], float(scale), strips)


def exact(value):
    """A Fraction as an mpf of 60 digits."""
    return mpmath.mpf(value.numerator) / value.denominator


def exact_density(table, place):
    """e^-cost at ``place`` strip widths, which is a Fraction."""
    return mpmath.exp(-exact(table.shape.cost(place * table.width)))


def exact_masses(table):
    """Integrals of e^-cost over the half-line and over the tail, in strip widths."""
    h = exact(table.width)
    start = table.strips * h
    if table.shape is NORMAL:
        return mpmath.sqrt(mpmath.pi / 2) / h, mpmath.sqrt(mpmath.pi / 2) * mpmath.erfc(start / mpmath.sqrt(2)) / h
    return 1 / h, mpmath.exp(-start) / h


def weights_sum_to_two_to_the_32(table):
    assert all(isinstance(weight, int) and weight >= 1 for weight in table.weights)
    assert sum(table.weights) == 2**32
    assert len(table.weights) == table.strips + 1


def no_weight_is_too_small(table):
    """The largest acceptance probability of a strip is at its left end, since the density falls."""
    for strip, weight in enumerate(table.weights[:-1]):
        assert weight >= table.alpha * exact_density(table, Fraction(strip))


def tail_is_covered(table):
    """Its weight covers alpha times its mass, and times the larger mass of the exponential that dominates it."""
    start = table.strips * table.width
    dominating = exact_density(table, Fraction(table.strips)) / exact(table.shape.tail_rate(start) * table.width)
    assert max(exact_masses(table)[1], dominating) * table.alpha <= table.weights[-1]


def columns_count_as_the_weights_say(table):
    """Column c holds 2^22 words, those below its threshold for itself and the others for its alias."""
    words = [0] * 2**COLUMN_BITS
    own, alias = table.choices[::2].tolist(), table.choices[1::2].tolist()
    for column, threshold in enumerate(table.thresholds.tolist()):
        assert own[column] == column
        assert 0 <= threshold <= 2**THRESHOLD_BITS
        words[own[column]] += threshold
        words[alias[column]] += 2**THRESHOLD_BITS - threshold
    assert words == [*table.weights, *[0] * (2**COLUMN_BITS - len(table.weights))]


def test_the_weights_are_integers_that_sum_to_two_to_the_32(table):
    weights_sum_to_two_to_the_32(table)


def test_no_weight_is_below_alpha_times_the_density_at_the_strip_s_left_end(table):
    no_weight_is_too_small(table)


def test_the_tail_s_weight_covers_its_exact_mass_and_the_exponential_that_dominates_it(table):
    tail_is_covered(table)


def test_the_alias_table_reproduces_every_weight_exactly(table):
    columns_count_as_the_weights_say(table)


def test_a_word_chooses_its_own_column_below_the_threshold_and_the_alias_from_there_on(table):
    column = np.arange(2**COLUMN_BITS, dtype=np.uint64)
    for offset in (-1, 0):
        low = np.clip(table.thresholds.astype(np.int64) + offset, 0, 2**THRESHOLD_BITS - 1).astype(np.uint64)
        chosen = _strips(table, ((column << np.uint64(THRESHOLD_BITS)) | low).astype(np.uint32))
        own = low < table.thresholds
        assert (chosen == np.where(own, table.choices[::2], table.choices[1::2])).all()


def test_few_proposals_are_refused(table):
    """The exact probability of acceptance is alpha times the whole mass over 2^32: at most 1, and near it."""
    accepted = table.alpha * exact_masses(table)[0] / TOTAL
    least = mpmath.mpf("0.95") if table.strips == STRIPS else mpmath.mpf("0.3")
    assert least <= accepted <= 1


def test_the_tail_beyond_all_strips_is_rare_but_not_impossible(table):
    if table.strips == STRIPS:
        whole, tail = exact_masses(table)
        assert 0 < tail / whole < (mpmath.mpf(10) ** -56 if table.shape is NORMAL else mpmath.mpf(10) ** -13)


def test_the_strips_are_as_wide_as_the_sampler_assumes(table):
    """Between 2^-6 and 2^-5 scales (normal) or 2^-5 and 2^-4 (exponential), a power of two in steps of the grid."""
    bits = table.shape.strips_per_scale_bits
    assert table.width == Fraction(2) ** table.exponent / Fraction(table.scale)
    assert Fraction(1, 2**bits) <= table.width <= Fraction(1, 2 ** (bits - 1)) * (1 + Fraction(1, 2**50))


def test_the_heights_are_exact_to_two_to_the_minus_42(table):
    for strip in range(table.strips):
        p = table.alpha * exact_density(table, Fraction(strip)) / table.weights[strip]
        assert abs(mpmath.mpf(float(table.heights[strip])) / TOTAL - p) < mpmath.mpf(2) ** -42
    assert np.isnan(table.heights[table.strips :]).all()


def digits_with_edges(size, seed):
    """The first 53 digits of places in a strip: the ends, the neighbourhood of powers of two, and random ones."""
    edges = [0, 1, 2, 2**52 - 1, 2**52, 2**53 - 2, 2**53 - 1]
    random = np.random.default_rng(seed).integers(0, 2**53, size, dtype=np.uint64)
    return np.concatenate([np.array(edges, dtype=np.uint64), random])


def test_the_quick_comparison_is_wrong_by_less_than_a_sixteenth_of_the_band(table):
    """Against 60 digits, both for the place whose further digits are zeros and for the one where they are ones."""
    digits = digits_with_edges(60, 1)
    strips = np.random.default_rng(2).integers(0, table.strips, len(digits))
    strips[:4] = [0, table.strips - 1, 0, table.strips - 1]
    found = _heights(table, strips, digits)
    for strip, digit, height in zip(strips.tolist(), digits.tolist(), found.tolist(), strict=True):
        for place in (strip + Fraction(digit, 2**53), strip + Fraction(digit + 1, 2**53)):
            p = table.alpha * exact_density(table, place) / table.weights[strip]
            assert abs(mpmath.mpf(height) / TOTAL - p) < FILTER_ERROR


@pytest.mark.skipif(np.finfo(np.longdouble).nmant < 63, reason="long doubles are doubles here")
def test_the_quick_comparison_is_right_in_a_hundred_thousand_places(table):
    """Against long doubles of 64 bits, whose own error here is below 2^-56."""
    digits = digits_with_edges(100_000, 3)
    strips = np.random.default_rng(4).integers(0, table.strips, len(digits))
    place = strips + digits.astype(np.longdouble) * np.longdouble(2) ** -53
    z = place * (np.longdouble(2) ** table.exponent / np.longdouble(table.scale))
    density = np.exp(-(z * z / 2 if table.shape is NORMAL else z))
    p = table.alpha * density / np.array(table.weights)[strips]
    assert np.abs(_heights(table, strips, digits) / TOTAL - p).max() < FILTER_ERROR


def test_the_tail_is_neither_accepted_nor_refused_by_the_quick_comparison(table):
    height = _heights(table, np.full(3, table.strips), np.array([0, 1, 2**53 - 1], dtype=np.uint64))
    assert np.isnan(height).all()


MUTANTS = [
    (no_weight_is_too_small, "np.ceil(alpha * density * (1 + MARGIN))", "np.floor(alpha * density)"),
    (no_weight_is_too_small, "np.arange(strips, dtype=np.float64)", "(0.5 + np.arange(strips, dtype=np.float64))"),
    (tail_is_covered, "math.ceil(alpha * tail)", "1 + int(alpha * tail / 4)"),
    (tail_is_covered, "/ (shape.tail_rate(start) * width)", "/ shape.tail_rate(start)"),
    (weights_sum_to_two_to_the_32, "weights[0] += TOTAL - sum(weights)", "weights[0] += 0"),
    (columns_count_as_the_weights_say, "left[giver] -= room - left[column]", "left[giver] -= room - left[column] - 1"),
    (
        columns_count_as_the_weights_say,
        "thresholds[column], aliases[column] = left[column], giver",
        "aliases[column] = giver",
    ),
]


@pytest.mark.parametrize(("check", "old", "new"), MUTANTS)
def test_a_mutant_of_the_tables_dies(check, old, new, assert_killed):
    def checked(module):
        try:
            mutant = module.strip_table(NORMAL, 50.0, 100)
        except (ValueError, IndexError) as error:
            raise AssertionError from error
        check(mutant)

    assert_killed(checked, "dperm.noise.strips", old, new)
