# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""A lesson and what came out of it, as files: a picture, a page of Markdown, and plain data."""

import json
import math
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

from dperm.presentation.tables import escape_markdown as escaped
from dperm.report.pictures import draw
from dperm.report.whole_file import write_text
from dperm.reproduce.lesson import Cell, Check, Lesson, Outcome, Table

SUFFIXES = (".png", ".md", ".json")
NOT_PRIVATE = "Data are made up and noise is simulated from a seed: reproducible, and NOT PRIVATE."


def files_of(lesson: Lesson, folder: Path) -> tuple[Path, ...]:
    """Where its files are."""
    return tuple(folder / f"{lesson.name}{suffix}" for suffix in SUFFIXES)


def write(lesson: Lesson, outcome: Outcome, folder: Path) -> tuple[Path, ...]:
    """Write the picture, the page and the data into ``folder``, each whole or not at all."""
    picture, page, data = files = files_of(lesson, folder)
    draw(outcome.picture, path=picture)
    write_text(page, markdown(lesson, outcome))
    write_text(data, json.dumps(as_dict(lesson, outcome), indent=2, allow_nan=False) + "\n")
    return files


def as_dict(lesson: Lesson, outcome: Outcome) -> dict[str, object]:
    """Both as plain data, with the curves of the picture; a number that is not finite is null."""
    data = {**about(lesson), **outcome.as_dict(), "picture": asdict(outcome.picture)}
    return {key: _finite(value) for key, value in data.items()}


def about(lesson: Lesson) -> dict[str, object]:
    """What is known of a lesson without running it."""
    words = {"name": lesson.name, "title": lesson.title, "source": lesson.source, "claim": lesson.claim}
    return {**words, "tags": list(lesson.tags)}


def _finite(value: object) -> object:
    if isinstance(value, dict):
        return {key: _finite(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def markdown(lesson: Lesson, outcome: Outcome) -> str:
    """The page; it ends with a line break."""
    return "\n".join((*_head(lesson), *_found(lesson, outcome), *_again(lesson, outcome))) + "\n"


def cell_text(cell: Cell) -> str:
    """A cell of a table: numbers with four digits."""
    if not isinstance(cell, float):
        return str(cell)
    return f"{cell:.4g}" if math.isfinite(cell) else "infinite" if cell > 0 else "none"


def told(check: Check) -> str:
    """A check in a line."""
    return f"{'Holds' if check.holds else 'DOES NOT HOLD'}: {check.statement.removesuffix('.')}."


def _head(lesson: Lesson) -> Iterator[str]:
    yield from (f"# {escaped(lesson.title)}", "")
    yield from (f"Lecture of {escaped(lesson.source)}. Statements: {escaped(', '.join(lesson.tags))}.", "")
    yield from ("## What is claimed", "", escaped(lesson.claim), "")


def _found(lesson: Lesson, outcome: Outcome) -> Iterator[str]:
    yield from ("## What came out", "", escaped(outcome.sentence), "")
    yield from (f"![{escaped(outcome.picture.title)}]({lesson.name}.png)", "")
    yield from (*_table(outcome.table), "")
    yield from (*(f"- {escaped(told(check))}" for check in outcome.checks), "")


def _table(table: Table) -> Iterator[str]:
    yield f"| {' | '.join(map(escaped, table.columns))} |"
    yield f"|{' --- |' * len(table.columns)}"
    for row in table.rows:
        yield f"| {' | '.join(escaped(cell_text(cell)) for cell in row)} |"


def _again(lesson: Lesson, outcome: Outcome) -> Iterator[str]:
    yield from ("## Run it again", "", f"`dperm reproduce {lesson.name}`. {NOT_PRIVATE}", "")
    for name, value in outcome.parameters.items():
        yield f"- {escaped(name)}: {escaped(cell_text(value))}"
