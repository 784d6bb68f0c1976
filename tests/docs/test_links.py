# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Links of the README and the pages lead somewhere, pictures are there, and every page is in a table of contents."""

import re
from functools import cache
from pathlib import Path

import pytest
from doc_pages import DOCS, PAGES, ROOT, blocks, images, links, rows, slugs, targets

READ = [*PAGES, ROOT / "CONTRIBUTING.md", ROOT / "SECURITY.md"]
ABROAD = re.compile(r"(https?|mailto):")
places = cache(slugs)
named = cache(targets)


def broken(page: Path, link: str) -> bool:
    """Whether a link from ``page`` leads nowhere; whatever leaves the repository is not followed."""
    if ABROAD.match(link):
        return False
    path, _, anchor = link.partition("#")
    file = (page.parent / path).resolve() if path else page
    if not file.is_relative_to(ROOT) or not file.exists():
        return True
    if not anchor:
        return False
    return anchor not in places(file) and not (page.is_relative_to(DOCS) and not path and anchor in named())


def contents(page: Path) -> set[Path]:
    """The pages in the tables of contents of this page; a pattern stands for all pages that fit."""
    lines = [line for block in blocks(page) if block.kind == "{toctree}" for line in block.text.splitlines()]
    entries = [line.strip() for line in lines if line.strip() and not line.startswith(":")]
    return {found for entry in entries for found in page.parent.glob(f"{entry}.md")}


def reached() -> set[Path]:
    found, fresh = set(), {DOCS / "index.md"}
    while fresh:
        found |= fresh
        fresh = {page for one in fresh for page in contents(one)} - found
    return found


@pytest.mark.parametrize("page", READ, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_of_the_page_leads_somewhere(page):
    assert [link for link in links(page) if broken(page, link)] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_picture_of_the_page_is_there(page):
    assert [image for image in images(page) if not (page.parent / image).is_file()] == []


def test_every_page_is_in_a_table_of_contents():
    assert {page for page in PAGES if page.is_relative_to(DOCS)} == reached()


@pytest.mark.parametrize(
    ("link", "leads_nowhere"),
    [
        ("learning.md", False),
        ("learning.md#methods", False),
        ("#t57", False),
        ("#e3", False),
        ("#u20", False),
        ("../README.md", False),
        ("https://example.org/none", False),
        ("no-such-page.md", True),
        ("learning.md#no-such-heading", True),
        ("learning.md#t57", True),
        ("#t999", True),
        ("#e99", True),
        ("errata.md#e3", True),
        ("../../outside.md", True),
    ],
)
def test_a_link_that_leads_nowhere_is_found(link, leads_nowhere):
    assert broken(DOCS / "index.md", link) == leads_nowhere


def test_names_of_places_are_given_once():
    text = "\n".join(page.read_text(encoding="utf-8") for page in PAGES)
    given = re.findall(r"^\(([\w-]+)\)=$", text, re.MULTILINE) + [row for page in PAGES for row in rows(page)]
    assert len(given) == len(set(given))


@pytest.mark.parametrize("page", [page for page in PAGES if page.is_relative_to(DOCS)], ids=lambda page: page.stem)
def test_a_link_that_names_a_row_leads_to_it(page):
    found = re.findall(r"\[([EBRMWU]\d+)\]\(([^)]*)\)", page.read_text(encoding="utf-8"))
    assert [link for link in found if link[1] != f"#{link[0].lower()}"] == []
