# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Model files: coefficients, classes, record, parameters and schema, all public or released."""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from dperm.data.columns import Unseen
from dperm.data.encoder import PublicEncoder
from dperm.data.schema import AdditiveSchema, AnySchema, Schema, schema_from_json, text_digest
from dperm.errors import DpermError, ModelFormatError, ParameterError
from dperm.presentation.spelling import arg
from dperm.privacy import Record
from dperm.report.model_file import ModelFile, read_model, write_model
from dperm.report.schema_facts import ENCODERS
from dperm.sklearn.consistency import checked_parameters, require_consistent, require_schema
from dperm.sklearn.encoder import PublicTableEncoder
from dperm.sklearn.fit_result import FitResult
from dperm.sklearn.header import header_digest, plain_parameters
from dperm.sklearn.units import Units

Estimator = TypeVar("Estimator")
_PARTS = {"parameters", "classes", "feature_names", "public", "record", "schema", "edits"}
_MOST_TEXT = 2**24
"""Largest number of characters of all classes in a file, each padded to the longest."""
_DAMAGE = (DpermError, LookupError, TypeError, ValueError, AttributeError, ArithmeticError, MemoryError, RecursionError)
"""Errors raised by an inconsistent file, or by an event whose accounting would fill the memory."""
HEADER_ALLOWANCE = 2**18
"""Bytes for the parts of a header whose size does not depend on the schema."""
_CROWDED = 8
"""Features per column above which a sparse matrix is smaller and faster."""


@dataclass(frozen=True)
class StoredModel:
    """Contents of a model file: a fitted estimator, and the schema that encodes tables for it, if there is one."""

    estimator: Any
    schema: AnySchema | None = None


def save(
    estimator: Any,
    path: str | os.PathLike[str],
    *,
    schema: AnySchema | None = None,
    overwrite: bool = True,
    allocated: Path | None = None,
) -> None:
    """Write a fitted estimator to a file.

    Parameters
    ----------
    estimator
        Fitted estimator.
    path
        File to write.
    schema
        Schema to store in the file, so that the stored model predicts from tables. The record then receives its digest,
        and the feature names of a linear model.
    overwrite
        Whether to replace an existing file; otherwise FileExistsError is raised.
    allocated
        File of `dperm.report.whole_file.allocated_file` beside ``path``, to be filled.
    """
    fitted: FitResult = estimator._fitted if schema is None else _with_schema(estimator._fitted, schema)
    names = getattr(estimator, "feature_names_in_", None)
    data = {
        "parameters": plain_parameters(estimator._parameters, str(fitted.public["method"])),
        "classes": None if fitted.classes is None else fitted.classes.tolist(),
        "feature_names": None if names is None else list(names),
        "public": None if fitted.record is not None else dict(fitted.public),
        "record": None if fitted.record is None else fitted.record.to_json(),
        "schema": None if schema is None else schema.to_json(),
    }
    edits = estimator._edits_to_store()
    if edits:
        data["edits"] = edits
    arrays = {
        "coef": fitted.coef,
        "intercept": fitted.intercept,
        "scales": fitted.units.scales,
        "combination": fitted.units.combination,
    }
    if fitted.released is not None:
        arrays["released"] = fitted.released
    model = ModelFile(type(estimator).__name__, data, arrays)
    write_model(path, model, overwrite=overwrite, allocated=allocated)


def largest_size(schema: AnySchema) -> int:
    """Return an upper bound on the size in bytes of a model with this schema, before the fit.

    The bound counts the arrays, the names, and a fixed allowance for parameters, record and receipt.
    """
    names, target = schema.encoder.feature_names, schema.target
    classes = 0 if target is None or target.classes is None else len(target.classes)
    numbers = (2 * max(classes, 1) + 2) * (len(names) + 2)
    text = json.dumps(json.dumps([schema.to_json(), schema.to_json(), *names, *names]))
    return 8 * numbers + 2 * len(text) + HEADER_ALLOWANCE


def load(kind: type[Estimator], path: str | os.PathLike[str]) -> Estimator:
    """Return the stored estimator of class ``kind``.

    Raises
    ------
    ModelFormatError
        If the file holds another class, has a schema, is damaged, or was written by a newer version.
    """
    file = read_model(path)
    if file.data.get("schema") is not None and not getattr(kind, "encodes_tables", False):
        raise _refusal(
            path,
            f"it was fitted to a table through a schema, and {kind.__name__} would predict raw features wrongly",
            "Use dperm.sklearn.load_model(path), which encodes raw tables.",
        )
    if file.kind != kind.__name__:
        raise _refusal(path, f"it holds a {file.kind}", f"Use {file.kind}.load.")
    loaded: Estimator = _stored_model(kind, file, path).estimator
    return loaded


def load_model(path: str | os.PathLike[str]) -> Any:
    """Return the fitted model stored in a file. The file determines the class of the model.

    Parameters
    ----------
    path : str or path-like
        File written by `save_model`, by the ``save`` method of an estimator, or by ``dperm fit``.

    Returns
    -------
    estimator or Pipeline
        A fitted `sklearn.pipeline.Pipeline` with the steps "encoder" and "model", if the model was stored with the
        schema of its table, for example by ``dperm fit``. The pipeline predicts from raw tables (a data frame, or a
        mapping of names to columns), as ``dperm predict`` does. Without a schema, the fitted estimator alone, which
        predicts from features.

    Raises
    ------
    ModelFormatError
        If the file holds no model, is damaged, or was written by a newer version.
    """
    stored = load_stored(path)
    if not isinstance(stored.schema, Schema):  # an additive model encodes tables itself
        return stored.estimator
    return _pipeline(stored.estimator, stored.schema.encoder)


def save_model(pipeline: Any, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
    """Write a fitted model, with its encoder if there is one, to a file for `load_model` and ``dperm predict``.

    Parameters
    ----------
    pipeline : Pipeline or estimator
        One of: a fitted `sklearn.pipeline.Pipeline` of an encoder (`PublicTableEncoder` or `PrivateTableEncoder`) and a
        private linear model; a `PrivateTableClassifier`; a `PrivateTableRegressor`; a private linear model alone; or a
        `PrivateSearch`, whose best model is saved.
    path : str or path-like
        File to write.
    overwrite : bool, default=False
        Whether to replace an existing file.

    Raises
    ------
    ParameterError
        If ``path`` exists and ``overwrite`` is False, or if ``pipeline`` is not one of these objects, is not fitted, or
        contains an encoder that was replaced after the fit.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> import numpy as np
    >>> from sklearn.pipeline import make_pipeline
    >>> from dperm.data import Numeric
    >>> from dperm.sklearn import PrivateLogisticRegression, PublicTableEncoder, load_model, save_model
    >>> table = {"age": np.arange(1000) % 90}
    >>> model = PrivateLogisticRegression(feature_norm="auto", classes=(False, True))
    >>> pipeline = make_pipeline(PublicTableEncoder({"age": Numeric(0, 100)}), model).fit(table, table["age"] > 50)
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "model.dperm"
    >>> save_model(pipeline, path)
    >>> (load_model(path).predict(table) == pipeline.predict(table)).all().item()
    True
    """
    from dperm.sklearn.pipeline_files import stored_parts

    estimator, schema = stored_parts(pipeline)
    if schema is None:
        estimator.save(path, overwrite=overwrite)
        return
    try:
        save(estimator, path, schema=schema, overwrite=overwrite)
    except FileExistsError:
        raise ParameterError(
            argument="path", rule="must be a new file", remedy=f"Give {arg('overwrite', True)} to replace it."
        ) from None


def load_stored(path: str | os.PathLike[str]) -> StoredModel:
    """Return the fitted estimator in a file, and the schema in the file if there is one.

    Raises
    ------
    ModelFormatError
        In the same cases as in `load_model`.
    """
    from dperm import sklearn

    file = read_model(path)
    if file.kind not in sklearn.__all__ or not file.kind.startswith("Private"):
        raise _refusal(path, "it holds a kind of model unknown to this version")
    return _stored_model(getattr(sklearn, file.kind), file, path)


def stored_header_digest(path: str | os.PathLike[str]) -> str | None:
    """Return the digest of the model header in a file, as a ledger keeps it; None for a fit without noise."""
    file = read_model(path)
    if file.data.get("record") is None:
        return None
    public = Record.from_json(file.data["record"]).public
    return header_digest(file.kind, file.data["parameters"], public, by_schema=file.data.get("schema") is not None)


def stored_record(path: str | os.PathLike[str]) -> Record | None:
    """Return the record of the model in a file; None for a fit without noise."""
    record: Record | None = load_stored(path).estimator._fitted.record
    return record


def _stored_model(kind: type[Any], file: ModelFile, path: str | os.PathLike[str]) -> StoredModel:
    try:
        if not file.data.keys() <= _PARTS:
            raise ValueError("there are unknown parts")
        estimator: Any = kind(**checked_parameters(kind, file.data["parameters"]))
        fitted, names = _fit_result(file, estimator.most_classes), file.data["feature_names"]
        columns = _Columns(estimator._n_columns(fitted.coef.shape[1]), names)
        require_consistent(estimator, fitted, names, form=file.form, stored=file.data["parameters"])
        schema = _schema(file, fitted)
        estimator._set_fitted(replace(fitted, schema=schema), columns)._restore_edits(file.data.get("edits", []))
    except _DAMAGE as error:
        raise _refusal(path, "its parts contradict each other: the file does not fit together") from error
    return StoredModel(estimator, schema)


def prefers_sparse(encoder: PublicEncoder) -> bool:
    """Whether to encode tables as sparse features, decided by the schema alone: columns with many features."""
    return len(encoder.feature_names) > _CROWDED * len(encoder.columns)


def _pipeline(estimator: Any, encoder: PublicEncoder) -> Any:
    """Return a fitted pipeline. The encoder stores nothing but column names."""
    from sklearn.pipeline import Pipeline

    sparse, unseen = _options(estimator._fitted.public, encoder)
    first = PublicTableEncoder(encoder.columns, sparse=sparse, unseen=unseen).fit(encoder.columns)
    return Pipeline([("encoder", first), ("model", estimator)])


def _options(public: Mapping[str, Any], encoder: PublicEncoder) -> tuple[bool, Unseen]:
    """Return ``sparse`` and ``unseen`` of the encoder of the fit, as the record names them, or else the defaults."""
    listed = public.get(ENCODERS)
    for one in listed if isinstance(listed, list) else []:
        if isinstance(one, Mapping) and one.get("encoder_digest") == text_digest(encoder.to_json()):
            return one.get("sparse") is True, "raise" if one.get("unseen") == "raise" else "other"
    return prefers_sparse(encoder), "other"


def _schema(file: ModelFile, fitted: FitResult) -> AnySchema | None:
    """Return the schema of the file after checking it; None before version 0.5 and for a model saved alone."""
    text = file.data.get("schema")
    if text is None:
        return None
    schema = schema_from_json(text)
    require_schema(schema, text, fitted, form=file.form)
    return schema


def _with_schema(fitted: FitResult, schema: AnySchema) -> FitResult:
    """Return the result with the schema's digest among its public facts, and the feature names of a linear model."""
    names = {} if isinstance(schema, AdditiveSchema) else {"columns": list(schema.encoder.feature_names)}
    return fitted.with_public({**fitted.public, **names, "schema_digest": schema.digest})


class _Columns:
    """Number and names of the columns, in scikit-learn's attributes."""

    def __init__(self, count: int, names: list[str] | None) -> None:
        self.n_features_in_ = count
        if names is not None:
            self.feature_names_in_ = np.array(names, dtype=object)
            if self.feature_names_in_.shape != (count,) or not all(isinstance(name, str) for name in names):
                raise ValueError("names do not fit the columns")


def _fit_result(file: ModelFile, most_classes: int) -> FitResult:
    """Return the stored result of a fit. Files of format 1 hold the coefficients of one score as a 1-D array."""
    from dperm.accounting.stored_release import release_from_record

    data, arrays = file.data, file.arrays
    classes = _classes(data["classes"], most_classes)
    coef, units = np.atleast_2d(arrays["coef"]), Units(arrays["scales"], arrays["combination"])
    released = arrays.get("released")
    if (data["record"] is None) == (data["public"] is None):
        raise ValueError("either a record or public facts")
    if data["record"] is None:
        if released is not None:
            raise ValueError("there is no record of the released values")
        return FitResult(coef, arrays["intercept"], units, classes, facts=dict(data["public"]))
    release = release_from_record(Record.from_json(data["record"]), released)
    return FitResult(coef, arrays["intercept"], units, classes, release=release)


def _classes(stored: Any, most: int) -> Any:
    """Return the classes as an array. Its size is limited, since numpy pads all texts to the longest."""
    if (stored is None) is not (most == 0) or not isinstance(stored, list | None) or len(stored or ()) > most:
        raise ValueError("classes do not fit the estimator")
    longest = max((len(label) for label in stored or () if isinstance(label, str)), default=1)
    if longest * len(stored or ()) > _MOST_TEXT:
        raise ValueError("classes are too long")
    return None if stored is None else np.array(stored)


def _refusal(path: str | os.PathLike[str], reason: str, remedy: str = "") -> ModelFormatError:
    return ModelFormatError(f"cannot read a model from {os.fspath(path)!r}: {reason}.", remedy=remedy)
