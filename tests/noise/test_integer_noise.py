# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""The integer samplers have exactly the laws that T5a, T6 and T10a need, at scales from 0.3 to 2^46 steps.

Levels and the number of p-values: see conftest.py. What the statistics can see at the quick size is shown by wrong
laws, which they must refuse, and by mutants of the samplers, which they must kill.
"""

import mpmath
import numpy as np
import pytest
from false_alarms import unpredictable

from dperm.errors import ParameterError
from dperm.noise import NotPrivateBits, SystemBits
from dperm.noise.integer_noise import discrete_laplace, rounded_gaussian, rounded_laplace
from dperm.noise.strips import STRIPS

QUICK = 400_000
SLOW = 4_000_000
SCALES = (0.3, 1.0, 3.3, 50.0, 1000.0, 1.37 * 2.0**20, 1.9 * 2.0**40, 2.0**46)
CASES = [(name, scale) for name in ("rounded Gaussian", "rounded Laplace", "discrete Laplace") for scale in SCALES]
SAMPLERS = (rounded_gaussian, rounded_laplace, discrete_laplace)


@pytest.mark.parametrize(("name", "scale"), CASES)
def test_draws_have_the_exact_law(name, scale, statistics, stream):
    law = statistics.laws[name](scale)
    found = statistics.p_values(law.sampler(scale, QUICK, stream), law)
    assert min(found.values()) > statistics.level, found


@pytest.mark.slow
@pytest.mark.parametrize(("name", "scale"), CASES)
def test_four_million_draws_have_the_exact_law(name, scale, statistics):
    law = statistics.laws[name](scale)
    found = statistics.p_values(law.sampler(scale, SLOW, NotPrivateBits(20262).stream()), law)
    assert min(found.values()) > statistics.level, found


@pytest.mark.slow
@unpredictable(1e-6)
def test_draws_from_the_operating_system_s_bits_have_the_exact_law(statistics):
    """Not reproducible: hence a family-wise level of 1e-6."""
    found = {}
    for name, scale in CASES:
        law = statistics.laws[name](scale)
        values = law.sampler(scale, 1_000_000, SystemBits().stream())
        found |= {(name, scale, test): p for test, p in statistics.p_values(values, law).items()}
    assert min(found.values()) > 1e-6 / len(found), min(found, key=found.get)


@pytest.mark.parametrize("scale", [0.3, 1.0, 3.3])
@pytest.mark.parametrize("sampler", ["rounded Gaussian", "rounded Laplace", "discrete Laplace"])
def test_the_cells_of_the_exact_laws_are_those_of_the_stated_pmf(sampler, scale, statistics):
    """P(z) as the docstrings of the samplers state it, against differences of the distribution function."""
    law, s = statistics.laws[sampler](scale), mpmath.mpf(scale)
    stated = {
        "rounded Gaussian": lambda z: mpmath.quad(lambda x: mpmath.npdf(x, 0, s), [z - 0.5, z + 0.5]),
        "rounded Laplace": lambda z: (
            mpmath.exp(-abs(z) / s) * mpmath.sinh(1 / (2 * s)) if z else -mpmath.expm1(-1 / (2 * s))
        ),
        "discrete Laplace": lambda z: mpmath.tanh(1 / (2 * s)) * mpmath.exp(-abs(z) / s),
    }[sampler]
    for z in range(-3, 4):
        assert abs(law.exact_cdf(z) - law.exact_cdf(z - 1) - stated(z)) < mpmath.mpf(10) ** -40


@pytest.mark.parametrize("name", ["rounded Gaussian", "rounded Laplace", "discrete Laplace"])
def test_a_scale_that_is_off_by_one_per_cent_is_refused(name, statistics, stream, rejected_by):
    law = statistics.laws[name](50.0)
    for scale in (50.5, 49.5):
        assert "smooth" in rejected_by(law.sampler(scale, QUICK, stream), law)


def test_the_discrete_gaussian_is_refused_in_place_of_the_rounded_one(statistics, rejected_by):
    z = np.arange(-8, 9)
    weights = np.exp(-(z**2) / 2)
    values = np.random.default_rng(0).choice(z, size=QUICK, p=weights / weights.sum())
    assert "chi square" in rejected_by(values, statistics.laws["rounded Gaussian"](1.0))


def test_the_two_laplace_laws_are_refused_in_place_of_each_other(statistics, stream, rejected_by):
    rounded, discrete = statistics.laws["rounded Laplace"](1.0), statistics.laws["discrete Laplace"](1.0)
    assert "chi square" in rejected_by(discrete.sampler(1.0, QUICK, stream), rounded)
    assert "chi square" in rejected_by(rounded.sampler(1.0, QUICK, stream), discrete)


def test_a_low_bit_that_is_stuck_is_refused(statistics, stream, rejected_by):
    law = statistics.laws["rounded Gaussian"](1.9 * 2.0**40)
    assert "low bits" in rejected_by(law.sampler(law.scale, QUICK, stream) & ~np.int64(1), law)


def test_noise_of_single_precision_is_refused_by_its_low_bits(statistics, rejected_by):
    law = statistics.laws["rounded Gaussian"](1.9 * 2.0**40)
    coarse = np.random.default_rng(0).standard_normal(QUICK, dtype=np.float32)
    assert "low bits" in rejected_by(np.rint(coarse * law.scale).astype(np.int64), law)


def test_values_that_are_told_twice_are_refused(statistics, stream, rejected_by):
    law = statistics.laws["rounded Laplace"](3.3)
    once = law.sampler(law.scale, QUICK // 2, stream)
    assert "lags" in rejected_by(np.repeat(once, 2), law)


def test_low_bits_that_repeat_are_refused(statistics, stream, rejected_by):
    """The high digits are fresh, the low four are those of the value before."""
    law = statistics.laws["rounded Laplace"](1.9 * 2.0**40)
    values = law.sampler(law.scale, QUICK, stream)
    values[1::2] = (values[1::2] & ~np.int64(15)) | (values[::2] & 15)
    assert rejected_by(values, law) == {"low pairs"}


def test_a_sign_that_is_not_fair_is_refused(statistics, stream, rejected_by):
    """51 % positive."""
    law = statistics.laws["rounded Gaussian"](50.0)
    values = law.sampler(law.scale, QUICK, stream)
    turned = np.where(np.random.default_rng(0).random(QUICK) < 0.02, np.abs(values), values)
    assert {"smooth", "Kolmogorov-Smirnov"} <= rejected_by(turned, law)


def law_is_right(name, scale, statistics, stream, *, size=100_000, **options):
    law = statistics.laws[name](scale)

    def check(module):
        sampler = getattr(module, law.sampler.__name__)
        assert statistics.chi_square(sampler(scale, size, stream, **options), law) > statistics.level

    return check


MUTANTS = [
    ("halves << (shift - 1)", "0", "rounded Laplace", {}),  # magnitudes rounded down
    ("(magnitudes > 0)", "(magnitudes >= 0)", "discrete Laplace", {}),  # zero counted twice
    ("Fraction(halves, 2)", "Fraction(0)", "rounded Gaussian", {"band": 0.5, "size": 4_000}),  # only on the exact path
    ("(magnitudes ^ sign) - sign", "magnitudes ^ sign", "rounded Gaussian", {}),  # z or -z - 1
]


@pytest.mark.parametrize(("old", "new", "name", "options"), MUTANTS)
def test_a_mutant_of_the_rounding_dies(old, new, name, options, statistics, stream, assert_killed):
    check = law_is_right(name, 3.3, statistics, stream, **options)
    assert_killed(check, "dperm.noise.integer_noise", old, new)


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_any_number_of_values_is_drawn(sampler, stream):
    for size in (0, 1, 2, 31, 15_000, 16_384, 40_000):
        values = sampler(2.5, size, stream)
        assert values.shape == (size,)
        assert values.dtype == np.int64


@pytest.mark.parametrize("sampler", SAMPLERS)
@pytest.mark.parametrize("scale", [0.0, -1.0, 2.0**-5, 2.0**53, float("nan"), float("inf"), True, "1"])
def test_a_scale_outside_the_range_of_the_tables_is_refused(sampler, scale, stream):
    with pytest.raises(ParameterError, match="scale"):
        sampler(scale, 3, stream)


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_the_largest_scale_stays_far_below_the_range_of_the_integers(sampler, stream):
    values = sampler(2.0**52, 100_000, stream)
    assert 2**52 < np.abs(values).max() < STRIPS * 2**48 < 2**63


@pytest.mark.parametrize("sampler", SAMPLERS)
@pytest.mark.parametrize("size", [-1, True])
def test_a_size_that_is_no_count_is_refused(sampler, size, stream):
    with pytest.raises(ParameterError, match="size"):
        sampler(1.0, size, stream)


def test_the_old_module_still_works_with_a_warning():
    from dperm.noise import integer_noise
    from dperm.noise import rounded as old

    with pytest.warns(DeprecationWarning, match="use dperm.noise.integer_noise.rounded_gaussian"):
        assert old.rounded_gaussian is integer_noise.rounded_gaussian
    with pytest.raises(AttributeError):
        old.nothing  # noqa: B018
