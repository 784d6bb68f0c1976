# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""A claim is a statement with a tag, and a test: every tag cited in src has a heading in docs/theory and a test."""

import re
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
TAG = re.compile(r"\bT\d+[a-z]?\b")
HEADING = re.compile(r"^#{2,4} (T\d+[a-z]?)\b", re.MULTILINE)
ANCHOR = re.compile(r"^\((t\d+[a-z]?)\)=\n#{2,4} (T\d+[a-z]?)\b", re.MULTILINE)
CONVENTION = re.compile(r"\bC0\.\d\b")
ERRATUM = re.compile(r"\bE\d{1,2}\b")


def text_of(paths: Iterable[Path]) -> str:
    return "\n".join(path.read_text(encoding="utf-8") for path in paths)


def sources() -> list[Path]:
    return sorted((ROOT / "src").rglob("*.py"))


def theory() -> str:
    return text_of(sorted((ROOT / "docs" / "theory").glob("*.md")))


def suite() -> str:
    return text_of(path for path in sorted((ROOT / "tests").rglob("*.py")) if path != Path(__file__))


def citations(pattern: re.Pattern[str]) -> dict[str, list[str]]:
    """Which source files cite each tag."""
    found: dict[str, list[str]] = {}
    for path in sources():
        for tag in set(pattern.findall(path.read_text(encoding="utf-8"))):
            found.setdefault(tag, []).append(str(path.relative_to(ROOT)))
    return found


def test_the_theory_pages_state_t1_to_t28_once_each():
    counts = Counter(HEADING.findall(theory()))
    assert {tag for tag in counts if tag[-1].isdigit()} >= {f"T{number}" for number in range(1, 29)}
    assert {tag for tag, count in counts.items() if count > 1} == set()


def test_every_heading_with_a_tag_can_be_linked_to():
    anchored = {tag for anchor, tag in ANCHOR.findall(theory()) if anchor == tag.lower()}
    assert anchored == set(HEADING.findall(theory()))


def test_the_index_says_on_which_page_every_statement_is():
    found = {}
    for line in (ROOT / "docs/theory/index.md").read_text(encoding="utf-8").splitlines():
        if row := re.fullmatch(r"\| (\[T.*) \| \[.+\]\((.+)\) \|", line):
            found |= dict.fromkeys(re.findall(r"\[(T\d+[a-z]?)\]", row[1]), row[2])
    pages = sorted((ROOT / "docs" / "theory").glob("*.md"))
    assert found == {tag: page.name for page in pages for tag in HEADING.findall(page.read_text(encoding="utf-8"))}


def test_every_tag_cited_in_src_has_a_heading_in_the_theory_pages():
    headings = set(HEADING.findall(theory()))
    cited = citations(TAG)
    assert "T22" in cited, "nothing cites T22: the search is broken"
    assert {tag: files for tag, files in cited.items() if tag not in headings} == {}


def test_every_tag_cited_in_src_is_cited_by_a_test():
    tested = set(TAG.findall(suite()))
    assert {tag: files for tag, files in citations(TAG).items() if tag not in tested} == {}


@pytest.mark.parametrize(
    ("pattern", "page"), [(CONVENTION, "docs/theory/index.md"), (ERRATUM, "docs/errata.md")], ids=["C", "E"]
)
def test_every_convention_and_erratum_cited_in_src_is_documented(pattern, page):
    documented = set(pattern.findall((ROOT / page).read_text(encoding="utf-8")))
    assert documented, "the page lists none: the search is broken"
    assert {tag: files for tag, files in citations(pattern).items() if tag not in documented} == {}
