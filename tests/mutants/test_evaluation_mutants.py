# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Unsafe mutants of the private evaluation, each with the test that must kill it (T85-T89)."""

import pytest
from package_mutants import Mutant, assert_killed_by_its_test, assert_passes_unchanged

SENSITIVITY = "tests/evaluation/test_evaluation_sensitivity.py"
METRICS = "tests/evaluation/test_metrics.py"
COUNTS = f"{SENSITIVITY}::test_a_record_moves_the_counts_by_their_sensitivity_at_most"
SUMS = f"{SENSITIVITY}::test_a_record_moves_the_sums_of_a_regression_by_their_sensitivity_at_most"
ATTACK = f"{SENSITIVITY}::test_the_best_attack_attains_the_claimed_mu"
COVERAGE = f"{METRICS}::test_intervals_cover_sampling_and_noise"

MUTANTS = [
    Mutant(
        "a replaced record changes one cell (T85)",
        "sensitivity/evaluation.py",
        "return raised(math.sqrt(count if adjacency is Adjacency.ADD_REMOVE else 2 * count))",
        "return raised(math.sqrt(count))",
        COUNTS,
    ),
    Mutant(
        "groups are counted as if they did not overlap with the scores (T85)",
        "evaluation/plan.py",
        "return 1 + curves + (self.groups is not None)",
        "return 1 + curves",
        COUNTS,
    ),
    Mutant(
        "the histogram of scores is free beside the confusion matrix (T85)",
        "evaluation/plan.py",
        "return 1 + curves + (self.groups is not None)",
        "return 1 + (self.groups is not None)",
        COUNTS,
    ),
    Mutant(
        "the sums under replace-one have the sensitivity of add/remove (T88)",
        "sensitivity/evaluation.py",
        "return raised(math.sqrt(10 if groups else 6))",
        "return raised(math.sqrt(10 if groups else 5))",
        SUMS,
    ),
    Mutant(
        "a replaced record stays in its group (T88)",
        "sensitivity/evaluation.py",
        "return raised(math.sqrt(10 if groups else 6))",
        "return raised(math.sqrt(8 if groups else 6))",
        SUMS,
    ),
    Mutant(
        "errors are not clipped (T88)",
        "evaluation/records.py",
        "np.clip(np.abs(np.nan_to_num(error, posinf=1.0, neginf=1.0)), 0.0, 1.0)",
        "np.abs(np.nan_to_num(error, posinf=1.0, neginf=1.0))",
        SUMS,
    ),
    Mutant(
        "counts are released without noise (T85)",
        "evaluation/plan.py",
        "noisy = self.mechanism.noisy(exact, stream)",
        "noisy = exact + 0.0",
        ATTACK,
    ),
    Mutant(
        "the noise is left out of the interval of a proportion (T86)",
        "evaluation/intervals.py",
        "    s = noise.deviation**2\n",
        "    s = 0.0\n",
        COVERAGE,
    ),
    Mutant(
        "the noise is left out of the interval of the AUC (T87)",
        "evaluation/intervals.py",
        "Quadratic(*map(np.add, of_noise, sampled))",
        "Quadratic(*map(np.asarray, sampled))",
        COVERAGE,
    ),
]
SLOW = {
    "the histogram of scores is free beside the confusion matrix (T85)",
    "a replaced record stays in its group (T88)",
    "errors are not clipped (T88)",
    "the noise is left out of the interval of the AUC (T87)",
}
"""Mutants like a quicker one of the list."""
PARAMETERS = [
    pytest.param(mutant, id=mutant.name, marks=[pytest.mark.slow] if mutant.name in SLOW else []) for mutant in MUTANTS
]


@pytest.mark.slow
def test_the_tests_pass_without_mutants():
    assert_passes_unchanged(MUTANTS)


def test_every_slow_mutant_is_in_the_list():
    assert {mutant.name for mutant in MUTANTS} > SLOW


@pytest.mark.parametrize("mutant", PARAMETERS)
def test_an_unsafe_mutant_is_killed(mutant, record_property):
    assert_killed_by_its_test(mutant, record_property)
