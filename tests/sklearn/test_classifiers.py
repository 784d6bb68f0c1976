# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""What the classifiers promise beside scikit-learn's own checks, mostly without a seed."""

import subprocess
import sys

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

from dperm.data import labels
from dperm.errors import AssumptionError, NotPrivateWarning, PublicAssumptionWarning
from dperm.sklearn import PrivateLinearSVC, PrivateLogisticRegression


def test_classes_that_are_found_are_warned_about_once_and_stated(data, monkeypatch):
    monkeypatch.setattr(labels, "_warned", set())
    with pytest.warns(PublicAssumptionWarning, match=r"classes.*public.*classes=\(0, 1\)"):
        model = PrivateLogisticRegression(feature_norm=1.0).fit(*data)
    PrivateLogisticRegression(feature_norm=1.0).fit(*data)  # warnings are errors here: the second says nothing
    assert labels.FOUND in model.statement_["public_quantities"]["assumptions"]


def test_declared_classes_are_not_warned_about(make, data, monkeypatch):
    monkeypatch.setattr(labels, "_warned", set())
    model = make().fit(*data)
    assert labels.FOUND not in model.statement_["public_quantities"]["assumptions"]


@pytest.mark.parametrize(
    ("classes", "values"),
    [
        (("no", "yes"), ["no", "yes"]),
        (("yes", "no"), ["no", "yes"]),
        ((2, 7), [2, 7]),
        ((-1.0, 1.0), [-1.0, 1.0]),
        ((False, True), [False, True]),
        (np.array(["a", "b"]), ["a", "b"]),
    ],
)
def test_labels_of_any_kind_come_back_as_they_are(make, data, classes, values):
    X, y = data
    model = make(classes=classes, epsilon=5.0).fit(X, np.array(values)[y])
    assert model.classes_.tolist() == values
    assert set(model.predict(X).tolist()) <= set(values)
    assert model.score(X, np.array(values)[y]) > 0.8


def test_declared_classes_need_not_occur(make, data):
    model = make().fit(data[0], np.ones(2000, dtype=int))
    assert model.classes_.tolist() == [0, 1]


@pytest.mark.parametrize(("estimator", "chosen"), [(PrivateLogisticRegression, 0.5), (PrivateLinearSVC, 1.0)])
def test_clip_is_a_share_of_the_largest_gradient_and_noise_is_proportional_to_it(estimator, chosen):
    def plan(clip):
        return estimator(bounds=(0, 1), method="output", C=0.1, clip=clip).plan(n=10_000, dim=4)

    half, whole = plan(0.5), plan(1.0)
    assert half.spec.clip == whole.spec.clip / 2 == pytest.approx(half.spec.radius / 2)
    assert whole.output_noise.scale == pytest.approx(2 * half.output_noise.scale, rel=1e-3)
    assert plan(None).output_noise.scale == plan(chosen).output_noise.scale


@pytest.mark.parametrize(("clip", "probability"), [(None, 17 / 18), (0.5, 17 / 18), (1.0, 0.9)])
def test_probabilities_are_overconfident_unless_nothing_is_clipped(clip, probability):
    """9 of 10 records are positive: 0.9 / (1 + e^z) = 0.1 min(1/2, 1 / (1 + e^-z)) at the optimum (T44)."""
    X, y = np.ones((100_000, 1)), (np.arange(100_000) % 10 > 0).astype(int)
    public = {"classes": (0, 1), "feature_norm": 1.0, "fit_intercept": False, "clip": clip}
    model = PrivateLogisticRegression(epsilon=5.0, C=1.0, **public).fit(X, y)
    assert model.predict_proba(X[:1])[0, 1] == pytest.approx(probability, abs=0.005)
    limits = " ".join(model.statement_["limits"])
    assert ("overconfident" in limits) is (clip != 1.0)
    assert model.statement_["mechanism"]["clip_share"] == (clip or 0.5)


def test_without_noise_clip_is_honoured_if_it_is_given():
    X, y = np.ones((1000, 1)), (np.arange(1000) % 10 > 0).astype(int)
    for clip, probability in ((None, 0.9), (0.5, 17 / 18), (1.0, 0.9)):
        public = {"classes": (0, 1), "feature_norm": 1.0, "fit_intercept": False, "C": 1e6, "clip": clip}
        with pytest.warns(NotPrivateWarning):
            model = PrivateLogisticRegression(epsilon=np.inf, **public).fit(X, y)
        assert model.predict_proba(X[:1])[0, 1] == pytest.approx(probability, abs=1e-4)


@pytest.mark.filterwarnings("ignore:the noise :dperm.errors.DpermWarning")
def test_a_larger_weight_is_paid_for_with_more_noise(make):
    light, heavy = (make(class_weight={1: w}, method="output", C=1.0).plan(n=10_000, dim=2) for w in (1.0, 3.0))
    assert heavy.output_noise.scale == pytest.approx(3 * light.output_noise.scale, rel=1e-3)


def test_weights_move_the_boundary(make, data):
    X, y = data
    light, heavy = (
        make(epsilon=50.0, class_weight={0: 1.0, 1: w}).fit(X, y).decision_function(X).mean() for w in (0.1, 10.0)
    )
    assert heavy > light + 0.5


# epsilon = inf


def bounded_rows(X: np.ndarray, norm: float, constant: float) -> np.ndarray:
    scaled = X * np.minimum(1.0, norm / np.linalg.norm(X, axis=1))[:, np.newaxis]
    return np.column_stack([scaled, np.full(len(X), constant)])


def logistic(z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return np.logaddexp(0, -z), -1 / (1 + np.exp(z))


def huber_hinge(z: np.ndarray, h: float = 0.5) -> tuple[np.ndarray, np.ndarray]:
    value = np.where(z >= 1 + h, 0, np.where(z <= 1 - h, 1 - z, (1 + h - z) ** 2 / (4 * h)))
    return value, np.where(z >= 1 + h, 0, np.where(z <= 1 - h, -1, -(1 + h - z) / (2 * h)))


@pytest.mark.parametrize("C", [None, 0.1, 10.0])
@pytest.mark.parametrize(
    ("estimator", "loss"), [(PrivateLogisticRegression, logistic), (PrivateLinearSVC, huber_hinge)]
)
def test_epsilon_inf_is_the_optimum_of_the_bounded_data(data, estimator, loss, C):
    X, y = data
    model = estimator(epsilon=np.inf, classes=(0, 1), C=C, feature_norm=1.2)
    with pytest.warns(NotPrivateWarning, match="epsilon=inf"):
        model.fit(X, y)
    constant = 1.2 / 4  # an intercept of b is the coefficient b/a of a constant column a, regularised as such
    rows, signs = bounded_rows(X, 1.2, constant), 2 * y - 1

    strength = 1.0 if C is None else 1 / C

    def objective(theta):
        values, slopes = loss(signs * (rows @ theta))
        return values.sum() + strength * theta @ theta / 2, rows.T @ (signs * slopes) + strength * theta

    best = minimize(objective, np.zeros(4), jac=True, method="L-BFGS-B", options={"gtol": 1e-12, "ftol": 1e-18})
    assert np.linalg.norm(objective(best.x)[1]) < 2e-7 * strength + 1e-8
    assert np.append(model.coef_, model.intercept_ / constant) == pytest.approx(best.x, abs=1e-6)


def test_epsilon_inf_refuses_a_kink(data):
    with pytest.raises(AssumptionError, match="huber_hinge"):
        PrivateLinearSVC(epsilon=np.inf, loss="hinge", classes=(0, 1), feature_norm=1.0).fit(*data)


@pytest.mark.parametrize("loss", ["huber_hinge", "smoothed_hinge", "hinge"])
def test_the_losses_of_the_support_vector_machine(data, loss):
    model = PrivateLinearSVC(loss=loss, width=0.3, epsilon=4.0, classes=(0, 1), feature_norm=1.0).fit(*data)
    assert model.plan_.spec.loss.name == loss
    assert model.score(*data) > 0.8
    assert not hasattr(model, "predict_proba")


@pytest.mark.parametrize("intercept", [True, False])
def test_to_sklearn_predicts_the_same(data, intercept):
    X, y = data
    words = np.array(["no", "yes"])[y]
    for estimator, plain in ((PrivateLogisticRegression, LogisticRegression), (PrivateLinearSVC, LinearSVC)):
        model = estimator(classes=("no", "yes"), bounds=(-1.5, 3), fit_intercept=intercept).fit(X, words)
        exported = model.to_sklearn()
        assert type(exported) is plain
        assert (exported.predict(X) == model.predict(X)).all()
        assert exported.decision_function(X) == pytest.approx(model.decision_function(X), abs=1e-12)
        assert exported.n_features_in_ == 3
        exported.coef_[:] = 0
        assert model.coef_.any()
        if estimator is PrivateLogisticRegression:
            assert model.to_sklearn().predict_proba(X) == pytest.approx(model.predict_proba(X), abs=1e-12)


def test_probabilities_are_those_of_the_logistic_law(data):
    X, y = data
    model = PrivateLogisticRegression(classes=(0, 1), feature_norm=1.0).fit(X, y)
    probabilities = model.predict_proba(X)
    assert probabilities[:, 1] == pytest.approx(1 / (1 + np.exp(-model.decision_function(X))))
    assert probabilities.sum(axis=1) == pytest.approx(1.0)
    assert model.predict_log_proba(X) == pytest.approx(np.log(probabilities))
    model.coef_ *= 1e5  # far out, logarithms stay finite where probabilities are 0
    assert np.isfinite(model.predict_log_proba(X)).all()


def test_bounds_give_coefficients_in_the_units_of_the_user(data):
    X, y = data
    with pytest.warns(NotPrivateWarning):
        first, second = (
            PrivateLogisticRegression(classes=(0, 1), bounds=bounds, random_state=5).fit(columns, y)
            for columns, bounds in ((X, (-2, 2)), (100 + 10 * X, (80, 120)))
        )
    assert second.coef_ * 10 == pytest.approx(first.coef_)
    assert second.decision_function(100 + 10 * X) == pytest.approx(first.decision_function(X))


def test_the_warning_about_classes_points_to_the_line_of_the_user(data, monkeypatch):
    monkeypatch.setattr(labels, "_warned", set())
    with pytest.warns(PublicAssumptionWarning) as caught:
        PrivateLogisticRegression(feature_norm=1.0).fit(*data)
    assert caught[0].filename == __file__


# display


def test_notebooks_escape_everything(make, data):
    bad = "<script>alert(1)</script>"
    X, y = data
    html = make(classes=("<i7>", "j"), epsilon=1.0).fit(X, np.array(["<i7>", "j"])[y])._repr_html_()
    assert "<i7>" not in html and "&lt;i7&gt;" in html
    assert bad not in make(adjacency=bad)._repr_html_() and "alert(1)" in make(adjacency=bad)._repr_html_()


# importing


def test_importing_loading_and_predicting_need_no_cryptography(data, tmp_path):
    X, y = data
    path = tmp_path / "model.npz"
    model = PrivateLogisticRegression(classes=(0, 1), feature_norm=1.0).fit(X, y)
    model.save(path)
    code = f"""
import sys
class Blocker:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "cryptography":
            raise ImportError("blocked")
sys.meta_path.insert(0, Blocker())
import numpy as np
from dperm.sklearn import PrivateLogisticRegression
model = PrivateLogisticRegression.load({str(path)!r})
print(model.predict(np.array([[1.0, 0, 0], [-1.0, 0, 0]])).tolist(), model.guarantee_, model.statement_["adjacency"])
assert not any(name.startswith("dperm.noise") for name in sys.modules)
try:
    model.fit(np.eye(4), [0, 1, 0, 1])
except ImportError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[0].startswith("[")
    assert "ApproxDP(epsilon=1.0" in done.stdout and done.stdout.endswith("blocked\n")
