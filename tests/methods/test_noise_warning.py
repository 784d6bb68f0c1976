# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""The warning that noise outweighs the records: on tables where a model is good, and on others where it is useless.

Tables and noise follow from seeds. benchmarks/noise_warning.py measures error rates over random shapes.
"""

import warnings

import numpy as np
import pytest

from dperm import ApproxDP
from dperm.erm.losses import Logistic
from dperm.erm.residual_losses import Squared
from dperm.erm.spec import ProblemSpec
from dperm.errors import DpermWarning
from dperm.methods import choose
from dperm.methods.noise_warning import effective_directions, least_label_deviation, noise_ratio
from dperm.sklearn import PrivateLinearRegression, PrivateLogisticRegression


def spectrum(rows: int, columns: int, decay: float):
    """Normal rows of about norm 1 whose j-th column has variance j^-decay, and a score of deviation 1."""
    generator, deviation = np.random.default_rng(1), np.arange(1, columns + 1) ** (-decay / 2)
    X = generator.standard_normal((rows, columns)) * deviation
    score = X @ generator.standard_normal(columns)
    return X / np.linalg.norm(deviation), (score - score.mean()) / score.std(), generator


def visits(rows: int):
    """Nine bounded columns and a count with a long tail: mean 2.9, deviation 4.4, at most 77; R^2 of .08 at best."""
    generator = np.random.default_rng(1)
    shares = (0.5, 0.26, 0.6, 0.4, 0.12, 0.2, 0.36, 0.08, 0.015)
    X = np.column_stack([generator.beta(2 * share, 2 * (1 - share), rows) for share in shares])
    score = X @ np.array([-0.3, -0.2, 0.2, -0.2, 0.4, 1.8, 0.1, 0.3, 0.9])
    mean = 2.9 * np.exp(score - score.mean() - 0.1)
    return X, np.minimum(generator.negative_binomial(0.7, 0.7 / (0.7 + mean)), 77).astype(float)


def warning_of(model, n: int, dim: int) -> str:
    """The text of the warning of a plan; empty without one."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        model.plan(n=n, dim=dim)
    return " ".join(str(each.message) for each in told if "outweighs" in str(each.message))


def mean_score(model, X, y, n: int, fits: int = 3) -> float:
    """Test score, mean over seeded fits."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DpermWarning)
        fitted = (model.set_params(random_state=seed).fit(X[:n], y[:n]) for seed in range(fits))
        return float(np.mean([each.score(X[n:], y[n:]) for each in fitted]))


def test_no_warning_for_an_accuracy_of_84_percent():
    """Version 0.8 warned."""
    n = 2000
    X, score, generator = spectrum(n + 2000, 300, 4.0)
    y = (8 * score + generator.logistic(size=len(score)) > 0).astype(int)
    model = PrivateLogisticRegression(epsilon=0.11, feature_norm=1.0, classes=(0, 1))
    assert mean_score(model, X, y, n) > 0.82
    assert not warning_of(model, n, 300)


def test_noise_on_coefficients_that_makes_classes_a_guess_is_announced():
    """Version 0.8 was silent, whatever the method and C."""
    n = 1000
    X, score, generator = spectrum(n + 2000, 20, 0.0)
    y = (8 * score + generator.logistic(size=len(score)) > 0).astype(int)
    model = PrivateLogisticRegression(epsilon=1.0, feature_norm=1.0, classes=(0, 1), method="output", C=10.0)
    assert mean_score(model, X, y, n, fits=8) < 0.6
    assert "hardly better than a guess" in warning_of(model, n, 20)


@pytest.mark.parametrize("method", ["output", "bolt_on"])
def test_a_regression_that_is_worse_than_a_constant_is_announced(method):
    """Version 0.8 was silent."""
    n = 1500
    X, score, generator = spectrum(n + 2000, 30, 1.0)
    y = np.clip(0.5 + (0.9 * score + 0.4 * generator.standard_normal(len(score))) / 8, 0, 1)
    model = PrivateLinearRegression(epsilon=1.0, feature_norm=1.0, label_range=(0, 1), method=method)
    assert mean_score(model, X, y, n) < 0
    assert "hardly better than a constant" in warning_of(model, n, 30)


def test_gradient_perturbation_learns_where_it_was_worse_than_a_constant_without_a_warning():
    """Version 0.8 had an R^2 of -.2 to -.8."""
    n = 1000
    X, score, generator = spectrum(n + 2000, 30, 1.0)
    y = np.clip(0.5 + (0.9 * score + 0.4 * generator.standard_normal(len(score))) / 8, 0, 1)
    model = PrivateLinearRegression(epsilon=1.0, feature_norm=1.0, label_range=(0, 1), method="gradient")
    assert mean_score(model, X, y, n) > 0.5
    assert not warning_of(model, n, 30)


def test_sufficient_statistics_warn_about_skewed_labels():
    """15,000 records in the range (0, 80) of a count: "auto" learns, "sufficient" does not, and says so."""
    n, (X, y) = 15_000, visits(18_000)
    public = {"epsilon": 1.0, "bounds": [(0, 1)] * 9, "label_range": (0, 80)}
    auto, sufficient = PrivateLinearRegression(**public), PrivateLinearRegression(method="sufficient", **public)
    assert mean_score(auto, X, y, n) > 0.04
    assert mean_score(sufficient, X, y, n) < 0.02
    assert not warning_of(auto, n, 9)
    told = warning_of(sufficient, n, 9)
    assert 'method="sufficient" grows with label_range' in told and "below about 5 % of it" in told
    assert y.std() / 80 < 0.06


def test_the_noise_of_sufficient_statistics_counts_with_the_range_of_the_labels():
    """Its noise is that of labels as large as the range, objective perturbation's that of clipped residuals."""
    spec, goal = ProblemSpec(Squared(), radius=1.0, dim=5, n=100_000, clip=0.25), ApproxDP(1.0, 1e-6, "replace_one")
    sums, clipped = choose(spec, goal, "sufficient"), choose(spec, goal, "objective")
    assert noise_ratio(sums, spec, 100_000) > 4 * noise_ratio(clipped, spec, 100_000)
    assert least_label_deviation(sums, 100_000) == pytest.approx(10 * least_label_deviation(sums, 1_000_000))
    assert least_label_deviation(sums, 10) == 0.5


def test_more_columns_and_noise_raise_the_ratio():
    """D is the participation ratio of variances 1/j, here to within a quarter."""
    for columns in (10, 100, 1000, 100_000):
        variances = 1 / np.arange(1, columns + 1)
        assert effective_directions(columns) == pytest.approx(variances.sum() ** 2 / (variances**2).sum(), rel=0.25)
    spec = ProblemSpec(Logistic(), radius=1.0, dim=10, n=10_000, clip=0.5)
    plans = [choose(spec, ApproxDP(epsilon, 1e-6, "replace_one")) for epsilon in (0.5, 1.0)]
    assert noise_ratio(plans[0], spec, 10_000) > 1.5 * noise_ratio(plans[1], spec, 10_000)
