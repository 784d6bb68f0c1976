# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Thresholds from a rehearsal: bounds in several dimensions do not hang on the seed."""

import numpy as np
import pytest

from dperm import PureDP
from dperm.audit.black_box import audit, of_mechanism, of_plan
from dperm.audit.black_box.threshold_selection import AuditSize, simulated_thresholds
from dperm.mechanisms import GammaNormMechanism
from dperm.noise import NotPrivateBits
from dperm.noise.simulation import generator
from dperm.sklearn import PrivateLogisticRegression

CLAIM = PureDP(1.0, "replace_one")


@pytest.mark.parametrize(("dim", "least"), [(3, 0.4), pytest.param(8, 0.2, marks=pytest.mark.slow)])
def test_bounds_of_objective_perturbation_are_never_zero_and_much_alike(dim, least):
    X = generator(0).uniform(-1, 1, (300, dim))
    model = PrivateLogisticRegression(epsilon=1, bounds=(-1, 1), classes=(0, 1)).fit(X, (X[:, 0] > 0).astype(int))
    subject = of_plan(model.plan_, bits=NotPrivateBits(5))
    found = [audit(subject, runs=20_000, seed=seed).bounds["likelihood ratio"].epsilon for seed in range(4)]
    assert min(found) > least
    assert max(found) < 1.0
    assert max(found) < 1.6 * min(found)


def test_pure_noise_in_ten_dimensions_is_guessed():
    mechanism = GammaNormMechanism.calibrate(1.0, CLAIM, dim=10)
    bound = audit(of_mechanism(mechanism, bits=NotPrivateBits(6)), runs=20_000, seed=0).bounds["likelihood ratio"]
    assert 0.2 < bound.epsilon < 1.0


def test_more_runs_move_thresholds_outwards_and_enough_guesses_are_expected():
    scores, included = generator(0).normal(size=40_000), np.arange(40_000) % 2 == 0
    scores = np.tanh(scores + 0.5 * included - 0.25)
    few, many = (simulated_thresholds(scores, included, AuditSize(runs, 0.0, 0.05)) for runs in (2000, 10**6))
    assert few[0] < many[0]
    assert few[1][1] - few[1][0] < many[1][1] - many[1][0]
    for runs, (_, (low, high)) in ((2000, few), (10**6, many)):
        assert np.mean((scores <= low) | (scores >= high)) * runs >= 199
