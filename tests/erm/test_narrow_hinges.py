# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Hinges that are smoothed on a narrow strip, with little regularisation: found by a hostile reader to run for days."""

from itertools import pairwise

import numpy as np
import pytest

from dperm.data.bounded import enforce
from dperm.data.space import FeatureSpace
from dperm.data.targets import Classes
from dperm.erm import minimize as solver
from dperm.erm.losses import Hinge, HuberHinge, Logistic, SmoothedHinge
from dperm.erm.rounding import attainable_tolerance
from dperm.erm.spec import ProblemSpec


def heavy_tails(seed, rows):
    rng = np.random.default_rng(seed)
    X = rng.standard_cauchy((rows, 10)) * 10.0 ** rng.uniform(-3, 8, (rows, 1))
    return X, (np.clip(X, -1e10, 1e10) @ rng.normal(size=10) > 0).astype(int)


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("loss", [HuberHinge(5e-4), SmoothedHinge(5e-4)], ids=lambda loss: loss.name)
def test_wider_strips_lead_there_without_the_slow_method(loss, seed, monkeypatch):
    def never(*_):
        raise AssertionError("the slow method was needed")

    monkeypatch.setattr(solver.nesterov, "descend", never)
    space = FeatureSpace(10, norm=6.0)
    spec = ProblemSpec(loss, space.radius, space.size, n=8000, regularization=1e-5)
    data = enforce(*heavy_tails(seed, 8000), space, Classes((0, 1)))
    assert solver.minimize(data, spec, max(1e-6 * spec.lipschitz, attainable_tolerance(spec, 8000))).shape == (11,)


def test_softer_losses_come_from_wide_to_narrow():
    widths = [loss.width for loss in HuberHinge(1e-3).softer]
    assert widths[0] == 0.25
    assert all(2 * after == before for before, after in pairwise(widths))
    assert 1e-3 < widths[-1] < 2e-3
    assert HuberHinge(0.5).softer == Logistic().softer == Hinge().softer == ()
