# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Logistic regression of more than two classes: one softmax loss, one guarantee (T53a)."""

import numpy as np
import pytest
from families import FAMILIES
from scipy.optimize import minimize
from scipy.special import log_softmax
from sklearn.linear_model import LogisticRegression
from sklearn.utils import get_tags

from dperm import ApproxDP, ParameterError
from dperm.data import labels
from dperm.erm.losses import Logistic
from dperm.erm.softmax import Softmax
from dperm.errors import AssumptionError, NotPrivateWarning, PublicAssumptionWarning
from dperm.sklearn import PrivateLinearSVC, PrivateLogisticRegression

FAMILY = FAMILIES["softmax"]
X, Y = FAMILY.data
WORDS = np.array(["high", "low", "middle"])
UNCLIPPED = ("objective", "output")


def seeded(columns, answers, **parameters):
    with pytest.warns(NotPrivateWarning):
        return FAMILY.make(epsilon=8.0, random_state=3, **parameters).fit(columns, answers)


def test_there_is_a_row_of_coefficients_for_every_class():
    model = FAMILY.make(epsilon=8.0).fit(X, Y)
    assert model.coef_.shape == (3, 3) and model.intercept_.shape == (3,)
    scores = model.decision_function(X)
    assert scores == pytest.approx(X @ model.coef_.T + model.intercept_)
    assert (model.predict(X) == scores.argmax(axis=1)).all()
    assert model.score(X, Y) > 0.8


@pytest.mark.parametrize("adjacency", ["replace_one", "add_remove"])
@pytest.mark.parametrize("method", ["objective", "output", "gradient"])
def test_all_classes_together_have_the_guarantee_of_one_release(adjacency, method):
    model = FAMILY.make(epsilon=2.0, adjacency=adjacency, n=2000, method=method).fit(X, Y)
    assert model.guarantee_ == ApproxDP(2.0, 1e-6, adjacency)
    assert model.profile_.epsilon(1e-6) <= 2.0
    assert model.plan_.spec.dim == 3 * 4 and model.plan_.spec.loss == Softmax(3)


def test_two_classes_have_the_logistic_loss():
    plan = PrivateLogisticRegression(classes=(0, 1), feature_norm=1.0).plan(n=2000, dim=3)
    assert plan.spec.loss == Logistic() and plan.spec.dim == 4


def test_plan_assumes_two_classes_where_none_are_declared():
    undeclared = PrivateLogisticRegression(feature_norm=1.0, class_weight={"a": 3.0})
    declared = PrivateLogisticRegression(feature_norm=1.0, classes=("a", "b"), class_weight={"a": 3.0})
    assert undeclared.plan(n=2000, dim=3) == declared.plan(n=2000, dim=3)
    three = PrivateLogisticRegression(feature_norm=1.0, class_weight={0: 1.0, 1: 2.0, 2: 3.0})
    with pytest.raises(ParameterError, match=r"classes must be declared to plan.*classes=\(0, 1, 2\)"):
        three.plan(n=2000, dim=3)
    plan = three.set_params(classes=(0, 1, 2, 3)).plan(n=20_000, dim=3)
    assert plan.spec.dim == 16 and plan.spec.weight == 3.0


def test_classes_may_be_found_in_y(monkeypatch):
    monkeypatch.setattr(labels, "_warned", set())
    with pytest.warns(PublicAssumptionWarning) as caught:
        model = PrivateLogisticRegression(feature_norm=1.0, class_weight={"low": 2.0}).fit(X, WORDS[Y])
    assert caught[0].filename == __file__
    assert model.classes_.tolist() == WORDS.tolist() and model.coef_.shape == (3, 3)
    assert labels.FOUND in model.statement_["public_quantities"]["assumptions"]
    assert model.statement_["public_quantities"]["class_weight"] == [1.0, 2.0, 1.0]


@pytest.mark.parametrize("values", [WORDS, np.array([2, 3, 7]), np.array([-0.5, 0.0, 2.5])], ids=str)
def test_labels_of_any_kind_come_back_as_they_are(values):
    expected = seeded(X, Y)
    found = seeded(X, values[Y], classes=values[::-1].tolist())
    assert found.classes_.tolist() == values.tolist()
    assert (found.coef_ == expected.coef_).all()
    assert (found.predict(X) == values[expected.predict(X)]).all()
    assert found.statement_["public_quantities"]["classes"] == values.tolist()


def test_declared_classes_need_not_occur():
    model = FAMILY.make(epsilon=8.0, classes=(0, 1, 2, 3)).fit(X, Y)
    assert model.coef_.shape == (4, 3)
    assert model.predict_proba(X)[:, 3].mean() < 0.2
    assert "the 4 classes, as they were declared" in model.statement_["public_quantities"]["assumptions"]


def test_probabilities_are_those_of_the_softmax_law():
    model = FAMILY.make(epsilon=8.0).fit(X, Y)
    probabilities = model.predict_proba(X)
    powers = np.exp(model.decision_function(X))
    assert probabilities == pytest.approx(powers / powers.sum(axis=1, keepdims=True))
    assert model.predict_log_proba(X) == pytest.approx(np.log(probabilities))
    model.coef_ *= 1e5  # far out, logarithms stay finite where probabilities are 0
    assert np.isfinite(model.predict_log_proba(X)).all() and np.isfinite(model.predict_proba(X)).all()


def test_to_sklearn_is_a_multinomial_model_with_the_same_probabilities():
    model = FAMILY.make(epsilon=8.0, bounds=(-2, 3), classes=WORDS.tolist()).fit(X, WORDS[Y])
    exported = model.to_sklearn()
    assert type(exported) is LogisticRegression
    assert (exported.predict(X) == model.predict(X)).all()
    assert exported.predict_proba(X) == pytest.approx(model.predict_proba(X), abs=1e-12)
    assert exported.decision_function(X) == pytest.approx(model.decision_function(X), abs=1e-12)


def test_scikit_learn_is_told_who_knows_several_classes():
    assert get_tags(PrivateLogisticRegression()).classifier_tags.multi_class
    assert not get_tags(PrivateLinearSVC()).classifier_tags.multi_class


def test_epsilon_inf_is_the_optimum_of_the_bounded_data():
    weights = np.array([1.0, 3.0, 1.0])
    with pytest.warns(NotPrivateWarning):
        model = FAMILY.make(epsilon=np.inf, feature_norm=1.2, C=0.5, class_weight={1: 3.0}).fit(X, Y)
    constant = 1.2 / 4
    bounded = X * np.minimum(1.0, 1.2 / np.linalg.norm(X, axis=1))[:, np.newaxis]
    rows = np.column_stack([bounded, np.full(len(X), constant)])

    def objective(theta):
        logs = log_softmax(rows @ theta.reshape(3, 4).T, axis=1)
        slopes = weights[Y][:, np.newaxis] * (np.exp(logs) - np.eye(3)[Y])
        value = -weights[Y] @ logs[np.arange(len(Y)), Y] + theta @ theta
        return value, (slopes.T @ rows).ravel() + 2 * theta

    best = minimize(objective, np.zeros(12), jac=True, method="L-BFGS-B", options={"gtol": 1e-12, "ftol": 1e-18})
    expected = best.x.reshape(3, 4)
    assert np.linalg.norm(objective(best.x)[1]) < 1e-5
    assert model.coef_ == pytest.approx(expected[:, :3], abs=1e-5)
    assert model.intercept_ == pytest.approx(constant * expected[:, 3], abs=1e-5)


@pytest.mark.filterwarnings("ignore:the noise :dperm.errors.DpermWarning")
def test_weights_are_paid_for_with_noise_and_move_the_predictions():
    light, heavy = (FAMILY.make(class_weight={1: w}, method="output", C=1.0).plan(n=10_000, dim=2) for w in (1.0, 3.0))
    assert heavy.output_noise.scale == pytest.approx(3 * light.output_noise.scale, rel=1e-3)
    few, many = ((FAMILY.make(epsilon=50.0, class_weight={1: w}).fit(X, Y).predict(X) == 1).mean() for w in (0.2, 5.0))
    assert many > few + 0.04


def test_clip_is_a_share_of_the_longest_gradient():
    plan = FAMILY.make(method="gradient", clip=0.5).plan(n=10_000, dim=3)
    assert plan.spec.clip == pytest.approx(plan.spec.radius * np.sqrt(2) / 2)
    model = FAMILY.make(method="gradient", clip=0.5, epsilon=8.0).fit(X, Y)
    assert model.statement_["mechanism"]["clip_share"] == pytest.approx(0.5)
    assert "not calibrated" in " ".join(model.statement_["limits"])
    assert "calibrated" not in " ".join(FAMILY.make().fit(X, Y).statement_["limits"])


@pytest.mark.parametrize("method", UNCLIPPED)
def test_methods_that_minimise_refuse_a_clip_that_clips(method):
    with pytest.raises(AssumptionError, match='Leave clip out, or use method="gradient"'):
        FAMILY.make(method=method, clip=0.5).plan(n=10_000, dim=3)
    whole, none = (FAMILY.make(method=method, clip=clip).plan(n=10_000, dim=3) for clip in (1.0, None))
    assert whole.spec.lipschitz == none.spec.lipschitz


def test_epsilon_inf_refuses_a_clip_that_clips():
    with pytest.raises(AssumptionError, match="clip must be left out"):
        FAMILY.make(epsilon=np.inf, clip=0.5).fit(X, Y)
    with pytest.warns(NotPrivateWarning):
        assert FAMILY.make(epsilon=np.inf, clip=1.0).fit(X, Y).score(X, Y) > 0.8


def test_intervals_have_a_row_for_every_class_and_cover_the_coefficients_without_noise():
    public = {"bounds": ((-2.0, 2.0), (-1.0, 3.0), (-2.0, 2.0)), "C": 0.1}
    with pytest.warns(NotPrivateWarning):
        exact = FAMILY.make(epsilon=np.inf, **public).fit(X, Y)
        fits = [FAMILY.make(epsilon=4.0, method="output", random_state=seed, **public).fit(X, Y) for seed in range(40)]
    truth, level = np.column_stack([exact.coef_, exact.intercept_]), 0.8
    intervals = [model.noise_interval(level) for model in fits]
    assert intervals[0][0].shape == (3, 4)
    share = np.mean([(low <= truth) & (truth <= high) for low, high in intervals])
    assert abs(share - level) < 4 * np.sqrt(level * (1 - level) / 40 / 4)  # columns are independent, classes may not be


def test_units_change_nothing_but_the_units_of_the_coefficients():
    first = seeded(X, Y, bounds=(-2, 2))
    second = seeded(8 * X, Y, bounds=(-16, 16))
    assert (second.coef_ * 8 == first.coef_).all() and (second.intercept_ == first.intercept_).all()
