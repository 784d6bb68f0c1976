# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Reads private data: converts them and enforces their bounds."""

from dataclasses import dataclass
from typing import Any

from dperm.data.bounded import BoundedData, enforce
from dperm.data.space import FeatureSpace
from dperm.data.targets import Classes, Kind
from dperm.sklearn import inputs
from dperm.sklearn.public_labels import PublicLabels


@dataclass(frozen=True)
class Reader:
    """The data of one fit, unread.

    Attributes
    ----------
    X, y
        As the user gave them.
    space, labels
        What is public about both.
    names
        Names of the columns, if they have any.
    invalid
        "raise" or "drop".
    fitted_transformers
        Class names of transformers that learnt from the data before the fit, not covered by its guarantee.
    """

    X: Any
    y: Any
    space: FeatureSpace
    labels: PublicLabels
    names: inputs.Names
    invalid: str
    fitted_transformers: tuple[str, ...] = ()

    def read(self, most_rows: int) -> BoundedData:
        """The data within their public bounds; raises for data that break a rule, before anything is charged."""
        target, matrix = self.labels.target, inputs.numeric(self.X)
        found = inputs.numbers_of(self.y) if target.kind is Kind.NUMBER else inputs.labels_of(self.y)
        if isinstance(target, Classes):
            target.require_kind(found)
        return enforce(matrix, found, self.space, target, invalid=self.invalid, names=self.names, most_rows=most_rows)
