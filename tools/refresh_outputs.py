# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Run the examples of pages and rewrite the outputs that no longer agree with the page.

``python tools/refresh_outputs.py docs/cli.md README.md`` runs the pages as tests/docs/test_examples.py does. Outputs
that still agree (tests/support/doc_outputs.py) stay as they are, digits and identifiers included. Read the diff: a
changed output is a change of behaviour until somebody has looked at it.
"""

import doctest
import os
import re
import sys
import tempfile
import textwrap
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "tests" / "support"), str(ROOT / "tests" / "docs"), str(ROOT / "src")]

from doc_outputs import agree  # noqa: E402
from doc_pages import Block, blocks  # noqa: E402
from test_examples import RUNNERS, Namespace, noise_of, option, output_of  # noqa: E402

WIDTH = 100
TABLE = re.compile(r"─|\S {3,}\S.*\S {3,}\S")
Edit = tuple[int, int, list[str]]
"""First line, number of lines, and the lines that replace them."""


class Recorder(doctest.DocTestRunner):
    """Runner that keeps what each example printed."""

    def __init__(self) -> None:
        """Make a runner without a report."""
        super().__init__(verbose=False)
        self.printed: list[tuple[doctest.Example, str]] = []

    def report_success(self, out: object, test: doctest.DocTest, example: doctest.Example, got: str) -> None:
        """Keep an output that agrees to the letter."""
        self.printed.append((example, got))

    def report_failure(self, out: object, test: doctest.DocTest, example: doctest.Example, got: str) -> None:
        """Keep an output that may agree by the rules of the pages."""
        self.printed.append((example, got))

    def report_unexpected_exception(
        self, out: object, test: doctest.DocTest, example: doctest.Example, exc_info
    ) -> None:  # type: ignore[no-untyped-def]
        """Stop: the example itself has to be repaired."""
        raise exc_info[1]


def wrapped(text: str) -> list[str]:
    """Return lines of at most WIDTH characters; rows of tables stay whole."""
    found: list[str] = []
    for line in map(str.rstrip, text.splitlines()):
        indent = re.match(r"\w[\w ]*: {2,}| *- | *", line)
        hanging = " " * len(indent[0]) if indent else ""
        options = {"subsequent_indent": hanging, "break_long_words": False, "break_on_hyphens": False}
        is_whole = len(line) <= WIDTH or TABLE.search(line) or line.startswith(("<", "'"))
        found += [line] if is_whole else textwrap.wrap(line, WIDTH, **options)  # type: ignore[arg-type]
    return found


def shown(got: str) -> str:
    """Return an output as pages show it: a traceback without its frames."""
    if not got.startswith("Traceback"):
        return got.rstrip("\n")
    message = re.split(r"(?m)^(?=\w)", got)[2:]
    return "Traceback (most recent call last):\n" + "".join(message).rstrip("\n")


def pycon_edits(block: Block, page: Path, names: Namespace) -> list[Edit]:
    """Run the block, and return the outputs to change."""
    test = doctest.DocTestParser().get_doctest(block.text, names, page.name, str(page), block.line)
    test.globs = names
    runner, edits = Recorder(), []
    runner.run(test, out=lambda text: None, clear_globs=False)
    for example, got in runner.printed:
        if not agree(example.want, shown(got), noise_of(block)):
            start = block.line + example.lineno + example.source.count("\n")
            edits.append((start, example.want.count("\n"), wrapped(shown(got))))
    return edits


def console_edits(block: Block, page: Path, names: Namespace) -> list[Edit]:
    """Run the commands of the block, and return the outputs to change."""
    lines, edits = block.text.splitlines(), []
    starts = [place for place, line in enumerate(lines) if line.startswith("$ ")]
    for start, end in zip(starts, [*starts[1:], len(lines)], strict=True):
        first = next(place for place in range(start, end) if not lines[place].endswith("\\")) + 1
        command = " ".join(line.removesuffix("\\") for line in lines[start:first])[2:]
        printed, expected = output_of(command, int(option(block, "exit") or 0)), "\n".join(lines[first:end])
        is_quiet = not expected.strip() and "quiet" in block.options
        if not is_quiet and not agree(expected, printed, noise_of(block)):
            edits.append((block.line + first, end - first, wrapped(printed.strip("\n"))))
    return edits


def refresh(page: Path) -> int:
    """Rewrite the outputs of a page, and return how many changed."""
    lines, edits = page.read_text(encoding="utf-8").splitlines(), list[Edit]()
    names: Namespace = {"__name__": "__main__"}
    for block in (block for block in blocks(page) if block.kind in RUNNERS):
        if block.kind == "pycon":
            edits += pycon_edits(block, page, names)
        elif block.kind == "console":
            edits += console_edits(block, page, names)
        else:
            RUNNERS[block.kind](block, page, names)
    for start, count, new in sorted(edits, reverse=True):
        lines[start : start + count] = new
    page.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return len(edits)


def main() -> None:
    """Refresh the pages named as arguments, each in an empty folder."""
    os.environ["PYTHONPATH"] = os.pathsep.join((str(ROOT / "src"), os.environ.get("PYTHONPATH", "")))
    for page in [Path(name).resolve() for name in sys.argv[1:]]:
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            print(f"{page.name}: {refresh(page)} outputs changed", flush=True)
            os.chdir(ROOT)


if __name__ == "__main__":
    main()
