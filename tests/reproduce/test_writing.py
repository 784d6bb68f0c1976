# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""The files of a lesson: a picture, a page with everything on it, and data that JSON can hold."""

import json
import math

import numpy as np
import pytest

from dperm.privacy import ApproxDP
from dperm.report.pictures import Curve, Picture
from dperm.reproduce.lesson import Check, Effort, Lesson, LessonTable, Outcome, guarantee_parameters
from dperm.reproduce.writing import as_dict, describe_check, files_of, format_cell, markdown, write

PICTURE = Picture("A picture | of it", "x", "y", (Curve("a", (1.0, 2.0), (3.0, math.inf)),))
OUTCOME = Outcome(
    {"n": 10, "epsilon": 0.5},
    LessonTable(("name", "a | b"), (("one_two", 0.123456), ("three", math.inf))),
    PICTURE,
    (Check("it falls", True), Check("it <rises>", False)),
    "It falls.",
)
LESSON = Lesson("mine", "Mine & yours", "Musco", "It always falls.", ("T1", "E2"), lambda effort: OUTCOME)


def test_there_are_three_files_each_whole(tmp_path):
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    written = write(LESSON, OUTCOME, tmp_path)
    assert written == files_of(LESSON, tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["mine.json", "mine.md", "mine.png"]
    assert (tmp_path / "mine.png").read_bytes().startswith(b"\x89PNG")
    assert (tmp_path / "mine.md").read_text(encoding="utf-8") == markdown(LESSON, OUTCOME)
    assert json.loads((tmp_path / "mine.json").read_text(encoding="utf-8")) == as_dict(LESSON, OUTCOME)


def test_the_page_says_everything_and_shows_the_picture():
    page = markdown(LESSON, OUTCOME)
    assert page.startswith("# Mine \\& yours\n")
    for part in ("Lecture of Musco", "T1, E2", "It always falls.", "It falls.", "- n: 10\n", "- epsilon: 0.5\n"):
        assert part in page
    assert "![A picture \\| of it](mine.png)" in page
    assert "`dperm reproduce mine`" in page and "NOT PRIVATE" in page


def test_cells_and_checks_are_shown_as_they_are():
    lines = markdown(LESSON, OUTCOME).splitlines()
    place = lines.index("| name | a \\| b |")
    assert lines[place + 1 : place + 4] == ["| --- | --- |", "| one\\_two | 0.1235 |", "| three | infinite |"]
    assert "- Holds: it falls." in lines
    assert "- DOES NOT HOLD: it \\<rises\\>." in lines


def test_a_check_ends_with_one_full_stop():
    assert describe_check(Check("It falls.", True)) == "Holds: It falls."
    assert describe_check(Check("it falls", True)) == "Holds: it falls."


def test_the_data_have_the_curves_and_null_for_what_is_not_finite():
    data = json.loads(json.dumps(as_dict(LESSON, OUTCOME), allow_nan=False))
    assert data["picture"]["curves"][0]["y"] == [3.0, None]
    assert data["rows"] == [["one_two", 0.123456], ["three", None]]
    assert data["columns"] == ["name", "a | b"]
    assert (data["name"], data["source"], data["tags"]) == ("mine", "Musco", ["T1", "E2"])
    assert data["checks"] == [{"statement": "it falls", "holds": True}, {"statement": "it <rises>", "holds": False}]
    assert data["parameters"] == {"n": 10, "epsilon": 0.5}


@pytest.mark.parametrize(
    ("cell", "text"),
    [("words", "words"), (17500, "17500"), (0.25, "0.25"), (1 / 3, "0.3333"), (1e-7, "1e-7"), (-math.inf, "none")],
)
def test_a_cell_has_four_digits(cell, text):
    assert format_cell(cell) == text
    assert format_cell(math.nan) == "none" and format_cell(math.inf) == "infinite"


def test_a_check_of_numpy_is_a_plain_one():
    assert Check("so", np.float64(1) < 2).holds is True
    assert json.dumps(as_dict(LESSON, Outcome({}, LessonTable((), ()), PICTURE, (Check("so", np.bool_(False)),), "")))


def test_a_goal_is_told_as_one_types_it():
    told = {"epsilon": 1.0, "delta": 1e-5, "adjacency": "replace_one"}
    assert guarantee_parameters(ApproxDP(1.0, 1e-5, "replace_one")) == told


def test_an_effort_need_not_listen():
    Effort().progress(0.5)
