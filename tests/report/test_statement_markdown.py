# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Markdown: all 31 fields, gaps marked, and nothing that a user writes becomes markup."""

import re

import pytest
from statements import fitted, kinds

from dperm.report.markdown import escaped
from dperm.report.tiers import ITEMS, gap_text

KINDS = pytest.mark.parametrize("kind", kinds())


@KINDS
def test_all_fields_are_there_and_gaps_are_marked(kind):
    found = kinds()[kind]
    text = found.to_markdown()
    assert re.findall(r"^### (\d+\. .+)$", text, re.MULTILINE) == [f"{item.number}. {item.title}" for item in ITEMS]
    assert text.count("**GAP.**") == len(found.gaps)
    assert all(escaped(gap_text(name)) in text for name in found.gaps)
    assert text.endswith("\n") and "not stated" not in text


@pytest.mark.parametrize("kind", ["seeded", "without noise"])
def test_what_is_not_private_says_so_first(kind):
    assert kinds()[kind].to_markdown().splitlines()[2].startswith("**NOT PRIVATE")


@pytest.mark.parametrize(
    "hostile",
    [
        "<script>alert(1)</script>",
        "# heading",
        "- item",
        "1. item",
        "*bold* _it_ `code` [a](b) ![c](d)",
        "a|b~~c~~&lt;",
    ],
)
def test_nothing_from_outside_becomes_markup(hostile):
    markdown_it = pytest.importorskip("markdown_it", reason="markdown-it-py is not installed")
    parser = markdown_it.MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
    plain = fitted().statement_.filled({"curator": "words"}).to_markdown()
    text = fitted().statement_.filled({"curator": hostile}).to_markdown()

    def kinds_of(source):
        tokens = parser.parse(source)
        return [token.type for outer in tokens for token in (outer, *(outer.children or ()))]

    def visible(source):
        return ["".join(part.content for part in token.children) for token in parser.parse(source) if token.children]

    assert [kind for kind in kinds_of(text) if kind != "text_special"] == [
        k for k in kinds_of(plain) if k != "text_special"
    ]
    assert hostile in visible(text)


def test_line_breaks_do_not_break_out_of_a_field():
    text = fitted().statement_.filled({"curator": "one\n\n## two"}).to_markdown()
    assert "one \\#\\# two" in text
