# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Differentially private estimators with the interface of scikit-learn."""

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
