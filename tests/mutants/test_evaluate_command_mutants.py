# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Unsafe mutants of ``dperm fit --holdout`` and ``dperm evaluate``, each with the test that must kill it."""

import pytest
from package_mutants import Mutant, assert_killed_by_its_test, assert_passes_unchanged

FIT, EVALUATE = "tests/cli/test_fit_holdout.py", "tests/cli/test_evaluate.py"
REQUEST = "cli/evaluation_request.py"

MUTANTS = [
    Mutant(
        "edited metrics of a model with declared columns are accepted",
        "report/run_facts.py",
        "return PREPARATION in public or STAGES in public",
        "return PREPARATION in public",
        f"{FIT}::test_a_complete_schema_needs_no_preparation_and_the_metrics_bind_the_file",
    ),
    Mutant(
        "a repeated request evaluates another model",
        REQUEST,
        '"model": hashlib.sha256(self.path.read_bytes()).hexdigest(),',
        '"model": None,',
        f"{EVALUATE}::test_an_evaluation_is_charged_once_and_found_again[m.json]",
    ),
    Mutant(
        "a repeated request has another hold-out",
        "cli/prepared_fit.py",
        '            later["holdout"] = self.holdout\n',
        "            pass\n",
        f"{FIT}::test_model_schema_and_metrics_are_one_charge_that_every_verb_accepts",
    ),
    Mutant(
        "values of evaluated records raise errors",
        REQUEST,
        'read_table(data, columns, progress, watch, unseen="other", separator=self.separator)',
        'read_table(data, columns, progress, watch, unseen="raise", separator=self.separator)',
        f"{EVALUATE}::test_no_cell_is_refused_or_repeated",
    ),
    Mutant(
        "the guarantee of a released schema is forgotten",
        "cli/declared_fit.py",
        "    if released is not None:\n",
        "    if False:\n",
        f"{FIT}::test_requests_without_a_guarantee_for_all_stages_are_refused_before_the_data_are_read",
    ),
]
QUICK = {"a repeated request evaluates another model"}
PARAMETERS = [
    pytest.param(mutant, id=mutant.name, marks=[] if mutant.name in QUICK else [pytest.mark.slow]) for mutant in MUTANTS
]


@pytest.mark.parametrize("mutant", PARAMETERS)
def test_an_unsafe_mutant_is_killed(mutant, record_property):
    assert_killed_by_its_test(mutant, record_property)


@pytest.mark.slow
def test_the_tests_pass_without_mutants():
    assert_passes_unchanged(MUTANTS)
