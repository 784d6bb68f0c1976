# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Every example in the README and on the documentation pages runs and prints what the page says.

Per page, in order and in one namespace: ``python`` blocks are executed, ``pycon`` blocks are executed and their
output is compared, and in ``console`` blocks every ``$ dperm ...`` command is run and what it prints is compared.
A ``toml schema.toml`` block is written to that file. ``...`` in an expected output stands for anything.
"""

import doctest
import os
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from markdown_it import MarkdownIt
from markdown_it.token import Token

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
CLI = "from dperm.cli import main; main()"

Namespace = dict[str, object]


class ExampleError(Exception):
    """An example does not print what its page says."""


def examples(page: Path) -> list[Token]:
    fences = MarkdownIt().parse(page.read_text(encoding="utf-8"))
    return [token for token in fences if token.type == "fence" and token.info.strip() in RUNNERS]


def run_python(block: str, line: int, page: Path, names: Namespace) -> None:
    # The blank lines give a traceback the line numbers of the page.
    exec(compile("\n" * line + block, str(page), "exec"), names)


def run_pycon(block: str, line: int, page: Path, names: Namespace) -> None:
    test = doctest.DocTestParser().get_doctest(block, names, page.name, str(page), line)
    test.globs = names
    report: list[str] = []
    result = doctest.DocTestRunner(optionflags=FLAGS, verbose=False).run(test, out=report.append, clear_globs=False)
    if result.failed:
        raise ExampleError("".join(report))


def run_console(block: str, line: int, page: Path, names: Namespace) -> None:
    for session in ("\n" + block).split("\n$ ")[1:]:
        command, _, expected = session.replace("\\\n", " ").partition("\n")
        if command.startswith("dperm "):
            compare(f"{page.name}:{line}: {command}", expected.strip("\n"), output_of(command).strip("\n"))


def write_schema(block: str, line: int, page: Path, names: Namespace) -> None:
    Path("schema.toml").write_text(block, encoding="utf-8")


def output_of(command: str) -> str:
    environment = {**os.environ, "COLUMNS": "100", "NO_COLOR": "1", "TERM": "dumb"}
    arguments = [sys.executable, "-c", CLI, *shlex.split(command)[1:]]
    done = subprocess.run(arguments, capture_output=True, text=True, env=environment, check=False)
    if done.returncode != 0:
        raise ExampleError(f"{command} ended with {done.returncode}:\n{done.stderr}")
    return done.stdout


def compare(where: str, expected: str, printed: str) -> None:
    if not doctest.OutputChecker().check_output(expected + "\n", printed + "\n", FLAGS):
        raise ExampleError(f"{where}\nexpected:\n{expected}\nprinted:\n{printed}")


RUNNERS: dict[str, Callable[[str, int, Path, Namespace], None]] = {
    "python": run_python,
    "pycon": run_pycon,
    "console": run_console,
    "toml schema.toml": write_schema,
}


def run_page(page: Path) -> None:
    names: Namespace = {"__name__": "__main__"}
    for token in examples(page):
        assert token.map is not None
        RUNNERS[token.info.strip()](token.content, token.map[0] + 1, page, names)


@pytest.mark.parametrize("page", [p for p in PAGES if examples(p)], ids=lambda p: str(p.relative_to(ROOT)))
def test_the_examples_of_the_page_run_and_print_what_it_says(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # some write files
    run_page(page)


@pytest.mark.parametrize("name", ["README.md", "docs/getting-started.md", "docs/choosing-epsilon.md", "docs/cli.md"])
def test_the_pages_that_teach_have_examples(name):
    assert examples(ROOT / name)


@pytest.mark.parametrize(
    ("kind", "block"),
    [
        ("python", "assert 1 + 1 == 3"),
        ("pycon", ">>> 1 + 1\n3"),
        ("console", "$ dperm no-such-command"),
        ("console", "$ dperm --help\nnothing like this"),
    ],
)
def test_an_example_that_is_wrong_is_found(tmp_path, kind, block):
    page = tmp_path / "page.md"
    page.write_text(f"# Page\n\n```{kind}\n{block}\n```\n", encoding="utf-8")
    with pytest.raises((ExampleError, AssertionError)):
        run_page(page)


def test_blocks_of_one_page_share_their_names(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("```python\nx = 2\n```\n\n```pycon\n>>> x + 1\n3\n```\n", encoding="utf-8")
    run_page(page)
