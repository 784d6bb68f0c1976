# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Unsafe mutants of the codes of additive models (T96), each with the test that must kill it."""

import pytest
from package_mutants import Mutant, assert_killed_by_its_test, assert_passes_unchanged

CODES, ENCODER, COLUMNS = (f"tests/data/test_{name}.py" for name in ("term_codes", "additive_encoder", "columns"))
TABLES = f"{CODES}::test_every_row_of_a_table_has_norm_at_most_1_in_exact_arithmetic"
PAIRS = f"{CODES}::test_rows_of_pairs_have_norm_at_most_1_in_exact_arithmetic"
COARSE = f"{CODES}::test_the_coarse_code_of_a_number_has_the_kernel_of_its_harmonics"
PLACES = f"{CODES}::test_every_record_lies_between_two_points"
ROWS = f"{ENCODER}::test_rows_attain_norm_1_and_never_exceed_it_for_any_weights"
SEPARATE = f"{ENCODER}::test_records_are_encoded_separately"
REFUSALS = f"{CODES}::test_text_and_values_of_another_type_are_refused_without_being_shown"
TERM_CODES, ADDITIVE_ENCODER = "data/term_codes.py", "data/additive_encoder.py"

MUTANTS = [
    Mutant("smooth rows have no margin (T96)", TERM_CODES, "SHRINK = 1 - 2.0**-44", "SHRINK = 1.0", TABLES),
    Mutant("scales of terms have no margin (T96)", ADDITIVE_ENCODER, "MARGIN = 1 - 2.0**-40", "MARGIN = 1.0", ROWS),
    Mutant(
        "an amplitude that is too large (T96)",
        TERM_CODES,
        "np.sqrt(squares / squares.sum()) * SHRINK",
        "np.sqrt(squares) / squares.sum() + 0.001",
        TABLES,
    ),
    Mutant("cells beside the whole smooth code (T96)", TERM_CODES, "math.sqrt(1 - detail)", "1.0", TABLES),
    Mutant("cells have no share (T96)", TERM_CODES, "(math.sqrt(detail) * SHRINK)", "SHRINK", TABLES),
    Mutant(
        "special values keep the smooth code of another number (T96)",
        TERM_CODES,
        "table[len(grid) :, grid.shape[1] :] = np.eye(extra)",
        "table[len(grid) :] = np.hstack([np.tile(grid[:1], (extra, 1)), np.eye(extra)])",
        TABLES,
    ),
    Mutant(
        "all other values have every indicator (T96)",
        TERM_CODES,
        "return _read_only(np.eye(self.width))",
        "return _read_only(np.tril(np.ones((self.width, self.width))))",
        TABLES,
    ),
    Mutant(
        "two categories at distance 4 (T96)", TERM_CODES, "[[-1.0], [1.0], [0.0]]", "[[-2.0], [2.0], [0.0]]", TABLES
    ),
    Mutant("independent cells are added to the kernel (T96)", TERM_CODES, "(1 - JITTER) * (smooth", "(smooth", COARSE),
    Mutant(
        "a pair has the sum of two codes (T96)",
        TERM_CODES,
        "np.kron(self.first.table, self.second.table)",
        "np.kron(self.first.table, self.second.table) * 2",
        PAIRS,
    ),
    Mutant(
        "numbers are extrapolated from the first nodes (T96)",
        TERM_CODES,
        "np.where(on_grid, place - node, 0.0)",
        "np.where(on_grid, place, 0.0)",
        PLACES,
    ),
    Mutant(
        "weights are not divided by their sum (T96)", ADDITIVE_ENCODER, "weights / math.fsum(weights)", "weights", ROWS
    ),
    Mutant(
        "the largest weight stands for their sum (T96)",
        ADDITIVE_ENCODER,
        "weights / math.fsum(weights)",
        "weights / weights.max()",
        ROWS,
    ),
    Mutant(
        "the scale of a number follows the data",
        "data/columns.py",
        "        low, high = self._ends\n        return np.clip(",
        "        low, high = float(clipped.min()), float(clipped.max()) + 1\n        return np.clip(",
        SEPARATE,
    ),
    Mutant(
        "numbers are measured from that of the first record",
        TERM_CODES,
        "gaps = np.isnan(numbers)",
        "gaps, numbers = np.isnan(numbers), np.nan_to_num(numbers - numbers[:1])",
        SEPARATE,
    ),
    Mutant(
        "an undeclared category is an error that shows the data",
        TERM_CODES,
        "Categorical(column.categories, column.impute, True,",
        "Categorical(column.categories, column.impute, False,",
        f"{CODES}::test_categories_and_all_other_values_have_indicators",
    ),
    Mutant(
        "with other, text in a column of numbers is an error",
        TERM_CODES,
        "numbers = read_numbers(name, values, unseen)",
        'numbers = read_numbers(name, values, "raise")',
        REFUSALS,
    ),
    Mutant(
        "linear features ignore declarations of additive models",
        "data/encoder.py",
        "        _refuse_additive(self.columns)\n",
        "",
        f"{COLUMNS}::test_linear_features_refuse_declarations_that_they_would_ignore",
    ),
    Mutant(
        "the ends of a period are different places",
        TERM_CODES,
        "step = 1 if column.period is None else 2",
        "step = 1",
        f"{CODES}::test_with_a_period_both_ends_are_one_place_and_neighbours_across_it_are_near",
    ),
    Mutant(
        "a large table is built before it is refused",
        TERM_CODES,
        "if points * width > MOST_ENTRIES:",
        "if points > MOST_ENTRIES:",
        f"{CODES}::test_tables_are_read_only_and_their_size_is_limited",
    ),
]
SLOW = {
    "cells have no share (T96)",
    "the largest weight stands for their sum (T96)",
    "with other, text in a column of numbers is an error",
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
