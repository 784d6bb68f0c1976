# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Intervals hold as often as they say, over the noise (T5, T6, T7); where its effect is not known there are none."""

import numpy as np
import pytest
from families import FAMILIES
from sklearn.pipeline import make_pipeline

from dperm import ParameterError
from dperm.data.bounded import enforce
from dperm.data.space import FeatureSpace
from dperm.data.targets import Classes
from dperm.erm.minimize import minimize
from dperm.errors import AssumptionError, NotPrivateWarning
from dperm.methods import OutputPerturbation
from dperm.sklearn import (
    PrivateLinearRegression,
    PrivateLogisticRegression,
    PrivateTableClassifier,
    PrivateTableEncoder,
    PrivateTableRegressor,
)
from dperm.sklearn.intervals import half_widths, laplace_combination_bound
from dperm.sklearn.units import Units

SPACES = {
    "norm": FeatureSpace(3, norm=2.0),
    "bounds": FeatureSpace(3, bounds=((-1.0, 3.0), (0.0, 0.5), (-7.0, 7.0))),
    "symmetric bounds": FeatureSpace(3, bounds=((-1.0, 1.0), (-2.0, 2.0), (-7.0, 7.0)), norm=1.0),
    "no intercept": FeatureSpace(3, norm=2.0, intercept=False),
    "no intercept but centers": FeatureSpace(3, bounds=((-1.0, 3.0), (0.0, 0.5), (-7.0, 7.0)), intercept=False),
}
LAWS = ("gaussian", "gamma norm", "laplace")


def drawn(law: str, scale: float, dim: int, count: int) -> np.ndarray:
    """Noise of the law, from numpy."""
    rng = np.random.default_rng(5)
    if law == "laplace":
        return rng.laplace(scale=scale, size=(count, dim))
    directions = rng.normal(size=(count, dim))
    if law == "gaussian":
        return scale * directions
    lengths = rng.gamma(dim, scale, size=(count, 1))
    return lengths * directions / np.linalg.norm(directions, axis=1, keepdims=True)


@pytest.mark.parametrize("name", SPACES)
def test_units_are_those_of_the_space(name):
    space, units = SPACES[name], Units.of(SPACES[name])
    theta = np.random.default_rng(2).normal(size=space.size)
    coef, intercept = space.coefficients(theta)
    assert coef == pytest.approx(units.scales * theta[:3])
    assert intercept == pytest.approx(units.combination @ theta if units.intercept else 0.0)
    assert units.intercept is (name != "no intercept")


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("name", SPACES)
def test_the_bound_is_exceeded_as_rarely_as_it_says_and_not_more_rarely(name, law):
    space, units, probability, count = SPACES[name], Units.of(SPACES[name]), 0.1, 100_000
    noise = drawn(law, 0.7, space.size, count)
    moved = noise[:, :3] * units.scales
    if units.intercept:
        moved = np.column_stack([moved, noise @ units.combination])
    widths = half_widths(units, {"mechanism": law, "noise_scale": 0.7, "dim": space.size}, probability)
    share = (np.abs(moved) > widths).mean(axis=0)
    slack = 5 * np.sqrt(probability / count)
    assert (share < probability + slack).all()
    exact = share if law != "laplace" else share[:3]  # Chernoff leaves room for combinations of Laplace noises
    assert (exact > probability - slack).all()
    assert (share > probability / 20).all()


def test_the_bound_for_sums_of_laplace_noises_holds_and_is_not_wild():
    scales = np.array([1.0, 0.5, 0.25])
    noise = np.random.default_rng(0).laplace(size=(400_000, 3)) @ scales
    for probability in (0.2, 0.01):
        bound = laplace_combination_bound(scales, probability)
        exact = np.quantile(np.abs(noise), 1 - probability)
        assert exact <= bound <= 2.5 * exact


def without_noise(plan, X: np.ndarray, y: np.ndarray, space: FeatureSpace) -> np.ndarray:
    """The minimiser that a plan adds its noise to, in the units of the user."""
    theta = minimize(enforce(X, y, space, Classes((0, 1))), plan.spec, plan.tolerance)
    return np.append(*space.coefficients(theta))


@pytest.mark.parametrize("noise", ["gaussian", "gamma_norm", "laplace"])
def test_intervals_of_fits_cover_the_coefficients_without_noise(data, noise):
    X, y = data[0] + 1.0, data[1]
    bounds = ((-1.0, 3.0), (0.0, 2.0), (-2.0, 5.0))
    settings = {"epsilon": 2.0, "method": OutputPerturbation(noise=noise), "classes": (0, 1), "bounds": bounds}
    plan = PrivateLogisticRegression(**settings).plan(n=2000, dim=3)
    truth = without_noise(plan, X, y, FeatureSpace(3, bounds=bounds))
    runs, level, inside = 60, 0.8, []
    with pytest.warns(NotPrivateWarning):
        for seed in range(runs):
            low, high = PrivateLogisticRegression(random_state=seed, **settings).fit(X, y).noise_interval(level)
            inside.append((low <= truth) & (truth <= high))
    share, slack = np.mean(inside, axis=0), 4 * np.sqrt(level * (1 - level) / runs)
    assert share.shape == (4,)
    assert (share > level - slack).all()
    assert (share[:3] < level + slack).all()


def test_without_its_noise_a_fit_is_that_of_epsilon_inf_with_the_same_c_and_clip(data):
    X, y = data
    public = {"classes": (0, 1), "bounds": (-0.3, 0.3)}
    plan = PrivateLogisticRegression(method="output", **public).plan(n=2000, dim=3)
    with pytest.warns(NotPrivateWarning):
        exact = PrivateLogisticRegression(epsilon=np.inf, C=1 / plan.spec.strength, clip=0.5, **public).fit(X, y)
        whole = PrivateLogisticRegression(epsilon=np.inf, C=1 / plan.spec.strength, **public).fit(X, y)
    expected = without_noise(plan, X, y, FeatureSpace(3, bounds=((-0.3, 0.3),) * 3))
    assert np.append(exact.coef_, exact.intercept_) == pytest.approx(expected, abs=1e-4)
    assert np.abs(np.append(whole.coef_, whole.intercept_) - expected).max() > 0.01  # its clip is another


def test_a_higher_level_gives_a_wider_interval_around_the_estimate(data):
    model = PrivateLogisticRegression(method="output", feature_norm=1.0, classes=(0, 1)).fit(*data)
    (low, high), (lower, higher) = model.noise_interval(0.5), model.noise_interval(0.99)
    assert (lower < low).all() and (high < higher).all()
    assert (low + high) / 2 == pytest.approx(np.append(model.coef_, model.intercept_))


def test_without_an_intercept_there_is_an_interval_for_each_column(data):
    model = PrivateLogisticRegression(method="output", feature_norm=1.0, classes=(0, 1), fit_intercept=False).fit(*data)
    assert model.noise_interval()[0].shape == (3,)


REASONS = {
    "objective": "noise to the objective",
    "gradient": "noise in every step",
    "sgd": "noise in every step",
    "posterior": "draws the coefficients",
    "sufficient": "sums of products",
}


@pytest.mark.filterwarnings("ignore:the noise :dperm.errors.DpermWarning")
@pytest.mark.parametrize(("method", "reason"), REASONS.items())
def test_no_interval_is_given_where_the_effect_of_the_noise_depends_on_the_data(method, reason):
    family = FAMILIES["linear"]
    with pytest.raises(AssumptionError, match=rf"not known for method='{method}': .*{reason}.*method=\"output\""):
        family.make(method=method).fit(*family.data).noise_interval()


def test_the_noise_of_a_stopped_descent_is_on_the_coefficients(smooth):
    model = smooth.make(method="bolt_on", bounds=(-2, 2), epsilon=4.0).fit(*smooth.data)
    low, high = model.noise_interval(0.9)
    scale = 1.0 if smooth.is_classifier else 40.0
    widths = half_widths(
        Units.of(FeatureSpace(3, bounds=((-2, 2),) * 3), scale), model.plan_.output_noise.facts.public, 0.1
    )
    assert (high - low) / 2 == pytest.approx(np.broadcast_to(widths, low.shape))


def test_no_interval_is_given_without_noise(make, data):
    with pytest.warns(NotPrivateWarning):
        model = make(epsilon=np.inf).fit(*data)
    with pytest.raises(AssumptionError, match="adds no noise"):
        model.noise_interval()


def test_the_remedy_for_a_loss_with_a_kink_is_a_fit_with_intervals():
    family = FAMILIES["quantile"]
    with pytest.raises(AssumptionError, match=r'PrivateHuberRegressor with method="output" has intervals'):
        family.make(method="gradient").fit(*family.data).noise_interval()
    family = FAMILIES["svc"]
    with pytest.raises(AssumptionError, match=r'loss="huber_hinge" and method="output"'):
        family.make(method="gradient", loss="hinge").fit(*family.data).noise_interval()
    family.make(method="output", loss="huber_hinge").fit(*family.data).noise_interval()


@pytest.mark.filterwarnings("ignore:.*records are too few", "ignore:the noise :dperm.errors.DpermWarning")
@pytest.mark.parametrize("table_model", [PrivateTableClassifier, PrivateTableRegressor])
def test_the_remedy_for_a_model_of_a_raw_table_is_a_pipeline_with_intervals(data, table_model):
    kind = PrivateLogisticRegression if table_model is PrivateTableClassifier else PrivateLinearRegression
    table, y = {"a": data[0][:, 0], "b": data[0][:, 1]}, data[1]
    options = {"classes": (0, 1)} if table_model is PrivateTableClassifier else {"label_range": (0, 1)}
    model = table_model(epsilon=20.0, **options).fit(table, y)
    for refused in (model, model.model_):
        with pytest.raises(
            AssumptionError, match=rf"pipeline of PrivateTableEncoder and {kind.__name__} with method=\"output\""
        ):
            refused.noise_interval()
    last = kind(feature_norm="auto", method="output", **options)
    last = make_pipeline(PrivateTableEncoder(epsilon=20.0), last).fit(table, y)[-1]
    low, high = last.noise_interval()
    estimate = np.append(last.coef_, last.intercept_)
    assert (low < estimate).all() and (estimate < high).all()


@pytest.mark.parametrize("level", [0, 1, 95, "high", None])
def test_a_level_is_a_probability(make, data, level):
    with pytest.raises(ParameterError, match="level must be"):
        make(method="output").fit(*data).noise_interval(level)


def test_the_interval_of_a_model_from_a_file_is_the_same(smooth, tmp_path):
    model = smooth.make(method="output", bounds=(-3, 1)).fit(*smooth.data)
    model.save(tmp_path / "model")
    low, high = type(model).load(tmp_path / "model").noise_interval(0.9)
    assert (low == model.noise_interval(0.9)[0]).all() and (high == model.noise_interval(0.9)[1]).all()
