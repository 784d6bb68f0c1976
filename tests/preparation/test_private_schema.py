# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Private schemas and models of raw tables: canonical cells, sensitivities, thresholds, golden plans (T70-T75, T90)."""

import io
import math
import tracemalloc
import warnings
from dataclasses import replace
from datetime import date

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom, norm
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from dperm import ApproxDP, account
from dperm.accounting import MemoryBudget
from dperm.data import Categorical, Numeric, PublicEncoder
from dperm.data.canonical import PIECE, canonical_cell, canonical_column
from dperm.data.schema import Schema
from dperm.erm.losses import Logistic
from dperm.errors import AssumptionError, ConversionError, DataError, DpermWarning, LeakError, ParameterError
from dperm.ledger import Ledger
from dperm.methods import ObjectivePerturbation
from dperm.noise import NotPrivateBits
from dperm.noise.bits import SystemBits
from dperm.pipeline import TablePlan
from dperm.preparation import PreparationPlan, TargetKind
from dperm.preparation.bins import BINS, bins_of, edges_of
from dperm.preparation.plan import PrivateColumns
from dperm.preparation.prepared import Encoding, _distinct
from dperm.preparation.profile import bin_counts
from dperm.preparation.schema import class_labels, label_range
from dperm.preparation.values import NumericCells, TextValues, noisy_values
from dperm.privacy import Adjacency
from dperm.sensitivity.preparation import histogram_sensitivity, pooled_histogram_sensitivity
from dperm.sklearn import PrivateScaler, PrivateTableClassifier, PrivateTableEncoder, PrivateTableRegressor, load_model

GOAL = ApproxDP(1.0, 1e-5, "add_remove")
ODD = [None, math.nan, math.inf, -math.inf, -0.0, 5e-324, 1e308, 10**400, True, "x", " 1.0 ", "1_0", "NA", "a\0"]
ODD += [[1], b"x", pd.NA, pd.NaT, pd.Timestamp("2020-01-01"), "(other)", "\ud800", "FILL IN", 1j]


TIMES = {
    "durations": pd.to_timedelta(["1s", "2 days", "-1ns"]),
    "moments": pd.to_datetime(["2020-01-01T00:00:00.000000001", "1969-12-31T23:59:59.999999999"]),
    "zone": pd.to_datetime(["2020-01-01 01:00:00.000001", "2020-01-02"], format="ISO8601").tz_localize("Asia/Tokyo"),
}


def forms(column):
    """Return the canonical form of every cell."""
    codes, texts = column.values()
    return [None if code < 0 else texts[code] for code in codes]


@pytest.mark.parametrize("cell", ODD, ids=lambda cell: ascii(cell)[:20])
def test_one_cell_changes_no_other_one(cell):
    """One record can change the type of a whole column, and not the canonical form of another record (T72)."""
    bases = ([1, 2, 3], [1.5, 2.0], ["a", "1"], [True, False], list(pd.to_datetime(["2020-01-01", "2021-02-03"])))
    for base in (*bases, *map(list, TIMES.values())):
        alone = forms(canonical_column(pd.Series(base)))
        if not isinstance(cell, str) or cell != "\ud800":  # pandas refuses it
            assert forms(canonical_column(pd.Series([*base, cell])))[:-1] == alone
        assert forms(canonical_column([*base, cell]))[:-1] == alone


CSV_CELLS = ["True,1,0.5,2020-01-02", "FALSE,007,1e3,2020-01-03", "true,,-inf,", "false,9007199254740993,.1,NA"]


@pytest.mark.parametrize("record", ["x,x,x,x", ",,,", "1,1.5,1e400,1", "True,True,True,True"])
def test_one_record_of_a_file_changes_no_other_one(record):
    """pandas infers the types of columns from all records: truth values, numbers, text (T72, E48)."""
    alone, both = (pd.read_csv(io.StringIO("\n".join(["a,b,c,d", *CSV_CELLS, *more]))) for more in ([], [record]))
    assert (alone.dtypes != both.dtypes).any() or record == ",,,"
    for name in alone:
        assert forms(canonical_column(both[name]))[: len(alone)] == forms(canonical_column(alone[name]))


@pytest.mark.parametrize("kind", ["M8", "m8"])
@pytest.mark.parametrize("unit", ["ns", "us", "s", "D", "Y"])
def test_times_of_numpy_are_read_alike_in_an_array_and_alone(unit, kind):
    """Beyond the years 1 to 9999 numpy has integers for Python's dates, and finer units wrap around (T72)."""
    cells = np.array([-1, 0, 1, 10**6, -(10**8) * 86400, 2**63 - 1, -(2**62)], dtype=f"{kind}[{unit}]")
    together = forms(canonical_column(cells))
    assert together == forms(canonical_column(list(cells)))
    assert together == [canonical_cell(cell) for cell in cells]
    assert all(cell is None or not cell.lstrip("-").isdigit() for cell in together)
    if unit in ("ns", "us", "s"):
        assert together == forms(canonical_column(pd.Series(cells).astype(object)))


def test_equal_values_of_different_types_are_one_value():
    same = [1, 1.0, True, "1", " 1.0", "True", "true", np.float32(1), np.int8(1)]
    assert {canonical_cell(cell) for cell in same} == {1.0}
    assert [canonical_cell(cell) for cell in ("", "NA", "null", None, [1])] == [None] * 5
    assert forms(canonical_column(pd.Series(["b", None], dtype="category"))) == ["b", None]


def test_arrow_columns_with_dates_are_read():
    arrow = pytest.importorskip("pyarrow")
    dates = arrow.chunked_array([[date(2020, 1, 1), None], [date(2021, 2, 3)]])
    assert forms(canonical_column(dates)) == ["2020-01-01", None, "2021-02-03"]
    assert forms(canonical_column(arrow.chunked_array([], type=arrow.date32()))) == []


def test_long_text_columns_are_read_in_pieces_with_the_same_result():
    pa = pytest.importorskip("pyarrow")
    cells = [("x", "12", None, "NA", "y ", "2024-01-02")[place % 6] for place in range(3 * PIECE + 5)] + ["rare"]
    whole = canonical_column(cells)
    columns = [pd.Series(cells, dtype=kind) for kind in ("str", "string", "object", "string[pyarrow]")]
    columns += [
        pa.array(cells),
        pa.chunked_array([cells[:7], cells[7:]]),
        pa.chunked_array([cells]).dictionary_encode(),
    ]
    for column in columns:
        found = canonical_column(column)
        assert np.array_equal(found.numbers, whole.numbers, equal_nan=True) and found.texts == whole.texts
        assert (found.codes == whole.codes).all()
        assert (bin_counts(found) == np.bincount(bins_of(whole), minlength=BINS)).all()
    tracemalloc.start()
    canonical_column(columns[0])
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 60 * len(cells)  # an object of Python for each cell needs more
    assert len(canonical_column(columns[0].iloc[:0])) == 0


@pytest.mark.parametrize(
    ("texts", "classes"),
    [(("1_0", "10"), ("10", "1_0")), (("1_0", "2_0"), ("1_0", "2_0")), (("2", "0.5", "-1"), (-1, 0.5, 2))],
)
def test_labels_are_numbers_only_if_records_match_them(texts, classes):
    """Text such as "1_0" is no number in a cell, and two labels that become equal would fail after the charge."""
    assert class_labels(TextValues(dict.fromkeys(texts, 9.0)), 5) == classes


def test_a_range_that_no_regression_accepts_is_not_a_range():
    """A failure after the charge would cost the budget."""
    tiny = NumericCells(np.array([5e-324, 1e-323]), np.array([0.0, 50.0, 0.0]))
    assert label_range(tiny) is None
    assert label_range(NumericCells(np.array([1.0, 2.0]), np.array([0.0, 50.0, 0.0]))) == (1.0, 2.0)


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_number_lies_in_its_bin(number):
    (place,) = bins_of(canonical_column([number]))
    low, high = edges_of(int(place))
    assert low <= number <= high


@pytest.mark.parametrize(("adjacency", "changed"), [(Adjacency.ADD_REMOVE, 1), (Adjacency.REPLACE_ONE, 2)])
def test_a_record_moves_the_profile_by_its_sensitivity_at_most(adjacency, changed):
    """T72, T74: sqrt(d) or sqrt(2 d), attained by a record that differs in every column."""
    base = {"a": [1.0, 2.0, "x"], "b": ["u", "v", None], "c": [1e300, 0, -3]}
    most = histogram_sensitivity(3, adjacency)
    moves = []
    for row in ([5.0, "w", 0.0], ["x", None, -1e-300], [None, 7, math.inf], [2.0, "v", 0]):
        with_row = {name: [*cells, cell] for (name, cells), cell in zip(base.items(), row, strict=True)}
        other = base if changed == 1 else {name: [*cells, 1e-5] for name, cells in base.items()}
        moves.append(np.linalg.norm(PrivateColumns.of(with_row).counts - PrivateColumns.of(other).counts))
    assert max(moves) == pytest.approx(math.sqrt(changed * 3), rel=1e-12)
    assert max(moves) <= most <= max(moves) * (1 + 1e-12)
    assert pooled_histogram_sensitivity(adjacency) == pytest.approx(math.sqrt(changed), rel=1e-12)


def test_golden_plan():
    """T90, T91 at (1, 1e-5) with 15 columns."""
    columns = [f"c{place}" for place in range(14)]
    plan = TablePlan.for_goal(
        columns, GOAL, target="y", task=TargetKind.CLASSIFICATION, method=ObjectivePerturbation(), loss=Logistic()
    )
    preparation = plan.preparation
    assert preparation.profile_noise.scale == pytest.approx(52.8, abs=0.05)
    assert preparation.value_noise.scale == pytest.approx(34.5, abs=0.05)
    assert preparation.profile_threshold == pytest.approx(269.7, abs=0.1)
    assert preparation.value_threshold == pytest.approx(176.1, abs=0.1)
    assert plan.training_goal.epsilon == pytest.approx(0.828, abs=0.001)
    assert preparation.records_needed == pytest.approx(13_500, rel=0.01)
    assert 0.98 * GOAL.delta <= account(plan.event, "add_remove").delta(1.0) <= GOAL.delta


@pytest.mark.parametrize("adjacency", ["add_remove", "replace_one"])
def test_a_preparation_spends_its_goal(adjacency):
    goal = ApproxDP(0.5, 1e-6, adjacency)
    plan = PreparationPlan.for_goal(["a", "b"], goal)
    assert 0.98 * goal.delta <= account(plan.event, adjacency).delta(goal.epsilon) <= goal.delta
    with pytest.raises(ConversionError, match="T73b"):
        PreparationPlan.for_goal(["a"], ApproxDP(1.0, 0.0, adjacency))


@pytest.mark.parametrize("share", [1.0, 0.9, 0.75, 0.5])
@pytest.mark.parametrize("epsilon", [0.5, 3.0, 30.0])
def test_categories_of_the_stated_size_are_released_half_of_the_time(epsilon, share):
    """T73: Bin(m, share) + N(0, sigma^2) is above the threshold in at least half of the runs, and hardly before."""
    goal = ApproxDP(epsilon, 1e-6, "replace_one")
    plan = replace(PreparationPlan.for_goal([f"c{place}" for place in range(8)], goal), read_share=share)
    noise, records = plan.value_noise, plan.category_records
    threshold = plan.value_threshold + noise.calibration.grid.step

    def released(held):
        counts = np.arange(held + 1)
        return binom.pmf(counts, held, share) @ norm.sf((threshold - counts) / noise.scale)

    assert released(records - math.ceil(2 / share)) < 0.5 <= released(records) < 0.5 + 1 / noise.scale
    assert replace(plan, read_share=1.0).category_records <= share * records


def test_every_bin_of_a_profile_receives_noise():
    """Empty bins exceed a low threshold as often as noise alone does (T72)."""
    plan = PreparationPlan.for_goal(["a", "b"], GOAL)
    private = PrivateColumns.of({"a": ["x"] * 5, "b": [None] * 5})
    noisy = plan.profile_noise.noisy(private.counts, NotPrivateBits(1).stream()) / plan.profile_noise.scale
    share = float((noisy > 2).mean())
    assert len(noisy) == 2 * BINS
    assert share == pytest.approx(0.02275, abs=5 * math.sqrt(0.02275 / (2 * BINS)))


def test_a_fresh_value_is_shown_as_rarely_as_the_threshold_says():
    """T73 from both sides, at a threshold two deviations above a count of 1."""
    plan = PreparationPlan.for_goal(["a"], GOAL)
    deviation = plan.value_noise.scale
    fresh = canonical_column([f"value {place}" for place in range(20_000)])
    (found,) = noisy_values(
        [fresh], [None], plan.value_noise, threshold=1 + 2 * deviation, stream=NotPrivateBits(2).stream()
    )
    assert isinstance(found, TextValues)
    share = len(found.counts) / 20_000
    assert share == pytest.approx(0.02275, abs=5 * math.sqrt(0.02275 / 20_000))
    assert all(count > 1 + 2 * deviation for count in found.counts.values())


def synthetic(n=6000, seed=0):
    rng = np.random.default_rng(seed)
    age, work = rng.integers(18, 90, n), rng.choice(["private", "public", "self"], n)
    pay = 3.0 * age + 50 * (work == "self") + rng.normal(size=n)
    return {"age": age, "work": work, "pay": pay, "income": np.where(pay > 180, "high", "low")}


def test_models_of_a_raw_table_learn_and_state_one_guarantee():
    table = synthetic()
    model = PrivateTableClassifier(epsilon=3.0, delta=1e-5, adjacency="add_remove").fit(table, target="income")
    assert model.guarantee_ == ApproxDP(3.0, 1e-5, "add_remove")
    assert (model.predict(table) == table["income"]).mean() > 0.9
    assert model.statement_["goal"]["epsilon"] == 3.0
    assert "schema, model and metrics together" in model.statement_["covered"]
    assert "declared" not in " ".join(map(str, model.record_.public["assumptions"]))
    features = {name: table[name] for name in ("age", "work")}
    regression = PrivateTableRegressor(epsilon=3.0, delta=1e-5).fit(features, table["pay"])
    assert regression.score(features, table["pay"]) > 0.8


def test_the_event_depends_on_no_released_value():
    """T70: two tables with other columns of values, numbers of features and classes have the same event."""
    first = synthetic()
    second = {"age": ["x"] * 6000, "work": np.arange(6000) % 40, "pay": [1.0] * 6000, "income": first["income"]}
    estimator = PrivateTableClassifier(epsilon=3.0, delta=1e-5, adjacency="add_remove")
    one, two = (
        PrivateTableClassifier(**estimator.get_params()).fit(table, target="income") for table in (first, second)
    )
    assert len(one.schema_.encoder.feature_names) != len(two.schema_.encoder.feature_names)
    assert one.plan_.event == two.plan_.event
    assert one.model_.plan_.event == two.model_.plan_.event == one.plan_.training_event


def test_odd_tables_raise_nothing_after_the_charge():
    """T92: prepared cells show in no refusal."""
    rng = np.random.default_rng(1)
    n = 4000
    y = rng.choice(["no", "yes"], n)
    odd = np.empty(n, dtype=object)
    odd[:] = [ODD[place % len(ODD)] for place in range(n)]
    tables = [
        {"a": odd, "b": np.arange(n)},
        {"a": [None] * n},
        {"a": rng.choice(["(other)", "(missing)", "b=c"], n), "a=b": rng.choice(["c", "d"], n)},
        {"a": np.full(n, 1e308), "b": np.full(n, 5e-324), "c": np.full(n, -1e308)},
        {"a": [f"id{place}" for place in range(n)]},
    ]
    for table in tables:
        budget = MemoryBudget(ApproxDP(5.0, 1e-4, "replace_one"), blocks=1)
        with warnings.catch_warnings(record=True, action="always") as caught:
            model = PrivateTableClassifier(epsilon=4.0, delta=1e-4, ledger=budget).fit(table, y)
        assert ["every prepared column" in str(one.message) for one in caught] == [True] * model.prepared_.nothing_found
        assert set(model.predict(table)) <= {"no", "yes"}
        norms = np.sqrt((np.asarray(model.schema_.encoder.transform(table, unseen="other")) ** 2).sum(axis=1))
        assert norms.max() <= model.schema_.encoder.norm * (1 + 1e-12)


NAMES = ("a", "a<18", "18<=a", "a=(missing)", "a=(other)", "a=b", "a=b=c", "a>=18", "a<18=(missing)", "a=b=(other)")
PREPARED = st.sampled_from(
    [
        *(Numeric(0, 1, 0.5, bins=bins, missing=True, canonical=True) for bins in ((18,), (18, 65), (65,), ())),
        Numeric(0, 1, canonical=True),
        *(
            Categorical(found, other=True, missing=True, canonical=True)
            for found in (["b", "c", "b=c", "(missing)", "(other)"], ["é"], ["b=c"])
        ),
    ]
)
DECLARED = st.sampled_from([Numeric(0, 1), Numeric(0, 90, bins=(18, 65)), Categorical(["b", "b=c", "(missing)"])])


@given(st.dictionaries(st.sampled_from(NAMES), st.one_of(PREPARED, st.tuples(DECLARED)), min_size=1))
def test_features_of_prepared_columns_have_different_names(columns):
    declared = {name: found[0] for name, found in columns.items() if isinstance(found, tuple)}
    try:
        PublicEncoder(declared or {"none": Numeric(0, 1)})
    except ParameterError:  # refused before the charge
        return
    kept = _distinct(declared, {name: found for name, found in columns.items() if name not in declared})
    encoder = PublicEncoder(kept)
    assert kept.items() >= declared.items()
    assert set(kept) >= {name for name, found in columns.items() if isinstance(found, Numeric)} - set(
        PublicEncoder(declared or {"none": Numeric(0, 1)}).feature_names
    )
    text = Schema(encoder).to_toml()
    assert Schema.from_toml(text).encoder == encoder
    assert _distinct(declared, {name: found for name, found in kept.items() if name not in declared}) == kept


@pytest.mark.parametrize("encoding", list(Encoding))
def test_columns_named_like_features_of_others_raise_nothing_after_the_charge(encoding):
    generator = np.random.default_rng(0)
    numbers = np.where(generator.random(20_000) < 0.5, generator.integers(0, 90, 20_000), None)
    alone = PreparationPlan.for_goal(("a",), GOAL)
    first = alone.draw(alone.read({"a": numbers}), NotPrivateBits(1).stream())
    table = {name: numbers for name in first.encoder.feature_names} | {"b": generator.choice(["c", "d=e"], 20_000)}
    table |= {"b=d": generator.choice(["e", "f"], 20_000), "b=c": numbers}
    plan = TablePlan.for_goal(
        tuple(table),
        GOAL,
        target=None,
        task="regression",
        method=ObjectivePerturbation(),
        loss=Logistic(),
        encoding=encoding,
    ).preparation
    private = plan.read(table)
    names = plan.draw(private, NotPrivateBits(1).stream()).encoder.feature_names
    assert set(table) - {"b", "b=d"} <= set(names)
    assert {"b=d=e", "b=d=f"} & set(names)


@pytest.mark.filterwarnings("ignore:.* records are too few")
@pytest.mark.filterwarnings("ignore:The metrics come from")
def test_errors_before_the_charge_cost_nothing():
    budget = MemoryBudget(ApproxDP(5.0, 1e-4, "replace_one"), blocks=1)
    table = synthetic(500)
    declared = PrivateTableClassifier(delta=1e-4, columns={"work": Numeric(0, 1)}, ledger=budget)
    with pytest.raises(DataError, match="work") as caught:
        declared.fit(table, target="income")
    assert "private" not in str(caught.value)
    with pytest.raises(DataError, match="column"):
        PrivateTableClassifier(delta=1e-4, ledger=budget).fit(table, target="missing column")
    with pytest.raises(AssumptionError, match="fewer than two classes"):
        PrivateTableClassifier(delta=1e-4, ledger=budget).fit({"a": [1, 2]}, ["x", "z"])
    with pytest.raises(Exception, match=r"budget|limit|releases"):  # the only block is used now
        PrivateTableClassifier(delta=1e-4, ledger=budget).fit(table, target="income")


def test_a_table_that_another_step_learnt_from_is_refused_before_the_charge():
    budget = MemoryBudget(ApproxDP(9.0, 1e-3, "replace_one"), blocks=5)
    frame = pd.DataFrame(synthetic(500))
    labels = frame.pop("income")
    scaled = StandardScaler().set_output(transform="pandas")
    numbers = frame[["age", "pay"]]
    for model in (PrivateTableClassifier(ledger=budget), PrivateTableRegressor(ledger=budget)):
        with pytest.raises(LeakError, match="StandardScaler"):
            make_pipeline(scaled, model).fit(numbers, labels)
    first = PrivateScaler(ledger=budget).set_output(transform="pandas")
    with pytest.raises(LeakError, match="prepares the table itself"), warnings.catch_warnings(action="ignore"):
        make_pipeline(first, PrivateTableClassifier(ledger=budget)).fit(numbers, labels)
    assert len(budget.entries) == 1  # the scaler alone


def test_an_empty_table_is_refused_before_the_charge():
    """A fit to one record succeeds, so an error after the charge would tell the two tables apart."""
    budget = MemoryBudget(ApproxDP(9.0, 1e-3, "add_remove"), blocks=5)
    options = {"adjacency": "add_remove", "ledger": budget}
    with pytest.raises(DataError, match="at least one record"):
        PrivateTableClassifier(classes=("a", "b"), **options).fit({"x": []}, [])
    with pytest.raises(DataError, match="at least one record"):
        PrivateTableEncoder(**options).fit({"x": []})
    assert not budget.entries
    with warnings.catch_warnings(action="ignore"):
        PrivateTableClassifier(classes=("a", "b"), **options).fit({"x": [1]}, ["a"])


def test_declared_classes_are_compared_in_canonical_form():
    rng = np.random.default_rng(0)
    age = rng.integers(0, 100, 6000)
    labels = np.where(age > 50, "01", "02")
    model = PrivateTableClassifier(epsilon=3.0, delta=1e-5, classes=("01", "02")).fit({"age": age}, labels)
    assert model.score({"age": age}, labels) > 0.9
    for same in (("1", "01"), ("NA", "b"), ("true", 1)):
        with pytest.raises(ParameterError, match="classes"):
            PrivateTableClassifier(classes=same).fit({"age": age}, labels)
    with pytest.raises(ParameterError, match="'y'"):
        PrivateTableClassifier().fit({"age": age, "y": age}, labels)


def test_a_saved_model_keeps_its_schema_and_its_receipt(tmp_path):
    table = synthetic()
    ledger = Ledger.open(
        tmp_path / "a.ledger", ApproxDP(4.0, 1e-4, "add_remove"), blocks=2, dataset="synthetic", unit="one person"
    )
    model = PrivateTableClassifier(epsilon=3.0, delta=5e-5, adjacency="add_remove", ledger=ledger)
    model.fit(table, target="income").save(tmp_path / "model.dperm")
    loaded = load_model(tmp_path / "model.dperm")  # compares the digest of schema, header and coefficients
    assert (loaded.predict(table) == model.predict(table)).all()
    assert model.record_.ledger["digest"].startswith("sha256:")
    unseen = {"age": [None, "?"], "work": ["new", 7]}
    assert loaded.predict({**unseen, "pay": [1.0, None]}).shape == (2,)


def test_a_schema_without_labels_is_kept():
    budget = MemoryBudget(ApproxDP(9.0, 1e-4, "replace_one"), blocks=2)
    table = synthetic()
    model = PrivateTableClassifier(epsilon=3.0, ledger=budget).fit(table, target="income")
    with pytest.raises(AssumptionError, match="fewer than two classes"):
        model.fit({**table, "income": np.full(6000, "one")}, target="income")
    assert (model.guarantee_.epsilon, model.record_.ledger["digest"]) == (3.0, budget.entries[1].digest)
    assert "age" in model.schema_.encoder.columns and model.prepared_.records / 0.9 == model.n_records_ > 5000
    assert model.statement_["covered"].startswith("This release only") and model.profile_ is not None
    with pytest.raises(NotFittedError):  # not the model of the fit before
        model.predict(table)


def test_a_schema_without_any_value_is_warned_about():
    table, labels = {"a": [f"x{place}" for place in range(500)]}, [place % 2 for place in range(500)]
    with pytest.warns(DpermWarning, match="every prepared column was left out"):
        PrivateTableEncoder(epsilon=3.0, adjacency="add_remove").fit(table)
    model = PrivateTableClassifier(epsilon=3.0, classes=[0, 1], adjacency="add_remove")
    with pytest.warns(DpermWarning, match="show only whether 'a' is missing"):
        model.fit(table, labels)
    text = str(model.statement_["data_domain"])
    assert "Every prepared column was left out" in text and "all values are treated alike" in text
    assert "one of , or" not in text


def test_the_encoder_finds_a_schema_and_a_seed_is_not_private():
    table = synthetic()
    encoder = PrivateTableEncoder(epsilon=3.0, delta=1e-5, task="classification")
    features = {name: table[name] for name in ("age", "work", "pay")}
    rows = encoder.fit(features, table["income"]).transform(features)
    assert encoder.classes_.tolist() == ["high", "low"]
    assert encoder.n_records_ == pytest.approx(6000, rel=0.1)
    assert np.sqrt((np.asarray(rows) ** 2).sum(axis=1)).max() <= encoder.norm_ * (1 + 1e-12)
    with pytest.warns(UserWarning, match="NOT PRIVATE"):
        seeded = PrivateTableEncoder(random_state=1).fit(features)
    assert seeded.guarantee_ is None


def test_draws_use_secure_bits_by_default():
    plan = PreparationPlan.for_goal(["a"], GOAL)
    private = PrivateColumns.of({"a": [1.0] * 1000})
    first, second = (plan.draw(private, SystemBits().stream()).records for _ in range(2))
    assert first != second
