# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""The pages of the documentation as tests see them: fenced blocks, headings, links and images."""

import functools
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from markdown_it import MarkdownIt
from markdown_it.token import Token

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]
TARGET = re.compile(r"^\(([\w-]+)\)=$", re.MULTILINE)
ROW = re.compile(r"^\| ([A-Z]\d+) \|", re.MULTILINE)
DIRECTIVE = re.compile(r"\{[\w-]+\}")


@dataclass(frozen=True)
class Block:
    """A fenced block: ``console exit 2`` has the kind console and the options exit, 2."""

    kind: str
    options: tuple[str, ...]
    text: str
    line: int


def tokens(page: Path) -> list[Token]:
    return parsed(page.read_text(encoding="utf-8"))


@functools.cache
def parsed(text: str) -> list[Token]:
    return MarkdownIt("commonmark", {"html": False}).enable("table").parse(text)


def blocks(page: Path) -> list[Block]:
    """All fenced blocks, also those without a language, whose kind is empty, and those inside lists."""
    fences = [token for token in tokens(page) if token.type in ("fence", "code_block")]
    return [block_of(token) for token in fences]


def block_of(token: Token) -> Block:
    assert token.map is not None
    kind, *options = token.info.split() or [""]
    return Block(kind, tuple(options), token.content, token.map[0] + 1)


def inline(page: Path) -> Iterator[Token]:
    """Links, images and code inside of paragraphs, headings and tables."""
    for token in tokens(page):
        yield from token.children or ()


def links(page: Path) -> list[str]:
    return [str(token.attrs["href"]) for token in inline(page) if token.type == "link_open"]


def images(page: Path) -> list[str]:
    return [str(token.attrs["src"]) for token in inline(page) if token.type == "image"]


def code(page: Path) -> list[str]:
    """What stands between backquotes."""
    return [token.content for token in inline(page) if token.type == "code_inline"]


def slugs(page: Path) -> set[str]:
    """The anchors of the headings, as GitHub and MyST make them; conf.py has them down to the third level."""
    found: set[str] = set()
    parsed = tokens(page)
    for place, token in enumerate(parsed):
        if token.type == "heading_open" and token.tag in ("h1", "h2", "h3"):
            found.add(unused(slug(parsed[place + 1]), found))
    return found


def slug(heading: Token) -> str:
    words = "".join(child.content for child in heading.children or () if child.type in ("text", "code_inline"))
    return re.sub(r"[^\w\- ]", "", words.strip().lower()).replace(" ", "-")


def unused(name: str, taken: set[str]) -> str:
    """The second heading of a name gets -1, as GitHub and MyST do."""
    return next(one for one in (name, *(f"{name}-{count}" for count in range(1, 100))) if one not in taken)


def targets() -> set[str]:
    """The names that pages give to places, ``(t57)=``, and those of rows; a link from anywhere finds them."""
    named = {name for page in PAGES for name in TARGET.findall(page.read_text(encoding="utf-8"))}
    return named.union(*map(rows, PAGES))


def rows(page: Path) -> set[str]:
    """The names of the rows of the errata and the lectures, as conf.py gives them: e3 for E3."""
    if page != DOCS / "errata.md" and page.parent != DOCS / "lectures":
        return set()
    return {row.lower() for row in ROW.findall(page.read_text(encoding="utf-8"))}
