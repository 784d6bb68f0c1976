# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Nested values as text, HTML and Markdown: nothing is lost, and nothing becomes markup."""

from dperm.presentation.nested_data import (
    MOST_IN_LINE,
    html_definitions,
    html_details,
    html_text,
    html_value,
    is_short,
    markdown_lines,
    text_lines,
)
from dperm.presentation.notebook import notebook_table

HOSTILE = "<b>&\"'</b>"
VALUE = {"a": [1, 2], "b": {"c": "two words", "d": None}, "e": [{"x": 1}, "two words"], "f": {}}


def test_text_lines_indent_nested_values():
    assert list(text_lines("top", VALUE)) == [
        "top:",
        "  a: 1, 2",
        "  b:",
        "    c: two words",
        "    d: none",
        "  e:",
        "    - x: 1",
        "    - two words",
        "  f: none",
    ]
    assert list(text_lines("rows", [{"x": 1, "y": 2}])) == ["rows:", "  - x: 1", "    y: 2"]
    assert list(text_lines("pairs", [[1, 2], [3, 4]])) == ["pairs:", "  - 1, 2", "  - 3, 4"]


def test_short_lists_are_numbers_and_single_words():
    assert is_short([1, 2.5, "word"]) and is_short([])
    assert not is_short(["two words"]) and not is_short([[1]])


def test_every_text_is_escaped():
    nested = {HOSTILE: [HOSTILE, {HOSTILE: HOSTILE}], "rows": [{HOSTILE: HOSTILE}]}
    for text in (
        html_value(nested),
        html_text(HOSTILE),
        html_definitions([(HOSTILE, "")]),
        html_details(HOSTILE, ""),
        notebook_table([(HOSTILE, nested)]),
    ):
        assert "<b>" not in text and "&lt;b&gt;&amp;" in text
    assert all("<" not in line.replace("\\<", "") for line in markdown_lines(nested))


def test_links_need_a_scheme_of_the_web():
    assert html_value("https://example.org/a?b&c").startswith('<a href="https://example.org/a?b&amp;c"')
    for text in ("javascript:alert(1)", "https://a b", "ftp://x"):
        assert "<a" not in html_value(text)


def test_numbers_are_not_broken_at_the_end_of_a_line():
    assert html_text("epsilon = 1 and 1e-6, 5 %") == " ".join(
        (
            '<span class="whole">epsilon = 1</span> and <span class="whole">1e-6</span>,',
            '<span class="whole">5 %</span>',
        )
    )


def test_lists_are_lines_tables_or_folds():
    assert html_value([1, 2]) == "1, 2" and html_value([[1, 2], [3]]) == "[1, 2], [3]"
    assert html_value([{"x": 1}, {"x": 2}]).count("<tr>") == 3
    assert html_value([{"x": 1}, {"y": 2}]).startswith("<ul>")
    assert html_value(list(range(MOST_IN_LINE + 1))).startswith("<details")
    assert "<details" not in html_value(list(range(MOST_IN_LINE)))


def test_markdown_lines_have_a_dash_per_item():
    assert list(markdown_lines({"a": "x", "b": [{"c": "1", "d": "2"}, {"e": {"f": "3"}}]})) == [
        "- a: x",
        "- b:",
        "  - c: 1, d: 2",
        "  - e:",
        "      - f: 3",
    ]
    assert list(markdown_lines("plain *text*")) == [r"plain \*text\*"]
    assert list(markdown_lines([["1", "2"], ["3"]])) == [r"\[1, 2\], \[3\]"]
