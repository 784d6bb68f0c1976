# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""A record replaced where slopes have either sign (T41): the four corners (c), and the length of the noise (a)."""

import importlib
import math

import numpy as np
import pytest
from scipy.special import ndtr

from dperm.accounting.laws.objective import corner_bound
from dperm.accounting.objective import objective_noise_multiplier
from dperm.accounting.theorems import planar_objective_delta

LAWS = "dperm.accounting.laws.objective"


def at_an_angle(w, s, a):
    """P(U > w) of the worst of the four corners of two records, a = cos^2 of half their angle; and the sum of tails.

    The corners are two orthogonal vectors of lengths s sqrt(a) and s sqrt(1 - a) and their negatives, so their losses
    are two independent variables v^2/2 + v|Z|.
    """
    tails = []
    for v in (s * math.sqrt(a), s * math.sqrt(1 - a)):
        tails.append(2 * ndtr(v / 2 - w / v) if v > 0 else np.zeros_like(w))
    clipped = [np.minimum(tail, 1.0) for tail in tails]
    return clipped[0] + clipped[1] - clipped[0] * clipped[1], tails[0] + tails[1]


def tail_of(side, w):
    return np.array([side.raised(float(x)).above()[0] if x >= side.start else 1.0 for x in w])


def require_no_angle_above(module, mu):
    side = module.corner_bound(0.0, mu).side
    for w in (side.start * np.array([0.3, 0.999, 1.0, 1.1, 1.5, 3.0]), np.linspace(0.01, 6.0, 25) * mu):
        bound = tail_of(side, w)
        for a in np.linspace(0.0, 1.0, 201):
            worst, total = at_an_angle(w, 2 * mu, float(a))
            assert np.all(worst <= bound * (1 + 1e-12))
            assert np.all(np.minimum(total, 1.0) <= bound * (1 + 1e-12))


@pytest.mark.parametrize("mu", [1e-7, 1e-3, 0.1, 0.4, 0.9, 1.2, 1.25, 1.27, 1.28, 1.5, 10.0])
def test_no_angle_has_more_than_t41_c_and_parallel_records_have_it(mu):
    """T41 (c): the largest tail over all angles, of the sum and of the worst corner, which is attained at a = 1."""
    require_no_angle_above(importlib.import_module(LAWS), mu)
    side = corner_bound(0.0, mu).side
    w = side.start * np.array([1.0, 1.01, 1.5, 2.0])
    assert tail_of(side, w) == pytest.approx(at_an_angle(w, 2 * mu, 1.0)[0], rel=1e-12)


def test_t41_c_has_mass_one_on_both_sides_of_its_last_atom():
    """The atom dwindles as mu grows to 1.2766; before it is gone P + Q is above 1, and the edge rises."""
    for mu in (0.01, 0.7, 1.25, 1.265, 1.27, 1.2765, 1.2767, 1.3):
        bound = corner_bound(0.1, mu)
        law = bound.mirrored()
        p, q = law.side.above()
        assert p + q + law.atom * (1 + math.exp(-law.side.edge)) == pytest.approx(1, abs=1e-14)
        assert law.side.edge >= bound.side.edge
        assert float(bound.log_mgf_real(np.array([0.0]))[0]) == pytest.approx(0, abs=1e-13)
    assert corner_bound(0.1, 1.27).mirrored().atom == 0 < corner_bound(0.1, 1.27).atom


ANGLES = {
    "one sign": ("((2.0, most),)", "((1.0, most),)"),
    "half the distance": ("most = 2 * mu", "most = mu"),
    "too early a start": ("1.2 - 0.47 * most", "0.9 - 0.47 * most"),
    "T39 for everybody": ("if z <= 0:", "if True:"),
}


@pytest.mark.parametrize(("old", "new"), ANGLES.values(), ids=ANGLES)
def test_an_unsafe_corner_bound_is_caught_by_an_angle(assert_killed, old, new):
    assert_killed(lambda module: require_no_angle_above(module, 0.02), LAWS, old, new)


def test_by_the_length_of_the_noise_the_price_is_golden_and_higher():
    """T41 (a): objpert_bounds_example and kst (replace_rayleigh), beside (c), which the event uses."""
    assert planar_objective_delta(1.0, 5.0, determinant=math.log1p(0.025)) == pytest.approx(0.011078857131482286, 1e-6)
    sigma = 8.906423069435263
    assert planar_objective_delta(1.0, sigma, determinant=math.log1p(0.05)) == pytest.approx(1e-5, rel=1e-8)
    assert objective_noise_multiplier(1.0, 1e-5, 0.05, "replace_one", monotone=False) < 0.92 * sigma


@pytest.mark.parametrize(("noise", "c"), [(5.0, 0.0), (0.5, 0.3), (40.0, 0.01)])
def test_by_the_length_of_the_noise_delta_is_the_mean_over_a_rayleigh_law(noise, c):
    """T41 (a): E(1 - e^{epsilon - c - s^2/2 - sR})_+ by quadrature, on both sides of the smallest loss."""
    s = 2 / noise
    for r in (-1.0, -0.1, 0.0, 0.5, 3.0):
        epsilon = c + s * s / 2 + s * r
        if epsilon < 0:
            continue
        length = max(r, 0.0) + np.linspace(0.0, 12.0, 400_001)
        gain = -np.expm1(np.minimum(s * (r - length), 0.0))
        exact = float(np.trapezoid(gain * length * np.exp(-length * length / 2), length))
        assert planar_objective_delta(epsilon, noise, determinant=c) == pytest.approx(exact, rel=1e-8)
