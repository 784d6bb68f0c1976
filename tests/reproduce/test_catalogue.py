# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""The catalogue has every lesson once, by a name that one can type."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from quick_lessons import quick_run

from dperm import ParameterError, reproduce
from dperm.reproduce import LESSONS, Effort, Lesson, by_name, run
from dperm.reproduce import lessons as home

LECTURERS = {"Bellet", "Razaviyayn", "Monteleoni", "Wang", "Musco"}
EACH = pytest.mark.parametrize("lesson", LESSONS, ids=lambda lesson: lesson.name)


def test_every_file_of_a_lesson_is_in_the_catalogue_under_its_name():
    files = {path.stem for path in Path(home.__file__).parent.glob("[a-z]*.py")}
    assert sorted(lesson.name for lesson in LESSONS) == sorted(files)


def test_every_lesson_has_tests_of_its_own():
    tests = {path.stem.removeprefix("test_") for path in Path(__file__).parent.glob("test_*.py")}
    assert {lesson.name for lesson in LESSONS} <= tests


@EACH
def test_a_lesson_says_whose_claim_it_is_and_what_it_runs(lesson):
    assert set(re.split(r", | and ", lesson.source)) <= LECTURERS
    assert lesson.tags and all(re.fullmatch(r"[TEAC]\d+(\.\d)?[a-z]?", tag) for tag in lesson.tags)
    assert 5 < len(lesson.title) < 90 and not lesson.title.endswith(".")
    assert lesson.claim.endswith(".")
    assert re.fullmatch("[a-z][a-z0-9_]*", lesson.name)


@EACH
def test_a_lesson_tells_its_progress_to_the_end_and_its_checks_are_sentences(lesson):
    quick = quick_run(lesson.name)
    assert list(quick.progress) == sorted(quick.progress) and quick.progress[-1] == 1
    assert [c.statement for c in quick.outcome.checks if not re.fullmatch(r"[A-Z0-9].*[^.]\.", c.statement)] == []


def test_every_lecturer_has_a_lesson():
    assert {name for lesson in LESSONS for name in re.split(r", | and ", lesson.source)} == LECTURERS


@pytest.mark.parametrize("name", ["printed_algorithm_2", "printed-algorithm-2"])
def test_a_lesson_is_found_by_its_name(name):
    assert by_name(name).name == "printed_algorithm_2"


def test_a_name_that_is_nearly_right_is_told():
    with pytest.raises(ParameterError, match=r"got 'learning_curve'. Did you mean learning_curves"):
        by_name("learning_curve")


@pytest.mark.parametrize("name", ["zzzzzz", "", 3, None])
def test_other_names_are_refused_with_the_list(name):
    with pytest.raises(ParameterError, match=r"The lessons are: .*printed_algorithm_2"):
        by_name(name)


def test_running_gives_the_lesson_its_effort(monkeypatch):
    seen = []
    lesson = Lesson("mine", "Mine", "Musco", "It is so.", ("T1",), lambda effort: seen.append(effort) or "outcome")
    monkeypatch.setattr("dperm.reproduce.catalogue.LESSONS", (lesson,))
    assert run("mine", Effort(seed=3, quick=True)) == run("mine") == "outcome"
    assert [(effort.seed, effort.quick) for effort in seen] == [(3, True), (0, False)]


def test_importing_it_is_light_and_its_names_are_there():
    code = (
        "import sys, dperm.reproduce\n"
        "assert 'numpy' not in sys.modules and 'dperm.reproduce.catalogue' not in sys.modules\n"
        "assert set(dperm.reproduce.__all__) <= set(dir(dperm.reproduce))\n"
        "assert dperm.reproduce.LESSONS is dperm.reproduce.catalogue.LESSONS\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_an_unknown_name_of_the_package_is_an_attribute_error():
    with pytest.raises(AttributeError, match=r"module 'dperm.reproduce' has no attribute 'LESONS'"):
        reproduce.LESONS  # noqa: B018


def test_the_catalogue_loads_neither_front_ends_nor_pictures():
    heavy = "{'sklearn', 'torch', 'matplotlib', 'pandas', 'typer'}"
    code = f"import sys, dperm.reproduce; dperm.reproduce.LESSONS; print(sorted({heavy} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
