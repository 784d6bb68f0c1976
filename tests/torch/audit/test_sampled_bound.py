# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""The one-run bound for Poisson-sampled Gaussians: beside the Gaussian one, and its level on simulated trainings."""

import numpy as np
import pytest

from dperm.accounting import Gaussian, Poisson, account
from dperm.audit.one_run_tradeoff import gaussian_one_run
from dperm.audit.ranking import ranked_guesses
from dperm.torch import DPSGD
from dperm.torch.audit.canary_scores import Products, evidence
from dperm.torch.audit.sampled_bound import TradeoffBound, curve_refuted, sampled_one_run

CANARIES, GUESSES = 400, 40


def plan_of(epsilon: float, rate: float, steps: int):
    return DPSGD(rate=rate, steps=steps, grade="fast").plan(1000, epsilon, 1e-5)


def right_guesses(plan, share: float, generator: np.random.Generator) -> int:
    """Of an ideal training with orthogonal canaries, whose noise is ``share`` of the plan's."""
    included = generator.random(CANARIES) < 0.5
    scores = np.zeros(CANARIES)
    for _ in range(plan.steps):
        drawn = included & (generator.random(CANARIES) < plan.rate)
        noisy = drawn + share * plan.noise.scale * generator.standard_normal(CANARIES)
        scores += evidence(
            Products(noisy, np.ones(CANARIES), np.zeros(CANARIES)), rate=plan.rate, scale=plan.noise.scale
        )
    return ranked_guesses(scores, included, guesses_in=GUESSES, guesses_out=GUESSES)


@pytest.mark.parametrize("right", [70, 90])
def test_with_full_samples_it_is_the_gaussian_bound(right):
    sizes = (right, 100, 1000)
    found = sampled_one_run(plan_of(2.0, 1.0, 3), sizes, confidence=0.95)
    gaussian = gaussian_one_run(*sizes, delta=1e-5, confidence=0.95)
    assert 0.96 * gaussian.epsilon <= found.epsilon <= gaussian.epsilon
    assert "with some noise" in found.assumes


def test_a_curve_lies_below_that_of_the_profile():
    profile = account(Poisson(Gaussian(1.0), rate=0.2) * 20, adjacency="add_remove")
    curve = TradeoffBound.of(profile)
    for rate in (0.01, 0.5):
        assert profile.tradeoff(rate) - 0.01 <= curve(rate) <= profile.tradeoff(rate) + 1e-6


def test_nothing_is_shown_by_half_of_the_guesses():
    assert sampled_one_run(plan_of(2.0, 0.5, 3), (40, 80, 400), confidence=0.95).epsilon == 0


def test_more_right_guesses_show_more():
    plan = plan_of(2.0, 0.5, 3)
    found = [sampled_one_run(plan, (right, 80, 400), confidence=0.95).epsilon for right in (60, 68)]
    assert 0 < found[0] < found[1]


@pytest.mark.parametrize(("rate", "steps"), [(0.1, 30), (0.5, 5)])
def test_a_right_training_is_refuted_no_oftener_than_promised_and_a_wrong_one_often(rate, steps):
    plan = plan_of(2.0, rate, steps)
    curve = TradeoffBound.of(account(plan.event, adjacency="add_remove"))
    generator = np.random.default_rng(11)

    def share(noise: float) -> float:
        runs = [
            curve_refuted(curve, (right_guesses(plan, noise, generator), 2 * GUESSES, CANARIES), 0.05)
            for _ in range(60)
        ]
        return float(np.mean(runs))

    assert share(1.0) <= 0.05
    assert share(0.3) >= 0.9
