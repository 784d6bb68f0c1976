# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Estimators that behave as scikit-learn's and learn with a guarantee."""

from dperm.sklearn.classifiers import PrivateLinearSVC, PrivateLogisticRegression
from dperm.sklearn.encoder import PublicTableEncoder

__all__ = ["PrivateLinearSVC", "PrivateLogisticRegression", "PublicTableEncoder"]
