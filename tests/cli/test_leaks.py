# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Whatever is wrong with the data, no message repeats a cell, a row number or a count: it names column and rule."""

import csv
import re
from pathlib import Path

import pytest

FIT = "fit data.csv --target income --epsilon 1 --schema schema.toml"
PAY = "fit data.csv --target pay --epsilon 1 --schema pay.toml"
GOOD = ["40", "private", "10", "<=50K", "50", "SECRET"]
HEAD = ["age", "work", "hours", "income", "pay", "name"]


def bad(column, cell):
    """Forty-three good records, and one whose cell in this column is bad."""
    row = list(GOOD)
    row[HEAD.index(column)] = cell
    return [HEAD, *[GOOD] * 41, row, *[GOOD] * 2]


def written(rows):
    with open("data.csv", "w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows(rows)


CELLS = [
    (FIT, "hours", "SECRET", ["column 'hours'", "numbers"]),
    (FIT, "hours", "SECRET-17,5", ["column 'hours'", "numbers"]),
    (FIT, "hours", "77777 SECRET", ["column 'hours'", "numbers"]),
    (FIT, "hours", "", ["column 'hours'", "missing", "impute"]),
    (FIT, "hours", "NaN", ["column 'hours'", "missing"]),
    (FIT, "income", "SECRET", ["column 'income'", "classes"]),
    (FIT, "income", "", ["column 'income'", "classes"]),
    (PAY, "pay", "SECRET", ["column 'pay'", "numbers"]),
    (PAY, "pay", "", ["column 'pay'", "finite number"]),
    (PAY, "pay", "inf", ["column 'pay'", "finite number"]),
    (FIT.replace("schema.toml", "strict.toml"), "work", "SECRET", ["column 'work'", "outside its declared categories"]),
    (FIT.replace("schema.toml", "strict.toml"), "work", "", ["column 'work'", "missing"]),
    (FIT.replace("schema.toml", "codes.toml"), "work", "SECRET", ["column 'work'", "kind"]),
]


@pytest.mark.parametrize(("line", "column", "cell", "words"), CELLS, ids=range(len(CELLS)))
def test_a_bad_cell_is_named_by_its_column_and_rule(desk, ends, line, column, cell, words):
    strict = Path("schema.toml").read_text().replace('impute = "unknown"\nother = true', "")
    Path("strict.toml").write_text(strict)
    Path("codes.toml").write_text(strict.replace('"private", "public", "self", "unknown"]', "1, 2]\nother = true"))
    written(bad(column, cell))
    said = ends(2, line).stderr
    assert all(word in said for word in words), said
    assert not re.search(r"\b4[1-5]\b", said)
    assert "row" not in said.lower().replace("(in row group 'data.csv')", "")
    assert not Path("model.dperm").exists()


FILES = [
    (b"", ["empty"]),
    (b"\n\n", ["empty"]),
    (b"age,work,hours,income,pay,name\n", ["no record"]),
    (b"SECRET,1,2\nSECRET,3,4\n", ["column named 'age'"]),
    (b"age,work,hours,income,income\n1,private,2,<=50K,SECRET\n", ["once", "'income'"]),
    (b"age,work,hours,income,\n1,private,2,<=50K,SECRET\n", ["without a name"]),
    (b"age,work,hours,income\n1,private,2,<=50K\n1,private,2,<=50K,SECRET\n", ["as many cells"]),
    (b"age,work,hours,income\n1,private,2,<=50K\n1,SECRET\n", ["as many cells"]),
    (b"age,work,hours,income\n1,private,2,<=50K\n1,SECRET\xff,2,<=50K\n", ["UTF-8"]),
    (b"age,work,hours,income\n1,private,2,<=50K\n1,SECRET\0,2,<=50K\n", ["NUL"]),
    (b'age,work,hours,income\n1,private,2,<=50K\n1,"SECRET,2,<=50K\n', ["quote"]),
    (b'age,work,hours,income\n1,private,2,<=50K\n1,"SEC"RET,2,<=50K\n', ["quote"]),
    (b"age,work,hours,income\n1,private,2,<=50K\n1," + b"SECRET" * 40_000 + b",2,<=50K\n", ["characters"]),
    ("age,work,hours,income\n1,private,2,<=50K\n".encode("utf-16"), ["NUL"]),
]


@pytest.mark.parametrize(("content", "words"), FILES, ids=range(len(FILES)))
@pytest.mark.parametrize("verb", ["fit", "predict"])
def test_a_bad_file_is_refused_with_its_rule(desk, ends, verb, content, words):
    ends(0, FIT)
    Path("model.dperm").rename("fitted.dperm")
    Path("data.csv").write_bytes(content)
    said = ends(2, FIT if verb == "fit" else "predict fitted.dperm data.csv").stderr
    assert all(word in said for word in words), said
    assert "data.csv" in said and "line 2" not in said and "line 3" not in said
    assert not Path("model.dperm").exists()


def test_a_file_without_a_header_does_not_show_its_first_record(desk, ends):
    Path("data.csv").write_text("40,private,SECRET-10,<=50K,50,SECRET-NAME\n" * 30)
    ends(2, FIT)
    ends(2, "schema check schema.toml data.csv")


def test_what_nobody_foresaw_is_reported_without_its_words(desk, ends, monkeypatch):
    from dperm.data import large_tables
    from dperm.data.encoder import PublicEncoder

    def breaks(*given, **more):
        raise ValueError("could not convert string to float: 'SECRET'")

    with monkeypatch.context() as patched:
        patched.setattr(large_tables, "table", breaks)
        said = ends(1, FIT).stderr
    assert "ValueError at" in said and "fit.py:" in said and "not shown" in said
    monkeypatch.setattr(PublicEncoder, "transform", breaks)
    said = ends(2, FIT).stderr
    assert "row group 'data.csv' cannot be processed: a library raised ValueError" in said


def test_data_that_do_not_fit_into_memory_are_refused(desk, ends, monkeypatch):
    from dperm.data import large_tables
    from dperm.data.encoder import PublicEncoder

    def breaks(*given, **more):
        raise MemoryError("unable to allocate SECRET")

    with monkeypatch.context() as patched:
        patched.setattr(PublicEncoder, "transform", breaks)
        assert "row group 'data.csv' does not fit into memory" in ends(2, FIT).stderr
    monkeypatch.setattr(large_tables, "table", breaks)
    assert "the data do not fit into memory" in ends(2, FIT).stderr


def test_warnings_of_other_libraries_are_not_shown(desk, ends, monkeypatch):
    import warnings

    from dperm.data import large_tables

    known = large_tables.table

    def warns(*given, **more):
        warnings.warn("SECRET", RuntimeWarning, stacklevel=2)
        return known(*given, **more)

    monkeypatch.setattr(large_tables, "table", warns)
    assert ends(0, FIT).stderr == ""


def test_warnings_of_dperm_are_lines_and_said_once(desk, ends):
    said = ends(0, f"{FIT} --delta 0.01 --epsilon 0.01 --n 1500").stderr
    assert said.count("Warning: --delta 0.01 is above 1/n") == 1 and "UserWarning" not in said
