# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""The pairs behind the events dominate real mechanisms on real (tiny) data sets, for every alpha >= 0 (T23).

The outputs of the real mechanism are sorted into cells. That is post-processing (T3), so the cells' H_alpha is never
above the mechanism's, and it must not exceed the pair's: no tolerance is needed but that of double precision.
"""

import itertools
import math

import numpy as np
import pytest
from scipy.special import ndtr

from dperm.accounting import Gaussian, Laplace, Poisson, WithoutReplacement, account
from dperm.accounting.laws.laplace import LaplaceLoss
from dperm.privacy.adjacency import Direction

ALPHAS = np.exp([-3.0, -1.0, -0.4, -0.1, -0.02, 0.0, 0.02, 0.1, 0.4, 1.0, 3.0])
VALUES = (-1.0, -0.4, 0.0, 0.5, 1.0)
ROUNDING = 1e-12


def normal_cdf(x):
    return ndtr(x)


def laplace_cdf(x):
    return np.where(x < 0, np.exp(np.minimum(x, 0)) / 2, 1 - np.exp(-np.maximum(x, 0)) / 2)


NOISES = {"gaussian": (normal_cdf, Gaussian), "laplace": (laplace_cdf, Laplace)}
both_noises = pytest.mark.parametrize(("cdf", "event"), NOISES.values(), ids=NOISES.keys())


def cells(cdf, scale, means, weights=None, count=1601):
    """Masses of a mixture of noises over cells of the line, the two half lines included."""
    reach = 9.0 * scale + 4.0
    borders = np.concatenate([[-np.inf], np.linspace(-reach, reach, count), [np.inf]])
    means = np.asarray(means, float)
    weights = np.full(len(means), 1 / len(means)) if weights is None else np.asarray(weights)
    return np.diff(sum(w * cdf((borders - m) / scale) for w, m in zip(weights, means, strict=True)))


def sticks(p, q):
    """H_alpha at every alpha."""
    return np.array([np.maximum(p - alpha * q, 0.0).sum() for alpha in ALPHAS])


def profile_sticks(delta, mirror=None):
    """H_alpha of a pair from its profile at eps >= 0; below alpha = 1 from that of the pair in reverse order."""
    mirror = mirror or delta
    return np.array([delta(math.log(a)) if a >= 1 else 1 - a + a * mirror(-math.log(a)) for a in ALPHAS])


def test_the_mirror_image_of_a_profile_is_that_of_the_reversed_pair():
    p, q = np.array([0.7, 0.2, 0.1]), np.array([0.1, 0.3, 0.6])
    forward = lambda e: np.maximum(p - math.exp(e) * q, 0.0).sum()  # noqa: E731
    backward = lambda e: np.maximum(q - math.exp(e) * p, 0.0).sum()  # noqa: E731
    assert profile_sticks(forward, backward) == pytest.approx(sticks(p, q), abs=1e-15)


def samples_of(data, size):
    """Sums of every sample without replacement."""
    return [sum(sample) for sample in itertools.combinations(data, size)]


@both_noises
@pytest.mark.parametrize(("n", "m", "scale"), [(3, 1, 1.0), (3, 2, 0.7), (4, 2, 2.0), (4, 1, 0.4)])
def test_the_splice_dominates_every_pair_of_data_sets_without_replacement(cdf, event, n, m, scale):
    """T24: all data sets with values on a grid, one record replaced; the worst of them attains it on either side."""
    law = WithoutReplacement(event(scale), rate=m / n).law(Direction.REPLACE)
    bound = profile_sticks(law.delta)
    others = list(itertools.combinations_with_replacement(VALUES, n - 1))
    if n > 3:
        others = [*others[::5], (-1.0,) * 3, (1.0,) * 3]
    largest = np.zeros(len(ALPHAS))
    for rest in others:
        laws = {g: cells(cdf, scale, samples_of((g, *rest), m), count=801) for g in VALUES}
        for g, h in itertools.permutations(VALUES, 2):
            found = sticks(laws[g], laws[h])
            assert np.all(found <= bound + ROUNDING), (rest, g, h)
            largest = np.maximum(largest, found)
    if m == 1:
        assert largest == pytest.approx(bound, rel=3e-3, abs=1e-5)


@both_noises
@pytest.mark.parametrize("rate", [0.1, 0.5])
def test_two_steps_without_replacement_stay_below_the_composed_splice(cdf, event, rate):
    """T23, T24: (1-q) N(y) + q N(g) against (1-q) N(y) + q N(g'), another pair in the second step, y, g, g' free."""
    scale = 2.0
    profile = account(WithoutReplacement(event(scale), rate=rate) * 2, adjacency="replace_one")
    steep = [math.exp(epsilon) for epsilon in (0.0, 0.05, 0.2, 0.6, 1.2)]
    bounds = [profile.delta(math.log(alpha)) for alpha in steep]
    singles = [(-1, 1, -1), (1, 1, -1), (0, 1, -1), (-1, -1, 1), (0.5, 1, -0.4), (0, 1, 0)]
    pairs = [
        tuple(cells(cdf, scale, [y, g], [1 - rate, rate], count=301) for g in (with_, replaced))
        for y, with_, replaced in singles
    ]
    for first, second in itertools.combinations_with_replacement(pairs, 2):
        p, q = np.multiply.outer(first[0], second[0]), np.multiply.outer(first[1], second[1])
        for alpha, bound in zip(steep, bounds, strict=True):
            assert np.maximum(p - alpha * q, 0.0).sum() <= bound + ROUNDING
            assert np.maximum(q - alpha * p, 0.0).sum() <= bound + ROUNDING


@pytest.mark.parametrize("rate", [0.02, 0.3, 0.9])
@pytest.mark.parametrize("scale", [0.5, 2.0])
def test_poisson_pairs_dominate_every_record(rate, scale):
    """T22 (with the record against without it) and T25 (g against g' in [-1, 1]), Gaussian noise; all attained."""
    event = Poisson(Gaussian(scale), rate=rate)
    remove, add, replace = (event.law(direction).delta for direction in Direction)
    laws = {g: cells(normal_cdf, scale, [0, g], [1 - rate, rate]) for g in VALUES}
    without = cells(normal_cdf, scale, [0])
    for g in VALUES:
        assert np.all(sticks(laws[g], without) <= profile_sticks(remove, add) + ROUNDING)
        assert np.all(sticks(without, laws[g]) <= profile_sticks(add, remove) + ROUNDING)
        for h in VALUES:
            assert np.all(sticks(laws[g], laws[h]) <= profile_sticks(replace) + ROUNDING)
    assert sticks(laws[1.0], without) == pytest.approx(profile_sticks(remove, add), rel=1e-3, abs=1e-6)
    assert sticks(laws[1.0], laws[-1.0]) == pytest.approx(profile_sticks(replace), rel=1e-3, abs=1e-6)


@pytest.mark.parametrize("rate", [0.1, 0.7])
def test_other_records_cannot_help_an_attacker_on_a_poisson_sample(rate):
    """T22, T25: a second record y, sampled or not, only mixes the pair (joint convexity)."""
    scale = 0.8
    event = Poisson(Gaussian(scale), rate=rate)
    remove, add, replace = (event.law(direction).delta for direction in Direction)

    def output(*records):
        drawn = itertools.product([False, True], repeat=len(records))
        parts = [
            (sum(itertools.compress(records, kept)), rate ** sum(kept) * (1 - rate) ** (len(records) - sum(kept)))
            for kept in drawn
        ]
        return cells(normal_cdf, scale, *zip(*parts, strict=True))

    for y in VALUES:
        for g in VALUES:
            assert np.all(sticks(output(g, y), output(y)) <= profile_sticks(remove, add) + ROUNDING)
            assert np.all(sticks(output(g, y), output(-g, y)) <= profile_sticks(replace) + ROUNDING)


@pytest.mark.parametrize("angle", [0.0, 0.7, 1.6, 2.4, 3.0, math.pi])
def test_opposite_vectors_are_the_worst_replacement_in_the_plane(angle):
    """T25 in two dimensions: g' on the unit circle, at an angle to g."""
    rate, scale = 0.3, 1.0
    replace = Poisson(Gaussian(scale), rate=rate).law(Direction.REPLACE).delta

    def output(x, y):
        one = lambda m: cells(normal_cdf, scale, [m], count=301)  # noqa: E731
        return (1 - rate) * np.multiply.outer(one(0), one(0)) + rate * np.multiply.outer(one(x), one(y))

    found = sticks(output(1, 0), output(math.cos(angle), math.sin(angle)))
    assert np.all(found <= profile_sticks(replace) + ROUNDING)


@pytest.mark.parametrize("rate", [0.05, 0.7])
def test_poisson_with_laplace_noise_dominates_every_record(rate):
    """T22's pair with Laplace noise, g in [-1, 1], both orders."""
    scale = 0.8
    event = Poisson(Laplace(scale), rate=rate)
    remove, add = (event.law(direction).delta for direction in (Direction.REMOVE, Direction.ADD))
    without = cells(laplace_cdf, scale, [0])
    for g in VALUES:
        with_ = cells(laplace_cdf, scale, [0, g], [1 - rate, rate])
        assert np.all(sticks(with_, without) <= profile_sticks(remove, add) + ROUNDING)
        assert np.all(sticks(without, with_) <= profile_sticks(add, remove) + ROUNDING)


@pytest.mark.parametrize("share", [0.0, 0.2, 0.5, 0.8])
def test_one_coordinate_is_the_worst_shift_of_laplace_noise(share):
    """T5: a shift of L1 norm 1 spread over two coordinates is dominated by the same shift in one."""
    scale = 0.6
    one = lambda m: cells(laplace_cdf, scale, [m], count=401)  # noqa: E731
    p, q = np.multiply.outer(one(share), one(1 - share)), np.multiply.outer(one(0), one(0))
    assert np.all(sticks(p, q) <= profile_sticks(LaplaceLoss(1 / scale).delta) + ROUNDING)


def test_the_splice_at_rate_one_is_the_event_itself_and_needs_its_atom_below():
    """T24: without the atom at L = 0 the mirror image (alpha < 1) would not be a pair's profile."""
    law = WithoutReplacement(Gaussian(2.0), rate=0.25).law(Direction.REPLACE)
    ((loss, mass),) = law.atoms()
    assert loss == 0.0
    assert mass == pytest.approx(0.75 * (2 * ndtr(0.5) - 1), rel=1e-13)
    assert WithoutReplacement(Gaussian(2.0), rate=1.0).law(Direction.REPLACE) == Gaussian(2.0).law(Direction.REPLACE)
