# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Private evaluation of fitted models (T85-T88)."""

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self, final

import numpy as np
from sklearn.base import BaseEstimator, is_regressor
from sklearn.pipeline import Pipeline

from dperm.checks import shown
from dperm.data.arrays import Floats
from dperm.data.canonical import label_text, row_count
from dperm.data.tables import column_names, raw_columns, require_in_memory
from dperm.errors import DataError, DpermError, NotPrivateWarning, ParameterError
from dperm.evaluation.metrics import Metrics
from dperm.evaluation.plan import EvaluationPlan, declared_groups, warn_few_evaluated, with_metrics
from dperm.evaluation.records import PrivateScores
from dperm.mechanisms.run import release
from dperm.noise.bits import Bits
from dperm.preparation.prepared import TargetKind
from dperm.presentation.spelling import arg
from dperm.privacy import Adjacency
from dperm.report import Statement, statement, write_statement
from dperm.sklearn import parameters
from dperm.sklearn.base import PrivateLinearModel
from dperm.sklearn.header import EvaluationBudget
from dperm.sklearn.metric_plots import MetricPlots

if TYPE_CHECKING:
    import os

OWN = "dperm"
"""Name of this package. Classes and label ranges of its fitted models are public: they were declared or released."""


@final
class PrivateMetrics(MetricPlots, BaseEstimator):
    """Measure a fitted model on private records, with one guarantee for all metrics.

    An evaluation releases one noisy vector: histograms for a classification (T85), or sums for a regression (T88). All
    metrics are computed from this release: accuracy, confusion matrix, ROC curve, calibration, Brier score and log loss
    of a classification, or R^2 and errors of a regression. The interval of a metric accounts for both sampling
    variation and privacy noise.

    The model must not have been trained on the evaluated records; dperm cannot check this. If independent, secret coin
    flips divided the records into training and evaluation records, the fit and the evaluation together cost the larger
    of the two privacy losses, not their sum (T71). Otherwise the evaluation and the fit are two releases about the same
    data.

    Parameters
    ----------
    epsilon : float, default=1.0
        Privacy-loss bound of the evaluation; smaller is more private.
    delta : float, default=1e-6
        Delta of the guarantee, greater than 0.
    adjacency : {"replace_one", "add_remove"}, default="replace_one"
        Neighbouring relation.
    classes : sequence of labels, default=None
        Public classes of a classification. None takes the classes of a fitted model of dperm, which are public. A
        record with any other label counts as an error.
    label_range : (low, high), default=None
        Public range of the labels of a regression. None takes the label range of a fitted model of dperm.
    positive : label, default=None
        Positive class for the ROC curve, calibration, Brier score and log loss. None takes the second of two classes;
        with more than two classes, None leaves these metrics out.
    groups : mapping of str to sequence, default=None
        Mapping from the name of one column to a list of its public groups, such as {"sex": ["female", "male"]}. Metrics
        are also computed for each group, and for the group "other" of all remaining records.
    bins : "auto", int or sequence of float, default="auto"
        Bins of the scores of a classification: "auto", an even number of bins, or increasing edges from 0 to 1,
        including 0.5. For a number, the bins have equal width in asinh(log-odds / 2), so they are narrower near 0 and
        1. "auto" uses 20 bins. If the number of records is public, "auto" uses 10 bins if noise dominates, and 40 bins
        above 50,000 records.
    level : float, default=0.95
        Nominal coverage probability of each interval, in [0.5, 0.9999].
    clip : float, default=0.01
        Smallest probability p in the log loss, in [1e-6, 0.25]; probabilities are clipped to [p, 1 - p].
    public_n : bool, default=True
        Whether the number of evaluated records is public under replace_one. A public number is used for the intervals
        and the bins. Pass False if secret coin flips chose the evaluated records. Ignored under add_remove, where the
        number is private.
    ledger : Ledger or budget in memory, default=None
        Budget to which an evaluation is charged.
    random_state : int, Generator or RandomState, default=None
        Seed, which makes the evaluation reproducible and NOT PRIVATE.

    Attributes
    ----------
    metrics_ : Metrics
        Metrics with intervals.
    guarantee_ : Guarantee or None
        Guarantee of the evaluation; None for a seeded evaluation.
    profile_ : PrivacyProfile or None
        Privacy profile of the evaluation; None for a seeded evaluation.
    plan_ : EvaluationPlan
        Plan made from public numbers.
    record_ : Record
        Public facts of the release.
    release_ : Release
        The metrics as a release, with guarantee, profile, event and record.

    Examples
    --------
    >>> import numpy as np
    >>> from dperm.sklearn import PrivateMetrics
    >>> rng = np.random.default_rng(0)
    >>> y = rng.random(5000) < 0.3
    >>> scores = 1 / (1 + np.exp(-rng.normal(np.where(y, 1.5, -1.5), 1.5)))
    >>> measured = PrivateMetrics(epsilon=1.0, delta=1e-6, classes=(False, True)).evaluate_scores(y, scores)
    >>> 0.7 < measured.metrics_.accuracy.value < 0.95
    True
    """

    def __init__(
        self,
        *,
        epsilon: float = 1.0,
        delta: float = 1e-6,
        adjacency: Adjacency | str = "replace_one",
        classes: Sequence[Any] | None = None,
        label_range: tuple[float, float] | None = None,
        positive: Any = None,
        groups: Mapping[str, Sequence[Any]] | None = None,
        bins: str | int | Sequence[float] = "auto",
        level: float = 0.95,
        clip: float = 0.01,
        public_n: bool = True,
        ledger: Any = None,
        random_state: Any = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.adjacency = adjacency
        self.classes = classes
        self.label_range = label_range
        self.positive = positive
        self.groups = groups
        self.bins = bins
        self.level = level
        self.clip = clip
        self.public_n = public_n
        self.ledger = ledger
        self.random_state = random_state

    def plan(self, model: Any = None, n: int | None = None) -> EvaluationPlan:
        """Return the plan of an evaluation, computed from public numbers alone.

        Parameters
        ----------
        model : fitted model, default=None
            Fitted model of dperm, from which the plan takes the classes or the label range; not needed if ``classes``
            or ``label_range`` is declared.
        n : int, default=None
            Number of evaluated records, if it is public. This number affects the intervals and the bins, but not the
            noise.

        Returns
        -------
        EvaluationPlan
            Plan with ``event``, ``noise_deviation`` and ``why``.
        """
        goal = parameters.goal_of(self.epsilon, self.delta, self.adjacency)
        if goal is None:
            rule = "must be finite: metrics without noise have no guarantee"
            raise ParameterError(argument="epsilon", rule=rule, remedy="Choose 1.0, for example.")
        regression = self.label_range is not None or (self.classes is None and model is not None and _regresses(model))
        known = goal.adjacency is Adjacency.REPLACE_ONE and bool(self.public_n)
        return EvaluationPlan(
            goal=goal,
            task=TargetKind.REGRESSION if regression else TargetKind.CLASSIFICATION,
            classes=None if regression else tuple(self._classes(model)),
            label_range=self._range(model) if regression else None,
            positive=self.positive,
            bins=self.bins,
            groups=declared_groups(self.groups),
            n=n if known else None,
            level=self.level,
            clip=self.clip,
        )

    def evaluate(
        self, model: Any, X: Any, y: object = None, *, target: str | None = None, groups: object = None
    ) -> Self:
        """Measure a fitted model on private records, and charge the release to ``ledger``.

        The scores of a classifier are the probabilities from ``predict_proba``. If the classifier has no such method,
        the scores from ``decision_function`` are mapped to [0, 1] by the logistic function, or by the softmax function
        for more than two classes. Brier score, log loss and calibration then refer to the mapped scores.

        Parameters
        ----------
        model : fitted classifier or regressor
            Model of dperm or scikit-learn, or a pipeline. The prediction for a record must depend on that record alone.
        X : array-like or table
            Features of the records, as the model expects them.
        y : array-like, default=None
            True labels; not needed if ``target`` is given.
        target : str, default=None
            Name of the column of X that contains the true labels. ``record_`` and the statement contain this name, or
            the name of y if y is a series.
        groups : array-like, default=None
            Group of each record, if groups are declared. None takes the groups from the column of X that the parameter
            ``groups`` of the constructor names.

        Returns
        -------
        self
            This object, with ``metrics_``.

        Raises
        ------
        DataError
            If the model cannot predict the records, or if X, y and the groups differ in length. Nothing is charged.
        BudgetError
            If ``ledger`` does not cover the evaluation. Nothing is charged.
        """
        return self._measure(model, X, y, target=target, groups=groups)

    def _measure(
        self,
        model: Any,
        X: Any,
        y: object = None,
        *,
        target: str | None = None,
        groups: object = None,
        facts: Mapping[str, object] | None = None,
        name: str | None = None,
    ) -> Self:
        """Measure a model; ``facts`` has further public facts of it, such as a file digest; ``name`` names y."""
        require_in_memory(X)
        require_in_memory(y, argument="y")
        if (y is None) == (target is None) or isinstance(y, str):
            raise ParameterError(
                argument="y",
                rule="must be the labels, unless target names their column of X",
                remedy=f"Pass y, or {arg('target', shown(y) if isinstance(y, str) else 'the name of a column')}.",
            )
        name = getattr(y, "name", None) if name is None else name
        if target is not None:
            X, y = _without_target(X, target)
        plan = self.plan(model, _rows(y))
        public: dict[str, object] = {
            "evaluated_model": {"class": type(_last_step(model)).__name__, **_release_of(model), **(facts or {})}
        }
        if target is not None or (isinstance(name, str) and name):
            public["target"] = name if target is None else target
        return self._run(plan, lambda: self._read(plan, model, X, labels=y, groups=groups), public=public)

    def evaluate_scores(self, y: object, scores: object, *, groups: object = None) -> Self:
        """Measure the scores of a classifier, or the predictions of a regression, against true labels.

        The release is charged to ``ledger``.

        Parameters
        ----------
        y : array-like
            True labels.
        scores : array-like
            For a classification, scores in [0, 1] of the positive class, or one column of scores for each class, with
            the classes in sorted order. For a regression, predicted numbers.
        groups : array-like, default=None
            Group of each record, if groups are declared.

        Returns
        -------
        self
            This object, with ``metrics_``.

        Raises
        ------
        DataError
            If y, the scores and the groups differ in length. Nothing is charged.
        BudgetError
            If ``ledger`` does not cover the evaluation. Nothing is charged.
        """
        require_in_memory(y, argument="y")
        require_in_memory(scores, argument="scores")
        plan = self.plan(n=_rows(y))
        if plan.task is TargetKind.REGRESSION:
            return self._run(plan, lambda: plan.read(y, predictions=scores, groups=groups))
        return self._run(plan, lambda: plan.read(y, scores, groups=groups))

    def _read(self, plan: EvaluationPlan, model: Any, X: Any, *, labels: object, groups: object) -> PrivateScores:
        """Return the evaluated records with the predictions of the model."""
        if plan.groups is not None and groups is None:
            groups = _group_column(X, plan.groups.column)
        if plan.task is TargetKind.REGRESSION:
            return plan.read(labels, predictions=_predicted(lambda: model.predict(X)), groups=groups)
        assert plan.classes is not None
        scores = class_scores(model, X, plan.classes)
        if plan.is_binary:
            return plan.read(labels, scores, groups=groups)
        return plan.read(labels, scores, predictions=_predicted(lambda: model.predict(X)), groups=groups)

    def _run(
        self, plan: EvaluationPlan, read: Callable[[], PrivateScores], *, public: Mapping[str, object] | None = None
    ) -> Self:
        level = 3 if public is None else 4  # the line that called evaluate_scores or evaluate
        warn_few_evaluated(plan, plan.n, stacklevel=level)
        facts = replace(plan.facts, public={**plan.public, **(public or {})})
        budget, seed = parameters.budget_of(self.ledger), parameters.seed_of(self.random_state)
        bits: Bits | None = None
        if seed is not None:
            from dperm.noise import NotPrivateBits

            bits = NotPrivateBits(seed)
            _warn_seeded(level)
        with warnings.catch_warnings():
            if bits is not None:  # the warning above names the argument of this class
                warnings.simplefilter("ignore", NotPrivateWarning)
            booked = None if budget is None else EvaluationBudget(budget, facts.public)
            found = with_metrics(release(facts, read, plan.draw, budget=booked, bits=bits))
        self.release_, self.plan_, self.record_ = found, plan, found.record
        self.metrics_: Metrics = found.value
        private = found.record.is_private
        self.guarantee_ = found.guarantee if private else None
        self.profile_ = found.profile if private else None
        return self

    @property
    def statement_(self) -> Statement:
        """Privacy statement of the evaluation; the field "utility" contains every metric with its interval."""
        self._released_metrics()
        return statement(self.release_)

    def write_statement(
        self,
        path: "str | os.PathLike[str]",
        fields: Mapping[str, object] | None = None,
        *,
        overwrite: bool = False,
    ) -> None:
        """Write the privacy statement, with metrics and plots, to a file.

        Parameters
        ----------
        path : str or path-like
            File to write; its suffix sets the format: web page (.html), Markdown (.md) or JSON (.json).
        fields : mapping of str to text, default=None
            Values of the fields that only the user can fill in, such as ``curator`` and ``intended_use``. Missing
            fields are marked as gaps; ``statement_.gaps`` names these fields.
        overwrite : bool, default=False
            Whether to replace an existing file.
        """
        write_statement(path, self.statement_, self.profile_, fields=fields, overwrite=overwrite)

    def _classes(self, model: Any) -> Sequence[Any]:
        if self.classes is not None:
            return self.classes
        if model is None or not _is_own(model) or not hasattr(model, "classes_"):
            rule = "must be given, unless a fitted model of dperm has public classes"
            raise ParameterError(argument="classes", rule=rule, remedy="Declare (0, 1), for example.")
        found: list[Any] = np.asarray(model.classes_).tolist()
        return found

    def _range(self, model: Any) -> tuple[float, float]:
        if self.label_range is not None:
            return self.label_range
        last = _last_step(model)
        target = getattr(getattr(last, "schema_", None), "target", None)
        found = getattr(target, "range", None) or getattr(last, "label_range", None)
        if not _is_own(model) or found is None or isinstance(found, str):
            rule = "must be given, unless a fitted model of dperm has a public range of labels"
            raise ParameterError(argument="label_range", rule=rule, remedy="Declare (0, 100), for example.")
        low, high = found
        return float(low), float(high)


def _warn_seeded(stacklevel: int) -> None:
    warnings.warn(
        f"this evaluation is NOT PRIVATE: its noise is determined by {arg('random_state')}. Leave out "
        f"{arg('random_state')} for real releases.",
        NotPrivateWarning,
        stacklevel=stacklevel + 1,
    )


def class_scores(model: Any, X: Any, classes: tuple[Any, ...]) -> Floats:
    """Return one column of scores for each class of the plan, computed record by record."""
    method = next((name for name in ("predict_proba", "decision_function") if hasattr(model, name)), None)
    if method is None or not hasattr(model, "classes_"):
        raise ParameterError(
            argument="model",
            rule="must have classes_, and predict_proba or decision_function",
            got=f"an object of type {type(model).__name__}",
            remedy="Compute scores yourself, and call evaluate_scores.",
        )
    scores = _predicted(lambda: np.asarray(getattr(model, method)(X), dtype=np.float64))
    if method == "decision_function":
        scores = _squashed(scores)
    places = {label_text(label): place for place, label in enumerate(np.asarray(model.classes_).tolist())}
    if scores.ndim != 2 or scores.shape[1] != len(places):
        raise DataError("the model must return one score, or one score for each of its classes, for every record.")
    none = np.zeros(len(scores))
    columns = [scores[:, places[text]] if (text := label_text(label)) in places else none for label in classes]
    return np.stack(columns, axis=1)


def _squashed(scores: Floats) -> Floats:
    """Return scores in [0, 1] with one column for each class: logistic function or softmax."""
    from scipy.special import expit, softmax

    if scores.ndim == 1:
        positive = expit(scores)
        return np.stack([1 - positive, positive], axis=1)
    return np.asarray(softmax(scores, axis=1))


def _predicted(predict: Callable[[], Any]) -> Any:
    """Return predictions; errors of other packages are replaced, because their texts may repeat private values."""
    with np.errstate(all="ignore"):
        try:
            return predict()
        except DpermError:
            raise
        except Exception:
            pass
    raise DataError(
        "the model could not predict the records.", remedy="Pass X in the form that the model was fitted on."
    )


def _last_step(model: Any) -> Any:
    return _last_step(model.steps[-1][1]) if isinstance(model, Pipeline) else model


def _is_own(model: Any) -> bool:
    return type(_last_step(model)).__module__.partition(".")[0] == OWN


def _regresses(model: Any) -> bool:
    return bool(is_regressor(_last_step(model)))


def _release_of(model: Any) -> dict[str, object]:
    """Return the digest of the released model in its receipt, which its ledger entry has too, and later edits."""
    last = _last_step(model)
    if not _is_own(model):
        return {}
    receipt = getattr(getattr(last, "record_", None), "ledger", None)
    found = receipt.get("digest") if isinstance(receipt, Mapping) else None
    edits: dict[str, object] = last._edit_facts() if isinstance(last, PrivateLinearModel) else {}
    return {**({} if found is None else {"release_digest": found}), **edits}


def _without_target(X: Any, target: str) -> tuple[Any, Any]:
    """Return the table without the column of the labels, and the labels."""
    names = column_names(X) if hasattr(X, "keys") or hasattr(X, "column_names") else ()
    if target not in names:
        raise DataError(f"the table must have a column named {shown(target)}.")
    labels = next(raw_columns(X, [target]))
    if isinstance(X, Mapping):
        return {name: column for name, column in X.items() if name != target}, labels
    return X.drop_columns([target]) if hasattr(X, "drop_columns") else _dropped(X, target), labels


def _dropped(X: Any, target: str) -> Any:
    """Return a pandas or polars data frame without a column."""
    return X.drop(columns=target) if hasattr(X, "iloc") else X.drop(target)


def _group_column(X: Any, column: str) -> object:
    if column not in (column_names(X) if hasattr(X, "keys") or hasattr(X, "column_names") else ()):
        rule = f"must be given, because X has no column named {column!r}"
        raise ParameterError(argument="groups", rule=rule)
    return next(raw_columns(X, [column]))


def _rows(y: Any) -> int:
    """Return the number of labels, which is public where a plan uses it."""
    return row_count({"y": y}, ["y"])
