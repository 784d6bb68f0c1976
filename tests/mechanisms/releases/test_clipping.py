# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Records on the grid: inside the bounds in exact rationals, each by itself, and summed in any order (T10)."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from dperm.mechanisms.releases.clipping import ClippedNumbers, ClippedRows, square_bits
from dperm.mechanisms.releases.covariance import BITS, BLOCK
from dperm.mechanisms.releases.fixed_point import LIMIT, FixedPoint, fixed_point
from dperm.mechanisms.releases.parameters import interval
from dperm.noise.grid import Norm, root_up

NUMBERS = [
    (0.0, 1.0),
    (0.0, 0.1),
    (-3.0, 7.0),
    (1e3, 1e3 + 0.3),
    (-1e-9, 1e-12),
    (2.0**20 - 1, 2.0**20),
    (-1e100, 3e90),
]
ROWS = [(1.0, 1), (0.1, 3), (1e-100, 2), (math.nextafter(1.0, 0.0), 1), (3.0, 50), (1e100, 7)]
finite = st.floats(allow_nan=False, allow_infinity=False)


def extremes(low, high):
    """Huge, tiny, subnormal, at the bounds and just outside."""
    around = [math.nextafter(end, to) for end in (low, high) for to in (-math.inf, math.inf)]
    return np.array([low, high, *around, (low + high) / 2, 0.0, -0.0, 5e-324, -5e-324, 1e-300, 1e300, -1e300])


def points(clip, values):
    """The numbers on the grid, as exact rationals."""
    return [(int(q) + clip.middle) * clip.step for q in clip.integers(np.asarray(values, dtype=float))]


def is_inside(clip, values):
    return all(Fraction(clip.low) <= point <= Fraction(clip.high) for point in points(clip, values))


@pytest.mark.parametrize("bounds", NUMBERS)
def test_numbers_are_inside_their_bounds_in_exact_rationals(bounds):
    clip = ClippedNumbers(*interval("bounds", bounds))
    assert is_inside(clip, extremes(*bounds))
    assert 2 * clip.radius * clip.step <= Fraction(clip.high) - Fraction(clip.low)
    assert clip.radius >= 2**29
    assert all(abs(int(q)) <= clip.radius for q in clip.integers(extremes(*bounds)))


@pytest.mark.parametrize("bounds", NUMBERS)
@given(values=npst.arrays(np.float64, st.integers(1, 20), elements=finite))
def test_any_numbers_are_inside_and_moved_by_less_than_the_resolution(bounds, values):
    clip = ClippedNumbers(*interval("bounds", bounds))
    for value, point in zip(values, points(clip, values), strict=True):
        truth = min(max(Fraction(float(value)), Fraction(clip.low)), Fraction(clip.high))
        assert Fraction(clip.low) <= point <= Fraction(clip.high)
        assert abs(point - truth) <= 2 * clip.step <= Fraction(clip.width) / 2**30


def test_the_sum_of_numbers_is_exact_and_has_no_order():
    clip, rng = ClippedNumbers(-1.0, 1.0), np.random.default_rng(1)
    values = rng.normal(size=2**20 + 17)
    (total,), found = clip.sums(values)
    assert total == sum(clip.integers(values).tolist())
    assert clip.sums(rng.permutation(values)) == clip.sums(values[::-1]) == ([total], found)


def is_in_the_ball(clip, rows):
    """||g q||^2 <= C^2 in exact rationals."""
    steps = clip.integers(np.asarray(rows, dtype=float)).tolist()
    return all(clip.step**2 * sum(q * q for q in row) <= Fraction(clip.norm) ** 2 for row in steps)


def adversarial_rows(norm, dim):
    ones, axis = np.ones(dim), np.eye(dim)[0]
    rows = [1e300 * ones, -1e300 * axis, 1.7e308 * ones, norm * axis, norm * ones / math.sqrt(dim), 0 * ones]
    rows += [math.nextafter(norm, math.inf) * axis, 5e-324 * ones, 1e-310 * axis, 0.3 * norm * axis]
    rows += [norm * (1.5 + 2.0**-32) * axis, norm * (1 + 1e-9) * ones]
    return np.array(rows)


@pytest.mark.parametrize(("norm", "dim"), ROWS)
@pytest.mark.parametrize("bits", [BITS, 30])
def test_rows_are_inside_the_ball_in_exact_integers(norm, dim, bits):
    clip = ClippedRows(norm, dim, bits)
    rows = adversarial_rows(norm, dim)
    assert is_in_the_ball(clip, rows)
    assert is_in_the_ball(clip, np.random.default_rng(2).normal(size=(500, dim)) * 2 * norm)
    assert clip.largest < 2 ** (2 * bits)


@given(rows=npst.arrays(np.float64, st.tuples(st.integers(1, 8), st.just(3)), elements=finite))
def test_any_rows_are_inside_the_ball(rows):
    assert is_in_the_ball(ClippedRows(0.7, 3), rows)


@pytest.mark.parametrize(("norm", "dim"), ROWS)
def test_rows_are_clipped_to_the_sphere_and_not_far_below(norm, dim):
    clip = ClippedRows(norm, dim)
    rng = np.random.default_rng(3)
    rows = rng.normal(size=(200, dim)) * norm
    found = clip.integers(rows) * float(clip.step)
    wanted = rows * np.minimum(1, norm / np.linalg.norm(rows, axis=1, keepdims=True))
    assert np.abs(found - wanted).max() <= 4e-6 * norm


def test_a_row_is_clipped_by_itself():
    """Its integers do not depend on the other rows, on their number, or on the layout in memory."""
    rng = np.random.default_rng(4)
    rows = rng.normal(size=(300, 37)) * 10.0 ** rng.integers(-3, 300, size=(300, 1))
    clip = ClippedRows(1.0, 37)
    together = clip.integers(rows)
    assert (together == np.concatenate([clip.integers(row[np.newaxis]) for row in rows])).all()
    assert (together == clip.integers(np.asfortranarray(rows))).all()
    assert (together[:, ::-1] == clip.integers(rows[:, ::-1])).all()
    assert (together == np.concatenate(list(clip.blocks(rows, 7)))).all()


def test_the_sums_of_rows_are_exact_and_have_no_order():
    rng = np.random.default_rng(5)
    rows = rng.normal(size=(2**15, 40))
    clip = ClippedRows(2.0, 40)
    totals, found = clip.sums(rows)
    assert totals == np.array(clip.integers(rows).tolist(), dtype=object).sum(axis=0).tolist()
    assert clip.sums(rng.permutation(rows)) == (totals, found)


@pytest.mark.parametrize("dim", [1, 2, 3, 4, 50, 2**12, 2**20])
def test_squares_of_a_row_do_not_overflow(dim):
    assert 2**60 < dim * 4 ** (square_bits(dim) + 1) and dim * 4 ** square_bits(dim) <= 2**62


def test_every_sum_of_a_block_of_products_is_an_integer_that_doubles_hold():
    """T10: a matrix product in doubles is then exact in any order of summation."""
    for norm in (1.0, math.nextafter(1.0, 0.0), 3.7):
        assert BLOCK * ClippedRows(norm, 5, BITS).largest <= 2**53


@given(st.integers(-(2**80), 2**80), st.integers(-(2**80), 2**80), st.integers(0, 30))
def test_doubles_of_totals_move_by_no_more_than_the_totals_and_a_step(first, second, shift):
    """T10: rounding to the step s moves by s/2 at most, clamping moves nothing apart, and both are exact."""
    scheme = FixedPoint(-20, -20 + shift)
    one, other = (Fraction(float(value)) for value in scheme.doubles([first, second]))
    unit, step = Fraction(2) ** -20, Fraction(2) ** scheme.step
    assert abs(one - other) <= abs(first - second) * unit + 2 * Fraction(scheme.rounding)
    assert one % step == 0 and abs(one) <= LIMIT * step
    if abs(first * unit) < LIMIT * step:
        assert abs(one - first * unit) <= Fraction(scheme.rounding)


@pytest.mark.parametrize("dim", [1, 2, 1000])
@pytest.mark.parametrize("l2", [1.0, 0.3, 7e-20, 1e100])
def test_the_step_is_a_millionth_of_the_sensitivity(l2, dim):
    scheme = fixed_point(-600, l2=l2, dim=dim)
    share = scheme.rounding * 2 * root_up(dim, Norm.L2) / l2
    assert 2.0**-22 < share <= 2.0**-20 * (1 + 1e-9)
    assert fixed_point(2000, l2=l2, dim=dim).rounding == 0


def numbers_stay_inside(module):
    assert all(is_inside(module.ClippedNumbers(*bounds), extremes(*bounds)) for bounds in NUMBERS)


def halves_bound_the_distance_to_the_middle(module):
    for low, high in NUMBERS:
        clip = module.ClippedNumbers(low, high)
        assert max(map(abs, clip.integers(extremes(low, high)).tolist())) <= clip.radius


def rows_stay_inside(module):
    for norm, dim in ROWS:
        assert is_in_the_ball(module.ClippedRows(norm, dim), adversarial_rows(norm, dim))
        assert is_in_the_ball(module.ClippedRows(norm, dim), np.full((1, dim), 0.999999 * norm / math.sqrt(dim)))


def totals_stay_near(module):
    scheme = module.FixedPoint(0, 0)
    one, other = scheme.doubles([2**54, 2**54 + 3])
    assert abs(one - other) <= 3
    assert abs(module.FixedPoint(0, 4).doubles([8 + 5])[0] - 13) <= module.FixedPoint(0, 4).rounding


STEPS = "np.clip(np.rint(np.ldexp(inside, -self.exponent)), self.lowest, self.highest)"
MUTANTS = {
    "numbers are not clipped": (
        numbers_stay_inside,
        "clipping",
        f"inside = np.clip(values, self.low, self.high)\n        steps = {STEPS}",
        "steps = np.rint(np.ldexp(np.clip(values, -4e9, 4e9), -self.exponent))",
    ),
    "the grid reaches beyond the bounds": (
        numbers_stay_inside,
        "clipping",
        STEPS,
        "np.rint(np.ldexp(inside, -self.exponent))",
    ),
    "the lower end is rounded down": (numbers_stay_inside, "clipping", "math.ceil(Fraction", "math.floor(Fraction"),
    "an odd number of steps": (
        halves_bound_the_distance_to_the_middle,
        "clipping",
        "last - (last - self.lowest) % 2",
        "last",
    ),
    "no exact check of a norm": (
        rows_stay_inside,
        "clipping",
        "while (outside := self._outside(steps)).any():",
        "while 0:",
    ),
    "rows are not clipped": (rows_stay_inside, "clipping", "> self.largest)", "> 2 * self.largest)"),
    "totals beyond 2^53": (
        totals_stay_near,
        "fixed_point",
        "max(-LIMIT, min(LIMIT, self._steps(total)))",
        "self._steps(total)",
    ),
    "a rounding that is not declared": (totals_stay_near, "fixed_point", "math.ldexp(0.5, self.step)", "0.0"),
}


@pytest.mark.parametrize("name", MUTANTS)
def test_unsafe_mutants_die(name, assert_killed):
    check, module, old, new = MUTANTS[name]
    assert_killed(check, f"dperm.mechanisms.releases.{module}", old, new)
