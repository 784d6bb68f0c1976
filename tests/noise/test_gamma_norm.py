# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Exact gamma-norm noise (T7, T7a): density proportional to e^-||x||/s in R^d, rounded to the grid.

The reference laws are derived from that density, not from the mixture that the sampler uses: the radius is Gamma(d), a
direction's squared coordinate Beta(1/2, (d - 1)/2), and for odd d = 2n + 1 the marginal density of a coordinate is
proportional to x^(d/2) K_(d/2)(x) = sqrt(pi/2) e^-x sum_k (n + k)! / (k! (n - k)! 2^k) x^(n - k). For d = 1 that is
the Laplace law; for d = 2 cells of the plane are integrated with mpmath.
"""

import functools
import math
from dataclasses import dataclass
from fractions import Fraction
from types import SimpleNamespace

import mpmath
import numpy as np
import pytest
from scipy.special import betainc, gammainc

from dperm.errors import ParameterError
from dperm.noise import NotPrivateBits
from dperm.noise import gamma_norm as module_under_test
from dperm.noise.gamma_norm import MOST_DIM, STRIP_BITS, _Normals, _rounded, gamma_norm
from dperm.noise.sampler import draws
from dperm.noise.strips import strip_table

QUICK, SLOW = 5_000, 100_000
LARGE = 1.3 * 2.0**30
SEEDS = {QUICK: 31, SLOW: 32}


@dataclass(frozen=True)
class Marginal:
    """One rounded coordinate in odd dimension."""

    dim: int
    scale: float

    def exact_cdf(self, z):
        """1 - sum_k c_k Gamma(n - k + 1, a) / (2 sum_k c_k (n - k)!), a = (z + 1/2) / s."""
        n, place = (self.dim - 1) // 2, abs(mpmath.mpf(z) + 0.5) / mpmath.mpf(self.scale)
        terms = [
            (math.factorial(n + k) / mpmath.mpf(2**k * math.factorial(k) * math.factorial(n - k)), n - k)
            for k in range(n + 1)
        ]
        beyond = mpmath.fsum(c * mpmath.gammainc(m + 1, place) for c, m in terms)
        outside = beyond / mpmath.fsum(c * mpmath.factorial(m) for c, m in terms) / 2
        return 1 - outside if z >= 0 else outside

    def quantiles(self, levels):
        """Roughly: cells need not be equally likely."""
        small = np.minimum(levels, 1 - levels)
        spread = self.scale * math.sqrt(self.dim + 1)
        return spread * np.sign(levels - 0.5) * -np.log(2 * small) / math.sqrt(2)


@functools.cache
def vectors(dim, scale, count):
    """Independent draws, one in each row; shared by the tests."""
    stream = NotPrivateBits(SEEDS[count]).stream()
    return np.array([gamma_norm(scale, dim, stream) for _ in range(count)])


@functools.cache
def plane_cell(i, j):
    """P of the unit square around (i, j) under e^-r / 2 pi, by symmetry for 0 <= j <= i only."""
    if i == 0:  # the cone at the origin, in polar coordinates: integral of r e^-r up to R is 1 - (1 + R) e^-R
        inner = mpmath.quad(
            lambda a: 1 - (1 + 0.5 / mpmath.cos(a)) * mpmath.exp(-0.5 / mpmath.cos(a)), [0, mpmath.pi / 4]
        )
        return float(8 * inner / (2 * mpmath.pi))
    with mpmath.workdps(15):
        height = mpmath.quad(
            lambda x, y: mpmath.exp(-mpmath.sqrt(x * x + y * y)),
            [i - 0.5, i + 0.5],
            [j - 0.5, j + 0.5],
            method="gauss-legendre",
            maxdegree=4,
        )
        return float(height / (2 * mpmath.pi))


SIZES = [pytest.param(QUICK, id="quick"), pytest.param(SLOW, id="slow", marks=pytest.mark.slow)]


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("scale", [1.0, 3.3, LARGE])
def test_in_one_dimension_it_is_the_rounded_laplace_law(scale, size, statistics):
    found = statistics.p_values(vectors(1, scale, size)[:, 0], statistics.laws["rounded Laplace"](scale))
    assert min(found.values()) > statistics.level, found


@pytest.mark.parametrize("size", SIZES)
def test_in_the_plane_every_cell_has_the_mass_of_its_integral(size, statistics):
    points, most = vectors(2, 1.0, size), 4
    inside = points[(np.abs(points) <= most).all(axis=1)] + most
    side = 2 * most + 1
    observed = np.bincount(inside[:, 0] * side + inside[:, 1], minlength=side * side)
    places = [(abs(i), abs(j)) for i in range(-most, most + 1) for j in range(-most, most + 1)]
    masses = np.array([plane_cell(max(place), min(place)) for place in places])
    assert 0.9 < masses.sum() < 1
    expected = np.append(masses, 1 - masses.sum()) * size
    assert statistics.chi_square_tail(*statistics.merged(np.append(observed, size - len(inside)), expected)) > 1e-4


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("dim", [1, 5, 51])
@pytest.mark.parametrize("scale", [1.0, LARGE])
def test_a_coordinate_has_its_exact_marginal_law(dim, scale, size, statistics):
    points = vectors(dim, scale, size)
    for coordinate in {0, dim - 1}:
        assert statistics.chi_square(points[:, coordinate], Marginal(dim, scale)) > statistics.level


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("dim", [2, 5, 50])
def test_the_radius_is_gamma_and_the_direction_uniform(dim, size, statistics):
    """On a fine grid, where rounding moves neither; along an axis, a diagonal and a difference of axes."""
    points = vectors(dim, LARGE, size) / LARGE
    radius = np.sqrt(np.square(points).sum(axis=1))
    places = gammainc(dim, radius)
    assert min(statistics.kolmogorov_smirnov(places), statistics.smooth(places)) > statistics.level
    for ahead in (np.eye(dim)[0], np.ones(dim), np.eye(dim)[0] - np.eye(dim)[-1]):
        share = np.square(points @ (ahead / np.sqrt(ahead @ ahead)) / radius)
        places = betainc(0.5, (dim - 1) / 2, np.minimum(share, 1.0))
        assert min(statistics.kolmogorov_smirnov(places), statistics.smooth(places)) > statistics.level
    assert abs(statistics.correlation(radius, 1)) < 3.9  # the level for a normal


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("dim", [2, 5, 50])
def test_signs_and_low_bits_are_fair(dim, size, statistics):
    points = vectors(dim, LARGE, size)
    signs = 2 * (points[:, 0] < 0) + (points[:, -1] < 0)
    assert statistics.low_bits(signs, 2) > statistics.level
    assert statistics.low_bits(points.ravel(), 8) > statistics.level


@pytest.mark.slow
@pytest.mark.parametrize("dim", [1000, 100_000])
def test_in_many_dimensions_the_radius_and_every_coordinate_are_right(dim, statistics):
    """Given the radius R, coordinates times sqrt(d) / R are nearly normal; 1e6 coordinates in all."""
    stream = NotPrivateBits(33).stream()
    points = np.array([gamma_norm(LARGE, dim, stream) for _ in range(1_000_000 // dim)]) / LARGE
    radius = np.sqrt(np.square(points).sum(axis=1))
    places = betainc(0.5, (dim - 1) / 2, np.square(points[:, ::50] / radius[:, None]).ravel())
    assert min(statistics.kolmogorov_smirnov(gammainc(dim, radius)), statistics.smooth(places)) > statistics.level


# The arithmetic.


def test_the_result_is_the_rounded_product_in_sixty_digits(stream):
    """s ||H|| |G_i|, with H and G as the sampler drew them, computed by mpmath."""
    for dim, scale in ((1, 1.0), (3, 1.37 * 2.0**20), (7, 2.0**40 / 3), (20, 2.0**46)):
        normals = _Normals(2 * dim + 1, stream)
        unit = mpmath.mpf(2) ** -(normals.bits + STRIP_BITS)
        g = [(low + mpmath.mpf(0.5)) * unit for low in normals.low]
        radius = mpmath.sqrt(mpmath.fsum(h * h for h in g[dim:]))
        expected = [int(mpmath.floor(mpmath.mpf(scale) * radius * entry + 0.5)) for entry in g[:dim]]
        assert _rounded(normals, dim, scale) == expected


def test_what_is_decided_stays_so_when_more_digits_are_drawn():
    """Read to 53 digits only, some numbers are undecided; those that are decided are right."""
    undecided = 0
    for seed in range(200):
        normals = _Normals(3, NotPrivateBits(seed).stream())
        coarse = SimpleNamespace(bits=53, low=[n >> 64 for n in normals.low], high=[(n >> 64) + 1 for n in normals.low])
        early, first = _rounded(coarse, 1, 2.0**52), _rounded(normals, 1, 2.0**52)
        normals.extend()
        assert first is not None
        assert _rounded(normals, 1, 2.0**52) == first
        assert early in (None, first)
        undecided += early is None
    assert 5 < undecided < 195


def test_an_undecided_vector_draws_further_digits(monkeypatch):
    """The same bits to begin with: the same vector, whether its rounding is decided at once or at the third attempt."""
    expected = gamma_norm(1000.0, 4, NotPrivateBits(34).stream())
    answers = [None, None]
    monkeypatch.setattr(module_under_test, "_rounded", lambda *given: answers.pop() if answers else _rounded(*given))
    assert (gamma_norm(1000.0, 4, NotPrivateBits(34).stream()) == expected).all()
    assert not answers


def test_numbers_from_the_exact_path_keep_their_digits(monkeypatch, stream):
    """With a wide band most normals are lazy: further digits extend the first ones, as they do for the others."""
    monkeypatch.setattr(module_under_test, "draws", functools.partial(draws, band=0.5))
    normals = _Normals(300, stream)
    assert len(normals.lazy) > 100
    before, bits = normals.low, normals.bits
    normals.extend()
    for low, high, early in zip(normals.low, normals.high, before, strict=True):
        assert early << 64 <= low < high <= (early + 1) << 64
        assert high == low + 1
    assert normals.bits == bits + 64
    for place, real in normals.lazy.items():
        assert real.bounds(53)[0] >= Fraction(normals.low[place], 2**normals.bits)


@pytest.mark.parametrize(("band", "strips"), [(2.0**-3, 1023), (2.0**-36, 60)])
def test_the_exact_path_and_the_tail_do_not_change_the_law(band, strips, monkeypatch, statistics, stream):
    monkeypatch.setattr(module_under_test, "draws", functools.partial(draws, band=band))
    monkeypatch.setattr(module_under_test, "strip_table", functools.partial(strip_table, strips=strips))
    values = np.array([gamma_norm(3.3, 1, stream)[0] for _ in range(1_000)])
    found = statistics.p_values(values, statistics.laws["rounded Laplace"](3.3))
    assert min(found.values()) > statistics.level, found


# Arguments.


@pytest.mark.parametrize("scale", [0.01, 0.0, -1.0, 2.0**53, math.nan, math.inf, "1"])
def test_a_scale_outside_the_range_is_refused(scale, stream):
    with pytest.raises(ParameterError, match="scale"):
        gamma_norm(scale, 2, stream)


@pytest.mark.parametrize("dim", [0, -1, 1.5, MOST_DIM + 1, True])
def test_a_dimension_outside_the_range_is_refused(dim, stream):
    with pytest.raises(ParameterError, match="dim"):
        gamma_norm(1.0, dim, stream)


def test_whatever_scale_and_dimension_are_accepted_fit_into_the_integers(stream):
    """A coordinate deviates by sqrt(d + 1) scales. A failure after the budget is charged is not an answer."""
    try:
        noise = gamma_norm(2.0**52, 2**18, stream)
    except ParameterError:
        return
    assert np.abs(noise).max() < 2**62


# Mutants.


def radius_is_gamma(module, statistics, dim=2, scale=1000.0):
    stream = NotPrivateBits(35).stream()
    points = np.array([module.gamma_norm(scale, dim, stream) for _ in range(4_000)]) / scale
    places = gammainc(dim, np.sqrt(np.square(points).sum(axis=1)))
    assert min(statistics.kolmogorov_smirnov(places), statistics.smooth(places)) > statistics.level


def coarse_laplace(module, statistics):
    stream = NotPrivateBits(36).stream()
    values = np.array([module.gamma_norm(1.0, 1, stream)[0] for _ in range(4_000)])
    assert statistics.chi_square(values, statistics.laws["rounded Laplace"](1.0)) > statistics.level


MUTANTS = [
    (radius_is_gamma, "_Normals(2 * dim + 1, stream)", "_Normals(2 * dim, stream)"),  # d degrees of freedom for d + 1
    (radius_is_gamma, "denominator.bit_length() - 1", "denominator.bit_length()"),  # half the scale
    (radius_is_gamma, "normals.negative[:dim], -1, 1", "normals.negative[:dim], 1, 1"),
    (coarse_laplace, "half = 1 << (point - 1)", "half = 0"),  # rounded towards zero
]


@pytest.mark.parametrize(("check", "old", "new"), MUTANTS)
def test_a_mutant_of_the_sampler_dies(check, old, new, statistics, assert_killed):
    def checked(module):
        check(module, statistics)
        coarse_laplace(module, statistics)

    assert_killed(checked, "dperm.noise.gamma_norm", old, new)
