# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Codes of additive terms: norms (T96), kernels (T94), and the points of every value."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dperm.data import Categorical, Numeric
from dperm.data.term_codes import (
    HARMONICS,
    JITTER,
    LONG,
    PAIR_CELLS,
    PAIR_WEIGHT,
    SHORT,
    STEPS,
    CategoryCode,
    CoarseCode,
    NumberCode,
    PairCode,
    TermPlaces,
    single_code,
    spectrum,
)
from dperm.errors import DataError, ParameterError

K = np.arange(1, HARMONICS + 1)

specials = st.lists(st.integers(-9, 9), max_size=3, unique=True).map(tuple)
numbers_declared = st.builds(
    lambda low, width, scale, special, detail, impute, weight: Numeric(
        low,
        low + width,
        low if impute else None,
        special=special,
        detail=0.0 if detail is None else detail[0],
        bins=() if detail is None else detail[1],
        weight=weight,
        **scale,
    ).checked("x"),
    st.floats(-100, 100),
    st.floats(0.01, 1000),
    st.sampled_from([{}, {"unit": 3.0}, {"unit": 1e-9}, {"period": 24.0}, {"period": 0.37}]),
    specials,
    st.none() | st.tuples(st.floats(0.01, 0.99), st.integers(2, 60)),
    st.booleans(),
    st.floats(1e-6, 1e6),
)
categories_declared = st.builds(
    lambda count, weight: Categorical([f"c{place}" for place in range(count)], weight=weight).checked("x"),
    st.integers(1, 9),
    st.floats(1e-6, 1e6),
)
declared = numbers_declared | categories_declared
floats = st.floats() | st.sampled_from([math.nan, math.inf, -math.inf, 0.0, 1.0, -9.0])


def values_for(column, draws):
    if isinstance(column, Numeric):
        return np.array(draws, dtype=np.float64)
    texts = [None if math.isnan(draw) else f"c{int(min(abs(draw), 20))}" for draw in draws]
    return np.array(texts, dtype=object)


def squared(row):
    """Return the squared norm of stored doubles in exact arithmetic."""
    return sum(Fraction(entry) ** 2 for entry in row.tolist())


@settings(max_examples=40)
@given(declared)
def test_every_row_of_a_table_has_norm_at_most_1_in_exact_arithmetic(column):  # T96
    code = single_code("x", column)
    assert code.table.shape == (len(code.labels), code.width)
    rows = code.table if len(code.table) < 100 else code.table[np.r_[0:STEPS:7, STEPS : len(code.table)]]
    norms = [squared(row) for row in rows]
    assert max(norms) <= 1
    attained = [norm > 1 - 1e-12 for norm in norms]
    assert all(attained[:-1]), "a row shorter than it may be wastes signal"


@settings(max_examples=10)
@given(declared, declared)
def test_rows_of_pairs_have_norm_at_most_1_in_exact_arithmetic(one, other):  # T96
    pair = PairCode(CoarseCode("a", one), CoarseCode("b", other))
    assert pair.table.shape == (len(pair.labels), pair.width) == (len(pair.ordinary), len(pair.feature_names()))
    norms = [squared(row) for row in pair.table[::13]]
    assert max(norms) <= 1
    assert min(norms) > 1 - 1e-12


@settings(max_examples=60)
@given(declared, st.lists(floats, min_size=1, max_size=20))
def test_every_record_lies_between_two_points(column, draws):
    code = single_code("x", column)
    places = code.places({"x": values_for(column, draws)}, "raise")
    assert len(places) == len(draws)
    for points in (places.first, places.second):
        assert ((points >= 0) & (points < len(code.table))).all()
    assert ((places.share >= 0) & (places.share <= 1)).all()
    between = places.share > 0
    assert code.ordinary[places.first[between]].all()
    assert (places.second - places.first <= 1).all()
    coarse = CoarseCode("x", column)
    points = coarse.places({"x": values_for(column, draws)}, "raise")
    assert ((points >= 0) & (points < len(coarse.table))).all()
    assert len(coarse.labels) == len(coarse.table) == len(coarse.ordinary)


def test_the_spectrum_mixes_two_gaussian_ones():
    parts = []
    for length in (LONG, SHORT):
        weights = [math.exp(-((math.pi * k * length) ** 2) / 2) for k in range(1, 17)]
        parts.append(np.array(weights) / sum(weights))
    assert spectrum() == pytest.approx(0.7 * parts[0] + 0.3 * parts[1], rel=1e-14)
    assert math.fsum(spectrum()) == pytest.approx(1, abs=1e-15)
    assert spectrum()[:3] == pytest.approx([0.42445329, 0.25120689, 0.115515], abs=1e-8)


def test_the_kernel_of_a_number_is_stationary_and_made_by_hand():
    code = NumberCode("x", Numeric(0, 1).checked("x"))
    t = np.arange(STEPS + 1) / STEPS
    kernel = (spectrum() * np.cos(np.pi * K * (t[:, None] - t)[..., None])).sum(-1)
    smooth = code.table[: STEPS + 1]
    assert smooth @ smooth.T == pytest.approx(kernel, abs=1e-12)
    assert kernel[0, STEPS] < 0.5  # the ends of the range are different places


def test_with_a_period_both_ends_are_one_place_and_neighbours_across_it_are_near():
    code = NumberCode("hour", Numeric(0, 24, period=24).checked("x"))
    assert (code.width, len(code.table)) == (HARMONICS + 1, STEPS + 2)
    assert code.table[0].tolist() == code.table[STEPS].tolist()
    late, early, noon = (
        places.mean_of(code.table)[0]
        for places in (code.places({"hour": np.array([hour])}, "raise") for hour in (23.9, 0.1, 12.0))
    )
    assert late @ early > 0.98
    assert late @ noon < 0


def test_a_number_without_detail_is_a_line_between_two_nodes():
    code = NumberCode("x", Numeric(0, STEPS).checked("x"))
    places = code.places({"x": np.array([0, 3, 3.25, STEPS, 1e9, -math.inf])}, "raise")
    assert places.mean_of(np.arange(len(code.table), dtype=float)).tolist() == [0, 3, 3.25, STEPS, STEPS, 0]
    rows = places.mean_of(code.table)
    assert rows[2].tolist() == pytest.approx((0.75 * code.table[3] + 0.25 * code.table[4]).tolist(), abs=1e-16)
    assert squared(rows[2]) > 0.998


def test_special_and_missing_values_have_points_and_features_of_their_own():
    code = NumberCode("gain", Numeric(0, 100, special=(0, 99999, -1)).checked("x"))
    values = np.array([0, 99999, -1, math.nan, -0.0, 5.0, 100, 1e9])
    places = code.places({"gain": values}, "raise")
    points = places.first.tolist()
    assert points[:5] == [STEPS + 1, STEPS + 2, STEPS + 3, STEPS + 4, STEPS + 1]
    assert (places.share[:5] == 0).all()
    assert max(points[5:]) <= STEPS
    own = code.table[STEPS + 1 :]
    assert own.tolist() == np.eye(code.width)[-4:].tolist()
    assert not code.table[: STEPS + 1, -4:].any()
    assert code.labels[-4:] == ("0", "99999", "-1", "(missing)")
    assert code.feature_names()[-4:] == ("gain=0", "gain=99999", "gain=-1", "gain=(missing)")
    assert code.ordinary.tolist() == [True] * (STEPS + 1) + [False] * 4


def test_an_imputed_value_may_be_special_and_leaves_no_missing_point():
    code = NumberCode("x", Numeric(0, 10, 5, special=(5, 7)).checked("x"))
    assert code.extra == ("5", "7")
    places = code.places({"x": np.array([math.nan, 7.0])}, "raise")
    assert places.first.tolist() == [STEPS + 1, STEPS + 2]


def test_detail_makes_a_step_function():
    column = Numeric(0, 8, detail=0.6, bins=8).checked("x")
    code = NumberCode("x", column)
    assert (code.cells, code.width, len(code.table)) == (8, 32 + 8 + 1, 9)
    places = code.places({"x": np.array([0, 0.99, 1, 7.99, 8, 99, math.nan])}, "raise")
    assert places.first.tolist() == [0, 0, 1, 7, 7, 7, 8]
    assert (places.share == 0).all()
    t = (np.arange(8) + 0.5) / 8
    smooth = (spectrum() * np.cos(np.pi * K * (t[:, None] - t)[..., None])).sum(-1)
    grid = code.table[:8]
    assert grid @ grid.T == pytest.approx(0.4 * smooth + 0.6 * np.eye(8), abs=1e-12)
    assert code.edges.tolist() == pytest.approx(range(9))
    assert code.grid.tolist() == pytest.approx(np.arange(8) + 0.5)
    assert code.labels == (*(f"{low} to {low + 1}" for low in range(8)), "(missing)")
    assert NumberCode("x", Numeric(0, 8, detail=0.6).checked("x")).cells == 256


def test_categories_and_all_other_values_have_indicators():
    code = CategoryCode("c", Categorical(["a", "b", "c"]).checked("c"))
    assert code.table.tolist() == np.eye(4).tolist()
    places = code.places({"c": np.array(["c", "a", None, "z"], dtype=object)}, "raise")
    assert places.first.tolist() == [2, 0, 3, 3]
    assert code.feature_names() == ("c=a", "c=b", "c=c", "c=(other)")
    assert code.ordinary.tolist() == [True, True, True, False]
    numbers = CategoryCode("c", Categorical([1, 2, 3]).checked("c"))
    assert numbers.places({"c": np.array([3.0, math.nan, 9.0])}, "raise").first.tolist() == [2, 3, 3]


def test_two_categories_share_one_feature_of_both_signs():
    code = CategoryCode("c", Categorical(["no", "yes"], "yes").checked("c"))
    assert code.table.tolist() == [[-1], [1], [0]]
    places = code.places({"c": np.array(["no", None, "perhaps"], dtype=object)}, "raise")
    assert places.mean_of(code.table).ravel().tolist() == [-1, 1, 0]
    assert code.feature_names() == ("c=yes",)


def test_an_empty_list_of_categories_is_one_point():
    code = CategoryCode("c", Categorical([], other=True).checked("c"))
    assert code.table.tolist() == [[1.0]]
    assert code.ordinary.tolist() == [True]
    assert code.places({"c": np.array([1.0, math.nan])}, "raise").first.tolist() == [0, 0]


def test_the_coarse_code_of_a_number_has_the_kernel_of_its_harmonics():  # T94
    code = CoarseCode("x", Numeric(0, 1).checked("x"))
    t = (np.arange(PAIR_CELLS) + 0.5) / PAIR_CELLS
    smooth = (spectrum() * np.cos(np.pi * K * (t[:, None] - t)[..., None])).sum(-1)
    grid = code.table[:PAIR_CELLS, :PAIR_CELLS]
    assert code.width == PAIR_CELLS + 1
    assert max(squared(row) for row in code.table) <= 1  # T96
    assert grid @ grid.T == pytest.approx((1 - JITTER) * smooth + JITTER * np.eye(PAIR_CELLS), abs=1e-12)
    assert (np.triu(grid, 1) == 0).all()
    assert (np.diag(grid) > 0).all()
    hours = CoarseCode("x", Numeric(0, 24, period=24).checked("x"))
    assert hours.width == HARMONICS + 1 == hours.table.shape[1]
    assert hours.table[0] @ hours.table[PAIR_CELLS - 1] > 0.8


def test_a_pair_has_the_product_of_two_kernels_at_every_two_points():
    first = CoarseCode("hour", Numeric(0, 24, special=(24,)).checked("x"))
    second = CoarseCode("day", Categorical(["work", "free"]).checked("x"))
    pair = PairCode(first, second)
    assert (pair.name, pair.columns, pair.weight) == ("hour x day", ("hour", "day"), PAIR_WEIGHT)
    columns = {"hour": np.array([0, 23.9, 24, math.nan]), "day": np.array(["free", "work", None, "x"], dtype=object)}
    places = pair.places(columns, "raise")
    assert places.first.tolist() == [0 * 3 + 1, 23 * 3 + 0, 24 * 3 + 2, 25 * 3 + 2]
    assert [pair.labels[point] for point in places.first[1:]] == ["23 to 24, work", "24, (other)", "(missing), (other)"]
    kernel = np.kron(first.table @ first.table.T, second.table @ second.table.T)
    assert pair.table @ pair.table.T == pytest.approx(kernel, abs=1e-12)
    assert pair.ordinary.sum() == PAIR_CELLS * 2
    assert second.table.tolist() == np.eye(3).tolist()  # not -1 and 1: each day has an effect of the hour


def test_text_and_values_of_another_type_are_refused_without_being_shown():
    text = {"x": np.array([1.0, "SECRET"], dtype=object)}
    number, category = (single_code("x", column) for column in (Numeric(0, 1), Categorical(["a", "b"])))
    for code, values in ((number, text), (category, {"x": np.array([7731.0])})):
        with pytest.raises(DataError, match="column 'x' must") as error:
            code.places(values, "raise")
        assert "SECRET" not in str(error.value)
        assert "7731" not in str(error.value)
        assert code.places(values, "other").first[-1] == len(code.table) - 1


def test_tables_are_read_only_and_their_size_is_limited():
    code = CategoryCode("x", Categorical(["a", "b", "c"]).checked("x"))
    with pytest.raises(ValueError, match="read-only"):
        code.table[0, 0] = 5.0
    many = Categorical([str(place) for place in range(4096)]).checked("x")
    with pytest.raises(ParameterError, match=r"term 'x' must have at most 16,777,216 entries.*4,097 times 4,097"):
        single_code("x", many)
    some = CoarseCode("y", Categorical([str(place) for place in range(200)]).checked("y"))
    with pytest.raises(ParameterError, match="term 'y x x' must have at most"):
        PairCode(some, CoarseCode("x", Numeric(0, 1).checked("x")))


def test_the_mean_of_values_is_that_of_the_rows():
    places = TermPlaces(np.array([0, 1]), np.array([1, 1]), np.array([0.25, 0.0]))
    assert places.mean_of(np.array([4.0, 8.0])).tolist() == [5.0, 8.0]
    assert places.mean_of(np.array([[4.0, 0], [8, 1]])).tolist() == [[5.0, 0.25], [8.0, 1.0]]
    assert places.part(1, 2).mean_of(np.array([4.0, 8.0])).tolist() == [8.0]
