# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Pipeline of user-defined steps on a raw table under one guarantee: schema, model and metrics (T70, T71)."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, final

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.utils.metaestimators import _BaseComposition, available_if

from dperm import checks
from dperm.checks import shown
from dperm.data.arrays import Floats
from dperm.data.columns import AnyColumn
from dperm.data.space import checked_pair
from dperm.data.targets import Classes
from dperm.erm.loss import Loss
from dperm.errors import ParameterError
from dperm.methods.choose import BY_NAME
from dperm.methods.declared_event import EventMethod
from dperm.pipeline.holdout import HOLDOUT
from dperm.preparation.prepared import Encoding, PreparedTable, TargetKind
from dperm.presentation.spelling import arg
from dperm.privacy import Adjacency
from dperm.sklearn.base import PrivateLinearModel
from dperm.sklearn.encoder import PublicTableEncoder
from dperm.sklearn.preparation import PrivateTableEncoder
from dperm.sklearn.table_fit import PrivateTableModel, require_declared_classes, require_numbers
from dperm.sklearn.table_groups import LabelRule
from dperm.sklearn.table_models import MOST_CLASSES_HINT, distinct_classes

_SET_BY_THE_PIPELINE = {
    PrivateTableEncoder: ("epsilon", "delta", "adjacency", "task", "most_classes", "ledger", "random_state"),
    PublicTableEncoder: (),
    PrivateLinearModel: (
        *("epsilon", "delta", "adjacency", "feature_norm", "bounds", "C", "fit_intercept", "n", "ledger", "invalid"),
        *("fitted_transformers", "allow_unprotected_scores", "random_state"),
    ),
}
"""Parameters of the steps that the pipeline sets, or that follow from the released schema."""


def _predicts_probabilities(pipeline: "PrivatePipeline") -> bool:
    return hasattr(pipeline.steps[-1][1], "predict_proba")


def _is_classification(pipeline: "PrivatePipeline") -> bool:
    return is_classifier(pipeline.steps[-1][1])


@final
class PrivatePipeline(_BaseComposition, PrivateTableModel):
    """Pipeline of a private schema, a linear model of your choice and private metrics, under one guarantee.

    The pipeline is fitted to a raw table. `PrivateTableClassifier` and `PrivateTableRegressor` are the special cases
    with logistic and linear regression. In a scikit-learn pipeline, each private step is charged separately. Here, all
    steps are charged together, which costs less (T70). The metrics are computed from held-out records alone and add
    nothing to the privacy cost (T71).

    Parameters
    ----------
    steps : list of (str, estimator)
        Two pairs of a name and a step. The first step is a `PrivateTableEncoder` or, if all columns are declared, a
        `PublicTableEncoder`. The second step is a private linear model. Set ``columns`` and ``encoding`` in the
        encoder. Set ``method``, ``clip``, the parameters of the loss, and ``classes`` or ``label_range`` (if they are
        public) in the model. Leave all other parameters of the steps at their defaults; the pipeline sets them.
    epsilon : float, default=1.0
        Privacy-loss bound of the schema, the model and the metrics together.
    delta : float, default=1e-6
        Delta of the guarantee, greater than 0.
    adjacency : {"replace_one", "add_remove"}, default="replace_one"
        Neighbouring relation.
    most_classes : int, default=2
        Public upper limit on the number of classes. If more classes are found, the records of the rarest ones do not
        contribute to the model.
    n : int, default=None
        Public number of records under add_remove, where it is never compared with the data.
    invalid : {"raise", "drop"}, default="raise"
        See `PrivateTableClassifier`.
    holdout, groups
        See `PrivateTableClassifier`.
    ledger : Ledger or budget in memory, default=None
        Budget to which a fit is charged, as one entry.
    allow_unprotected_scores : bool, default=False
        Whether scikit-learn may evaluate the model on the private data, as in `PrivateLogisticRegression`.
    random_state : int, Generator or RandomState, default=None
        Seed, which makes the fit reproducible and NOT PRIVATE.

    Attributes
    ----------
    model_ : PrivateLinearModel
        Fitted model of the encoded table.
    schema_, metrics_, guarantee_, profile_, record_, statement_, plan_, n_records_
        See `PrivateTableClassifier`.

    Examples
    --------
    >>> from dperm.sklearn import PrivateLinearSVC, PrivatePipeline, PrivateTableEncoder
    >>> steps = [("schema", PrivateTableEncoder()), ("model", PrivateLinearSVC())]
    >>> pipeline = PrivatePipeline(steps, epsilon=1.0, delta=1e-6, adjacency="add_remove")
    >>> pipeline.plan(["age", "work"], "income").goal
    ApproxDP(epsilon=1.0, delta=1e-06, adjacency=ADD_REMOVE)
    """

    def __init__(
        self,
        steps: Sequence[tuple[str, Any]],
        *,
        epsilon: float = 1.0,
        delta: float = 1e-6,
        adjacency: Adjacency | str = "replace_one",
        most_classes: int = 2,
        n: int | None = None,
        invalid: str = "raise",
        holdout: float = HOLDOUT,
        groups: Mapping[str, Sequence[Any]] | None = None,
        ledger: Any = None,
        allow_unprotected_scores: bool = False,
        random_state: Any = None,
    ) -> None:
        self.steps = steps
        self.epsilon = epsilon
        self.delta = delta
        self.adjacency = adjacency
        self.most_classes = most_classes
        self.n = n
        self.invalid = invalid
        self.holdout = holdout
        self.groups = groups
        self.ledger = ledger
        self.allow_unprotected_scores = allow_unprotected_scores
        self.random_state = random_state

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters of the pipeline and, with ``deep``, those of its steps as ``step__parameter``.

        Parameters
        ----------
        deep : bool, default=True
            Whether to include the parameters of the steps.
        """
        return self._get_params("steps", deep=deep)

    def set_params(self, **params: Any) -> "PrivatePipeline":
        """Set parameters of the pipeline, or parameters of its steps as ``step__parameter``.

        Parameters
        ----------
        **params
            New values, keyed by parameter name.
        """
        self._set_params("steps", **params)
        return self

    @property
    def named_steps(self) -> dict[str, Any]:
        """Steps of the pipeline, keyed by name."""
        return dict(self.steps)

    @available_if(_predicts_probabilities)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: object) -> Floats:
        """Return the probabilities of the classes, one column per class.

        Parameters
        ----------
        X : table
            Table with the columns of the fit.
        """
        rows = self._encoded(X)
        return np.asarray(self.model_.predict_proba(rows))

    @available_if(_is_classification)  # type: ignore[untyped-decorator]
    def decision_function(self, X: object) -> Floats:
        """Return the scores of the rows: one score per row for two classes, or one column per class for more classes.

        Parameters
        ----------
        X : table
            Table with the columns of the fit.
        """
        rows = self._encoded(X)
        return np.asarray(self.model_.decision_function(rows))

    def score(self, X: object, y: object) -> float:
        """Return the accuracy of the predictions of a classifier, or R^2 of those of a regression.

        If the rows are private, this score is NOT PRIVATE; use ``metrics_`` instead.

        Parameters
        ----------
        X : table
            Table with the columns of the fit.
        y : array-like
            Labels.
        """
        from sklearn.metrics import accuracy_score, r2_score

        measure = accuracy_score if self.task is TargetKind.CLASSIFICATION else r2_score
        return float(measure(y, self.predict(X)))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        last = self.steps[-1][1].__sklearn_tags__()
        tags.estimator_type = last.estimator_type
        tags.classifier_tags, tags.regressor_tags = last.classifier_tags, last.regressor_tags
        return tags

    @property
    def task(self) -> TargetKind:  # type: ignore[override]  # it follows from the last step
        """Kind of the target: classification or regression."""
        return TargetKind.CLASSIFICATION if is_classifier(self._last) else TargetKind.REGRESSION

    @property
    def columns(self) -> Mapping[str, AnyColumn] | None:
        """Public declarations of columns: the parameter ``columns`` of the encoder."""
        found: Mapping[str, AnyColumn] | None = self._first.columns
        return found

    @property
    def clip(self) -> float | None:
        """Clipping norm: the parameter ``clip`` of the model."""
        found: float | None = self._last.clip
        return found

    @property
    def _first(self) -> Any:
        return self._checked_steps()[0]

    @property
    def _last(self) -> Any:
        return self._checked_steps()[1]

    def _checked_steps(self) -> tuple[Any, Any]:
        """Return encoder and model, with all parameters that the pipeline sets at their defaults."""
        try:
            (_, encoder), (_, model) = self.steps
        except (TypeError, ValueError):
            encoder = model = None
        encoders = PrivateTableEncoder | PublicTableEncoder
        if not isinstance(encoder, encoders) or not isinstance(model, PrivateLinearModel) or model.encodes_tables:
            raise ParameterError(
                argument="steps",
                rule="must be [(name, PrivateTableEncoder or PublicTableEncoder), (name, private linear model)]",
                got=shown([type(step).__name__ for _, step in self.steps] if encoder is not None else self.steps),
            )
        for name, step in self.steps:
            (fixed,) = (names for kind, names in _SET_BY_THE_PIPELINE.items() if isinstance(step, kind))
            usual = type(step)().get_params(deep=False) if fixed else {}
            for parameter in fixed:
                if not _same(getattr(step, parameter), usual[parameter]):
                    raise ParameterError(
                        argument=f"{name}__{parameter}",
                        rule="must keep its default, because the pipeline sets it",
                        got=shown(getattr(step, parameter)),
                        remedy="Set epsilon, delta, adjacency, most_classes, n, invalid, ledger and random_state of "
                        "the pipeline.",
                    )
        if getattr(model, "class_weight", None) is not None:
            rule = "must be None: the event is fixed before the classes are known (T70)"
            raise ParameterError(argument=f"{self.steps[1][0]}__class_weight", rule=rule)
        return encoder, model

    def _features(self, columns: Sequence[str], target: str | None) -> list[str]:
        """Return the names of the feature columns; a `PublicTableEncoder` reads its own columns alone."""
        found, encoder = super()._features(columns, target), self._first
        return (
            found if isinstance(encoder, PrivateTableEncoder) else [name for name in found if name in encoder.columns]
        )

    def _method(self, loss: Loss, records: int | None) -> EventMethod:
        chosen = self._last.method
        if chosen == "auto":
            return super()._method(loss, records)
        method = BY_NAME[chosen]() if isinstance(chosen, str) and chosen in BY_NAME else chosen
        if not isinstance(method, EventMethod):
            names = [name for name, make in BY_NAME.items() if isinstance(make(), EventMethod)]
            raise ParameterError(
                argument=f"{self.steps[1][0]}__method",
                rule=f"must plan from a fixed event (T70): auto, {', '.join(names)}, or such a method object",
                got=shown(chosen),
            )
        return method

    def _most_classes(self) -> int:
        declared = getattr(self._last, "classes", None)
        if declared is not None:
            return len(distinct_classes(declared))
        return checks.count("most_classes", self.most_classes, MOST_CLASSES_HINT, least=2, most=1000)

    def _encoding(self, columns: int) -> Encoding:
        return Encoding.of(getattr(self._first, "encoding", "auto"), columns)

    def _loss(self) -> Loss:
        model = self._last
        if self.task is TargetKind.CLASSIFICATION:
            most = self._most_classes()
            if most > model.most_classes:
                rule = f"must be at most {model.most_classes} for {type(model).__name__}"
                raise ParameterError(argument="most_classes", rule=rule, got=str(most))
            loss: Loss = model._loss_function(Classes(tuple(range(most))))
            return loss
        if not self._declares_labels() and type(model).__name__ == "PrivateHuberRegressor":
            raise ParameterError(
                argument=f"{self.steps[1][0]}__label_range",
                rule="must be declared: the threshold of the Huber loss is in units of the labels",
                remedy=f"Declare {arg('label_range')}, or use PrivateLinearRegression.",
            )
        loss = model._loss_function(model._planned_labels().target)
        return loss

    def _declares_labels(self) -> bool:
        name = "classes" if self.task is TargetKind.CLASSIFICATION else "label_range"
        return getattr(self._last, name) is not None

    def _label_rule(self) -> LabelRule:
        if self.task is TargetKind.REGRESSION:
            return require_numbers
        return partial(require_declared_classes, classes=tuple(distinct_classes(self._last.classes)))

    def _estimator(self, prepared: PreparedTable) -> Any:
        model = clone(self._last).set_params(**self._fixed_parameters(prepared))
        if self.task is TargetKind.CLASSIFICATION:
            found = prepared.classes if model.classes is None else tuple(distinct_classes(model.classes))
            return None if found is None or len(found) < 2 else model.set_params(classes=found)
        ends = prepared.label_range if model.label_range is None else checked_pair("label_range", model.label_range)
        return None if ends is None else model.set_params(label_range=ends)


def _same(value: object, usual: object) -> bool:
    return value is usual or (type(value) is type(usual) and bool(value == usual))
