# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Fits whose models scikit-learn evaluates on the private data are refused, or stated as not covered."""

import numpy as np
import pytest
from joblib import Parallel, delayed, parallel_config
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import BaggingClassifier, StackingClassifier, VotingClassifier
from sklearn.experimental import enable_halving_search_cv  # noqa: F401  # HalvingGridSearchCV
from sklearn.feature_selection import RFECV, SequentialFeatureSelector
from sklearn.linear_model import LogisticRegression, RANSACRegressor
from sklearn.model_selection import (
    FixedThresholdClassifier,
    GridSearchCV,
    HalvingGridSearchCV,
    LearningCurveDisplay,
    RandomizedSearchCV,
    TunedThresholdClassifierCV,
    cross_val_predict,
    cross_val_score,
    cross_validate,
    learning_curve,
    permutation_test_score,
    validation_curve,
)
from sklearn.multiclass import OneVsRestClassifier
from sklearn.multioutput import ClassifierChain
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from dperm import ApproxDP, Ledger
from dperm.accounting import MemoryBudget
from dperm.data.score_sources import score_source
from dperm.errors import DpermWarning, LeakError, ParameterError
from dperm.report.binding import hides_uncovered
from dperm.report.statement import Statement
from dperm.sklearn import (
    PrivateLinearRegression,
    PrivateLogisticRegression,
    PrivateTableClassifier,
    PrivateTableEncoder,
    PrivateTableRegressor,
)

X = np.random.default_rng(0).uniform(-1, 1, (80, 2))
Y = (X[:, 0] > 0).astype(int)
TABLE = {"a": X[:, 0], "b": X[:, 1]}
RAISE = {"cv": 2, "error_score": "raise"}
FOLDED = "ignore:fitted in a joblib worker"


def model(**changes):
    return PrivateLogisticRegression(**{"epsilon": 4.0, "feature_norm": 1.0, "classes": (0, 1), **changes})


def account():
    """A budget that copies of an estimator share."""
    return MemoryBudget(ApproxDP(500.0, 1e-3, "replace_one"), blocks=100)


EVALUATIONS = {
    "GridSearchCV": lambda one: GridSearchCV(one, {}, **RAISE).fit(X, Y),
    "RandomizedSearchCV": lambda one: RandomizedSearchCV(one, {}, n_iter=1, **RAISE).fit(X, Y),
    "HalvingGridSearchCV": lambda one: HalvingGridSearchCV(one, {}, **RAISE).fit(X, Y),
    "TunedThresholdClassifierCV": lambda one: TunedThresholdClassifierCV(one, cv=2).fit(X, Y),
    "cross_val_score": lambda one: cross_val_score(one, X, Y, **RAISE),
    "cross_validate": lambda one: cross_validate(one, X, Y, **RAISE),
    "cross_val_predict": lambda one: cross_val_predict(one, X, Y, cv=2),
    "learning_curve": lambda one: learning_curve(one, X, Y, train_sizes=[1.0], **RAISE),
    "LearningCurveDisplay": lambda one: LearningCurveDisplay.from_estimator(one, X, Y, train_sizes=[1.0], **RAISE),
    "permutation_test_score": lambda one: permutation_test_score(one, X, Y, cv=2, n_permutations=1),
    "RFECV": lambda one: RFECV(one, cv=2).fit(X, Y),
    "BaggingClassifier with oob_score": lambda one: BaggingClassifier(one, 20, oob_score=True).fit(X, Y),
}
CROSS_FITS = {
    "calibration": lambda one: CalibratedClassifierCV(one, cv=2).fit(X, Y),
    "calibration of folds": lambda one: CalibratedClassifierCV(one, cv=2, ensemble=False).fit(X, Y),
    "stack": lambda one: StackingClassifier([("one", one)], LogisticRegression(), cv=2).fit(X, Y),
    "chain": lambda one: ClassifierChain(one, cv=2).fit(X, np.column_stack([Y, 1 - Y])),
    "vote": lambda one: VotingClassifier([("one", one)]).fit(X, Y),
    "bagging": lambda one: BaggingClassifier(one, 2).fit(X, Y),
    "threshold": lambda one: FixedThresholdClassifier(one).fit(X, Y),
    "one against the rest": lambda one: OneVsRestClassifier(one).fit(X, Y),
    "pipeline": lambda one: make_pipeline(FunctionTransformer(), one).fit(X, Y),
    "joblib": lambda one: Parallel(n_jobs=1)([delayed(one.fit)(X, Y)]),
}


@pytest.mark.parametrize("name", EVALUATIONS)
@pytest.mark.parametrize("within", [False, True], ids=["alone", "in a pipeline"])
def test_an_evaluation_is_refused_before_the_charge_and_named(name, within):
    budget = account()
    one = model(ledger=budget)
    with pytest.raises(LeakError, match=rf"^{name} evaluates models on .*allow_unprotected_scores=True") as found:
        EVALUATIONS[name](make_pipeline(FunctionTransformer(), one) if within and name != "RFECV" else one)
    assert "PrivateSearch" in str(found.value) and "PrivateMetrics" in str(found.value)
    assert not budget.entries


@pytest.mark.filterwarnings("ignore::dperm.errors.NotPrivateWarning")  # bagging sets random_state
@pytest.mark.parametrize("name", EVALUATIONS)
def test_an_allowed_evaluation_is_charged_for_each_fit(name, monkeypatch):
    monkeypatch.setattr("sklearn.model_selection._plot._check_matplotlib_support", lambda _: None, raising=False)
    monkeypatch.setattr(LearningCurveDisplay, "plot", lambda self, **_: self)
    budget = account()
    EVALUATIONS[name](model(ledger=budget, allow_unprotected_scores=True))
    assert len(budget.entries) >= 2


@pytest.mark.filterwarnings("ignore::dperm.errors.NotPrivateWarning")  # bagging sets random_state
@pytest.mark.parametrize("name", CROSS_FITS)
def test_predictions_that_feed_another_fit_are_no_published_scores(name):
    budget = account()
    CROSS_FITS[name](model(ledger=budget))
    assert budget.entries


def test_validation_curve_turns_the_refusal_into_nan_with_a_warning():
    settings = {"param_name": "n", "param_range": [None], "cv": 2}
    with pytest.warns(DpermWarning, match='NaN: allow_unprotected_scores is False.*error_score="raise"'):
        scores = validation_curve(model(), X, Y, **settings)
    assert np.isnan(scores).all()
    with pytest.raises(LeakError, match=r"^validation_curve"):
        validation_curve(model(), X, Y, error_score="raise", **settings)


def test_evaluations_around_other_estimators_are_found():
    with pytest.raises(ValueError, match="LeakError: cross_val_score evaluates"):
        SequentialFeatureSelector(model(), n_features_to_select=1, cv=2).fit(X, Y)
    with pytest.raises(LeakError, match=r"^cross_val_score"):
        cross_val_score(StackingClassifier([("one", model())], LogisticRegression(), cv=2), X, Y, **RAISE)
    with pytest.raises(LeakError, match=r"^cross_val_score"):  # the outermost name
        cross_val_score(GridSearchCV(make_pipeline(model()), {}, **RAISE), X, Y, **RAISE)
    with pytest.raises(LeakError, match=r"^RANSACRegressor"):
        regression = PrivateLinearRegression(feature_norm=1.0, label_range=(-1, 1))
        RANSACRegressor(regression, min_samples=20).fit(X, X[:, 0])


def test_a_cross_prediction_by_the_user_inside_a_stack_is_found():
    class Scored(LogisticRegression):
        def fit(self, features, labels):
            cross_val_predict(model(), features, labels, cv=2)
            return super().fit(features, labels)

    with pytest.raises(LeakError, match=r"^cross_val_predict"):
        StackingClassifier([("one", LogisticRegression())], Scored(), cv=2).fit(X, Y)


@pytest.mark.filterwarnings("ignore:The estimator PrivateLogisticRegression does not support callbacks")
def test_callbacks_are_found_except_the_progress_bar():
    callback = pytest.importorskip("sklearn.callback")
    budget = account()
    pipeline = make_pipeline(model(ledger=budget))
    pipeline.set_callbacks(callback.ProgressBar()).fit(X, Y)
    assert len(budget.entries) == 1
    pipeline.set_callbacks(callback.ProgressBar(), callback.ScoringMonitor(scoring="accuracy"))
    with pytest.raises(LeakError, match=r"^the callback ScoringMonitor evaluates"):
        pipeline.fit(X, Y)
    assert len(budget.entries) == 1
    pipeline[-1].set_params(allow_unprotected_scores=True)
    assert "of the callback ScoringMonitor on" in pipeline.fit(X, Y)[-1].statement_["limits"][0]


@pytest.mark.filterwarnings(FOLDED)
@pytest.mark.parametrize("backend", ["threading", "loky"])
def test_folds_in_workers_are_found(backend, tmp_path):
    limit = ApproxDP(20.0, 1e-5, "replace_one")
    budget = Ledger.open(tmp_path / "people.ledger", limit, dataset="people", unit="one person", blocks=4)
    one = model(ledger=budget)
    with parallel_config(backend, n_jobs=2):
        if backend == "threading":  # an error of a fold would stop the processes of loky, which are slow to start
            with pytest.raises(LeakError, match=r"^cross-validation evaluates.*with n_jobs=None"):
                cross_val_predict(one, X, Y, cv=2)
        with pytest.raises(ValueError, match=r"All the 2 fits failed(?s:.*)LeakError: cross-validation evaluates"):
            cross_val_score(one, X, Y, cv=2)
        with pytest.raises(ValueError, match=r"All the 2 fits failed(?s:.*)LeakError: GridSearchCV evaluates"):
            GridSearchCV(one, {}, cv=2).fit(X, Y)
        assert not budget.bookings()
        one.set_params(allow_unprotected_scores=True)
        found = cross_validate(one, X, Y, cv=2, return_estimator=True)["estimator"]
    assert len(budget.bookings()) == 2
    assert all("NOT COVERED: the scores and predictions of cross-validation" in str(each.statement_) for each in found)


@pytest.mark.parametrize("table_model", [PrivateTableClassifier, PrivateTableRegressor])
@pytest.mark.filterwarnings("ignore:.*records are too few", "ignore:every prepared column", "ignore:The metrics come")
def test_models_of_raw_tables_refuse_and_state_evaluations(table_model):
    pandas = pytest.importorskip("pandas")
    budget = account()
    declared = {"label_range": (-1, 1)} if table_model is PrivateTableRegressor else {"classes": (0, 1)}
    one = table_model(epsilon=4.0, ledger=budget, columns={}, **declared)
    frame, labels = pandas.DataFrame(TABLE), Y if "classes" in declared else X[:, 0]
    with pytest.raises(LeakError, match=r"^cross_val_score"):
        cross_val_score(one, frame, labels, **RAISE)
    assert not budget.entries
    one.set_params(allow_unprotected_scores=True)
    found = cross_validate(one, frame, labels, return_estimator=True, **RAISE)["estimator"][0]
    assert len(budget.entries) == 2
    assert found.guarantee_ is not None and found.statement_.headline.level == "not rated"
    assert "of cross_validate on the private data" in found.statement_["tuning"]["known"]


def test_a_private_transformer_before_a_model_that_refuses_is_not_charged():
    budget = account()
    pandas = pytest.importorskip("pandas")
    private = PrivateTableEncoder(epsilon=4.0, columns={}, ledger=budget)
    last = PrivateLogisticRegression(feature_norm="auto", classes=(0, 1), ledger=budget)
    with pytest.raises(LeakError, match=r"^cross_val_score"):
        cross_val_score(make_pipeline(private, make_pipeline(last)), pandas.DataFrame(TABLE), Y, **RAISE)
    assert not budget.entries


def test_the_statement_of_an_allowed_evaluation_is_not_rated_and_keeps_the_guarantee(tmp_path):
    budget = account()
    search = GridSearchCV(model(allow_unprotected_scores=True, ledger=budget), {"C": [0.1]}, **RAISE).fit(X, Y)
    found = search.best_estimator_
    assert found.guarantee_ == ApproxDP(4.0, 1e-6, "replace_one") and found.profile_ is not None
    assert len(budget.entries) == 3
    stated = found.statement_
    filled = stated.filled({name: "stated" for name in stated.required_gaps})
    assert filled.required_gaps == () and filled.headline.level == "not rated" and filled.headline.release is None
    assert not filled.is_private and '"private": false' in filled.to_json()
    sentence = "NOT COVERED: the scores and predictions of GridSearchCV on the private data, and the choice"
    assert filled["limits"][0].startswith(sentence) and filled["tuning"]["known"].startswith(sentence)
    assert filled["tuning"]["stated"] == "stated"
    assert "NOT COVERED" not in str(filled["preprocessing"]) and "preparation" not in str(filled.headline.uncovered)
    shown = filled.to_markdown()
    assert "Not rated: the guarantee does not cover scores on the private data" in shown
    assert "for the fit alone; scores on the private data are NOT COVERED" in shown
    assert "right at most" not in shown + filled.to_json() and "rated strong" not in shown
    assert str(filled).startswith("Privacy: NOT COVERED: the guarantee of the fit does not cover scores")
    assert Statement.from_json(filled.to_json()).headline == filled.headline
    found.save(tmp_path / "model.dperm")
    assert dict(PrivateLogisticRegression.load(tmp_path / "model.dperm").statement_) == dict(stated)


def test_a_statement_that_lost_the_sentence_contradicts_its_facts():
    found = cross_validate(model(allow_unprotected_scores=True), X, Y, return_estimator=True, **RAISE)["estimator"][0]
    fields = dict(found.statement_)
    assert fields["mechanism"]["unprotected_scores"] == "cross_validate" and not hides_uncovered(fields)
    fields["limits"] = fields["limits"][1:]
    assert hides_uncovered(fields)


def test_the_choice_has_no_effect_on_a_plain_fit():
    assert score_source() == ""
    allowed = model(allow_unprotected_scores=True).fit(X, Y)
    assert "NOT COVERED" not in str(allowed.statement_) and allowed.statement_.is_private
    with pytest.raises(ParameterError, match="allow_unprotected_scores must be True or False"):
        model(allow_unprotected_scores="yes").fit(X, Y)


@pytest.mark.filterwarnings("ignore::dperm.errors.NotPrivateWarning")
def test_a_fit_without_privacy_may_be_scored_and_a_seeded_one_may_not():
    assert len(cross_val_score(model(epsilon=np.inf, method="auto"), X, Y, **RAISE)) == 2
    with pytest.raises(LeakError):
        cross_val_score(model(random_state=1), X, Y, **RAISE)
