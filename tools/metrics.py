# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Print metrics of names and docstrings in a source tree, and fail where a limit is exceeded.

Run: ``python tools/metrics.py [FOLDER]``; ``make metrics`` runs it on src. With a folder such as ``src/dperm/ledger``
it measures that folder alone. ``--list`` prints the docstrings and class names that count.
"""

import argparse
import ast
import re
import sys
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

LARGEST_WHAT = 1.5
LARGEST_PRONOUNS = 15.0
MOST_SHORT = 100
SHORT = 4
PERMITTED = {
    "Handle": "one connection to a database: the same concept in ledger/sqlite and ledger/postgres",
}
"""Class names that may be used more than once, with the reason."""

WHAT = re.compile(r"\bwhat\b", re.IGNORECASE)
PRONOUNS = re.compile(r"\b(that|which|who|whose|whom|what)\b", re.IGNORECASE)
Documented = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


@dataclass
class Metrics:
    """Measurements of one source tree."""

    docstrings: list[tuple[str, str]] = field(default_factory=list)
    classes: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    file_lengths: list[int] = field(default_factory=list)
    function_lengths: list[int] = field(default_factory=list)

    def add(self, path: Path) -> None:
        """Add the docstrings, class names and lengths of one file."""
        source = path.read_text(encoding="utf-8")
        self.file_lengths.append(source.count("\n"))
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, Documented) and (text := ast.get_docstring(node)):
                self.docstrings.append((f"{path}:{getattr(node, 'lineno', 1)}", text))
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                self.classes[node.name].append(str(path))
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                self.function_lengths.append((node.end_lineno or node.lineno) - node.lineno + 1)

    @property
    def words(self) -> int:
        """Number of words in all docstrings."""
        return sum(len(text.split()) for _, text in self.docstrings)

    def per_thousand(self, pattern: re.Pattern[str]) -> float:
        """Occurrences of a pattern per 1,000 words of docstrings."""
        return 1000 * sum(len(pattern.findall(text)) for _, text in self.docstrings) / max(self.words, 1)

    @property
    def short(self) -> list[tuple[str, str]]:
        """Docstrings of at most four words."""
        return [(place, text) for place, text in self.docstrings if len(text.split()) <= SHORT]

    @property
    def repeated_classes(self) -> dict[str, list[str]]:
        """Public class names that are used more than once, apart from the permitted ones."""
        return {name: files for name, files in self.classes.items() if len(files) > 1 and name not in PERMITTED}


def percentile(values: list[int], share: float) -> int:
    """Return a percentile of a list of lengths."""
    return sorted(values)[min(int(share * len(values)), len(values) - 1)] if values else 0


def report(found: Metrics) -> Iterator[tuple[str, float, float | None]]:
    """Yield name, value and limit of each metric; no limit for those printed for information."""
    yield '"what"-clauses per 1,000 words', found.per_thousand(WHAT), LARGEST_WHAT
    yield "relative pronouns per 1,000 words", found.per_thousand(PRONOUNS), LARGEST_PRONOUNS
    yield f"docstrings of at most {SHORT} words", len(found.short), MOST_SHORT
    yield "public class names used more than once", len(found.repeated_classes), 0
    yield "docstrings", len(found.docstrings), None
    yield "words in docstrings", found.words, None
    yield "files", len(found.file_lengths), None
    yield "lines", sum(found.file_lengths), None
    yield "lines of a file, 95th percentile", percentile(found.file_lengths, 0.95), None
    yield "lines of a function, mean", sum(found.function_lengths) / max(len(found.function_lengths), 1), None
    yield "lines of a function, 95th percentile", percentile(found.function_lengths, 0.95), None


def main() -> int:
    """Print the metrics; return 1 if a limit is exceeded."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", type=Path, default=Path("src"))
    parser.add_argument("--list", action="store_true", help="print each docstring and class name that counts")
    options = parser.parse_args()
    found = Metrics()
    for path in sorted(options.folder.rglob("*.py")):
        found.add(path)
    if options.list:
        for place, text in found.docstrings:
            if WHAT.search(text) or len(text.split()) <= SHORT:
                print(f"{place}: {' '.join(text.split())[:160]}")
    for name, files in sorted(found.repeated_classes.items()):
        print(f"class {name}: {', '.join(files)}")
    exceeded = False
    for name, value, limit in report(found):
        late = limit is not None and value > limit
        exceeded |= late
        print(
            f"{name:<42} {value:>12,.2f}  "
            + ("" if limit is None else f"(limit {limit:g}{', EXCEEDED' if late else ''})")
        )
    return int(exceeded)


if __name__ == "__main__":
    sys.exit(main())
