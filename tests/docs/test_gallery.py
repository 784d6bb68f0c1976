# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""The gallery has a picture, a page and the data of every lesson, as `dperm reproduce all --folder docs/gallery` writes
them, at full effort and with seed 0; and what was checked holds there."""

import json
import re

import pytest
from doc_pages import DOCS

from dperm.reproduce import LESSONS
from dperm.reproduce.writing import SUFFIXES, about

GALLERY = DOCS / "gallery"
LARGEST = 240_000  # at two pixels for each one of the page
ALL = pytest.mark.parametrize("lesson", LESSONS, ids=lambda lesson: lesson.name)


def stored(lesson) -> dict[str, object]:
    return json.loads((GALLERY / f"{lesson.name}.json").read_text(encoding="utf-8"))


def test_the_gallery_has_the_files_of_the_lessons_and_no_others():
    wanted = {f"{lesson.name}{suffix}" for lesson in LESSONS for suffix in SUFFIXES}
    assert {file.name for file in GALLERY.iterdir()} == wanted


@ALL
def test_a_picture_is_a_small_png(lesson):
    picture = (GALLERY / f"{lesson.name}.png").read_bytes()
    assert picture.startswith(b"\x89PNG")
    assert int.from_bytes(picture[16:20], "big") >= 1400, "too coarse for a screen with two pixels in place of one"
    assert len(picture) <= LARGEST


@ALL
def test_what_was_checked_holds(lesson):
    checks = stored(lesson)["checks"]
    assert checks
    assert [check["statement"] for check in checks if not check["holds"]] == []
    assert "DOES NOT HOLD" not in (GALLERY / f"{lesson.name}.md").read_text(encoding="utf-8")


@ALL
def test_the_page_is_of_the_lesson_as_it_is_now(lesson):
    data = stored(lesson)
    assert {key: data[key] for key in about(lesson)} == json.loads(json.dumps(about(lesson)))
    assert data["sentence"]


@ALL
def test_the_gallery_shows_the_lesson_under_its_title(lesson):
    page = (DOCS / "gallery.md").read_text(encoding="utf-8")
    shown = re.search(rf"^### (.+)\n\n\[!\[.+\]\(gallery/{lesson.name}\.png\)\]", page, re.MULTILINE)
    assert shown is not None
    assert shown[1] == lesson.title
    assert f"`dperm reproduce {lesson.name}`" in page


def test_pictures_and_the_menu_are_in_the_order_of_the_lessons():
    page, names = (DOCS / "gallery.md").read_text(encoding="utf-8"), [lesson.name for lesson in LESSONS]
    assert re.findall(r"\(gallery/(\w+)\.png\)", page) == names
    assert re.findall(r"^gallery/(\w+)$", page, re.MULTILINE) == names


@ALL
def test_what_is_claimed_is_drawn_as_the_legend_says(lesson):
    kinds = {curve["name"]: curve["kind"] for curve in stored(lesson)["picture"]["curves"]}
    assert {kind for name, kind in kinds.items() if "claimed" in name} <= {"published"}


@ALL
def test_bands_are_explained_where_there_are_some(lesson):
    picture = stored(lesson)["picture"]
    assert bool(picture["bands"]) == any(curve["low"] for curve in picture["curves"])


@pytest.mark.slow
@ALL
def test_the_lesson_still_has_these_parameters_and_this_table(lesson):
    from dperm.reproduce import Effort
    from dperm.reproduce.writing import as_dict

    data, now = stored(lesson), json.loads(json.dumps(as_dict(lesson, lesson.run(Effort()))))
    assert data["parameters"] == now["parameters"]
    assert data["columns"] == now["columns"]
    assert len(data["rows"]) == len(now["rows"])
    for before, after in zip(data["rows"], now["rows"], strict=True):
        assert [near(cell) for cell in before] == after


def near(cell: object) -> object:
    """Numbers may differ in their last digits between machines."""
    return pytest.approx(cell, rel=1e-6, abs=1e-12) if isinstance(cell, float) else cell
