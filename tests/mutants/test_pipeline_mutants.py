# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Unsafe mutants of stages on parts of the records (T71), each with the test that must kill it."""

import pytest
from package_mutants import Mutant, assert_killed_by_its_test, assert_passes_unchanged

HOLDOUT = "tests/pipeline/test_holdout.py"
READS = f"{HOLDOUT}::test_training_never_reads_evaluation_records_and_the_evaluation_no_others"
FIT = "sklearn/table_fit.py"

MUTANTS = [
    Mutant(
        "the stages of the training records are not charged (T71)",
        "pipeline/plan.py",
        "return ParallelParts((self.learning_event, self.evaluation.event))",
        "return self.evaluation.event",
        f"{HOLDOUT}::test_every_part_spends_the_whole_guarantee",
    ),
    Mutant(
        "the first records are evaluation records (E42)",
        "pipeline/holdout.py",
        "chosen = RecordCoins.of(count, holdout=holdout, stream=stream).evaluation(0, count)",
        "chosen = places[: int(holdout * count)]",
        f"{HOLDOUT}::test_every_record_has_one_part_and_sizes_are_binomial",
    ),
    Mutant(
        "the schema is found from all records (T71)",
        FIT,
        "preparation.read(features, labels, rows)",
        "preparation.read(features, labels)",
        READS,
    ),
    Mutant(
        "the model is evaluated on its training records (T71)",
        FIT,
        "_EvaluationRecords(TablePart(features, split.evaluation), column.part(split.evaluation))",
        "_EvaluationRecords(TablePart(features, split.training), column.part(split.training))",
        READS,
    ),
    Mutant(
        "texts of evaluation records are counted among the training records (T71, T73)",
        "data/canonical.py",
        "return CanonicalColumn(self.numbers[rows], (places - shift).astype(np.int32), texts)",
        "return CanonicalColumn(self.numbers[rows], codes, self.texts)",
        f"{HOLDOUT}::test_a_part_of_a_column_knows_nothing_of_the_other_cells",
    ),
    Mutant(
        "an empty evaluation part raises an error after the charge",
        FIT,
        "some = rows.shape[0] > 0",
        "some = True",
        f"{HOLDOUT}::test_parts_without_records_raise_no_error",
    ),
]


SLOW = {
    "the schema is found from all records (T71)",
    "an empty evaluation part raises an error after the charge",
}
"""Mutants like a quicker one of the list."""
PARAMETERS = [
    pytest.param(mutant, id=mutant.name, marks=[pytest.mark.slow] if mutant.name in SLOW else []) for mutant in MUTANTS
]


@pytest.mark.parametrize("mutant", PARAMETERS)
def test_an_unsafe_mutant_is_killed(mutant, record_property):
    assert_killed_by_its_test(mutant, record_property)


@pytest.mark.slow
def test_the_tests_pass_without_mutants():
    assert_passes_unchanged(MUTANTS)
