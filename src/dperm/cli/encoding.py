# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""The features of a table, the same for fitting and predicting."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dperm.data import PublicEncoder
    from dperm.data.reading import Column

_CROWDED = 8
"""Features per column from which a sparse matrix is smaller and faster: a matter of the schema, not of the data."""


def features_of(encoder: "PublicEncoder", table: "Mapping[str, Column]") -> Any:
    """A row of features for each record, sparse where there are many indicators."""
    return encoder.transform(table, sparse=len(encoder.feature_names) > _CROWDED * len(encoder.columns))
