# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Models of raw tables: private schema and private model in one release with one guarantee (T70)."""

import os
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.utils.validation import check_is_fitted

from dperm import checks
from dperm.accounting.budget import Budget
from dperm.checks import shown
from dperm.data.arrays import Floats
from dperm.data.bounded import BoundedData, enforce, invalid_rows
from dperm.data.canonical import CanonicalColumn, canonical_column, cell_labels, label_text, row_count
from dperm.data.columns import Numeric, Unseen
from dperm.data.encoder import PublicEncoder
from dperm.data.pipeline_steps import UNKNOWN, checked_transformers, is_in_joblib_worker
from dperm.data.raw_passes import RawPasses
from dperm.data.schema import Schema, TargetSchema
from dperm.data.score_sources import checked_score_source
from dperm.data.space import FeatureSpace
from dperm.data.table_part import TablePart, common_length, joined_columns
from dperm.data.tables import column_names, raw_columns
from dperm.erm.loss import Loss
from dperm.errors import AssumptionError, DataError, DpermWarning, LeakError, ParameterError
from dperm.evaluation import Metrics
from dperm.evaluation.plan import EvaluationPlan, declared_groups, warn_few_evaluated
from dperm.evaluation.records import PrivateScores
from dperm.mechanisms.run import Run, prepare_release
from dperm.methods.declared_event import EventMethod
from dperm.methods.defaults import default_clip, descent_clip
from dperm.methods.objective import ObjectivePerturbation
from dperm.methods.plan import Plan, row_limit
from dperm.methods.sampled_gradient import SampledGradient
from dperm.noise import NotPrivateBits
from dperm.noise.bits import Bits, Stream, SystemBits
from dperm.pipeline.holdout import HOLDOUT_RULE, MOST_HOLDOUT, RecordCoins, RecordSplit
from dperm.pipeline.plan import EVALUATING, PREPARING, TRAINING, TablePlan
from dperm.preparation.plan import PrivateColumns, warn_few_records
from dperm.preparation.prepared import Encoding, PreparedTable, TargetKind
from dperm.preparation.table_columns import GroupedColumns
from dperm.presentation.spelling import arg
from dperm.presentation.user_line import level_of_user
from dperm.privacy import Adjacency, Record, Release
from dperm.privacy.digest import digest
from dperm.privacy.public_rows import planned_rows, public_rows
from dperm.report import Statement
from dperm.report import statement as make_statement
from dperm.report.engine_facts import ENGINE
from dperm.report.run_facts import SCORES
from dperm.sklearn import files, parameters
from dperm.sklearn.files import prefers_sparse
from dperm.sklearn.fit_result import FitResult, PrivateData, prepared_fit_result, without_release
from dperm.sklearn.labels import PublicLabels
from dperm.sklearn.metric_plots import MetricPlots
from dperm.sklearn.metrics import class_scores
from dperm.sklearn.table_groups import (
    CheckedRecords,
    GroupedRecords,
    LabelRule,
    RawTable,
    Scorer,
    checked_columns,
    counted_rows,
    no_training_records,
    raw_table,
    refuse_table,
    require_few_rows,
)

_STAND_IN = "any column"
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
    metrics: "Metrics | None" = None


@dataclass(frozen=True)
class _Training:
    """Public geometry of the encoded table, public facts about the labels, and plan of the training stage."""

    space: FeatureSpace
    labels: PublicLabels
    plan: Plan


@dataclass(frozen=True)
class _PrivateTable:
    """Private table, checked but not copied: columns and labels of the training records, and evaluation records."""

    columns: PrivateColumns | None
    declared: Mapping[str, object]
    labels: CanonicalColumn
    target: str
    evaluation: "_EvaluationRecords | None" = None
    unseen: Unseen = "other"
    unknown: tuple[str, ...] = ()
    scored: str = ""

    @property
    def is_evaluated(self) -> bool:
        """Whether there is an evaluation part, which may have no records."""
        return self.evaluation is not None

    @property
    def engine_facts(self) -> dict[str, str]:
        """No facts: no engine reads a table in memory."""
        return {}

    def bounded(self, encoder: PublicEncoder, space: FeatureSpace, labels: PublicLabels, most_rows: int) -> BoundedData:
        """Return the training records, encoded by a released schema."""
        table = joined_columns({} if self.columns is None else self.columns.raw, self.declared)
        features = encoder.transform(table, sparse=prefers_sparse(encoder), unseen=self.unseen)
        y = cell_labels(self.labels, labels.classes)
        if not len(y):  # the coins chose no training record
            return no_training_records(encoder, space, labels)
        return enforce(features, y, space, labels.target, invalid="drop", most_rows=most_rows)

    def metrics(self, plan: EvaluationPlan, encoder: PublicEncoder, score: Scorer, stream: Stream) -> Metrics:
        """Return the private metrics of the evaluation records."""
        assert self.evaluation is not None
        return plan.draw(score(self.evaluation.table, self.evaluation.labels), stream)

    def close(self) -> None:
        """Do nothing: the table belongs to the caller."""


@dataclass(frozen=True)
class _EvaluationRecords:
    """Records that only the evaluation reads: features as the table holds them, and labels (T71)."""

    table: Mapping[str, object]
    labels: CanonicalColumn


@dataclass(frozen=True)
class _Scorer:
    """Function of records: their labels, predictions and groups, as an evaluation reads them; picklable.

    Attributes
    ----------
    encoder
        Released encoder.
    model
        Released model.
    plan
        Plan of the evaluation, with classes or a label range.
    """

    encoder: PublicEncoder
    model: Any
    plan: EvaluationPlan

    def __call__(self, columns: Mapping[str, object], labels: CanonicalColumn) -> PrivateScores:
        """Return the records of an evaluation.

        Sparse rows are multiplied row by row, so the score of a record depends on no other record. Products of dense
        rows may differ in the last digit with the number of rows.
        """
        rows = self.encoder.transform(columns, sparse=True, unseen="other")
        some = rows.shape[0] > 0  # the coins may choose no record, and predictions of no rows would raise an error
        scores = predictions = None
        if self.plan.task is TargetKind.REGRESSION:
            predictions = self.model.predict(rows) if some else np.empty(0)
        else:
            classes = tuple(self.model.classes_.tolist())
            scores = class_scores(self.model, rows, classes) if some else np.empty((0, len(classes)))
        groups = None if self.plan.groups is None else columns[self.plan.groups.column]
        return self.plan.read(labels, scores, predictions=predictions, groups=groups)


class PrivateTableModel(MetricPlots, BaseEstimator, ABC):
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
    def _label_rule(self) -> LabelRule:
        """Return the function that raises DataError for labels outside their declaration."""

    def _features(self, columns: Sequence[str], target: str | None) -> list[str]:
        """Return the names of the feature columns."""
        return [column for column in columns if column != target]

    def _method(self, loss: Loss, records: int | None) -> EventMethod:
        """Return the method of the training stage, chosen by public numbers."""
        return SampledGradient() if loss.outputs > 1 and records is not None else ObjectivePerturbation()

    def plan(self, columns: Sequence[str], target: str | None = None, n: int | None = None) -> TablePlan:
        """Return the plan of a fit to a table with these columns, computed from public numbers alone.

        Parameters
        ----------
        columns : sequence of str
            Names of the columns of the table; the column ``target`` does not count as a feature.
        target : str, default=None
            Name of the column to predict.
        n : int, default=None
            Number of rows under replace_one, where this number is public.

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
        name = LABELS if target is None else target
        features = self._features(columns, name)
        missing = [column for column in declared if column not in features]
        if missing:
            raise DataError(f"the table must have a column named {shown(missing[0])}.")
        records = planned_rows(Adjacency.of(self.adjacency), self.n, n)
        loss = self._loss()
        invalid_rows(self.invalid)
        plan = TablePlan.for_goal(
            [column for column in features if column not in declared],
            goal,
            target=None if self._declares_labels() else name,
            task=self.task,
            method=self._method(loss, records),
            loss=loss,
            declared=declared,
            clip=self.clip,
            most_classes=self._most_classes(),
            encoding=self._encoding(len(features)),
            holdout=checks.between("holdout", self.holdout, 0, MOST_HOLDOUT, HOLDOUT_RULE),
            groups=declared_groups(self.groups, columns),
            n=records,
        )
        self._training_of(plan, self._estimator(_stand_in(plan)), columns=len(features))
        return plan

    def _training_of(self, plan: TablePlan, estimator: Any, columns: int) -> "_Training":
        """Return the plan of the training stage for an encoded table; all checks of public arguments happen here.

        ``plan`` calls this with a schema that stands in for the released one, so that no argument is refused after the
        charge.
        """
        space = estimator._space(columns, None)
        labels = estimator._planned_labels()
        spec = estimator._spec(space, labels.target, plan.training_records)
        spec = spec.clipped(descent_clip(spec) if isinstance(plan.method, SampledGradient) else default_clip(spec))
        training = plan.method.plan_from_event(spec, plan.training_event, plan.training_goal)
        return _Training(space, labels, training)

    def fit(self, X: object, y: object = None, *, target: str | None = None) -> Self:
        """Release the schema, the model and the metrics of a private table, and charge them together to ``ledger``.

        Parameters
        ----------
        X : table
            pandas or polars data frame, Arrow table, mapping of names to columns, table of any size from
            `dperm.data.table`, or Dask frame.
        y : array-like or str, default=None
            Labels, one for each record; not needed if ``target`` is given. For a table of `dperm.data.table`, the name
            of a column.
        target : str, default=None
            Name of the column of X to predict.

        Returns
        -------
        self
            Fitted model.

        Raises
        ------
        DataError
            If X is not a table with columns of equal length, or a declared column violates its declaration. Nothing is
            charged. Cell values of undeclared columns never cause an error.
        LeakError
            If scikit-learn evaluates the model on the private data and ``allow_unprotected_scores`` is False, or if a
            transformer fitted to the private data has transformed X. Nothing is charged.
        BudgetError
            If ``ledger`` does not cover the fit. Nothing is charged.
        AssumptionError
            If fewer than two classes, or no range of the labels, could be released. The charge is not refunded. The
            released schema is kept: ``schema_``, ``prepared_``, ``record_``, ``guarantee_``, ``profile_``, ``plan_``,
            ``n_records_`` and ``statement_`` are set as after a fit, but ``model_`` is not set.
        """
        if (y is None) == (target is None):
            raise ParameterError("a fit needs y, or target= with the name of a column of X, and not both.")
        raw = raw_table(X, y, target)
        if raw is not None:
            return self._fit_groups(raw)
        names, budget = column_names(X), parameters.budget_of(self.ledger)
        if target is not None and target not in names:
            raise DataError(f"the table must have a column named {shown(target)}.")
        name = target if target is not None else _name_of(y, names)
        features = self._features(names, target)
        seed = parameters.seed_of(self.random_state)
        scored = checked_score_source(self.allow_unprotected_scores)
        unknown = _unknown_transformers(budget, seeded=seed is not None)
        rows = row_count(X, features)
        plan = self.plan(
            [column for column in names if column != target],
            name,
            public_rows(Adjacency.of(self.adjacency), self.n, rows),
        )
        if plan.preparation is not None:
            warn_few_records(plan.preparation, plan.n, stacklevel=2)
        if plan.evaluation is not None and plan.n is not None:
            warn_few_evaluated(plan.evaluation, plan.holdout * plan.n, stacklevel=2)
        labels = y if target is None else next(raw_columns(X, [target]))
        bits = SystemBits() if seed is None else NotPrivateBits(seed)
        return self._run(
            plan,
            lambda: replace(self._read(plan, X, labels, name, coins=bits.stream()), unknown=unknown, scored=scored),
            budget,
            bits=bits,
            scored=scored,
        )

    def _fit_groups(self, raw: RawTable) -> Self:
        """Fit to a table in row groups; see `fit`."""
        assert raw.target is not None
        target, budget = raw.target, parameters.budget_of(self.ledger)
        seed = parameters.seed_of(self.random_state)
        scored = checked_score_source(self.allow_unprotected_scores)
        unknown = _unknown_transformers(budget, seeded=seed is not None)
        adjacency, passes, records = Adjacency.of(self.adjacency), RawPasses(raw.table), None
        try:
            rows = counted_rows(passes, raw) if adjacency is Adjacency.REPLACE_ONE else None
            plan = self.plan(raw.features, target, public_rows(adjacency, self.n, rows))
            self._require_grouped(plan)
            if plan.preparation is not None:
                warn_few_records(plan.preparation, plan.n, stacklevel=3)
            if plan.evaluation is not None and plan.n is not None:
                warn_few_evaluated(plan.evaluation, plan.holdout * plan.n, stacklevel=3)
            bits = SystemBits() if seed is None else NotPrivateBits(seed)

            def read() -> GroupedRecords:
                nonlocal records
                records = replace(
                    self._read_groups(plan, passes, target, coins=bits.stream()), unknown=unknown, scored=scored
                )
                return records

            return self._run(plan, read, budget, bits=bits, scored=scored)
        finally:
            if records is not None:
                records.close()
            passes.close()

    def _require_grouped(self, plan: TablePlan) -> None:
        """Raise ParameterError for a method that needs all rows in memory."""
        columns = len(plan.declared) + (0 if plan.preparation is None else len(plan.preparation.columns))
        training = self._training_of(plan, self._estimator(_stand_in(plan)), columns=columns).plan
        if training.rows_in_memory:
            raise ParameterError(
                argument="X",
                rule=f"must be in memory for {arg('method', training.method)}, because {training.rows_in_memory}",
                got="a table in row groups",
            )

    def _read_groups(self, plan: TablePlan, passes: RawPasses, target: str, *, coins: Stream) -> GroupedRecords:
        """Return the records of a table in row groups, after the checks of `_read`."""
        preparation = plan.preparation
        check = CheckedRecords(
            PublicEncoder(plan.declared) if plan.declared else None, self._unseen, target, self._checked_rule()
        )
        names = () if preparation is None else preparation.names
        columns = checked_columns(passes, check, counted=() if plan.holdout else names, others=(target,))
        require_few_rows(passes.rows, row_limit(plan.n))
        flips = RecordCoins.of(passes.rows, holdout=plan.holdout, stream=coins) if plan.holdout else None
        if preparation is not None and flips is not None:
            columns = GroupedColumns.of(passes, names, flips.training)
        return GroupedRecords(passes, None if preparation is None else columns, target, flips, self._unseen)

    def _read(
        self, plan: TablePlan, table: object, labels: object, target: str, *, coins: Stream | None
    ) -> "_PrivateTable":
        """Return the private table, after checking its declared parts and its number of rows.

        The declared parts of all records are checked before the coins are flipped, so that no error depends on them.
        """
        preparation = plan.preparation
        grouped = plan.evaluation.groups if plan.evaluation is not None else None
        own = () if preparation is None else preparation.columns
        names = dict.fromkeys((*own, *plan.declared, *(() if grouped is None else (grouped.column,))))
        features = dict(zip(names, raw_columns(table, names), strict=True))
        declared = {name: features[name] for name in plan.declared}
        column, count = canonical_column(labels), common_length(features)
        if len(column) != count:
            raise DataError("the features and the labels must have the same number of records.")
        if not count:
            raise DataError("the table must have at least one record.")
        require_few_rows(count, row_limit(plan.n))
        if declared:
            PublicEncoder(plan.declared).transform(declared, sparse=True, unseen=self._unseen)
        rule = self._checked_rule()
        if rule is not None:
            rule(column)
        if not plan.holdout:
            private = None if preparation is None else preparation.read(features, column)
            return _PrivateTable(private, declared, column, target, unseen=self._unseen)
        assert coins is not None
        split = RecordSplit.by_coins(count, holdout=plan.holdout, stream=coins)
        return replace(
            self._part(plan, features, column, target, split.training),
            evaluation=_EvaluationRecords(TablePart(features, split.evaluation), column.part(split.evaluation)),
        )

    def _part(
        self, plan: TablePlan, features: Mapping[str, object], labels: CanonicalColumn, target: str, rows: Any
    ) -> "_PrivateTable":
        """Return some records of a table that `_read` has checked; there may be none."""
        preparation = plan.preparation
        return _PrivateTable(
            None if preparation is None else preparation.read(features, labels, rows),
            TablePart({name: features[name] for name in plan.declared}, rows),
            labels.part(rows),
            target,
            unseen=self._unseen,
        )

    def _checked_rule(self) -> LabelRule | None:
        """Return the rule that all labels must satisfy; None if invalid labels are left out, or nothing is declared."""
        return self._label_rule() if self._declares_labels() and invalid_rows(self.invalid) == "raise" else None

    @property
    def _unseen(self) -> Unseen:
        """Treatment of values outside their declarations while the records of a fit are encoded."""
        return "raise" if invalid_rows(self.invalid) == "raise" else "other"

    def _run(
        self,
        plan: TablePlan,
        table: Callable[[], "_PrivateTable | GroupedRecords"],
        budget: Budget | None,
        *,
        bits: Bits,
        scored: str,
    ) -> Self:
        ready = prepare_release(plan.facts, table, budget=budget, bits=bits)
        with ready.charged() as run:
            with np.errstate(all="ignore"):
                found = self._draw(plan, run)
            if isinstance(found, PreparedTable):
                alone, engine = run.released(found), run.value.engine_facts
            else:
                fitted = prepared_fit_result(found, plan, run)
        if isinstance(found, PreparedTable):
            more = {**({SCORES: scored} if scored else {}), **({ENGINE: engine} if engine else {})}
            self._set_schema(alone.with_public({**alone.record.public, **more}), plan)
            raise AssumptionError(_NO_LABELS[self.task], remedy=_MORE)
        return self._set_fitted(found, fitted, plan)

    def _set_schema(self, release: Release[PreparedTable], plan: TablePlan) -> None:
        """Keep a schema without labels, whose release was charged; a model of an earlier fit is forgotten."""
        self.__dict__.pop("model_", None)
        prepared = release.value
        self.release_ = release.with_public({**release.record.public, "release": "preparation without a model"})
        record: Record | None = self.release_.record
        self.record_, self.plan_, self.prepared_ = record, plan, prepared
        self.schema_ = prepared.schema
        self.n_records_: float | None = prepared.records / (1 - plan.holdout)
        private = release.record.is_private
        self.guarantee_ = release.guarantee if private else None
        self.profile_ = release.profile if private else None
        self._set_features(prepared)

    def _set_features(self, prepared: PreparedTable) -> None:
        self.feature_names_in_ = np.array(list(prepared.encoder.columns), dtype=object)
        self.n_features_in_ = len(self.feature_names_in_)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "model_")

    def _draw(self, plan: TablePlan, run: "Run[_PrivateTable | GroupedRecords]") -> "_TrainedModel | PreparedTable":
        """Release the schema, train on the records encoded by it, and evaluate the model on other records.

        Each stage is recorded with its digest as soon as it ends.
        """
        private, stream = run.value, run.stream
        if plan.preparation is None or private.columns is None:
            prepared = PreparedTable.declared(plan.declared)
        else:
            prepared = plan.preparation.draw(private.columns, stream)
            run.record_stage(PREPARING, {"digest": digest(prepared), "features": len(prepared.encoder.feature_names)})
        estimator = self._estimator(prepared)
        if estimator is None:
            return prepared
        found = self._train(plan, private, prepared, estimator, stream)
        run.record_stage(TRAINING, {"digest": digest(found.theta)})
        if not private.is_evaluated:
            return found
        metrics = self._evaluate(plan, private, found, stream)
        run.record_stage(EVALUATING, {"digest": digest(metrics)})
        return replace(found, metrics=metrics)

    def _train(
        self,
        plan: TablePlan,
        private: "_PrivateTable | GroupedRecords",
        prepared: PreparedTable,
        estimator: Any,
        stream: Stream,
    ) -> "_TrainedModel":
        """Train on the training records, encoded by the released schema."""
        encoder = prepared.encoder
        stage = self._training_of(plan, estimator, columns=len(encoder.feature_names))
        space, labels, training = stage.space, stage.labels, stage.plan
        data = PrivateData(
            None,  # the records are read below
            None,
            space=space,
            labels=labels,
            names=None,
            invalid="drop",
            fitted_transformers=private.unknown,
            unprotected_scores=private.scored,
            engine=private.engine_facts,
        )
        bounded = private.bounded(encoder, space, labels, training.most_rows)
        known = (
            {"range": estimator.label_range} if labels.classes is None else {"classes": tuple(labels.classes.tolist())}
        )
        schema = Schema(encoder, TargetSchema(private.target, **known))
        theta = training.learn(bounded, stream)
        return _TrainedModel(
            prepared, estimator, training, theta, data=data, schema=schema, invalid=invalid_rows(self.invalid)
        )

    def _evaluate(
        self, plan: TablePlan, private: "_PrivateTable | GroupedRecords", found: "_TrainedModel", stream: Stream
    ) -> "Metrics":
        """Return private metrics of the model on records that no other stage has read (T71, T85, T88)."""
        assert plan.evaluation is not None
        encoder, estimator = found.schema.encoder, clone(found.estimator)
        model = estimator._set_fitted(without_release(found.theta, found.data), FeatureColumns(encoder))
        if self.task is TargetKind.REGRESSION:
            evaluation = plan.evaluation.with_labels(label_range=estimator.label_range)
        else:
            evaluation = plan.evaluation.with_labels(classes=model.classes_.tolist())
        return private.metrics(evaluation, encoder, _Scorer(encoder, model, evaluation), stream)

    def _set_fitted(self, found: _TrainedModel, fitted: FitResult, plan: TablePlan) -> Self:
        prepared = found.prepared
        self.model_ = found.estimator._set_fitted(fitted, FeatureColumns(prepared.encoder))
        self.schema_, self.prepared_, self.plan_ = found.schema, prepared, plan
        self.guarantee_, self.profile_, self.record_ = fitted.guarantee, fitted.profile, fitted.record
        self.n_records_ = None if plan.preparation is None else prepared.records / (1 - plan.holdout)
        self.metrics_ = found.metrics
        self.__dict__.pop("release_", None)
        self._set_features(prepared)
        self._warn_from_release(prepared, plan)
        return self

    def _warn_from_release(self, prepared: PreparedTable, plan: TablePlan) -> None:
        """Warn about a table with few records, judged by its released number where the true one is private."""
        if plan.preparation is None:
            return
        for fact in prepared.warnings:
            warnings.warn(fact.describe(arg), DpermWarning, stacklevel=level_of_user())
        needed, records = plan.preparation.records_needed, prepared.records / (1 - plan.holdout)
        if plan.goal.adjacency is Adjacency.ADD_REMOVE and not plan.warnings(plan.n) and records < needed / 4:
            warnings.warn(
                f"the table has about {max(records, 0):.0f} records by a noisy count, and needs about {needed} to "
                f"detect a range of values that contains 2 % of the records (T91). Many columns may have been left "
                f"out. Declare {arg('columns')}, or give a larger epsilon.",
                DpermWarning,
                stacklevel=level_of_user(),
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
        refuse_table(X, "predictions")
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

    def noise_interval(self, level: float = 0.95) -> tuple[Floats, Floats]:
        """Return intervals for the coefficients that the same fit would have without its noise.

        The intervals are known only if the training method adds all of its noise to the coefficients. This is the case
        for a `PrivatePipeline` whose model has ``method="output"``, but not for `PrivateTableClassifier` and
        `PrivateTableRegressor`.

        Parameters
        ----------
        level : float, default=0.95
            Coverage probability of each single interval, in (0, 1).

        Raises
        ------
        AssumptionError
            If the method does not add its noise to the coefficients. The message names the method, and suggests a fit
            with noise intervals.
        """
        check_is_fitted(self)
        low, high = self.model_.noise_interval(level)
        return low, high

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


_MORE = (
    "The charge is not refunded. Declare the target, choose the other task if its labels are of the other kind, give a "
    "larger epsilon, or use more records (T91)."
)
_NO_LABELS = {
    TargetKind.CLASSIFICATION: "the private schema has fewer than two classes of the target, so there is no model. A "
    "number is a target for a regression.",
    TargetKind.REGRESSION: "the private schema has no range of the target, so there is no model.",
}


class FeatureColumns:
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
        stacklevel=level_of_user(),
    )
    return (UNKNOWN,)


def _name_of(y: object, names: Sequence[str]) -> str:
    """Return the name of a pandas or polars series, or `LABELS`."""
    name = getattr(y, "name", None)
    if isinstance(name, str) and name and name not in names:
        return name
    if LABELS in names:
        rule = f"must have another name than {LABELS!r} for a feature, because the labels have this name"
        raise ParameterError(argument="X", rule=rule, remedy=f"Rename the column, or give {arg('target')}.")
    return LABELS


def require_declared_classes(labels: CanonicalColumn, classes: Sequence[Any]) -> None:
    """Raise DataError if a label is not a declared class."""
    codes, texts = labels.values()
    if (codes < 0).any() or not set(map(label_text, classes)).issuperset(texts):
        remedy = f"Correct the labels, or give {arg('invalid', 'drop')} to leave such records out."
        raise DataError("the labels must all be declared classes.", remedy=remedy)


def require_numbers(labels: CanonicalColumn) -> None:
    """Raise DataError if a label is not a finite number."""
    if np.isnan(labels.numbers).any():
        remedy = f"Correct the labels, or give {arg('invalid', 'drop')} to leave such records out."
        raise DataError("the labels must all be finite numbers.", remedy=remedy)


def _stand_in(plan: TablePlan) -> PreparedTable:
    """Return a table that stands in for the released one: its labels have the largest number of classes."""
    preparation = plan.preparation
    most = 2 if preparation is None else preparation.most_classes
    table = PreparedTable.declared({**plan.declared, _STAND_IN: Numeric(-1.0, 1.0, canonical=True)})
    return replace(table, classes=tuple(range(most)), label_range=(0.0, 1.0))
