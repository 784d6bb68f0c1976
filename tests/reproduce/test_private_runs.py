# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Simulated runs are what dperm's methods release: the same mean excess, up to chance."""

import numpy as np
import pytest
from category_rows import bounded
from scipy import stats

from dperm.methods import GradientPerturbation, ObjectivePerturbation, OutputPerturbation
from dperm.noise import NotPrivateBits
from dperm.privacy import ApproxDP, PureDP
from dperm.privacy.gaussian_profile import mu_for
from dperm.reproduce.categories import ladder
from dperm.reproduce.private_runs import RepeatedRuns, descent_steps

DATA = ladder(np.array([240.0, 100.0, 40.0, 12.0]))
GOALS = [ApproxDP(1.0, 1e-5, "replace_one"), PureDP(1.0, "replace_one")]
SAMPLES, STRENGTH = 120, 15.0


def real_excesses(plan):
    data, bits = bounded(DATA), NotPrivateBits(3)
    return np.array([DATA.excess(plan.learn(data, bits.stream())) for _ in range(SAMPLES)])


def law(goal):
    return "gaussian" if isinstance(goal, ApproxDP) else "gamma_norm"


def same_law(simulated, real):
    return stats.ks_2samp(simulated, real).pvalue > 1e-3


@pytest.mark.parametrize("goal", GOALS, ids=["gaussian", "gamma-norm"])
def test_output_and_objective_perturbation_are_those_of_dperm(goal):
    runs = RepeatedRuns(DATA, goal, 2000, 0)
    output = OutputPerturbation(law(goal)).plan(DATA.spec(STRENGTH), goal)
    objective = ObjectivePerturbation(law(goal)).plan(DATA.spec(STRENGTH), goal)
    assert same_law(DATA.excess(runs.output(STRENGTH)), real_excesses(output))
    assert same_law(DATA.excess(runs.objective(STRENGTH)), real_excesses(objective))
    assert not same_law(DATA.excess(runs.output(STRENGTH)), real_excesses(objective))


def test_descent_is_that_of_dperm():
    steps, radius = 12, DATA.problem.reference_norm
    method = GradientPerturbation(steps=steps, step_size=4.0, momentum=0.0, average=0.0, projection=radius)
    real = real_excesses(method.plan(DATA.spec(), GOALS[0]))
    assert same_law(DATA.excess(RepeatedRuns(DATA, GOALS[0], 2000, 0).descent(steps)), real)


def test_the_number_of_steps_makes_both_terms_equal():
    steps, mu = descent_steps(DATA, GOALS[0]), mu_for(1.0, 1e-5)
    left = 0.25 * DATA.problem.reference_norm**2 / (2 * steps)
    noise = 4 / (2 * 0.25) * (2 / (DATA.n * mu)) ** 2 * steps
    assert left == pytest.approx(noise, rel=0.2)


def test_runs_repeat_with_their_seed_and_differ_without():
    one, other = (RepeatedRuns(DATA, GOALS[0], 5, seed).output(STRENGTH) for seed in (0, 1))
    assert np.array_equal(one, RepeatedRuns(DATA, GOALS[0], 5, 0).output(STRENGTH))
    assert not np.array_equal(one, other)
