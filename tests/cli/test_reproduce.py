# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""``dperm reproduce`` as a user types it: lists, tables, files, exit codes, light help."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from warm_python import package

from dperm.cli import reproduce
from dperm.report.pictures import Curve, Picture
from dperm.reproduce import LESSONS
from dperm.reproduce.lesson import Check, Lesson, LessonTable, Outcome

ENTRY = "from dperm.cli import main; main()"
EXAMPLES = re.findall(r"^  dperm (.*)$", reproduce.HELP, re.MULTILINE)
FILES = ["falls.json", "falls.md", "falls.png"]


def made_up(name, holds=True, source="Musco"):
    """A lesson that takes no time; its table tells its effort."""

    def run(effort):
        effort.progress(0.5)
        table = LessonTable(("seed", "quick", "value"), ((effort.seed, str(effort.quick), 1 / 3),))
        picture = Picture("A picture", "x", "y", (Curve("a", (1.0, 2.0), (3.0, 4.0)),))
        return Outcome({"n": 7}, table, picture, (Check("it falls", holds),), "So it is.")

    return Lesson(name, f"How it {name}", source, "It is claimed.", ("T1", "E2"), run)


@pytest.fixture
def lessons(tmp_path, monkeypatch):
    """Two lessons whose checks hold, and one whose check does not, in an empty directory."""
    found = (made_up("falls"), made_up("rises", source="Musco, Wang"), made_up("fails", holds=False, source="Wang"))
    monkeypatch.setattr("dperm.reproduce.LESSONS", found)
    monkeypatch.setattr("dperm.reproduce.catalogue.LESSONS", found)
    monkeypatch.chdir(tmp_path)
    return found


def test_without_a_name_all_lessons_are_listed(dperm):
    result = dperm("reproduce")
    assert result.exit_code == 0 and result.stderr == ""
    for lesson in LESSONS:
        assert re.search(rf"^{lesson.name} +{lesson.source} +{re.escape(lesson.title)}", result.stdout, re.MULTILINE)


def test_the_list_is_also_json(answered):
    listed = answered("reproduce")["lessons"]
    assert [one["name"] for one in listed] == [lesson.name for lesson in LESSONS]
    assert set(listed[0]) == {"name", "title", "source", "claim", "tags"}


def test_a_lesson_is_run_and_told(lessons, dperm):
    result = dperm("reproduce falls --seed 3 --quick")
    assert (result.exit_code, result.stderr) == (0, "")
    for part in ("falls: How it falls (Musco; T1, E2)", "It is claimed.", "So it is.", "Holds: it falls."):
        assert part in result.stdout
    assert re.search(r"^3 +True +0\.3333", result.stdout, re.MULTILINE)
    assert not list(Path().iterdir())


def test_the_default_is_seed_0_and_full_effort(lessons, answered):
    assert answered("reproduce falls")["lessons"][0]["rows"] == [[0, "False", 1 / 3]]


def test_several_lessons_are_run_in_the_order_in_which_they_are_named_each_once(lessons, answered):
    found = answered("reproduce rises falls rises")["lessons"]
    assert [one["name"] for one in found] == ["rises", "falls"]


def test_an_author_stands_for_all_lessons_of_the_lecture(lessons, answered):
    for author in ("Musco", "musco", "MUSCO"):
        assert [one["name"] for one in answered(f"reproduce {author}")["lessons"]] == ["falls", "rises"]
    assert [one["name"] for one in answered("reproduce rises musco")["lessons"]] == ["rises", "falls"]


@pytest.mark.parametrize("name", ["Falls", "FALLS", "falls"])
def test_case_does_not_matter(lessons, answered, name):
    assert [one["name"] for one in answered(f"reproduce {name}")["lessons"]] == ["falls"]


def test_every_lecture_has_lessons_by_its_author():
    for author in ("Bellet", "Razaviyayn", "Monteleoni", "Wang", "Musco"):
        assert all(author in lesson.source for lesson in reproduce._chosen([author]))
    assert reproduce._chosen(["ALL"]) == LESSONS


def test_all_runs_every_lesson_and_a_check_that_fails_ends_with_5(lessons, dperm):
    result = dperm("reproduce all")
    assert result.exit_code == 5
    assert [name for name in ("falls:", "rises:", "fails:") if f"\n{name}" not in f"\n{result.stdout}"] == []
    assert "DOES NOT HOLD: it falls." in result.stdout
    assert result.stderr == "A check failed in: fails.\n"


def test_a_check_that_fails_is_told_in_json_too(lessons, dperm):
    result = dperm("reproduce fails --json --folder pictures")
    assert result.exit_code == 5
    found = json.loads(result.stdout)
    assert found["lessons"][0]["checks"] == [{"statement": "it falls", "holds": False}]
    assert sorted(path.name for path in Path("pictures").iterdir()) == ["fails.json", "fails.md", "fails.png"]


def test_a_folder_is_made_and_gets_three_files_for_each_lesson(lessons, dperm):
    result = dperm("reproduce falls --folder here/there")
    assert result.exit_code == 0
    assert sorted(path.name for path in Path("here/there").iterdir()) == FILES
    assert result.stdout.count("Written: here/there/falls.") == 3
    assert Path("here/there/falls.png").read_bytes().startswith(b"\x89PNG")
    page = Path("here/there/falls.md").read_text(encoding="utf-8")
    assert "It is claimed." in page and "| 0 | False | 0.3333 |" in page
    data = json.loads(Path("here/there/falls.json").read_text(encoding="utf-8"))
    assert data["rows"] == [[0, "False", 1 / 3]] and data["picture"]["curves"][0]["x"] == [1.0, 2.0]


def test_json_names_the_files(lessons, answered):
    assert answered("reproduce falls --folder here")["files"] == ["here/falls.png", "here/falls.md", "here/falls.json"]


@pytest.mark.parametrize("taken", FILES)
def test_files_are_not_overwritten_without_force(lessons, dperm, refused, taken):
    Path("here").mkdir()
    Path("here", taken).write_text("mine", encoding="utf-8")
    said = refused("reproduce rises falls --folder here")
    assert f"--folder: here/{taken} exists and was not changed" in said and "--force" in said
    assert [path.read_text(encoding="utf-8") for path in Path("here").iterdir()] == ["mine"]
    assert dperm("reproduce falls --folder here --force").exit_code == 0
    assert sorted(path.name for path in Path("here").iterdir()) == FILES
    assert b"mine" not in Path("here", taken).read_bytes()


def test_a_file_is_no_folder(lessons, refused):
    Path("here").write_text("mine", encoding="utf-8")
    assert "--folder: here is a file" in refused("reproduce falls --folder here")
    assert "here/there" in refused("reproduce falls --folder here/there")


def test_a_folder_without_a_lesson_is_a_mistake(lessons, refused):
    assert "Name lessons, or give all" in refused("reproduce --folder here")
    assert not Path("here").exists()


def test_an_unknown_lesson_is_refused_before_anything_is_run(lessons, refused):
    assert "Did you mean falls" in refused("reproduce rises fals --folder here")
    said = refused("reproduce zzz")
    assert "a lesson, a lecture (Musco, Wang) or all" in said and '"dperm reproduce" lists' in said
    assert "Did you mean Musco" in refused("reproduce Musko") and "falls" not in said
    assert not Path("here").exists()


@pytest.mark.parametrize("option", ["--seed -1", "--seed x", "--seed 0.5"])
def test_a_seed_that_is_none_is_refused(lessons, refused, option):
    assert "--seed" in refused(f"reproduce falls {option}")


def test_a_folder_needs_matplotlib(lessons, refused, monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert "--folder needs matplotlib" in refused("reproduce falls --folder here")
    assert not Path("here").exists()


def test_lessons_that_ran_before_an_error_have_their_files(lessons, dperm, monkeypatch):
    def raises(effort):
        raise KeyboardInterrupt

    broken = Lesson("breaks", "It breaks", "Musco", "So.", ("T1",), raises)
    monkeypatch.setattr("dperm.reproduce.catalogue.LESSONS", (*lessons, broken))
    result = dperm("reproduce falls breaks --folder here")
    assert result.exit_code == 130
    assert sorted(path.name for path in Path("here").iterdir()) == FILES


def test_there_are_three_examples_and_help_shows_them_unbroken(dperm):
    out = dperm("reproduce --help").stdout
    assert len(EXAMPLES) == 3 and all(f"  dperm {line}\n" in out for line in EXAMPLES)


@pytest.mark.parametrize("line", EXAMPLES)
def test_every_example_in_the_help_runs(tmp_path, monkeypatch, dperm, line):
    monkeypatch.chdir(tmp_path)
    result = dperm(line if "--folder" not in line else f"{line} --quick")
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout


def test_help_imports_nothing_heavy():
    code = (
        "import atexit, sys\n"
        "heavy = {'numpy', 'scipy', 'matplotlib', 'dperm.privacy', 'dperm.reproduce.catalogue'}\n"
        "atexit.register(lambda: print(sorted(heavy & set(sys.modules)), file=sys.stderr))\n"
        f"{ENTRY}"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, "reproduce", "--help"], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr.strip()) == (0, "[]")


def test_a_process_ends_with_the_code_that_is_promised(tmp_path):
    words = ["reproduce", "printed-algorithm-2", "--quick", "--folder", str(tmp_path)]
    codes = [package().run(ENTRY, words, cwd=tmp_path, environment=os.environ).returncode for _ in range(2)]
    assert codes == [0, 2]
    assert len(list(tmp_path.iterdir())) == 3


@pytest.mark.slow
def test_all_lessons_run_and_all_their_checks_hold(tmp_path, dperm):
    result = dperm("reproduce all --quick --folder", str(tmp_path))
    assert result.exit_code == 0, result.stderr
    assert "DOES NOT HOLD" not in result.stdout
    assert len(list(tmp_path.iterdir())) == 3 * len(LESSONS)
