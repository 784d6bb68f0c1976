# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Trials of a private search: plans, training runs and predictions of each kind of estimator (T93).

The rules of the data are checked for all records before the charge. After the charge, no record raises an error where
validation records are predicted: an invalid record has grade 0.
"""

import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import clone, is_classifier
from sklearn.utils import _safe_indexing

from dperm.accounting.event import Event
from dperm.accounting.events import Approximate
from dperm.checks import shown
from dperm.data import inputs
from dperm.data.bounded import invalid_rows
from dperm.data.canonical import CanonicalColumn, canonical_column, row_count
from dperm.data.encoded import facts_of
from dperm.data.space import checked_pair
from dperm.data.table_part import TablePart
from dperm.data.tables import column_names, raw_columns
from dperm.errors import AssumptionError, DataError, ParameterError
from dperm.methods.objective import ObjectivePerturbation
from dperm.methods.plan import row_limit
from dperm.noise import NotPrivateBits
from dperm.noise.bits import SystemBits
from dperm.pipeline.search import FRACTION, WHOLE, EventMismatchError, Grades
from dperm.preparation.prepared import TargetKind
from dperm.presentation.spelling import arg
from dperm.privacy import Adjacency, ApproxDP, Release
from dperm.sklearn.auto import supplied_arguments
from dperm.sklearn.base import PrivateLinearModel
from dperm.sklearn.fit_result import PrivateData, fit_private
from dperm.sklearn.table_fit import LABELS, PrivateTableModel

Rows = NDArray[np.int64]
_DEVIATION = "objective_noise_standard_deviation"
"""Public number of a plan of objective perturbation."""
SET_BY_THE_SEARCH = (
    *("epsilon", "delta", "adjacency", "n", "holdout", "ledger", "random_state"),
    *("groups", "allow_unprotected_scores", "fitted_transformers"),
)
"""Parameters of the estimator that the search sets; they are not settings."""
SAME_FOR_ALL = ("classes", "label_range", "invalid", "columns", "class_weight")
"""Parameters that declare or limit the data. They are the same for all trials, and no settings."""


@dataclass(frozen=True)
class TrainingFunction:
    """Private training by a function, for example of a PyTorch model, as the estimator of `PrivateSearch`.

    Parameters
    ----------
    train
        Function ``train(setting, records, goal)`` that returns a model. It reads ``records.X`` and ``records.y`` and
        meets ``goal``, also if there are no records. Whether it raises an error may depend only on released values. It
        may return a `Release` of the model.
    task
        "classification" or "regression".
    label_range
        Public range of the labels of a regression.
    events
        Function ``events(setting, goal)`` that returns the event of the training; None accounts for (epsilon, delta)
        alone, which costs more.
    predict
        Function ``predict(model, X)`` with one prediction for each record, computed from this record alone; None
        calls ``model.predict(X)``.
    """

    train: Callable[..., Any]
    task: str = "classification"
    label_range: tuple[float, float] | None = None
    events: Callable[..., Event] | None = None
    predict: Callable[..., Any] | None = None


@dataclass(frozen=True)
class TrainingRecords:
    """Training records of a trial, as `PrivateSearch` passes them to a training function.

    Attributes
    ----------
    X, y
        Features and labels, one entry for each record.
    """

    X: Any = field(repr=False)
    y: Any = field(repr=False)


@dataclass
class SettingTrials(ABC):
    """Plans, training runs and predictions of one search.

    Attributes
    ----------
    estimator
        Unfitted estimator.
    settings
        Settings of the search.
    adjacency
        Neighbouring relation.
    n
        Number of training records for the plan; None if it is private and not declared.
    """

    estimator: Any
    settings: tuple[Mapping[str, object], ...]
    adjacency: Adjacency
    n: int | None
    _labels: CanonicalColumn = field(init=False, repr=False)

    @abstractmethod
    def event(self, place: int, goal: ApproxDP) -> Event:
        """Return the event of a training run with the setting at ``place`` that meets ``goal``."""

    @abstractmethod
    def read(self, X: Any, y: Any, target: str | None) -> None:
        """Check the data against the rules that hold for all records, and keep them; nothing is charged before."""

    @abstractmethod
    def train(self, place: int, goal: ApproxDP, rows: Rows, seed: int | None) -> Any:
        """Return a model trained on some of the records with fresh randomness, or from a seed."""

    @abstractmethod
    def predictions(self, model: Any, rows: Rows) -> tuple[Any, NDArray[np.bool_]]:
        """Return the predictions of some records, at least one, and which of them are valid."""

    @property
    def key(self) -> object:
        """Hash of the public facts that a plan depends on; a new object if they have none."""
        facts = (getattr(self, name, None) for name in ("n", "dim", "names", "columns", "target"))
        known = self.estimator.get_params() if hasattr(self.estimator, "get_params") else vars(self.estimator)
        from joblib import hash as hash_of  # type: ignore[import-untyped]

        try:
            return hash_of((type(self.estimator).__name__, known, *facts))
        except Exception:  # a method object or function that cannot be pickled
            return object()

    @property
    def task(self) -> TargetKind:
        """Kind of the target."""
        return TargetKind.CLASSIFICATION if is_classifier(self.estimator) else TargetKind.REGRESSION

    @property
    def label_range(self) -> tuple[float, float] | None:
        """Public range of the labels of a regression."""
        return checked_label_range(getattr(self.estimator, "label_range", None)) if self._is_regression else None

    @property
    def labels(self) -> CanonicalColumn:
        """Labels of all records."""
        return self._labels

    @property
    def _is_regression(self) -> bool:
        return self.task is TargetKind.REGRESSION

    def grades(self, model: Any, rows: Rows) -> Grades:
        """Return the grade of each of the records, from 0 to `WHOLE` (T93).

        A classification has `WHOLE` for a right prediction and 0 for a wrong one. A regression has (1 - e^2) `WHOLE`,
        with the error e in units of half the label range, clipped to [-1, 1]. Invalid records have 0.
        """
        if not len(rows):  # the coins may choose no record, and predictions of no rows would raise an error
            return np.empty(0, dtype=np.int64)
        found, valid = self.predictions(model, rows)
        labels = self.labels.part(rows)
        if self.label_range is None:
            return np.where(valid & _same_labels(labels, found), WHOLE, 0)
        return np.where(valid, squared_grades(labels.numbers, found, self.label_range), 0)

    def new_estimator(self, place: int, goal: ApproxDP, **more: Any) -> Any:
        """Return the unfitted estimator with the setting at ``place``, for a training run that meets ``goal``."""
        known = {
            **self.settings[place],
            "epsilon": goal.epsilon,
            "delta": goal.delta,
            "adjacency": self.adjacency.value,
            **more,
        }
        if self.adjacency is Adjacency.ADD_REMOVE and self.n is not None:
            known["n"] = self.n
        try:
            return clone(self.estimator).set_params(**known)
        except ValueError as error:
            if isinstance(error, ParameterError):
                raise
            rule = f"must name parameters of {type(self.estimator).__name__}"
            raise ParameterError(argument="settings", rule=rule, got=shown(list(self.settings[place]))) from None


@dataclass
class LinearTrials(SettingTrials):
    """Trials of a private linear model. Plans are made once for each setting and guarantee.

    Attributes
    ----------
    dim, names
        Number and names of the features.
    gaussian
        Whether ``method="auto"`` takes Gaussian noise where it would take noise with a pure guarantee. For one fit to
        few features the pure noise is smaller, but many training runs with pure guarantees cost more (T84).
    """

    dim: int | None = None
    names: inputs.Names = None
    gaussian: bool = False

    def event(self, place: int, goal: ApproxDP) -> Event:
        """Return the event of the plan of a fit."""
        event: Event = self._planned(place, goal)[-1].event
        return event

    def _planned(self, place: int, goal: ApproxDP) -> Any:
        model = self.new_estimator(place, goal)
        require_labels(model)
        dim = self.dim
        if dim is None:
            from dperm.sklearn.parameters import dim_of

            dim = dim_of(model.bounds)
        space, labels = model._space(dim, self.names), model._planned_labels()
        spec = model._spec(space, labels.target, self.n)
        plan = model._plan_in_units(spec, space, labels)
        if self.gaussian and model.method == "auto" and _has_pure_noise(plan):
            model.set_params(method=ObjectivePerturbation(noise="gaussian"))
            plan = model._plan_in_units(spec, space, labels)
        return model, space, labels, plan

    def has_pure_noise(self, goal: ApproxDP) -> bool:
        """Whether the plan of a setting has noise with a pure guarantee, chosen by ``method="auto"``."""
        found = (self._planned(place, goal) for place in range(len(self.settings)))
        return any(model.method == "auto" and _has_pure_noise(plan) for model, _, _, plan in found)

    def noise(self, goal: ApproxDP) -> float:
        """Return the mean standard deviation of the noise of the objective over all settings that have one."""
        plans = (self._planned(place, goal)[-1].describe() for place in range(len(self.settings)))
        return float(np.mean([plan[_DEVIATION] for plan in plans if _DEVIATION in plan]))

    def read(self, X: Any, y: Any, target: str | None) -> None:
        """Check shape and finiteness of X, and the labels."""
        if target is not None:
            rule = f"applies only to models of raw tables, not to {type(self.estimator).__name__}"
            raise ParameterError(argument="target", rule=rule, remedy="Give y.")
        table, goal = inputs.two_dimensional(X), ApproxDP(1.0, 1e-6, self.adjacency)
        inputs.checked_shape(table, public=self.adjacency is Adjacency.REPLACE_ONE)
        y = inputs.required(y)
        model, space, labels, plan = self._planned(0, goal)
        self._private(table, y, space, labels, model.invalid).read(
            plan.most_rows if plan.row_bound else row_limit(plan.spec.n)
        )
        matrix = inputs.numeric(table)
        self._matrix = matrix.tocsr() if sparse.issparse(matrix) else np.asarray(matrix)
        self._y = inputs.numbers_of(y) if self._is_regression else inputs.labels_of(y)
        self._labels = canonical_column(self._y)
        self._plans: dict[tuple[int, ApproxDP], Any] = {}

    def _private(self, X: Any, y: Any, space: Any, labels: Any, invalid: str) -> PrivateData:
        return PrivateData(X, y, space=space, labels=labels, names=self.names, invalid=invalid_rows(invalid))

    def train(self, place: int, goal: ApproxDP, rows: Rows, seed: int | None) -> Any:
        """Return the linear model of some of the records."""
        if (place, goal) not in self._plans:
            self._plans[place, goal] = self._planned(place, goal)
        model, space, labels, plan = self._plans[place, goal]
        model = clone(model).set_params(random_state=seed)
        data = self._private(self._matrix[rows], self._y[rows], space, labels, model.invalid)
        if not len(rows):  # the coins chose no training record: one record of weight 0 stands for none
            data = self._private(np.full((1, space.dim), np.nan), self._y[:1], space, labels, "drop")
        parameters = model.get_params(deep=False)
        name = type(model).__name__
        fitted = fit_private(plan, data, name=name, parameters=parameters, budget=None, seed=seed)
        if not len(rows):
            fitted = fitted.with_public({**fitted.public, "invalid": invalid_rows(model.invalid)})
        method = self.settings[place].get("method", self.estimator.method)
        return model.set_params(method=method)._set_fitted(fitted, _Columns(space.dim, self.names))

    def predictions(self, model: Any, rows: Rows) -> tuple[Any, NDArray[np.bool_]]:
        """Return the predictions; rows with NaN or infinities are invalid."""
        part: Any = self._matrix[rows]
        values = part.data if sparse.issparse(part) else part
        valid = np.ones(len(rows), dtype=bool)
        if not np.isfinite(values).all():
            dense = part.toarray() if sparse.issparse(part) else part
            valid = np.isfinite(dense).all(axis=1)
            part = np.where(valid[:, None], dense, 0.0)
        return model.predict(part), valid


def _has_pure_noise(plan: Any) -> bool:
    return bool(plan.describe().get("objective_noise") == "gamma norm")


@dataclass
class TableTrials(SettingTrials):
    """Trials of a model of a raw table, whose private schema is found again in every trial."""

    columns: tuple[str, ...] = ()
    target: str = LABELS

    def event(self, place: int, goal: ApproxDP) -> Event:
        """Return the event of the plan of a fit without evaluation."""
        event: Event = self._planned(place, goal)[1].event
        return event

    def _planned(self, place: int, goal: ApproxDP) -> tuple[Any, Any]:
        model = self.new_estimator(place, goal, holdout=0.0)
        if self._is_regression:
            require_range(model)
        return model, model.plan(self.columns, self.target, self._planned_n)

    @property
    def _planned_n(self) -> int | None:
        return self.n if self.adjacency is Adjacency.REPLACE_ONE else None

    def read(self, X: Any, y: Any, target: str | None) -> None:
        """Check the declared columns and the labels, and read all other cells into canonical form."""
        labels = y if target is None else next(raw_columns(X, [target]))
        self._labels = canonical_column(labels)
        model, plan = self._planned(0, ApproxDP(1.0, 1e-6, self.adjacency))
        names = [*(() if plan.preparation is None else plan.preparation.columns), *plan.declared]
        raw = dict(zip(names, raw_columns(X, names), strict=True))
        self._features = {name: raw[name] if name in plan.declared else canonical_column(raw[name]) for name in names}
        model._read(plan, self._features, self._labels, self.target, coins=None)

    def train(self, place: int, goal: ApproxDP, rows: Rows, seed: int | None) -> Any:
        """Return the model of some of the records."""
        model, plan = self._planned(place, goal)
        model.set_params(random_state=seed)
        bits = SystemBits() if seed is None else NotPrivateBits(seed)
        part = model._part(plan, self._features, self._labels, self.target, rows)
        return model._run(plan, lambda: part, None, bits=bits, scored="")

    def predictions(self, model: Any, rows: Rows) -> tuple[Any, NDArray[np.bool_]]:
        """Return the predictions; every cell is valid."""
        return model.predict(TablePart(self._features, rows)), np.ones(len(rows), dtype=bool)


@dataclass
class EstimatorTrials(SettingTrials):
    """Trials of another private estimator of arrays, such as `PrivateTorchClassifier`, by its ``plan`` and ``fit``."""

    dim: int | None = None

    def event(self, place: int, goal: ApproxDP) -> Event:
        """Return the event of the plan of a fit."""
        model = self.new_estimator(place, goal)
        require_labels(model)
        known = {"n": self.n if self.adjacency is Adjacency.REPLACE_ONE else None, "dim": self.dim}
        wanted = inspect.signature(model.plan).parameters
        event: Event = model.plan(**{name: value for name, value in known.items() if name in wanted}).event
        return event

    def read(self, X: Any, y: Any, target: str | None) -> None:
        """Check that X is an array of finite numbers, and that each label is declared."""
        if target is not None:
            raise ParameterError(argument="target", rule="is for models of raw tables alone", remedy="Give y.")
        table = inputs.two_dimensional(X)
        inputs.checked_shape(table, public=self.adjacency is Adjacency.REPLACE_ONE)
        self._X = np.asarray(inputs.numeric(table))
        self._y = np.asarray(inputs.required(y))
        self._labels = canonical_column(self._y)
        if len(self._labels) != len(self._X):
            raise DataError("X and y must have the same number of records.")
        if getattr(self.estimator, "invalid", "raise") == "raise":
            inputs.require_finite(self._X, inputs.names_of(table))
            codes, texts = self._labels.values()
            declared = canonical_column(list(self.estimator.classes)).values()[1]
            if (codes < 0).any() or not set(declared).issuperset(texts):
                raise DataError("the labels must all be declared classes.", remedy=f"Give {arg('invalid', 'drop')}.")

    def train(self, place: int, goal: ApproxDP, rows: Rows, seed: int | None) -> Any:
        """Return the estimator, fitted to some of the records."""
        model = self.new_estimator(place, goal, random_state=seed)
        X, y = self._X[rows], self._y[rows]
        if not len(rows):  # one record of weight 0 stands for none
            model.set_params(invalid="drop")
            X, y = np.full((1, self._X.shape[1]), np.nan), self._y[:1]
        model.fit(X, y)
        if model.plan_.event != self.event(place, goal):
            raise EventMismatchError("the event of a fit is not that of its plan.")
        return model.set_params(invalid=self.estimator.invalid)

    def predictions(self, model: Any, rows: Rows) -> tuple[Any, NDArray[np.bool_]]:
        """Return the predictions; rows with NaN or infinities are invalid."""
        part = self._X[rows]
        valid = np.isfinite(part).all(axis=1)
        return model.predict(np.where(valid[:, None], part, 0.0)), valid


@dataclass
class FunctionTrials(SettingTrials):
    """Trials of a training function."""

    def event(self, place: int, goal: ApproxDP) -> Event:
        """Return the declared event, or the (epsilon, delta) of ``goal``."""
        declared = self.estimator.events
        if declared is None:
            return Approximate(goal.epsilon, goal.delta, goal.adjacency)
        event = declared(dict(self.settings[place]), goal)
        if not isinstance(event, Event):
            raise ParameterError(argument="events", rule="must return an event", got=shown(event))
        return event

    @property
    def task(self) -> TargetKind:
        """Declared kind of the target."""
        if self.estimator.task not in tuple(TargetKind):
            rule = 'must be "classification" or "regression"'
            raise ParameterError(argument="task", rule=rule, got=shown(self.estimator.task))
        return TargetKind(self.estimator.task)

    def read(self, X: Any, y: Any, target: str | None) -> None:
        """Keep the records; the function reads them."""
        if target is not None:
            raise ParameterError(argument="target", rule="is for models of raw tables alone", remedy="Give y.")
        self._X, self._y = X, inputs.required(y)
        self._labels = canonical_column(self._y)
        if not len(self._labels) or len(self._labels) != _length(X):
            raise DataError("X and y must have the same number of records, at least one.")

    def train(self, place: int, goal: ApproxDP, rows: Rows, seed: int | None) -> Any:
        """Return the model of the function."""
        records = TrainingRecords(_safe_indexing(self._X, rows), _safe_indexing(self._y, rows))
        found = self.estimator.train(dict(self.settings[place]), records, goal)
        return found.value if isinstance(found, Release) else found

    def predictions(self, model: Any, rows: Rows) -> tuple[Any, NDArray[np.bool_]]:
        """Return the predictions of the model."""
        part, predict = _safe_indexing(self._X, rows), self.estimator.predict
        found = model.predict(part) if predict is None else predict(model, part)
        return np.asarray(found), np.ones(len(rows), dtype=bool)


def trials_of(
    estimator: Any,
    settings: tuple[Mapping[str, object], ...],
    adjacency: Adjacency,
    n: int | None,
    *,
    dim: int | None = None,
    columns: Sequence[str] | None = None,
    target: str | None = None,
    names: inputs.Names = None,
) -> SettingTrials:
    """Return the trials of an estimator, from public facts alone.

    Raises
    ------
    ParameterError
        If the estimator cannot be searched, or has parameters that the search sets.
    """
    if isinstance(estimator, TrainingFunction):
        return FunctionTrials(estimator, settings, adjacency, n)
    if isinstance(estimator, type) or not hasattr(estimator, "plan") or not hasattr(estimator, "get_params"):
        raise ParameterError(
            argument="estimator",
            rule="must be a private estimator of dperm",
            got=shown(estimator),
            remedy="Use PrivateSearch.from_training for a training function.",
        )
    _require_usual(estimator)
    if isinstance(estimator, PrivateTableModel):
        if columns is None:
            raise ParameterError(argument="columns", rule="must be the names of the columns of the table")
        return TableTrials(estimator, settings, adjacency, n, columns=tuple(columns), target=target or LABELS)
    if isinstance(estimator, PrivateLinearModel):
        if estimator.encodes_tables:
            raise ParameterError(
                argument="estimator",
                rule="must not be an additive model, whose raw tables the search does not split",
                got=shown(type(estimator).__name__),
                remedy="Use PrivateSearch.from_training for a training function.",
            )
        return LinearTrials(estimator, settings, adjacency, n, dim=dim, names=names)
    return EstimatorTrials(estimator, settings, adjacency, n, dim=dim)


def is_table_model(estimator: Any) -> bool:
    """Whether the estimator prepares a raw table."""
    return isinstance(estimator, PrivateTableModel)


def with_norm(estimator: Any, X: Any) -> Any:
    """Return a linear model whose ``feature_norm="auto"`` is that of the public encoder of X.

    Raises
    ------
    ParameterError
        If X comes from a private encoder, whose release would not be covered, or has no encoder.
    """
    facts = facts_of(X)
    if facts is not None and any(one.release is not None for one in facts.every):
        raise ParameterError(
            argument="X",
            rule="must not come from a private encoder: the guarantee of the search would not cover its release",
            remedy="Search over PrivateTableClassifier, PrivateTableRegressor or PrivatePipeline.",
        )
    if not isinstance(estimator, PrivateLinearModel):
        return estimator
    supplied = supplied_arguments(estimator, facts)
    return clone(estimator).set_params(**supplied) if supplied else estimator


def rows_of(estimator: Any, X: Any, columns: Sequence[str] | None) -> int:
    """Return the number of records, which is public under replace_one only."""
    if columns is not None:
        return row_count(X, list(columns))
    return _length(X)


def feature_columns(X: Any, target: str | None) -> list[str]:
    """Return the names of the columns of a table, without the target."""
    names = column_names(X)
    if target is not None and target not in names:
        raise DataError(f"the table must have a column named {shown(target)}.")
    return [name for name in names if name != target]


def checked_label_range(found: Any) -> tuple[float, float]:
    """Return the declared range of the labels, in whose units errors are clipped."""
    if found is None or isinstance(found, str):
        raise ParameterError(
            argument="label_range",
            rule="must be declared: the errors of all trials are measured in units of the range",
            remedy="Give label_range=(0, 100), for example.",
        )
    pair: tuple[float, float] = checked_pair("label_range", found)
    return pair


def require_range(model: Any) -> None:
    """Raise ParameterError if a regression has no declared range of the labels."""
    checked_label_range(model.label_range)


def require_labels(model: Any) -> None:
    """Raise ParameterError for undeclared classes or ranges: parts of the data would declare different ones."""
    if hasattr(model, "classes") and (model.classes is None or isinstance(model.classes, str)):
        raise ParameterError(
            argument="classes",
            rule="must be declared for a search: each trial reads a part of the labels",
            remedy="Give classes=(0, 1), for example.",
        )
    if hasattr(model, "label_range"):
        require_range(model)


def squared_grades(labels: NDArray[np.float64], predictions: Any, ends: tuple[float, float]) -> Grades:
    """Return (1 - e^2) `WHOLE`, rounded, with the error e clipped to [-1, 1] in units of half the range (T93)."""
    low, high = ends
    predicted = np.asarray(predictions, dtype=np.float64)
    with np.errstate(all="ignore"):
        error = (predicted - np.clip(labels, low, high)) / ((high - low) / 2)
        square = np.minimum(np.nan_to_num(error * error, nan=1.0, posinf=1.0), 1.0)
    return np.asarray(np.rint(np.ldexp(1.0 - square, FRACTION)), dtype=np.int64)


def _same_labels(labels: CanonicalColumn, predictions: Any) -> NDArray[np.bool_]:
    """Return which labels are equal to the predictions, as cells; a missing label equals nothing."""
    column = canonical_column(predictions)
    if len(column) != len(labels):
        raise AssumptionError("a model must predict one label for each record.")
    (codes, texts), (found, others) = labels.values(), column.values()
    places = {text: place for place, text in enumerate(texts)}
    known = np.array([*(places.get(text, -2) for text in others), -2], dtype=np.int64)
    return np.asarray(known[found] == codes)


def _length(X: Any) -> int:
    shape = getattr(X, "shape", None)
    return int(shape[0]) if shape else len(X)


def _require_usual(estimator: Any) -> None:
    """Raise ParameterError if a parameter that the search sets differs from its default."""
    usual = {name: one.default for name, one in inspect.signature(type(estimator)).parameters.items()}
    for name in SET_BY_THE_SEARCH:
        if name in usual and name != "holdout" and getattr(estimator, name) != usual[name]:
            raise ParameterError(
                argument=f"estimator__{name}",
                rule="must keep its default, because the search sets it",
                got=shown(getattr(estimator, name)),
                remedy=f"Give {arg(name)} to PrivateSearch, if it has this parameter.",
            )


class _Columns:
    """Number and names of the columns, in scikit-learn's attributes."""

    def __init__(self, count: int, names: inputs.Names) -> None:
        self.n_features_in_ = count
        if names is not None and all(isinstance(name, str) for name in names):
            self.feature_names_in_ = np.array(names, dtype=object)
