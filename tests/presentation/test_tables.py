# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Tables show every cell as text: nothing in a cell becomes markup."""

import re
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dperm.presentation.tables import TextTable, escape_markdown

HOSTILE = [
    "<script>alert(1)</script>",
    "a|b",
    "*bold*",
    "[x](javascript:y)",
    "`code`",
    "\\",
    "& &amp;",
    "# title",
    "![i](u)",
]
CELLS = st.sampled_from(HOSTILE) | st.text(st.characters(codec="utf-8", exclude_categories=["Cs", "Cc"]), max_size=20)


class Cells(HTMLParser):
    """Text of all cells of an HTML table."""

    def __init__(self, text):
        super().__init__()
        self.cells, self.tags = [], set()
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        if tag in ("th", "td", "caption"):
            self.cells.append("")

    def handle_data(self, data):
        self.cells[-1] += data


@given(st.lists(CELLS, min_size=2, max_size=2), st.lists(st.lists(CELLS, min_size=2, max_size=2), max_size=3), CELLS)
def test_html_cells_are_the_texts(header, rows, caption):
    found = Cells(TextTable(header, rows, caption).html())
    assert found.cells == [*([caption] if caption else []), *header, *(cell for row in rows for cell in row)]
    assert found.tags <= {"div", "table", "caption", "thead", "tbody", "tr", "th", "td"}


def test_html_headers_have_a_scope():
    text = TextTable(("a", "b"), [("1", "2")]).html()
    assert text.count('scope="col"') == 2 and text.count('<th scope="row">1</th><td>2</td>') == 1


@pytest.mark.parametrize("text", HOSTILE)
def test_markdown_cells_are_escaped(text):
    line = TextTable(("name",), [(text,)]).markdown().splitlines()[2]
    assert line == f"| {escape_markdown(text)} |"
    assert not re.search(r"(?<!\\)[`*_\[\]<>#|~!&]", line[2:-2].replace("\\\\", ""))


@given(CELLS)
def test_escaping_markdown_changes_nothing_but_backslashes_and_spaces(text):
    escaped = escape_markdown(text)
    assert re.sub(r"\\(.)", r"\1", escaped) == " ".join(text.split())
    assert not re.match(r"(\d+[.)]|[-+])(\s|$)", escaped)


def test_a_table_has_one_line_per_row_even_with_line_breaks_in_cells():
    assert TextTable(("a", "b"), [("1\n2", "3\t4")]).markdown().splitlines() == [
        "| a | b |",
        "| --- | --- |",
        "| 1 2 | 3 4 |",
    ]


def test_terminal_columns_are_aligned_and_complete():
    lines = TextTable(("name", "n"), [("a", "10"), ("longer name", "2")]).terminal().splitlines()
    assert lines == ["name         n", "-----------  --", "a            10", "longer name  2"]
    with pytest.raises(ValueError, match="zip"):
        TextTable(("a",), [("1", "2")]).terminal()
