# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Models of raw tables: private schema and private model in one release with one guarantee (T70)."""

import os
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self, final

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from dperm import checks
from dperm.accounting.budget import Budget
from dperm.checks import shown
from dperm.data.arrays import Floats
from dperm.data.bounded import enforce, invalid_rows, too_many_rows
from dperm.data.canonical import CanonicalColumn, canonical_cell, canonical_column, cell_labels, label_text, row_count
from dperm.data.columns import AnyColumn, Unseen
from dperm.data.encoder import PublicEncoder
from dperm.data.labels import declared_classes
from dperm.data.pipeline_steps import UNKNOWN, checked_transformers, is_in_joblib_worker
from dperm.data.schema import Schema, TargetSchema
from dperm.data.space import checked_pair
from dperm.data.tables import column_names, raw_columns
from dperm.erm.loss import Loss
from dperm.erm.losses import Logistic
from dperm.erm.residual_losses import Squared
from dperm.erm.softmax import Softmax
from dperm.errors import AssumptionError, DataError, DpermWarning, LeakError, ParameterError
from dperm.mechanisms.run import prepare_release
from dperm.methods.defaults import default_clip, descent_clip
from dperm.methods.objective import ObjectivePerturbation
from dperm.methods.plan import row_limit
from dperm.methods.sampled_gradient import SampledGradient
from dperm.noise.bits import Bits, Stream
from dperm.preparation.plan import PrivateColumns, warn_few_records
from dperm.preparation.prepared import Encoding, PreparedTable, TargetKind
from dperm.preparation.training import TablePlan
from dperm.presentation.spelling import arg
from dperm.privacy import Adjacency, Record, Release
from dperm.privacy.public_rows import planned_rows, public_rows
from dperm.report import Statement
from dperm.report import statement as make_statement
from dperm.sklearn import files, parameters
from dperm.sklearn.classifiers import PrivateLogisticRegression
from dperm.sklearn.files import prefers_sparse
from dperm.sklearn.fit_result import FitResult, PrivateData, prepared_fit_result
from dperm.sklearn.regressors import PrivateLinearRegression

LABELS = "y"
"""Name of the target where y is passed apart from the table and has no name of its own."""


@dataclass(frozen=True)
class _TrainedModel:
    """Released schema and coefficients, with the plan and the public facts of the training stage."""

    prepared: PreparedTable
    estimator: Any
    plan: Any
    theta: Floats
    data: PrivateData
    schema: Schema
    invalid: str


@dataclass(frozen=True)
class _PrivateTable:
    """Private table, checked but not copied: prepared columns, declared columns and labels."""

    columns: PrivateColumns
    declared: Mapping[str, object]
    labels: CanonicalColumn
    target: str
    unknown: tuple[str, ...] = ()


class PrivateTableModel(BaseEstimator, ABC):
    """Base class of models that prepare a raw table privately and fit a linear model to it."""

    task: ClassVar[TargetKind]

    @abstractmethod
    def _loss(self) -> Loss:
        """Return the loss of the training stage, for the largest number of classes."""

    @abstractmethod
    def _estimator(self, prepared: PreparedTable) -> Any:
        """Return the unfitted linear model for a released schema; None if the labels were not found."""

    @abstractmethod
    def _declares_labels(self) -> bool:
        """Whether the classes or the range of the target are declared."""

    @abstractmethod
    def _require_labels(self, labels: CanonicalColumn) -> None:
        """Raise DataError for labels outside their declaration."""

    def plan(self, columns: Sequence[str], target: str | None = None, n: int | None = None) -> TablePlan:
        """Return the plan of a fit to a table with these columns, computed from public numbers alone.

        Parameters
        ----------
        columns : sequence of str
            Names of the columns; ``target`` does not count as a feature.
        target : str, default=None
            Name of the column to predict.
        n : int, default=None
            Number of rows under replace_one, where it is public.

        Returns
        -------
        TablePlan
            Plan with ``event``, ``why``, ``preparation`` and ``training_goal``.
        """
        goal = parameters.goal_of(self.epsilon, self.delta, self.adjacency)
        if goal is None:
            rule = "must be finite: a private schema needs noise"
            raise ParameterError(argument="epsilon", rule=rule, remedy="Choose 1.0, for example.")
        declared = dict(PublicEncoder(self.columns).columns) if self.columns else {}
        name = target or LABELS
        features = [column for column in columns if column != name]
        missing = [column for column in declared if column not in features]
        if missing:
            raise DataError(f"the table must have a column named {shown(missing[0])}.")
        records = planned_rows(Adjacency.of(self.adjacency), self.n, n)
        method = SampledGradient() if self._loss().outputs > 1 and records is not None else ObjectivePerturbation()
        return TablePlan.for_goal(
            [column for column in features if column not in declared],
            goal,
            target=None if self._declares_labels() else name,
            task=self.task,
            method=method,
            loss=self._loss(),
            declared=declared,
            clip=self.clip,
            most_classes=self._most_classes(),
            encoding=self._encoding(len(features)),
            n=records,
        )

    def fit(self, X: object, y: object = None, *, target: str | None = None) -> Self:
        """Release the schema of a private table and a model of it, and charge both together to ``ledger``.

        Parameters
        ----------
        X : table
            pandas or polars data frame, Arrow table, or mapping of names to columns.
        y : array-like, default=None
            Labels, one for each record.
        target : str, default=None
            Column of X to predict, instead of y.

        Returns
        -------
        self
            Fitted model.

        Raises
        ------
        DataError
            If X is not a table with columns of equal length, or a declared column violates its declaration. Nothing is
            charged. Cell values of other columns never cause an error.
        BudgetError
            If ``ledger`` does not cover the fit. Nothing is charged.
        AssumptionError
            If fewer than two classes, or no range of the labels, could be released. The charge is not refunded. The
            released schema is kept: ``schema_``, ``prepared_``, ``record_``, ``guarantee_``, ``profile_``, ``plan_``,
            ``n_records_`` and ``statement_`` are set as after a fit. There is no ``model_``.
        """
        if (y is None) == (target is None):
            raise ParameterError("a fit needs y, or target= with the name of a column of X, and not both.")
        names, budget = column_names(X), parameters.budget_of(self.ledger)
        if target is not None and target not in names:
            raise DataError(f"the table must have a column named {shown(target)}.")
        name = target if target is not None else _name_of(y, names)
        features = [column for column in names if column != target]
        seed = parameters.seed_of(self.random_state)
        unknown = _unknown_transformers(budget, seeded=seed is not None)
        rows = row_count(X, features)
        plan = self.plan(features, name, public_rows(Adjacency.of(self.adjacency), self.n, rows))
        warn_few_records(plan.preparation, plan.n, stacklevel=2)
        labels = y if target is None else next(raw_columns(X, [target]))
        return self._run(plan, lambda: replace(self._read(plan, X, labels, name), unknown=unknown), budget, seed)

    def _read(self, plan: TablePlan, table: object, labels: object, target: str) -> "_PrivateTable":
        """Return the private table, after checking its declared parts and its number of rows."""
        preparation = plan.preparation
        private = preparation.read(table, labels)
        if private.rows > row_limit(plan.n):
            raise too_many_rows(row_limit(plan.n))
        declared = dict(zip(preparation.declared, raw_columns(table, preparation.declared), strict=True))
        if declared:
            unseen: Unseen = "raise" if invalid_rows(self.invalid) == "raise" else "other"
            encoded = PublicEncoder(preparation.declared).transform(declared, sparse=True, unseen=unseen)
            if encoded.shape[0] != private.rows:
                raise DataError("all columns of the table must have the same length.")
        column = canonical_column(labels)
        if len(column) != private.rows:
            raise DataError("the features and the labels must have the same number of records.")
        if self._declares_labels() and invalid_rows(self.invalid) == "raise":
            self._require_labels(column)
        return _PrivateTable(private, declared, column, target)

    def _run(
        self, plan: TablePlan, table: Callable[[], "_PrivateTable"], budget: Budget | None, seed: int | None
    ) -> Self:
        bits: Bits | None = None
        if seed is not None:
            from dperm.noise import NotPrivateBits

            bits = NotPrivateBits(seed)
        ready = prepare_release(plan.facts, table, budget=budget, bits=bits)
        with ready.charged() as run:
            with np.errstate(all="ignore"):
                found = self._draw(plan, run.value, run.stream)
            if isinstance(found, PreparedTable):
                alone = run.released(found)
            else:
                fitted = prepared_fit_result(found, plan, run)
        if isinstance(found, PreparedTable):
            self._set_schema(alone, plan)
            raise AssumptionError(_NO_LABELS[self.task], remedy=_MORE)
        return self._set_fitted(found, fitted, plan)

    def _set_schema(self, release: Release[PreparedTable], plan: TablePlan) -> None:
        """Keep a schema without labels, whose release was charged; a model of an earlier fit is forgotten."""
        self.__dict__.pop("model_", None)
        prepared = release.value
        self.release_ = release.with_public({**release.record.public, "release": "preparation without a model"})
        record: Record | None = self.release_.record
        self.record_, self.plan_, self.prepared_ = record, plan, prepared
        self.schema_, self.n_records_ = prepared.schema, prepared.records
        private = release.record.is_private
        self.guarantee_ = release.guarantee if private else None
        self.profile_ = release.profile if private else None
        self._set_features(prepared)

    def _set_features(self, prepared: PreparedTable) -> None:
        self.feature_names_in_ = np.array(list(prepared.encoder.columns), dtype=object)
        self.n_features_in_ = len(self.feature_names_in_)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "model_")

    def _draw(self, plan: TablePlan, private: "_PrivateTable", stream: Stream) -> "_TrainedModel | PreparedTable":
        """Release the schema, and train on the table encoded by it."""
        prepared = plan.preparation.draw(private.columns, stream)
        estimator = self._estimator(prepared)
        if estimator is None:
            return prepared
        encoder = prepared.encoder
        table = {**private.columns.raw, **private.declared}
        unseen: Unseen = "raise" if invalid_rows(self.invalid) == "raise" else "other"
        features = encoder.transform(table, sparse=prefers_sparse(encoder), unseen=unseen)
        space = estimator._space(features.shape[1], None)
        labels = estimator._planned_labels()
        spec = estimator._spec(space, labels.target, plan.n)
        spec = spec.clipped(descent_clip(spec) if isinstance(plan.method, SampledGradient) else default_clip(spec))
        training = plan.method.plan_from_event(spec, plan.training_event, plan.training_goal)
        y = cell_labels(private.labels, labels.classes)
        data = PrivateData(
            features,
            y,
            space=space,
            labels=labels,
            names=None,
            invalid="drop",
            fitted_transformers=private.unknown,
        )
        bounded = enforce(features, y, space, labels.target, invalid="drop", most_rows=training.most_rows)
        known = (
            {"range": estimator.label_range} if labels.classes is None else {"classes": tuple(labels.classes.tolist())}
        )
        schema = Schema(encoder, TargetSchema(private.target, **known))
        theta = training.learn(bounded, stream)
        return _TrainedModel(prepared, estimator, training, theta, data, schema, invalid_rows(self.invalid))

    def _set_fitted(self, found: _TrainedModel, fitted: FitResult, plan: TablePlan) -> Self:
        prepared = found.prepared
        self.model_ = found.estimator._set_fitted(fitted, _FeatureColumns(prepared.encoder))
        self.schema_, self.prepared_, self.plan_ = found.schema, prepared, plan
        self.guarantee_, self.profile_, self.record_ = fitted.guarantee, fitted.profile, fitted.record
        self.n_records_ = prepared.records
        self.__dict__.pop("release_", None)
        self._set_features(prepared)
        self._warn_from_release(prepared, plan)
        return self

    def _warn_from_release(self, prepared: PreparedTable, plan: TablePlan) -> None:
        """Warn about a table with few records, judged by its released number where the true one is private."""
        needed = plan.preparation.records_needed
        warned = bool(plan.preparation.warnings(plan.n))
        if plan.goal.adjacency is Adjacency.ADD_REMOVE and not warned and prepared.records < needed / 4:
            warnings.warn(
                f"the preparation found about {max(prepared.records, 0):.0f} records, and needs about {needed} to "
                f"detect a range of values that contains 2 % of the records (T91). Many columns may have been left "
                f"out. Declare {arg('columns')}, or give a larger epsilon.",
                DpermWarning,
                stacklevel=4,
            )

    def predict(self, X: object) -> NDArray[Any]:
        """Return one prediction for each row of a table.

        Parameters
        ----------
        X : table
            Table with the columns of the fit. Unseen and missing values are allowed.

        Returns
        -------
        ndarray of shape (n_samples,)
            Predictions.
        """
        rows = self._encoded(X)
        return np.asarray(self.model_.predict(rows))

    def _encoded(self, X: object) -> Any:
        check_is_fitted(self)
        encoder = self.schema_.encoder
        return encoder.transform(X, sparse=prefers_sparse(encoder), unseen="other")

    @property
    def statement_(self) -> Statement:
        """All fields of the privacy statement on the schema and the model; without a model, on the schema alone."""
        if "release_" in self.__dict__:
            return make_statement(self.release_)
        check_is_fitted(self)
        statement: Statement = self.model_.statement_
        return statement

    def write_statement(
        self, path: str | os.PathLike[str], *, fields: Mapping[str, object] | None = None, overwrite: bool = False
    ) -> None:
        """Write the privacy statement on the schema and the model to a file.

        Parameters
        ----------
        path : str or path-like
            File to write; its suffix sets the format: .html, .md or .json.
        fields : mapping, default=None
            Fields that only the user can know, such as curator.
        overwrite : bool, default=False
            Whether to replace an existing file.
        """
        check_is_fitted(self)
        self.model_.write_statement(path, fields=fields, overwrite=overwrite)

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        """Write the schema and the model to one file, which `load_model` and ``dperm predict`` read.

        Parameters
        ----------
        path : str or path-like
            File to write.
        overwrite : bool, default=False
            Whether to replace an existing file.

        Raises
        ------
        ParameterError
            If ``path`` exists and ``overwrite`` is False.
        """
        check_is_fitted(self)
        try:
            files.save(self.model_, path, schema=self.schema_, overwrite=overwrite)
        except FileExistsError:
            raise ParameterError(
                argument="path", rule="must be a new file", remedy=f"Give {arg('overwrite', True)} to replace it."
            ) from None

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.no_validation = True  # cells are read one by one
        tags.non_deterministic = True
        tags.input_tags.categorical = tags.input_tags.string = tags.input_tags.allow_nan = True
        return tags

    def _most_classes(self) -> int:
        return 2

    def _encoding(self, columns: int) -> Encoding:
        """Return the encoding of the prepared columns, chosen by the public number of feature columns."""
        return Encoding.of(self.encoding, columns)

    def _fixed_parameters(self, prepared: PreparedTable) -> dict[str, Any]:
        """Return the parameters of the linear model that do not depend on the labels."""
        prepared_columns = any(column.canonical for column in prepared.encoder.columns.values())
        return {
            "epsilon": self.epsilon,
            "delta": self.delta,
            "adjacency": Adjacency.of(self.adjacency).value,
            "feature_norm": prepared.norm,
            # the constant is in the span of the indicators of prepared columns (T75)
            "fit_intercept": prepared.rows is not None or not prepared_columns,
            "clip": self.clip,
            "n": self.n,
            "invalid": "drop",
        }


@final
class PrivateTableClassifier(ClassifierMixin, PrivateTableModel):
    """Logistic regression on a raw table, without public bounds, categories or classes.

    One release with one guarantee contains a private schema (kinds, ranges, bins, categories and classes, T72-T75) and
    a model of the encoded table. All noise levels are fixed, and the budget is checked, before the table is read (T70).
    The budget is charged before any noise is drawn. The column names must be public, and under replace_one also the
    number of records.

    Parameters
    ----------
    epsilon : float, default=1.0
        Privacy-loss bound of the schema and the model together.
    delta : float, default=1e-6
        Delta of the guarantee, greater than 0.
    adjacency : {"replace_one", "add_remove"}, default="replace_one"
        Neighbouring relation.
    columns : mapping of str to Numeric or Categorical, default=None
        Public declarations of some columns, which cost nothing.
    classes : sequence of labels, default=None
        Public labels, which cost nothing; None finds them privately.
    most_classes : int, default=2
        Upper limit on the number of classes; it must be public. Records of rarer classes contribute nothing.
    encoding : {"auto", "bins", "scaled"}, default="auto"
        Encoding of prepared columns of numbers. "bins" uses indicators of bins in addition to the scaled number (T75).
        "scaled" uses the scaled number alone, (x - median) / spread clipped to [-1, 1]. "scaled" suits wide tables:
        rows are scaled down to a private median of their norms (T76). "auto" chooses "scaled" for more than 200 feature
        columns, and "bins" otherwise.
    clip : float, default=None
        Clipping norm of a record's gradient, as in `PrivateLogisticRegression`.
    n : int, default=None
        Public number of records under add_remove; never compared with the data.
    invalid : {"raise", "drop"}, default="raise"
        With "drop", values outside the declarations of ``columns`` count as missing or other, and records with labels
        outside ``classes`` contribute nothing.
    ledger : Ledger or budget in memory, default=None
        Budget to which a fit is charged.
    random_state : int, Generator or RandomState, default=None
        Seed, which makes the fit reproducible and NOT PRIVATE.

    Attributes
    ----------
    model_ : PrivateLogisticRegression
        Fitted model of the encoded table.
    schema_ : Schema
        Released schema: encoder and classes.
    classes_ : ndarray
        Classes found, sorted.
    guarantee_ : ApproxDP or None
        Guarantee of the schema and the model together; None for a seeded fit.
    profile_, record_, statement_
        Privacy profile, public facts and statement of the release.
    plan_ : TablePlan
        Plan made from public numbers.
    n_records_ : float
        Noisy number of records.

    Examples
    --------
    >>> import numpy as np
    >>> from dperm.sklearn import PrivateTableClassifier
    >>> rng = np.random.default_rng(0)
    >>> age, work = rng.integers(18, 90, 20_000), rng.choice(["private", "public"], 20_000)
    >>> table = {"age": age, "work": work, "income": np.where(age + 40 * (work == "public") > 70, "high", "low")}
    >>> model = PrivateTableClassifier(epsilon=1.0, delta=1e-6).fit(table, target="income")
    >>> model.guarantee_
    ApproxDP(epsilon=1.0, delta=1e-06, adjacency=REPLACE_ONE)
    >>> model.predict({"age": [20, 80], "work": ["private", "public"]}).tolist()
    ['low', 'high']
    """

    task: ClassVar[TargetKind] = TargetKind.CLASSIFICATION

    def __init__(
        self,
        *,
        epsilon: float = 1.0,
        delta: float = 1e-6,
        adjacency: Adjacency | str = "replace_one",
        columns: Mapping[str, AnyColumn] | None = None,
        classes: Sequence[Any] | None = None,
        most_classes: int = 2,
        encoding: str = "auto",
        clip: float | None = None,
        n: int | None = None,
        invalid: str = "raise",
        ledger: Any = None,
        random_state: Any = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.adjacency = adjacency
        self.columns = columns
        self.classes = classes
        self.most_classes = most_classes
        self.encoding = encoding
        self.clip = clip
        self.n = n
        self.invalid = invalid
        self.ledger = ledger
        self.random_state = random_state

    def predict_proba(self, X: object) -> Floats:
        """Return the probabilities of the classes, one column per class.

        Parameters
        ----------
        X : table
            Table with the columns of the fit.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Probabilities, in the order of ``classes_``.
        """
        rows = self._encoded(X)
        return np.asarray(self.model_.predict_proba(rows))

    def decision_function(self, X: object) -> Floats:
        """Return the scores of the rows.

        Parameters
        ----------
        X : table
            Table with the columns of the fit.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            With two classes, one score per row, positive for ``classes_[1]``; with more, one column per class.
        """
        rows = self._encoded(X)
        return np.asarray(self.model_.decision_function(rows))

    @property
    def classes_(self) -> NDArray[Any]:
        """Classes found, sorted."""
        classes: NDArray[Any] = self.model_.classes_
        return classes

    def _declares_labels(self) -> bool:
        return self.classes is not None

    def _require_labels(self, labels: CanonicalColumn) -> None:
        codes, texts = labels.values()
        known = set(map(label_text, _distinct_classes(self.classes)))
        if (codes < 0).any() or not known.issuperset(texts):
            remedy = f"Correct the labels, or give {arg('invalid', 'drop')} to leave such records out."
            raise DataError("the labels must all be declared classes.", remedy=remedy)

    def _most_classes(self) -> int:
        if self.classes is not None:
            return len(_distinct_classes(self.classes))
        return checks.count("most_classes", self.most_classes, _MOST_CLASSES, least=2, most=1000)

    def _loss(self) -> Loss:
        return Logistic() if self._most_classes() == 2 else Softmax(self._most_classes())

    def _estimator(self, prepared: PreparedTable) -> Any:
        found = prepared.classes if self.classes is None else tuple(_distinct_classes(self.classes))
        if found is None or len(found) < 2:
            return None
        return PrivateLogisticRegression(**self._fixed_parameters(prepared), classes=found)

    def _warn_from_release(self, prepared: PreparedTable, plan: TablePlan) -> None:
        super()._warn_from_release(prepared, plan)
        if self._declares_labels():
            return
        found = len(prepared.values[prepared.target].counts)  # type: ignore[index]  # values of the target
        if found > self._most_classes():
            warnings.warn(
                f"the preparation found {found} classes, more than {arg('most_classes', self._most_classes())}: the "
                f"model knows the most frequent ones only.",
                DpermWarning,
                stacklevel=4,
            )


@final
class PrivateTableRegressor(RegressorMixin, PrivateTableModel):
    """Linear regression on a raw table, without public bounds, categories or range of the target.

    One release with one guarantee contains a private schema, which includes the range of the labels, and a model of the
    encoded table. See `PrivateTableClassifier`.

    Parameters
    ----------
    epsilon, delta, adjacency, columns, encoding, clip, n, invalid, ledger, random_state
        See `PrivateTableClassifier`.
    label_range : (low, high), default=None
        Public range of the labels, which costs nothing; None finds it privately.
    clip_predictions : bool, default=True
        Whether ``predict`` clips predictions to the range of the labels.

    Attributes
    ----------
    model_ : PrivateLinearRegression
        Fitted model of the encoded table.
    schema_, guarantee_, profile_, record_, statement_, plan_, n_records_
        See `PrivateTableClassifier`.

    Examples
    --------
    >>> from dperm.sklearn import PrivateTableRegressor
    >>> plan = PrivateTableRegressor(epsilon=1.0, delta=1e-6, adjacency="add_remove").plan(["carat", "cut"], "price")
    >>> plan.goal
    ApproxDP(epsilon=1.0, delta=1e-06, adjacency=ADD_REMOVE)
    """

    task: ClassVar[TargetKind] = TargetKind.REGRESSION

    def __init__(
        self,
        *,
        epsilon: float = 1.0,
        delta: float = 1e-6,
        adjacency: Adjacency | str = "replace_one",
        columns: Mapping[str, AnyColumn] | None = None,
        label_range: tuple[float, float] | None = None,
        clip_predictions: bool = True,
        encoding: str = "auto",
        clip: float | None = None,
        n: int | None = None,
        invalid: str = "raise",
        ledger: Any = None,
        random_state: Any = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.adjacency = adjacency
        self.columns = columns
        self.label_range = label_range
        self.clip_predictions = clip_predictions
        self.encoding = encoding
        self.clip = clip
        self.n = n
        self.invalid = invalid
        self.ledger = ledger
        self.random_state = random_state

    def _loss(self) -> Loss:
        checks.truth("clip_predictions", self.clip_predictions)
        return Squared()

    def _estimator(self, prepared: PreparedTable) -> Any:
        found = prepared.label_range if self.label_range is None else checked_pair("label_range", self.label_range)
        if found is None:
            return None
        return PrivateLinearRegression(
            **self._fixed_parameters(prepared), label_range=found, clip_predictions=self.clip_predictions
        )

    def _declares_labels(self) -> bool:
        return self.label_range is not None

    def _require_labels(self, labels: CanonicalColumn) -> None:
        if np.isnan(labels.numbers).any():
            remedy = f"Correct the labels, or give {arg('invalid', 'drop')} to leave such records out."
            raise DataError("the labels must all be finite numbers.", remedy=remedy)


_MOST_CLASSES = "It is the upper limit on the number of classes, at least 2, and must be public."
_MORE = (
    "The charge is not refunded. Declare the target, choose the other task if its labels are of the other kind, give a "
    "larger epsilon, or use more records (T91)."
)
_NO_LABELS = {
    TargetKind.CLASSIFICATION: "the private schema has fewer than two classes of the target, so there is no model. A "
    "number is a target for a regression.",
    TargetKind.REGRESSION: "the private schema has no range of the target, so there is no model.",
}


class _FeatureColumns:
    """Number and names of encoded features, in scikit-learn's attributes."""

    def __init__(self, encoder: PublicEncoder) -> None:
        self.n_features_in_ = len(encoder.feature_names)


def _unknown_transformers(budget: Budget | None, *, seeded: bool) -> tuple[str, ...]:
    """Return the name of transformers that cannot be detected in a joblib worker; empty elsewhere.

    Raises
    ------
    LeakError
        If a pipeline transforms the table before this fit by a transformer that learnt from the data, privately or not.
        Nothing is charged.
    """
    for facts in checked_transformers(budget=budget, seeded=seeded, labels=True):
        raise LeakError(
            f"X was transformed by a {facts.name} that was fitted to the private data, and this model prepares the "
            "table itself: its guarantee would not cover the other release.",
            remedy=f"Fit this model to the raw table, without the {facts.name}.",
        )
    if not is_in_joblib_worker():
        return ()
    warnings.warn(
        "fitted in a joblib worker: transformers before the model cannot be seen. If a pipeline fitted one to the "
        "private data, no guarantee covers it, so the statement does not rate the protection. Fit with n_jobs=None to "
        "have the pipeline checked.",
        DpermWarning,
        stacklevel=3,
    )
    return (UNKNOWN,)


def _distinct_classes(classes: Sequence[Any] | None) -> list[Any]:
    """Return the declared classes; raise ParameterError for classes that are equal or missing as cells."""
    declared: list[Any] = declared_classes(classes).tolist()
    texts = [label_text(label) for label in declared]
    if len(set(texts)) < len(texts) or any(canonical_cell(label) is None for label in declared):
        rule = "must be different labels when they are read cell by cell, and none may be a missing value such as 'NA'"
        raise ParameterError(argument="classes", rule=rule, remedy="'01', 1 and True are one label. Rename them.")
    return declared


def _name_of(y: object, names: Sequence[str]) -> str:
    """Return the name of a pandas or polars series, or `LABELS`."""
    name = getattr(y, "name", None)
    if isinstance(name, str) and name and name not in names:
        return name
    if LABELS in names:
        rule = f"must have another name than {LABELS!r} for a feature, because the labels have this name"
        raise ParameterError(argument="X", rule=rule, remedy=f"Rename the column, or give {arg('target')}.")
    return LABELS
