# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Columns of every kind of table are read alike, and what cannot be read is refused without a word about it."""

import datetime
import math
from decimal import Decimal
from enum import Enum
from fractions import Fraction

import numpy as np
import pytest
from table_kinds import KINDS, pandas_frame

from dperm.data.tables import column, column_names, columns, is_table, numeric_matrix
from dperm.errors import DataError, ParameterError

DATA = {
    "count": [3, None, 5],
    "share": [0.5, None, -1.5],
    "word": ["a", None, "b"],
    "flag": [True, None, False],
    "whole": [1, 2, 3],
    "sure": [True, False, True],
}
NUMBERS = {
    "count": [3.0, math.nan, 5.0],
    "share": [0.5, math.nan, -1.5],
    "flag": [1.0, math.nan, 0.0],
    "whole": [1.0, 2.0, 3.0],
    "sure": [1.0, 0.0, 1.0],
}


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_table_is_read_alike(kind):
    table = kind(DATA)
    assert is_table(table)
    assert column_names(table) == tuple(DATA)
    assert column(table, "word").tolist() == ["a", None, "b"]
    for name, expected in NUMBERS.items():
        found = column(table, name)
        assert found.dtype == np.float64
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("kind", KINDS)
def test_all_numbers_make_a_matrix(kind):
    matrix, names = numeric_matrix(kind({name: DATA[name] for name in NUMBERS}))
    assert names == tuple(NUMBERS)
    assert matrix.dtype == np.float64
    np.testing.assert_array_equal(matrix, np.transpose(list(NUMBERS.values())))


@pytest.mark.parametrize("kind", KINDS)
def test_a_column_that_is_no_number_is_named_with_its_remedy(kind):
    with pytest.raises(DataError, match=r"column 'word' must hold numbers.*Declare its public categories") as error:
        numeric_matrix(kind(DATA))
    assert_silent(error)


def test_an_integer_beyond_doubles_is_infinite():
    assert column({"a": [17, 10**400, -(10**400)]}, "a").tolist() == [17.0, np.inf, -np.inf]


def assert_silent(error):
    """No digit, and no exception that might have one."""
    assert not any(character.isdigit() for character in str(error.value))
    assert error.value.__context__ is None
    assert error.value.__cause__ is None


def test_pandas_has_many_ways_to_miss_something():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(
        {
            "Int64": pandas.array([1, None, 3], dtype="Int64"),
            "Float64": pandas.array([1.0, None, 3.0], dtype="Float64"),
            "object": pandas.Series([1, pandas.NA, 3.0], dtype=object),
            "none": pandas.Series([1, None, 3], dtype=object),
            "nat": pandas.Series([1, pandas.NaT, 3], dtype=object),
            "category": pandas.Categorical([1, None, 3]),
        }
    )
    np.testing.assert_array_equal(numeric_matrix(frame)[0], [[1.0] * 6, [math.nan] * 6, [3.0] * 6])
    for dtype in ("object", "string", "category"):
        values = pandas.DataFrame({"word": pandas.Series(["a", pandas.NA, "b"], dtype=dtype)})
        assert column(values, "word").tolist() == ["a", None, "b"]
    flags = pandas.DataFrame({"flag": pandas.array([True, None, False], dtype="boolean")})
    np.testing.assert_array_equal(column(flags, "flag"), [1, math.nan, 0])


def test_polars_categories_and_decimals_are_read():
    polars = pytest.importorskip("polars")
    words = ["b", None, "a"]
    frame = polars.DataFrame(
        {
            "categorical": polars.Series(words, dtype=polars.Categorical),
            "enum": polars.Series(words, dtype=polars.Enum(["a", "b"])),
            "decimal": polars.Series([Decimal("0.10"), None, Decimal(2)]),
        }
    )
    assert column(frame, "categorical").tolist() == words
    assert column(frame, "enum").tolist() == words
    np.testing.assert_array_equal(column(frame, "decimal"), [0.1, math.nan, 2.0])


@pytest.mark.parametrize("words", [["b", None, "a"], [None, "a"], [None, None]])
def test_gaps_of_an_arrow_dictionary_in_pieces_stay_gaps(words):
    pyarrow = pytest.importorskip("pyarrow")
    piece = pyarrow.array(words, pyarrow.string()).dictionary_encode()
    whole = pyarrow.chunked_array([piece, piece])
    for table in (pyarrow.table({"word": whole}), {"word": whole}):
        found = column(table, "word")
        assert [None if x != x else x for x in found.tolist()] == words + words


def test_pieces_of_an_arrow_column_may_be_of_different_kinds():
    pyarrow = pytest.importorskip("pyarrow")
    gaps = pyarrow.chunked_array([pyarrow.array([2**53 + 1, 2]), pyarrow.array([None, 3], pyarrow.int64())])
    flags = pyarrow.chunked_array([pyarrow.array([True, False]), pyarrow.array([None, True], pyarrow.bool_())])
    table = pyarrow.table({"count": gaps, "flag": flags, "none": pyarrow.nulls(4)})
    np.testing.assert_array_equal(column(table, "count"), [2.0**53, 2, math.nan, 3])
    np.testing.assert_array_equal(column(table, "flag"), [1, 0, math.nan, 1])
    np.testing.assert_array_equal(column(table, "none"), [math.nan] * 4)
    empty = pyarrow.table({"none": pyarrow.chunked_array([], pyarrow.string())})
    assert column(empty, "none").shape == (0,)


class Colour(str, Enum):  # noqa: UP042  # its str() is "Colour.RED"
    RED = "red"


def test_items_of_a_list_are_read_one_by_one():
    values = [1, "1", True, 2.5, None, math.nan, Decimal("0.1"), Fraction(1, 4), Colour.RED, np.str_("x"), np.int8(3)]
    expected = [1.0, "1", 1.0, 2.5, None, None, 0.1, 0.25, "red", "x", 3.0]
    for held in (values, tuple(values), np.array(values, dtype=object)):
        found = column({"x": held}, "x").tolist()
        assert found == expected
        assert {type(item) for item in found} == {str, float, type(None)}
    np.testing.assert_array_equal(column({"x": [np.bool_(True), np.float32(0.5), None]}, "x"), [1, 0.5, math.nan])


def test_what_is_masked_is_missing():
    masked = {"x": np.ma.array([1, 2, 3], mask=[0, 1, 0]), "y": np.ma.array(["a", "b", "c"], mask=[1, 0, 0])}
    np.testing.assert_array_equal(column(masked, "x"), [1, math.nan, 3])
    assert column(masked, "y").tolist() == [None, "b", "c"]


UNREADABLE = {
    "dates": np.array(["2026-01-17", "NaT"], dtype="datetime64[ns]"),
    "masked dates": np.ma.array(np.array([17, 18], dtype="datetime64[ns]"), mask=[0, 1]),
    "durations": np.array([17, 18], dtype="timedelta64[s]"),
    "a date": [datetime.date(2026, 1, 17), None],
    "bytes": np.array([b"seventeen", b"x"]),
    "a byte string": ["x", b"seventeen"],
    "complex": np.array([17j, 1]),
    "a complex number": [1, 17j],
    "lists": [[17, 18], [19, 20]],
    "a list": [17, [18]],
    "an array": [np.array(17), 1],
    "two dimensions": np.array([[17], [18]]),
    "no dimension": np.array(17),
    "a number": 17,
    "text": "seventeen",
    "a signalling NaN": [17, Decimal("sNaN")],
    "structures": np.array([(17, 1)], dtype=[("a", int), ("b", int)]),
}


@pytest.mark.parametrize("held", UNREADABLE.values(), ids=UNREADABLE)
def test_anything_but_numbers_and_text_is_refused_without_a_word_about_it(held):
    for read in (lambda: column({"when": held}, "when"), lambda: numeric_matrix({"when": held})):
        with pytest.raises(DataError, match="column 'when' must hold numbers, truth values or text") as error:
            read()
        assert_silent(error)
        assert "seventeen" not in str(error.value)


class Angry(float):
    """Shows its value when asked for anything."""

    def __float__(self):
        raise ValueError(f"{17} is angry")


def test_an_exception_from_the_data_is_not_repeated():
    with pytest.raises(DataError) as error:
        column({"x": [Angry(17.0), 1.0]}, "x")
    assert_silent(error)


def test_running_out_of_memory_is_not_blamed_on_the_data():
    class Large:
        def __array__(self, dtype=None, copy=None):
            raise MemoryError

    with pytest.raises(MemoryError):
        column({"x": Large()}, "x")


def test_columns_that_are_missing_or_named_twice_are_refused():
    pandas = pytest.importorskip("pandas")
    with pytest.raises(DataError, match="the table must have a column named 'age'"):
        column(pandas.DataFrame({"word": ["a"]}), "age")
    twice = pandas.DataFrame([[1, 2]], columns=["age", "age"])
    with pytest.raises(DataError, match="the table must have only one column named 'age'"):
        column(twice, "age")
    matrix, names = numeric_matrix(twice)
    assert (matrix.tolist(), names) == ([[1.0, 2.0]], ("age", "age"))


def test_columns_of_different_lengths_are_refused():
    for read in (lambda t: list(columns(t, ["a", "b"])), numeric_matrix):
        with pytest.raises(DataError, match="all columns of the table must have the same length") as error:
            read({"a": [1, 2, 3], "b": [1, 2]})
        assert_silent(error)


def test_a_table_without_columns_has_no_matrix():
    with pytest.raises(DataError, match="at least one column"):
        numeric_matrix({})


def test_a_table_may_have_no_records():
    assert numeric_matrix({"a": [], "b": np.empty(0)})[0].shape == (0, 2)
    assert column(pandas_frame({"a": []}), "a").shape == (0,)


@pytest.mark.parametrize("thing", [np.eye(2), [[1.0]], "age", 17, None])
def test_what_has_no_named_columns_is_no_table(thing):
    assert not is_table(thing)
    with pytest.raises(ParameterError, match=f"X must be a table.*got an object of type {type(thing).__name__}"):
        column_names(thing)


def test_series_and_lazy_frames_are_no_tables():
    assert not is_table(pytest.importorskip("pandas").Series([1]))
    polars = pytest.importorskip("polars")
    assert not is_table(polars.Series([1]))
    lazy = polars.LazyFrame({"a": [1]})
    assert not is_table(lazy)  # warns if its columns are asked for, and warnings are errors here
    with pytest.raises(ParameterError, match="a lazy one collected first"):
        column(lazy, "a")


def test_what_has_chunks_but_is_not_arrow_is_not_read_as_its_chunks():
    class Stored:
        chunks = ((2, 1),)

        def __array__(self, dtype=None, copy=None):
            return np.array([7.0, 8.0, 9.0])

    assert column({"a": Stored()}, "a").tolist() == [7, 8, 9]


def test_columns_with_numbers_as_names_are_found_by_their_text():
    frame = pandas_frame({0: [1, 2], 1: [3, 4]})
    assert [each.tolist() for each in columns(frame, column_names(frame))] == [[1.0, 2.0], [3.0, 4.0]]
    with pytest.raises(DataError, match="'1'"):
        column(pandas_frame({1: [1], "1": [2]}), "1")


def test_names_that_are_not_strings_are_shown_as_text():
    frame = pytest.importorskip("pandas").DataFrame([[1, 2]])
    assert column_names(frame) == ("0", "1")
    assert numeric_matrix(frame)[0].tolist() == [[1, 2]]


def test_doubles_are_not_copied():
    values = np.arange(4.0)
    assert np.shares_memory(column({"a": values}, "a"), values)
