# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Estimators that behave as scikit-learn's and learn with a guarantee."""

from dperm.sklearn.classifiers import PrivateLinearSVC, PrivateLogisticRegression
from dperm.sklearn.encoder import PublicTableEncoder
from dperm.sklearn.files import load_model
from dperm.sklearn.regressors import PrivateHuberRegressor, PrivateLinearRegression, PrivateQuantileRegressor

__all__ = [
    "PrivateHuberRegressor",
    "PrivateLinearRegression",
    "PrivateLinearSVC",
    "PrivateLogisticRegression",
    "PrivateQuantileRegressor",
    "PublicTableEncoder",
    "load_model",
]
