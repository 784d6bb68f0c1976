# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""The plan of a stored model once more: the same in every number, or refused."""

import numpy as np
import pytest

from dperm.errors import AssumptionError
from dperm.methods import OutputPerturbation
from dperm.sklearn import PrivateHuberRegressor, PrivateLinearSVC, PrivateLogisticRegression, PrivateTableClassifier
from dperm.sklearn.replan import replan

RECORDS = np.random.default_rng(0)
X = RECORDS.uniform(-0.5, 0.5, (400, 3))
CLASSES, NUMBERS = (X[:, 0] > 0).astype(int), X[:, 0] * 2
MODELS = {
    "pure": PrivateLogisticRegression(epsilon=1.0, delta=0.0, feature_norm=1.0, classes=(0, 1)),
    "weighted": PrivateLogisticRegression(
        epsilon=1.0, feature_norm=1.0, classes=(0, 1), class_weight={0: 1.0, 1: 0.5}, adjacency="add_remove", n=500
    ),
    "bounds": PrivateLogisticRegression(epsilon=2.0, bounds=(-1, 1), classes=(0, 1), method="gradient"),
    "svc": PrivateLinearSVC(epsilon=1.0, feature_norm=1.0, classes=(0, 1), width=0.3, fit_intercept=False),
    "huber": PrivateHuberRegressor(epsilon=1.0, feature_norm=1.0, label_range=(-2, 2)),
    "three": PrivateLogisticRegression(epsilon=8.0, feature_norm=1.0, classes=(0, 1, 2), method="objective"),
}


@pytest.mark.filterwarnings("ignore::dperm.errors.DpermWarning")
@pytest.mark.parametrize("name", MODELS)
def test_the_plan_is_the_same(tmp_path, name):
    model = MODELS[name].fit(X, NUMBERS if name == "huber" else CLASSES)
    model.save(tmp_path / "model")
    again = replan(type(model).load(tmp_path / "model"))
    assert again.describe() == model.plan_.describe() and again.event == model.plan_.event


@pytest.mark.filterwarnings("ignore::dperm.errors.DpermWarning")
def test_options_of_a_method_object_are_not_in_the_file(tmp_path):
    model = PrivateLogisticRegression(
        epsilon=1.0, delta=0.0, feature_norm=1.0, classes=(0, 1), method=OutputPerturbation("laplace")
    ).fit(X, CLASSES)
    assert replan(model).describe() == model.plan_.describe()  # the object is still there
    model.save(tmp_path / "model")
    with pytest.raises(AssumptionError, match="cannot be made again"):
        replan(PrivateLogisticRegression.load(tmp_path / "model"))


@pytest.mark.filterwarnings("ignore::dperm.errors.DpermWarning")
@pytest.mark.parametrize(("given", "words"), [({"epsilon": np.inf}, "without noise"), ({"random_state": 1}, "a seed")])
def test_without_a_promise_there_is_no_plan_to_audit(given, words):
    model = PrivateLogisticRegression(feature_norm=1.0, classes=(0, 1)).set_params(**given).fit(X, CLASSES)
    with pytest.raises(AssumptionError, match=words):
        replan(model)


def test_a_model_with_a_private_preparation_has_no_plan_of_its_own():
    generator = np.random.default_rng(0)
    table = {"a": generator.normal(size=3000), "b": generator.choice(["x", "y"], 3000)}
    model = PrivateTableClassifier(epsilon=8.0).fit(table, target="b")
    with pytest.raises(AssumptionError, match=r"have one guarantee together.*of_plan\(PrivateTableEncoder"):
        replan(model.model_)
