# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Unsafe texts: the package with one line changed, each with a test that must fail."""

import pytest
from package_mutants import Mutant, assert_killed_by_its_test, assert_passes_unchanged

NUMBERS = "tests/presentation/test_numbers.py"
TABLES = "tests/presentation/test_tables.py"
DATA = "tests/presentation/test_nested_data.py"
FACTS = "tests/presentation/test_facts.py"
NOTEBOOK = "tests/presentation/test_notebook.py"

MUTANTS = [
    Mutant(
        "upper bounds are rounded down",
        "presentation/numbers.py",
        '"up": ROUND_CEILING',
        '"up": ROUND_FLOOR',
        f"{NUMBERS}::test_a_text_is_on_the_stated_side_of_its_number_and_within_one_digit",
    ),
    Mutant(
        "lower bounds are rounded to the nearest",
        "presentation/numbers.py",
        '"down": ROUND_FLOOR',
        '"down": ROUND_HALF_EVEN',
        f"{NUMBERS}::test_a_text_is_on_the_stated_side_of_its_number_and_within_one_digit",
    ),
    Mutant(
        "remaining amounts are rounded up",
        "presentation/numbers.py",
        "return format_down(decimal(limit) - decimal(spent), digits)",
        "return format_up(decimal(limit) - decimal(spent), digits)",
        f"{NUMBERS}::test_the_remaining_amount_is_never_too_large",
    ),
    Mutant(
        "the remaining amount has the error of a float subtraction",
        "presentation/numbers.py",
        "return format_down(decimal(limit) - decimal(spent), digits)",
        "return format_down(limit - spent, digits)",
        f"{NUMBERS}::test_the_remaining_amount_is_never_too_large",
    ),
    Mutant(
        "a percentage is below its rate",
        "presentation/numbers.py",
        'return f"{format_up(percentage, digits)} %"',
        'return f"{format_down(percentage, digits)} %"',
        f"{NUMBERS}::test_a_percentage_is_never_below_its_rate_and_100_only_where_six_digits_need_it",
    ),
    Mutant(
        "a bracket is rounded inwards",
        "presentation/numbers.py",
        'return f"[{format_down(lower, digits)}, {format_up(upper, digits)}]"',
        'return f"[{format_up(lower, digits)}, {format_down(upper, digits)}]"',
        f"{NUMBERS}::test_a_bracket_contains_its_ends",
    ),
    Mutant(
        "parameters of a guarantee are rounded to the nearest",
        "presentation/numbers.py",
        '{name} = {format_up(value)}" for',
        '{name} = {format_number(value)}" for',
        f"{NUMBERS}::test_parameters_have_epsilon_first_and_are_rounded_up",
    ),
    Mutant(
        "cells of an HTML table are not escaped",
        "presentation/tables.py",
        '"<td>{escape(cell)}</td>"',
        '"<td>{cell}</td>"',
        f"{TABLES}::test_html_cells_are_the_texts",
    ),
    Mutant(
        "a cell of a Markdown table begins another column",
        "presentation/tables.py",
        "<>#|~!&",
        "<>#~!&",
        f"{TABLES}::test_markdown_cells_are_escaped",
    ),
    Mutant(
        "names in a definition list are not escaped",
        "presentation/nested_data.py",
        "<dt>{escape(name)}</dt>",
        "<dt>{name}</dt>",
        f"{DATA}::test_every_text_is_escaped",
    ),
    Mutant(
        "any text with a colon is a link",
        "presentation/nested_data.py",
        '_LINKS = ("https://", "http://")',
        '_LINKS = ("https://", "http://", "javascript:")',
        f"{DATA}::test_links_need_a_scheme_of_the_web",
    ),
    Mutant(
        "an upper bound in a sentence is rounded to the nearest",
        "presentation/facts.py",
        '"u": "up"',
        '"u": "nearest"',
        f"{FACTS}::test_numbers_are_rounded_as_the_template_says",
    ),
    Mutant(
        "values in a notebook are not escaped",
        "presentation/notebook.py",
        "return escape(one_line(value))",
        "return one_line(value)",
        f"{NOTEBOOK}::test_every_text_is_escaped_and_the_html_is_well_formed",
    ),
    Mutant(
        "a notebook loads a style sheet",
        "presentation/notebook.py",
        'head = f"<div><strong>',
        "head = f\"<link href='https://example.org/a.css'/><div><strong>",
        f"{NOTEBOOK}::test_no_script_style_sheet_or_resource_and_only_neutral_colors_outside_badges",
    ),
    Mutant(
        "text in a notebook is black on every theme",
        "presentation/notebook.py",
        "font-size:inherit;color:inherit",
        "font-size:inherit;color:black",
        f"{NOTEBOOK}::test_no_script_style_sheet_or_resource_and_only_neutral_colors_outside_badges",
    ),
]


def test_the_tests_pass_without_mutants():
    assert_passes_unchanged(MUTANTS)


@pytest.mark.parametrize("mutant", MUTANTS, ids=[mutant.name for mutant in MUTANTS])
def test_an_unsafe_text_is_found_out(mutant, record_property):
    assert_killed_by_its_test(mutant, record_property)
