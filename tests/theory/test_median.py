# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""T42, E8: objective perturbation of the median releases a record itself; strong convexity does not cure it."""

import math

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.special import ndtri

from dperm.errors import ParameterError
from dperm.theory import median_atom


def perturbed_median(points, b, strength):
    """The minimiser of sum |w - x| + (Lambda/2) w^2 + b w, by golden sections: no subgradients here."""

    def objective(w):
        return np.abs(w - np.array(points)).sum() + strength / 2 * w * w + b * w

    found = minimize_scalar(objective, bounds=(-300, 300), method="bounded", options={"xatol": 1e-10, "maxiter": 1000})
    return found.x


@pytest.mark.parametrize(
    ("sigma", "atom", "unbounded"),
    [
        (0.5, 0.4999683287581669, 6.334248366623973e-05),
        (1.0, 0.4772498680518208, 0.04550026389635839),
        (2.0, 0.3413447460685429, 0.31731050786291415),
    ],
)
def test_the_golden_numbers(sigma, atom, unbounded):  # median_0.5, median_1.0, median_2.0
    found = median_atom([0.0, 100.0], 100.0, sigma=sigma)
    assert (found.probability, found.unbounded) == pytest.approx((atom, unbounded), rel=1e-12)


def test_strong_convexity_does_not_cure_it():  # median_strongly_convex, E8
    found = median_atom([0.0, 1.0], 1.0, sigma=1.0, regularization=0.1)
    assert found.probability == pytest.approx(0.44230774216015445, rel=1e-12)
    assert found.unbounded == 0.0
    assert median_atom([0.0, 1.01], 1.0, sigma=1.0, regularization=0.1).probability == 0.0


@pytest.mark.parametrize(
    ("points", "place", "strength"),
    [([0.0, 1.0], 1.0, 0.1), ([0.0, 1.0, 1.0, 4.0], 1.0, 0.5), ([-2.0, 3.0, 5.0], -2.0, 1.0), ([7.0], 7.0, 0.2)],
)
def test_the_atom_is_the_share_of_noise_whose_minimiser_is_the_record(points, place, strength):
    """Minimisers for 400 equally likely values of the noise, by a solver that knows of no kinks."""
    sigma, steps = 1.5, 400
    noise = sigma * ndtri((np.arange(steps) + 0.5) / steps)
    hits = [abs(perturbed_median(points, b, strength) - place) < 1e-5 for b in noise]
    assert np.mean(hits) == pytest.approx(
        median_atom(points, place, sigma=sigma, regularization=strength).probability, abs=2 / steps
    )


def test_all_atoms_and_the_noise_without_a_minimum_make_one():
    """Without regularisation the minimiser is always a record, or there is none."""
    points = [0.0, 1.0, 1.0, 5.0, 9.0]
    for sigma in (0.3, 2.0, 40.0):
        atoms = [median_atom(points, place, sigma=sigma) for place in set(points)]
        assert sum(atom.probability for atom in atoms) + atoms[0].unbounded == pytest.approx(1.0, rel=1e-12)


def test_far_out_no_digits_are_lost():
    found = median_atom([0.0, 50.0], 50.0, sigma=1.0, regularization=1.0)
    assert found.probability == pytest.approx(math.erfc(50 / math.sqrt(2)) / 2, rel=1e-9)


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("points", {"points": []}),
        ("points", {"points": [math.nan]}),
        ("place", {"place": math.inf}),
        ("sigma", {"sigma": 0.0}),
        ("regularization", {"regularization": -1.0}),
    ],
)
def test_a_wrong_argument_is_refused_by_its_name(name, arguments):
    with pytest.raises(ParameterError, match=f"^{name} "):
        median_atom(**{"points": [0.0, 1.0], "place": 1.0, "sigma": 1.0, **arguments})
