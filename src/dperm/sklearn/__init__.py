# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Differentially private estimators with the interface of scikit-learn."""

from importlib import import_module
from typing import TYPE_CHECKING

from dperm.sklearn.additive import PrivateAdditiveClassifier, PrivateAdditiveRegressor
from dperm.sklearn.classifiers import PrivateLinearSVC, PrivateLogisticRegression
from dperm.sklearn.encoder import PublicTableEncoder
from dperm.sklearn.files import load_model, save_model
from dperm.sklearn.regressors import PrivateHuberRegressor, PrivateLinearRegression, PrivateQuantileRegressor

if TYPE_CHECKING:
    from dperm.sklearn.metrics import PrivateMetrics
    from dperm.sklearn.pca import PrivatePCA
    from dperm.sklearn.pipeline import PrivatePipeline
    from dperm.sklearn.preparation import PrivateTableEncoder
    from dperm.sklearn.scaling import PrivateBounds, PrivateScaler
    from dperm.sklearn.search import PrivateSearch
    from dperm.sklearn.table_models import PrivateTableClassifier, PrivateTableRegressor

_ON_FIRST_USE = {
    "PrivateBounds": "dperm.sklearn.scaling",
    "PrivateMetrics": "dperm.sklearn.metrics",
    "PrivatePCA": "dperm.sklearn.pca",
    "PrivatePipeline": "dperm.sklearn.pipeline",
    "PrivateScaler": "dperm.sklearn.scaling",
    "PrivateSearch": "dperm.sklearn.search",
    "PrivateTableClassifier": "dperm.sklearn.table_models",
    "PrivateTableEncoder": "dperm.sklearn.preparation",
    "PrivateTableRegressor": "dperm.sklearn.table_models",
}
"""Classes that import the noise and with it the ``cryptography`` package, which loading and predicting do without."""

__all__ = [
    "PrivateAdditiveClassifier",
    "PrivateAdditiveRegressor",
    "PrivateBounds",
    "PrivateHuberRegressor",
    "PrivateLinearRegression",
    "PrivateLinearSVC",
    "PrivateLogisticRegression",
    "PrivateMetrics",
    "PrivatePCA",
    "PrivatePipeline",
    "PrivateQuantileRegressor",
    "PrivateScaler",
    "PrivateSearch",
    "PrivateTableClassifier",
    "PrivateTableEncoder",
    "PrivateTableRegressor",
    "PublicTableEncoder",
    "load_model",
    "save_model",
]


def __getattr__(name: str) -> object:
    """Import a class of `_ON_FIRST_USE`."""
    if name not in _ON_FIRST_USE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_ON_FIRST_USE[name]), name)
