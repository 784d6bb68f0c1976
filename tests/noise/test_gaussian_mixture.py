# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Gamma-norm noise (T7) as a finite mixture of Gaussians: the bounds against 30-digit arithmetic, and what they imply.

Reference numbers are computed here with mpmath, from the atoms as doubles and from nothing else of the code under test.
The bounds are not equalities: the error bound adds absolute values and is up to 200 times the error observed (4 times
where the error is large enough to matter), and Chernoff's bounds on masses of 2^-85 are up to 27 times the masses.
"""

import math
from functools import cache

import mpmath as mp
import numpy as np
import pytest
from scipy.special import chdtrc

from dperm.errors import AssumptionError, ParameterError
from dperm.noise import NotPrivateBits, gaussian_mixture, mixture_atoms
from dperm.noise.gaussian_mixture import (
    LARGEST_DIM,
    WEIGHT_BITS,
    GaussianMixture,
    choose_deviation,
    mixture_epsilon,
    mixture_guarantee,
)

mixture_of = gaussian_mixture.gaussian_mixture
MIXTURE, ATOMS = "dperm.noise.gaussian_mixture", "dperm.noise.mixture_atoms"
DIMS = [1, 2, 10, 100, 1000]


@pytest.fixture(autouse=True)
def _thirty_digits():
    with mp.workdps(30):
        yield


@cache
def atoms_of(dim):
    return mixture_atoms.atoms_between(*mixture_of(dim).radii)


def exact_shares(dim, atoms):
    """The mixture before its weights are integers: a_j s_j^(d+1) e^(-s_j^2/2), normalised."""
    deviations = [mp.mpf(s) for s in atoms.deviations.tolist()]
    masses = [
        mp.mpf(a) * s ** (dim + 1) * mp.exp(-s * s / 2) for a, s in zip(atoms.steps.tolist(), deviations, strict=True)
    ]
    total = mp.fsum(masses)
    return [mass / total for mass in masses]


def log_ratios(dim, atoms, radii):
    """log q/p at each radius: d-dimensional Gaussian densities against e^-r Gamma(d/2) / (2 pi^(d/2) Gamma(d))."""
    half = mp.mpf(dim) / 2
    log_target = mp.loggamma(half) - mp.log(2) - half * mp.log(mp.pi) - mp.loggamma(dim)
    deviations = [mp.mpf(s) for s in atoms.deviations.tolist()]
    heights = [
        share * mp.exp(-half * mp.log(2 * mp.pi * s * s) - log_target)
        for share, s in zip(exact_shares(dim, atoms), deviations, strict=True)
    ]
    rates = [-1 / (2 * s * s) for s in deviations]
    return [
        mp.log(mp.fsum(height * mp.exp(rate * r * r) for height, rate in zip(heights, rates, strict=True))) + r
        for r in map(mp.mpf, radii)
    ]


def radii_between(inner, outer, count):
    """Evenly spaced radii and logarithms of radii, both ends exactly."""
    inside = [*np.geomspace(inner, outer, count)[1:-1], *np.linspace(inner, outer, count)[1:-1]]
    return [inner, *map(float, inside), outer]


def assert_the_ratio_is_bounded(dim, count):
    mixture = mixture_of(dim)
    largest = max(map(abs, log_ratios(dim, atoms_of(dim), radii_between(*mixture.radii, count))))
    assert largest <= mixture.eta <= 200 * largest


@pytest.mark.parametrize("dim", DIMS)
def test_the_mixture_is_within_eta_of_the_target_at_all_radii_of_g(dim):
    assert_the_ratio_is_bounded(dim, 14)
    assert mixture_of(dim).eta < 2e-12


@pytest.mark.slow
@pytest.mark.parametrize("dim", [3, 5, 30, 500, 700, 10**4, 10**6, LARGEST_DIM])
def test_the_mixture_is_within_eta_of_the_target_in_many_dimensions(dim):
    assert_the_ratio_is_bounded(dim, 300 if dim > 100 else 60)
    assert mixture_of(dim).eta < (5e-12 if dim <= 10**6 else 1e-10)


def bound_and_error(atoms, inner, outer):
    """The bound on the unnormalised sum, and the largest error at 38 radii."""
    nodes = [(mp.mpf(a), mp.mpf(s)) for a, s in zip(atoms.steps.tolist(), atoms.deviations.tolist(), strict=True)]
    sums = [
        mp.fsum(a * s / mp.sqrt(2 * mp.pi) * mp.exp(-((s - r / s) ** 2) / 2) for a, s in nodes)
        for r in map(mp.mpf, radii_between(inner, outer, 20))
    ]
    return atoms.error, max(abs(value - 1) for value in sums)


def a_coarse_step_is_covered(module):
    module.KERNEL = 2.0**-2
    bound, error = bound_and_error(module.atoms_between(0.5, 20.0), 0.5, 20.0)
    assert error <= bound <= 2 * error


def the_rounding_of_the_nodes_is_covered(module):
    """In 10^9 dimensions 26 bits are few: here the harmonics between the corrected and the aliased ones count."""
    radii = mixture_of(LARGEST_DIM).radii
    bound, error = bound_and_error(module.atoms_between(*radii), *radii)
    assert error <= bound <= 4 * error


def omitted_atoms_are_covered(module):
    module.KERNEL, module.OMITTED = 2.0**-120, 2.0**-8
    bound, error = bound_and_error(module.atoms_between(0.5, 20.0), 0.5, 20.0)
    assert error <= bound <= 6 * error


def integral_of_g(r, low, high):
    return mp.sqrt(2 / mp.pi) * mp.quad(lambda s: mp.exp(-((s - r / s) ** 2) / 2), mp.linspace(low, high, 9))


def both_ends_of_the_window_are_covered(module):
    """Each end against the integral beyond it, in ds, with the other end far away."""
    for inner, outer, least, largest in [(30.0, 60.0, 3.0, 13.0), (1e-9, 40.0, 1e-3, 11.0)]:
        below, above = integral_of_g(inner, 0, least), integral_of_g(outer, largest, 40)
        assert below <= module._omitted(inner, outer, np.array([least, 1e3])) <= 2.5 * below
        assert above <= module._omitted(inner, outer, np.array([inner / 1e3, largest])) <= 2.5 * above


SUMMED = "size[0] + 2 * size[1:] @ kernel[:-1] + 2 * (1 + size[0]) * beyond"


@pytest.mark.parametrize(
    ("check", "old", "new"),
    [
        (a_coarse_step_is_covered, SUMMED, "size[0] + 2 * size[1:] @ kernel[:-1]"),
        (a_coarse_step_is_covered, SUMMED, "size[0] + size[1:] @ kernel[:-1] + (1 + size[0]) * beyond"),
        (the_rounding_of_the_nodes_is_covered, SUMMED, "size[0] + 2 * (1 + size[0]) * beyond"),
        (the_rounding_of_the_nodes_is_covered, "defects = waves @ steps", "defects = waves @ np.ones_like(steps)"),
        (omitted_atoms_are_covered, " * _omitted(inner, outer, deviations)", " * 0.0"),
        (both_ends_of_the_window_are_covered, "return small + math.erfc", "return math.erfc"),
        (both_ends_of_the_window_are_covered, "(largest - outer / largest)", "(largest + outer / largest)"),
        (both_ends_of_the_window_are_covered, "inner / least - least", "inner / least"),
    ],
)
def test_forgetting_a_part_of_the_error_is_noticed(check, old, new, assert_killed):
    assert_killed(check, ATOMS, old, new)


@pytest.mark.parametrize("radius", [0.01, 1.0, 60.0])
@pytest.mark.parametrize("angle", [0.1, 0.7, 1.5])
def test_the_kernel_bounds_the_fourier_transform_at_every_angle(radius, angle):
    """The transform of g_r at w is e^r sqrt(2/pi) r^nu K_nu(r) with nu = 1/2 - i w."""
    best = float(mixture_atoms._frequency(radius, np.array(angle)))
    for frequency in (0.3 * best, best, 2 * best):
        nu = mp.mpc(0.5, -frequency)
        exact = abs(mp.exp(radius) * mp.sqrt(2 / mp.pi) * mp.mpf(radius) ** nu * mp.besselk(nu, radius))
        assert exact <= mp.exp(float(mixture_atoms._log_kernel(radius, np.array(angle), np.array(frequency))))


@pytest.mark.parametrize("dim", [1, 2, 8, 64, 470, 600, 10**5, LARGEST_DIM])
def test_the_conditions_of_the_proof_hold(dim):
    """Positive steps, nodes in order, and beyond both ends of the window a kernel that falls off."""
    (inner, outer), atoms = mixture_of(dim).radii, atoms_of(dim)
    least, largest = atoms.deviations[[0, -1]]
    assert min(atoms.steps) > 0
    assert min(np.diff(atoms.deviations)) > 0
    assert least <= max(0.5, math.sqrt(inner))
    assert largest**2 - (outer / largest) ** 2 >= 1


@pytest.mark.parametrize("dim", [1, 100, 10**6])
def test_the_product_of_a_deviation_and_a_short_scale_is_exact(dim):
    deviations = [int(s * 2.0**70) for s in mixture_of(dim).deviations.tolist()]
    scale = 2**27 - 1
    assert all(s > 0 and float(s) == s and float(s) * scale == s * scale for s in deviations)


@pytest.mark.parametrize("dim", DIMS)
def test_the_weights_are_integers_within_tau_of_the_shares(dim):
    mixture, atoms = mixture_of(dim), atoms_of(dim)
    weights = gaussian_mixture._weights(dim, atoms)
    assert sum(weights) == sum(mixture.weights) == 2**WEIGHT_BITS
    assert min(weights) >= 0
    assert len(mixture.weights) == len(mixture.deviations) < 1000
    with mp.workdps(60):
        pairs = zip(weights, exact_shares(dim, atoms), strict=True)
        distance = mp.fsum(abs(mp.mpf(weight) / 2**WEIGHT_BITS - share) for weight, share in pairs) / 2
    assert distance <= mixture.tau <= 10 * distance


def upper_and_lower(shape, low, high):
    """P(Gamma(shape) < low) + P(Gamma(shape) > high); far beyond the mean it is 1 and 0 to 30 digits."""
    far = shape + 60 * mp.sqrt(shape) + 2000
    below = mp.gammainc(shape, 0, low, regularized=True) if low < far else mp.mpf(1)
    return below + (mp.gammainc(shape, high, mp.inf, regularized=True) if high < far else 0)


@pytest.mark.parametrize("dim", DIMS)
def test_the_masses_outside_g_are_bounded(dim):
    mixture = mixture_of(dim)
    inner, outer = map(mp.mpf, mixture.radii)
    target = upper_and_lower(mp.mpf(dim), inner, outer)
    assert target <= mixture.target_outside <= 30 * target
    mass = mp.fsum(
        weight * upper_and_lower(mp.mpf(dim) / 2, (inner / s) ** 2 / 2, (outer / s) ** 2 / 2) / 2**WEIGHT_BITS
        for weight, s in zip(mixture.weights, mixture.deviations.tolist(), strict=True)
        if weight > 0
    )
    assert mass <= mixture.outside <= 30 * mass


def excess_of_a_shift(mixture, shift, epsilon):
    """The hockey-stick divergence in one dimension, whose best set is a half-line far outside (q is even: both ways).

    MixtureAtoms of deviation below 1 weigh less than e^-1000 there.
    """
    pairs = zip(mixture.weights, mixture.deviations.tolist(), strict=True)
    atoms = [(mp.mpf(weight) / 2**WEIGHT_BITS, mp.mpf(s)) for weight, s in pairs if s > 1]

    def density(x):
        return mp.fsum(share * mp.npdf(x, 0, s) for share, s in atoms)

    def tail(x):
        return mp.fsum(share * mp.ncdf(-x / s) for share, s in atoms)

    low, high = mp.mpf(mixture.radii[1]), mp.mpf(300)
    while high - low > 1e-3:
        middle = (low + high) / 2
        crossed = density(middle) > mp.exp(epsilon) * density(middle + shift)
        low, high = (low, middle) if crossed else (middle, high)
    return tail(high) - mp.exp(epsilon) * tail(high + shift)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 5.0])
def test_the_guarantee_covers_a_shift_in_one_dimension(epsilon):
    """The tails are Gaussian, so the law is not pure; inside G the loss stays below the epsilon claimed.

    The true delta is near 1e-45: the atoms follow the target for a while beyond r1, which the guarantee gives away.
    """
    mixture = mixture_of(1)
    claimed, delta = mixture_guarantee(epsilon, mixture)
    assert 0 < excess_of_a_shift(mixture, mp.mpf(epsilon), mp.mpf(claimed)) <= delta
    inside = np.linspace(1e-3, mixture.radii[1] - epsilon, 8)
    near, far = (log_ratios(1, atoms_of(1), (inside + step).tolist()) for step in (0.0, epsilon))
    assert all(abs(a - b) <= mp.mpf(claimed) - mp.mpf(epsilon) for a, b in zip(near, far, strict=True))


GRID = np.linspace(-40.0, 40.0, 200_001)


def hockey_stick(ratio, epsilon, claimed):
    """delta at ``claimed`` of the law ratio(r) e^-r / 2 on the line, against itself moved by ``epsilon``."""

    def density(x):
        return ratio(np.abs(x)) * np.exp(-np.abs(x)) / 2

    excess = density(GRID) - math.exp(claimed) * density(GRID - epsilon)
    return float(np.maximum(excess, 0.0).sum() * (GRID[1] - GRID[0]))


def law(eta=0.0, outside=0.0, target_outside=0.0, tau=0.0):
    return GaussianMixture(1, np.ones(1), (2**WEIGHT_BITS,), (0.0, 1.0), eta, outside, target_outside, tau)


def assert_covered(module, epsilon, bounds, ratio):
    """The claim covers the law, and within a factor of 3 it is what the law needs."""
    claimed, delta = module.mixture_guarantee(epsilon, bounds)
    exact = hockey_stick(ratio, epsilon, claimed)
    assert exact <= delta + 1e-5
    assert delta <= 3 * exact + 1e-5


def a_step_of_the_ratio_is_covered(module):
    """q/p = e^eta near 0 and e^-eta beyond: moved, the two meet, and the loss is epsilon + 2 eta."""
    eta = 0.1
    edge = math.log1p(math.exp(-eta))
    assert_covered(module, 1.0, law(eta=eta), lambda r: np.where(r < edge, math.exp(eta), math.exp(-eta)))
    short = hockey_stick(lambda r: np.where(r < edge, math.exp(eta), math.exp(-eta)), 1.0, 1.0 + 1.9 * eta)
    assert short > 1e-3


def a_peak_outside_g_is_covered(module):
    """Mass 0.05 of the noise within 0.001 of 0, where the target has 0.001."""
    width, mass = 1e-3, 0.05
    share = -math.expm1(-width)
    bounds = law(eta=-math.log1p(-mass), outside=mass, target_outside=share)
    assert_covered(module, 1.0, bounds, lambda r: np.where(r < width, mass / share, (1 - mass) / (1 - share)))


def a_missing_tail_is_covered(module):
    """The noise ends at radius 6: at distance 5, much of it is impossible under the neighbour."""
    missing = math.exp(-6)
    bounds = law(eta=-math.log1p(-missing), target_outside=missing)
    assert_covered(module, 5.0, bounds, lambda r: np.where(r < 6, 1 / (1 - missing), 0.0))


def a_tail_lost_to_the_weights_is_covered(module):
    """The same law, with the tail counted as the total variation that the weights cost."""
    missing = math.exp(-6)
    assert_covered(module, 5.0, law(tau=missing), lambda r: np.where(r < 6, 1 / (1 - missing), 0.0))


@pytest.mark.parametrize(
    ("check", "old", "new"),
    [
        (a_step_of_the_ratio_is_covered, "Fraction(epsilon) + 2 * Fraction", "Fraction(epsilon) + Fraction"),
        (a_peak_outside_g_is_covered, "missed = mixture.outside + ", "missed = "),
        (a_missing_tail_is_covered, " + math.exp(epsilon + mixture.eta) * mixture.target_outside", ""),
        (a_missing_tail_is_covered, "math.exp(epsilon + mixture.eta) * mixture", "mixture"),
        (a_tail_lost_to_the_weights_is_covered, "missed + (1 + math.exp(larger)) * mixture.tau", "missed"),
        (a_tail_lost_to_the_weights_is_covered, "(1 + math.exp(larger)) * mixture.tau", "mixture.tau"),
    ],
)
def test_forgetting_a_part_of_the_price_is_noticed(check, old, new, assert_killed):
    assert_killed(check, MIXTURE, old, new)


@pytest.mark.parametrize("dim", [1, 100])
@pytest.mark.parametrize("goal", [(1.0, 1e-10), (1e-6, 1e-20), (10.0, 1e-22), (60.0, 1e-9)])
def test_the_epsilon_found_is_the_largest_that_keeps_the_goal(dim, goal):
    epsilon = mixture_epsilon(*goal, mixture_of(dim))
    assert all(np.less_equal(mixture_guarantee(epsilon, mixture_of(dim)), goal))
    assert any(np.greater(mixture_guarantee(math.nextafter(epsilon, math.inf), mixture_of(dim)), goal))


def test_a_vast_epsilon_is_reported_without_overflow():
    assert mixture_guarantee(1e4, mixture_of(10)) == (pytest.approx(1e4), 1.0)


@pytest.mark.parametrize(("goal", "name"), [((1e-13, 1e-6), "goal_epsilon"), ((1.0, 1e-25), "goal_delta")])
def test_a_goal_below_the_price_of_the_mixture_is_refused_by_name(goal, name):
    with pytest.raises(AssumptionError, match=rf"^{name} must exceed .* 10 dimensions, .*, got "):
        mixture_epsilon(*goal, mixture_of(10))


@pytest.mark.parametrize("dim", [0, 2.0, True, LARGEST_DIM + 1])
def test_a_dimension_that_is_no_count_is_refused(dim):
    mixture_of(1)
    with pytest.raises(ParameterError, match="dim must be a whole number from 1"):
        mixture_of(dim)


class Ticket:
    """A stream that holds one number."""

    def __init__(self, number):
        self.number = number

    def words(self, count):
        return np.frombuffer(self.number.to_bytes(8 * count, "little"), dtype="<u8")


def test_each_ticket_belongs_to_the_atom_whose_weight_covers_it():
    mixture, first = mixture_of(10), 0
    for weight, deviation in zip(mixture.weights, mixture.deviations.tolist(), strict=True):
        assert choose_deviation(mixture, Ticket(first)) == deviation
        assert choose_deviation(mixture, Ticket(first + weight - 1)) == deviation
        first += weight
    assert first == 2**WEIGHT_BITS


def test_atoms_are_chosen_as_often_as_they_weigh():
    mixture, stream, draws = mixture_of(10), NotPrivateBits(7).stream(), 20_000
    drawn = [choose_deviation(mixture, stream) for _ in range(draws)]
    counts = np.bincount(np.searchsorted(mixture.deviations, drawn), minlength=len(mixture.weights))
    expected = draws * np.array([weight / 2**WEIGHT_BITS for weight in mixture.weights])
    common = expected >= 10
    counts, expected = (np.append(values[common], values[~common].sum()) for values in (counts, expected))
    assert chdtrc(len(counts) - 1, ((counts - expected) ** 2 / expected).sum()) > 1e-4


def test_a_mixture_is_built_once_and_cannot_be_changed():
    assert mixture_of(10) is mixture_of(10)
    with pytest.raises(ValueError, match="read-only"):
        mixture_of(10).deviations[0] = 1.0
