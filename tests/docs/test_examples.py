# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Every example in the README and on the documentation pages runs and prints what the page says.

Per page, in order and in one namespace: ``python`` blocks are executed, ``pycon`` blocks are executed and their
output is compared, and in ``console`` blocks every ``$ dperm ...`` command is run and what it prints is compared.
``console exit 2`` has to end with code 2, and may show what goes to stderr. A ``toml schema.toml`` block is written to
that file. ``python needs g++`` is executed where that program is. ``| head -n 3`` and ``| tail -n 3`` after a command
keep some of its lines. ``console quiet`` may leave out what a command prints. tests/support/doc_outputs.py has the
rules of the comparison: pages show real outputs, without ellipses.
"""

import doctest
import os
import shlex
import shutil
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest
from doc_outputs import Checker, agree
from doc_pages import PAGES, ROOT, Block, blocks
from warm_python import package

CLI = "from dperm.cli import main; main()"

Namespace = dict[str, object]


class ExampleError(Exception):
    """An example does not print what its page says."""


def examples(page: Path) -> list[Block]:
    return [block for block in blocks(page) if block.kind in RUNNERS]


def run_python(block: Block, page: Path, names: Namespace) -> None:
    if block.options[:1] == ("needs",) and not all(map(shutil.which, block.options[1:])):
        return
    # The blank lines give a traceback the line numbers of the page.
    exec(compile("\n" * block.line + block.text, str(page), "exec"), names)


def run_pycon(block: Block, page: Path, names: Namespace) -> None:
    test = doctest.DocTestParser().get_doctest(block.text, names, page.name, str(page), block.line)
    test.globs = names
    report: list[str] = []
    runner = doctest.DocTestRunner(checker=Checker(noise_of(block)), verbose=False)
    result = runner.run(test, out=report.append, clear_globs=False)
    if result.failed:
        raise ExampleError("".join(report))


def run_console(block: Block, page: Path, names: Namespace) -> None:
    code = int(option(block, "exit") or 0)
    for session in ("\n" + block.text).split("\n$ ")[1:]:
        command, _, expected = session.replace("\\\n", " ").partition("\n")
        if command.startswith("dperm "):
            printed = output_of(command, code).strip("\n")
            if expected.strip() or "quiet" not in block.options:
                compare(f"{page.name}:{block.line}: {command}", expected.strip("\n"), printed, noise_of(block))


def option(block: Block, name: str) -> str | None:
    """The word after ``name`` in the first line of the block."""
    return block.options[block.options.index(name) + 1] if name in block.options else None


def noise_of(block: Block) -> float | None:
    tolerance = option(block, "noisy")
    return None if tolerance is None else float(tolerance)


def write_toml(block: Block, page: Path, names: Namespace) -> None:
    tomllib.loads(block.text)
    for name in block.options:
        Path(name).write_text(block.text, encoding="utf-8")


def output_of(command: str, code: int = 0) -> str:
    environment = {**os.environ, "COLUMNS": "100", "NO_COLOR": "1", "TERM": "dumb"}
    command, *cuts = command.split(" | ")
    done = package().run(CLI, shlex.split(command)[1:], cwd=Path.cwd(), environment=environment)
    if done.returncode != code:
        raise ExampleError(f"{command} ended with {done.returncode}, not {code}:\n{done.stderr}")
    text = done.stdout if code == 0 else done.stdout + done.stderr
    for cut in cuts:
        text = shorten(text, *cut.split())
    return text


def shorten(text: str, program: str, flag: str, count: str) -> str:
    """The first or the last lines, as the programs head and tail give them."""
    if program not in ("head", "tail") or flag != "-n":
        raise ExampleError(f"a page may pipe into head -n or tail -n, not into {program} {flag}")
    lines = text.splitlines()
    return "\n".join(lines[: int(count)] if program == "head" else lines[-int(count) :])


def compare(where: str, expected: str, printed: str, noisy: float | None = None) -> None:
    if not agree(expected, printed, noisy):
        raise ExampleError(f"{where}\nexpected:\n{expected}\nprinted:\n{printed}")


RUNNERS: dict[str, Callable[[Block, Path, Namespace], None]] = {
    "python": run_python,
    "pycon": run_pycon,
    "console": run_console,
    "toml": write_toml,
}


def run_page(page: Path) -> None:
    names: Namespace = {"__name__": "__main__"}
    for block in examples(page):
        RUNNERS[block.kind](block, page, names)


@pytest.mark.parametrize("page", [p for p in PAGES if examples(p)], ids=lambda p: str(p.relative_to(ROOT)))
def test_the_examples_of_the_page_run_and_print_what_it_says(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # some write files
    run_page(page)


@pytest.mark.parametrize(
    ("kind", "block"),
    [
        ("python", "assert 1 + 1 == 3"),
        ("pycon", ">>> 1 + 1\n3"),
        ("console", "$ dperm no-such-command"),
        ("console", "$ dperm --help\nnothing like this"),
        ("console", "$ dperm --version"),
        ("console quiet", "$ dperm --version\nnothing like this"),
        ("console exit 2", "$ dperm --version\n0.0"),
        ("console", "$ dperm --version | grep -n 3\n"),
        ("toml", "this is = not = TOML"),
    ],
)
def test_an_example_that_is_wrong_is_found(tmp_path, kind, block):
    page = tmp_path / "page.md"
    page.write_text(f"# Page\n\n```{kind}\n{block}\n```\n", encoding="utf-8")
    with pytest.raises((ExampleError, AssertionError, tomllib.TOMLDecodeError)):
        run_page(page)


def test_blocks_of_one_page_share_their_names_and_files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    page = tmp_path / "page.md"
    page.write_text(
        "```python\nx = 2\n```\n\n```toml a.toml\nx = 3\n```\n\n"
        "```pycon\n>>> x + 1, __import__('pathlib').Path('a.toml').read_text()\n(3, 'x = 3\\n')\n```\n",
        encoding="utf-8",
    )
    run_page(page)


def test_an_example_that_needs_another_program_waits_for_it(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("```python needs no-such-program\nraise AssertionError\n```\n", encoding="utf-8")
    run_page(page)
