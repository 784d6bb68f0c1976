# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""The noise of each algorithm is that of its theorem (T30, T35, T36, T36a, T36b), and it goes where it should."""

import math

import numpy as np
import pytest

from dperm.reproduce.perturbed_logistic import JMLR, NOISES, OURS, OUTPUT, PRINTED, SHARP, STANDARD, Task, draws
from dperm.reproduce.perturbed_logistic import errors_of as errors
from dperm.reproduce.spheres import unseparable

TASK = Task(n=3500, dim=10, regularization=0.01, epsilon=0.1)
SMALL = Task(n=100, dim=10, regularization=0.01, epsilon=0.1)


def scales(task):
    return {name: law(task).scale for name, law in NOISES.items()}


def test_the_scales_are_those_of_the_theorems():
    found = scales(TASK)
    assert found[OUTPUT] == pytest.approx(2 / (35 * 0.1), rel=1e-5)
    assert found[PRINTED] == 20
    assert found[JMLR] == pytest.approx(2 / (0.1 - 2 * math.log1p(0.25 / 35)))
    assert found[SHARP] == pytest.approx(2 / (0.1 - math.log1p(0.25 / 35)))
    assert found[OURS] == pytest.approx(2 / 0.099)  # T36b, as 35 >= 2/0.1; a hundredth is for the solver's tolerance


def test_only_the_sensitivity_method_leaves_the_objective_alone():
    assert [name for name, law in NOISES.items() if not law(TASK).in_objective] == [OUTPUT]


def test_a_small_lambda_is_raised_by_the_corrections_and_kept_by_the_printed_algorithms():
    found = {name: law(SMALL).strength for name, law in NOISES.items()}
    assert found[OUTPUT] == found[PRINTED] == 1.0
    assert found[JMLR] == pytest.approx(0.25 / math.expm1(0.025))
    assert found[SHARP] == found[OURS] == pytest.approx(0.25 / math.expm1(0.05))
    assert scales(SMALL)[JMLR] == scales(SMALL)[SHARP] == pytest.approx(40)


def test_the_draws_have_lengths_of_a_gamma_law_and_no_direction():
    noise = draws(20_000, 10, 0)
    lengths = np.linalg.norm(noise, axis=1)
    assert lengths.mean() == pytest.approx(10, abs=0.1)  # of Gamma(10, 1)
    assert lengths.var() == pytest.approx(10, abs=0.5)
    assert np.abs(noise.mean(axis=0)).max() < 0.12  # five standard errors of sqrt(11)
    assert np.array_equal(noise[:5], draws(20_000, 10, 0)[:5])


@pytest.fixture(scope="module")
def sample():
    return unseparable(4000, 10, 0)


def test_hardly_any_noise_leaves_every_algorithm_at_standard_lr(sample):
    noise = 1e-6 * draws(2, 10, 0)
    found = errors(TASK, sample.at(slice(3500)), sample.at(slice(3500, None)), noise=noise)
    assert found[STANDARD].shape == (1,) and found[PRINTED].shape == (2,)
    for name in NOISES:
        assert found[name] == pytest.approx(found[STANDARD][0], abs=1e-3)


def test_noise_moves_the_coefficients_as_the_algorithm_says(sample):
    """A huge linear term decides the sign of every coefficient; so does huge noise on the coefficients."""
    direction = np.eye(10)[:1]
    test = sample.at(slice(3500, None))
    found = errors(TASK, sample.at(slice(3500)), test, noise=1e4 * direction, algorithms=(OUTPUT, PRINTED))
    wrong_way = test.error(-direction[0])
    assert wrong_way > 0.9
    assert found[OUTPUT][0] == pytest.approx(wrong_way, abs=0.01)
    assert found[PRINTED][0] == pytest.approx(wrong_way, abs=0.01)
