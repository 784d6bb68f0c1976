# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""The parts of the lattice engine: each inequality by itself (T2, T3, T23, T28)."""

import math
from collections.abc import Callable

import mpmath
import numpy as np
import pytest

from dperm.accounting.lattice.coarse import Coarse, CoarseLaw
from dperm.accounting.lattice.collapse import Collapsed, CollapseWindow
from dperm.accounting.lattice.grid import common_measure, shape_of
from dperm.accounting.lattice.law_lattice import composed, merge_down, split_up, window
from dperm.accounting.lattice.lower import merged
from dperm.accounting.lattice.measure import Measure, tilt
from dperm.accounting.lattice.readout import Beyond, Readout
from dperm.accounting.lattice.spectrum import convolve
from dperm.accounting.lattice.upper import raised
from dperm.accounting.laws.atomic import AtomicLoss, response_loss
from dperm.accounting.laws.gaussian import GaussianLoss, interval_mass
from dperm.accounting.laws.laplace import LaplaceLoss
from dperm.accounting.laws.law import Array, LossLaw
from dperm.accounting.laws.mixture import MixtureKind, MixtureLoss
from dperm.accounting.laws.subsampled_gaussian import SubsampledGaussianLoss
from dperm.privacy.adjacency import Direction

LAWS = [
    pytest.param(LaplaceLoss(1.0), id="laplace"),
    pytest.param(GaussianLoss(0.8), id="gaussian"),
    pytest.param(AtomicLoss((-0.7, -0.1, 1.0), (0.2, 0.4, 0.4)), id="irregular atoms"),
    pytest.param(MixtureLoss(LaplaceLoss(1.0), 0.1, MixtureKind.REMOVE), id="sampled laplace, remove"),
    pytest.param(MixtureLoss(LaplaceLoss(4.0), 0.003, MixtureKind.ADD), id="rarely sampled laplace, add"),
    pytest.param(MixtureLoss(LaplaceLoss(1.0), 0.2, MixtureKind.SPLICE), id="spliced laplace"),
    pytest.param(MixtureLoss(GaussianLoss(1.0), 0.1, MixtureKind.SPLICE), id="spliced gaussian"),
    pytest.param(SubsampledGaussianLoss(0.05, 1.0, Direction.REMOVE), id="sampled gaussian, remove"),
    pytest.param(SubsampledGaussianLoss(1e-3, 0.6, Direction.REPLACE), id="rarely sampled gaussian, replace"),
]
EPSILONS = np.concatenate([np.linspace(-3, 6, 181), np.linspace(-0.05, 0.05, 101)])


def profile(losses: Array, masses: Array, epsilon: float) -> float:
    """T2 on atoms."""
    above = losses > epsilon
    return float(masses[above] @ -np.expm1(epsilon - losses[above]))


def exact_profile(law: LossLaw) -> Callable[[float], float]:
    """A step's profile at the EPSILONS, P - e^eps Q of all above: they are among the borders."""
    low, high = law.support(1e-18)
    borders = np.unique(np.concatenate([[low, high], np.clip(EPSILONS, low, high)]))
    p, q = (np.append(np.cumsum(part[::-1])[::-1], 0.0) for part in law.masses(borders))

    def value(epsilon: float) -> float:
        k = int(np.searchsorted(borders, epsilon)) if epsilon <= high else len(borders) - 1
        atoms = math.fsum(mass * -math.expm1(min(epsilon - loss, 0.0)) for loss, mass in law.atoms())
        return atoms + float(p[k] - math.exp(epsilon) * q[k])

    return value


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("wish", [0.3, 0.01])
def test_a_lattice_law_lies_above_and_one_below_at_every_real_epsilon(law: LossLaw, wish: float) -> None:
    """T23 needs alpha < 1 too; T28 is the upper one, T3 the lower one."""
    shape = shape_of(CoarseLaw.of(law, 1, 1e-18, math.inf), 1.0)
    grid = shape.grid(float(shape.spacings(wish, 1)[0]))
    upper, lost = raised(law, grid, 1e-18)
    lower = merged(law, grid, 1.0, None)
    below = lower.start + grid.spacing * np.arange(len(lower.masses))
    assert upper.sum() + lost == pytest.approx(1, abs=1e-12) and lower.masses.sum() <= 1 + 1e-12
    truth = exact_profile(law)
    for epsilon in EPSILONS:
        far = max(lower.far[0] - math.exp(epsilon + lower.far[1]), 0.0)
        assert profile(grid.losses(), upper, epsilon) + lost >= truth(epsilon) - 1e-13
        assert profile(below, lower.masses, epsilon) + far <= truth(epsilon) + 1e-13


def moment(masses: Array, losses: Array, c: float) -> float:
    return float(masses @ np.exp(c * losses))


@pytest.mark.parametrize("law", [LAWS[0], LAWS[1], LAWS[3], *LAWS[5:8]])
def test_both_sides_are_second_order(law: LossLaw) -> None:
    """A third of the spacing leaves about a ninth of the gap between the two laws' E e^{cL}."""
    gaps = []
    shape = shape_of(CoarseLaw.of(law, 1, 1e-18, math.inf), 2.0)
    for wish in (0.003, 0.001):
        grid = shape.grid(float(shape.spacings(wish, 1)[0]))
        upper, _ = raised(law, grid, 1e-18)
        lower = merged(law, grid, 2.0, None)
        below = lower.start + grid.spacing * np.arange(len(lower.masses))
        gap = moment(upper, grid.losses(), 2.0) - moment(lower.masses, below, 2.0)
        gaps.append(gap / grid.spacing**2)
    assert 0 < gaps[1] < 1.8 * gaps[0] + 1e-6


def test_steep_densities_are_fitted_by_collapsing_their_peak() -> None:
    """A rarely sampled Laplace: rounding its peak down costs first order, merging it into an atom does not."""
    law = MixtureLoss(LaplaceLoss(4.0), 0.003, MixtureKind.REMOVE)
    spot = CollapseWindow.of(law, law.support(0.1)[0], law.support(0.1)[0] + 5e-5)
    collapsed = Collapsed(spot)
    mass = sum(m for _, m in collapsed.atoms()) + float(collapsed.masses(np.array(law.support(0.1)))[0][0])
    assert mass == pytest.approx(1, abs=1e-12)
    for epsilon in (0.0, 0.001, 0.01, 0.1):
        atoms = math.fsum(m * -math.expm1(min(epsilon - a, 0.0)) for a, m in collapsed.atoms())
        p, q = collapsed.masses(np.array([max(epsilon, spot.high), law.support(0.1)[1]]))
        assert atoms + float(p[0] - math.exp(epsilon) * q[0]) <= law.delta(epsilon) + 1e-14


@pytest.mark.parametrize("count", [1, 2, 37, 1000, 10**6])
def test_rounding_of_a_convolution_power_is_within_its_bound(count: int) -> None:
    """A two-point law: every entry of its power is a binomial."""
    measure = Measure(0.0, 1.0, np.array([0.3, 0.7]), 0.0)
    length = 4096
    circle = convolve([(measure, count)], length)
    with mpmath.workdps(40):
        p = mpmath.mpf(0.7)
        middle = round(0.7 * count)
        for k in range(max(0, middle - 40), min(count, middle + 40) + 1):
            wanted = mpmath.binomial(count, k) * p**k * (1 - p) ** (count - k)
            assert abs(circle.weights[k % length] - wanted) <= circle.noise
    assert circle.noise < 1e-7


def readout(length: int, c: float) -> Readout:
    """Thirty steps of randomised response on a circle of this length."""
    law = response_loss(0.2)
    measure = tilt(-0.2, 0.4, np.array(law.weights), c)
    other = 1.5 * c
    return Readout(
        circle=convolve([(measure, 30)], length),
        tilt=c,
        beyond=Beyond(other, 30 * measure.log_mgf(c, other) + 1e-9),
        variation=0.0,
        lost=0.0,
        far=(0.0, -math.inf),
        shift=0.0,
        last=30 if length > 30 else None,
    )


@pytest.mark.parametrize("length", [10, 14, 20, 25, 64])
@pytest.mark.parametrize("c", [0.5, 2.0, 8.0])
def test_aliases_on_a_short_circle_are_bounded(length: int, c: float) -> None:
    """The whole law has 31 points: on fewer, mass is folded onto itself."""
    law = response_loss(0.2)
    masses = np.array([math.comb(30, k) * law.weights[1] ** k * law.weights[0] ** (30 - k) for k in range(31)])
    losses = -6 + 0.4 * np.arange(31)
    for epsilon in np.linspace(0, 5.9, 60):
        truth = profile(losses, masses, float(epsilon))
        reading = readout(length, c)
        assert reading.lower(float(epsilon)) <= truth * (1 + 1e-12) <= reading.upper(float(epsilon)) * (1 + 2e-12)


def test_own_lattices_are_moved_up_and_down() -> None:
    """regrid: the profile of a composed law rises or falls, and little."""
    c, law = 3.0, LaplaceLoss(0.3)
    shape = shape_of(CoarseLaw.of(law, 20, 1e-18, math.inf), c)
    grid = shape.grid(float(shape.spacings(1e-3, 1)[0]))
    masses, _ = raised(law, grid, 0.0)
    whole, variation = composed(tilt(grid.start, grid.spacing, masses, c), 20)
    assert variation < 1e-9

    def read(measure: Measure, epsilon: float) -> float:
        losses = measure.start + measure.spacing * np.arange(len(measure.weights))
        return profile(losses, measure.weights * np.exp(measure.log_scale - c * losses), epsilon)

    up, down = split_up(whole, 0.0047, c, 2**20), merge_down(whole, 0.0047, c, 2**20)
    fallen = merge_down(whole, 0.0013, c, 2**20)
    for epsilon in np.linspace(0.5, 4, 50):
        middle = read(whole, epsilon)
        assert read(down, epsilon) <= middle * (1 + 1e-9) and read(fallen, epsilon) <= middle * (1 + 1e-9)
        assert middle <= read(up, epsilon) * (1 + 1e-9)
        assert read(up, epsilon) - read(down, epsilon) <= 0.01 * middle


def test_window_of_a_sum_keeps_nearly_all_of_it() -> None:
    measure = tilt(0.0, 1.0, np.array([0.5, 0.3, 0.2]), 0.4)
    low, high = window(measure, 400, 1e-13)
    powers = np.array([1.0])
    for _ in range(400):
        powers = np.convolve(powers, measure.weights)
    assert powers[:low].sum() <= 2e-13 and powers[high + 1 :].sum() <= 2e-13 and 0 < low < high < 800


def test_chernoff_bounds_of_the_coarse_law_hold() -> None:
    for law in (LaplaceLoss(0.5), SubsampledGaussianLoss(0.1, 1.0, Direction.REMOVE)):
        coarse = Coarse((CoarseLaw.of(law, 1, 1e-20, math.inf),))
        for epsilon in (0.0, 0.1, 0.3):
            assert math.exp(coarse.chernoff_log_delta(epsilon)) + coarse.lost() >= law.delta(epsilon)
            capped = coarse.capped(epsilon, math.log(law.delta(epsilon)))
            assert math.exp(capped.chernoff_log_delta(epsilon)) + capped.lost() >= law.delta(epsilon)
        assert law.delta(coarse.chernoff_epsilon(math.log(1e-3))[0]) <= 1e-3


def test_common_measure_of_atoms() -> None:
    assert common_measure([0.0]) == math.inf
    assert common_measure([-0.3, 0.0, 0.2]) == pytest.approx(0.1)
    assert common_measure([-1.0, 0.0, math.sqrt(2), math.sqrt(3)]) == math.inf


def test_normal_masses_keep_their_digits_in_narrow_cells() -> None:
    points = np.array([-30.0, -29.9999, -3.0, -2.999999, 0.0, 1e-9, 0.5, 0.51, 2.0, 9.0, 9.000001, 12.0, math.inf])
    with mpmath.workdps(420):
        for got, a, b in zip(interval_mass(points), points[:-1], points[1:], strict=True):
            wanted = (mpmath.erfc(a / mpmath.sqrt(2)) - mpmath.erfc(b / mpmath.sqrt(2))) / 2
            assert abs(got / wanted - 1) < 5e-14
