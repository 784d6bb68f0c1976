# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Reads private data: converts them, finds the classes if they were not declared, enforces the bounds."""

from typing import Any, final

from numpy.typing import NDArray

from dperm.data.bounded import BoundedData, enforce
from dperm.data.space import FeatureSpace
from dperm.sklearn import classes as labels
from dperm.sklearn import inputs


@final
class Reader:
    """The data of one fit, unread; ``classes`` are known once they are read, or were declared."""

    def __init__(
        self,
        X: Any,
        y: Any,
        space: FeatureSpace,
        *,
        names: inputs.Names,
        classes: NDArray[Any] | None,
        class_weight: object,
        invalid: str,
    ) -> None:
        self._table, self._labels = X, y
        self._class_weight = class_weight
        self.space, self.names, self.invalid = space, names, invalid
        self.declared = classes is not None
        self.classes = classes
        if classes is not None:
            labels.weights_of(class_weight, classes)

    @property
    def known_classes(self) -> NDArray[Any]:
        """The two classes, once they are known."""
        if self.classes is None:
            raise RuntimeError("the data were not read")
        return self.classes

    @property
    def weights(self) -> tuple[float, float]:
        """The weights of the two classes."""
        return labels.weights_of(self._class_weight, self.known_classes)

    def read(self, most_rows: int) -> BoundedData:
        """The data within their public bounds; raises for data that break a rule, before anything is charged."""
        matrix, found = inputs.numeric(self._table), inputs.labels_of(self._labels)
        if self.classes is None:
            self.classes = labels.found(found, self.invalid)
        negative, positive = self.known_classes.tolist()
        return enforce(
            matrix,
            found,
            self.space,
            classes=(negative, positive),
            weights=self.weights,
            invalid=self.invalid,
            names=self.names,
            most_rows=most_rows,
        )
