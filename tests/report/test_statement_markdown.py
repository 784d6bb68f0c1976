# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Markdown: all 31 fields, gaps marked, and nothing that a user writes becomes markup."""

import re

import pytest
from statements import booked, fitted, kinds

from dperm.presentation.numbers import format_parameters
from dperm.presentation.tables import escape_markdown
from dperm.report.fields import ITEMS, gap_text
from dperm.report.summary import exclusions, guarantee_sentences

KINDS = pytest.mark.parametrize("kind", kinds())


@KINDS
def test_all_fields_are_there_and_gaps_are_marked(kind):
    found = kinds()[kind]
    text = found.to_markdown()
    assert re.findall(r"^### (\d+\. .+)$", text, re.MULTILINE) == [f"{item.number}. {item.title}" for item in ITEMS]
    assert text.count("**GAP.**") == len(found.gaps)
    assert all(escape_markdown(gap_text(name)) in text for name in found.gaps)
    assert text.endswith("\n") and "not stated" not in text


@pytest.mark.parametrize("kind", ["seeded", "without noise"])
def test_what_is_not_private_says_so_first(kind):
    assert kinds()[kind].to_markdown().splitlines()[2].startswith("**NOT PRIVATE")


@pytest.mark.parametrize("kind", ["seeded", "without noise"])
def test_without_a_guarantee_its_fields_say_why_they_are_empty(kind):
    text = kinds()[kind].to_markdown()
    for title in ("Variant of differential privacy", "Unit of privacy", "Trust model"):
        assert re.search(rf"^### \d+\. {title}\n\nNone: there is no guarantee\.$", text, re.MULTILINE)


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


def test_the_head_says_what_the_page_says():
    found = kinds()["booked and filled"]
    head = found.to_markdown().partition("## The release")[0]
    assert head.startswith("# Privacy statement: Coefficients of a logistic regression\n")
    limits = format_parameters(found["parameters"])
    level = "moderate protection for everything charged to the account 'census'; strong for this release alone"
    assert f"**Private: {level}. Guarantee: {limits}, for one record. An attacker who sees this release" in head
    for sentence in (*guarantee_sentences(found.fields), *exclusions(found.fields)):
        assert escape_markdown(sentence) in head
    assert "If any one record is replaced by any other" in head and "- Method: noisy gradient descent" in head


@KINDS
def test_keys_are_words_and_numbers_are_short(kind):
    text = kinds()[kind].to_markdown().partition("## Definitions and theorems")[0]
    labels = re.findall(r"^ *- ([\w\\]+):", text, re.MULTILINE)
    assert labels and not [label for label in labels if "_" in label]
    digits = [re.sub(r"e.*", "", number).replace(".", "").lstrip("0") for number in re.findall(r"\b\d+\.\d+", text)]
    assert max(map(len, digits), default=0) <= 7
    assert not re.search(r":\s*$\n\s*$", text.replace("Stated by the curator:", ""), re.MULTILINE)


def test_what_was_spent_and_the_limit_are_rounded_up():
    numbers = {"spent": {"epsilon": 1.23456712345}, "capacity": {"epsilon": 2.3456711}}
    text = booked(**numbers).to_markdown()
    assert "epsilon: 1.23457" in text and "epsilon: 2.34568" in text


def test_points_of_usefulness_have_names():
    utility = {"measure": "R2", "points": [[1.0, 0.8], [0.5, 0.7]], "by_guessing": 0.1}
    text = fitted().statement_.filled({"utility": utility}).to_markdown()
    assert "- epsilon: 0.5, R2: 0.7\n" in text and "by guessing: 0.1" in text
    assert "- epsilon: 0.1, accuracy: 0.71, low: 0.69, high: 0.73" in kinds()["filled"].to_markdown()


def test_the_mathematics_are_there():
    text = kinds()["booked"].to_markdown()
    assert "P(M(D) ∈ S) ≤ e^ε P(M(D') ∈ S) + δ" in text and '"dperm_event": 1' in text
    assert "no guarantee to define" in kinds()["seeded"].to_markdown()
