# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Bowls have the constants that their bounds use, and minimisers that are minimisers."""

import numpy as np
import pytest

from dperm.noise.simulation import generator
from dperm.privacy import ApproxDP
from dperm.privacy.gaussian_profile import mu_for
from dperm.reproduce.bowls import Bowl, perturbed

GOAL = ApproxDP(1.0, 1e-5, "replace_one")
BOTH = pytest.mark.parametrize("kink", [False, True], ids=["smooth", "kink"])


def points(bowl, count, spread):
    return spread * generator(0, purpose="bowls").standard_normal((count, 2, bowl.dim)) / np.sqrt(bowl.dim)


@BOTH
@pytest.mark.parametrize("spread", [0.1, 1.0, 10.0])
def test_the_loss_is_1_lipschitz_and_convex(kink, spread):
    bowl = Bowl(32, kink=kink)
    one, other = np.moveaxis(points(bowl, 2000, spread), 1, 0)
    rise = np.abs(bowl.excess(one) - bowl.excess(other))
    assert (rise <= np.linalg.norm(one - other, axis=1) * (1 + 1e-12)).all()
    assert (bowl.excess((one + other) / 2) <= (bowl.excess(one) + bowl.excess(other)) / 2 + 1e-12).all()


def test_the_smooth_one_has_a_second_difference_of_at_most_the_squared_step():
    bowl = Bowl(32)
    at, step = np.moveaxis(points(bowl, 2000, 1.0), 1, 0)
    second = bowl.excess(at + step) + bowl.excess(at - step) - 2 * bowl.excess(at)
    assert (second <= (step * step).sum(axis=1) * (1 + 1e-12)).all()


@BOTH
@pytest.mark.parametrize("strength", [1e-4, 0.01, 0.3])
def test_minimizers_are_minimizers(kink, strength):
    bowl = Bowl(32, kink=kink)
    best = bowl.minimizer(strength)

    def objective(theta):
        return bowl.excess(theta) + strength / 2 * (theta * theta).sum(axis=-1)

    assert (objective(best + points(bowl, 2000, 0.01)[:, 0]) >= objective(best)).all()
    assert np.linalg.norm(bowl.minimizer(1e-12)) == pytest.approx(1.0, rel=1e-4)


@BOTH
def test_the_bound_is_its_two_terms_at_their_best(kink):
    n, dim, mu = 10_000, 32, mu_for(1.0, 1e-5)

    def bound(strength):
        square = dim * (2 / (n * strength * mu)) ** 2
        return strength / 4 + (np.sqrt(square) if kink else square / 2)

    found = perturbed(Bowl(dim, kink=kink), n, GOAL)
    assert found.bound == pytest.approx(bound(found.strength), rel=1e-6)
    assert found.bound == pytest.approx(min(bound(s) for s in np.geomspace(1e-4, 1, 4001)), rel=1e-4)
    assert found.deviation == pytest.approx(2 / (n * found.strength * mu), rel=1e-9)
