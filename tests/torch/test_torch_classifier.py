# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""A network as a classifier of scikit-learn: its checks, public classes, bad data, statements."""

import copy
import pickle

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks
from torch import nn

from dperm import ApproxDP
from dperm.accounting import MemoryBudget
from dperm.data import labels as data_labels
from dperm.errors import (
    DataError,
    DataTypeError,
    DpermWarning,
    LeakError,
    NotPrivateWarning,
    ParameterError,
    PublicAssumptionWarning,
)
from dperm.torch import PrivateTorchClassifier, public_classes

FEW = {"epsilon": 2.0, "delta": 1e-3, "epochs": 2, "grade": "fast"}
CHECKS = parametrize_with_checks([PrivateTorchClassifier(nn.Linear, **FEW)])
NAMES, CASES = CHECKS.args


# They seed, and declare nothing about y: each is a warning of ours, as it should be.
@pytest.mark.filterwarnings("ignore::dperm.errors.DpermWarning")
@pytest.mark.parametrize(NAMES, list(CASES), **CHECKS.kwargs)
def test_scikit_learn_finds_nothing_to_complain_about(estimator, check):
    check(estimator)


def data(rows: int = 60) -> tuple[np.ndarray, np.ndarray]:
    X = np.random.default_rng(rows).normal(size=(rows, 3))
    return X, np.where(X.sum(1) > 0, "yes", "no")


def network(features: int, classes: int) -> nn.Module:
    return nn.Sequential(nn.Linear(features, 4), nn.Tanh(), nn.Linear(4, classes))


def classifier(module=network, **changes) -> PrivateTorchClassifier:
    return PrivateTorchClassifier(module, **{**FEW, "classes": ("no", "yes"), **changes})


def test_it_learns_predicts_and_scores():
    X, y = data(1000)
    model = classifier(epsilon=8.0, epochs=20, learning_rate=0.05).fit(X, y)
    assert model.score(X, y) > 0.9
    probabilities = model.predict_proba(X)
    assert probabilities.shape == (1000, 2)
    assert np.allclose(probabilities.sum(1), 1)
    assert (model.classes_[probabilities.argmax(1)] == model.predict(X)).all()
    assert set(model.predict(X)) == {"no", "yes"}


@pytest.mark.parametrize(("adjacency", "declared"), [("replace_one", None), ("add_remove", 70)])
def test_plan_is_that_of_fit(adjacency, declared):
    model = classifier(adjacency=adjacency, n=declared)
    plan = model.plan() if declared else model.plan(n=60)
    assert plan == model.fit(*data(60)).plan_ and plan.event == model.release_.event
    assert {name: model.record_.public[name] for name in plan.describe()} == plan.describe()


def test_a_transformer_that_learns_from_the_data_is_refused_or_not_covered():
    with pytest.raises(LeakError, match="fits StandardScaler to the private data"):
        make_pipeline(StandardScaler(), classifier()).fit(*data())
    with pytest.warns(DpermWarning, match="StandardScaler learnt from the private data"):
        model = make_pipeline(StandardScaler(), classifier(fitted_transformers="not_covered")).fit(*data())[-1]
    assert model.statement_["preprocessing"]["known"].startswith("NOT COVERED")


def test_labels_of_another_kind_than_the_classes_and_huge_numbers_are_named():
    X, y = data()
    with pytest.raises(DataError, match="y holds text, and the declared classes 0 and 1 are numbers"):
        classifier(classes=(0, 1), invalid="drop").fit(X, y)
    huge = X.astype(object)
    huge[0, 0] = 10**400
    with pytest.raises(DataError, match=r"column 0 has NaN, infinite values \(inf\)"):
        classifier().fit(huge, y)


def test_a_plan_for_an_n_that_fit_does_not_know_is_refused():
    with pytest.raises(ParameterError, match=r"plan\(n=60\) does not match"):
        classifier(adjacency="add_remove").plan(n=60)
    with pytest.raises(ParameterError, match="n must be declared"):
        classifier(adjacency="add_remove").plan()
    with pytest.raises(ParameterError, match="Leave n out"):
        classifier(n=61).fit(*data(60))


def test_what_is_promised_is_said():
    X, y = data()
    model = classifier().fit(X, y)
    assert model.guarantee_ == ApproxDP(2.0, 1e-3, "replace_one")
    assert model.profile_.delta(2.0) <= 1e-3
    assert model.release_.value is model.module_
    assert model.record_.public["classes"] == ["no", "yes"]
    assert model.record_.public["n"] == 60
    assert public_classes.DECLARED in model.record_.public["assumptions"]
    assert str(model.statement_["status"]).startswith("PRIVATE")
    assert not model.module_.training


def test_under_add_remove_n_is_declared_and_not_compared():
    X, y = data()
    with pytest.raises(ParameterError, match="n must be declared"):
        classifier(adjacency="add_remove").fit(X, y)
    assert classifier(adjacency="add_remove", n=77).fit(X, y).record_.public["n"] == 77


def test_a_module_is_copied_and_a_function_is_called_for_every_fit():
    X, y = data()
    module = network(3, 2)
    before = copy.deepcopy(module.state_dict())
    model = classifier(module).fit(X, y)
    assert model.module_ is not module
    assert all(torch.equal(value, before[name]) for name, value in module.state_dict().items())
    asked = []

    def maker(features, classes):
        asked.append((features, classes))
        return network(features, classes)

    classifier(maker).fit(X, y).fit(X, y)
    assert asked == [(3, 2), (3, 2)]


@pytest.mark.parametrize(
    "module",
    [lambda features, classes: 1, "linear", nn.Linear(3, 5), nn.Linear(4, 2)],
    ids=["no module", "text", "other scores", "other features"],
)
def test_other_modules_are_refused(module):
    with pytest.raises(ParameterError, match="module must"):
        classifier(module).fit(*data())


def test_classes_that_are_not_declared_are_found_with_a_warning():
    X, y = data()
    data_labels._warned.clear()
    with pytest.warns(PublicAssumptionWarning, match="classes were not declared"):
        model = classifier(classes=None).fit(X, y)
    assert public_classes.FOUND in model.record_.public["assumptions"]
    assert model.classes_.tolist() == ["no", "yes"]


def test_declared_classes_may_be_missing_in_y():
    X, y = data()
    model = classifier(classes=("maybe", "no", "yes")).fit(X, y)
    assert model.predict_proba(X).shape == (60, 3)


@pytest.mark.parametrize("classes", [("a",), ("a", "a"), ("a", 1), "ab", 3, (0, float("nan"))], ids=str)
def test_nonsensical_classes_are_refused(classes):
    with pytest.raises(ParameterError, match="classes must"):
        classifier(classes=classes).fit(*data())


def test_bad_data_are_refused_before_the_charge_without_their_values():
    budget = MemoryBudget(ApproxDP(9.0, 1e-2, "replace_one"), blocks=9)
    model = classifier(ledger=budget)
    X, y = data()
    broken = X.copy()
    broken[17, 1] = np.nan
    text = X.astype(object)
    text[17, 1] = "secret-17"
    frame = pd.DataFrame(broken, columns=["age", "income", "height"])
    strange = y.copy()
    strange[5] = "sec"
    for bad, labels, kind, words in (
        (broken, y, DataError, "column 1"),
        (frame, y, DataError, "income"),
        (text, y, DataTypeError, "numbers"),
        (X, strange, DataError, "declared classes"),
        (X, y[:-1], DataError, "same length"),
        (X[:, 0], y, DataError, "2D"),
        (np.full((2, 1), 1e39), y[:2], DataError, "column 0"),
    ):
        with pytest.raises(kind, match=words) as raised:
            model.fit(bad, labels)
        assert "17" not in str(raised.value)
        assert "sec" not in str(raised.value)
        assert raised.value.__cause__ is None
    assert budget.spent["epsilon"] == 0.0
    model.fit(X, y)
    assert 0 < budget.spent["epsilon"] <= 2.0


def test_dropped_rows_contribute_nothing():
    X, y = data()
    broken, strange = X.copy(), y.astype(object)
    broken[3, 0], broken[4, 1], strange[5], strange[6] = np.nan, np.inf, "other", None
    kept = broken.copy()
    with pytest.warns(NotPrivateWarning):
        one = classifier(invalid="drop", random_state=3).fit(broken, strange)
    assert np.array_equal(kept, broken, equal_nan=True)
    others = broken.copy()
    others[3], others[4], strange[5] = 5.0, np.nan, "another"
    others[3, 2] = np.nan
    with pytest.warns(NotPrivateWarning):
        two = classifier(invalid="drop", random_state=3).fit(others, strange)
    assert all(torch.isfinite(value).all() for value in one.module_.parameters())
    assert all(torch.equal(a, b) for a, b in zip(one.module_.parameters(), two.module_.parameters(), strict=True))


def test_a_seed_makes_it_reproducible_and_not_private():
    X, y = data()
    fits = []
    for seed in (1, 1, 2):
        with pytest.warns(NotPrivateWarning, match="NOT PRIVATE"):
            fits.append(classifier(random_state=seed).fit(X, y))
    assert fits[0].guarantee_ is None
    assert fits[0].profile_ is None
    assert (fits[0].predict_proba(X) == fits[1].predict_proba(X)).all()
    assert (fits[0].predict_proba(X) != fits[2].predict_proba(X)).any()
    assert "NOT PRIVATE" in str(fits[0].statement_)


def test_columns_are_remembered():
    X, y = data()
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    model = classifier().fit(frame, y)
    assert model.feature_names_in_.tolist() == ["a", "b", "c"]
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame[["c", "a", "b"]])
    assert not hasattr(model.fit(X, y), "feature_names_in_")


def test_clone_parameters_pipelines_search_and_pickle():
    X, y = data()
    model = classifier(nn.Linear)
    assert clone(model).get_params()["epsilon"] == 2.0
    assert model.set_params(epsilon=3.0).epsilon == 3.0
    assert isinstance(clone(classifier(nn.Linear(3, 2))).module, nn.Module)
    pipeline = make_pipeline(FunctionTransformer(np.tanh), model).fit(X, y)
    assert pipeline.predict(X).shape == (60,)
    search = GridSearchCV(model, {"clip_norm": [0.5, 1.0]}, cv=2, error_score="raise")
    with pytest.raises(LeakError, match="GridSearchCV evaluates models on the private data"):
        search.fit(X, y)
    search.set_params(estimator__allow_unprotected_scores=True).fit(X, y)
    stated = search.best_estimator_.statement_
    assert search.best_estimator_.guarantee_ is not None and stated.headline.level == "not rated"
    assert "NOT COVERED: the scores and predictions of GridSearchCV" in str(stated)
    again = pickle.loads(pickle.dumps(search.best_estimator_))
    assert (again.predict(X) == search.best_estimator_.predict(X)).all()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"epsilon": -1.0}, "epsilon"),
        ({"invalid": "keep"}, "invalid"),
        ({"random_state": "x"}, "random_state"),
        ({"optimizer": torch.optim.SGD([nn.Parameter(torch.zeros(1))], lr=0.1)}, "optimizer must be a function"),
    ],
    ids=["epsilon", "invalid", "random_state", "optimizer"],
)
def test_nonsense_is_refused(change, words):
    with pytest.raises(ParameterError, match=words):
        classifier(**change).fit(*data())
