# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Unsafe mutants of the refusal of scores on private data, each with the test that must kill it."""

import pytest
from package_mutants import Mutant, assert_killed_by_its_test, assert_passes_unchanged

TESTS = "tests/sklearn/test_unprotected_scores.py"
REFUSED = f"{TESTS}::test_an_evaluation_is_refused_before_the_charge_and_named"
SOURCES, MODEL = "data/score_sources.py", "sklearn/base.py"

MUTANTS = [
    Mutant(
        "evaluations are not looked for",
        MODEL,
        'scored = "" if goal is None else checked_score_source(self.allow_unprotected_scores)',
        'scored = ""',
        f"{REFUSED}[alone-cross_val_score]",
    ),
    Mutant(
        "evaluations are not refused",
        SOURCES,
        "if source and not is_allowed:",
        "if False:",
        f"{REFUSED}[alone-GridSearchCV]",
    ),
    Mutant(
        "every prediction of folds feeds another fit",
        SOURCES,
        "return call is not calls[0] and call.module in CROSS_FITTING",
        "return call is not calls[0]",
        f"{REFUSED}[alone-cross_val_predict]",
    ),
    Mutant(
        "callbacks are ignored",
        SOURCES,
        "if kind not in _WITHOUT_SCORES",
        "if False",
        f"{TESTS}::test_callbacks_are_found_except_the_progress_bar",
    ),
    Mutant(
        "a transformer is charged before its model refuses",
        "sklearn/preparation.py",
        "        check_pipeline_scores()\n",
        "",
        f"{TESTS}::test_a_private_transformer_before_a_model_that_refuses_is_not_charged",
    ),
    Mutant(
        "the limits of a statement do not name the scores",
        "report/run_facts.py",
        "        *uncovered_scores(record),\n        *schema_sentences(record),\n",
        "        *schema_sentences(record),\n",
        f"{TESTS}::test_the_statement_of_an_allowed_evaluation_is_not_rated_and_keeps_the_guarantee",
    ),
]
SLOW = {"callbacks are ignored", "evaluations are not looked for", "the limits of a statement do not name the scores"}
"""Mutants like a quicker one of the list."""
PARAMETERS = [
    pytest.param(mutant, id=mutant.name, marks=[pytest.mark.slow] if mutant.name in SLOW else []) for mutant in MUTANTS
]


@pytest.mark.slow
def test_the_tests_pass_without_mutants():
    assert_passes_unchanged(MUTANTS)


@pytest.mark.parametrize("mutant", PARAMETERS)
def test_an_unsafe_mutant_is_killed(mutant, record_property):
    assert_killed_by_its_test(mutant, record_property)
