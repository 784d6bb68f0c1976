# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Files of a lesson and its outcome: a plot, a Markdown page and JSON data."""

import json
import math
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

from dperm.deprecation import deprecated_names
from dperm.presentation.numbers import INFINITE, format_number
from dperm.presentation.tables import TextTable, escape_markdown
from dperm.report.pictures import draw
from dperm.report.whole_file import write_text
from dperm.reproduce.lesson import Cell, Check, Lesson, Outcome

SUFFIXES = (".png", ".md", ".json")
NOT_PRIVATE = "Data and noise are simulated from a seed: reproducible, and NOT PRIVATE."

__getattr__ = deprecated_names(
    __name__,
    {"cell_text": "dperm.reproduce.writing:format_cell", "told": "dperm.reproduce.writing:describe_check"},
)


def files_of(lesson: Lesson, folder: Path) -> tuple[Path, ...]:
    """Return the paths in ``folder`` of the plot, the Markdown page and the JSON file of a lesson."""
    return tuple(folder / f"{lesson.name}{suffix}" for suffix in SUFFIXES)


def write(lesson: Lesson, outcome: Outcome, folder: Path) -> tuple[Path, ...]:
    """Write the plot, the Markdown page and the JSON file of a lesson, each of them atomically.

    Parameters
    ----------
    lesson, outcome
        Lesson, and the result of its run.
    folder
        Existing folder. Existing files of the lesson are replaced.

    Returns
    -------
    tuple of Path
        Paths of the three files.
    """
    picture, page, data = files = files_of(lesson, folder)
    draw(outcome.picture, path=picture)
    write_text(page, markdown(lesson, outcome))
    write_text(data, json.dumps(as_dict(lesson, outcome), indent=2, allow_nan=False) + "\n")
    return files


def as_dict(lesson: Lesson, outcome: Outcome) -> dict[str, object]:
    """Return a lesson and its outcome as plain data, including the curves of the plot.

    Infinite values and NaN become None.

    Parameters
    ----------
    lesson, outcome
        Lesson, and the result of its run.

    Returns
    -------
    dict[str, object]
        Plain data for JSON.
    """
    data = {**about(lesson), **outcome.as_dict(), "picture": asdict(outcome.picture)}
    return {key: _finite(value) for key, value in data.items()}


def about(lesson: Lesson) -> dict[str, object]:
    """Return the name, title, source, claim and tags of a lesson, without running the lesson."""
    texts = {"name": lesson.name, "title": lesson.title, "source": lesson.source, "claim": lesson.claim}
    return {**texts, "tags": list(lesson.tags)}


def _finite(value: object) -> object:
    if isinstance(value, dict):
        return {key: _finite(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def markdown(lesson: Lesson, outcome: Outcome) -> str:
    """Return the Markdown page of a lesson, ending with a line break.

    Parameters
    ----------
    lesson, outcome
        Lesson, and the result of its run.

    Returns
    -------
    str
        Markdown text.
    """
    return "\n".join((*_claim(lesson), *_result(lesson, outcome), *_repetition(lesson, outcome))) + "\n"


def format_cell(cell: Cell) -> str:
    """Return a table cell as text.

    Floats are rounded to four significant digits. Positive infinity becomes "infinite"; NaN and negative infinity
    become "none".
    """
    if not isinstance(cell, float):
        return str(cell)
    if math.isfinite(cell):
        return format_number(cell, digits=4)
    return INFINITE if cell > 0 else "none"


def describe_check(check: Check) -> str:
    """Return one line of text with the statement of a check and whether the statement holds."""
    return f"{'Holds' if check.holds else 'DOES NOT HOLD'}: {check.statement.removesuffix('.')}."


def _claim(lesson: Lesson) -> Iterator[str]:
    yield from (f"# {escape_markdown(lesson.title)}", "")
    tags = escape_markdown(", ".join(lesson.tags))
    yield f"Lecture of {escape_markdown(lesson.source)}. Theorems and errata: {tags}."
    yield from ("", "## Claim", "", escape_markdown(lesson.claim), "")


def _result(lesson: Lesson, outcome: Outcome) -> Iterator[str]:
    yield from ("## Result", "", escape_markdown(outcome.sentence), "")
    yield from (f"![{escape_markdown(outcome.picture.title)}]({lesson.name}.png)", "")
    rows = [[format_cell(cell) for cell in row] for row in outcome.table.rows]
    yield from (TextTable(outcome.table.columns, rows).markdown(), "")
    yield from (*(f"- {escape_markdown(describe_check(check))}" for check in outcome.checks), "")


def _repetition(lesson: Lesson, outcome: Outcome) -> Iterator[str]:
    yield from ("## Reproduction", "", f"`dperm reproduce {lesson.name}`. {NOT_PRIVATE}", "")
    for name, value in outcome.parameters.items():
        yield f"- {escape_markdown(name)}: {escape_markdown(format_cell(value))}"
