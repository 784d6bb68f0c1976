# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Declarations for additive models: scales, special values, detail, periods and weights."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dperm.data import Categorical, Numeric, PublicEncoder
from dperm.data.schema import Schema
from dperm.errors import ParameterError

ADDITIVE = {
    "unit": Numeric(0, 1, unit=2.0),
    "special": Numeric(0, 1, special=(0,)),
    "detail": Numeric(0, 1, detail=0.5),
    "period": Numeric(0, 1, period=1.0),
    "weight": Numeric(0, 1, weight=3.0),
    "bins": Numeric(0, 1, bins=16, detail=0.5),
}


def test_defaults_leave_text_json_and_features_as_they_were():
    assert repr(Numeric(0, 1)) == "Numeric(low=0, high=1, impute=None)"
    assert repr(Categorical(["a"])) == "Categorical(categories=['a'], impute=None, other=False)"
    encoder = PublicEncoder({"x": Numeric(0, 1, bins=(0.5,)), "c": Categorical(["a"])})
    assert encoder.to_json() == (
        '{"dperm_encoder": 1, "columns": [{"name": "x", "type": "numeric", "low": 0.0, "high": 1.0, "impute": null, '
        '"bins": [0.5]}, {"name": "c", "type": "categorical", "categories": ["a"], "impute": null, "other": false}]}'
    )
    assert encoder.feature_names == ("x", "x<0.5", "x>=0.5", "c=a")


@pytest.mark.parametrize("name", ADDITIVE)
def test_linear_features_refuse_declarations_that_they_would_ignore(name):
    with pytest.raises(ParameterError, match=rf"columns\['x'\]\.{name} must keep its default.*PrivateAdditive"):
        PublicEncoder({"x": ADDITIVE[name]})
    assert name in ADDITIVE[name].checked("x").additive_fields


def test_a_weight_of_categories_is_refused_by_linear_features():
    with pytest.raises(ParameterError, match=r"columns\['x'\]\.weight must keep its default"):
        PublicEncoder({"x": Categorical(["a"], weight=2)})
    assert Categorical(["a"]).additive_fields == ()


def test_a_schema_of_linear_features_has_no_keys_of_additive_models():
    with pytest.raises(ParameterError, match="unit"):
        Schema.from_toml("[columns.x]\nlow = 0\nhigh = 1\nunit = 2\n")
    with pytest.raises(ParameterError, match=r"columns\.x\.bins must be a list or tuple of cut points"):
        Schema.from_toml("[columns.x]\nlow = 0\nhigh = 1\nbins = 2\n")


@pytest.mark.parametrize(
    ("rule", "column"),
    [
        ("unit must be a number in", Numeric(0, 1, unit=0)),
        ("unit must be a number in", Numeric(0, 1, unit=math.nan)),
        ("unit must be left out if x.period", Numeric(0, 1, unit=1, period=1)),
        ("unit must tell the bounds apart", Numeric(0, 1e-300, unit=1e99)),
        ("unit must tell the bounds apart", Numeric(1e50, math.nextafter(1e50, 2e50), unit=1e-50)),
        ("period must be a number in", Numeric(0, 1, period=-1)),
        ("period must be at least", Numeric(0, 1e20, period=1)),
        ("detail must be a number in", Numeric(0, 1, detail=1.0)),
        ("detail must be a number in", Numeric(0, 1, detail=-0.1)),
        ("weight must be a number in", Numeric(0, 1, weight=0)),
        ("weight must be a number in", Numeric(0, 1, weight=math.inf)),
        ("weight must be a number in", Categorical(["a"], weight=-1)),
        ("bins must be a list or tuple of cut points unless x.detail > 0", Numeric(0, 1, bins=16)),
        ("bins must be a whole number", Numeric(0, 1, bins=1, detail=0.5)),
        ("bins must be a whole number", Numeric(0, 1, bins=4097, detail=0.5)),
        ("bins must be a list or tuple", Numeric(0, 1, bins=True, detail=0.5)),
        ("special must be a list or tuple", Numeric(0, 1, special=0)),
        ("special must be a list or tuple of at most 100", Numeric(0, 1, special=tuple(range(101)))),
        (r"special\[1\] must be a finite number", Numeric(0, 1, special=(0, math.nan))),
        ("special must be different numbers", Numeric(0, 1, special=(0.0, -0.0))),
    ],
)
def test_invalid_declarations_are_named(rule, column):
    with pytest.raises(ParameterError, match=rule):
        column.checked("x")


def test_values_are_stored_as_plain_numbers():
    column = Numeric(0, 1, unit=np.float32(2), special=[np.int64(-1), 0], detail=0.5, bins=np.int32(8), weight=2)
    found = column.checked("x")
    assert (found.unit, found.special, found.bins, found.weight) == (2.0, (-1.0, 0.0), 8, 2.0)
    assert type(found.bins) is int
    assert found.checked("x") == found
    assert hash(found) == hash(found.checked("x"))
    assert found.cut_points == ()


def test_a_unit_is_linear_below_and_logarithmic_above():
    column = Numeric(-1e6, 1e6, unit=1000.0).checked("x")
    t = column.scaled(np.array([-1e6, -1.0, 0.0, 1.0, 1e4, 1e5, 1e6]))
    assert t[[0, 2, 6]].tolist() == pytest.approx([0, 0.5, 1], abs=1e-15)
    width = 2 * math.asinh(1000)
    assert (t[3] - t[2]) * width == pytest.approx(1 / 1000, rel=1e-6)
    assert (t[6] - t[5]) * width == pytest.approx(math.log(10), rel=1e-4)
    assert (t[5] - t[4]) * width == pytest.approx(math.log(10), rel=1e-2)


@given(
    st.floats(-1e100, 1e100),
    st.floats(-1e100, 1e100),
    st.none() | st.floats(1e-100, 1e100),
    st.lists(st.floats(allow_nan=False), min_size=1),
)
def test_places_lie_in_the_unit_interval_whatever_the_numbers(one, other, unit, numbers):
    try:
        column = Numeric(min(one, other), max(one, other), unit=unit).checked("x")
    except ParameterError:
        return
    t = column.scaled(np.array([*numbers, column.low, column.high, -math.inf, math.inf]))
    assert ((t >= 0) & (t <= 1)).all()
    assert t[-4:].tolist() == [0, 1, 0, 1]
    back = column.unscaled(np.linspace(0, 1, 9))
    assert ((back >= column.low) & (back <= column.high)).all()
    assert (np.diff(back) >= 0).all()


@given(st.floats(-1e6, 1e6), st.floats(1e-3, 1e6), st.floats(1e-3, 1e6), st.lists(st.floats(allow_nan=False)))
def test_fractions_of_a_period_lie_in_the_unit_interval(low, width, period, numbers):
    column = Numeric(low, low + width, period=period).checked("x")
    t = column.scaled(np.array([*numbers, low, -math.inf, math.inf]))
    assert ((t >= 0) & (t <= 1)).all()
    assert t[-3] == t[-2] == 0


def test_a_period_wraps_after_clipping():
    column = Numeric(0, 48, period=24).checked("hour")
    assert column.scaled(np.array([0.0, 6, 24, 30, 48, 99, -99])).tolist() == [0, 0.25, 0, 0.25, 0, 0, 0]
    assert column.unscaled(np.array([0, 0.25])).tolist() == [0, 6]


@pytest.mark.parametrize("column", [Numeric(17, 90), Numeric(-5, 1e6, unit=300.0)])
def test_the_inverse_of_a_scale_gives_back_the_numbers(column):
    numbers = np.linspace(column.low, column.high, 100)
    assert column.unscaled(column.scaled(numbers)) == pytest.approx(numbers, rel=1e-9, abs=1e-9)
