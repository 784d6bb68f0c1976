# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""PrivateSearch: one charge, one guarantee, and nothing about the other trials (T80, T93)."""

import pickle
import re
import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from dperm import ApproxDP, BudgetError
from dperm.accounting import Approximate, BestOf, Gaussian, MemoryBudget, Pure, Runs
from dperm.errors import AssumptionError, DataError, DpermWarning, LeakError, NotPrivateWarning, ParameterError
from dperm.ledger import Ledger
from dperm.pipeline import search as trials_module
from dperm.pipeline.search import WHOLE
from dperm.sklearn import (
    PrivateLinearRegression,
    PrivateLogisticRegression,
    PrivateSearch,
    PrivateTableClassifier,
    load_model,
    save_model,
)
from dperm.sklearn.replan import replan
from dperm.sklearn.search_trials import squared_grades

ADD, REPLACE = "add_remove", "replace_one"
BOTH = [ADD, REPLACE]
TWO, THREE = {"clip": [0.5, 1.0]}, {"clip": [0.4, 0.5, 1.0]}
RNG = np.random.default_rng(0)
X = RNG.uniform(-1, 1, (600, 3)) / 2
Y = (X[:, 0] > X[:, 1]).astype(int)


def logistic(**more):
    return PrivateLogisticRegression(feature_norm=1.0, classes=(0, 1), **more)


def search_of(settings=TWO, adjacency=REPLACE, estimator=None, **more):
    quick = logistic(method="objective")  # its plans need few evaluations of the accountant
    return PrivateSearch(
        quick if estimator is None else estimator, settings, epsilon=2.0, delta=1e-5, adjacency=adjacency, **more
    )


class Constant:
    """A model without data."""

    def __init__(self, label):
        self.label = label

    def predict(self, X):
        return np.full(len(X), self.label)


# --- one release ---


@pytest.mark.parametrize(("adjacency", "settings"), [(ADD, TWO), pytest.param(REPLACE, THREE, marks=pytest.mark.slow)])
def test_the_model_the_setting_and_the_score_are_one_release_with_one_entry(adjacency, settings, tmp_path):
    ledger = Ledger.open(tmp_path / "search.ledger", ApproxDP(5.0, 1e-4, adjacency), dataset="made up", blocks=4)
    search = search_of(settings, adjacency, ledger=ledger).fit(X, Y)
    goal = ApproxDP(2.0, 1e-5, adjacency)
    model = search.best_estimator_
    assert search.guarantee_ == model.guarantee_ == search.record_.guarantee == goal
    assert search.release_.event == search.plan_.event == model._fitted.release.event
    assert search.best_params_ in search.plan_.settings
    assert 0 <= search.best_score_ <= 1
    assert (model.epsilon, model.delta, model.clip) == (2.0, 1e-5, search.best_params_["clip"])
    assert len(ledger.bookings()) == 1
    assert [stage["name"] for stage in search.record_.stages] == ["search"]
    assert (search.predict(X) == model.predict(X)).all()
    path = tmp_path / "model.dperm"
    save_model(search, path)
    loaded = load_model(path)
    assert loaded.guarantee_ == goal
    assert loaded.record_ == search.record_
    assert "covers the search" in loaded.statement_["tuning"]["known"]
    assert "does not cover a search" not in loaded.statement_["covered"]
    with pytest.raises(AssumptionError, match="private search"):
        replan(loaded)


@pytest.mark.parametrize("adjacency", [ADD, pytest.param(REPLACE, marks=pytest.mark.slow)])
def test_the_event_is_the_same_for_all_data(adjacency):
    one = search_of(THREE, adjacency)
    fitted = [one.fit(X, Y).record_.event, one.fit(-3 * X[::-1], np.zeros(600, dtype=int)).record_.event]
    assert fitted[0] == fitted[1]
    plan = search_of(THREE, adjacency).plan(600 if adjacency == REPLACE else None, 3)
    assert plan.event == one.plan_.event
    assert isinstance(plan.event.events[0], BestOf)


def test_the_whole_search_is_charged_before_the_first_trial():
    budget, charged = MemoryBudget(ApproxDP(3.0, 1e-4, REPLACE), blocks=2), []

    def train(setting, records, goal):
        with pytest.raises(BudgetError):  # the charge of the running search leaves less than it costs
            budget.check(search.plan_.event if hasattr(search, "plan_") else planned)
        charged.append((setting, goal.epsilon, len(records.X)))
        return Constant(setting["label"])

    search = PrivateSearch.from_training(
        train, {"label": [0, 1]}, events=lambda setting, goal: Gaussian(5 / goal.epsilon),
        epsilon=2.0, delta=1e-5, ledger=budget,
    )  # fmt: skip
    planned = search.plan(600).event
    search.fit(X, Y)
    assert [setting["label"] for setting, *_ in charged] == [0, 1]
    assert {count for *_, count in charged} == {510}
    with pytest.raises(BudgetError):
        search.fit(X, Y)
    assert len(charged) == 2


def test_a_search_whose_trials_all_fail_stays_charged_and_shows_nothing():
    budget = MemoryBudget(ApproxDP(3.0, 1e-4, REPLACE), blocks=1)

    def train(setting, records, goal):
        raise ValueError(f"the data say {records.y}")

    search = PrivateSearch.from_training(train, TWO, epsilon=2.0, delta=1e-5, ledger=budget)
    with pytest.raises(AssumptionError, match="no trial of the search returned a model") as found:
        search.fit(X, Y)
    assert found.value.__cause__ is None
    assert found.value.__context__ is None
    with pytest.raises(BudgetError):
        budget.check(search.plan(600).event)


# --- nothing about the other trials ---


def everything(value, seen):
    """All parts of an object, by its attributes, its state and the members of containers."""
    if id(value) in seen or isinstance(value, type):
        return
    seen[id(value)] = value
    yield value
    members = [*getattr(value, "__dict__", {}).items()]
    if isinstance(value, dict):
        members += value.items()
    for pair in members:
        for part in pair:
            yield from everything(part, seen)
    if isinstance(value, list | tuple | set | frozenset):
        for part in value:
            yield from everything(part, seen)


def test_nothing_tells_the_number_of_trials_or_their_scores(monkeypatch, tmp_path, capfd):
    trials, settings = 311, {"label": [0, 1, 2]}
    monkeypatch.setattr(trials_module, "draw_runs", lambda runs, stream: trials)
    ledger = Ledger.open(tmp_path / "search.ledger", ApproxDP(5.0, 1e-4, ADD), dataset="made up", blocks=4)

    def train(setting, records, goal):
        warnings.warn("a trial", DpermWarning, stacklevel=1)
        return Constant(setting["label"])

    search = PrivateSearch.from_training(
        train, settings, epsilon=2.0, delta=1e-5, adjacency=ADD, runs=Runs.geometric(mean=9), ledger=ledger
    )
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        search.fit(X, Y)
    assert not caught
    assert capfd.readouterr() == ("", "")
    search.ledger = None
    own = {name: value for name, value in vars(search).items() if name not in ("estimator", "settings")}
    for part in everything(own, {}):
        assert not (isinstance(part, int | float) and part == trials)
        assert not (hasattr(part, "__len__") and not isinstance(part, str) and len(part) == trials)
    text = " ".join((repr(own), search.statement_.to_json(), search.record_.to_json(), str(ledger.entries())))
    assert not re.search(rf"(?<![\w.]){trials}(?![\w.])", text)
    shown = [part for part in everything(own, {}) if isinstance(part, Constant)]
    assert len(shown) == 1


def test_a_fitted_search_is_pickled_with_one_model_only():
    search = search_of(THREE).fit(X, Y)
    copy = pickle.loads(pickle.dumps(search))
    assert (copy.predict(X) == search.predict(X)).all()
    models = [part for part in everything(vars(search), {}) if isinstance(part, PrivateLogisticRegression)]
    assert len(models) == 2  # the best one, and the unfitted one
    assert sum(hasattr(model, "coef_") for model in models) == 1


# --- records ---


@pytest.mark.parametrize("adjacency", BOTH)
def test_an_invalid_record_fails_no_trial(adjacency):
    """With invalid="drop", a validation record with NaN has grade 0, as an exception would reveal it."""
    spoilt, labels = X.copy(), Y.astype(object)
    spoilt[::3, 1] = np.nan
    labels[1::3] = 7
    search = search_of(TWO, adjacency, logistic(invalid="drop")).fit(spoilt, labels)
    assert search.best_score_ < 0.6
    with pytest.raises(DataError):
        search_of(TWO, adjacency, ledger=None).fit(spoilt, Y)


@pytest.mark.parametrize("labels", [np.array([0, 1]), np.array(["a", "b"])])
def test_empty_parts_under_add_remove_are_no_error(labels):
    model = PrivateLogisticRegression(feature_norm=1.0, classes=tuple(labels.tolist()))
    search = search_of(TWO, ADD, model, validation=0.5)
    for _ in range(8):
        search.fit(X[:1], labels[:1])
        assert search.best_estimator_.record_.public["invalid"] == "raise"


def test_data_errors_come_before_the_charge():
    budget = MemoryBudget(ApproxDP(2.5, 1e-4, REPLACE), blocks=1)
    search = search_of(ledger=budget)
    for bad_x, bad_y in ((np.full((600, 3), np.nan), Y), (X, np.full(600, 3)), (X, Y[:500])):
        with pytest.raises(DataError):
            search.fit(bad_x, bad_y)
    search.fit(X, Y)


def test_a_regression_is_scored_by_clipped_squared_errors():
    target = 2 * X[:, 0] + X[:, 1]
    model = PrivateLinearRegression(feature_norm=1.0, label_range=(-2.0, 2.0))
    search = search_of({"C": [1e-4, 1.0]}, REPLACE, model).set_params(epsilon=20.0).fit(X, target)
    assert search.best_params_ == {"C": 1.0}
    assert -0.5 < search.best_score_ <= 0.0
    ends = (-2.0, 2.0)
    labels, predictions = np.array([0.0, 0.0, 9.0, 0.0, np.nan]), np.array([0.0, 1.0, 2.0, 99.0, 0.0])
    assert squared_grades(labels, predictions, ends).tolist() == [WHOLE, 3 * WHOLE // 4, WHOLE, 0, 0]


# --- other estimators ---


def test_a_model_of_a_raw_table_is_searched():
    age = RNG.integers(18, 90, 4000)
    table = {"age": age, "old": np.where(age > 50, "yes", "no")}
    search = PrivateSearch(PrivateTableClassifier(), {"clip": [0.5, 1.0]}, epsilon=4.0, delta=1e-4, adjacency=ADD)
    search.fit(table, target="old")
    model = search.best_estimator_
    assert search.best_score_ > 0.9
    assert search.classes_.tolist() == ["no", "yes"]
    assert search.guarantee_ == model.guarantee_ == model.model_.guarantee_ == ApproxDP(4.0, 1e-4, ADD)
    assert search.plan(columns=["age"], target="old").event == search.plan_.event
    assert "schema" in search.statement_["covered"]
    few = {name: column[:20] for name, column in table.items()}
    with pytest.raises(AssumptionError, match="no trial"):
        search.fit(few, target="old")


def test_a_training_function_is_charged_by_its_epsilon_and_delta():
    search = PrivateSearch.from_training(lambda setting, records, goal: Constant(1), {"a": [1, 2, 3]}, delta=1e-5)
    plan = search.plan(600)
    event = Approximate(plan.trial_goal.epsilon, plan.trial_goal.delta, REPLACE)
    assert plan.trial_events == (event,) * 3
    assert "did not check" in search.fit(X, Y).statement_["tuning"]["known"]


def test_many_trainings_take_the_noise_that_is_smaller_for_all_of_them():
    """For one fit to 15 features at this delta, pure noise is smaller; two pure trainings cost twice their epsilon."""
    few, many = (search_of(TWO, ADD, logistic()).set_params(epsilon=1.0).plan(dim=dim) for dim in (1, 15))
    assert {type(event) for event in few.trial_events} == {Pure}
    assert Pure not in {type(event) for event in many.trial_events}
    search = search_of(TWO, ADD, logistic()).set_params(epsilon=1.0).fit(RNG.uniform(-1, 1, (500, 15)) / 4, Y[:500])
    model = search.best_estimator_
    assert (model.method, model.record_.public["objective_noise"]) == ("auto", "Gaussian")


# --- arguments ---


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"epsilon": [1.0, 2.0]}, "search sets it"),
        ({"random_state": [1, 2]}, "search sets it"),
        ({"classes": [(0, 1), (0, 2)]}, "same for all trials"),
        ({"clip": 0.5}, "list of values"),
        ({"clip": [0.5]}, "from 2"),
        ("clip", "mapping of parameters"),
        ({"clop": [0.5, 1.0]}, "name parameters"),
    ],
)
def test_wrong_settings_are_refused(settings, words):
    with pytest.raises(ParameterError, match=words):
        search_of(settings).plan(600, 3)


@pytest.mark.parametrize(
    ("estimator", "words"),
    [
        (PrivateLogisticRegression(feature_norm=1.0), "declared for a search"),
        (PrivateLinearRegression(feature_norm=1.0), "must be declared"),
        (logistic(epsilon=3.0), "keep its default"),
        (StandardScaler(), "private estimator"),
        (PrivateLogisticRegression, "private estimator"),
    ],
)
def test_estimators_that_cannot_be_searched_are_refused(estimator, words):
    with pytest.raises(ParameterError, match=words):
        search_of(estimator=estimator).plan(600, 3)


def test_a_pure_goal_and_no_noise_are_refused():
    for wrong in ({"delta": 0.0}, {"epsilon": np.inf}, {"validation": 0.9}, {"runs": 5}):
        with pytest.raises(ParameterError):
            search_of().set_params(**wrong).plan(600, 3)


def test_scores_and_transformers_on_private_data_are_refused():
    with pytest.raises(LeakError):
        cross_val_score(search_of(), X, Y, error_score="raise")
    with pytest.raises(LeakError):
        make_pipeline(StandardScaler(), search_of()).fit(X, Y)


def test_a_seed_makes_a_search_reproducible_and_not_private():
    with pytest.warns(NotPrivateWarning):
        one, other = (search_of(random_state=5).fit(X, Y) for _ in range(2))
    assert (one.best_estimator_.coef_ == other.best_estimator_.coef_).all()
    assert one.best_score_ == other.best_score_
    assert one.guarantee_ is one.best_estimator_.guarantee_ is None
    assert "NOT PRIVATE" in one.statement_["status"]


def test_a_clone_has_the_same_parameters_and_no_model():
    search = search_of(THREE).fit(X, Y)
    copy = clone(search)
    assert copy.get_params()["estimator__clip"] is None
    assert not hasattr(copy, "best_estimator_")
    assert not hasattr(search.estimator, "coef_")
