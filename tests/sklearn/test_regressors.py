# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""The private linear regressions: labels within a public range, coefficients in the units of X and y (T44, T53)."""

from decimal import Decimal

import numpy as np
import pytest
from families import FAMILIES
from scipy.optimize import minimize
from sklearn.base import clone
from sklearn.linear_model import HuberRegressor, LinearRegression, QuantileRegressor
from sklearn.utils import get_tags

from dperm import ApproxDP
from dperm.erm.residual_losses import Huber, Pinball, Squared
from dperm.erm.spec import ProblemSpec
from dperm.errors import AssumptionError, DpermWarning, NotPrivateWarning, ParameterError
from dperm.methods.defaults import default_clip
from dperm.sklearn import PrivateHuberRegressor, PrivateLinearRegression, PrivateQuantileRegressor, load_model

X, Y = FAMILIES["linear"].data
RANGE = (-20.0, 60.0)  # half of its width is 40, its middle is 20
LINEAR, HUBER, QUANTILE = (FAMILIES[name] for name in ("linear", "huber", "quantile"))


def seeded(family, columns, labels, **parameters):
    with pytest.warns(NotPrivateWarning):
        return family.make(random_state=5, **parameters).fit(columns, labels)


def bounded_rows(norm: float) -> np.ndarray:
    """The rows as they are learnt from, with their constant."""
    scaled = X * np.minimum(1.0, norm / np.linalg.norm(X, axis=1))[:, np.newaxis]
    return np.column_stack([scaled, np.full(len(X), norm / 4)])


@pytest.mark.parametrize("adjacency", ["replace_one", "add_remove"])
def test_coefficients_have_the_shapes_of_scikit_learn_and_the_units_of_y(regression, adjacency):
    model = regression.make(epsilon=20.0, feature_norm=2.0, adjacency=adjacency, n=2000).fit(X, Y)
    assert model.guarantee_ == ApproxDP(20.0, 1e-6, adjacency)
    assert model.coef_.shape == (3,) and type(model.intercept_) is float
    assert model.coef_ == pytest.approx([20.0, -10.0, 5.0], abs=3.0)
    assert model.intercept_ == pytest.approx(23.0, abs=3.0)
    assert model.predict(X) == pytest.approx(X @ model.coef_ + model.intercept_)
    assert model.score(X, Y) > 0.85


def test_predictions_are_clipped_to_the_label_range_on_request(regression, tmp_path):
    model = seeded(regression, X, Y, epsilon=20.0, feature_norm=2.0, clip_predictions=True)
    plain = seeded(regression, X, Y, epsilon=20.0, feature_norm=2.0)
    rows = np.vstack([1000 * X, X])
    unclipped = plain.predict(rows)
    assert unclipped.min() < RANGE[0] and unclipped.max() > RANGE[1]
    assert model.predict(rows).tolist() == np.clip(unclipped, *RANGE).tolist()
    model.save(tmp_path / "model")
    assert load_model(tmp_path / "model").predict(rows).tolist() == model.predict(rows).tolist()
    with pytest.raises(ParameterError, match="clip_predictions must be True or False"):
        clone(model).set_params(clip_predictions="yes").fit(X, Y)


def test_a_regression_has_no_classes(regression):
    model = regression.make().fit(X, Y)
    assert not any(hasattr(model, name) for name in ("classes_", "decision_function", "predict_proba", "class_weight"))
    assert get_tags(model).regressor_tags.poor_score and get_tags(model).estimator_type == "regressor"
    public = model.statement_["public_quantities"]
    assert public["label_range"] == list(RANGE) and "classes" not in public
    assert "the range of the target, to which its values were clipped" in public["assumptions"]


def test_without_a_range_labels_are_clipped_to_the_unit_interval_with_a_warning_at_every_fit(regression):
    plain, declared = regression.make(label_range=None), regression.make(label_range=(-1, 1))
    assert plain.plan(n=2000, dim=3) == declared.plan(n=2000, dim=3)
    for _ in range(2):
        with pytest.warns(DpermWarning, match=r"label_range was not given.*not be taken from the data") as caught:
            plain.fit(X, Y / 60)
        assert [warning.filename for warning in caught] == [__file__]
    assert plain.statement_["public_quantities"]["label_range"] == [-1.0, 1.0]


def test_labels_outside_the_range_are_clipped_to_it(regression):
    narrow = {"label_range": (10.0, 30.0)}
    assert ((Y < 10) | (Y > 30)).mean() > 0.2
    clipped, found = seeded(regression, X, np.clip(Y, 10, 30), **narrow), seeded(regression, X, Y, **narrow)
    assert (found.coef_ == clipped.coef_).all() and found.intercept_ == clipped.intercept_


def test_one_wild_label_is_no_more_than_a_label_at_the_end(regression):
    wild, end = Y.copy(), Y.copy()
    wild[7], end[7] = 1e300, 60.0
    assert (seeded(regression, X, wild).coef_ == seeded(regression, X, end).coef_).all()


def test_units_of_y_change_nothing_but_the_units_of_the_coefficients(regression):
    kappa = {"kappa": 3.0} if regression is HUBER else {}
    kappas = {"kappa": 48.0} if regression is HUBER else {}
    first = seeded(regression, X, Y, bounds=(-2, 2), **kappa)
    second = seeded(regression, X, 16 * Y, bounds=(-2, 2), label_range=(-320, 960), **kappas)
    assert (second.coef_ == 16 * first.coef_).all() and second.intercept_ == 16 * first.intercept_
    third = seeded(regression, X, 1000 - Y / 2, bounds=(-2, 2), label_range=(970, 1010), **_halved(kappa))
    mirrored = seeded(regression, X, 20 - (Y - 20), bounds=(-2, 2), **kappa)
    assert third.coef_ == pytest.approx(mirrored.coef_ / 2, rel=1e-6)
    assert third.predict(X) == pytest.approx(990 + (mirrored.predict(X) - 20) / 2, rel=1e-6)


def _halved(parameters: dict[str, float]) -> dict[str, float]:
    return {name: value / 2 for name, value in parameters.items()}


def test_units_of_x_change_nothing_but_the_units_of_the_coefficients(regression):
    first = seeded(regression, X, Y, bounds=(-2, 2))
    second = seeded(regression, 8 * X, Y, bounds=(-16, 16))
    assert (8 * second.coef_ == first.coef_).all() and second.intercept_ == first.intercept_
    third = seeded(regression, 100 + 10 * X, Y, bounds=(80, 120))
    assert third.predict(100 + 10 * X) == pytest.approx(first.predict(X), rel=1e-6)


# losses


def test_kappa_is_in_the_units_of_y():
    def loss(**parameters):
        return PrivateHuberRegressor(feature_norm=1.0, **parameters).plan(n=10_000, dim=3).spec.loss

    assert loss(label_range=RANGE, kappa=10.0) == Huber(0.25)
    assert loss(label_range=RANGE) == loss(label_range=RANGE, kappa=20.0) == Huber(0.5)
    assert loss(kappa=0.25) == Huber(0.25)


def test_the_losses_are_those_of_their_names():
    assert LINEAR.make().plan(n=10_000, dim=3).spec.loss == Squared()
    assert QUANTILE.make(quantile=0.9).plan(n=10_000, dim=3).spec.loss == Pinball(0.9)


def test_clip_is_a_share_of_half_the_range_or_of_the_longest_gradient():
    def spec(family, **parameters):
        return family.make(method="gradient", **parameters).plan(n=10_000, dim=3).spec

    radius = spec(LINEAR).radius
    assert spec(LINEAR, clip=0.25).clip == 0.25 * radius
    assert spec(LINEAR).clip == default_clip(ProblemSpec(Squared(), radius, 4))
    assert spec(HUBER, kappa=10.0, clip=0.5).clip == pytest.approx(0.5 * radius * 0.25)
    assert spec(QUANTILE, quantile=0.9, clip=0.5).clip == pytest.approx(0.5 * radius * 0.9)
    assert spec(HUBER).lipschitz == spec(HUBER, clip=1.0).lipschitz


@pytest.mark.filterwarnings("ignore:the noise :dperm.errors.DpermWarning")
def test_noise_is_proportional_to_the_clip():
    half, whole = (LINEAR.make(method="output", C=0.1, clip=clip).plan(n=10_000, dim=3) for clip in (0.5, 1.0))
    assert whole.output_noise.scale == pytest.approx(2 * half.output_noise.scale, rel=1e-3)


def test_a_clipped_mean_is_said_to_be_none():
    limits = " ".join(LINEAR.make().fit(X, Y).statement_["limits"])
    assert "do not estimate conditional means where residuals are large" in limits
    assert LINEAR.make(clip=0.75).fit(X, Y).statement_["mechanism"]["clip_share"] == 0.75
    assert "no means" not in " ".join(HUBER.make().fit(X, Y).statement_["limits"])


@pytest.mark.parametrize("q", [0.2, 0.5, 0.8])
def test_a_quantile_has_its_share_of_the_labels_below(q):
    model = QUANTILE.make(epsilon=50.0, feature_norm=2.0, quantile=q).fit(X, Y)
    assert (model.predict(X) > Y).mean() == pytest.approx(q, abs=0.04)


def test_outliers_do_not_move_a_huber_regression_far():
    wild = np.where(np.arange(2000) % 10 == 0, 60.0, Y)
    plain = LinearRegression().fit(X, wild).predict(X).mean()
    robust = HUBER.make(epsilon=50.0, feature_norm=2.0, kappa=2.0).fit(X, wild).predict(X).mean()
    assert abs(robust - np.mean(Y)) < 1.0 < plain - np.mean(Y) - 1.0


@pytest.mark.parametrize("method", ["objective", "output"])
def test_a_kink_is_refused_where_it_is_not_proved(method):
    with pytest.raises(AssumptionError, match="kink"):
        QUANTILE.make(method=method).fit(X, Y)


def test_epsilon_inf_refuses_a_kink():
    with pytest.raises(AssumptionError, match=r"kink.*use QuantileRegressor of scikit-learn"):
        QUANTILE.make(epsilon=np.inf).fit(X, Y)


# epsilon = inf


def residual_loss(z: np.ndarray, ends: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """z^2/2 up to |z| = its end, then linear."""
    inner = np.minimum(np.abs(z), ends)
    return inner * (np.abs(z) - inner / 2), np.clip(z, -ends, ends)


@pytest.mark.parametrize("C", [None, 0.1, 1e6])
def test_epsilon_inf_is_least_squares_of_the_bounded_data(C):
    with pytest.warns(NotPrivateWarning):
        model = LINEAR.make(epsilon=np.inf, C=C, feature_norm=1.2).fit(X, Y)
    rows, strength = bounded_rows(1.2), 1.0 if C is None else 1 / C
    theta = np.linalg.solve(rows.T @ rows + strength * np.eye(4), rows.T @ ((np.clip(Y, *RANGE) - 20) / 40))
    assert model.coef_ == pytest.approx(40 * theta[:3], rel=1e-6)
    assert model.intercept_ == pytest.approx(20 + 40 * 0.3 * theta[3], rel=1e-6)
    assert model.statement_["mechanism"] == "none"


CLIPPED = [(LINEAR, {"clip": 0.1}, None), (HUBER, {"kappa": 4.0}, 0.1), (HUBER, {"kappa": 8.0, "clip": 0.5}, None)]


@pytest.mark.parametrize(("family", "parameters", "kappa"), CLIPPED, ids=["squared, clip", "kappa", "kappa, clip"])
def test_epsilon_inf_honours_kappa_and_clip(family, parameters, kappa):
    """A clip limits |f'| ||x||, so short rows have more room (T44)."""
    with pytest.warns(NotPrivateWarning):
        model = family.make(epsilon=np.inf, C=10.0, feature_norm=1.2, **parameters).fit(X, Y)
    rows, targets = bounded_rows(1.2), (np.clip(Y, *RANGE) - 20) / 40
    by_row = 0.1 * np.hypot(1.2, 0.3) / np.linalg.norm(rows, axis=1)
    ends = np.full(2000, kappa) if kappa else np.minimum(by_row, 0.2 if family is HUBER else np.inf)

    def objective(theta):
        values, slopes = residual_loss(rows @ theta - targets, ends)
        return values.sum() + theta @ theta / 20, rows.T @ slopes + theta / 10

    best = minimize(objective, np.zeros(4), jac=True, method="L-BFGS-B", options={"gtol": 1e-13, "ftol": 1e-18})
    assert np.linalg.norm(objective(best.x)[1]) < 1e-6
    assert model.coef_ == pytest.approx(40 * best.x[:3], abs=1e-3)
    assert model.intercept_ == pytest.approx(20 + 12 * best.x[3], abs=1e-3)


@pytest.mark.parametrize(("clip", "prediction"), [(None, 90.0), (1.0, 50 + 50 * 8 / 9)])
def test_without_noise_and_without_a_clip_the_mean_is_predicted(clip, prediction):
    """9 of 10 labels are 1, the others -1: 0.9 (1 - p) = 0.1 min(1 + p, clip) at the optimum (T44)."""
    columns, labels = np.ones((1000, 1)), np.where(np.arange(1000) % 10, 100.0, 0.0)
    with pytest.warns(NotPrivateWarning):
        model = PrivateLinearRegression(
            epsilon=np.inf, C=1e6, clip=clip, feature_norm=1.0, label_range=(0, 100), fit_intercept=False
        ).fit(columns, labels)
    assert model.predict([[1.0]]) == pytest.approx([prediction], rel=1e-6)


def test_a_single_label_far_out_is_fitted_without_noise_and_without_a_clip():
    with pytest.warns(NotPrivateWarning):
        model = PrivateLinearRegression(
            epsilon=np.inf, C=1e12, bounds=(-1, 1), label_range=(0, 100), fit_intercept=False
        ).fit(np.array([[1e-6]]), [100.0])
    assert model.predict([[1e-6]]) == pytest.approx([50 + 50 * 1 / (1 + 1)], rel=1e-3)  # x^2 = Lambda: half the way


# intervals, exports


@pytest.mark.filterwarnings("ignore:the noise :dperm.errors.DpermWarning")
def test_intervals_are_in_the_units_of_y_and_cover_the_coefficients_without_noise():
    public = {"bounds": ((-2.0, 2.0), (-1.0, 3.0), (-2.0, 2.0)), "C": 0.1, "clip": 0.5}
    with pytest.warns(NotPrivateWarning):
        exact = LINEAR.make(epsilon=np.inf, **public).fit(X, Y)
        fits = [LINEAR.make(epsilon=4.0, method="output", random_state=seed, **public).fit(X, Y) for seed in range(60)]
    truth, level = np.append(exact.coef_, exact.intercept_), 0.8
    inside = [(low <= truth) & (truth <= high) for low, high in (model.noise_interval(level) for model in fits)]
    share, slack = np.mean(inside, axis=0), 4 * np.sqrt(level * (1 - level) / 60)
    assert share.shape == (4,)
    assert (np.abs(share - level) < slack).all()


def test_intervals_scale_with_the_range():
    widths = []
    for factor in (1, 16):
        ends = (-20 * factor, 60 * factor)
        low, high = seeded(LINEAR, X, factor * Y, method="output", label_range=ends).noise_interval()
        widths.append(high - low)
    assert widths[1] == pytest.approx(16 * widths[0])


PLAIN = {
    "linear": (PrivateLinearRegression, LinearRegression),
    "huber": (PrivateHuberRegressor, HuberRegressor),
    "quantile": (PrivateQuantileRegressor, QuantileRegressor),
}


@pytest.mark.parametrize("name", PLAIN)
def test_to_sklearn_is_the_estimator_of_the_same_name(name):
    estimator, plain = PLAIN[name]
    model = estimator(label_range=RANGE, feature_norm=1.0).fit(X, Y)
    exported = model.to_sklearn()
    assert type(exported) is plain
    assert exported.coef_.shape == (3,) and exported.intercept_ == model.intercept_


def test_decimals_are_numbers(regression):
    decimals = [Decimal(repr(float(label))) for label in Y]
    assert (seeded(regression, X, decimals).coef_ == seeded(regression, X, Y).coef_).all()
