# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""The features of a table, the same for fitting and predicting."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dperm.data import PublicEncoder
    from dperm.data.tables import Column


def features_of(encoder: "PublicEncoder", table: "Mapping[str, Column]") -> Any:
    """A row of features for each record, as the pipeline of a stored model makes them."""
    from dperm.sklearn.files import prefers_sparse

    return encoder.transform(table, sparse=prefers_sparse(encoder))
