# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""scikit-learn's own checks: no failure, and none that is expected to fail."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from dperm.data import Numeric
from dperm.sklearn import (
    PrivateAdditiveClassifier,
    PrivateAdditiveRegressor,
    PrivateHuberRegressor,
    PrivateLinearRegression,
    PrivateLinearSVC,
    PrivateLogisticRegression,
    PrivateQuantileRegressor,
)

ESTIMATORS = (
    PrivateLogisticRegression(method="objective"),  # quicker for several classes than what "auto" chooses
    PrivateLinearSVC(),
    PrivateLinearRegression(),
    PrivateHuberRegressor(),
    PrivateQuantileRegressor(),
    PrivateAdditiveClassifier(terms=Numeric(-10, 10)),  # one declaration for all columns of an array
    PrivateAdditiveRegressor(terms=Numeric(-10, 10)),
)
CHECKS = parametrize_with_checks(ESTIMATORS)
NAMES, CASES = CHECKS.args


# They seed, declare nothing about y, and fit a handful of rows: each is a warning of ours, as it should be.
@pytest.mark.filterwarnings("ignore::dperm.errors.DpermWarning")
@pytest.mark.parametrize(NAMES, list(CASES), **CHECKS.kwargs)  # older versions give a generator, which pytest refuses
def test_scikit_learn_finds_nothing_to_complain_about(estimator, check):
    check(estimator)
