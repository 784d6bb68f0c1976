# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""The pages of the lectures name every erratum and every lesson, and their rows are numbered through."""

import re

import pytest
from doc_pages import DOCS, PAGES

from dperm.reproduce import LESSONS

PAGE = {
    "Bellet": "bellet",
    "Razaviyayn": "razaviyayn",
    "Monteleoni": "monteleoni",
    "Wang": "wang",
    "Musco": "musco",
}
LETTER = {"Bellet": "B", "Razaviyayn": "R", "Monteleoni": "M", "Wang": "W", "Musco": "U"}
ERRATUM = re.compile(r"^\| (E\d+) \| ([^|]*) \|", re.MULTILINE)
COMMAND = re.compile(r"\bdperm reproduce ((?:[a-z][\w-]* ?)+)")


def text_of(name: str) -> str:
    return (DOCS / "lectures" / f"{name}.md").read_text(encoding="utf-8")


def errata() -> dict[str, tuple[str, ...]]:
    """The lectures that each erratum names; those of papers and code name none."""
    rows = ERRATUM.findall((DOCS / "errata.md").read_text(encoding="utf-8"))
    return {number: tuple(name for name in PAGE if name in source) for number, source in rows}


def commands() -> dict[str, set[str]]:
    """The lessons that each page of the documentation runs."""
    found = {}
    for page in PAGES:
        words = [name for group in COMMAND.findall(page.read_text(encoding="utf-8")) for name in group.split()]
        found[str(page.relative_to(DOCS.parent))] = {word.replace("-", "_") for word in words} - {"all"}
    return found


def test_the_errata_are_numbered_through():
    numbers = [*range(1, 33), 38, 39, 40, 41, 42, 43, 44, 49, 50, 51, 33, 34, 35, 36, 37]  # in the order of the tables
    assert list(errata()) == [f"E{number}" for number in numbers]
    assert {number for number, lectures in errata().items() if not lectures} == {
        "E33",
        "E34",
        "E35",
        "E40",
        "E41",
        "E42",
        "E43",
        "E44",
    }


@pytest.mark.parametrize(
    ("number", "lecture"), [(number, lecture) for number, lectures in errata().items() for lecture in lectures]
)
def test_an_erratum_is_on_the_page_of_its_lecture(number, lecture):
    assert f"[{number}](#{number.lower()})" in text_of(PAGE[lecture])


@pytest.mark.parametrize("lesson", LESSONS, ids=lambda lesson: lesson.name)
def test_a_lesson_is_on_the_pages_of_its_lectures(lesson):
    lectures = [name for name in PAGE if name in lesson.source]
    assert lectures
    for lecture in lectures:
        assert f"`dperm reproduce {lesson.name}`" in text_of(PAGE[lecture])


def test_lessons_that_pages_run_exist():
    known = {lesson.name for lesson in LESSONS}
    assert {page: names - known for page, names in commands().items() if names - known} == {}
    assert "median" in commands()["docs/lectures/razaviyayn.md"], "the search is broken"


@pytest.mark.parametrize("lecture", PAGE)
def test_the_rows_of_a_lecture_are_numbered_through_and_the_index_knows_how_many(lecture):
    letter = LETTER[lecture]
    rows = re.findall(rf"^\| ({letter}\d+) \|", text_of(PAGE[lecture]), re.MULTILINE)
    assert rows == [f"{letter}{number}" for number in range(1, len(rows) + 1)]
    assert f"{rows[0]}–{rows[-1]} |" in text_of("index")


@pytest.mark.parametrize("lecture", PAGE)
def test_every_row_says_what_why_and_how(lecture):
    rows = [line for line in text_of(PAGE[lecture]).splitlines() if re.match(r"\| [A-Z]\d+ \|", line)]
    cells = [[cell.strip() for cell in re.split(r"(?<!\\)\|", row)[1:-1]] for row in rows]
    assert [row for row in cells if len(row) != 5] == []
    assert [row for row in cells if not row[1] or not any(row[2:])] == []
