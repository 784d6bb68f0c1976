# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Simple attacks work on models of every kind that users bring, and say what they cannot attack."""

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from dperm import ParameterError
from dperm.audit.membership import loss_threshold, scores_of, shadow_models


def records(n: int, classes: int = 2, dim: int = 200, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, dim)), rng.integers(0, classes, n)


def test_the_loss_of_a_model_that_knows_its_data_by_heart_tells_members():
    inside, outside = records(80, seed=1), records(80, seed=2)
    found = loss_threshold(LogisticRegression(C=0.03).fit(*inside), inside, outside)
    assert found.roc.auc > 0.8 and found.attack == "loss threshold"
    assert "descriptive only" in found.as_dict()["roc"]["intervals"]
    fair = records(4000, dim=3, seed=3), records(4000, dim=3, seed=4)
    assert loss_threshold(LogisticRegression().fit(*fair[0]), *fair).roc.auc == pytest.approx(0.5, abs=0.03)


def test_of_a_regression_residuals_tell_members():
    (X, _), (Z, _) = records(60, seed=1), records(60, seed=2)
    found = loss_threshold(Ridge(alpha=1e-6).fit(X, X[:, 0] ** 2), (X, X[:, 0] ** 2), (Z, Z[:, 0] ** 2))
    assert found.roc.auc > 0.8


@pytest.mark.parametrize("classes", [2, 3])
def test_scores_of_a_classifier_are_logits_of_its_confidence(classes):
    X, y = records(90, classes, dim=4)
    model = LogisticRegression().fit(X, y)
    p = model.predict_proba(X)[np.arange(90), y]
    assert scores_of(model, X, y) == pytest.approx(np.log(p / (1 - p)))


def test_scores_of_several_decisions_are_those_of_their_softmax():
    X, y = records(90, 3, dim=4)
    model = LogisticRegression().fit(X, y)

    class DecisionClassifier:
        classes_ = model.classes_
        decision_function = staticmethod(model.decision_function)

    assert scores_of(DecisionClassifier(), X, y) == pytest.approx(scores_of(model, X, y))


def test_margins_count_in_the_direction_of_the_label():
    X, y = records(90, dim=4)
    model = LinearSVC().fit(X, y)
    assert scores_of(model, X, y) == pytest.approx((2 * y - 1) * model.decision_function(X))


def test_a_probability_of_one_has_a_finite_score():
    X, y = records(60)
    assert np.isfinite(scores_of(DecisionTreeClassifier(random_state=0).fit(X, y), X, y)).all()


@pytest.mark.parametrize("classes", [2, 3])
def test_shadow_models_learn_to_tell_members(classes):
    inside, outside, own = (
        records(100, classes, seed=1),
        records(100, classes, seed=2),
        records(200, classes, seed=3),
    )

    def make():
        return LogisticRegression(C=0.1)

    shares = []
    found = shadow_models(
        make,
        make().fit(*inside),
        members=inside,
        non_members=outside,
        population=own,
        shadows=4,
        seed=0,
        progress=shares.append,
    )
    assert found.roc.auc > 0.7 and shares == [0.25, 0.5, 0.75, 1.0]
    assert found.as_dict()["shadows"] == 4


def test_shadow_models_of_trees_and_of_margins():
    inside, outside, own = (records(100, 2, dim=5, seed=seed) for seed in (1, 2, 3))
    for make in (lambda: RandomForestClassifier(8, random_state=0), lambda: LinearSVC(C=100.0)):
        found = shadow_models(
            make, make().fit(*inside), members=inside, non_members=outside, population=own, shadows=2, seed=0
        )
        assert 0.5 < found.roc.auc <= 1.0


def test_what_cannot_be_attacked_is_refused():
    X, y = records(60)
    model = LogisticRegression().fit(X, y)
    with pytest.raises(ParameterError, match="an object of type object"):
        loss_threshold(object(), (X, y), (X, y))
    with pytest.raises(ParameterError, match="labels unknown to the model"):
        scores_of(model, X, y + 1)
    with pytest.raises(ParameterError, match=r"members must be a pair \(X, y\)"):
        loss_threshold(model, X, (X, y))
    with pytest.raises(ParameterError, match="X of non_members must be an array of finite numbers"):
        loss_threshold(model, (X, y), (np.full((60, 200), np.inf), y))
    with pytest.raises(ParameterError, match="requires a classifier"):
        shadow_models(Ridge, model, members=(X, y), non_members=(X, y), population=(X, y), shadows=1)
    with pytest.raises(ParameterError, match="10 records of each class"):
        shadow_models(LogisticRegression, model, members=(X, y), non_members=(X, y), population=(X, np.arange(60)))
