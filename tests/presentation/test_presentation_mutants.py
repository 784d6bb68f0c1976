# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Unsafe texts: copies of the package with one line changed, each with a test that must fail."""

import pytest
from package_mutants import Mutant, copy_of_the_package, pytest_on

NUMBERS = "tests/presentation/test_numbers.py"
TABLES = "tests/presentation/test_tables.py"
DATA = "tests/presentation/test_nested_data.py"
FACTS = "tests/presentation/test_facts.py"
NOTEBOOK = "tests/presentation/test_notebook.py"

MUTANTS = [
    Mutant(
        "upper bounds are rounded down",
        "numbers.py",
        '"up": ROUND_CEILING',
        '"up": ROUND_FLOOR',
        f"{NUMBERS}::test_a_text_is_on_the_stated_side_of_its_number_and_within_one_digit",
    ),
    Mutant(
        "lower bounds are rounded to the nearest",
        "numbers.py",
        '"down": ROUND_FLOOR',
        '"down": ROUND_HALF_EVEN',
        f"{NUMBERS}::test_a_text_is_on_the_stated_side_of_its_number_and_within_one_digit",
    ),
    Mutant(
        "remaining amounts are rounded up",
        "numbers.py",
        "return format_down(decimal(limit) - decimal(spent), digits)",
        "return format_up(decimal(limit) - decimal(spent), digits)",
        f"{NUMBERS}::test_the_remaining_amount_is_never_too_large",
    ),
    Mutant(
        "the remaining amount has the error of a float subtraction",
        "numbers.py",
        "return format_down(decimal(limit) - decimal(spent), digits)",
        "return format_down(limit - spent, digits)",
        f"{NUMBERS}::test_the_remaining_amount_is_never_too_large",
    ),
    Mutant(
        "a percentage is below its rate",
        "numbers.py",
        "texts = [format_up(100 * decimal(rate), digits)",
        "texts = [format_down(100 * decimal(rate), digits)",
        f"{NUMBERS}::test_a_percentage_is_never_below_its_rate_and_100_only_where_six_digits_need_it",
    ),
    Mutant(
        "a bracket is rounded inwards",
        "numbers.py",
        'return f"[{format_down(lower, digits)}, {format_up(upper, digits)}]"',
        'return f"[{format_up(lower, digits)}, {format_down(upper, digits)}]"',
        f"{NUMBERS}::test_a_bracket_contains_its_ends",
    ),
    Mutant(
        "parameters of a guarantee are rounded to the nearest",
        "numbers.py",
        '{name} = {format_up(value)}" for',
        '{name} = {format_number(value)}" for',
        f"{NUMBERS}::test_parameters_have_epsilon_first_and_are_rounded_up",
    ),
    Mutant(
        "cells of an HTML table are not escaped",
        "tables.py",
        '"<td>{escape(cell)}</td>"',
        '"<td>{cell}</td>"',
        f"{TABLES}::test_html_cells_are_the_texts",
    ),
    Mutant(
        "a cell of a Markdown table begins another column",
        "tables.py",
        "<>#|~!&",
        "<>#~!&",
        f"{TABLES}::test_markdown_cells_are_escaped",
    ),
    Mutant(
        "names in a definition list are not escaped",
        "nested_data.py",
        "<dt>{escape(name)}</dt>",
        "<dt>{name}</dt>",
        f"{DATA}::test_every_text_is_escaped",
    ),
    Mutant(
        "any text with a colon is a link",
        "nested_data.py",
        '_LINKS = ("https://", "http://")',
        '_LINKS = ("https://", "http://", "javascript:")',
        f"{DATA}::test_links_need_a_scheme_of_the_web",
    ),
    Mutant(
        "an upper bound in a sentence is rounded to the nearest",
        "facts.py",
        '"u": "up"',
        '"u": "nearest"',
        f"{FACTS}::test_numbers_are_rounded_as_the_template_says",
    ),
    Mutant(
        "values in a notebook are not escaped",
        "notebook.py",
        "return escape(one_line(value))",
        "return one_line(value)",
        f"{NOTEBOOK}::test_every_text_is_escaped_and_the_html_is_well_formed",
    ),
    Mutant(
        "a notebook loads a style sheet",
        "notebook.py",
        'head = f"<div><strong>',
        "head = f\"<link href='https://example.org/a.css'/><div><strong>",
        f"{NOTEBOOK}::test_no_script_style_sheet_or_resource_and_only_neutral_colors_outside_badges",
    ),
    Mutant(
        "text in a notebook is black on every theme",
        "notebook.py",
        "font-size:inherit;color:inherit",
        "font-size:inherit;color:black",
        f"{NOTEBOOK}::test_no_script_style_sheet_or_resource_and_only_neutral_colors_outside_badges",
    ),
]


def test_the_unchanged_copy_passes(tmp_path):
    result = pytest_on(copy_of_the_package(tmp_path), *sorted({mutant.killer for mutant in MUTANTS}))
    assert result.returncode == 0, result.stdout


@pytest.mark.parametrize("mutant", MUTANTS, ids=[mutant.name for mutant in MUTANTS])
def test_an_unsafe_text_is_found_out(mutant, tmp_path):
    file = copy_of_the_package(tmp_path) / "dperm" / "presentation" / mutant.file
    text = file.read_text(encoding="utf-8")
    assert text.count(mutant.old) == 1, "the mutant no longer fits the source"
    file.write_text(text.replace(mutant.old, mutant.new), encoding="utf-8")
    result = pytest_on(tmp_path, mutant.killer)
    assert result.returncode == 1, f"{mutant.name} survived or broke the import:\n{result.stdout[-2000:]}"
    assert "failed" in result.stdout
