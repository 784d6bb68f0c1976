# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Consistency of a model file: its parameters, record, arrays and schema are compared with each other.

The comparison detects damage, mixed-up parts and edits of one part. A consistent edit of all parts contradicts the
ledger, which holds and signs the digest of the release.
"""

import math
from collections.abc import Mapping
from importlib.metadata import version
from typing import Any

import numpy as np

from dperm.data.arrays import Floats
from dperm.data.encoder import checked_columns, columns_from_data
from dperm.data.labels import declared_classes
from dperm.data.schema import AdditiveSchema, AnySchema, text_digest
from dperm.data.space import FeatureSpace
from dperm.privacy import Record
from dperm.privacy.digest import digest
from dperm.privacy.guarantee import guarantee_as_dict
from dperm.report.run_facts import PREPARATION, SEARCHED, has_late_header
from dperm.report.schema_facts import ENCODERS
from dperm.sklearn.fit_result import FitResult, in_units, space_facts
from dperm.sklearn.header import header_digest, prepared_digest, searched_digest
from dperm.sklearn.labels import PublicLabels, public_classes
from dperm.sklearn.units import Units

WITHOUT_RELEASED = ("0.3.", "0.4.")
"""Versions whose files do not hold the released values."""
NORM_NOISE = "row_norm_noise_standard_deviation"
"""Public number of a preparation that releases the norms of the rows."""
ROUNDING = 1e-9
"""Relative tolerance for the sum in an intercept, and for all arrays of files by other versions of dperm."""


def require_consistent(
    estimator: Any, fitted: FitResult, names: list[str] | None, *, form: int, stored: Mapping[str, object]
) -> None:
    """Check that the parts of a stored model belong together.

    Parameters
    ----------
    estimator
        Unfitted estimator with the stored parameters.
    fitted
        Stored result of the fit.
    names
        Stored feature names; None if X had none.
    form
        Format version of the file.
    stored
        Parameters as the file holds them; a file of an earlier version may have fewer than the estimator.

    Raises
    ------
    ValueError
        If they contradict each other.
    DpermError
        If a parameter is out of range.
    """
    record, public = fitted.record, fitted.public
    _require(record is not None or public["method"] == "none", "there is no record")
    if record is not None:
        _require_covered(record, fitted)
        _require_seed(record, estimator.random_state)
    known = public["columns"] if names is None else names
    _require(names is None or public["columns"] is None or names == public["columns"], "columns have other names")
    space, labels = estimator._space(fitted.coef.shape[1], known), labels_of(estimator, fitted)
    _require_parameters(estimator, fitted, space, labels)
    estimator._require_encoder(public)
    _require_released(estimator, fitted, space=space, labels=labels, form=form, stored=stored)


def require_schema(schema: AnySchema, text: str, fitted: FitResult, *, form: int) -> None:
    """Check that a schema belongs to the model; ``text`` is its JSON in the file, ``form`` the file's format.

    Raises
    ------
    ValueError
        If features or terms, norm, target or digest are those of a different model.
    """
    public, target, encoder = fitted.public, schema.target, schema.encoder
    if isinstance(schema, AdditiveSchema):
        _require(_encoder_digest(public) == text_digest(encoder.to_json()), "the schema has other terms")
    else:
        _require(list(encoder.feature_names) == public["columns"], "the schema has other features")
    # a pipeline may declare another norm than that of its encoder, to which its fit scaled the rows down
    _require(ENCODERS in public or _fits_norm(public, encoder.norm), "the schema has another norm")
    _require(target is not None, "the schema has no target")
    assert target is not None
    known = None if fitted.classes is None else fitted.classes.tolist()
    _require((None if target.classes is None else sorted(target.classes)) == known, "the schema has other classes")
    _require((None if target.range is None else list(target.range)) == public.get("label_range"), "another range")
    noted = public.get("schema_digest")
    _require(noted == text_digest(text) or (noted is None and form < 3), "the schema is not that of the fit")


def _encoder_digest(public: Mapping[str, Any]) -> object:
    """Return the digest of the encoder of an additive model, as its public facts name it."""
    return public[ENCODERS][0]["encoder_digest"]


def _fits_norm(public: Mapping[str, Any], longest: float) -> bool:
    """Whether the norm of a model fits its schema: its bound on every row, or a released norm below it (T76)."""
    norm, preparation = public["feature_norm"], public.get(PREPARATION)
    released = isinstance(preparation, Mapping) and NORM_NOISE in preparation
    return norm in (None, longest) or (released and 0 < norm <= longest)


def _require_covered(record: Record, fitted: FitResult) -> None:
    """Check that the event of the file meets its guarantee; otherwise one of the two was edited."""
    if fitted.profile is None:
        return
    claim: dict[str, Any] = guarantee_as_dict(record.guarantee)  # PureDP or ApproxDP: estimators have no other
    delta = fitted.profile.delta(claim["epsilon"] * (1 + 1e-12))
    _require(delta <= claim.get("delta", 0.0) * (1 + 1e-9), "the guarantee is not that of the event")


def _require_seed(record: Record, random_state: object) -> None:
    """Check that the record and its description of the noise mention the seed of a seeded fit."""
    _require(record.seeded or random_state is None, "a seed was given, and the record does not know of it")
    _require(
        record.seeded is ("NOT PRIVATE" in record.noise),
        "the description of the noise contradicts the seed in the record",
    )


def labels_of(estimator: Any, fitted: FitResult) -> PublicLabels:
    """Return the public facts about y, from the parameters and from classes found in y.

    Raises
    ------
    ValueError
        If the declared classes are not those of the fit.
    """
    if fitted.classes is None:
        labels: PublicLabels = estimator._planned_labels()
        return labels
    if estimator.classes is not None:
        declared = declared_classes(estimator.classes, estimator.most_classes)
        _require(declared.tolist() == fitted.classes.tolist(), "other classes were declared")
    return public_classes(fitted.classes, estimator.class_weight, declared=estimator.classes is not None)


def _require_parameters(estimator: Any, fitted: FitResult, space: FeatureSpace, labels: PublicLabels) -> None:
    """Check that the arguments of the estimator request the fit described by the record."""
    record, public = fitted.record, fitted.public
    _require(estimator._goal() == (None if record is None else record.guarantee), "another guarantee was asked for")
    _require(record is None or estimator.method in ("auto", public["method"]), "another method was asked for")
    _require(estimator.n in (None, public["n"]), "another n was declared")
    kept = {"estimator": type(estimator).__name__, "n_features": space.dim, "invalid": estimator.invalid}
    facts = {**kept, **space_facts(space), **labels.facts}
    _require({name: public[name] for name in facts} == facts, "the public facts are those of another model")
    estimator._spec(space, labels.target, public["n"])  # raises for parameters out of range


def _require_released(
    estimator: Any,
    fitted: FitResult,
    *,
    space: FeatureSpace,
    labels: PublicLabels,
    form: int,
    stored: Mapping[str, object],
) -> None:
    """Check that the coefficients follow from the released values, whose digest is in the ledger."""
    record, released = fitted.record, fitted.released
    if record is None:
        return
    booked = record.ledger.get("digest")
    if released is None:
        old = form < 3 and str(record.versions.get("dperm")).startswith(WITHOUT_RELEASED)
        _require(old and booked is None, "the released values are missing")
        return
    committed = (
        _committed_digest(type(estimator).__name__, fitted, stored)
        if has_late_header(fitted.public)
        else digest(released)
    )
    _require(booked in (None, committed), "the digest in the receipt is that of another release")
    coef, intercept = in_units(released, space, labels)
    units = Units.of(space, labels.scale)
    sizes = np.abs(released.reshape(len(coef), -1)[:, : units.combination.size]) @ np.abs(units.combination)
    # Products and quotients of single numbers are the same on every machine; the sum in an intercept is not.
    same = np.array_equal if record.versions.get("dperm") == version("dperm") else _alike
    close = (
        same(units.scales, fitted.units.scales),
        same(units.combination, fitted.units.combination),
        same(coef, fitted.coef),
        _alike(intercept, fitted.intercept, sizes + abs(labels.offset)),
        space.center is not None or same(intercept, fitted.intercept),
    )
    _require(all(close), "the coefficients do not follow from the released values")


def _committed_digest(kind: str, fitted: FitResult, stored: Mapping[str, object]) -> str:
    """Return the digest that the ledger holds for a release of several stages."""
    header = header_digest(kind, stored, fitted.public, by_schema=True)
    if SEARCHED in fitted.public:
        schema = str(fitted.public["schema_digest"]) if PREPARATION in fitted.public else None
        return searched_digest(header, schema, fitted.released)
    return prepared_digest(header, str(fitted.public["schema_digest"]), fitted.released)


def _alike(expected: Floats, found: Floats, sizes: Floats | None = None) -> bool:
    """Whether two arrays agree up to rounding errors, relative to ``sizes`` where terms may cancel."""
    if expected.shape != found.shape:
        return False
    return bool((np.abs(expected - found) <= ROUNDING * (np.abs(expected) if sizes is None else sizes)).all())


def checked_parameters(kind: type[Any], stored: Mapping[str, Any]) -> dict[str, Any]:
    """Return the stored arguments for the constructor of ``kind``; sequences may have a different type.

    Raises
    ------
    ValueError
        If there are unknown parameters, or the method or seed has the wrong type.
    """
    found = dict(stored)
    _require(found.keys() <= {*kind._get_param_names()} - {"ledger"}, "there are parameters that it does not have")
    _require(isinstance(found["method"], str), "the method has no name")
    seed = found["random_state"]
    _require(seed is None or (isinstance(seed, int) and not isinstance(seed, bool)), "the seed is not a number")
    found["epsilon"] = math.inf if found["epsilon"] == "inf" else found["epsilon"]
    if found.get("class_weight") is not None:
        found["class_weight"] = {key: value for key, value in found["class_weight"]}
    if "terms" in found:
        found["terms"] = checked_columns(columns_from_data(found["terms"], rule="terms must be stored columns"))
    return found


def _require(holds: bool, otherwise: str) -> None:
    if not holds:
        raise ValueError(otherwise)
