# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""The encoder follows from its declarations, treats each record by itself, and is silent about what it refuses."""

import copy
import dataclasses
import json
import math
import pickle
import subprocess
import sys
from decimal import Decimal
from fractions import Fraction
from itertools import product

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from table_kinds import KINDS, arrow_batch, arrow_table, pandas_frame, polars_frame

from dperm.data.bounded import enforce
from dperm.data.encoder import Categorical, Numeric, PublicEncoder
from dperm.data.space import FeatureSpace
from dperm.data.targets import Classes
from dperm.errors import DataError, ParameterError

COLUMNS = {
    "age": Numeric(20, 60, impute=30),
    "work": Categorical(["public", "private"], impute="private", other=True),
    "smoker": Categorical((False, True)),
    "rate": Numeric(-1.5, 0.5),
}
NAMES = ("age", "work=public", "work=private", "work=(other)", "smoker=False", "smoker=True", "rate")
DATA = {
    "unused": ["never", "read", "at", "all"],
    "rate": [-1.5, 0.5, 0.0, 9.0],
    "smoker": [True, False, False, True],
    "age": [20, 50, None, 10],
    "work": ["private", "none", None, "public"],
}
MATRIX = [
    [-1.0, 0, 1, 0, 0, 1, -1.0],
    [0.5, 0, 0, 1, 1, 0, 1.0],
    [-0.5, 0, 1, 0, 1, 0, 0.5],
    [-1.0, 1, 0, 0, 0, 1, 1.0],
]


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_table_gives_the_matrix_made_by_hand(kind):
    encoder = PublicEncoder(COLUMNS)
    dense, sparse = encoder.transform(kind(DATA)), encoder.transform(kind(DATA), sparse=True)
    assert dense.dtype == np.float64
    assert dense.tolist() == MATRIX
    assert sparse.toarray().tolist() == MATRIX
    assert encoder.feature_names == NAMES


def test_a_sparse_row_stores_one_entry_for_each_column_even_if_it_is_zero():
    encoder = PublicEncoder({"a": Numeric(-1, 1), "b": Categorical(["x", "y", "z"])})
    matrix = encoder.transform({"a": [0, 1, 0.5], "b": ["x", "x", "z"]}, sparse=True)
    assert matrix.format == "csr"
    assert np.diff(matrix.indptr).tolist() == [2, 2, 2]
    assert matrix.has_canonical_format
    assert matrix.indices.dtype == np.int32


def test_the_order_of_the_features_is_that_of_the_declarations():
    turned = PublicEncoder(dict(reversed(COLUMNS.items())))
    assert turned.feature_names == ("rate", *NAMES[4:6], *NAMES[1:4], "age")
    assert turned != PublicEncoder(COLUMNS)
    assert PublicEncoder(dict(COLUMNS)) == PublicEncoder(COLUMNS)
    assert len({PublicEncoder(dict(COLUMNS)), PublicEncoder(COLUMNS), turned}) == 2
    assert turned != COLUMNS


def test_declarations_are_copied():
    declared = dict(COLUMNS)
    encoder = PublicEncoder(declared)
    declared.clear()
    assert encoder.feature_names == NAMES
    for twin in (copy.deepcopy(encoder), pickle.loads(pickle.dumps(encoder))):
        assert twin == encoder
        assert twin.transform(DATA).tolist() == MATRIX


@pytest.mark.parametrize("sparse", [False, True])
def test_a_table_without_records_has_no_rows(sparse):
    assert PublicEncoder(COLUMNS).transform({name: [] for name in DATA}, sparse=sparse).shape == (0, len(NAMES))


# Bounds


@pytest.mark.parametrize("count", [1, 2, 3, 5, 7, 10, 144])
def test_the_norm_is_the_least_double_that_bounds_every_row(count):
    encoder = PublicEncoder({f"x{place}": Numeric(0, 1) for place in range(count)})
    row = encoder.transform({f"x{place}": [5.0] for place in range(count)})[0]
    length = sum(Fraction(entry) ** 2 for entry in row)
    assert length == count  # the bound is attained
    assert Fraction(math.nextafter(encoder.norm, 0)) ** 2 < length <= Fraction(encoder.norm) ** 2


FINITE = st.floats(-1e100, 1e100)


@given(FINITE, FINITE, st.lists(st.floats(allow_nan=False), min_size=1))
def test_numbers_are_mapped_to_the_unit_interval_whatever_they_are(one, other, values):
    low, high = min(one, other), max(one, other)
    if not high / 2 - low / 2 > 0:
        return
    found = PublicEncoder({"x": Numeric(low, high)}).transform({"x": [*values, low, high]})[:, 0]
    assert (np.abs(found) <= 1).all()
    order = np.argsort([*values, low, high], kind="stable")
    assert (np.diff(found[order]) >= 0).all()
    if high - low > 1e-9 * max(abs(low), abs(high)):  # closer ends are moved by rounding, inwards
        assert (found[-2], found[-1]) == pytest.approx((-1, 1))


def test_the_bounds_and_the_norm_change_nothing_in_a_feature_space():
    # T54: the radius is that of four declared columns and the intercept, not of seven features.
    encoder, signs = PublicEncoder(COLUMNS), np.array([-1, 1, 1, -1])
    for bounds, sparse in product([None, encoder.bounds], [False, True]):
        space = FeatureSpace(len(NAMES), norm=encoder.norm, bounds=bounds)
        assert space.center is None  # sparse features stay sparse
        assert space.radius == pytest.approx(math.hypot(2, space.constant))
        matrix = encoder.transform(DATA, sparse=sparse)
        data = enforce(matrix, signs, space, Classes((-1, 1)))
        seen = data.block(0, 4).x
        np.testing.assert_allclose(seen.toarray() if sparse else seen, MATRIX, rtol=0, atol=data.grid.unit)  # T200


# One record at a time

ITEMS = st.one_of(
    st.none(),
    st.booleans(),
    st.sampled_from(["a", "b", "1", "", "nan"]),
    st.sampled_from([1, 2, -1, 0, 2**53 - 1, 2**53, 2**53 + 1, 2**70]),
    st.sampled_from([1.0, -0.0, 0.1, 0.5, math.nan, math.inf, 1e300]),
    st.sampled_from([Decimal("0.1"), Decimal(1), Fraction(1, 2), np.float32(0.1), np.int64(2)]),
)
DECLARATIONS = [
    Numeric(-1, 2),
    Numeric(-1, 2, impute=0.5),
    Categorical([1, 0.1, 2**53 - 1]),
    Categorical(["a", "1"], impute="a", other=True),
    Categorical(["a", 1, 0.5], impute=1, other=True),
    Categorical([False, True, "b"], impute="b"),
]


def outcome(encoder, table, unseen="raise"):
    """The rows, or None if the table is refused."""
    try:
        return encoder.transform(table, unseen=unseen).tolist()
    except DataError:
        return None


@pytest.mark.parametrize("kind", [dict, pandas_frame])
@pytest.mark.parametrize("declared", DECLARATIONS, ids=range(len(DECLARATIONS)))
def test_what_becomes_of_a_record_does_not_depend_on_the_others(kind, declared):
    encoder = PublicEncoder({"x": declared})

    @settings(max_examples=25)
    @given(st.lists(ITEMS, min_size=1, max_size=5))
    def check(items):
        alone = [outcome(encoder, kind({"x": [item]})) for item in items]
        together = outcome(encoder, kind({"x": items}))
        assert together == (None if None in alone else [rows[0] for rows in alone])

    check()


@pytest.mark.parametrize("kind", [polars_frame, arrow_table, arrow_batch])
@pytest.mark.parametrize("items", [[2**53 - 1, 1, 2**53], [True, False, True], [0.5, 0.1, 1.0], ["a", "b", "c"]])
def test_a_gap_changes_nothing_of_the_other_records(kind, items):
    encoder = PublicEncoder({"x": Categorical(items[:2], impute=items[1], other=True)})
    without, with_gap = (encoder.transform(kind({"x": held})).tolist() for held in (items, [*items, None]))
    assert without[:2] == [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]
    assert with_gap == [*without, [0.0, 1.0, 0.0]]


def test_numbers_are_categories_by_value_and_text_by_its_letters():
    encoder = PublicEncoder({"x": Categorical([1, 2.5, "1.0", "é"])})
    found = encoder.transform({"x": [1.0, True, Decimal(1), np.int8(1), 2.5, "1.0", "é"]})
    assert found.argmax(axis=1).tolist() == [0, 0, 0, 0, 1, 2, 3]
    assert encoder.feature_names == ("x=1", "x=2.5", "x=1.0", "x=é")


# Refusals of data

SECRET = "secret-7731"
REFUSED = {
    "missing number": (Numeric(0, 9), [1, 2, None], "column 'col' has a missing value. Declare impute="),
    "NaN": (Numeric(0, 9), np.array([1, 2, math.nan]), "has a missing value"),
    "text for a number": (Numeric(0, 9), [1, 2, SECRET], "must hold numbers, as it is declared Numeric"),
    "missing category": (Categorical(["a"]), ["a", None], "has a missing value"),
    "NaN for a category": (Categorical([1, 2]), np.array([1, math.nan]), "has a missing value"),
    "other category": (Categorical(["a"]), ["a", SECRET], "has a value outside its declared categories"),
    "other number": (Categorical([1, 2]), [1, 7731], "has a value outside its declared categories"),
    "number for text": (Categorical(["1"]), ["1", 1], "text and numbers differ"),
    "kind of the others": (Categorical(["a"], other=True), ["a", 7731], "must be of the kind of its declared"),
    "text among numbers": (Categorical([1], other=True), [1, SECRET], "must be of the kind of its declared"),
    "no numbers at all": (Numeric(0, 9), [1, 7731j], "must hold numbers, truth values or text"),
}


@pytest.mark.parametrize(("declared", "values", "rule"), REFUSED.values(), ids=REFUSED)
@pytest.mark.parametrize("sparse", [False, True])
def test_a_refusal_names_the_column_and_the_rule_and_nothing_else(declared, values, rule, sparse):
    with pytest.raises(DataError) as error:
        PublicEncoder({"col": declared}).transform({"col": values}, sparse=sparse)
    message = str(error.value)
    assert message.startswith("column 'col' ")
    assert rule in message
    assert SECRET not in message
    assert not any(character.isdigit() for character in message)
    assert error.value.__context__ is None
    assert error.value.__cause__ is None


@pytest.mark.parametrize("place", [0, 1, 499, 999])
def test_the_message_does_not_depend_on_which_record_or_how_many(place):
    values = ["a"] * 1000
    values[place] = f"other {place}"
    with pytest.raises(DataError) as one:
        PublicEncoder({"col": Categorical(["a"])}).transform({"col": values})
    with pytest.raises(DataError) as all_of_them:
        PublicEncoder({"col": Categorical(["a"])}).transform({"col": ["b"] * 3})
    assert str(one.value) == str(all_of_them.value)


def test_a_declared_column_has_to_be_there():
    with pytest.raises(DataError, match="the table must have a column named 'work'"):
        PublicEncoder(COLUMNS).transform({"age": [30]})
    with pytest.raises(ParameterError, match="X must be a table with named columns"):
        PublicEncoder(COLUMNS).transform(np.eye(4))


# Refusals of declarations

WRONG = {
    "columns must be a mapping": [[("age", Numeric(0, 1))], None, COLUMNS["age"]],
    "columns must be a mapping of at least one name": [{}],
    "columns must be named by strings, got 3": [{3: Numeric(0, 1)}],
    r"columns\['age'\] must be Numeric": [{"age": (0, 1)}, {"age": Numeric}, {"age": None}],
    r"columns\['age'\].low must be a number in \[-1e\+100, 1e\+100\], got nan": [{"age": Numeric(math.nan, 1)}],
    r"columns\['age'\].low must be a number in": [{"age": Numeric(None, 1)}, {"age": Numeric("0", 1)}],
    r"columns\['age'\].high must be a number in": [{"age": Numeric(0, math.inf)}, {"age": Numeric(0, 1e101)}],
    r"columns\['age'\].low must be less than columns\['age'\].high": [
        {"age": Numeric(1, 1)},
        {"age": Numeric(2, 1)},
        {"age": Numeric(0, 5e-324)},
    ],
    r"columns\['age'\].impute must be a number in \[0, 9\]": [
        {"age": Numeric(0, 9, 10)},
        {"age": Numeric(0, 9, math.nan)},
        {"age": Numeric(0, 9, "3")},
    ],
    r"columns\['w'\].categories must be a list or tuple of at least one": [
        {"w": Categorical([])},
        {"w": Categorical("abc")},
        {"w": Categorical(np.array(["a", "b"]))},
        {"w": Categorical({"a", "b"})},
    ],
    r"columns\['w'\].categories must be different values": [
        {"w": Categorical(["a", "b", "a"])},
        {"w": Categorical([1, 1.0])},
        {"w": Categorical([0, False])},
    ],
    r"columns\['w'\].categories\[1\] must be text, True or False, or a finite number": [
        {"w": Categorical(["a", None])},
        {"w": Categorical(["a", math.nan])},
        {"w": Categorical(["a", ("b",)])},
        {"w": Categorical(["a", b"b"])},
    ],
    r"columns\['w'\].categories\[0\] must be less than 2\^53": [{"w": Categorical([2**53])}],
    r"columns\['w'\].impute must be one of its categories, got 'c'": [{"w": Categorical(["a", "b"], "c")}],
    r"columns\['w'\].impute must be text": [{"w": Categorical(["a", "b"], math.nan)}],
    r"columns\['w'\].other must be True or False, got 'yes'": [{"w": Categorical(["a"], other="yes")}],
    "two are named 'w=a'": [{"w": Categorical(["a"]), "w=a": Numeric(0, 1)}],
    "two are named 'w=1'": [{"w": Categorical([1, "1"])}],
}


@pytest.mark.parametrize(("rule", "columns"), [(rule, given) for rule, many in WRONG.items() for given in many])
def test_a_declaration_that_makes_no_sense_is_named(rule, columns):
    with pytest.raises(ParameterError, match=rule):
        PublicEncoder(columns)


def test_categories_that_were_taken_from_the_data_are_not_repeated():
    with pytest.raises(ParameterError) as error:
        PublicEncoder({"w": Categorical(np.array([SECRET, "b"]))})
    assert SECRET not in str(error.value)
    assert "public" in str(error.value)


def test_numbers_of_numpy_are_declared_like_others():
    encoder = PublicEncoder(
        {
            "x": Numeric(np.float32(0), np.int64(9), np.int8(3)),
            "w": Categorical([np.str_("a"), np.int64(2)], np.int8(2)),
        }
    )
    assert encoder.columns == {"x": Numeric(0.0, 9.0, 3.0), "w": Categorical(("a", 2), 2)}
    assert encoder.feature_names == ("x", "w=a", "w=2")
    assert PublicEncoder.from_json(encoder.to_json()) == encoder


# JSON


def test_declarations_survive_json():
    encoder = PublicEncoder({**COLUMNS, "mixed": Categorical([0.1, 7, True, "ünïcode\n"], impute=True)})
    text = encoder.to_json()
    assert "\n" not in text
    again = PublicEncoder.from_json(text)
    assert again == encoder
    assert again.feature_names == encoder.feature_names
    assert again.to_json() == text


def test_the_stored_form_of_version_1_is_fixed():
    columns = {"age": Numeric(0, 9), "w": Categorical(["a", 1], impute=1, other=True)}
    assert json.loads(PublicEncoder(columns).to_json()) == {
        "dperm_encoder": 1,
        "columns": [
            {"name": "age", "type": "numeric", "low": 0.0, "high": 9.0, "impute": None},
            {"name": "w", "type": "categorical", "categories": ["a", 1], "impute": 1, "other": True},
        ],
    }


AGE = '{"name": "age", "type": "numeric", "low": 0, "high": 1, "impute": null}'
DAMAGED = {
    "": "it is not JSON",
    "[1]": '"dperm_encoder": 1, got None',
    '{"columns": []}': '"dperm_encoder": 1, got None',
    '{"dperm_encoder": 2, "columns": []}': "got 2. Upgrade",
    '{"dperm_encoder": true, "columns": []}': "got True",
    '{"dperm_encoder": 1}': 'a list of "columns"',
    '{"dperm_encoder": 1, "columns": {}}': 'a list of "columns"',
    '{"dperm_encoder": 1, "columns": [], "more": 1}': "nothing else",
    '{"dperm_encoder": 1, "columns": []}': "at least one name",
    '{"dperm_encoder": 1, "columns": [3]}': 'each column has a "name"',
    '{"dperm_encoder": 1, "columns": [{"name": "age", "type": "date"}]}': "one of numeric, categorical",
    '{"dperm_encoder": 1, "columns": [{"name": "age", "type": ["numeric"]}]}': "one of numeric, categorical",
    '{"dperm_encoder": 1, "columns": [{"name": "age", "type": "numeric"}]}': "has the fields high, impute, low",
    f'{{"dperm_encoder": 1, "columns": [{AGE}, {AGE}]}}': "names something twice",
    '{"dperm_encoder": 1, "dperm_encoder": 1, "columns": []}': "names something twice",
    f'{{"dperm_encoder": 1, "columns": [{AGE.replace("null", "5")}]}}': r"columns\['age'\].impute must be",
    f'{{"dperm_encoder": 1, "columns": [{AGE.replace("null", "NaN")}]}}': r"columns\['age'\].impute must be",
}


@pytest.mark.parametrize(("text", "rule"), DAMAGED.items())
def test_what_is_not_a_stored_encoder_is_refused(text, rule):
    with pytest.raises(ParameterError, match=rule):
        PublicEncoder.from_json(text)


# Cost


def test_no_library_of_tables_is_imported():
    code = """
import sys
from dperm.data.encoder import Numeric, PublicEncoder
PublicEncoder({"x": Numeric(0, 1)}).transform({"x": [0.5]})
print(sorted({name.partition(".")[0] for name in sys.modules} & {"pandas", "polars", "pyarrow", "sklearn", "scipy"}))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


# Intervals, missing values, and values outside the declarations

EXTENDED = {
    "age": Numeric(0, 100, impute=100, bins=(18, 65.5), missing=True),
    "rate": Numeric(-1, 1, bins=[0]),
    "score": Numeric(0, 10, missing=True),
    "gain": Numeric(0, 10, impute=10, missing=True),
    "work": Categorical(["public", "private"], other=True, missing=True),
    "any": Categorical([], other=True),
}
EXTENDED_NAMES = (
    *("age", "age<18", "18<=age<65.5", "age>=65.5", "age=(missing)", "rate", "rate<0", "rate>=0"),
    *("score", "score=(missing)", "gain", "gain=(missing)"),
    *("work=public", "work=private", "work=(other)", "work=(missing)", "any=(other)"),
)
CELLS = [
    *(math.nan, math.inf, -math.inf, -0.0, 5e-324, -5e-324, 1e308, 10**400, -(10**400), 2**70, None, pd.NA, pd.NaT),
    *("text", "", "nan", "1", "public", True, 0, 1, 18, 65.5, 100, Decimal("0.1"), Fraction(1, 3), np.float32(0.1)),
]


def squared(row):
    return sum(Fraction(entry) ** 2 for entry in row)


def test_the_features_of_intervals_and_missing_values_made_by_hand():
    encoder = PublicEncoder(EXTENDED)
    assert encoder.feature_names == EXTENDED_NAMES
    table = {
        "age": [0, 18, None, 65.5],
        "rate": [-1, 0, -0.0, -5e-324],
        "score": [0, 10, None, 5],
        "gain": [0, 10, None, 5],
        "work": ["public", "abroad", None, "private"],
        "any": ["a", "b", "c", "d"],
    }
    expected = [
        [-1, 1, 0, 0, 0, -1, 1, 0, -1, 0, -1, 0, 1, 0, 0, 0, 1],
        [-0.64, 0, 1, 0, 0, 0, 0, 1, 1, 0, 1, 0, 0, 0, 1, 0, 1],
        [1, 0, 0, 0, 1, 0, 0, 1, 0, 1, 1, 1, 0, 0, 0, 1, 1],
        [0.31, 0, 0, 1, 0, -5e-324, 1, 0, 0, 0, 0, 0, 0, 1, 0, 0, 1],
    ]
    dense, sparse = encoder.transform(table), encoder.transform(table, sparse=True)
    assert dense.tolist() == pytest.approx(np.array(expected))
    assert sparse.toarray().tolist() == dense.tolist()
    assert set(np.diff(sparse.indptr).tolist()) == {10}  # two entries for each of the four numeric columns
    assert sparse.has_canonical_format


def test_infinite_numbers_go_to_the_first_and_the_last_interval():
    encoder = PublicEncoder({"x": Numeric(0, 1, bins=(-1e300, 1e300))})
    found = encoder.transform({"x": [-math.inf, math.inf, -(10**400), 10**400, 0.5]})
    assert found.tolist() == [[-1, 1, 0, 0], [1, 0, 0, 1], [-1, 1, 0, 0], [1, 0, 0, 1], [0, 0, 1, 0]]


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize(
    ("columns", "attained"),
    [
        ({"x": Numeric(0, 1)}, 1),
        ({"x": Numeric(0, 1, bins=(0.5,))}, 2),
        ({"x": Numeric(0, 1, impute=1, bins=(0.5,))}, 2),
        ({"x": Numeric(0, 1, missing=True)}, 1),
        ({"x": Numeric(0, 1, impute=1, missing=True)}, 2),
        ({"x": Numeric(0, 1, bins=(0.5,), missing=True)}, 2),
        ({"x": Categorical(["a", 1], missing=True)}, 1),
        ({"x": Categorical([], other=True)}, 1),
        ({"x": Categorical(["a"], other=True, missing=True), "y": Numeric(0, 1, bins=(-3, 0, 7), missing=True)}, 3),
        ({name: Numeric(0, 1, bins=(0.5,)) for name in "xyz"} | {"w": Categorical(["text"])}, 7),
        (EXTENDED, 9),
    ],
    ids=range(11),
)
def test_rows_attain_the_norm_and_never_exceed_it(columns, attained, sparse):
    """Two-sided, with every kind of cell in every column: a norm that forgets an indicator fails here."""
    encoder = PublicEncoder(columns)
    found = encoder.transform({name: CELLS for name in columns}, sparse=sparse, unseen="other")
    if sparse:
        assert len(set(np.diff(found.indptr).tolist())) == 1
        found = found.toarray()
    assert np.isfinite(found).all() and (np.abs(found) <= 1).all()
    start, most = 0, 0
    for name, column in columns.items():
        width = len(column.features(name))
        largest = max(squared(row) for row in found[:, start : start + width].tolist())
        assert largest == column.squared_norm  # each column attains its part
        start, most = start + width, most + largest
    assert most == attained <= Fraction(encoder.norm) ** 2
    assert Fraction(math.nextafter(encoder.norm, 0)) ** 2 < attained


CUTS = st.lists(st.floats(allow_nan=False, allow_infinity=False), max_size=6, unique=True).map(sorted)


@given(CUTS, st.sampled_from([None, 0, 2]), st.booleans(), st.lists(st.floats(), min_size=1, max_size=8))
def test_any_cut_points_and_numbers_keep_the_norm_and_have_unique_names(cuts, impute, missing, values):
    column = Numeric(-1, 2, impute, bins=cuts, missing=missing)
    encoder = PublicEncoder({"x": column})
    assert len(set(encoder.feature_names)) == len(encoder.feature_names)
    assert PublicEncoder.from_json(encoder.to_json()) == encoder
    dense, sparse = (encoder.transform({"x": values}, sparse=form, unseen="other") for form in (False, True))
    assert sparse.toarray().tolist() == dense.tolist()
    for value, row in zip(values, dense.tolist(), strict=True):
        assert squared(row) <= column.squared_norm
        if cuts and not math.isnan(value):
            assert row[1:].index(1) == sum(cut <= value for cut in cuts)


@pytest.mark.parametrize(
    "column",
    [
        *(
            Numeric(-1, 2, impute, bins=cuts, missing=gap)
            for impute in (None, 1)
            for cuts in ((), (0, 1))
            for gap in (0, 1)
        ),
        *(Categorical(["a", 1], impute, other) for impute in (None, 1) for other in (False, True)),
        Categorical(["a"], other=True, missing=True),
        Categorical([], other=True, missing=True),
    ],
    ids=range(14),
)
@pytest.mark.parametrize("unseen", ["raise", "other"])
def test_records_stay_independent_in_every_declaration(column, unseen):
    encoder = PublicEncoder({"x": dataclasses.replace(column, missing=bool(column.missing))})
    alone = [outcome(encoder, {"x": [cell]}, unseen) for cell in CELLS]
    pairs = [(one, other) for one in range(len(CELLS)) for other in range(len(CELLS))]
    for one, other in pairs:
        together = outcome(encoder, {"x": [CELLS[one], CELLS[other]]}, unseen)
        refused = alone[one] is None or alone[other] is None
        assert together == (None if refused else [*alone[one], *alone[other]])
    assert unseen == "raise" or None not in alone


UNSEEN = {
    "number without anything": (Numeric(0, 10), [None, "text", 10], [[0], [0], [1]]),
    "number with impute": (Numeric(0, 10, 10), [None, "7", 0], [[1], [1], [-1]]),
    "number with intervals": (Numeric(0, 10, bins=(5,)), [None, "text", 10], [[0, 0, 0], [0, 0, 0], [1, 0, 1]]),
    "impute in intervals": (Numeric(0, 10, 0, bins=(5,)), [None, 10], [[-1, 1, 0], [1, 0, 1]]),
    "missing number": (Numeric(0, 10, missing=True), [None, "text", 10], [[0, 1], [0, 1], [1, 0]]),
    "category": (Categorical(["a", "b"]), ["a", "c", 1, None], [[1, 0], [0, 0], [0, 0], [0, 0]]),
    "other": (Categorical(["a"], other=True), ["a", "c", 1, None], [[1, 0], [0, 1], [0, 1], [0, 0]]),
    "impute": (Categorical(["a", "b"], "b"), ["a", "c", None], [[1, 0], [0, 0], [0, 1]]),
    "missing": (Categorical([1], missing=True), [1, 2, "c", None], [[1, 0], [0, 0], [0, 0], [0, 1]]),
}


@pytest.mark.parametrize(("column", "values", "rows"), UNSEEN.values(), ids=UNSEEN)
def test_unseen_values_have_entries_of_their_own(column, values, rows):
    encoder = PublicEncoder({"x": column})
    assert encoder.transform({"x": values}, unseen="other").tolist() == rows
    with pytest.raises(ParameterError, match='unseen must be "raise" or "other", got None'):
        encoder.transform({"x": values}, unseen=None)


def test_an_empty_list_of_categories_takes_values_of_any_kind():
    encoder = PublicEncoder({"x": Categorical((), other=True)})
    assert encoder.transform({"x": ["a", 1, 2.5]}).tolist() == [[1], [1], [1]]


WRONG_EXTENDED = {
    r"columns\['x'\].bins must be a list or tuple of at most 10,000 numbers, got 10001 numbers": Numeric(
        0, 1, bins=tuple(range(10_001))
    ),
    r"columns\['x'\].bins must be a list or tuple": Numeric(0, 1, bins=np.array([1.0])),
    r"columns\['x'\].bins\[1\] must be a finite number": Numeric(0, 1, bins=(0, math.inf)),
    r"columns\['x'\].bins\[0\] must be a finite number": Numeric(0, 1, bins=("0",)),
    r"columns\['x'\].bins must increase": Numeric(0, 1, bins=(1, 1)),
    r"columns\['x'\].bins must increase\.": Numeric(0, 1, bins=(-0.0, 0.0)),
    r"columns\['x'\].missing must be True or False, got 1": Numeric(0, 1, missing=1),
    r"columns\['x'\].missing must be True or False, got 'no'": Categorical(["a"], missing="no"),
    r"columns\['x'\].impute must be left out": Categorical(["a"], "a", missing=True),
    "two are named 'x=\\(missing\\)'": Categorical(["(missing)"], missing=True),
}


@pytest.mark.parametrize(("rule", "column"), WRONG_EXTENDED.items())
def test_invalid_intervals_and_missing_values_are_named(rule, column):
    with pytest.raises(ParameterError, match=rule):
        PublicEncoder({"x": column})


def test_new_fields_are_keyword_only_and_stored_only_if_they_are_used():
    with pytest.raises(TypeError):
        Numeric(0, 1, None, (0.5,))
    with pytest.raises(TypeError):
        Categorical(["a"], None, False, True)
    encoder = PublicEncoder(EXTENDED)
    text = encoder.to_json()
    assert PublicEncoder.from_json(text) == encoder and PublicEncoder.from_json(text).to_json() == text
    stored = {column["name"]: column for column in json.loads(text)["columns"]}
    assert stored["age"]["bins"] == [18.0, 65.5] and stored["age"]["missing"] is True
    assert "bins" not in stored["score"] and "missing" not in stored["rate"] and "missing" not in stored["any"]
    assert repr(encoder.columns["rate"]) == "Numeric(low=-1.0, high=1.0, impute=None, bins=(0.0,))"
    assert repr(Numeric(0, 1)) == "Numeric(low=0, high=1, impute=None)"
    assert repr(Categorical(["a"])) == "Categorical(categories=['a'], impute=None, other=False)"
