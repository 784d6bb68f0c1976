# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""The error terms of the contour engine, one by one, on lines so coarse that each of them is needed.

One sampled step beside one Gaussian: delta is the mean of the sampled step's closed profile (T22) over the Gaussian's
loss (T6, T15), one smooth integral with a kink at a known place.
"""

import math

import numpy as np
import pytest

from dperm.accounting.composition import Composition
from dperm.accounting.contour import plans
from dperm.accounting.contour.closing import Tolerance
from dperm.accounting.laws.gaussian import GaussianLoss
from dperm.accounting.laws.subsampled_gaussian import SubsampledGaussianLoss
from dperm.privacy.adjacency import Direction

MU = 0.3
LAW = SubsampledGaussianLoss(0.5, 0.7, Direction.REMOVE)


def one_step(epsilon: float) -> float:
    """T22 at every real epsilon: below log(1 - q) every loss is larger."""
    return LAW.delta(epsilon) if epsilon > math.log1p(-LAW.rate) else -math.expm1(epsilon)


def truth(epsilon: float) -> float:
    """Gauss-Legendre on panels that end at the kink and shrink towards it."""
    kink = (epsilon - math.log1p(-LAW.rate) - MU**2 / 2) / MU
    near = [kink + sign * 2.0**-power for power in range(12) for sign in (1, -1)]
    edges = np.unique([z for z in [*np.linspace(-10, 10, 81), kink, *near] if abs(z) <= 10])
    x, w = np.polynomial.legendre.leggauss(24)
    half = np.diff(edges)[:, None] / 2
    z = (edges[:-1, None] + half * (1 + x)).ravel()
    weight = (half * w).ravel() * np.exp(-z * z / 2) / math.sqrt(2 * math.pi)
    return float(weight @ [one_step(epsilon - MU**2 / 2 - MU * point) for point in z])


def coarse_line(delta: float, tolerance: Tolerance) -> plans.Certified:
    composition = Composition.of([(LAW, 1), (GaussianLoss(MU), 1)])
    return plans.plain_line(composition, None, math.log(delta), 0.12, tolerance)


@pytest.mark.parametrize("delta", [1e-2, 1e-4])
@pytest.mark.parametrize(
    ("tolerance", "off"),
    [
        pytest.param(Tolerance(), 0.0, id="fine"),
        pytest.param(Tolerance(alias=0.05), 1e-4, id="aliases"),
        pytest.param(Tolerance(truncation=0.05), 1e-8, id="truncation"),
        pytest.param(Tolerance(cut=0.05), 1e-4, id="cut"),
        pytest.param(Tolerance(quadrature=1e-3), 0.0, id="quadrature"),
    ],
)
def test_a_coarse_line_is_off_and_knows_it(delta: float, tolerance: Tolerance, off: float) -> None:
    """T28's demand on every accountant: what a method leaves out is bounded and added (T2, T15, T22)."""
    line = coarse_line(delta, tolerance)
    epsilon = line.contour.start
    exact = truth(epsilon)
    low, high = line.bracket(epsilon)
    assert low <= exact <= high
    assert high - low <= 0.1 * exact
    assert abs(line.contour.delta_and_slope(epsilon)[0] - exact) >= off * exact  # the sum alone would be wrong


@pytest.mark.parametrize("quadrature", [1e-15, 1e-3])
def test_the_quadrature_error_is_carried_to_the_end(quadrature: float) -> None:
    line = coarse_line(1e-3, Tolerance(quadrature=quadrature))
    low, high = line.bracket(line.contour.start)
    assert (high - low) / high >= quadrature / 10
