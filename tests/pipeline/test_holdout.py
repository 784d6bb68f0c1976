# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Stages on parts of the records that secret coins choose (T71): plans, splits, models with metrics."""

import json
import math

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from false_alarms import unpredictable
from scipy.stats import binom
from sklearn.base import clone

from dperm import ApproxDP, Ledger, account
from dperm.accounting import MemoryBudget, ParallelParts
from dperm.data import Categorical, Numeric
from dperm.data.canonical import canonical_column
from dperm.data.table_part import TablePart, common_length, part_of_column
from dperm.errors import AssumptionError, DataError, DpermError, DpermWarning, ParameterError
from dperm.noise import NotPrivateBits
from dperm.noise.bits import SystemBits
from dperm.pipeline import RecordSplit
from dperm.report.page import page
from dperm.sklearn import (
    PrivateLinearSVC,
    PrivateLogisticRegression,
    PrivatePipeline,
    PrivateQuantileRegressor,
    PrivateTableClassifier,
    PrivateTableEncoder,
    PrivateTableRegressor,
    PublicTableEncoder,
    load_model,
)

BOTH = pytest.mark.parametrize("adjacency", ["add_remove", "replace_one"])
CELLS = ["a", "1", None, "b", "1.0", "a", "held out alone"]
DECLARED = {"age": Numeric(18, 90), "work": Categorical(["private", "public", "self"])}


def people(n=6000, seed=0):
    rng = np.random.default_rng(seed)
    age, work = rng.integers(18, 90, n), rng.choice(["private", "public", "self"], n)
    pay = 3.0 * age + 50 * (work == "self") + 20 * rng.normal(size=n)
    return pd.DataFrame({"age": age, "work": work, "income": np.where(pay > 180, "high", "low")})


# --- coins and parts ---


@unpredictable(1e-9, 2)
def test_every_record_has_one_part_and_sizes_are_binomial():
    """A split with an exact size would move another record when one is added (E42)."""
    sizes = []
    for _ in range(300):
        split = RecordSplit.by_coins(1000, holdout=0.1, stream=SystemBits().stream())
        assert sorted([*split.training, *split.evaluation]) == list(range(1000))
        sizes.append(len(split.evaluation))
    assert binom.isf(1e-9, 300_000, 0.1) >= sum(sizes) >= binom.ppf(1e-9, 300_000, 0.1)
    assert 5.5 < np.std(sizes) < 14.5  # sqrt(90) = 9.5


def test_a_record_that_is_added_moves_no_other_record():
    splits = [RecordSplit.by_coins(n, holdout=0.3, stream=NotPrivateBits(1).stream()) for n in (400, 401)]
    assert set(splits[0].evaluation) == set(splits[1].evaluation) - {400}


@pytest.mark.parametrize(
    "make",
    [
        *(list, tuple, lambda cells: np.array(cells, dtype=object), pd.Series, pd.Index),
        *(lambda cells: pd.Series(cells, dtype="category"), pl.Series, pa.array),
        *(lambda cells: pa.chunked_array([cells[:3], cells[3:]]), canonical_column),
        lambda cells: pa.chunked_array([pa.array(cells).dictionary_encode()]),
    ],
)
def test_a_part_of_a_column_knows_nothing_of_the_other_cells(make):
    """T71, T73: a text outside the part is not counted there, so no noise can make it appear."""
    part = canonical_column(part_of_column(make(CELLS), np.array([1, 3, 4, 5])))
    codes, texts = part.values()
    assert [texts[code] for code in codes] == ["1", "b", "1", "a"]
    assert set(texts) == {"1", "a", "b"}


def test_a_part_of_a_table_reads_one_column_at_a_time():
    part = TablePart({"a": CELLS, "b": range(7)}, np.array([0, 6]))
    assert part["a"] == ["a", "held out alone"] and list(part["b"]) == [0, 6] and len(part) == 2
    assert "held out" not in repr(part) and "2" not in repr(part)
    with pytest.raises(DataError, match="the same length"):
        common_length({"a": CELLS, "b": [1]})


# --- plan ---


@BOTH
def test_every_part_spends_the_whole_guarantee(adjacency):
    """T71: the profile of the whole is the largest profile of both parts."""
    goal = ApproxDP(1.0, 1e-5, adjacency)
    model = PrivateTableClassifier(epsilon=1.0, delta=1e-5, adjacency=adjacency)
    plan = model.plan(["age", "work"], "income", 6000 if adjacency == "replace_one" else None)
    assert plan.event == ParallelParts((plan.learning_event, plan.evaluation.event))
    deltas = [account(event, goal.adjacency).delta(1.0) for event in (plan.learning_event, plan.evaluation.event)]
    assert 0.9e-5 < min(deltas) and account(plan.event, goal.adjacency).delta(1.0) <= 1e-5
    whole = model.set_params(holdout=0.0).plan(["age", "work"], "income", 6000 if adjacency == "replace_one" else None)
    assert (whole.evaluation, whole.event) == (None, whole.learning_event)
    assert whole.preparation.event == plan.preparation.event
    names = [stage["stage"] for stage in plan.stages]
    assert names == ["preparation", "training", "evaluation"] and plan.stages[-1]["epsilon_alone"] <= 1.0


def test_declared_tables_spend_nothing_on_their_preparation():
    model = PrivateTableClassifier(epsilon=1.0, adjacency="add_remove", columns=DECLARED, classes=["high", "low"])
    plan = model.plan(["age", "work"], "income")
    assert plan.preparation is None and plan.training_goal == plan.goal
    assert [stage["stage"] for stage in plan.stages] == ["training", "evaluation"]


@pytest.mark.parametrize("holdout", [-0.1, 0.51, "a"])
def test_a_holdout_outside_of_its_range_is_refused(holdout):
    with pytest.raises(ParameterError, match="holdout"):
        PrivateTableClassifier(holdout=holdout).plan(["age"], "income", 100)


# --- models ---


@BOTH
def test_one_charge_covers_schema_model_and_metrics(adjacency, tmp_path):
    table = people()
    ledger = Ledger.open(tmp_path / "a.ledger", ApproxDP(3.0, 1e-5, adjacency), blocks=1, dataset="people")
    model = PrivateTableClassifier(
        epsilon=3.0, delta=1e-5, adjacency=adjacency, ledger=ledger, groups={"work": ["self"]}
    )
    model.fit(table, target="income")
    assert model.guarantee_ == ApproxDP(3.0, 1e-5, adjacency)
    (booking,) = ledger.bookings()
    assert booking.state.value == "committed" and [stage.name for stage in booking.stages] == [
        "preparation",
        "training",
        "evaluation",
    ]
    assert [stage["name"] for stage in model.record_.stages] == [stage.name for stage in booking.stages]
    true = model.score(people(20_000, seed=1).drop(columns="income"), people(20_000, seed=1)["income"])
    found = model.metrics_.accuracy
    assert found.low - 0.03 < true < found.high + 0.03 and found.high - found.low < 0.2
    assert set(model.metrics_.groups) == {"self", "other"}
    assert 5500 < model.n_records_ < 6500
    assert {"T71", "T85"} <= set(model.record_.theorems)
    model.save(tmp_path / "model.dperm")
    loaded = load_model(tmp_path / "model.dperm")
    rows = table.drop(columns="income")
    assert (loaded.predict(rows) == model.predict(rows)).all()
    assert loaded[-1].statement_["utility"] == model.statement_["utility"]


def test_the_statement_shows_stages_and_metrics():
    options = {"epsilon": 3.0, "adjacency": "add_remove", "groups": {"work": ["nobody"]}}
    model = PrivateTableClassifier(**options).fit(people(), target="income")
    statement = model.statement_
    text, html = statement.to_markdown(), page(statement)
    assert "| preparation | private schema | training records, each with probability 0.9 |" in text
    assert (
        "| accuracy |" in text
        and "| accuracy, group nobody | hidden" in text
        and "evaluation" in html
        and "ROC curve" in html
    )
    known = json.loads(statement.to_json())["fields"]["utility"]["known"]
    accuracy = next(row for row in known["metrics"] if row["metric"] == "accuracy")
    assert accuracy["estimate"] == model.metrics_.accuracy.value
    assert "metrics in field 30" in statement["covered"] and "secret coin flip" in statement["sampling"]["run"]
    stated = statement.filled({"utility": "as measured"})
    assert stated["utility"] == {"known": known, "stated": "as measured"}


def seeded(table, **options):
    with pytest.warns(DpermWarning, match="NOT PRIVATE"):
        return PrivateTableClassifier(epsilon=3.0, delta=1e-5, random_state=5, **options).fit(table, target="income")


def test_training_never_reads_evaluation_records_and_the_evaluation_no_others():
    """T71: with the same coins and noise, each part decides its own stages alone."""
    table = people(3000)
    split = RecordSplit.by_coins(3000, holdout=0.1, stream=NotPrivateBits(5).stream())
    base = seeded(table)
    other = table.astype(object)
    other.loc[split.evaluation, :] = [1e300, "held out alone", "low"]
    changed = seeded(other)
    assert repr(changed.prepared_) == repr(base.prepared_)
    np.testing.assert_array_equal(changed.model_.coef_, base.model_.coef_)
    assert changed.metrics_.accuracy.value != base.metrics_.accuracy.value
    # noise is drawn after the schema and the model, whose draws depend on their data: only the exact counts compare
    rows = base.schema_.encoder.transform(other.drop(columns="income").iloc[split.evaluation], unseen="other")
    predicted = base.model_.predict(rows)
    right = (predicted == "low").mean()
    assert changed.metrics_.accuracy.value == pytest.approx(right, abs=0.1)


@pytest.mark.parametrize("records", [1, 2, 3])
@pytest.mark.filterwarnings("ignore")
def test_parts_without_records_raise_no_error(records):
    """The coins may choose all records or none; an error would show it, after the charge."""
    table = people(records)
    for _ in range(8):
        model = PrivateTableClassifier(
            epsilon=1.0, adjacency="add_remove", columns=DECLARED, classes=["high", "low"], holdout=0.5
        ).fit(table, target="income")
        assert model.metrics_.accuracy.low <= model.metrics_.accuracy.high
        with pytest.raises(AssumptionError, match="private schema has"):
            PrivateTableRegressor(epsilon=1.0, holdout=0.5).fit(table.drop(columns="income"), target="age")


@BOTH
def test_a_regression_has_metrics_of_errors(adjacency):
    table = people().drop(columns="income").assign(pay=lambda t: 3.0 * t["age"] + 50 * (t["work"] == "self"))
    model = PrivateTableRegressor(epsilon=4.0, delta=1e-5, adjacency=adjacency).fit(table, target="pay")
    assert model.metrics_.r_squared.value == pytest.approx(
        model.score(table.drop(columns="pay"), table["pay"]), abs=0.1
    )
    assert model.metrics_.mae.low < model.metrics_.mae.value < model.metrics_.mae.high
    assert "T88" in model.record_.theorems


# --- chosen steps ---


def steps(model, encoder=None):
    return [("schema", encoder or PrivateTableEncoder()), ("model", model)]


def test_chosen_steps_share_one_guarantee():
    table = people()
    budget = MemoryBudget(ApproxDP(3.0, 1e-5, "add_remove"), blocks=1)
    pipeline = PrivatePipeline(
        steps(PrivateLinearSVC()), epsilon=3.0, delta=1e-5, adjacency="add_remove", ledger=budget
    )
    pipeline.fit(table, target="income")
    assert pipeline.guarantee_ == ApproxDP(3.0, 1e-5, "add_remove") and len(budget.entries) == 1
    rows, labels = table.drop(columns="income"), table["income"]
    assert pipeline.score(rows, labels) > 0.85 and not hasattr(pipeline, "predict_proba")
    assert pipeline.decision_function(rows).shape == (6000,)
    assert pipeline.metrics_.auc.value > 0.85
    assert type(pipeline.named_steps["model"]) is PrivateLinearSVC and not hasattr(
        pipeline.named_steps["model"], "coef_"
    )


def test_the_classifier_is_the_pipeline_with_logistic_regression():
    classifier = PrivateTableClassifier(epsilon=1.0, adjacency="add_remove")
    pipeline = PrivatePipeline(steps(PrivateLogisticRegression()), epsilon=1.0, adjacency="add_remove")
    assert classifier.plan(["a", "b"], "y") == pipeline.plan(["a", "b"], "y")
    declared = PrivatePipeline(
        steps(PrivateLogisticRegression(classes=["high", "low"]), PublicTableEncoder(DECLARED)), adjacency="add_remove"
    )
    plan = declared.plan(["age", "work", "not read"], "income")
    assert plan.preparation is None and list(plan.declared) == list(DECLARED)


def test_parameters_of_steps_are_found_and_copied():
    pipeline = PrivatePipeline(steps(PrivateLinearSVC(loss="smoothed_hinge")), epsilon=2.0)
    copy = clone(pipeline).set_params(model__width=0.25, schema__encoding="scaled")
    assert copy.get_params()["model__loss"] == "smoothed_hinge" and copy.epsilon == 2.0
    assert copy.plan(["a"], "y", 100).preparation.norm_noise is not None
    assert pipeline.get_params()["model__width"] == 0.5


@pytest.mark.parametrize(
    ("model", "named"),
    [
        (PrivateLogisticRegression(epsilon=2.0), "model__epsilon"),
        (PrivateLogisticRegression(C=2.0), "model__C"),
        (PrivateLogisticRegression(random_state=1), "model__random_state"),
        (PrivateLogisticRegression(method="bolt_on"), "model__method"),
        (PrivateLogisticRegression(class_weight={0: 2.0}), "model__class_weight"),
        (PrivateTableClassifier(), "steps"),
    ],
)
def test_steps_cannot_bring_a_guarantee_of_their_own(model, named):
    with pytest.raises(ParameterError) as error:
        PrivatePipeline(steps(model)).plan(["a"], "y", 100)
    assert error.value.argument == named


@pytest.mark.parametrize(
    ("model", "options"),
    [
        (PrivateTableRegressor, {"label_range": (100, 0)}),
        (PrivateTableRegressor, {"label_range": 5}),
        (PrivateTableRegressor, {"clip": 2.0}),
        (PrivateTableClassifier, {"invalid": "keep"}),
        (PrivateTableClassifier, {"groups": {"work": "self"}}),
        (PrivateTableClassifier, {"groups": {"nowhere": ["self"]}}),
        (PrivateTableClassifier, {"groups": {"work": 5}}),
    ],
)
def test_wrong_public_arguments_are_refused_before_the_charge(model, options):
    budget = MemoryBudget(ApproxDP(3.0, 1e-5, "add_remove"), blocks=1)
    fit = model(epsilon=3.0, delta=1e-5, adjacency="add_remove", ledger=budget, **options)
    with pytest.raises(ParameterError):
        fit.fit(people(300), target="income")
    assert budget.spent["epsilon"] == 0


@pytest.mark.parametrize(
    "model", [PrivateLogisticRegression(method="sgd"), PrivateQuantileRegressor(method="output", label_range=(0, 1))]
)
def test_a_method_that_cannot_be_run_is_refused_before_the_charge(model):
    budget = MemoryBudget(ApproxDP(3.0, 1e-5, "add_remove"), blocks=1)
    pipeline = PrivatePipeline(steps(model), epsilon=3.0, delta=1e-5, adjacency="add_remove", ledger=budget)
    with pytest.raises(DpermError):
        pipeline.fit(people(300), target="income")
    assert budget.spent["epsilon"] == 0


def test_groups_may_be_of_a_column_that_is_no_feature():
    encoder = PublicTableEncoder({"age": Numeric(18, 90)})
    model = PrivateLogisticRegression(classes=["high", "low"])
    pipeline = PrivatePipeline(steps(model, encoder), adjacency="add_remove", groups={"work": ["self"]})
    assert set(pipeline.fit(people(), target="income").metrics_.groups) == {"self", "other"}
    numbered = people().set_axis([0, 1, "income"], axis=1)
    classifier = PrivateTableClassifier(epsilon=3.0, adjacency="add_remove", groups={1: ["self"]})
    assert set(classifier.fit(numbered, target="income").metrics_.groups) == {"self", "other"}


def test_the_noise_of_the_metrics_is_that_of_the_goal():
    """T85 under add/remove: sensitivity 1, so the noise multiplier is that of one Gaussian release at the goal."""
    plan = PrivateTableClassifier(epsilon=1.0, delta=1e-5, adjacency="add_remove").plan(["a"], "y")
    assert plan.evaluation.noise_deviation == pytest.approx(1 / 0.2680510774149594, rel=1e-3)  # golden/pipeline.json
    assert math.isfinite(plan.stages[2]["epsilon_alone"])
