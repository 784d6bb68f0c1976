# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""A diagnosis lists the cells that a fit refuses, and no other ones."""

import csv

import numpy as np
import pandas as pd
import pytest

from dperm.data import Categorical, Numeric, PublicEncoder
from dperm.data.diagnosis import MOST, bad_cells
from dperm.data.files import read_table
from dperm.data.schema import TargetSchema
from dperm.errors import DataError

COLUMNS = {
    "age": Numeric(0, 100, impute=40),
    "hours": Numeric(0, 80),
    "work": Categorical(["private", "public"]),
    "code": Categorical([1, 2], other=True, missing=True),
    "raw": Numeric(0, 1, canonical=True),
}
TARGETS = [TargetSchema("y", classes=("a", "b")), TargetSchema("y", range=(0, 9))]
ODD = ["", "x", "1_0", "NaN", "inf", "1", "private", " 5 ", "true", "a", "2.0", "VALUE"]


def is_accepted(path, declared):
    """Whether a fit accepts the file."""
    try:
        PublicEncoder(COLUMNS).transform(read_table(path, declared))
    except DataError:
        return False
    return True


@pytest.mark.parametrize("target", TARGETS, ids=["classes", "range"])
def test_a_diagnosis_finds_what_a_fit_refuses(tmp_path, target):
    stream, path = np.random.default_rng(7), tmp_path / "t.csv"
    good = ["40", "10", "private", "1", "?", "a" if target.classes else "5"]
    declared = {**COLUMNS, "y": target}
    outcomes = set()
    for _ in range(150):
        rows = [list(good) for _ in range(20)]
        places = [(int(stream.integers(20)), int(stream.integers(6))) for _ in range(stream.integers(0, 3))]
        for record, column in places:
            rows[record][column] = ODD[stream.integers(len(ODD))]
        with path.open("w", newline="") as file:
            csv.writer(file).writerows([list(declared), *rows])
        found = bad_cells(path, declared)
        assert {(cell.record - 1, list(declared).index(cell.column)) for cell in found} <= set(places)
        assert all(cell.value in ODD and "VALUE" not in cell.rule for cell in found)
        assert (not found) == is_accepted(path, declared)
        outcomes.add(len(found))
    assert outcomes == {0, 1, 2}


def test_arrow_files_are_diagnosed_too(tmp_path):
    path = tmp_path / "t.parquet"
    frame = pd.DataFrame({"hours": [1.0, None, None], "work": ["private", "x", None], "y": ["a", "no", "b"]})
    frame.to_parquet(path)
    declared = {"hours": COLUMNS["hours"], "work": COLUMNS["work"], "y": TARGETS[0]}
    found = [(cell.record, cell.column, cell.value) for cell in bad_cells(path, declared)]
    assert sorted(found[:3], key=str) == [(2, "hours", None), (2, "work", "x"), (2, "y", "no")]
    assert sorted(found[3:], key=str) == [(3, "hours", None), (3, "work", None)]


def test_the_list_is_short_and_in_order(tmp_path, monkeypatch):
    from dperm.data import csv_files

    monkeypatch.setattr(csv_files, "ROWS", 7)
    path = tmp_path / "t.csv"
    path.write_text("hours,work\n" + "1,private\n\n1\n" * 3 + "x,private\n1,no\n" * 50)
    found = bad_cells(path, {name: COLUMNS[name] for name in ("hours", "work")})
    assert [cell.record for cell in found] == [2, 4, 6, *range(7, 24)] and len(found) == MOST
    assert [cell.column for cell in found[:5]] == [None, None, None, "hours", "work"] and found[0].value is None
    path.write_text('hours,work\n1,"private\n')
    with pytest.raises(DataError, match="quote") as caught:
        bad_cells(path, {"hours": COLUMNS["hours"]})
    assert caught.value.__context__ is None
