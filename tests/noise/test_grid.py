# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""The grid (T10b, T10d) in exact rationals: how far rounding moves values, and neighbours apart; sums tell nothing.

Values are adversarial: huge, tiny, subnormal, all equal, permuted, exact ties, at the limit of 2^52 steps.
"""

import inspect
import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from dperm import ApproxDP, PureDP
from dperm.errors import ParameterError
from dperm.mechanisms import GammaNormMechanism, GaussianMechanism, LaplaceMechanism
from dperm.noise import grid as grid_module
from dperm.noise.grid import FINENESS, FINEST, Grid, Norm, grid_for, root_up, sensitivity_on_grid

EXPONENTS = (-946, -500, -44, -3, 0, 1, 30, 500, 860)
SMALLEST = math.ulp(0.0)


def step_of(grid):
    return Fraction(2) ** grid.exponent


def adversarial(exponent):
    """Doubles that are awkward for a grid of 2^exponent."""
    g = math.ldexp(1.0, exponent)
    limit = math.ldexp(1.0, 52 + exponent)
    edges = [limit, math.nextafter(limit, 0), math.nextafter(limit, math.inf), limit / 2, limit - g / 2, 2 * limit]
    ties = [g / 2, 1.5 * g, 2.5 * g, math.nextafter(g / 2, 0), math.nextafter(g / 2, 1e308), (2**51 + 0.5) * g]
    sizes = [0.0, 1e300, 1.7976931348623157e308, 1e-300, 2.0**-1022, SMALLEST, 12345 * SMALLEST, 0.1, 1.0, math.pi * g]
    return np.array([sign * value for value in edges + ties + sizes for sign in (1.0, -1.0)])


def random_doubles(size, seed):
    """Any bit pattern that is a finite number."""
    found = np.random.default_rng(seed).integers(0, 2**64, size, dtype=np.uint64).view(np.float64)
    return found[np.isfinite(found)]


# Rounding.


@pytest.mark.parametrize("exponent", EXPONENTS)
def test_rounding_is_to_the_nearest_multiple(exponent):
    """By at most half a step, in exact rationals; ties go to the even multiple, as they do everywhere."""
    grid, half = Grid(exponent), Fraction(2) ** exponent / 2
    near = np.random.default_rng(0).normal(size=1000) * math.ldexp(1.0, exponent + 10)
    values = np.concatenate([adversarial(exponent), random_doubles(1000, 1), near])
    for value, rounded in zip(values.tolist(), grid.rounded(values).tolist(), strict=True):
        steps = Fraction(rounded) / step_of(grid)
        assert steps.denominator == 1
        assert abs(Fraction(rounded) - Fraction(value)) <= half
        assert steps == round(Fraction(value) / step_of(grid))


def test_rounding_reaches_half_a_step():
    """Two-sided: the bound is not loose."""
    grid = Grid(-3)
    assert Fraction(float(grid.rounded(np.array([1.5 / 8]))[0])) - Fraction(1.5 / 8) == step_of(grid) / 2


def test_rounding_twice_is_rounding_once():
    values = np.concatenate([adversarial(-44), random_doubles(1000, 2)])
    once = Grid(-44).rounded(values)
    assert (Grid(-44).rounded(once) == once).all()


def test_rounding_leaves_the_value_alone_and_takes_the_rows_in_any_order():
    values = np.concatenate([adversarial(-44), random_doubles(1000, 3)])
    before = values.copy()
    order = np.random.default_rng(4).permutation(len(values))
    assert (Grid(-44).rounded(values)[order] == Grid(-44).rounded(values[order])).all()
    assert values.tobytes() == before.tobytes()


# Sums.


def exact_sum(value, noise, exponent):
    return Fraction(value) + noise * Fraction(2) ** exponent


def large_noise(rng, size):
    """Integers of every size up to 2^60, either sign, with 0 and the neighbours of 2^53."""
    magnitudes = rng.integers(0, 2**60, size) >> rng.integers(0, 60, size)
    edges = [0, 1, 2**53 - 1, 2**53, 2**53 + 1, 2**53 + 3, 2**60 - 1, 2**60, 2**60 + 1]
    signs = rng.integers(0, 2, size + len(edges)) * 2 - 1
    return np.concatenate([magnitudes, edges]) * signs


def sums_are_exact(module):
    """Noise up to 2^60 steps, values of any size: the nearest double to the exact sum."""
    rng = np.random.default_rng(5)
    for exponent in (-946, -44, 0, 800):
        grid, noise = module.Grid(exponent), large_noise(rng, 500)
        near = rng.normal(size=len(noise)) * 2.0 ** (exponent + rng.integers(0, 70, len(noise)))
        for values in (grid.rounded(near), grid.rounded(rng.choice(adversarial(exponent), len(noise)))):
            for steps in (noise, -np.abs(noise)):
                exact = [exact_sum(v, n, exponent) for v, n in zip(values.tolist(), steps.tolist(), strict=True)]
                assert grid.plus(values, steps).tolist() == [float(total) for total in exact]


def test_a_sum_is_the_double_nearest_to_the_exact_sum():
    sums_are_exact(grid_module)


def test_a_sum_depends_on_the_exact_sum_only():
    """Different splits of the same sum give the same bits, the sign of zero included."""
    grid, rng = Grid(-44), np.random.default_rng(6)
    total = rng.integers(-(2**58), 2**58, 300) >> rng.integers(0, 58, 300)
    total[:20] = 0
    seen = []
    for split in (0, 1, -1, 2**30 + 1, 2**51 + 1, -(2**52) + 1, 2**53 - 1):
        values = np.full(len(total), float(split)) * grid.step
        assert (grid.rounded(values) == values).all()
        seen.append(grid.plus(values, total - split).tobytes())
    assert len(set(seen)) == 1


def test_zero_has_one_sign():
    """A value that is rounded to minus zero, or cancelled by the noise, is released as plain zero."""
    grid = Grid(0)
    values = np.array([-0.0, 0.0, -0.25, 0.25, -SMALLEST, 5.0, -5.0, 2.0**60])
    noise = np.array([0, 0, 0, 0, 0, -5, 5, -(2**60)])
    assert grid.plus(grid.rounded(values), noise).tobytes() == np.zeros(8).tobytes()


def test_a_sum_of_nothing_is_nothing():
    assert Grid(0).plus(np.array([]), np.array([], dtype=np.int64)).shape == (0,)


# The grid follows from public numbers.


@pytest.mark.parametrize("norm", [Norm.L1, Norm.L2])
@pytest.mark.parametrize("dim", [1, 1000, 10**6])
@pytest.mark.parametrize("scale", [2.0**-900, 1e-9, 1.0, 3.73, 1e12, 2.0**900])
@pytest.mark.parametrize("ratio", [1e-6, 0.1, 1.0, 30.0])
def test_the_step_is_between_two_to_the_minus_47_and_two_to_the_minus_40_scales(norm, dim, scale, ratio):
    grid = grid_for(scale, sensitivity=ratio * scale, dim=dim, norm=norm)
    share = step_of(grid) / Fraction(scale)
    assert Fraction(1, 2 ** (FINEST + 1)) < share <= Fraction(1, 2**FINENESS) * (1 + Fraction(1, 2**50))


def test_rounding_adds_less_than_a_millionth_to_ordinary_sensitivities():
    for norm, dim in ((Norm.L1, 1000), (Norm.L2, 10**6), (Norm.L1, 1), (Norm.L2, 1)):
        grid = grid_for(3.73, sensitivity=1.0, dim=dim, norm=norm)
        assert 1.0 < sensitivity_on_grid(1.0, grid, dim=dim, norm=norm) < 1 + 1e-6


@pytest.mark.parametrize("scale", [2.0**-901, 2.0**901, 0.0, -1.0, math.nan])
def test_a_scale_at_the_ends_of_the_doubles_is_refused(scale):
    with pytest.raises(ParameterError, match="scale"):
        grid_for(scale, sensitivity=1.0)


def test_the_grid_does_not_see_the_value():
    """No function that chooses it takes one, and a mechanism has the same grid before and after any release."""
    assert set(inspect.signature(grid_for).parameters) == {"scale", "sensitivity", "dim", "norm"}
    for mechanism in (
        GaussianMechanism.calibrate(1.0, ApproxDP(1.0, 1e-5, "add_remove"), dim=2),
        LaplaceMechanism.calibrate(1.0, PureDP(1.0, "add_remove"), dim=2),
        GammaNormMechanism.calibrate(1.0, PureDP(1.0, "add_remove"), dim=2),
    ):
        grid = mechanism.calibration.grid
        for value in ([0.0, 0.0], [1e300, -1e300], [SMALLEST, math.pi], [1 / 3, 2.0**52]):
            released = mechanism.release(value).value
            assert all((Fraction(float(entry)) / step_of(grid)).denominator == 1 for entry in released)
            assert mechanism.calibration.grid == grid


@pytest.mark.parametrize("ratio", [1e3, 1e5, 1e10])
@pytest.mark.parametrize("name", ["Gaussian", "Laplace", "gamma norm"])
def test_an_error_far_above_the_sensitivity_is_refused_at_once_or_covered(name, ratio):
    """The grid must suit the noise that is added, not the noise that would do without the error.

    What cannot be drawn is refused when the mechanism is made: a failure after the budget is charged burns it.
    """
    kind, goal = {
        "Gaussian": (GaussianMechanism, ApproxDP(1.0, 1e-5, "add_remove")),
        "Laplace": (LaplaceMechanism, PureDP(1.0, "add_remove")),
        "gamma norm": (GammaNormMechanism, PureDP(1.0, "add_remove")),
    }[name]
    try:
        mechanism = kind.calibrate(1.0, goal, dim=3, numerical_error=ratio)
    except ParameterError:
        return
    assert np.isfinite(mechanism.release([0.0, 1.0, 2.0]).value).all()


# What rounding adds to a sensitivity.


@pytest.mark.parametrize("dim", [1, 2, 3, 4, 5, 10, 99, 100, 10**6, 10**6 + 1, 2**31 - 1, 2**31])
def test_the_root_is_rounded_up_and_close(dim):
    assert root_up(dim, Norm.L1) == dim
    root = Fraction(root_up(dim, Norm.L2))
    assert dim <= root**2 <= dim * (1 + Fraction(1, 2**31))
    if math.isqrt(dim) ** 2 == dim:
        assert root == math.isqrt(dim)


def bound(sensitivity, grid, dim, norm, error):
    """Delta + d^(1/p) g + 2 tau to 60 digits."""
    root = mpmath.mpf(dim) if norm == 1 else mpmath.sqrt(dim)
    return mpmath.mpf(sensitivity) + root * mpmath.mpf(grid.step) + 2 * mpmath.mpf(error)


@pytest.mark.parametrize("norm", [Norm.L1, Norm.L2])
@pytest.mark.parametrize("dim", [1, 2, 7, 1000, 10**6])
@pytest.mark.parametrize("error", [0.0, 1e-12, 0.1, 3.0])
@pytest.mark.parametrize("sensitivity", [1.0, 0.1, 1e-200, 1e200])
def test_the_sensitivity_on_the_grid_is_the_stated_bound_rounded_up(norm, dim, error, sensitivity):
    grid = grid_for(3.7 * sensitivity, sensitivity=sensitivity, dim=dim, norm=norm)
    stated = bound(sensitivity, grid, dim, norm, error * sensitivity)
    found = sensitivity_on_grid(sensitivity, grid, dim=dim, norm=norm, numerical_error=error * sensitivity)
    assert stated <= mpmath.mpf(found) <= stated * (1 + mpmath.mpf(2) ** -50)


def norm_of(differences, norm):
    """The p-norm of Fractions, to 60 digits."""
    if norm == 1:
        exact = sum(abs(entry) for entry in differences)
        return mpmath.mpf(exact.numerator) / exact.denominator
    exact = sum(entry * entry for entry in differences)
    return mpmath.sqrt(mpmath.mpf(exact.numerator) / exact.denominator)


def fractions(values):
    return [Fraction(float(value)) for value in values]


def distance(first, second, norm):
    return norm_of([a - b for a, b in zip(fractions(first), fractions(second), strict=True)], norm)


def worst_neighbours(grid, dim, error_steps):
    """True values half a step apart from ties, computed values that miss them outwards, in every coordinate.

    True: (n + 1/2) g + e and (m + 1/2) g - e with odd n and even m, computed: exactly the ties, which go outwards.
    """
    tie = (2 * np.arange(dim) % 50 + 1.5) * grid.step
    other = -(2 * np.arange(dim) % 34 + 1.5) * grid.step
    error = error_steps * grid.step
    return (tie - error, other + error), (tie, other)


def sensitivity_is_reached_and_never_exceeded(module):
    """The claim from above and, on the worst neighbours, from below: 3/4 of what rounding and error add is needed."""
    for norm, dim, error_steps in ((1, 1, 0), (1, 40, 0), (2, 40, 0), (1, 40, 0.25), (2, 9, 0.25), (2, 9, 1.0)):
        grid, kind = module.Grid(-44), module.Norm(norm)
        true, computed = worst_neighbours(grid, dim, error_steps)
        error = float(norm_of([Fraction(error_steps) * step_of(grid)] * dim, norm)) * (1 + 2.0**-52)
        plain = distance(*true, norm)
        claimed = module.sensitivity_on_grid(
            math.nextafter(float(plain), math.inf), grid, dim=dim, norm=kind, numerical_error=error
        )
        moved = distance(*(grid.rounded(values) for values in computed), norm)
        assert moved <= claimed
        assert moved - plain >= 0.75 * (claimed - plain)


@pytest.mark.parametrize("norm", [Norm.L1, Norm.L2])
@pytest.mark.parametrize("exponent", [-60, -44, 0, 40])
def test_no_neighbours_move_apart_by_more_than_the_sensitivity_on_the_grid(norm, exponent):
    """Huge, tiny, subnormal, all-equal and permuted rows, in exact rationals."""
    grid, rng = Grid(exponent), np.random.default_rng(7)
    awkward = [value for value in adversarial(exponent).tolist() if abs(value) < 1e150]
    for _ in range(60):
        row = rng.choice(awkward, 12)
        for other in (
            rng.permutation(row),
            np.full(12, row[0]),
            row + rng.normal(size=12) * grid.step,
            np.nextafter(row, np.inf),
            row[::-1] * (1 + 2.0**-52),
        ):
            plain = distance(row, other, norm)
            sensitivity = math.nextafter(float(plain), math.inf)
            claimed = sensitivity_on_grid(sensitivity, grid, dim=12, norm=norm)
            assert distance(grid.rounded(row), grid.rounded(other), norm) <= claimed


def test_the_sensitivity_on_the_grid_is_reached_and_never_exceeded():
    sensitivity_is_reached_and_never_exceeded(grid_module)


def roots_are_not_too_small(module):
    for dim in (2, 3, 10**6 + 1):
        assert Fraction(module.root_up(dim, module.Norm.L2)) ** 2 >= dim


MUTANTS = [
    (sensitivity_is_reached_and_never_exceeded, "if norm is Norm.L1:", "if False:"),  # sqrt(d) for d
    (sensitivity_is_reached_and_never_exceeded, "Fraction(2) ** grid.exponent", "Fraction(2) ** grid.exponent / 2"),
    (sensitivity_is_reached_and_never_exceeded, "2 * Fraction(numerical_error)", "Fraction(numerical_error)"),
    (sensitivity_is_reached_and_never_exceeded, "2 * Fraction(numerical_error)", "4 * Fraction(numerical_error)"),
    (sensitivity_is_reached_and_never_exceeded, "np.rint(steps, out=steps)", "np.floor(steps + 1, out=steps)"),
    (roots_are_not_too_small, "root if exact else root + 1", "root"),
    (sums_are_exact, "np.abs(noise) >= EXACT", "np.abs(noise) >= 2**61"),
    (sums_are_exact, "max(noise.max(), -noise.min()) < EXACT", "noise.max() < EXACT"),
]


@pytest.mark.parametrize(("check", "old", "new"), MUTANTS)
def test_an_unsafe_mutant_of_the_grid_dies(check, old, new, assert_killed):
    assert_killed(check, "dperm.noise.grid", old, new)
