# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Features of a table, the same for fitting and predicting."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from dperm.data.columns import MISSING_VALUE, UNDECLARED_CATEGORY, Unseen
from dperm.errors import DataError

if TYPE_CHECKING:
    from dperm.data import PublicEncoder
    from dperm.data.additive_encoder import AdditiveEncoder
    from dperm.data.canonical import CanonicalColumn
    from dperm.data.schema import AnySchema
    from dperm.data.tables import Column

SCHEMA_FILE = {
    MISSING_VALUE: "Declare impute = ... for the column in the schema: a public value that replaces missing values.",
    UNDECLARED_CATEGORY: (
        "Declare the category in the schema, or declare other = true for the column: undeclared categories then share "
        "a feature."
    ),
}
"""Remedies by error code where the schema is a file that the user can change."""
STORED_SCHEMA = {
    MISSING_VALUE: (
        "Fill in the value, or leave out --unseen raise: the model was fitted without impute for this column."
    ),
    UNDECLARED_CATEGORY: (
        "Correct the value, or leave out --unseen raise: the model was fitted without other = true for this column."
    ),
}
"""Remedies by error code where the schema is stored in a model and cannot be changed."""


def features_of(
    encoder: "PublicEncoder",
    table: "Mapping[str, Column | CanonicalColumn]",
    remedies: Mapping[str, str] = SCHEMA_FILE,
    *,
    unseen: Unseen = "raise",
) -> Any:
    """Return a row of features for each record, encoded as in the pipeline of a stored model.

    ``unseen`` is the argument of `PublicEncoder.transform`.

    Raises
    ------
    DataError
        If a value violates the schema; ``remedies`` replaces the remedy of the errors that it lists by code.
    """
    from dperm.sklearn.files import prefers_sparse

    try:
        return encoder.transform(table, sparse=prefers_sparse(encoder), unseen=unseen)
    except DataError as error:
        if error.code not in remedies:
            raise
        raise type(error)(error.problem, remedy=remedies[error.code], code=error.code) from None


def model_input(
    schema: "AnySchema", table: "Mapping[str, Column | CanonicalColumn]", *, unseen: Unseen = "other"
) -> Any:
    """Return the input of a stored model: features of a linear model, or the table of an additive model.

    An additive model encodes tables itself. Missing values and undeclared categories have effects of their own there.

    Raises
    ------
    DataError
        If ``unseen`` is "raise" and a value violates the schema.
    """
    from dperm.data.schema import AdditiveSchema

    if not isinstance(schema, AdditiveSchema):
        return features_of(schema.encoder, table, STORED_SCHEMA, unseen=unseen)
    _require_kinds(schema.encoder, table, unseen)
    return table


def _require_kinds(encoder: "AdditiveEncoder", table: "Mapping[str, Column | CanonicalColumn]", unseen: Unseen) -> None:
    """Raise DataError for text in a column of numbers and the reverse, if ``unseen`` is "raise"."""
    if unseen == "raise":
        encoder.places(table, unseen=unseen)
