# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""PrivateMetrics with models of dperm and scikit-learn, its charge, and the errors that reveal nothing."""

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from sklearn.dummy import DummyClassifier
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from dperm import ApproxDP
from dperm.accounting import MemoryBudget
from dperm.data import Categorical, Numeric
from dperm.errors import BudgetError, DataError, DpermWarning, NotPrivateWarning, ParameterError
from dperm.report import evaluation_plots, write_statement
from dperm.sklearn import (
    PrivateLinearRegression,
    PrivateLinearSVC,
    PrivateLogisticRegression,
    PrivateMetrics,
    PrivateTableClassifier,
    PrivateTableRegressor,
    PublicTableEncoder,
)

mpl.use("Agg")
DELTA = 1e-6


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(0)
    n = 8000
    age, work = rng.integers(18, 90, n), rng.choice(["private", "public"], n)
    wealth = age + 40 * (work == "public") + 15 * rng.normal(size=n)
    high = np.where(wealth > 70, "high", "low")
    return pd.DataFrame({"age": age, "work": work, "income": high, "wealth": np.clip(wealth, 0, 160)})


@pytest.fixture(scope="module")
def arrays():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(6000, 3))
    return X, X @ [1.0, 2.0, 0.0] + rng.normal(size=6000)


def halves(data):
    return data[: len(data) // 2], data[len(data) // 2 :]


def measured(model, X, y, **arguments):
    return PrivateMetrics(epsilon=3.0, delta=DELTA, **arguments).evaluate(model, X, y)


@pytest.mark.parametrize(
    "model",
    [
        LogisticRegression(),
        LinearSVC(),
        make_pipeline(StandardScaler(), LogisticRegression()),
        PrivateLogisticRegression(epsilon=3.0, feature_norm=3.0, classes=(0, 1)),
        PrivateLinearSVC(epsilon=3.0, feature_norm=3.0, classes=(0, 1)),
    ],
    ids=["proba", "decision", "pipeline", "own", "own without probabilities"],
)
@pytest.mark.parametrize("adjacency", ["add_remove", "replace_one"])
def test_a_classifier_is_measured(model, adjacency, arrays):
    X, y = arrays[0], (arrays[1] > 0).astype(int)
    (train, test), (known, asked) = halves(X), halves(y)
    model.fit(train, known)
    found = measured(model, test, asked, classes=(0, 1), adjacency=adjacency)
    truth = model.score(test, asked)
    assert found.metrics_.accuracy.value == pytest.approx(truth, abs=0.02)
    assert found.metrics_.accuracy.low <= truth <= found.metrics_.accuracy.high
    assert found.guarantee_ == ApproxDP(3.0, DELTA, adjacency)
    assert found.plan_.n == (3000 if adjacency == "replace_one" else None)
    assert found.profile_.delta(3.0) <= DELTA


def test_models_of_raw_tables_and_encoders_know_their_classes_and_ranges(frame):
    train, test = halves(frame)
    features = ["age", "work"]
    tables = PrivateTableClassifier(epsilon=5.0, delta=DELTA).fit(train[features], train["income"])
    columns = {"age": Numeric(18, 90), "work": Categorical(["private", "public"])}
    model = PrivateLogisticRegression(epsilon=5.0, classes=("high", "low"), feature_norm="auto")
    encoded = make_pipeline(PublicTableEncoder(columns), model).fit(train[features], train["income"])
    for one in (tables, encoded):
        found = measured(one, test[features], test["income"], groups={"work": ["private", "public"]})
        assert found.plan_.classes == ("high", "low")
        truth = np.mean(one.predict(test[features]) == test["income"])
        assert found.metrics_.accuracy.value == pytest.approx(truth, abs=0.03)
        private = test["work"] == "private"
        truth = np.mean(one.predict(test[features][private]) == test["income"][private])
        assert found.metrics_.groups["private"]["accuracy"].value == pytest.approx(truth, abs=0.05)
    regressor = PrivateTableRegressor(epsilon=5.0, delta=DELTA).fit(train[features], train["wealth"])
    found = measured(regressor, test[features], test["wealth"])
    assert found.plan_.label_range == regressor.schema_.target.range
    assert (
        found.metrics_.r_squared.low <= regressor.score(test[features], test["wealth"]) <= found.metrics_.r_squared.high
    )


def test_a_regression_is_measured(arrays):
    (train, test), (known, asked) = halves(arrays[0]), halves(arrays[1])
    for model, arguments in [
        (PrivateLinearRegression(epsilon=3.0, feature_norm=4.0, label_range=(-10, 10)), {}),
        (LinearRegression(), {"label_range": (-10, 10)}),
    ]:
        found = measured(model.fit(train, known), test, asked, **arguments).metrics_
        truth = np.abs(model.predict(test) - asked).mean()
        assert found.mae.low <= truth <= found.mae.high


def test_more_classes_and_classes_in_another_order(arrays):
    (train, test), (known, asked) = halves(arrays[0]), halves(np.digitize(arrays[1], [-1, 1]))
    names = np.array(["c", "a", "b"])
    model = LogisticRegression().fit(train, names[known])
    found = measured(model, test, names[asked], classes=("c", "b", "a", "d"), positive="b")
    assert found.plan_.classes == ("a", "b", "c", "d")
    truth = np.mean(model.predict(test) == names[asked])
    assert found.metrics_.accuracy.value == pytest.approx(truth, abs=0.02)
    assert found.metrics_.auc.value > 0.9
    assert found.metrics_.recall["d"].high - found.metrics_.recall["d"].low > 0.5  # no such record


def test_scores_are_measured_without_a_model():
    rng = np.random.default_rng(2)
    y = rng.random(4000) < 0.5
    scores = np.where(y, 0.9, 0.2)
    metrics = PrivateMetrics(epsilon=2.0, delta=DELTA, classes=(False, True))
    assert metrics.evaluate_scores(y, scores).metrics_.accuracy.value == pytest.approx(1, abs=0.02)
    assert metrics.evaluate_scores(y, np.stack([1 - scores, scores], 1)).metrics_.auc.value > 0.97
    errors = PrivateMetrics(epsilon=2.0, delta=DELTA, label_range=(0, 1)).evaluate_scores(y * 1.0, y * 1.0)
    assert errors.metrics_.mae.low == 0.0


def test_the_ledger_is_charged_once_and_before_a_draw(arrays):
    X, y = arrays[0], (arrays[1] > 0).astype(int)
    model = LogisticRegression().fit(X, y)
    budget = MemoryBudget(ApproxDP(1.0, DELTA, "add_remove"), blocks=1)
    metrics = PrivateMetrics(epsilon=1.0, delta=DELTA, adjacency="add_remove", classes=(0, 1), ledger=budget)
    with pytest.raises(DataError, match="could not predict"):
        metrics.evaluate(model, X[:, :2], y)
    with pytest.raises(DataError):
        metrics.evaluate(model, X, y[:-1])
    metrics.evaluate(model, X, y)
    with pytest.raises(BudgetError):
        metrics.evaluate(model, X, y)


class Chatty(DummyClassifier):
    """Model whose error repeats the records."""

    def predict_proba(self, X):
        raise ValueError(f"cannot predict {X!r}")


def test_errors_repeat_no_record():
    model = Chatty().fit([[0], [1]], [0, 1])
    with pytest.raises(DataError) as refusal:
        measured(model, [["secret"]], [0], classes=(0, 1), adjacency="add_remove")
    assert "secret" not in str(refusal.value)
    assert refusal.value.__cause__ is None and refusal.value.__context__ is None


def test_a_seed_makes_an_evaluation_not_private():
    metrics = PrivateMetrics(classes=(0, 1), random_state=0)
    with pytest.warns(NotPrivateWarning, match="random_state") as caught:
        metrics.evaluate_scores([0, 1] * 500, [0.1, 0.9] * 500)
    assert caught[0].filename == __file__ and len(caught) == 1
    assert metrics.guarantee_ is None and metrics.profile_ is None and not metrics.record_.is_private
    assert metrics.statement_["status"].startswith("NOT PRIVATE")
    first = metrics.metrics_.noisy
    with pytest.warns(NotPrivateWarning):
        assert np.array_equal(metrics.evaluate_scores([0, 1] * 500, [0.1, 0.9] * 500).metrics_.noisy, first)


def test_the_statement_lists_every_metric_with_its_interval():
    metrics = PrivateMetrics(classes=(0, 1)).evaluate_scores([0, 1] * 500, [0.1, 0.9] * 500)
    statement = metrics.statement_
    utility = statement["utility"]["known"]  # a fact of the run, and no text of a curator
    listed = {one["metric"]: one for one in utility["metrics"]}
    assert {"accuracy", "area under the ROC curve", "Brier score", "recall, class 1"} <= set(listed)
    assert listed["accuracy"]["low"] == metrics.metrics_.accuracy.low
    assert "cannot be checked" in utility["evaluated on"]
    assert "T85" in str(statement["accountant"]["theorems"])
    assert {"share, class 0", "baseline accuracy (most frequent class)"} <= set(listed)


def test_every_statement_of_an_evaluation_names_model_and_target_and_has_the_metrics(frame, tmp_path):
    train, test = halves(frame)
    model = make_pipeline(StandardScaler(), LogisticRegression()).fit(train[["age"]], train["income"])
    budget = MemoryBudget(ApproxDP(9.0, 1e-5, "replace_one"), blocks=9)
    metrics = PrivateMetrics(epsilon=2.0, delta=DELTA, classes=("high", "low"), ledger=budget)
    found = metrics.evaluate(model, test[["age", "income"]], target="income")
    assert found.record_.public["evaluated_model"] == {"class": "LogisticRegression"}
    assert found.record_.public["target"] == "income"
    text = found.statement_.to_markdown()
    assert "Evaluation of Logistic Regression for target income" in text.splitlines()[0]
    assert "Accuracy on the evaluated records" in text and "held-out" not in text
    with pytest.raises(ParameterError, match="may name"):
        found.write_statement(tmp_path / "own.html", {"curater": "me"})
    found.write_statement(tmp_path / "own.html", {"curator": "me"})
    write_statement(tmp_path / "release.html", found.release_, fields={"curator": "me"})
    pages = [(tmp_path / name).read_text() for name in ("own.html", "release.html")]
    assert pages[0] == pages[1] and all(f'<figure id="{name}"' in pages[0] for name in ("metrics", "roc"))
    named = PrivateMetrics(epsilon=2.0, delta=DELTA, classes=("high", "low")).evaluate(
        model, test[["age"]], test["income"]
    )
    assert named.record_.public["target"] == "income"


@pytest.mark.parametrize("labels", [{"y": "income"}, {"y": None}, {"y": [0], "target": "income"}])
def test_labels_are_an_array_or_the_name_of_a_column(labels, frame):
    with pytest.raises(ParameterError, match="unless target names their column"):
        PrivateMetrics(classes=("high", "low")).evaluate(LogisticRegression(), frame, **labels)
    with pytest.raises(DataError, match="column named 'incom'"):
        PrivateMetrics(classes=("high", "low")).evaluate(LogisticRegression(), frame, target="incom")


def test_too_few_records_are_warned_of_before_the_charge_or_noted_with_the_metrics():
    """The noise alone: 1.96 sigma sqrt(0.375 cells) / n is 0.1 at the number of records in the plan."""
    y, scores = [0, 1] * 50, [0.1, 0.9] * 50
    empty = MemoryBudget(ApproxDP(0.1, DELTA, "replace_one"), blocks=1)
    with (
        pytest.warns(DpermWarning, match=r"about 100 records.*moves the accuracy") as caught,
        pytest.raises(BudgetError),
    ):
        PrivateMetrics(classes=(0, 1), ledger=empty).evaluate_scores(y, scores)
    assert caught[0].filename == __file__
    known = PrivateMetrics(classes=(0, 1)).plan(n=5000)
    assert known.noise_deviation * np.sqrt(0.375 * 41) * 1.96 / known.fewest_records == pytest.approx(0.1, rel=1e-2)
    private = PrivateMetrics(classes=(0, 1), public_n=False)
    assert "the noise alone" in str(private.evaluate_scores(y, scores).metrics_)
    assert "the noise alone" not in str(private.evaluate_scores(y * 50, scores * 50).metrics_)
    with pytest.warns(DpermWarning, match="half the label range"):
        PrivateMetrics(label_range=(0, 1)).evaluate_scores([0.5], [0.5])


def test_fitted_table_models_have_the_same_plots(frame, tmp_path):
    model = PrivateTableClassifier(epsilon=5.0, delta=DELTA, holdout=0.3).fit(frame[["age", "work"]], frame["income"])
    for name in ("plot_roc", "plot_calibration", "plot_confusion"):
        getattr(model, name)(path=tmp_path / f"{name}.png")
        assert (tmp_path / f"{name}.png").stat().st_size > 5000
    with pytest.raises(NotFittedError):
        PrivateTableClassifier().plot_roc()
    model.metrics_ = None
    with pytest.raises(ParameterError, match="holdout must be positive"):
        model.plot_roc()


@pytest.mark.parametrize(
    ("arguments", "argument"),
    [
        ({}, "classes"),
        ({"classes": (0, 1), "epsilon": np.inf}, "epsilon"),
        ({"classes": (0, 1), "groups": {"a": [1], "b": [2]}}, "groups"),
        ({"classes": (0, 1), "groups": {"missing": [1]}}, "groups"),
        ({"classes": (0, 1), "groups": {"region": "north"}}, "groups"),
    ],
)
def test_arguments_are_checked(arguments, argument):
    model = LogisticRegression().fit([[0], [1]], [0, 1])
    with pytest.raises(ParameterError) as refusal:
        PrivateMetrics(adjacency="add_remove", **arguments).evaluate(model, [[0.0], [1.0]], [0, 1])
    assert refusal.value.argument == argument


def test_models_without_scores_or_ranges_are_refused(arrays):
    with pytest.raises(ParameterError, match="must have classes_, and predict_proba or decision_function"):
        PrivateMetrics(classes=(0, 1), adjacency="add_remove").evaluate(
            LinearRegression().fit([[0], [1]], [0, 1]), [[0.0]], [0]
        )
    with pytest.raises(ParameterError, match="label_range must be given"):
        PrivateMetrics().evaluate(LinearRegression().fit([[0], [1]], [0, 1]), [[0.0]], [0])
    with pytest.raises(NotFittedError, match="call evaluate"):
        PrivateMetrics().plot_roc()


def test_the_number_of_records_is_not_used_where_it_is_private():
    for arguments in ({"adjacency": "add_remove"}, {"public_n": False}):
        found = PrivateMetrics(classes=(0, 1), **arguments).evaluate_scores([0, 1] * 50, [0.1, 0.9] * 50)
        assert found.plan_.n is None and found.record_.public["n"] is None


def test_plots_show_the_released_numbers(tmp_path):
    rng = np.random.default_rng(3)
    y = rng.random(5000) < 0.4
    scores = np.clip(np.where(y, 0.65, 0.35) + 0.2 * rng.normal(size=5000), 0, 1)
    metrics = PrivateMetrics(classes=(False, True)).evaluate_scores(y, scores)
    found = metrics.metrics_
    line = metrics.plot_roc().get_lines()[0]
    assert line.get_ydata().tolist() == list(found.roc.true_positive_rates)
    assert "AUC" in line.get_label()
    assert len(metrics.plot_calibration().containers[0].lines[0].get_xdata()) == len(
        [one for one in found.calibration if one.rate.high - one.rate.low <= 0.7]
    )
    texts = [text.get_text() for text in metrics.plot_confusion().texts]
    assert len(texts) == 4 and texts[0].startswith(f"{found.recall[False].value:.2f}")
    evaluation_plots.plot_confusion(found, path=tmp_path / "confusion.png")
    assert (tmp_path / "confusion.png").stat().st_size > 5000
    errors = PrivateMetrics(label_range=(0, 1)).evaluate_scores(y * 1.0, scores).metrics_
    for plot in (evaluation_plots.plot_roc_curve, evaluation_plots.plot_calibration, evaluation_plots.plot_confusion):
        with pytest.raises(ParameterError, match="must have"):
            plot(errors)
