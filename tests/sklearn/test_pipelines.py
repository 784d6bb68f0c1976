# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""A transformer that learns from private data before the model is refused, or not covered by the statement."""

import multiprocessing
import warnings

import numpy as np
import pytest
from corners import CountingBudget
from joblib import parallel_config
from sklearn.base import clone
from sklearn.compose import ColumnTransformer, TransformedTargetRegressor
from sklearn.decomposition import PCA
from sklearn.ensemble import StackingClassifier
from sklearn.feature_selection import SelectFromModel, SelectKBest
from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.preprocessing import (
    Binarizer,
    FunctionTransformer,
    KBinsDiscretizer,
    MinMaxScaler,
    Normalizer,
    OneHotEncoder,
    PolynomialFeatures,
    StandardScaler,
)
from sklearn.random_projection import GaussianRandomProjection
from sklearn.tree import DecisionTreeClassifier

from dperm import Ledger, PureDP
from dperm.accounting import MemoryBudget
from dperm.data import Numeric
from dperm.errors import DataError, DpermWarning, LeakError, ParameterError
from dperm.report.statement import Statement
from dperm.sklearn import PrivateLinearRegression, PrivateLogisticRegression, PublicTableEncoder

X = np.random.default_rng(0).uniform(-1, 1, (200, 2))
Y = (X[:, 0] > 0).astype(int)


def model(**changes):
    return PrivateLogisticRegression(**{"feature_norm": 1.0, "classes": (0, 1), **changes})


LEARNING = [
    StandardScaler(),
    SimpleImputer(strategy="mean"),
    SimpleImputer(strategy="constant", fill_value=0.0, add_indicator=True, keep_empty_features=True),
    PCA(1),
    SelectKBest(k=1),
    MinMaxScaler(),
    OneHotEncoder(handle_unknown="ignore"),
    KBinsDiscretizer(3, encode="ordinal"),
    ColumnTransformer([("a", Normalizer(), [0])], remainder=StandardScaler()),
    FeatureUnion([("a", Normalizer()), ("b", PCA(1))]),
    make_pipeline(Normalizer(), StandardScaler()),
]
PUBLIC = [
    Normalizer(),
    Binarizer(),
    PolynomialFeatures(2),
    FunctionTransformer(np.tanh),
    FrozenEstimator(StandardScaler().fit(np.eye(2))),
    SimpleImputer(strategy="constant", fill_value=0.0, keep_empty_features=True),
    GaussianRandomProjection(2),
    OneHotEncoder(categories=[[0.0, 1.0]] * 2, handle_unknown="ignore"),
    ColumnTransformer([("a", Normalizer(), [0])], remainder="passthrough"),
    "passthrough",
]


def named(step):
    return step if isinstance(step, str) else type(step).__name__


@pytest.mark.parametrize("step", LEARNING, ids=named)
def test_a_step_that_learns_from_the_data_is_refused_before_the_charge(step):
    budget = CountingBudget()
    with pytest.raises(LeakError, match="to the private data before this model"):
        make_pipeline(step, model(ledger=budget)).fit(X, Y)
    assert budget.charges == 0


@pytest.mark.parametrize("step", PUBLIC, ids=named)
def test_a_step_that_learns_nothing_passes(step):
    fitted = Pipeline([("prepare", step), ("model", model())]).fit(X, Y)
    assert fitted[-1].guarantee_ is not None
    assert "NOT COVERED" not in str(fitted[-1].statement_)


def test_the_advice_for_nan_and_for_an_imputer_with_a_constant_holds():
    with pytest.raises(DataError, match=r'SimpleImputer\(strategy="constant", .*keep_empty_features=True\)'):
        model().fit(X, Y).predict([[0.0, np.nan]])
    gaps = np.where(X > 0.9, np.nan, X)
    imputer = SimpleImputer(strategy="constant", fill_value=0.0)
    with pytest.raises(LeakError, match=r"unless keep_empty_features=True: give that\."):
        make_pipeline(imputer, model()).fit(gaps, Y)
    with pytest.raises(LeakError, match="leave add_indicator out"):
        make_pipeline(clone(imputer).set_params(add_indicator=True), model()).fit(gaps, Y)
    imputer.set_params(keep_empty_features=True)
    make_pipeline(imputer, model()).fit(gaps, Y).predict([[0.0, np.nan]])


def test_the_refusal_of_a_target_transformer_advises_a_label_range():
    regression = PrivateLinearRegression(feature_norm=1.0, label_range=(-3, 3))
    with pytest.raises(LeakError, match=r"target transformer StandardScaler .*label_range=") as found:
        TransformedTargetRegressor(regression, transformer=StandardScaler()).fit(X, X[:, 0])
    assert "the pipeline" not in str(found.value) and "PublicTableEncoder" not in str(found.value)
    both = make_pipeline(PCA(1), TransformedTargetRegressor(regression, transformer=StandardScaler()))
    with pytest.raises(LeakError, match="the pipeline fits PCA to"):
        both.fit(X, X[:, 0])
    regression.set_params(fitted_transformers="not_covered")
    with pytest.warns(DpermWarning, match="PCA, StandardScaler learnt from"):
        stated = str(both.fit(X, X[:, 0])[-1].regressor_.statement_)
    assert "PCA" in stated and "StandardScaler" in stated


def test_a_public_encoder_passes():
    encoder = PublicTableEncoder({"a": Numeric(-1, 1), "b": Numeric(-1, 1)})
    assert make_pipeline(encoder, model()).fit({"a": X[:, 0], "b": X[:, 1]}, Y)[-1].guarantee_ is not None


def test_searches_nested_pipelines_and_targets_are_seen():
    scored = model(allow_unprotected_scores=True)
    scaled = make_pipeline(StandardScaler(), scored)
    with pytest.raises(LeakError, match="StandardScaler"):
        GridSearchCV(scaled, {}, cv=2, error_score="raise").fit(X, Y)
    with pytest.raises(LeakError, match="PCA"):
        make_pipeline(PCA(1), GridSearchCV(scored, {}, cv=2, error_score="raise")).fit(X, Y)
    with pytest.raises(LeakError, match="PCA"):
        make_pipeline(PCA(1), make_pipeline(Normalizer(), model())).fit(X, Y)
    regression = PrivateLinearRegression(feature_norm=1.0, label_range=(-3, 3))
    with pytest.raises(LeakError, match="StandardScaler"):
        TransformedTargetRegressor(regression, transformer=StandardScaler()).fit(X, X[:, 0])
    TransformedTargetRegressor(regression, func=np.tanh, inverse_func=np.arctanh, check_inverse=False).fit(X, X[:, 0])


def test_the_final_model_of_a_stack_is_given_predictions_that_no_guarantee_covers():
    with pytest.raises(LeakError, match="fits DecisionTreeClassifier to the private data"):
        StackingClassifier([("tree", DecisionTreeClassifier())], final_estimator=model()).fit(X, Y)
    with pytest.raises(LeakError, match="fits PrivateLogisticRegression to the private data"):
        StackingClassifier([("private", model())], final_estimator=model()).fit(X, Y)
    StackingClassifier([("private", model())], final_estimator=LogisticRegression(), cv=2).fit(X, Y)


def test_a_model_that_is_itself_a_step_is_not_blamed_for_later_ones():
    steps = make_pipeline(SelectFromModel(model(), threshold=-np.inf), StandardScaler(), LogisticRegression())
    assert steps.fit(X, Y)[0].estimator_.guarantee_ is not None


def test_an_explicit_choice_is_in_the_statement_and_the_protection_is_not_rated():
    with pytest.warns(DpermWarning, match="StandardScaler learnt from the private data before this fit"):
        fitted = make_pipeline(StandardScaler(), model(fitted_transformers="not_covered")).fit(X, Y)[-1]
    known = fitted.statement_["preprocessing"]["known"]
    assert known.startswith("NOT COVERED: before the fit, a pipeline fitted StandardScaler to the private data")
    assert fitted.statement_["limits"][0].startswith("NOT COVERED")
    filled = fitted.statement_.filled({name: "stated" for name in fitted.statement_.required_gaps})
    assert filled.required_gaps == () and filled.headline.level == "not rated"
    assert filled.headline.release is None and filled.headline.missing == ()
    assert not filled.is_private and '"private": false' in filled.to_json()
    assert str(filled).startswith("Privacy: NOT COVERED")
    shown = filled.to_markdown()
    assert "NOT COVERED" in shown and "Not rated: the guarantee does not cover the preparation" in shown
    assert "right at most" not in shown + filled.to_json() and "rated strong" not in shown
    assert Statement.from_json(filled.to_json()).headline == filled.headline
    with pytest.raises(ParameterError, match="fitted_transformers must be"):
        model(fitted_transformers="yes").fit(X, Y)


def test_without_a_guarantee_nothing_is_refused():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DpermWarning)
        assert make_pipeline(StandardScaler(), model(epsilon=np.inf)).fit(X, Y)[-1].guarantee_ is None


def test_the_warning_about_missing_bounds_names_the_trap():
    with pytest.warns(DpermWarning, match="Do not scale X by its own mean.*StandardScaler"):
        model(feature_norm=None).fit(X, Y)


def test_a_fit_on_uncovered_preparation_has_no_guarantee_and_no_place_in_a_budget():
    """The limit of an account would not cover it, and statements of other fits would say that it does."""
    budget = MemoryBudget(PureDP(5.0, "replace_one"))
    uncovered = make_pipeline(StandardScaler(), model(fitted_transformers="not_covered", delta=0.0))
    with pytest.warns(DpermWarning, match="learnt from the private data"):
        fitted = uncovered.fit(X, Y)[-1]
    assert fitted.guarantee_ is None and fitted.profile_ is None
    assert not fitted.statement_.is_private
    uncovered[-1].set_params(ledger=budget)
    with pytest.raises(LeakError, match=r"StandardScaler learnt .* the limit of a budget does not cover"):
        uncovered.fit(X, Y)
    assert not budget.entries


def test_after_a_seeded_run_other_statements_do_not_rate_the_account(tmp_path):
    budget = Ledger.open(tmp_path / "people.ledger", PureDP(5.0, "replace_one"), dataset="people", unit="one person")
    with pytest.warns(DpermWarning, match="NOT PRIVATE"):
        model(ledger=budget, delta=0.0, random_state=1).fit(X, Y)
    stated = model(ledger=budget, delta=0.0).fit(X, Y).statement_
    filled = stated.filled({name: "stated" for name in stated.required_gaps})
    assert filled.headline.level == "not rated" and filled.headline.together is None
    text = " ".join(str(filled).split())
    assert "Not rated: runs with a seed" in text and "sees everything charged to" not in text


@pytest.mark.parametrize("backend", ["threading", "loky"])
def test_a_pipeline_that_a_joblib_worker_cannot_see_is_not_covered(backend):
    """Warnings of other processes do not come back, so that only those of threads are looked at."""
    with parallel_config(backend), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        scaled = make_pipeline(StandardScaler(), OneVsRestClassifier(model(), n_jobs=2)).fit(X, Y)
    said = [str(one.message) for one in caught if issubclass(one.category, DpermWarning)]
    assert backend == "loky" or any("transformers before it cannot be seen" in text for text in said)
    stated = scaled[-1].estimators_[0].statement_
    assert stated["preprocessing"]["known"].startswith("NOT COVERED: the model was fitted in a joblib worker")
    filled = stated.filled({name: "stated" for name in stated.required_gaps})
    assert filled.required_gaps == () and filled.headline.level == "not rated"


def test_a_pipeline_is_seen_where_joblib_stays_in_the_calling_thread_or_forks_it():
    backends = [("sequential", 2), ("threading", None)]
    if multiprocessing.get_start_method() == "fork":  # Python 3.14 starts workers by a fork server
        backends.append(("multiprocessing", 2))
    for backend, jobs in backends:
        with parallel_config(backend), pytest.raises(LeakError, match="StandardScaler"):
            make_pipeline(StandardScaler(), OneVsRestClassifier(model(), n_jobs=jobs)).fit(X, Y)


def test_the_best_model_of_a_search_in_workers_is_checked_in_the_calling_thread():
    with parallel_config("threading"), warnings.catch_warnings():
        warnings.simplefilter("ignore", DpermWarning)
        pipeline = make_pipeline(Normalizer(), model(allow_unprotected_scores=True))
        found = GridSearchCV(pipeline, {}, cv=2, n_jobs=2).fit(X, Y).best_estimator_[-1]
    assert found.guarantee_ is not None
    assert "joblib worker" not in str(found.statement_)
