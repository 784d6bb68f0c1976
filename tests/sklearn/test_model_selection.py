# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Inside scikit-learn's pipelines and searches: every fit is a release of its own."""

import numpy as np
import pandas as pd
import pytest
from false_alarms import unpredictable
from sklearn.compose import ColumnTransformer
from sklearn.metrics import accuracy_score, r2_score
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder

from dperm import PureDP
from dperm.accounting import MemoryBudget
from dperm.errors import BudgetError
from dperm.sklearn import PrivateLogisticRegression


def halved(X):
    return X / 2


def test_a_pipeline_fits_predicts_and_hands_on_parameters(each):
    X, y = each.data
    pipeline = make_pipeline(FunctionTransformer(halved), each.make())
    name = pipeline.steps[-1][0]
    pipeline.set_params(**{f"{name}__epsilon": 3.0}).fit(X, y)
    assert pipeline.score(X, y) > each.good - 0.2
    assert pipeline[-1].guarantee_.epsilon == 3.0


@unpredictable(
    1e-12
)  # accuracies have mean 0.918 and deviation 0.006; two equal coefficients are less likely than that
@pytest.mark.filterwarnings("ignore:fitted in a joblib worker")  # without a pipeline
def test_cross_validation_in_two_processes(data):
    model = PrivateLogisticRegression(epsilon=4.0, feature_norm=1.0, classes=(0, 1), allow_unprotected_scores=True)
    found = cross_validate(model, *data, cv=3, n_jobs=2, return_estimator=True)
    assert len({tuple(fitted.coef_.ravel()) for fitted in found["estimator"]}) == 3
    assert found["test_score"].min() > 0.75


def test_every_fold_is_charged_to_the_same_ledger(smooth):
    budget = MemoryBudget(PureDP(2.0, "replace_one"))
    model = smooth.make(epsilon=0.5, delta=0.0, ledger=budget, allow_unprotected_scores=True)
    cross_val_score(model, *smooth.data, cv=3)
    assert len(budget.entries) == 3
    assert budget.spent["epsilon"] == pytest.approx(1.5)
    with pytest.raises(BudgetError):
        cross_val_score(model, *smooth.data, cv=3, error_score="raise")


def test_a_ledger_in_memory_does_not_go_to_another_process(data):
    budget = MemoryBudget(PureDP(9.0, "replace_one"))
    model = PrivateLogisticRegression(epsilon=0.5, delta=0.0, feature_norm=1.0, classes=(0, 1), ledger=budget)
    with pytest.raises(Exception, match="pickle"):
        cross_val_score(model, *data, cv=2, n_jobs=2)
    assert budget.entries == ()


def test_folds_predict_for_all_rows(each):
    predicted = cross_val_predict(each.make(epsilon=4.0, allow_unprotected_scores=True), *each.data, cv=2)
    score = accuracy_score if each.is_classifier else r2_score
    assert score(each.y, predicted) > each.good - 0.2


def test_columns_of_a_table_go_through_a_column_transformer(each):
    X, y = each.data
    table = pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "group": np.where(X[:, 2] > 0, "u", "v")})
    columns = ColumnTransformer(
        [("same", "passthrough", ["a", "b"]), ("known", OneHotEncoder(categories=[["u", "v"]]), ["group"])]
    )
    pipeline = make_pipeline(columns, each.make(epsilon=4.0)).fit(table, y)
    assert pipeline[-1].coef_.shape[-1] == 4
    assert pipeline.score(table, y) > each.good - 0.2


def test_a_search_works_and_its_best_model_says_that_it_is_covered_alone(each):
    model = each.make(epsilon=4.0, allow_unprotected_scores=True)
    search = GridSearchCV(model, {"C": [0.01, 0.1]}, cv=2).fit(*each.data)
    assert search.best_params_["C"] in (0.01, 0.1)
    covered = str(search.best_estimator_.statement_["covered"])
    assert covered.startswith("This fit only") and "does not cover a search over many fits" in covered
