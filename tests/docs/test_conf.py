# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""The configuration of the documentation: long names break after dots, full stops stay, blocks can be scrolled by
keyboard, captions of the menu have a level, and nothing comes from the network."""

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


def test_blocks_and_tables_can_be_reached_from_the_keyboard(page):
    assert page("<pre>x") == '<pre tabindex="0">x'
    assert page('<div class="table-wrapper docutils">') == '<div tabindex="0" class="table-wrapper docutils">'


def test_captions_of_the_menu_have_a_level():
    context = {"furo_navigation_tree": '<p class="caption" role="heading">Start</p>'}
    runpy.run_path(str(DOCS / "conf.py"))["name_levels"](None, "page", "page.html", context, None)
    assert context["furo_navigation_tree"] == '<p class="caption" role="heading" aria-level="2">Start</p>'


RESOURCE = re.compile(
    r"""<(?:script|img|iframe|source|video|audio|embed)\b[^>]*\bsrc=["']?(?:https?:)?//[^>]*>"""
    r"""|<link\b(?=[^>]*\brel=["']?(?:stylesheet|preload|icon|preconnect|dns-prefetch))[^>]*\bhref=["']?(?:https?:)?//[^>]*>"""
    r"""|@import\s+["']?(?:url\()?["']?(?:https?:)?//|url\(["']?(?:https?:)?//"""
)


def test_the_built_site_takes_nothing_from_the_network():
    """Only where `make docs` has built it, which runs this test afterwards."""
    built = DOCS.parent / "build" / "docs"
    if not built.is_dir():
        pytest.skip("build/docs is made by make docs")
    files = [*built.rglob("*.html"), *built.glob("_static/**/*.css")]
    assert {str(file): RESOURCE.findall(file.read_text(encoding="utf-8"))[:3] for file in files} == {
        str(file): [] for file in files
    }


@pytest.mark.parametrize(
    "text",
    [
        '<script defer src="https://cdn.example.org/a.js"></script>',
        '<link href="//fonts.example.org/a.css" rel="stylesheet">',
        "@import url(https://fonts.example.org/a.css);",
        "@font-face { src: url('https://fonts.example.org/a.woff2') }",
    ],
)
def test_a_resource_of_the_network_would_be_found(text):
    assert RESOURCE.search(text)


def test_links_to_other_sites_are_not_resources():
    assert not RESOURCE.search('<a href="https://example.org">x</a> <link rel="canonical" href="https://example.org">')
