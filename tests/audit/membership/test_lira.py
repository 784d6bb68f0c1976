# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""LiRA finds members that one threshold on the loss does not, and not many where there is privacy (A9)."""

import json

import numpy as np
import pytest
from scipy.special import expit
from sklearn.linear_model import LogisticRegression, Ridge

from dperm import AdjacencyError, ApproxDP, AssumptionError, ParameterError, PureDP
from dperm.audit.membership import lira, lira_against, lira_logistic
from dperm.sklearn import PrivateLogisticRegression

NOISY = pytest.mark.filterwarnings("ignore:the noise that:dperm.errors.DpermWarning")


def records(n: int = 300, dim: int = 100) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, dim))
    w = rng.normal(size=dim)
    return X, rng.random(n) < expit(2 * X @ w / np.linalg.norm(w))


@pytest.fixture(scope="module")
def overfitted():
    return lira_logistic(*records(), models=256, seed=1)


def test_lira_is_well_above_one_threshold_for_all_records(overfitted):
    """n = 300, lambda = 1: about .796 and .112, against .678 and .019 of the loss, on data of this kind."""
    assert overfitted.roc.auc == pytest.approx(0.796, abs=0.02)
    assert overfitted.roc.tpr_at(0.01) == pytest.approx(0.112, abs=0.03)
    assert 0.55 < overfitted.baseline.auc < 0.7
    assert overfitted.baseline.tpr_at(0.01) < 0.03


def test_a_false_claim_about_an_overfitted_model_is_contradicted(overfitted):
    found = overfitted.finding(ApproxDP(0.5, 1e-5, "add_remove"))
    assert found.violation and found.subject == "membership, LiRA"
    with pytest.raises(AdjacencyError, match=r'coins under adjacency="add_remove".*holds under replace_one'):
        overfitted.finding(ApproxDP(0.5, 1e-5, "replace_one"))


def test_results_are_plain_data_and_say_that_no_guarantee_covers_them(overfitted):
    found = overfitted.as_dict(PureDP(1.0, "add_remove"))
    assert json.loads(json.dumps(found)) == found
    assert found["label"] == "not covered by the guarantee: computed from the private records"
    assert found["roc"]["AUC"] > found["ceilings"]["AUC"] and found["models"] == 256
    assert "descriptive only" in found["roc"]["intervals"]
    assert "ceilings" not in overfitted.as_dict()


def test_models_at_once_and_one_by_one_are_attacked_alike():
    X, y = records(120, 10)
    quick = lira_logistic(X, y, C=1.0, models=10, dtype="float64", seed=4)
    shares = []
    slow = lira(
        lambda: LogisticRegression(fit_intercept=False, tol=1e-9), X, y, models=10, seed=4, progress=shares.append
    )
    assert quick.roc.scores == pytest.approx(slow.roc.scores, abs=1e-3)
    assert shares == pytest.approx(np.arange(1, 11) / 10)


def test_a_regression_is_attacked_by_its_residuals():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(60, 40))
    found = lira(lambda: Ridge(alpha=1e-3), X, X[:, 0] + rng.normal(size=60), models=32, seed=0)
    assert found.roc.auc > 0.75


def private() -> PrivateLogisticRegression:
    return PrivateLogisticRegression(
        epsilon=1.0, delta=1e-5, adjacency="add_remove", n=60, classes=[False, True], feature_norm=10.0
    )


@NOISY
def test_private_models_stay_below_the_ceiling():
    X, y = records(120, 100)
    found = lira(private, X, y, models=32, seed=5)
    claim = ApproxDP(1.0, 1e-5, "add_remove")
    assert found.roc.auc < found.ceilings(claim)["AUC"]
    assert abs(found.roc.auc - 0.5) < 0.05
    assert not found.finding(claim).violation
    open_book = lira(lambda: LogisticRegression(fit_intercept=False), X, y, models=32, seed=5)
    assert open_book.roc.auc > 0.8 > found.ceilings(claim)["AUC"] and open_book.finding(claim).violation


@NOISY
def test_a_private_target_is_attacked_with_shadow_models_that_are_not():
    X, y = records(400, 300)
    member = np.random.default_rng(7).random(400) < 0.5

    def attacked(target):
        return lira_against(
            target.fit(X[member], y[member]),
            lambda: LogisticRegression(fit_intercept=False),
            X=X,
            y=y,
            member=member,
            models=32,
            independent_coins=True,
            seed=8,
        )

    claim = ApproxDP(1.0, 1e-5, "add_remove")
    assert not attacked(private()).finding(claim).violation
    broken = attacked(LogisticRegression(fit_intercept=False))
    assert broken.finding(claim).violation and broken.roc.auc > 0.7


def test_without_independent_coins_there_is_no_verdict():
    X, y = records(60, 5)
    member = np.arange(60) % 2 == 0
    found = lira_against(
        LogisticRegression().fit(X[member], y[member]), LogisticRegression, X=X, y=y, member=member, models=8, seed=0
    )
    assert found.adjacency is None
    with pytest.raises(AssumptionError, match="scores are dependent"):
        found.finding(PureDP(1.0, "add_remove"))


def test_halves_of_equal_size_speak_of_replacement_and_are_descriptive():
    found = lira(LogisticRegression, *records(60, 5), models=6, adjacency="replace_one", seed=0)
    assert found.ceilings(PureDP(1.0, "replace_one"))["AUC"] < 0.74
    with pytest.raises(AssumptionError, match="scores are dependent"):
        found.finding(PureDP(1.0, "replace_one"))


def test_what_cannot_be_attacked_is_refused_before_anything_is_trained():
    X, y = records(60, 5)

    def never():
        raise AssertionError

    with pytest.raises(ParameterError, match="models must be even"):
        lira(never, X, y, models=9)
    with pytest.raises(ParameterError, match="y of shape"):
        lira(never, X, y[1:])
    with pytest.raises(ParameterError, match="two classes for logistic regression, got 60"):
        lira_logistic(X, X[:, 0])
    with pytest.raises(ParameterError, match="member must be a list of True and False"):
        lira_against(LogisticRegression().fit(X, y), never, X=X, y=y, member=np.ones(60))
