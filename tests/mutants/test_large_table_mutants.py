# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Unsafe mutants of rows on a grid, of exact sums and of passes, each run against the test that must kill it.

A mutant is the package with one line changed: a slice dropped, lengths ignored, a row group counted twice, the manifest
not compared, a result of an earlier pass accepted, the row limit ignored (T200 to T206).
"""

import pytest
from package_mutants import Mutant, assert_killed_by_its_test, assert_passes_unchanged

PAGE = "tests/theory/test_large_tables.py"
BALL = f"{PAGE}::test_no_row_leaves_the_ball_and_lengths_are_upper_bounds"
ALONE = f"{PAGE}::test_a_row_is_a_function_of_its_record_alone"
BLOCK = f"{PAGE}::test_sums_of_a_block_are_exact_next_to_their_limit"
BLOCKS = f"{PAGE}::test_blocks_of_a_kernel_are_short_enough"
BOUND = f"{PAGE}::test_gradients_are_within_the_bound_of_the_exact_ones"
OWN = f"{PAGE}::test_a_record_adds_its_own_integers_and_nothing_else"
CERTIFIED = f"{PAGE}::test_a_gradient_of_some_rows_is_never_certified"
LATE = f"{PAGE}::test_repeated_and_late_results_release_the_serial_value"
FIRST = f"{PAGE}::test_one_result_of_each_group_counts_and_it_is_the_first_of_its_pass"
MANIFEST = f"{PAGE}::test_nothing_is_released_from_other_rows_than_those_of_the_manifest"

MUTANTS = [
    Mutant(
        "rows of the sphere are rounded to the nearest number of the grid (T200)",
        "data/grid_rows.py",
        "np.trunc(small * self._factors(",
        "np.rint(small * self._factors(",
        BALL,
    ),
    Mutant(
        "sparse rows of the sphere are rounded to the nearest number of the grid (T200)",
        "data/grid_rows.py",
        "np.trunc(small * factors[places]",
        "np.rint(small * factors[places]",
        ALONE,
    ),
    Mutant(
        "rows are measured by their largest entry (T200)",
        "data/grid_rows.py",
        "is_long = ~(squares <= most)",
        "is_long = ~(squares <= self.space.dim * most)",
        BALL,
    ),
    Mutant(
        "the constant is not in the lengths by which gradients are clipped (T44, T200)",
        "data/grid_rows.py",
        "np.sqrt(squares + float(self.constant) ** 2)",
        "np.sqrt(squares)",
        BALL,
    ),
    Mutant(
        "lengths are rounded to the nearest single (T44, T200)",
        "data/grid_rows.py",
        "np.nextafter(whole.astype(np.float32), np.float32(np.inf))",
        "whole.astype(np.float32)",
        BALL,
    ),
    Mutant(
        "lengths play no part in clipping (T44)",
        "erm/kernels.py",
        "self.clip / self.grid.step / rows.lengths.astype(np.float64)",
        "self.clip / self.grid.step / np.ones(rows.count)",
        OWN,
    ),
    Mutant(
        "the last slice of the slopes is dropped (T202)",
        "erm/exact_sums.py",
        "    whole = parts[-1]\n",
        "    whole = np.zeros_like(parts[-1])\n",
        BOUND,
    ),
    Mutant(
        "the first slice of the slopes is dropped (T202)",
        "erm/exact_sums.py",
        "whole = whole * 2.0**-SLOPE_DIGITS + parts[place]",
        "whole = whole * 2.0**-SLOPE_DIGITS + (parts[place] if place else 0)",
        BOUND,
    ),
    Mutant(
        "the last slice of the coefficients is dropped (T202)",
        "erm/exact_sums.py",
        "total = parts[-1] + parts[-2] if len(parts) > 1",
        "total = 0 * parts[-1] + parts[-2] if len(parts) > 1",
        BOUND,
    ),
    Mutant(
        "slices of the slopes are too long to be summed exactly (T201)",
        "erm/exact_sums.py",
        "SLOPE_DIGITS = 17",
        "SLOPE_DIGITS = 20",
        BLOCK,
    ),
    Mutant(
        "slices of the coefficients are too long for exact scores (T201)",
        "erm/exact_sums.py",
        "digits = 52 - DIGITS - math.ceil(",
        "digits = 55 - DIGITS - math.ceil(",
        f"{PAGE}::test_products_with_slices_of_coefficients_are_exact",
    ),
    Mutant(
        "blocks have too many rows to be summed exactly (T201)",
        "data/grid_rows.py",
        "SUMMED_ROWS = 2**11",
        "SUMMED_ROWS = 2**14",
        BLOCKS,
    ),
    Mutant(
        "slopes exceed the limit for which sums are exact (T201)",
        "erm/rounding.py",
        "return spec.weight * met * (1 + 2.0**-40)",
        "return spec.weight * met / 2**4",
        BLOCKS,
    ),
    Mutant(
        "the low digits of a sum are lost (T201)",
        "erm/exact_sums.py",
        "np.bitwise_and(whole, 2**LOW - 1, out=found[1])",
        "np.multiply(whole, 0, out=found[1])",
        BLOCK,
    ),
    Mutant(
        "a double depends on the cuts of the table (T203)",
        "erm/exact_sums.py",
        "high, low = sums[0] + (sums[1] >> LOW), sums[1] & (2**LOW - 1)",
        "high, low = sums[0], sums[1]",
        f"{PAGE}::test_a_double_is_a_function_of_the_integer",
    ),
    Mutant(
        "dropped records count in the sum of squares (T201)",
        "erm/kernels.py",
        "return squares_in_halves(_with_constant(cells, outside_constant(block)), weights)",
        "return squares_in_halves(_with_constant(cells, outside_constant(block)), np.ones(len(weights)))",
        "tests/attacks/test_sufficient_privacy.py::test_a_row_that_is_dropped_adds_nothing",
    ),
    Mutant(
        "a record of each chunk counts twice (T204)",
        "data/bounded.py",
        "kernel(self.grid_rows.part(start, start + CHUNK), Place",
        "kernel(self.grid_rows.part(start, start + CHUNK + 1), Place",
        f"{PAGE}::test_chunks_of_rows_in_memory_count_once",
    ),
    Mutant(
        "the gradient of a row group counts twice (T206)",
        "data/passes.py",
        "return total(found for name in self.ids if",
        "return total(found for name in self.ids + self.ids[:1] if",
        LATE,
    ),
    Mutant(
        "repeated results count twice (T206)",
        "data/passes.py",
        "and answer.id in missing:\n            del missing[answer.id]\n",
        "and answer.id in ids:\n            missing.pop(answer.id, None)\n",
        FIRST,
    ),
    Mutant(
        "results of earlier passes are accepted (T206)",
        "data/passes.py",
        "if answer.number == number and answer.id in missing:",
        "if answer.id in missing:",
        LATE,
    ),
    Mutant(
        "a row group without a result is left out (T206)",
        "data/passes.py",
        "    for name in missing:\n        raise DataError(",
        "    for name in ():\n        raise DataError(",
        FIRST,
    ),
    Mutant(
        "rows are not compared with the manifest (T206)",
        "data/passes.py",
        "if (answers[name].rows, answers[name].checksum) != expected:",
        "if False:",
        MANIFEST,
    ),
    Mutant(
        "the number of rows alone is compared with the manifest (T206)",
        "data/passes.py",
        "if (answers[name].rows, answers[name].checksum) != expected:",
        "if answers[name].rows != expected[0]:",
        MANIFEST,
    ),
    Mutant(
        "labels may change between two passes (T206)",
        "data/passes.py",
        "for array in (*arrays, rows.lengths, rows.codes):",
        "for array in (*arrays, rows.lengths):",
        f"{PAGE}::test_checksums_tell_rows_codes_and_their_order_apart",
    ),
    Mutant(
        "the gradient of a sample is certified (T31, T205)",
        "erm/minimize.py",
        "point = Iterate(self.objective, modelled.theta)",
        "point = modelled",
        CERTIFIED,
    ),
    Mutant(
        "rounding of the gradient is not in its certificate (T31, T202)",
        "erm/minimize.py",
        "return _norm(point.gradient) + self.error(point.theta) <= tolerance",
        "return _norm(point.gradient) <= tolerance",
        CERTIFIED,
    ),
    Mutant(
        "more rows than the bounds on rounding are for (T202)",
        "methods/plan.py",
        "if data.rows > self.most_rows:",
        "if False:",
        "tests/methods/test_sufficient.py::test_more_rows_than_rounding_is_bounded_for_are_refused",
    ),
]


def test_the_tests_pass_without_mutants():
    assert_passes_unchanged(MUTANTS)


@pytest.mark.parametrize("mutant", MUTANTS, ids=[mutant.name for mutant in MUTANTS])
def test_an_unsafe_mutant_is_killed(mutant, record_property):
    assert_killed_by_its_test(mutant, record_property)
