# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""What the classifiers promise beside scikit-learn's own checks, mostly without a seed."""

import copy
import pickle
import subprocess
import sys
import warnings

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

from dperm import ApproxDP, ParameterError, PureDP, account
from dperm.accounting import MemoryBudget
from dperm.errors import AssumptionError, BudgetError, DpermWarning, NotPrivateWarning, PublicAssumptionWarning
from dperm.methods import OutputPerturbation
from dperm.sklearn import PrivateLinearSVC, PrivateLogisticRegression
from dperm.sklearn import classes as labels

METHODS = ("auto", "objective", "output", "gradient")
ABSENT = ("partial_fit", "warm_start", "n_iter_", "sample_weight")


@pytest.mark.parametrize("method", METHODS)
def test_a_fit_has_the_guarantee_that_was_asked_for_and_learns(make, data, method):
    model = make(epsilon=2.0, delta=1e-6, method=method).fit(*data)
    assert model.guarantee_ == ApproxDP(2.0, 1e-6, "replace_one")
    assert model.profile_.epsilon(1e-6) <= 2.0
    assert model.coef_.shape == (1, 3) and model.intercept_.shape == (1,)
    assert model.classes_.tolist() == [0, 1]
    assert model.n_features_in_ == 3 and not hasattr(model, "feature_names_in_")
    assert model.plan_.goal == model.guarantee_
    assert model.score(*data) > 0.8


@pytest.mark.parametrize("adjacency", ["replace_one", "add_remove"])
def test_delta_0_is_a_pure_guarantee(make, data, adjacency):
    model = make(epsilon=4.0, delta=0.0, adjacency=adjacency).fit(*data)
    assert model.guarantee_ == PureDP(4.0, adjacency)
    assert model.profile_.epsilon(0.0) <= 4.0
    assert model.score(*data) > 0.7


def test_fits_without_a_seed_differ_and_are_private(make, data):
    first, second = make().fit(*data), make().fit(*data)
    assert (first.coef_ != second.coef_).all() and first.intercept_ != second.intercept_
    assert first.statement_.is_private


SEEDS = {"int": 3, "numpy": np.int64(3), "RandomState": np.random.RandomState(3), "Generator": np.random.default_rng(3)}


@pytest.mark.parametrize("kind", SEEDS)
def test_a_seed_makes_a_fit_reproducible_and_not_private(make, data, kind):
    with pytest.warns(NotPrivateWarning):
        first, second = (make(random_state=copy.deepcopy(SEEDS[kind])).fit(*data) for _ in range(2))
    assert (first.coef_ == second.coef_).all()
    assert not first.statement_.is_private
    assert "NOT PRIVATE" in str(first.statement_["status"])


def test_a_seeded_fit_promises_nothing_and_remembers_what_was_asked_for(make, data):
    with pytest.warns(NotPrivateWarning, match="random_state") as caught:
        model = make(epsilon=0.625, random_state=0).fit(*data)
    assert [warning.filename for warning in caught] == [__file__]  # one warning, at this line
    assert model.guarantee_ is None and model.profile_ is None
    found = model.statement_
    assert str(found).startswith("Privacy: NOT PRIVATE")
    assert found["goal"] == {"kind": "ApproxDP", "epsilon": 0.625, "delta": 1e-6, "adjacency": "replace_one"}
    assert [found[name] for name in ("parameters", "profile", "meaning", "covered")] == ["nothing"] * 4


@pytest.mark.parametrize("kind", [np.random.RandomState, np.random.default_rng])
def test_a_random_state_gives_another_seed_for_every_fit(make, data, kind):
    model = make(random_state=kind(0))
    with pytest.warns(NotPrivateWarning):
        first = model.fit(*data).coef_
        second = model.fit(*data).coef_
    assert (first != second).all()


def test_classes_that_are_found_are_warned_about_once_and_stated(data, monkeypatch):
    monkeypatch.setattr(labels, "_warned", set())
    with pytest.warns(PublicAssumptionWarning, match=r"classes.*public.*classes=\(0, 1\)"):
        model = PrivateLogisticRegression(feature_norm=1.0).fit(*data)
    PrivateLogisticRegression(feature_norm=1.0).fit(*data)  # warnings are errors here: the second says nothing
    assert labels.ASSUMED in model.statement_["public_quantities"]["assumptions"]


def test_declared_classes_are_not_warned_about(make, data, monkeypatch):
    monkeypatch.setattr(labels, "_warned", set())
    model = make().fit(*data)
    assert labels.ASSUMED not in model.statement_["public_quantities"]["assumptions"]


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


def test_under_add_remove_the_number_of_rows_enters_nothing(make, data):
    X, y = data
    public = [make(adjacency="add_remove").fit(X[:rows], y[:rows]).statement_["mechanism"] for rows in (2000, 1999, 17)]
    assert public[0] == public[1] == public[2]


def test_under_add_remove_a_declared_n_is_never_compared_with_the_data(make, data):
    model = make(adjacency="add_remove", n=1234, method="gradient").fit(*data)
    assert model.plan_.spec.n == 1234
    assert any("not compared" in text for text in model.statement_["public_quantities"]["assumptions"])


def test_under_add_remove_gradient_perturbation_asks_for_n(make, data):
    with pytest.raises(ParameterError, match="n must be given"):
        make(adjacency="add_remove", method="gradient").fit(*data)


def test_under_replace_one_n_is_the_number_of_rows(make, data):
    assert make().fit(*data).plan_.spec.n == 2000
    with pytest.raises(ParameterError, match="leave n out"):
        make(n=1999).fit(*data)


def test_plan_needs_no_data_and_is_what_fit_does(make, data):
    model = make(bounds=[(-2, 2), (-1, 3), (0, 1)], feature_norm=1.5, C=0.02, class_weight={1: 2.0})
    plan = model.plan(n=2000, dim=3)
    assert plan == model.fit(*data).plan_
    assert plan.spec.strength == 50.0 and plan.spec.weight == 2.0


def test_plan_takes_the_declared_n_and_refuses_another(make):
    model = make(adjacency="add_remove", n=500)
    assert model.plan(dim=3).spec.n == model.plan(n=500, dim=3).spec.n == 500
    assert make(adjacency="add_remove").plan(n=700, dim=3).spec.n == 700
    assert make(adjacency="add_remove").plan(dim=3).spec.n is None
    with pytest.raises(ParameterError, match="declared n=500"):
        model.plan(n=501, dim=3)
    with pytest.raises(ParameterError, match="n must be given"):
        make().plan(dim=3)
    for bounds in (None, (0, 1), [0.0, 1.0]):
        with pytest.raises(ParameterError, match="dim must be given"):
            make(bounds=bounds).plan(n=3)


@pytest.mark.parametrize("bounds", [[(0, 10), (-1, 1)], np.array([(0, 10), (-1, 1)]), {"a": (0, 10), "b": (-1, 1)}])
def test_plan_counts_the_features_by_their_bounds(make, bounds):
    assert make(bounds=bounds).plan(n=100_000) == make(bounds=[(0, 10), (-1, 1)]).plan(n=100_000, dim=2)


def test_bounds_by_name_can_be_planned_without_names(make):
    by_name = make(bounds={"a": (0, 10), "b": (-1, 1)}).plan(n=100_000, dim=2)
    assert by_name == make(bounds=[(0, 10), (-1, 1)]).plan(n=100_000, dim=2)


def test_without_a_bound_rows_are_scaled_to_norm_1(make, data):
    X, y = data
    plain, declared = make(feature_norm=None), make(feature_norm=1.0)
    assert plain.plan(n=2000, dim=3) == declared.plan(n=2000, dim=3)
    with pytest.warns(DpermWarning, match=r"feature_norm=1.0.*other units.*Give the public bounds") as caught:
        plain.fit(X, y)
    assert [warning.filename for warning in caught] == [__file__]
    assert plain.statement_["public_quantities"]["feature_norm"] == 1.0


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


def test_a_method_object_is_accepted(make, data):
    model = make(method=OutputPerturbation(noise="laplace"), delta=0.0).fit(*data)
    assert model.plan_.output_noise.name == "laplace"


def test_a_larger_weight_is_paid_for_with_more_noise(make):
    light, heavy = (make(class_weight={1: w}, method="output", C=1.0).plan(n=10_000, dim=2) for w in (1.0, 3.0))
    assert heavy.output_noise.scale == pytest.approx(3 * light.output_noise.scale, rel=1e-3)


def test_weights_move_the_boundary(make, data):
    X, y = data
    light, heavy = (
        make(epsilon=50.0, class_weight={0: 1.0, 1: w}).fit(X, y).decision_function(X).mean() for w in (0.1, 10.0)
    )
    assert heavy > light + 0.5


def test_without_an_intercept_it_is_0(make, data):
    model = make(fit_intercept=False).fit(*data)
    assert model.intercept_.tolist() == [0.0]
    assert model.plan_.spec.dim == 3


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


def test_epsilon_inf_promises_nothing_and_is_not_charged(make, data):
    budget = MemoryBudget(PureDP(1.0, "replace_one"))
    with pytest.raises(ParameterError, match=r"without privacy .* cannot be charged.*Leave out ledger"):
        make(epsilon=np.inf, ledger=budget).fit(*data)
    assert budget.entries == ()
    with pytest.warns(NotPrivateWarning) as caught:
        model = make(epsilon=np.inf).fit(*data)
    assert caught[0].filename == __file__
    assert "NOT PRIVATE" in model._repr_html_()
    assert model.guarantee_ is None and model.profile_ is None and model.plan_ is None
    assert "no guarantee" in str(model.statement_["status"]) and not model.statement_.is_private
    with pytest.raises(ParameterError, match="epsilon=inf has no plan"):
        model.plan(n=10, dim=2)


def test_epsilon_inf_refuses_a_kink(data):
    with pytest.raises(AssumptionError, match="huber_hinge"):
        PrivateLinearSVC(epsilon=np.inf, loss="hinge", classes=(0, 1), feature_norm=1.0).fit(*data)


@pytest.mark.parametrize("loss", ["huber_hinge", "smoothed_hinge", "hinge"])
def test_the_losses_of_the_support_vector_machine(data, loss):
    model = PrivateLinearSVC(loss=loss, width=0.3, epsilon=4.0, classes=(0, 1), feature_norm=1.0).fit(*data)
    assert model.plan_.spec.loss.name == loss
    assert model.score(*data) > 0.8
    assert not hasattr(model, "predict_proba")


# budgets


def test_a_fit_is_charged_to_the_ledger_once(make, data):
    budget = MemoryBudget(PureDP(1.0, "replace_one"))
    model = make(epsilon=0.75, delta=0.0, ledger=budget).fit(*data)
    (entry,) = budget.entries
    assert entry.state == "committed" and entry.digest.startswith("sha256:")
    assert budget.spent["epsilon"] == pytest.approx(0.75)
    with pytest.raises(BudgetError):
        model.fit(*data)
    assert len(budget.entries) == 1


def test_the_budget_is_asked_before_the_data_are_read(make):
    class Unreadable:
        def __array__(self, dtype=None, copy=None):
            raise AssertionError("the data were read")

    budget = MemoryBudget(PureDP(0.1, "replace_one"))
    model = make(epsilon=1.0, delta=0.0, ledger=budget)
    with pytest.raises(BudgetError):
        model.fit(np.zeros((2000, 2)), Unreadable())
    assert budget.entries == ()


# behaviour of scikit-learn's objects


def test_clone_deepcopy_and_pickle_keep_parameters_and_fit(make, data):
    budget = MemoryBudget(PureDP(10.0, "replace_one"))
    model = make(epsilon=0.5, delta=0.0, bounds=(-2, 2), ledger=budget)
    copied = clone(model)
    assert copied.ledger is budget and not hasattr(copied, "coef_")
    fitted = model.fit(*data)
    for again in (copy.deepcopy(fitted), pickle.loads(pickle.dumps(fitted.set_params(ledger=None)))):
        assert (again.predict(data[0]) == fitted.predict(data[0])).all()
        assert again.guarantee_ == fitted.guarantee_ and again.statement_ == fitted.statement_
        assert again.profile_.delta(0.1) == fitted.profile_.delta(0.1)


def test_what_would_break_the_guarantee_is_absent(make, data):
    model = make().fit(*data)
    assert [name for name in ABSENT if hasattr(model, name) or name in model.get_params()] == []
    with pytest.raises(TypeError):
        model.fit(*data, sample_weight=np.ones(2000))


def test_a_fit_that_fails_leaves_the_earlier_one_alone(make, data):
    X, y = data
    model = make().fit(X, y)
    before = model.coef_.copy()
    with pytest.raises(ValueError, match="finite"):
        model.fit(np.full((2000, 2), np.nan), y)
    assert model.n_features_in_ == 3 and (model.coef_ == before).all()
    assert model.predict(X).shape == (2000,)


def test_predicting_before_a_fit_is_an_error_of_scikit_learn(make, data):
    for use in (
        lambda m: m.predict(data[0]),
        lambda m: m.to_sklearn(),
        lambda m: m.noise_interval(),
        lambda m: m.statement_,
    ):
        with pytest.raises(NotFittedError):
            use(make())
    assert not hasattr(make(), "statement_")


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


def test_a_fitted_model_keeps_no_data(make, data):
    X, y = (np.tile(part, (20, 1) if part.ndim == 2 else 20) for part in data)
    sizes = [len(pickle.dumps(make().fit(X[:rows], y[:rows]))) for rows in (2000, 40_000)]
    assert abs(sizes[0] - sizes[1]) < 100 and max(sizes) < 20_000


def test_the_warning_about_classes_points_to_the_line_of_the_user(data, monkeypatch):
    monkeypatch.setattr(labels, "_warned", set())
    with pytest.warns(PublicAssumptionWarning) as caught:
        PrivateLogisticRegression(feature_norm=1.0).fit(*data)
    assert caught[0].filename == __file__


# display


def test_notebooks_show_the_guarantee_and_escape_everything(make, data):
    bad = "<script>alert(1)</script>"
    X, y = data
    model = make(classes=("<i7>", "j"), epsilon=1.0)
    assert "not fitted" in model._repr_html_()
    fitted = model.fit(X, np.array(["<i7>", "j"])[y])
    html = fitted._repr_html_()
    assert "ApproxDP(epsilon=1.0, delta=1e-06, adjacency=REPLACE_ONE)" in html and "this fit only" in html
    assert "<i7>" not in html and "&lt;i7&gt;" in html
    assert bad not in make(adjacency=bad)._repr_html_() and "alert(1)" in make(adjacency=bad)._repr_html_()
    bundle = fitted._repr_mimebundle_()
    assert bundle["text/html"] == fitted._repr_html_() or "this fit only" in bundle["text/html"]
    assert bundle["text/plain"] == repr(fitted)


def test_a_seeded_model_is_shown_as_not_private(make, data):
    with pytest.warns(NotPrivateWarning):
        model = make(random_state=0).fit(*data)
    html = model._repr_html_()
    assert "NOT PRIVATE" in html and "ApproxDP" not in html


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


def test_a_fit_without_surprises_is_silent(make, data):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = make().fit(*data)
        model.predict(data[0])
    assert caught == []


def test_the_profile_is_that_of_the_event(make, data):
    model = make(delta=1e-5).fit(*data)
    assert model.profile_.delta(0.5) == account(model.plan_.event, "replace_one").delta(0.5)
