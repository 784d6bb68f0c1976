# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""At the corners of the permitted ranges a release is finite, or refused before anything is charged."""

import warnings
from collections import Counter

import numpy as np
import pytest
from corners import CountingBudget, mechanism_corner, model_corner

from dperm import PureDP
from dperm.errors import AssumptionError, ParameterError
from dperm.mechanisms.randomized_response import RandomizedResponseMechanism
from dperm.methods import SampledGradient
from dperm.sklearn import (
    PrivateHuberRegressor,
    PrivateLinearRegression,
    PrivateLinearSVC,
    PrivateLogisticRegression,
    PrivateQuantileRegressor,
)

X = np.linspace(-1, 1, 20).reshape(10, 2)
SIGNS, NUMBERS = np.arange(10) % 2, np.linspace(0, 1, 10)

# Each of them released NaN, or raised after the charge or with a bare OverflowError, in 0.8.0.
EXTREME = [
    (PrivateQuantileRegressor(C=1e-30, feature_norm=1e-100, label_range=(0, 1e-99)), "steps could overflow"),
    (
        PrivateLinearSVC(loss="hinge", C=1e-30, feature_norm=1e-99, classes=(0, 1), adjacency="add_remove", n=1),
        "steps could overflow",
    ),
    (
        PrivateHuberRegressor(method="output", C=1e-30, feature_norm=1e100, label_range=(-5e97, 5e97), epsilon=1e-10),
        "too extreme together",
    ),
    (
        PrivateLinearRegression(
            method="output", feature_norm=1e99, label_range=(-5e97, 5e97), delta=0.0, epsilon=500.0
        ),
        "label_range and the noise of the plan are too extreme",
    ),
    (
        PrivateLogisticRegression(
            method=SampledGradient(steps=5, rate=0.5), epsilon=8.0, clip=4e-15, feature_norm=1.0, classes=(0, 1)
        ),
        "numerical error of the sums",
    ),
]


@pytest.mark.filterwarnings("ignore:the noise :dperm.errors.DpermWarning")
@pytest.mark.parametrize(("model", "words"), EXTREME, ids=lambda part: type(part).__name__)
def test_arguments_that_are_too_extreme_together_are_refused_before_the_charge(model, words):
    budget = CountingBudget()
    y = SIGNS if hasattr(model, "classes") else NUMBERS
    with pytest.raises((ParameterError, AssumptionError), match=words):
        model.set_params(ledger=budget).fit(X, y)
    assert budget.charges == 0


def test_a_descent_with_next_to_no_noise_has_a_horizon():
    """Version 0.8 divided by a Lambda of 0; `dperm.methods.defaults.least_strength` is above it."""
    tiny = {"clip": 1e-100, "feature_norm": 1e-100, "label_range": (-1, 1), "adjacency": "add_remove", "n": 10**10}
    model = PrivateLinearRegression(method="gradient", epsilon=500.0, delta=1e-30, **tiny)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, NUMBERS)
    assert np.isfinite(model.coef_).all() and np.isfinite(model.predict(X)).all()


def test_a_very_large_number_of_categories_takes_no_memory():
    mechanism = RandomizedResponseMechanism(PureDP(1.0, "replace_one"), 2**31)
    answers = mechanism.release([0, 2**31 - 1]).value
    assert answers.shape == (2,) and (answers >= 0).all() and (answers < 2**31).all()


def search(corner, count, seed):
    """The outcomes of so many corners, counted; the first that is neither finite nor refused in time fails."""
    counts = Counter()
    for place in range(count):
        found = corner(np.random.default_rng([seed, place]))
        assert not found.problem, f"corner {place} of seed {seed}: {found.corner}: {found.problem}"
        counts["refused" if found.refused else "finite"] += 1
    print(f"{corner.__name__}: {dict(counts)} of {count} corners, seed {seed}")
    assert min(counts["refused"], counts["finite"]) > count / 10  # the search sees both
    return counts


@pytest.mark.parametrize(("corner", "count"), [(model_corner, 100), (mechanism_corner, 300)])
def test_random_corners(corner, count):
    search(corner, count, 0)


@pytest.mark.slow
@pytest.mark.parametrize(("corner", "count"), [(model_corner, 5000), (mechanism_corner, 5000)])
def test_many_random_corners(corner, count):
    search(corner, count, 7)
