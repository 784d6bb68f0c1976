# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""What the private linear regressions have in common."""

from abc import ABC
from typing import Any, ClassVar

import numpy as np
from sklearn.base import RegressorMixin

from dperm.data.arrays import Floats
from dperm.sklearn import inputs, ranges
from dperm.sklearn.base import PrivateLinearModel
from dperm.sklearn.fit_result import FitResult
from dperm.sklearn.public_labels import PublicLabels


class PrivateLinearRegressor(RegressorMixin, PrivateLinearModel, ABC):
    """A linear regression, learnt with a guarantee; the final classes say with which loss."""

    most_classes: ClassVar[int] = 0
    label_range: Any

    def predict(self, X: Any) -> Floats:
        """The prediction for each row, in the units of y: the inner product with ``coef_`` plus ``intercept_``.

        Neither rows nor predictions are clipped.
        """
        return np.asarray(self._features(X) @ self.coef_ + self.intercept_, dtype=np.float64)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """R^2 of the predictions. **Not covered by the guarantee** where X and y are private."""
        return float(super().score(X, inputs.numbers_of(y), sample_weight))

    def __sklearn_tags__(self) -> Any:
        """Results may be poor."""
        tags = super().__sklearn_tags__()
        tags.regressor_tags.poor_score = True
        return tags

    def _planned_labels(self) -> PublicLabels:
        return ranges.public_range(self.label_range)

    def _labels_of(self, y: Any) -> tuple[PublicLabels, Any]:
        return self._planned_labels(), y

    def _warn_undeclared(self) -> None:
        ranges.warn_undeclared()

    def _set_learnt(self, fitted: FitResult) -> None:
        self.coef_, self.intercept_ = fitted.coef[0].copy(), float(fitted.intercept[0])
