# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""The impossible-output attack (Mironov 2012) on numpy's Laplace noise and on the mechanisms of dperm (T5, T10a, T10d).

An output y is impossible under a neighbour's value x' if no randomness maps to it. numpy draws U = k 2^-53 and returns
x + b log(U + U) for U < 1/2, x - b log(2 - U - U) from there on, so y is possible only if one of the few k for which
that is near y gives y itself. Whoever sees an impossible output knows for certain that the value was not x'.
"""

import math
from fractions import Fraction

import numpy as np
import pytest

from dperm import ApproxDP, PureDP
from dperm.mechanisms import DiscreteLaplaceMechanism, GammaNormMechanism, GaussianMechanism, LaplaceMechanism
from dperm.noise.shapes import EXPONENTIAL, NORMAL
from dperm.noise.strips import strip_table

RELEASES = 1_000_000
REACH = 24
"""How many k on either side of the inverse are tried; the inverse is wrong by a few units of rounding."""


# numpy.


def numpy_laplace(value, scale, size, seed):
    return np.random.default_rng(seed).laplace(value, scale, size)


def numpy_formula(k, value, scale):
    """random_laplace of numpy's distributions.c, for the k-th of its 2^53 uniform numbers."""
    u = k * 2.0**-53
    return value - scale * math.log(2.0 - u - u) if u >= 0.5 else value + scale * math.log(u + u)


def possible_under(output, value, scale):
    """Whether numpy's formula can return ``output`` when the value is ``value``."""
    mass = round(2.0**52 * math.exp(-abs(output - value) / scale))
    guess = 2**53 - mass if output > value else mass
    candidates = range(max(1, guess - REACH), min(2**53 - 1, guess + REACH) + 1)
    return any(output == numpy_formula(k, value, scale) for k in candidates)


def impossible_share(outputs, value, scale):
    return sum(not possible_under(output, value, scale) for output in outputs.tolist()) / len(outputs)


@pytest.mark.parametrize(("value", "neighbour", "scale"), [(0.0, 1.0, 1.0), (1.0, 0.0, 1.0), (0.0, 1.0, 10.0)])
def test_three_quarters_of_numpy_s_laplace_outputs_are_impossible_under_the_neighbour(value, neighbour, scale):
    """And all of them are possible under their own value: the attack is right about the formula."""
    outputs = numpy_laplace(value, scale, 5_000, 51)
    assert impossible_share(outputs, value, scale) == 0
    assert 0.75 <= impossible_share(outputs, neighbour, scale) < 0.9


def test_one_output_of_numpy_often_decides_between_the_neighbours():
    """Together: from either side three outputs in four are proof, whatever epsilon was claimed."""
    decided = 0
    for value, neighbour, seed in ((0.3, 0.4, 52), (0.4, 0.3, 53)):
        outputs = numpy_laplace(value, 1.0, 2_000, seed)
        assert impossible_share(outputs, value, 1.0) == 0
        decided += impossible_share(outputs, neighbour, 1.0) / 2
    assert decided > 0.7


# dperm.

PURE = PureDP(1.0, "add_remove")
APPROX = ApproxDP(1.0, 1e-5, "add_remove")
MAKERS = {
    "Gaussian": lambda dim: GaussianMechanism.calibrate(1.0, APPROX, dim=dim),
    "Laplace": lambda dim: LaplaceMechanism.calibrate(1.0, PURE, dim=dim),
    "gamma norm": lambda dim: GammaNormMechanism.calibrate(1.0, PURE, dim=dim),
    "discrete Laplace": lambda dim: DiscreteLaplaceMechanism.calibrate(1, PURE, dim=dim),
}
NEIGHBOURS = [(0.0, 1.0), (0.3, 0.4), (1e9, 1e9 + 1)]


def noise_under(outputs, value, grid):
    """The noise that leads from ``value`` to each output, in steps: Fractions, integers if the output is possible."""
    start = Fraction(float(grid.rounded(np.array([value]))[0]))
    step = Fraction(2) ** grid.exponent
    return [(Fraction(output) - start) / step for output in outputs.tolist()]


def reachable(mechanism, noise):
    """How many of these numbers the law takes with positive probability: all integers, since no strip has weight 0.

    Gamma-norm noise is a product of normal laws, and has their support.
    """
    shape = EXPONENTIAL if "aplace" in mechanism.name else NORMAL
    assert min(strip_table(shape, mechanism.calibration.steps).weights) >= 1
    return sum(entry.denominator == 1 for entry in noise)


@pytest.mark.parametrize(("value", "neighbour"), NEIGHBOURS)
@pytest.mark.parametrize("name", MAKERS)
def test_no_single_release_is_impossible_under_the_neighbour(name, value, neighbour):
    """A few thousand releases of one number: in exact rationals, both noises are integers that the law can take."""
    mechanism = MAKERS[name](1)
    if name == "discrete Laplace":
        value, neighbour = float(round(value)), float(round(neighbour) + (value < 1))
    outputs = np.array([mechanism.release(value).value for _ in range(500)])
    for start in (value, neighbour):
        assert reachable(mechanism, noise_under(outputs, start, mechanism.calibration.grid)) == len(outputs)


def steps_between(outputs, value, grid):
    """The same for many outputs at once: output and value divided by the step, exactly, as integers."""
    start = grid.rounded(np.array([value]))[0] / grid.step
    found = outputs / grid.step  # a power of two: exact
    assert np.abs(found).max() < 2**53
    whole = np.rint(found) == found
    return found[whole].astype(np.int64) - int(start), int((~whole).sum())


def impossible_releases(name, value, neighbour):
    """How many of a million outputs under ``value`` are impossible under ``neighbour``, and under ``value`` itself."""
    mechanism = MAKERS[name](RELEASES)
    outputs = mechanism.release(np.full(RELEASES, value)).value
    for start in (value, neighbour):
        noise, off_the_grid = steps_between(outputs, start, mechanism.calibration.grid)
        yield off_the_grid + int((np.abs(noise) > 2**62).sum())


@pytest.mark.parametrize("name", ["Gaussian", "Laplace", "discrete Laplace"])
def test_none_of_a_million_releases_is_impossible_under_the_neighbour(name):
    """Every multiple of the step is possible under every value on the grid, and every value is rounded to it."""
    assert list(impossible_releases(name, 0.0, 1.0)) == [0, 0]
    if name != "discrete Laplace":
        assert list(impossible_releases(name, 0.3, 0.4)) == [0, 0]


@pytest.mark.slow
def test_none_of_a_million_gamma_norm_releases_is_impossible_under_the_neighbour():
    assert list(impossible_releases("gamma norm", 0.0, 1.0)) == [0, 0]
    assert list(impossible_releases("gamma norm", 0.3, 0.4)) == [0, 0]


def test_the_support_of_small_noise_is_the_same_for_neighbours():
    """At a scale of one step every small output occurs under both values: equal supports, seen and not only claimed."""
    mechanism = DiscreteLaplaceMechanism.calibrate(1, PURE, dim=100_000)
    seen = [set(mechanism.release(np.full(100_000, value)).value.tolist()) for value in (0.0, 1.0)]
    assert set(range(-6, 8)) <= seen[0] & seen[1]
