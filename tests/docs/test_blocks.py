# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""No fenced block of the README and the pages goes unchecked: it is run, or it is of a kind that cannot be."""

import re
from pathlib import Path

import pytest
from doc_pages import DIRECTIVE, PAGES, ROOT, Block, blocks

RUN = {"python", "pycon", "console", "toml"}  # by test_examples.py
SHELL = ("pip install ", "make ")  # of `sh` blocks: they install, or run the suite itself
NOT_RUN = {
    ("docs/ledger.md", "from dperm.ledger.postgres import grant_writers"),  # needs a server with roles of its own
}
SESSION = re.compile(r"^(\$ |>>> |from \S+ import |import |dperm )", re.MULTILINE)
EVERY = [(page, block) for page in PAGES for block in blocks(page)]


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


def unchecked(page: Path, block: Block) -> str | None:
    """Why nothing checks this block; None if something does."""
    if block.kind == "console":
        commands = [line[2:] for line in block.text.splitlines() if line.startswith("$ ")]
        return None if commands and all(map(runs, commands)) else "a console block has commands, all of dperm"
    if block.kind in RUN or DIRECTIVE.fullmatch(block.kind):
        return None
    if block.kind == "sh":
        lines = [line for line in block.text.splitlines() if line.strip()]
        return None if all(line.startswith(SHELL) for line in lines) else "an sh block that pip or make does not run"
    if block.kind != "text":
        return f"a block of kind {block.kind!r}: python, pycon and console are run"
    known = (name_of(page), block.text.splitlines()[0]) in NOT_RUN
    return None if known or not SESSION.search(block.text) else "a text block that looks as if it could be run"


def runs(command: str) -> bool:
    return command.startswith("dperm ")


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_block_of_the_page_is_run_or_cannot_be(page):
    found = {block.line: why for block in blocks(page) if (why := unchecked(page, block))}
    assert found == {}


def test_what_is_excepted_is_there():
    texts = {(name_of(page), block.text.splitlines()[0]) for page, block in EVERY if block.kind == "text"}
    assert texts >= NOT_RUN


@pytest.mark.parametrize(
    "block",
    [
        Block("bash", (), "dperm account", 1),
        Block("sh", (), "dperm account", 1),
        Block("py", (), "x = 1", 1),
        Block("", (), "dperm account", 1),
        Block("console", (), "$ curl x", 1),
        Block("console", (), "no command", 1),
        Block("text", (), "$ dperm account", 1),
        Block("text", (), ">>> 1 + 1", 1),
    ],
    ids=lambda block: f"{block.kind}: {block.text}",
)
def test_a_block_that_nobody_runs_is_found(block):
    assert unchecked(ROOT / "README.md", block)


def test_the_targets_of_make_that_pages_name_exist():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"^([\w-]+):", makefile, re.MULTILINE))
    pages = "\n".join(page.read_text(encoding="utf-8") for page in (*PAGES, ROOT / "CONTRIBUTING.md"))
    named = set(re.findall(r"(?:^|`)make ([\w-]+)", pages, re.MULTILINE))
    assert "test" in named
    assert named <= targets
