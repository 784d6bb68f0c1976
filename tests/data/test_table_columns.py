# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Columns of a table in row groups: a choice of some, and declared ones as features."""

import pickle

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dperm.data import Categorical, Numeric, PublicEncoder, row_groups, table
from dperm.data.encoded_table import EncodedTable, SchemaReader
from dperm.data.schema import TargetSchema
from dperm.errors import DataError, ParameterError

ROWS = {
    "age": [10.0, None, 30.0, 120.0, 50.0],
    "work": ["a", "b", None, "a", "SECRET"],
    "pay": [1.0, 2.0, 3.0, 4.0, 5.0],
}
ENCODER = PublicEncoder({"work": Categorical(["a", "b"], impute="b", other=True), "age": Numeric(0, 100, missing=True)})


@pytest.fixture
def path(tmp_path):
    pq.write_table(pa.table(ROWS), tmp_path / "t.parquet", row_group_size=3)
    return tmp_path / "t.parquet"


@pytest.mark.parametrize("kind", ["parquet", "csv", "npy", "memory"])
def test_some_columns_are_chosen_when_a_table_is_opened_or_later(path, tmp_path, kind):
    pa.csv = pytest.importorskip("pyarrow.csv")
    pa.csv.write_csv(pa.table(ROWS), tmp_path / "t.csv")
    np.save(tmp_path / "t.npy", np.column_stack([ROWS["pay"], ROWS["pay"], ROWS["pay"]]))
    source = {"parquet": path, "csv": tmp_path / "t.csv", "npy": tmp_path / "t.npy", "memory": ROWS}[kind]
    first, last = ("x0", "x2") if kind == "npy" else ("age", "pay")
    whole, some = table(source), table(source, columns=[last, first])
    assert some.columns == whole.select([last, first]).columns == (last, first)
    assert some.kinds == whole.select([last, first]).kinds
    assert [group.id for group in some.groups] == [group.id for group in whole.groups]
    assert (some.engine.name, some.memory) == (whole.engine.name, whole.memory)


@pytest.mark.parametrize("columns", [["age", "height"], ["age", "age"], [], "age", [1], None])
def test_a_choice_of_columns_is_a_list_of_different_names_of_columns(path, columns):
    with pytest.raises(ParameterError, match="columns must be"):
        table(path).select(columns)


def test_a_file_that_lacks_a_chosen_column_is_named(path, tmp_path):
    other = tmp_path / "other.parquet"
    pq.write_table(pa.table({"pay": [1.0], "height": [2.0]}), other)
    assert table([path, other], columns=["pay"]).columns == ("pay",)
    with pytest.raises(DataError, match=r"other.parquet must have a column named 'age'"):
        table([path, other], columns=["pay", "age"])


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("pieces", [1, 2, 100])
def test_declared_columns_are_encoded_as_in_memory(path, monkeypatch, sparse, pieces):
    monkeypatch.setattr(row_groups, "PIECE_ROWS", pieces)
    reader = pickle.loads(pickle.dumps(SchemaReader(ENCODER, "pay", sparse=sparse)))
    found = [piece for group in table(path).groups for piece in reader(group)]
    dense = [X.toarray() if sparse else X for X, _ in found]
    np.testing.assert_array_equal(np.concatenate(dense), ENCODER.transform(ROWS))
    assert np.concatenate([y for _, y in found]).tolist() == ROWS["pay"]
    assert max(map(len, dense)) <= pieces


def test_a_cell_outside_the_declarations_is_refused_by_row_group_and_column(path):
    strict = PublicEncoder({"work": Categorical(["a", "b"], impute="a"), "age": Numeric(0, 100, impute=1)})
    found = table(path)
    reader = SchemaReader(strict, "pay")
    list(reader(found.groups[0]))
    with pytest.raises(DataError, match="column 'work' has a value outside") as error:
        list(reader(found.groups[1]))
    assert "in row group 't.parquet, row group 1'" in str(error.value) and "SECRET" not in str(error.value)
    assert error.value.__cause__ is None and error.value.__context__ is None
    other = SchemaReader(strict, "pay", unseen="other")
    assert next(iter(other(found.groups[1])))[0][1].tolist() == [0.0, 0.0, 0.0]
    target = TargetSchema("pay", classes=(1, 2, 3))
    with pytest.raises(DataError, match="column 'pay' must hold the classes"):
        list(SchemaReader(ENCODER, "pay", target=target)(found.groups[1]))


def test_an_encoded_table_shows_nothing_about_the_rows(path):
    assert repr(EncodedTable(table(path), ENCODER)) == "EncodedTable(5 features)"
