# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""The encoder of additive models: rows of norm at most 1 (T96), independent records, stored declarations."""

import json
import math
import pickle
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from table_kinds import KINDS

from dperm.data import Categorical, Numeric
from dperm.data.additive_encoder import RECORDS, AdditiveEncoder
from dperm.errors import DataError, ParameterError

COLUMNS = {
    "age": Numeric(17, 90, weight=2),
    "gain": Numeric(0, 1e5, unit=1000, special=(0, 99999), detail=0.6, bins=16),
    "hour": Numeric(0, 24, period=24, impute=12),
    "sex": Categorical(["f", "m"]),
    "work": Categorical(["public", "private", "self"], weight=0.5),
}
PAIRS = (("hour", "work"), ("sex", "age"))
DATA = {
    "age": [17.0, 53.5, None, 200.0],
    "gain": [0.0, 99999.0, 1234.5, None],
    "hour": [0.0, 23.9, None, 6.0],
    "sex": ["f", "m", None, "x"],
    "work": ["self", "public", "none", None],
    "unused": ["never", "read", "at", "all"],
}
ENCODER = AdditiveEncoder(COLUMNS, PAIRS)
numbers = st.floats() | st.sampled_from([math.nan, math.inf, -math.inf, 0.0, 99999.0, 24.0])
texts = st.sampled_from(["f", "m", "public", "private", "self", "other", None])
records = st.fixed_dictionaries({"age": numbers, "gain": numbers, "hour": numbers, "sex": texts, "work": texts})


def table_of(rows):
    return {name: [row[name] for row in rows] for name in COLUMNS}


def squared(row):
    return sum(Fraction(entry) ** 2 for entry in row.tolist())


@settings(max_examples=60)
@given(st.lists(records, min_size=1, max_size=5))
def test_every_row_has_norm_at_most_1_in_exact_arithmetic(rows):  # T96
    matrix = ENCODER.transform(table_of(rows))
    assert all(squared(row) <= 1 for row in matrix)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.floats(1e-6, 1e6), min_size=1, max_size=30))
def test_rows_attain_norm_1_and_never_exceed_it_for_any_weights(weights):  # T96
    columns = {f"x{place}": Categorical(["a", "b"], weight=weight) for place, weight in enumerate(weights)}
    encoder = AdditiveEncoder(columns)
    (row,) = encoder.transform({name: ["b"] for name in columns})
    assert 1 - 1e-11 < squared(row) <= 1
    assert encoder.norm == 1
    assert encoder.shares == pytest.approx(np.array(weights) / sum(weights))


def test_the_shares_of_terms_are_those_of_their_weights():
    assert [term.name for term in ENCODER.terms] == ["age", "gain", "hour", "sex", "work", "hour x work", "sex x age"]
    assert ENCODER.shares == pytest.approx(np.array([2, 1, 1, 1, 0.5, 3, 3]) / 11.5)
    matrix = ENCODER.transform(DATA)
    for part, share in zip(ENCODER.slices, ENCODER.shares, strict=True):
        norm = float((matrix[0, part] ** 2).sum())
        assert norm == pytest.approx(share, rel=1e-9)
    assert [part.stop - part.start for part in ENCODER.slices] == [33, 51, 16, 1, 4, 64, 75]
    assert ENCODER.slices[-1].stop == len(ENCODER.feature_names) == matrix.shape[1]


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_table_gives_one_matrix(kind):
    if kind.__name__ == "arrays":
        table = {name: np.array(values, dtype=object) for name, values in DATA.items()}
    else:
        table = kind(DATA)
    matrix = ENCODER.transform(table)
    assert matrix.dtype == np.float64
    assert matrix.flags.c_contiguous
    assert matrix.tolist() == ENCODER.transform(DATA).tolist()


@settings(max_examples=40)
@given(st.lists(records, min_size=2, max_size=6), st.data())
def test_records_are_encoded_separately(rows, data):
    place = data.draw(st.integers(0, len(rows) - 1))
    alone = ENCODER.transform(table_of([rows[place]]))
    assert ENCODER.transform(table_of(rows))[place].tolist() == alone[0].tolist()
    without = ENCODER.transform(table_of([row for other, row in enumerate(rows) if other != place]))
    assert without.tolist() == np.delete(ENCODER.transform(table_of(rows)), place, axis=0).tolist()


def test_values_of_terms_sum_to_the_linear_function_of_the_features():
    generator = np.random.default_rng(5)
    count = RECORDS + 7
    table = {
        "age": generator.uniform(0, 120, count),
        "gain": generator.choice([0, 99999, 5.0, 1e4, math.nan], count),
        "hour": generator.uniform(-3, 30, count),
        "sex": generator.choice(["f", "m", "x"], count),
        "work": generator.choice(["public", "private", "none"], count),
    }
    coef = generator.normal(size=len(ENCODER.feature_names))
    values = ENCODER.term_values(coef)
    assert [len(one) for one in values] == [len(term.labels) for term in ENCODER.terms]
    total = sum(places.mean_of(one) for places, one in zip(ENCODER.places(table), values, strict=True))
    assert np.abs(ENCODER.transform(table) @ coef - total).max() < 1e-12
    with pytest.raises(ParameterError, match="coef must have one coefficient for each of the 244 features"):
        ENCODER.term_values(coef[1:])


def test_a_table_without_records_has_no_rows():
    assert ENCODER.transform({name: [] for name in COLUMNS}).shape == (0, 244)


def test_declarations_survive_json_pickle_and_copies():
    again = AdditiveEncoder.from_json(ENCODER.to_json())
    assert again == ENCODER
    assert hash(again) == hash(ENCODER)
    assert again.transform(DATA).tolist() == ENCODER.transform(DATA).tolist()
    assert "\n" not in ENCODER.to_json()
    assert json.loads(ENCODER.to_json())["dperm_additive_encoder"] == 1
    assert ENCODER.tables is ENCODER.tables
    stored = pickle.dumps(ENCODER)
    assert pickle.loads(stored) == ENCODER
    assert len(stored) < 2000  # no table is stored
    assert AdditiveEncoder(COLUMNS) != ENCODER
    assert AdditiveEncoder(dict(reversed(COLUMNS.items())), PAIRS) != ENCODER
    assert ENCODER != COLUMNS


def test_the_stored_form_of_version_1_is_fixed():
    text = (
        '{"dperm_additive_encoder": 1, "columns": [{"name": "x", "type": "numeric", "low": 0.0, "high": 1.0, "impute": '
        'null, "unit": 2.0, "special": [0.0]}, {"name": "y", "type": "categorical", "categories": ["a"], "impute": '
        'null, "other": false, "weight": 2.0}], "pairs": [["x", "y"]]}'
    )
    columns = {"x": Numeric(0, 1, unit=2, special=(0,)), "y": Categorical(["a"], weight=2)}
    assert AdditiveEncoder(columns, [("x", "y")]).to_json() == text
    assert AdditiveEncoder.from_json(text) == AdditiveEncoder(columns, (("x", "y"),))


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("{", "it is not JSON"),
        ("[]", '"dperm_additive_encoder": 1'),
        ('{"dperm_encoder": 1, "columns": []}', '"dperm_additive_encoder": 1'),
        ('{"dperm_additive_encoder": 2, "columns": [], "pairs": []}', "Upgrade dperm"),
        ('{"dperm_additive_encoder": 1, "columns": []}', 'lists of "columns" and "pairs"'),
        ('{"dperm_additive_encoder": 1, "columns": [], "pairs": []}', "at least one"),
        ('{"dperm_additive_encoder": 1, "columns": [{"name": "x"}], "pairs": []}', "AdditiveEncoder.to_json: each"),
    ],
)
def test_what_is_not_a_stored_encoder_is_refused(text, rule):
    with pytest.raises(ParameterError, match=rule):
        AdditiveEncoder.from_json(text)


X, Y = Numeric(0, 1), Categorical(["a", "b"])


@pytest.mark.parametrize(
    ("rule", "columns", "pairs"),
    [
        ("columns must be a mapping", {}, ()),
        (r"columns\['x'\]\.low must be less", {"x": Numeric(1, 0)}, ()),
        (r"columns\['x'\]\.bins must not be cut points", {"x": Numeric(0, 1, bins=(0.5,))}, ()),
        (r"pairs must be a list of pairs, got 'x'", {"x": X, "y": Y}, "x"),
        (r"pairs\[0\] must be two different columns", {"x": X, "y": Y}, ["xy"]),
        (r"pairs\[0\] must be two different columns", {"x": X, "y": Y}, [("x", "x")]),
        (r"pairs\[0\] must be two different columns", {"x": X, "y": Y}, [("x", "y", "x")]),
        (r"pairs\[1\] must name declared columns, got 'z'", {"x": X, "y": Y}, [("x", "y"), ("x", "z")]),
        (r"pairs\[1\] must occur only once, in either order", {"x": X, "y": Y}, [("x", "y"), ("y", "x")]),
        ("different terms, and two are named 'x x y'", {"x": X, "y": Y, "x x y": X}, [("x", "y")]),
        ("different features", {"x": Categorical(["a", "b", "c"]), "x=a": Categorical(["d"])}, ()),
    ],
)
def test_invalid_declarations_are_named(rule, columns, pairs):
    if rule == "different features":
        columns = {"x": Categorical(["a=b", "c", "d"]), "x=a": Categorical(["b", "e", "f"])}
    with pytest.raises(ParameterError, match=rule):
        AdditiveEncoder(columns, pairs)


def test_cut_points_are_refused_with_the_remedy():
    with pytest.raises(ParameterError, match="bins=256"):
        AdditiveEncoder({"x": Numeric(0, 1, bins=(0.5,), detail=0.5)})


def test_undeclared_and_missing_values_have_a_place_and_missing_true_changes_nothing():
    plain = AdditiveEncoder({"x": X, "y": Y})
    marked = AdditiveEncoder({"x": Numeric(0, 1, missing=True), "y": Categorical(["a", "b"], other=True, missing=True)})
    table = {"x": [0.5, None], "y": [None, "z"]}
    assert plain.transform(table).tolist() == marked.transform(table).tolist()
    assert plain.feature_names == marked.feature_names


@pytest.mark.parametrize(
    ("table", "rule"),
    [
        ({"x": [0.5]}, "must have a column named 'y'"),
        ({"x": ["SECRET"], "y": ["a"]}, "column 'x' must hold numbers"),
        ({"x": [0.5], "y": [7731]}, "column 'y' must be of the kind"),
        ({"x": [0.5, 0.5], "y": ["a"]}, "must have the same length"),
    ],
)
def test_a_refusal_names_the_column_and_the_rule_and_no_value(table, rule):
    with pytest.raises(DataError, match=rule) as error:
        AdditiveEncoder({"x": X, "y": Y}).transform(table)
    assert "SECRET" not in str(error.value)
    assert "7731" not in str(error.value)


def test_with_other_no_value_is_refused():
    encoder = AdditiveEncoder({"x": X, "y": Y})
    missing = encoder.transform({"x": [None], "y": ["z"]})
    assert encoder.transform({"x": ["text"], "y": [7731]}, unseen="other").tolist() == missing.tolist()
    with pytest.raises(ParameterError, match='unseen must be "raise" or "other"'):
        encoder.transform({"x": [1], "y": ["a"]}, unseen="ignore")


def test_canonical_columns_are_read_cell_by_cell_and_never_refused():
    encoder = AdditiveEncoder(
        {"x": Numeric(0, 1, canonical=True, special=(0,)), "y": Categorical(["1", "b"], canonical=True)}, [("x", "y")]
    )
    plain = AdditiveEncoder({"x": Numeric(0, 1, special=(0,)), "y": Categorical(["1", "b"])}, [("x", "y")])
    read = encoder.transform({"x": ["0.5", 0, "?", None], "y": [1, "b", "NA", "z"]})
    assert read.tolist() == plain.transform({"x": [0.5, 0, None, None], "y": ["1", "b", None, "z"]}).tolist()
