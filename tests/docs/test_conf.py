# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""What the configuration of the documentation does to pages: long names break after dots, full stops stay."""

import re
import runpy

import pytest
from doc_pages import DOCS

BREAK = '</span><wbr><span class="pre">'


@pytest.fixture(scope="module")
def page():
    """The body of a page as it is written."""
    change = runpy.run_path(str(DOCS / "conf.py"))["break_names"]

    def changed(body):
        context = {"body": body}
        change(None, "page", "page.html", context, None)
        return context["body"]

    return changed


@pytest.mark.parametrize(
    ("name", "pieces"),
    [
        ("dperm.theory.median_atom", ["dperm.", "theory.", "median_atom"]),
        ('Model(method="output",', ["Model(", 'method="output",']),
        ("delta=0.0)", ["delta=0.0)"]),
        ("...", ["..."]),
        ("clip=", ["clip="]),
    ],
)
def test_names_in_code_break_after_dots_and_brackets(page, name, pieces):
    assert page(f'<span class="pre">{name}</span>') == f'<span class="pre">{BREAK.join(pieces)}</span>'


def test_a_full_stop_stays_with_its_formula(page):
    formula = '<span class="math notranslate nohighlight">\\(x &lt; 1\\)</span>'
    assert page(f"{formula}.") == f'<span class="whole">{formula}.</span>'
    assert page(f"{formula}-DP and") == f'<span class="whole">{formula}-DP</span> and'
    assert page(f"{formula} and") == f"{formula} and"


def test_a_page_without_a_body_is_left_alone():
    context = {}
    runpy.run_path(str(DOCS / "conf.py"))["break_names"](None, "search", "search.html", context, None)
    assert context == {}


def test_the_style_sheet_knows_the_names():
    style = (DOCS / "_static" / "tables.css").read_text(encoding="utf-8")
    assert re.search(r"^\.whole \{ white-space: nowrap; \}$", style, re.MULTILINE)
