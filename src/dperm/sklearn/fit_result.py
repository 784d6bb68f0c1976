# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Fits of private linear models and their results."""

import math
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dperm.data import inputs
from dperm.data.additive_encoder import AdditiveEncoder
from dperm.data.arrays import Floats
from dperm.data.bounded import BoundedData, enforce
from dperm.data.canonical import cell_labels
from dperm.data.row_encoder import require_rows
from dperm.data.schema import AnySchema
from dperm.data.space import FeatureSpace
from dperm.data.targets import Classes, LabelKind
from dperm.erm.spec import ProblemSpec
from dperm.errors import AssumptionError, NotPrivateWarning
from dperm.presentation.spelling import arg
from dperm.privacy import Adjacency, PrivacyProfile, Record, Release
from dperm.privacy.guarantee import AnyGuarantee
from dperm.privacy.public_rows import public_rows
from dperm.report import Statement, statement, unprotected
from dperm.report.binding import public_facts_digest
from dperm.report.declared_columns import describe_schema
from dperm.report.engine_facts import ENGINE
from dperm.report.run_facts import SCORES, TRANSFORMERS
from dperm.report.schema_facts import ENCODERS
from dperm.sklearn.auto import EncodedSchema
from dperm.sklearn.header import HeaderBudget, header_digest, plain_parameters, prepared_digest
from dperm.sklearn.labels import PublicLabels
from dperm.sklearn.parameters import clip_unit
from dperm.sklearn.table_input import TableInput
from dperm.sklearn.units import Units

if TYPE_CHECKING:
    from dperm.accounting.budget import Budget
    from dperm.mechanisms.run import Run
    from dperm.methods.plan import Plan
    from dperm.pipeline.plan import TablePlan

TERMS_ASSUMED = (
    "the scales, special values, detail, weights and pairs of the terms, which must not have been chosen by looking at "
    "the data"
)
"""Public assumption about the declarations of an additive model."""
MOST_ROWS = 2**31
TOLERANCE = 1e-9
"""Required distance from the minimiser without noise, if rounding allows."""


@dataclass(frozen=True)
class PrivateData:
    """Data of one fit, not read yet.

    Attributes
    ----------
    X, y
        Features and labels as given by the user. For a table in row groups, X is a `TableInput` and y is None.
    space, labels
        Public facts about both.
    names
        Column names, if there are any.
    invalid
        "raise" or "drop".
    fitted_transformers
        Class names of transformers fitted to the data before this fit, not covered by its guarantee.
    unprotected_scores
        Name of the function, class or callback that evaluates the model on the data, not covered by the guarantee.
    schemas
        Transformers of the rows with declared columns or a private release, the one of X first.
    n
        Declared number of rows under replace_one, with which that of a table in row groups is compared; None without.
    engine
        Facts about the engine of a raw table in row groups, which is read by stages; empty otherwise.
    """

    X: Any
    y: Any
    space: FeatureSpace
    labels: PublicLabels
    names: inputs.Names
    invalid: str
    fitted_transformers: tuple[str, ...] = ()
    unprotected_scores: str = ""
    schemas: tuple[EncodedSchema, ...] = ()
    n: int | None = None
    engine: Mapping[str, str] = field(default_factory=dict)

    @property
    def engine_facts(self) -> Mapping[str, str]:
        """Name and version of the engine that reads the rows; empty for data in memory."""
        return self.X.engine_facts if isinstance(self.X, TableInput) else self.engine

    def read(self, most_rows: int) -> BoundedData:
        """Return the data within their public bounds.

        Raises
        ------
        DataError
            If the data break a rule. Nothing is charged before.
        ParameterError
            If a table in row groups has another number of rows than declared under replace_one.
        """
        target = self.labels.target
        if isinstance(self.X, TableInput):
            found = self.X.encoded(self.space, target, self.invalid)
            if self.n is not None:
                public_rows(Adjacency.REPLACE_ONE, self.n, found.rows)
            return require_rows(found, most_rows)
        matrix = inputs.numeric(self.X)
        if any(schema.supplies_labels for schema in self.schemas):
            labels = cell_labels(self.y, self.labels.classes)
        else:
            labels = inputs.numbers_of(self.y) if target.kind is LabelKind.NUMBER else inputs.labels_of(self.y)
        if isinstance(target, Classes):
            target.require_kind(labels)
        return enforce(matrix, labels, self.space, target, invalid=self.invalid, names=self.names, most_rows=most_rows)


@dataclass(frozen=True)
class FitResult:
    """Fitted coefficients with the release they follow from.

    Attributes
    ----------
    coef, intercept
        Coefficients in the user's units: one row and one number for each score of a record.
    units
        Linear map from the released coefficients to ``coef`` and ``intercept``.
    classes
        Class labels, sorted; None for a regression.
    release
        Release of the coefficients of the bounded space, with all public facts in its record. Its value, to which the
        digest in a ledger belongs, is None for files before version 0.5. The release is None for a fit without noise.
    facts
        Public facts of a fit without noise; empty otherwise.
    plan
        Plan of the fit; None without noise, and for a model from a file.
    schema
        Schema stored beside the model, or released with it; None without one.
    """

    coef: Floats
    intercept: Floats
    units: Units
    classes: NDArray[Any] | None
    release: "Release[Floats | None] | None" = None
    facts: Mapping[str, object] = field(default_factory=dict)
    plan: "Plan | None" = None
    schema: AnySchema | None = None

    def __post_init__(self) -> None:
        """Check that the shapes match, since arrays may come from a damaged file."""
        scores, columns = self.coef.shape  # raises if there are not two dimensions
        classes = np.empty(0) if self.classes is None else self.classes
        expected = len(classes) if len(classes) > 2 else 1
        lengths = (0, columns, columns + 1)
        if self.intercept.shape != (scores,) or self.units.scales.shape != (columns,) or not columns:
            raise ValueError("arrays do not fit")
        if classes.ndim != 1 or len(set(classes.tolist())) < len(classes) or len(classes) == 1 or scores != expected:
            raise ValueError("classes do not fit")
        if self.units.combination.ndim != 1 or len(self.units.combination) not in lengths:
            raise ValueError("units do not fit")

    @property
    def record(self) -> Record | None:
        """Record of the release; None without noise."""
        return None if self.release is None else self.release.record

    @property
    def released(self) -> Floats | None:
        """Released coefficients of the bounded space; None without noise, and for files before version 0.5."""
        return None if self.release is None else self.release.value

    @property
    def public(self) -> Mapping[str, object]:
        """All public facts of the fit, as plain data."""
        return self.facts if self.release is None else self.release.record.public

    @property
    def guarantee(self) -> AnyGuarantee | None:
        """Privacy guarantee; None without noise, for a seeded fit, and if the data preparation is not covered."""
        return self.record.guarantee if self.record is not None and self.is_private else None

    @property
    def profile(self) -> PrivacyProfile | None:
        """Privacy profile delta(epsilon); None without a guarantee."""
        return self.release.profile if self.release is not None and self.is_private else None

    @property
    def is_private(self) -> bool:
        """Whether the fit has a guarantee: noise, no seed, and no transformers that learnt from the data."""
        record = self.record
        return record is not None and not record.seeded and not self.public.get(TRANSFORMERS)

    @cached_property
    def statement(self) -> Statement:
        """All fields of the privacy statement, as plain data. The first access takes a moment."""
        found = unprotected(self.facts) if self.release is None else statement(self.release)
        return found if self.schema is None else found.filled({}, declared=describe_schema(self.schema, self.public))

    def with_public(self, public: Mapping[str, object]) -> "FitResult":
        """Return the same result with ``public`` as its public facts."""
        if self.release is None:
            return replace(self, facts=public)
        return replace(self, release=self.release.with_public(public))


def fit_private(
    plan: "Plan",
    data: PrivateData,
    *,
    name: str,
    parameters: Mapping[str, Any],
    budget: "Budget | None",
    seed: int | None,
) -> FitResult:
    """Run a plan on private data.

    Parameters
    ----------
    plan
        Plan of the fit.
    data
        Private data, not read yet.
    name
        Class name of the estimator.
    parameters
        Arguments of the estimator.
    budget
        Budget to charge, if any.
    seed
        Seed of a fit that is NOT PRIVATE; None for secure randomness.
    """
    public = {**plan.facts.public, **_public(name, plan.spec, data), "why": [str(reason) for reason in plan.why]}
    public["assumptions"] = _assumptions(plan, data)
    if budget is not None:
        header = header_digest(name, plain_parameters(parameters, plan.method), public)
        budget = HeaderBudget(
            budget, header, public_facts_digest(Record(**{**plan.facts.known, "public": public}).public)
        )
    if seed is None:
        release = plan.run(lambda: data.read(plan.most_rows), budget)
    else:
        warn_seeded(stacklevel=4)
        release = _run_seeded(plan, data, budget, seed)
    return FitResult(*_coefficients(release.value, data), release=release.with_public(public), plan=plan)


def prepared_fit_result(found: Any, plan: "TablePlan", run: "Run[Any]") -> FitResult:
    """Commit a model trained on a privately prepared table, and return it with its release.

    Parameters
    ----------
    found
        Prepared table, estimator, training plan and coefficients.
    plan
        Plan of preparation and training.
    run
        Charged release.

    Notes
    -----
    The schema is not known when the budget is charged. The digest committed to the ledger therefore covers schema,
    parameters and public facts beside the coefficients (`prepared_digest`).
    """
    training, name, schema = found.plan, type(found.estimator).__name__, found.schema
    public = {
        **training.facts.public,
        **_public(name, training.spec, found.data),
        **plan.public,
        "why": [str(reason) for reason in (*plan.why, *training.why)],
        "columns": list(schema.encoder.feature_names),
        "schema_digest": schema.digest,
        "assumptions": _prepared_assumptions(plan, found.data.labels),
        "n": plan.n,
        **({} if found.metrics is None else {"metrics": found.metrics.to_dict()}),
        **({"invalid_declared_values": found.invalid} if plan.declares_values else {}),
    }
    public = dict(Record(**{**plan.facts.known, "public": public}).public)
    parameters = plain_parameters(found.estimator.get_params(deep=False), training.method)
    header = header_digest(name, parameters, public, by_schema=True)
    release = run.released(found.theta, lambda theta: prepared_digest(header, schema.digest, theta))
    coefficients = _coefficients(found.theta, found.data)
    return FitResult(*coefficients, release=release.with_public(public), plan=training, schema=schema)


def without_release(theta: Floats, data: PrivateData) -> FitResult:
    """Return coefficients before their release is committed, with which evaluation records are predicted."""
    return FitResult(*_coefficients(theta, data))


def _prepared_assumptions(plan: "TablePlan", labels: PublicLabels) -> list[str]:
    """Return the public assumptions of a fit to a privately prepared table, as phrases."""
    declared = "n, as it was declared; it was not compared with the data" if plan.n else ""
    rows = "n, the number of records" if plan.goal.adjacency.value == "replace_one" else declared
    every = (
        rows,
        "the number and the names of the columns",
        "the declared columns, which were enforced" if plan.declared else "",
        labels.assumption if plan.declares_labels else "",
        "all parameters of the estimator, which must not have been chosen by looking at the data",
    )
    return [text for text in every if text]


def fit_without_noise(spec: ProblemSpec, data: PrivateData, *, name: str) -> FitResult:
    """Return the minimiser without noise (``epsilon=inf``), for comparison.

    Without a given C it is 1; without a given clip nothing is clipped.

    Raises
    ------
    AssumptionError
        If the loss has a kink, or if gradients of several scores would be clipped.
    """
    from dperm.erm.minimize import minimize
    from dperm.erm.rounding import attainable_tolerance

    if not math.isfinite(spec.loss.curvature):
        raise AssumptionError(
            f"the loss {spec.loss.name!r} has a kink, and no minimiser is certified there.",
            remedy=f"With {arg('epsilon', 'inf')} use {_smooth_alternative(spec)}.",
        )
    _require_convex(spec)
    warnings.warn(
        f"this fit is NOT PRIVATE: {arg('epsilon', 'inf')} adds no noise, and there is no guarantee.",
        NotPrivateWarning,
        stacklevel=3,
    )
    regularized = spec if spec.regularization is not None else spec.with_regularization(1.0)
    rows = data.read(MOST_ROWS)
    unclipped = math.isinf(spec.loss.slope) and spec.clip is None
    solved = _unclipped(regularized, rows.rows) if unclipped else regularized
    theta = minimize(rows, solved, max(attainable_tolerance(solved, rows.rows), TOLERANCE * solved.strength))
    facts = {"method": "none", "loss": spec.loss.name, "regularization": solved.strength, "clip": spec.clip}
    return FitResult(*_coefficients(theta, data), facts={**_public(name, regularized, data), **facts})


def _smooth_alternative(spec: ProblemSpec) -> str:
    if spec.loss.labels is LabelKind.SIGN:
        smooth = arg("loss", '"huber_hinge"')
        return f"the smooth {smooth}, which approaches the hinge as its width shrinks"
    return "QuantileRegressor of scikit-learn for comparison"


def _require_convex(spec: ProblemSpec) -> None:
    """Raise AssumptionError for clipped gradients of several scores, which belong to no convex function (T44)."""
    if spec.outputs > 1 and spec.is_clipped:
        raise AssumptionError(
            argument="clip",
            rule=f"must be left out for more than two classes with {arg('epsilon', 'inf')}: clipped gradients of the "
            "softmax loss belong to no convex function, so there is no minimiser to find (T44 is about one score)",
        )


def _unclipped(spec: ProblemSpec, rows: int) -> ProblemSpec:
    """Return the problem of the squared loss with a clip that no record reaches.

    Where J(theta) <= J(0), ||theta|| <= l (`dperm.erm.rounding.minimizer_norm_bound`), and residuals are at most
    R l + 1. So the minimiser of the squared loss has no clipped gradient, and is the minimiser of this problem too.
    """
    from dperm.erm.rounding import minimizer_norm_bound

    return spec.clipped(1.01 * spec.radius * (spec.radius * minimizer_norm_bound(spec, rows) + 1))


def _coefficients(theta: Floats, data: PrivateData) -> tuple[Floats, Floats, Units, NDArray[Any] | None]:
    """Return coefficients and intercepts in the user's units, the units, and the classes."""
    coef, intercept = in_units(theta, data.space, data.labels)
    return coef, intercept, Units.of(data.space, data.labels.scale), data.labels.classes


def in_units(theta: Floats, space: FeatureSpace, labels: PublicLabels) -> tuple[Floats, Floats]:
    """Return coefficients and intercepts in the user's units, computed from ``theta`` by post-processing (T3)."""
    rows = [space.coefficients(row) for row in theta.reshape(labels.target.outputs, space.size)]
    coef = labels.scale * np.array([weights for weights, _ in rows])
    return coef, labels.scale * np.array([offset for _, offset in rows]) + labels.offset


def _run_seeded(plan: "Plan", data: PrivateData, budget: "Budget | None", seed: int) -> Release[Floats]:
    """Run with a seed, without the run's own warning: an estimator's warning names its own argument."""
    from dperm.noise import NotPrivateBits

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotPrivateWarning)
        return plan.run(lambda: data.read(plan.most_rows), budget, bits=NotPrivateBits(seed))


def warn_seeded(stacklevel: int = 3) -> None:
    """Warn that a fit with a seed is NOT PRIVATE, at the line that called it."""
    warnings.warn(
        f"this fit is NOT PRIVATE: its noise is determined by {arg('random_state')}, and anyone who knows the seed can "
        f"subtract the noise. Leave out {arg('random_state')} for real releases.",
        NotPrivateWarning,
        stacklevel=stacklevel,  # the line that called fit
    )


def _public(name: str, spec: ProblemSpec, data: PrivateData) -> dict[str, object]:
    """Return the public facts known to the estimator."""
    space = data.space
    return {
        "estimator": name,
        "n_features": space.dim,
        "columns": None if data.names is None else list(data.names),
        **space_facts(space),
        **data.labels.facts,
        "invalid": data.invalid,
        "n": spec.n,
        "clip_share": _clip_share(spec),
        **({TRANSFORMERS: list(data.fitted_transformers)} if data.fitted_transformers else {}),
        **({SCORES: data.unprotected_scores} if data.unprotected_scores else {}),
        **({ENCODERS: [schema.as_data() for schema in data.schemas]} if data.schemas else {}),
        **({ENGINE: engine} if (engine := data.engine_facts) else {}),
    }


def space_facts(space: FeatureSpace) -> dict[str, object]:
    """Return the geometry of the features as plain data."""
    return {
        "feature_norm": space.norm,
        "bounds": None if space.bounds is None else [list(pair) for pair in space.bounds],
        "intercept": space.intercept,
    }


def _clip_share(spec: ProblemSpec) -> float | None:
    """Return ``clip`` in the estimator's unit: 1.0 if nothing is clipped, None if there is no such unit."""
    if spec.clip is None:
        return 1.0 if math.isfinite(spec.loss.slope) else None
    return min(1.0, spec.clip / (spec.radius * clip_unit(spec.loss)))


def _assumptions(plan: "Plan", data: PrivateData) -> list[str]:
    """Return the public assumptions of the guarantee, as phrases."""
    declared = "n, as it was declared; it was not compared with the data" if plan.facts.public.get("n") else ""
    rows = "n, the number of records" if plan.adjacency.value == "replace_one" else declared
    released = {name for schema in data.schemas if schema.facts.release is not None for name in schema.supplied}
    released -= {"feature_norm"} if any(schema.facts.declares_norm for schema in data.schemas[:1]) else set()
    every = (
        rows,
        "the number, names and types of the columns",
        "" if "feature_norm" in released else "the bounds of the features, which were enforced",
        "the declared columns of the encoder (see transformers of the rows)" if _declares_columns(data) else "",
        TERMS_ASSUMED if _declares_terms(data) else "",
        "" if released & {"classes", "label_range"} else data.labels.assumption,
        "all parameters of the estimator, which must not have been chosen by looking at the data",
    )
    return [text for text in every if text]


def _declares_terms(data: PrivateData) -> bool:
    """Whether the rows are those of an additive model."""
    return any(isinstance(schema.facts.encoder, AdditiveEncoder) for schema in data.schemas)


def _declares_columns(data: PrivateData) -> bool:
    """Whether the rows were encoded by declarations of columns, at least in part."""
    releases = [schema.facts.release for schema in data.schemas]
    return any(release is None or bool(release.get("declared")) for release in releases)
