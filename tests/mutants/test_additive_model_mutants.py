# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Unsafe mutants of additive models, their shapes, files and statements, each with the test that must kill it."""

import pytest
from package_mutants import Mutant, assert_killed_by_its_test, assert_passes_unchanged

MODEL, SHAPES, PLOTS = (
    "tests/sklearn/test_additive.py",
    "tests/sklearn/test_shapes.py",
    "tests/report/test_shape_plots.py",
)
DEFAULTS = "tests/methods/test_additive_defaults.py"
ADDITIVE, SHAPE = "sklearn/additive.py", "sklearn/shapes.py"
FILES = f"{SHAPES}::test_files_whose_parts_contradict_each_other_are_refused"

MUTANTS = [
    Mutant(
        "the statement hides edits",
        ADDITIVE,
        "        if not self._edits:\n            return found\n        several",
        "        if self._edits:\n            return found\n        several",
        f"{SHAPES}::test_the_statement_lists_every_edit_and_the_record_keeps_the_release",
    ),
    Mutant(
        "an edit changes the released model itself",
        ADDITIVE,
        "        found = copy.copy(self)\n",
        "        found = self\n",
        f"{SHAPES}::test_with_monotone_returns_a_copy",
    ),
    Mutant(
        "monotone terms are checked after the charge",
        ADDITIVE,
        "encoder = self._declared_encoder(column_names(table))\n        self._directions(encoder)",
        "encoder = self._declared_encoder(column_names(table))",
        f"{MODEL}::test_invalid_declarations_cost_nothing",
    ),
    Mutant(
        "earlier private preparations are forgotten",
        ADDITIVE,
        "earlier = () if facts is None else facts.every",
        "earlier = ()",
        f"{MODEL}::test_a_private_preparation_before_the_model_is_in_the_statement",
    ),
    Mutant(
        "messages repeat a private number of rows",
        ADDITIVE,
        "inputs.checked_shape(array, public=public)",
        "inputs.checked_shape(array, public=True)",
        f"{MODEL}::test_messages_do_not_reveal_a_private_number_of_rows",
    ),
    Mutant(
        "a file may have other terms than its fit",
        ADDITIVE,
        'named["encoder_digest"] != text_digest(encoder.to_json())',
        "False",
        FILES,
    ),
    Mutant(
        "a file may have edits of unknown kinds",
        SHAPE,
        'or data["kind"] not in (EDITED, *DIRECTIONS.values())',
        "",
        FILES,
    ),
    Mutant(
        "declared terms are not named as assumptions",
        "sklearn/fit_result.py",
        "TERMS_ASSUMED if _declares_terms(data)",
        '"" if _declares_terms(data)',
        f"{MODEL}::test_the_statement_lists_every_declaration",
    ),
    Mutant(
        "plots of a seeded fit show the guarantee",
        ADDITIVE,
        "        if self.guarantee_ is None:\n            return",
        "        if self.record_ is None:\n            return",
        f"{PLOTS}::test_a_seeded_fit_says_that_it_is_not_private",
    ),
    Mutant(
        "shapes are not centered",
        SHAPE,
        "points=self.points - mean",
        "points=self.points",
        f"{MODEL}::test_shapes_sum_to_the_score",
    ),
    Mutant(
        "the determinant takes all of epsilon",
        "methods/defaults.py",
        "SHARES_OF_NUMBERS = (1.0, 1 / 3)",
        "SHARES_OF_NUMBERS = (1.0, 0.9)",
        f"{DEFAULTS}::test_the_determinant_takes_a_third_of_a_small_epsilon",
    ),
]


@pytest.mark.slow
def test_the_tests_pass_without_mutants():
    assert_passes_unchanged(MUTANTS)


@pytest.mark.parametrize("mutant", [pytest.param(mutant, id=mutant.name) for mutant in MUTANTS])
def test_an_unsafe_mutant_is_killed(mutant, record_property):
    assert_killed_by_its_test(mutant, record_property)
