# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Parts of a fitted pipeline that a model file holds: the estimator, and the schema of its encoder."""

from collections.abc import Mapping
from typing import Any

from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from dperm.data.encoded import EncodingFacts
from dperm.data.encoder import PublicEncoder
from dperm.data.schema import Schema, TargetSchema, text_digest
from dperm.errors import ParameterError
from dperm.report.schema_facts import ENCODERS

_ALLOWED = (
    "These can be saved: a Pipeline of PublicTableEncoder or PrivateTableEncoder and a private linear model; "
    "PrivateTableClassifier and PrivateTableRegressor; a private linear or additive model alone."
)
_NOT_STORED = {
    "PrivateScaler": "private scaling of rows",
    "PrivateBounds": "private bounds of columns",
    "PrivatePCA": "principal components",
}
"""Parts of a pipeline that a file does not hold, by transformer."""
_TARGETS = ("y", "target", "label")
"""Names of the target in a file, where the labels of the fit had no name of their own."""


def stored_parts(pipeline: Any) -> tuple[Any, Schema | None]:
    """Return the fitted estimator, and the schema to store beside it; None if the estimator saves itself.

    Raises
    ------
    ParameterError
        If ``pipeline`` is nothing that a file can hold, or its encoder is not that of the fit.
    """
    from dperm.sklearn.base import PrivateLinearModel

    if type(pipeline).__module__ == "dperm.sklearn.search":
        check_is_fitted(pipeline)
        pipeline = pipeline.best_estimator_
    if isinstance(pipeline, PrivateLinearModel) or _is_table_model(pipeline):
        return pipeline, None
    if not isinstance(pipeline, Pipeline):
        raise ParameterError(f"an object of type {type(pipeline).__name__} cannot be saved.", remedy=_ALLOWED)
    steps = [step for _, step in pipeline.steps if step not in (None, "passthrough")]
    _require_stored_steps(steps)
    facts = getattr(steps[0], "encoding_facts", None) if len(steps) == 2 else None
    if not isinstance(facts, EncodingFacts) or not isinstance(steps[1], PrivateLinearModel) or steps[1].encodes_tables:
        names = ", ".join(type(step).__name__ for step in steps)
        unfitted = any(type(step).__name__ == "PrivateTableEncoder" for step in steps[:1]) and len(steps) == 2
        problem = "is not fitted" if unfitted else "cannot be saved"
        raise ParameterError(f"a pipeline of {names} {problem}.", remedy=_ALLOWED)
    if facts.length is not None:
        raise ParameterError(
            "a model file holds no private scaling of rows, so a pipeline with rows scaled by its encoder cannot be "
            "saved.",
            remedy='Use PrivateTableEncoder(encoding="bins"), PrivateTableClassifier or PrivateTableRegressor.',
        )
    estimator = steps[1]
    check_is_fitted(estimator)
    encoder = facts.encoder
    assert isinstance(encoder, PublicEncoder)  # the transformers of `_require_stored_steps` have no other
    _require_same_encoder(estimator, encoder)
    return estimator, Schema(encoder, _target(estimator, encoder, facts))


def _require_stored_steps(steps: list[Any]) -> None:
    """Raise ParameterError for private transformers of numbers, whose work no file holds."""
    names = [type(step).__name__ for step in steps if type(step).__name__ in _NOT_STORED]
    if names:
        raise ParameterError(
            f"a model file holds no {_NOT_STORED[names[0]]}, so a pipeline with {names[0]} cannot be saved.",
            remedy='Use PrivateTableClassifier or PrivateTableRegressor with encoding="scaled", whose file holds the '
            "scaling. Or save the last step alone, and keep the fitted transformers elsewhere.",
        )


def _is_table_model(model: object) -> bool:
    """Whether this is a model of a raw table. Their module needs ``cryptography``, and is imported for them alone."""
    return type(model).__module__ == "dperm.sklearn.table_models"


def _require_same_encoder(estimator: Any, encoder: PublicEncoder) -> None:
    """Check that the encoder of the pipeline is the one by which the rows of the fit were encoded."""
    public: Mapping[str, Any] = estimator._fitted.public
    if public["columns"] is not None:
        raise ParameterError(
            "the model was fitted to a data frame of features, and the file would give them other names.",
            remedy="Fit the pipeline without set_output.",
        )
    digest = text_digest(encoder.to_json())
    known = [one["encoder_digest"] for one in public.get(ENCODERS, [])[:1]]
    if known not in ([], [digest]) or len(encoder.feature_names) != estimator.n_features_in_:
        raise ParameterError(
            "the encoder of the pipeline is not the one of the model's fit: it was changed or fitted again.",
            remedy="Fit the pipeline again, or save the pipeline as it was fitted.",
        )


def _target(estimator: Any, encoder: PublicEncoder, facts: EncodingFacts) -> TargetSchema:
    named = None if facts.release is None else facts.release.get("target")
    free = (name for name in (named, *_TARGETS, "_".join((*encoder.columns, "y"))) if isinstance(name, str))
    name = next(name for name in free if name not in encoder.columns)
    fitted = estimator._fitted
    if fitted.classes is not None:
        return TargetSchema(name, classes=tuple(fitted.classes.tolist()))
    return TargetSchema(name, range=tuple(fitted.public["label_range"]))
