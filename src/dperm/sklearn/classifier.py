# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""What the private linear classifiers have in common."""

from abc import ABC
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin

from dperm.data.arrays import Floats
from dperm.data.bounded import invalid_rows
from dperm.sklearn import classes as labels
from dperm.sklearn import inputs
from dperm.sklearn.base import PrivateLinearModel
from dperm.sklearn.fit_result import FitResult
from dperm.sklearn.public_labels import PublicLabels


class PrivateLinearClassifier(ClassifierMixin, PrivateLinearModel, ABC):
    """A linear classifier, learnt with a guarantee; the final classes say with which loss."""

    classes: Any
    class_weight: Any
    classes_: Any

    def decision_function(self, X: Any) -> Floats:
        """The scores of the rows, which are not clipped: inner products with ``coef_`` plus ``intercept_``.

        Of two classes one score, positive for ``classes_[1]``; of more a column for each.
        """
        features = self._features(X)
        if len(self.coef_) == 1:
            return np.asarray(features @ self.coef_[0] + self.intercept_[0], dtype=np.float64)
        return np.asarray(features @ self.coef_.T + self.intercept_, dtype=np.float64)

    def predict(self, X: Any) -> NDArray[Any]:
        """The class of each row."""
        scores = self.decision_function(X)
        places = (scores > 0).astype(np.intp) if scores.ndim == 1 else scores.argmax(axis=1)
        return np.asarray(self.classes_[places])

    def __sklearn_tags__(self) -> Any:
        """How many classes, and results that may be poor."""
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = self.most_classes > 2
        tags.classifier_tags.poor_score = True
        return tags

    def _planned_labels(self) -> PublicLabels:
        known = labels.declared(self.classes, self.most_classes)
        if known is None:
            return labels.two_unknown(self.class_weight)
        return labels.public_classes(known, self.class_weight, declared=True)

    def _labels_of(self, y: Any) -> tuple[PublicLabels, Any]:
        if self.classes is not None:
            return self._planned_labels(), y
        read = inputs.labels_of(y)
        found = labels.found(read, invalid_rows(self.invalid), min(self.most_classes, labels.MOST_FOUND))
        return labels.public_classes(found, self.class_weight, declared=False), read

    def _warn_undeclared(self) -> None:
        labels.warn_once()

    def _set_learnt(self, fitted: FitResult) -> None:
        self.coef_, self.intercept_, self.classes_ = fitted.coef.copy(), fitted.intercept.copy(), fitted.classes
