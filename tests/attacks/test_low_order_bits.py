# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""The precision attack (Mironov 2012; Haney, Desfontaines et al. 2022): low-order bits of x + noise tell x (T10, T10d).

The sum of 1 and floating-point noise is a multiple of 2^-53; the sum of 0 and the same noise often is not, since small
noise has finer digits. Ours are multiples of one step whatever the value is, and their low-order bits are uniform.
"""

import numpy as np
import pytest
from scipy.special import chdtrc

from dperm import ApproxDP, PureDP
from dperm.errors import NotPrivateWarning
from dperm.mechanisms import (
    DiscreteLaplaceMechanism,
    GammaNormMechanism,
    GaussianMechanism,
    GaussianMixtureMechanism,
    LaplaceMechanism,
)
from dperm.noise import NotPrivateBits

RELEASES = 1_000_000
LEVEL = 1e-4  # fixed before the first run; the seeds are fixed as well, and tests/noise/conftest.py counts the p-values
PURE = PureDP(1.0, "add_remove")
APPROX = ApproxDP(1.0, 1e-5, "add_remove")
MAKERS = {
    "Gaussian": lambda dim: GaussianMechanism.calibrate(1.0, APPROX, dim=dim),
    "Laplace": lambda dim: LaplaceMechanism.calibrate(1.0, PURE, dim=dim),
    "gamma norm": lambda dim: GammaNormMechanism.calibrate(1.0, PURE, dim=dim),
    "mixture": lambda dim: GaussianMixtureMechanism.calibrate(1.0, APPROX, dim=dim),
}
QUICK = [(name, RELEASES) for name in ("Gaussian", "Laplace", "mixture")] + [("gamma norm", 100_000)]
SLOW = [pytest.param("gamma norm", RELEASES, marks=pytest.mark.slow)]


def share_off(outputs, step):
    """The precision attack: the share of outputs that are no multiple of ``step``, a power of two."""
    steps = outputs / step
    return float((np.rint(steps) != steps).mean())


def seeded(mechanism, value, seed):
    """A release that can be repeated; the suite's chi-squares are deterministic."""
    with pytest.warns(NotPrivateWarning):
        return mechanism.release(np.full(mechanism.dim, value), bits=NotPrivateBits(seed)).value


def two_sample(first, second, cells):
    """Chi-square of two samples of cell numbers: the p-value of their having one law."""
    a, b = (np.bincount(sample, minlength=cells).astype(float) for sample in (first, second))
    some = a + b > 0
    statistic = float(((a - b)[some] ** 2 / (a + b)[some]).sum())
    return float(chdtrc(some.sum() - 1, statistic))


# numpy.


def test_a_fifth_of_numpy_s_normal_outputs_cannot_come_from_the_neighbour():
    noise = np.random.default_rng(61).standard_normal(RELEASES)
    assert 0.2 <= share_off(0.0 + noise, 2.0**-53) < 0.3
    assert share_off(1.0 + noise, 2.0**-53) == 0


def test_a_share_of_numpy_s_laplace_outputs_cannot_come_from_the_neighbour_either():
    noise = np.random.default_rng(62).laplace(size=RELEASES)
    assert share_off(0.0 + noise, 2.0**-53) >= 0.2
    assert share_off(1.0 + noise, 2.0**-53) == 0


# dperm, exact.


@pytest.mark.parametrize(("name", "releases"), QUICK + SLOW)
def test_no_release_is_off_the_grid_whatever_the_value(name, releases):
    """Exactly 0 of a million for each value, where numpy has a quarter for one and none for the other."""
    mechanism = MAKERS[name](releases)
    step = mechanism.calibration.grid.step
    for value in (0.0, 1.0, 0.3, 1e-300, -1e6):
        assert share_off(mechanism.release(np.full(releases, value)).value, step) == 0


def test_no_release_of_integers_is_off_the_integers():
    mechanism = DiscreteLaplaceMechanism.calibrate(1, PURE, dim=RELEASES)
    for value in (0, 1, 2**52):
        assert share_off(mechanism.release(np.full(RELEASES, value)).value, 1.0) == 0


@pytest.mark.parametrize(("name", "releases"), QUICK + SLOW)
def test_multiples_of_every_power_of_two_are_as_frequent_under_both_values(name, releases):
    """The attack's statistic, for all of its steps at once: how many trailing zeros the output has, in grid steps."""
    mechanism = MAKERS[name](releases)
    zeros = []
    for value, seed in ((0.0, 63), (1.0, 64)):
        steps = (seeded(mechanism, value, seed) / mechanism.calibration.grid.step).astype(np.int64)
        zeros.append(np.minimum(np.log2(np.maximum(steps & -steps, 1)).astype(np.int64), 10))
        assert abs((zeros[-1] == 0).mean() - 0.5) < 3.9 * 0.5 / np.sqrt(releases)
    assert two_sample(*zeros, 11) > LEVEL


@pytest.mark.parametrize(("name", "releases"), QUICK + SLOW)
@pytest.mark.parametrize(("value", "neighbour"), [(0.0, 1.0), (0.3, 0.4)])
def test_the_low_eight_bits_of_neighbours_have_one_law(name, releases, value, neighbour):
    """Two samples against each other, and each against the uniform law."""
    mechanism = MAKERS[name](releases)
    low = [
        (seeded(mechanism, x, seed) / mechanism.calibration.grid.step).astype(np.int64) & 255
        for x, seed in ((value, 65), (neighbour, 66))
    ]
    assert two_sample(*low, 256) > LEVEL


def test_values_that_need_finer_digits_than_the_grid_do_not_show_them():
    """The last digits of the value are gone before noise is added: two values in one cell give the same release."""
    mechanism = MAKERS["Gaussian"](1000)
    step = mechanism.calibration.grid.step
    assert (seeded(mechanism, 0.0, 67) == seeded(mechanism, 0.49 * step, 67)).all()
    assert (seeded(mechanism, 0.0, 67) != seeded(mechanism, 0.51 * step, 67)).all()


# The power of these tests.


def test_the_two_sample_test_sees_numpy_s_low_order_bits():
    noise = np.random.default_rng(68).standard_normal((2, 100_000))
    low = [((value + row) * 2.0**60 % 256).astype(np.int64) for value, row in zip((0.0, 1.0), noise, strict=True)]
    assert two_sample(*low, 256) < 1e-100


def test_a_value_that_is_not_rounded_is_found(assert_killed):
    """Noise on the grid is not enough: 0.3 between its points shows in every sum."""
    grid = MAKERS["Gaussian"](1).calibration.grid

    def check(module):
        for value in (0.3, 1e-9):
            sums = module.on_grid(grid, np.full(100, value), np.arange(100))
            assert share_off(sums, grid.step) == 0

    assert_killed(
        check, "dperm.mechanisms.additive", "grid.plus(grid.rounded(value), noise)", "grid.plus(value, noise)"
    )


# dperm, fast: not immune, and its record says so.


def test_the_fast_grade_gives_itself_away():
    """Its noise is a number of single precision times the scale: so is the sum with 0, always, and hardly one with 1.

    One coordinate is proof. The warning in the record is honest.
    """
    mechanism = GaussianMechanism.calibrate(1.0, APPROX, dim=100_000, grade="fast")
    zero, one = (mechanism.release(np.full(100_000, value)).value for value in (0.0, 1.0))
    single = [(y / mechanism.scale).astype(np.float32).astype(np.float64) * mechanism.scale for y in (zero, one)]
    assert (single[0] == zero).all()
    assert (single[1] != one).mean() > 0.9
    assert "leak" in mechanism.release(np.zeros(100_000)).record.noise
