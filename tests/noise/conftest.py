# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""What the law tests of T5, T6, T7 and T10 share: exact laws (mpmath), and statistics that compare draws with them.

Every statistic returns a p-value. **The level was fixed before the first run: a p-value of 1e-4 or less fails.** Seeds
are fixed, so the suite is deterministic. With tests/attacks it computes about 260 p-values at the quick sizes and 280
at the slow ones; right samplers would have met a failing seed with probability 2.6 % and 2.8 %, and did not. The one
slow test with unpredictable bits has a family-wise level of 1e-6.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise

import mpmath
import numpy as np
import pytest
from numpy.polynomial import legendre
from scipy.special import chdtrc, kolmogorov, ndtr, ndtri

from dperm.noise import NotPrivateBits
from dperm.noise.bits import Stream
from dperm.noise.integer_noise import discrete_laplace, rounded_gaussian, rounded_laplace

LEVEL = 1e-4
LEAST_EXPECTED = 20
DIGITS = 50


@dataclass(frozen=True)
class RoundedGaussian:
    """round(N), N ~ N(0, scale^2): P(Z <= z) = Phi((z + 1/2) / s) (T6)."""

    scale: float
    sampler = staticmethod(rounded_gaussian)

    def exact_cdf(self, z: int) -> mpmath.mpf:
        return mpmath.ncdf((mpmath.mpf(z) + 0.5) / mpmath.mpf(self.scale))

    def cdf(self, z: np.ndarray) -> np.ndarray:
        return ndtr((z + 0.5) / self.scale)

    def quantiles(self, levels: np.ndarray) -> np.ndarray:
        return self.scale * ndtri(levels)


@dataclass(frozen=True)
class RoundedLaplace:
    """round(L): P(0) = 1 - e^-1/2s, P(z) = e^-|z|/s sinh(1/2s), so P(Z > z) = e^-(z + 1/2)/s / 2 for z >= 0 (T5)."""

    scale: float
    sampler = staticmethod(rounded_laplace)

    def exact_cdf(self, z: int) -> mpmath.mpf:
        outside = mpmath.exp(-abs(mpmath.mpf(z) + 0.5) / mpmath.mpf(self.scale)) / 2
        return 1 - outside if z >= 0 else outside

    def cdf(self, z: np.ndarray) -> np.ndarray:
        outside = np.exp(-np.abs(z + 0.5) / self.scale) / 2
        return np.where(z >= 0, 1 - outside, outside)

    def quantiles(self, levels: np.ndarray) -> np.ndarray:
        return self.scale * np.where(levels < 0.5, np.log(2 * levels), -np.log(2 - 2 * levels))


@dataclass(frozen=True)
class DiscreteLaplace:
    """P(z) = tanh(1/2s) q^|z| with q = e^-1/s, so P(Z > z) = q^(z + 1) / (1 + q) for z >= 0 (T5)."""

    scale: float
    sampler = staticmethod(discrete_laplace)

    def exact_cdf(self, z: int) -> mpmath.mpf:
        q = mpmath.exp(-1 / mpmath.mpf(self.scale))
        outside = q ** (z + 1 if z >= 0 else -z) / (1 + q)
        return 1 - outside if z >= 0 else outside

    def cdf(self, z: np.ndarray) -> np.ndarray:
        steps = np.where(z >= 0, z + 1, -z)
        outside = np.exp(-steps / self.scale) / (1 + np.exp(-1 / self.scale))
        return np.where(z >= 0, 1 - outside, outside)

    def quantiles(self, levels: np.ndarray) -> np.ndarray:
        return RoundedLaplace(self.scale).quantiles(levels)


Law = RoundedGaussian | RoundedLaplace | DiscreteLaplace
LAWS = {
    "rounded Gaussian": RoundedGaussian,
    "rounded Laplace": RoundedLaplace,
    "discrete Laplace": DiscreteLaplace,
}


def chi_square_tail(observed: np.ndarray, expected: np.ndarray) -> float:
    """Pearson's statistic as a p-value; the expected counts sum to the observed ones."""
    assert np.isclose(observed.sum(), expected.sum())
    statistic = float(((observed - expected) ** 2 / expected).sum())
    return float(chdtrc(len(observed) - 1, statistic))


def cell_edges(law: Law, size: int) -> np.ndarray:
    """Upper ends of cells: 64 about equally likely ones, and finer and finer ones towards the tails."""
    tail = LEAST_EXPECTED / size * 4.0 ** np.arange(20)
    lower = np.concatenate([tail[tail < 1 / 64], np.arange(1, 33) / 64])
    levels = np.concatenate([lower, 1 - lower[-2::-1]])
    return np.unique(np.floor(law.quantiles(levels)).astype(np.int64))


def cell_probabilities(law: Law, edges: np.ndarray) -> np.ndarray:
    """Exact to 50 digits before they become doubles."""
    with mpmath.workdps(DIGITS):
        cdf = [mpmath.mpf(0), *(law.exact_cdf(int(edge)) for edge in edges), mpmath.mpf(1)]
        return np.array([float(b - a) for a, b in pairwise(cdf)])


def merged(observed: np.ndarray, expected: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Cells joined from the left until each expects at least 20."""
    groups, room = [0], 0.0
    for cell, count in enumerate(expected):
        room += count
        if room >= LEAST_EXPECTED and expected[cell + 1 :].sum() >= LEAST_EXPECTED:
            groups.append(cell + 1)
            room = 0.0
    return np.add.reduceat(observed, groups), np.add.reduceat(expected, groups)


def chi_square(values: np.ndarray, law: Law) -> float:
    """Counts in cells against the exact law."""
    edges = cell_edges(law, len(values))
    observed = np.bincount(np.searchsorted(edges, values), minlength=len(edges) + 1)
    return chi_square_tail(*merged(observed, len(values) * cell_probabilities(law, edges)))


def uniforms(values: np.ndarray, law: Law) -> np.ndarray:
    """F(z - 1) + V P(z) with V uniform: exactly uniform if the values have the law, on any scale."""
    below = law.cdf(values - 1)
    return below + np.random.default_rng(1).random(len(values)) * (law.cdf(values) - below)


def kolmogorov_smirnov(places: np.ndarray) -> float:
    """The largest distance between the empirical distribution and the uniform one."""
    ordered, size = np.sort(places), len(places)
    steps = np.arange(size + 1) / size
    distance = max((steps[1:] - ordered).max(), (ordered - steps[:-1]).max())
    return float(kolmogorov(np.sqrt(size) * distance))


def smooth(places: np.ndarray) -> float:
    """Neyman's smooth test: the first four Legendre moments. It finds a scale that is slightly off."""
    moments = [
        np.sqrt((2 * j + 1) * len(places)) * legendre.legval(2 * places - 1, np.eye(5)[j]).mean() for j in range(1, 5)
    ]
    return float(chdtrc(4, float(np.square(moments).sum())))


def lags(values: np.ndarray, law: Law) -> float:
    """Correlations at lags 1 and 2, of the values and of their magnitudes: four asymptotically independent normals."""
    scaled = values / law.scale
    found = [correlation(series, lag) for series in (scaled, np.abs(scaled)) for lag in (1, 2)]
    return float(chdtrc(4, float(np.square(found).sum())))


def correlation(series: np.ndarray, lag: int) -> float:
    centred = series - series.mean()
    return float((centred[lag:] * centred[:-lag]).sum() / np.square(centred).sum() * np.sqrt(len(series)))


def low_bits(values: np.ndarray, bits: int) -> float:
    """Uniformity of the lowest bits."""
    counts = np.bincount(values & (2**bits - 1), minlength=2**bits)
    return chi_square_tail(counts, np.full(2**bits, len(values) / 2**bits))


def low_pairs(values: np.ndarray) -> float:
    """Joint uniformity of the low four bits of successive values, over disjoint pairs."""
    pairs = values[: len(values) // 2 * 2].reshape(-1, 2) & 15
    return low_bits(16 * pairs[:, 0] + pairs[:, 1], 8)


def uniform_bits(scale: float) -> int:
    """How many low bits are uniform to 1e-6: 2^bits <= scale / 256 (Laplace: an error of (2 pi 256)^-2), at most 8."""
    return min(8, int(np.log2(scale)) - 8)


def p_values(values: np.ndarray, law: Law) -> dict[str, float]:
    """All the statistics that make sense at the law's scale."""
    places = uniforms(values, law)
    found = {
        "chi square": chi_square(values, law),
        "Kolmogorov-Smirnov": kolmogorov_smirnov(places),
        "smooth": smooth(places),
        "lags": lags(values, law),
    }
    if (bits := uniform_bits(law.scale)) > 0:
        found["low bits"] = low_bits(values, bits)
    if bits >= 4:
        found["low pairs"] = low_pairs(values)
    return found


@dataclass(frozen=True)
class Statistics:
    """The functions above, for tests: modules cannot import each other here."""

    level = LEVEL
    laws = LAWS
    chi_square = staticmethod(chi_square)
    chi_square_tail = staticmethod(chi_square_tail)
    merged = staticmethod(merged)
    kolmogorov_smirnov = staticmethod(kolmogorov_smirnov)
    smooth = staticmethod(smooth)
    correlation = staticmethod(correlation)
    low_bits = staticmethod(low_bits)
    p_values = staticmethod(p_values)


@pytest.fixture(scope="session")
def statistics() -> Statistics:
    """Exact laws and statistics."""
    return Statistics()


@pytest.fixture
def stream() -> Stream:
    """Reproducible bits."""
    return NotPrivateBits(20261).stream()


@dataclass
class Scripted:
    """A stream that says what it is told, and then the same word for ever."""

    said: list[int]
    then: int = 0

    def words(self, count: int) -> np.ndarray:
        first, self.said = self.said[:count], self.said[count:]
        return np.array([*first, *[self.then] * (count - len(first))], dtype=np.uint64)


@pytest.fixture
def scripted() -> Callable[..., Scripted]:
    """Streams with chosen words."""
    return Scripted


@pytest.fixture(autouse=True)
def enough_digits() -> Iterator[None]:
    """mpmath at 60 digits in every test here."""
    with mpmath.workdps(60):
        yield


@pytest.fixture
def rejected_by(statistics: Statistics) -> Callable[[np.ndarray, Law], set[str]]:
    """The names of the statistics that refuse the values."""

    def rejected(values: np.ndarray, law: Law) -> set[str]:
        return {name for name, p in p_values(values, law).items() if p <= LEVEL}

    return rejected
