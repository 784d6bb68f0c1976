# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Private search over settings of an estimator, as one release with one guarantee (T80, T84, T93)."""

import hashlib
import inspect
import itertools
import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self, final

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from dperm import checks
from dperm.accounting.runs import Runs
from dperm.checks import shown
from dperm.data import inputs
from dperm.data.encoded import facts_of
from dperm.data.pipeline_steps import checked_steps
from dperm.data.score_sources import checked_score_source
from dperm.data.tables import require_in_memory
from dperm.errors import AssumptionError, DataError, NotPrivateWarning, ParameterError
from dperm.mechanisms.run import Run, prepare_release
from dperm.noise import NotPrivateBits
from dperm.noise.bits import Stream, SystemBits, integer
from dperm.pipeline.holdout import RecordSplit
from dperm.pipeline.search import MOST_VALIDATION, SEARCHING, VALIDATION, SearchOutcome, SearchPlan, checked_settings
from dperm.preparation.prepared import TargetKind
from dperm.presentation.spelling import arg
from dperm.privacy import Adjacency, ApproxDP, Record, Release
from dperm.privacy.digest import digest
from dperm.privacy.public_rows import planned_rows, public_rows
from dperm.report import Statement, statement, write_statement
from dperm.sklearn import parameters
from dperm.sklearn.base import PrivateLinearModel
from dperm.sklearn.fit_result import warn_seeded
from dperm.sklearn.header import header_digest, plain_parameters, searched_digest
from dperm.sklearn.search_trials import (
    SAME_FOR_ALL,
    SET_BY_THE_SEARCH,
    LinearTrials,
    SettingTrials,
    TrainingFunction,
    feature_columns,
    is_table_model,
    rows_of,
    trials_of,
    with_norm,
)
from dperm.sklearn.table_fit import PrivateTableModel

_VALIDATION = "It is the share of the records on which models are scored, at most 0.5."
_SEED_BITS = 31


def _best_has(name: str) -> Callable[["PrivateSearch"], bool]:
    """Return a condition for a method: the best estimator, or the estimator before the fit, has it."""
    return lambda search: hasattr(getattr(search, "best_estimator_", search.estimator), name)


@dataclass(frozen=True)
class _SplitRecords:
    """Private records of a search, checked, and their split."""

    trials: SettingTrials
    split: RecordSplit


@final
class PrivateSearch(BaseEstimator):
    """Search over settings of a private estimator, with one guarantee for the model and the choice of its setting.

    A setting is a set of parameter values. No other estimator of dperm searches over settings. The default settings are
    often as good as the result of a search, because each training run of a search has a smaller epsilon and fewer
    records. `plan` states the cost of the search before any data are read.

    A secret random split divides the records into training and validation records. A trial trains a model with one
    setting and scores it with noise on the validation records. If there are two settings, there is one trial for each.
    If there are three or more, the number of trials is secret and random, and each trial draws its setting
    independently. The model with the best score is released with its setting and its score (T93). The other models and
    their scores are never released, and neither is a random number of trials. The guarantee does not cover the running
    time, which can reveal the number of trials (T80), so do not publish the running time.

    Parameters
    ----------
    estimator : estimator or TrainingFunction
        Unfitted private estimator. Leave its epsilon, delta, adjacency, n, ledger, random_state, groups,
        allow_unprotected_scores and fitted_transformers at their defaults, because the search sets them. Declare the
        classes or the label range, except for models of raw tables. See `from_training` for training functions.
    settings : mapping of str to sequence, or sequence of mappings
        Either a mapping from parameter names to lists of values, all combinations of which are settings, or a list of
        settings. The settings must be public.
    epsilon : float, default=1.0
        Privacy-loss bound of the whole search; smaller is more private.
    delta : float, default=1e-6
        Delta of the guarantee, greater than 0.
    adjacency : {"replace_one", "add_remove"}, default="replace_one"
        Neighbouring relation.
    runs : Runs, default=None
        Distribution of the number of trials, such as ``Runs.geometric(mean=10)``. With None, two settings have one
        trial each. For three or more settings, the number of trials then has a negative binomial distribution, chosen
        so that the best setting is tried with probability 0.9.
    validation : float, default=0.15
        Share of the records on which models are scored, in [0.001, 0.5].
    n : int, default=None
        Public number of records under add_remove, where it is never compared with the data. Under replace_one, the
        number of rows is used, and ``n`` must be None or equal to it.
    ledger : Ledger or budget in memory, default=None
        Budget to which the whole search is charged, as one entry, before the first training.
    random_state : int, Generator or RandomState, default=None
        Seed, which makes the search reproducible and NOT PRIVATE.

    Attributes
    ----------
    best_estimator_ : estimator
        Model with the best score. Its guarantee, record and statement are those of the search.
    best_params_ : dict
        Setting of the best model.
    best_score_ : float
        Noisy accuracy of the best model on the validation records. For a regression, the negative of the noisy mean
        squared error, where each error is clipped at half the width of the label range. The score is biased upwards,
        because it is the largest of several noisy scores.
    guarantee_ : ApproxDP or None
        Guarantee of the search; None for a seeded fit.
    profile_, record_, statement_
        Privacy profile, public facts and privacy statement of the release.
    release_ : Release
        Release of the best model, with guarantee, profile, event and record. The public facts of the record include
        the setting and the score.
    plan_ : SearchPlan
        Plan of the search.

    Examples
    --------
    >>> import numpy as np
    >>> from dperm.sklearn import PrivateLogisticRegression, PrivateSearch
    >>> X = np.random.default_rng(0).uniform(-1, 1, (4000, 3)) / 2
    >>> y = (X[:, 0] > X[:, 1]).astype(int)
    >>> model = PrivateLogisticRegression(feature_norm=1.0, classes=(0, 1))
    >>> search = PrivateSearch(model, {"clip": [0.5, 1.0]}, epsilon=1.0, delta=1e-6).fit(X, y)
    >>> search.guarantee_
    ApproxDP(epsilon=1.0, delta=1e-06, adjacency=REPLACE_ONE)
    >>> sorted(search.best_params_)
    ['clip']
    """

    def __init__(
        self,
        estimator: Any,
        settings: Mapping[str, Sequence[Any]] | Sequence[Mapping[str, Any]],
        *,
        epsilon: float = 1.0,
        delta: float = 1e-6,
        adjacency: Adjacency | str = "replace_one",
        runs: Runs | None = None,
        validation: float = VALIDATION,
        n: int | None = None,
        ledger: Any = None,
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.settings = settings
        self.epsilon = epsilon
        self.delta = delta
        self.adjacency = adjacency
        self.runs = runs
        self.validation = validation
        self.n = n
        self.ledger = ledger
        self.random_state = random_state

    @classmethod
    def from_training(
        cls,
        train: Callable[..., Any],
        settings: Mapping[str, Sequence[Any]] | Sequence[Mapping[str, Any]],
        *,
        task: str = "classification",
        label_range: tuple[float, float] | None = None,
        events: Callable[..., Any] | None = None,
        predict: Callable[..., Any] | None = None,
        **options: Any,
    ) -> "PrivateSearch":
        """Return a search over settings of a training function, for example for a PyTorch model.

        dperm cannot check that the function meets its guarantee, and the privacy statement says so.

        Parameters
        ----------
        train : callable
            Function ``train(setting, records, goal)`` that reads ``records.X`` and ``records.y`` and returns a model.
            The training must meet ``goal``, an `ApproxDP`, and must not charge a ledger. Whether the function raises an
            error may depend only on released values.
        settings : mapping or sequence of mappings
            Public settings, as for `PrivateSearch`.
        task : {"classification", "regression"}, default="classification"
            Kind of the labels.
        label_range : (low, high), default=None
            Public range of the labels of a regression.
        events : callable, default=None
            Function ``events(setting, goal)`` that returns the event of the training, for accounting. With None, the
            accounting uses only the epsilon and delta of ``goal``, which costs more.
        predict : callable, default=None
            Function ``predict(model, X)``; None calls ``model.predict(X)``. Each prediction must depend on its own
            record alone, and no record may cause an error.
        **options
            Other arguments of `PrivateSearch`.

        Returns
        -------
        PrivateSearch
            The unfitted search.
        """
        function = TrainingFunction(train, task=task, label_range=label_range, events=events, predict=predict)
        return cls(function, settings, **options)

    def plan(
        self,
        n: int | None = None,
        dim: int | None = None,
        *,
        columns: Sequence[str] | None = None,
        target: str | None = None,
    ) -> SearchPlan:
        """Return the plan of a search, computed from public numbers alone.

        Parameters
        ----------
        n : int, default=None
            Number of records under replace_one, where this number is public.
        dim : int, default=None
            Number of features, for linear models.
        columns : sequence of str, default=None
            Names of the columns, for models of raw tables; the column ``target`` does not count as a feature.
        target : str, default=None
            Name of the target, for models of raw tables.

        Returns
        -------
        SearchPlan
            Plan with ``event``, ``why``, ``trial_goal`` and ``settings``.
        """
        records = planned_rows(Adjacency.of(self.adjacency), self.n, n)
        return self._planned(records, self._trials(records, dim=dim, columns=columns, target=target))

    def check_settings(
        self,
        n: int | None = None,
        dim: int | None = None,
        *,
        columns: Sequence[str] | None = None,
        target: str | None = None,
    ) -> None:
        """Check the estimator and all settings, without computing a plan.

        Parameters
        ----------
        n, dim, columns, target
            Public facts about the data, as in `plan`.

        Raises
        ------
        ParameterError
            If the estimator cannot be searched, or a setting is invalid.
        """
        records = planned_rows(Adjacency.of(self.adjacency), self.n, n)
        trials, goal = self._trials(records, dim=dim, columns=columns, target=target), self._goal()
        for place in range(len(trials.settings)):
            trials.event(place, goal)

    def fit(self, X: Any, y: Any = None, *, target: str | None = None) -> Self:
        """Release the best model of the search, its setting and its score, and charge the search to ``ledger``.

        Parameters
        ----------
        X : array, sparse matrix or table
            Records, as the estimator reads them.
        y : array-like, default=None
            Labels, one for each record; not needed if ``target`` is given.
        target : str, default=None
            Name of the column of X to predict, for models of raw tables.

        Returns
        -------
        self
            Fitted search.

        Raises
        ------
        DataError
            If the data violate a requirement of the estimator. Nothing is charged.
        LeakError
            If scikit-learn evaluates the search on the private data, if a pipeline fitted an earlier transformer to the
            private data without a guarantee, or if ``ledger`` is given and the release of an earlier transformer was
            not charged to the same account. Nothing is charged.
        BudgetError
            If ``ledger`` does not cover the search. Nothing is charged.
        AssumptionError
            If no trial returned a model. The charge is not refunded.
        """
        require_in_memory(X)
        require_in_memory(y, argument="y")
        if (y is None) == (target is None):
            raise ParameterError("a search needs y, or target= with the name of a column of X, and not both.")
        budget, seed = parameters.budget_of(self.ledger), parameters.seed_of(self.random_state)
        checked_score_source(False)
        checked_steps("refuse", budget=budget, facts=facts_of(X))
        estimator = with_norm(self.estimator, X)
        columns = feature_columns(X, target) if is_table_model(estimator) else None
        rows = rows_of(estimator, X, columns)
        records = public_rows(Adjacency.of(self.adjacency), self.n, rows)
        dim, names = _shape(X) if columns is None else (None, None)
        trials = self._trials(records, estimator=estimator, dim=dim, columns=columns, target=target, names=names)
        plan = self._planned(records, trials)
        if isinstance(estimator, PrivateLinearModel) and estimator.feature_norm is None and estimator.bounds is None:
            parameters.warn_unbounded()
        bits = SystemBits() if seed is None else NotPrivateBits(seed)
        coins = bits.stream()

        def read() -> _SplitRecords:
            with warnings.catch_warnings(action="ignore"):
                trials.read(X, y, target)
            return _SplitRecords(trials, plan.split(len(trials.labels), coins))

        if seed is not None:
            warn_seeded()
        with warnings.catch_warnings():  # the warning of the release does not name the argument
            warnings.simplefilter("ignore", NotPrivateWarning)
            ready = prepare_release(plan.facts, read, budget=budget, bits=bits)
        with ready.charged() as run:
            outcome = _draw(plan, run, seeded=seed is not None)
            setting, score = dict(plan.settings[outcome.place]), _score(trials, outcome)
            adopted = _Adoption(plan, run, setting, score, by_function=isinstance(estimator, TrainingFunction))
            model, release = adopted.release(outcome.model)
        self._set_fitted(plan, model, release, setting=setting, score=score)
        return self

    def _set_fitted(
        self, plan: SearchPlan, model: Any, release: Release[Any], *, setting: dict[str, object], score: float
    ) -> None:
        self.best_estimator_, self.best_params_, self.best_score_ = model, setting, score
        self.plan_, self.release_ = plan, release
        record: Record = release.record
        self.record_ = record
        self.guarantee_ = release.guarantee if record.is_private else None
        self.profile_ = release.profile if record.is_private else None
        for name in ("classes_", "n_features_in_", "feature_names_in_"):
            self.__dict__.pop(name, None)
            if hasattr(model, name):
                setattr(self, name, getattr(model, name))

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the predictions of the best model.

        Parameters
        ----------
        X
            Records to predict.
        """
        check_is_fitted(self)
        function = self.estimator.predict if isinstance(self.estimator, TrainingFunction) else None
        found = self.best_estimator_.predict(X) if function is None else function(self.best_estimator_, X)
        return np.asarray(found)

    @available_if(_best_has("predict_proba"))  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the class probabilities of the best model.

        Parameters
        ----------
        X
            Records to predict.
        """
        check_is_fitted(self)
        return np.asarray(self.best_estimator_.predict_proba(X))

    @available_if(_best_has("decision_function"))  # type: ignore[untyped-decorator]
    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Return the scores of the best model for each record.

        Parameters
        ----------
        X
            Records to predict.
        """
        check_is_fitted(self)
        return np.asarray(self.best_estimator_.decision_function(X))

    @available_if(_best_has("score"))  # type: ignore[untyped-decorator]
    def score(self, X: Any, y: Any) -> float:
        """Return the accuracy of the best model, or R^2 for a regression.

        If the records are private, this score is NOT PRIVATE; use `PrivateMetrics` instead.

        Parameters
        ----------
        X
            Records to predict.
        y
            Labels.
        """
        check_is_fitted(self)
        return float(self.best_estimator_.score(X, y))

    @property
    def statement_(self) -> Statement:
        """Privacy statement of the search: all fields as plain data."""
        check_is_fitted(self)
        found = getattr(self.best_estimator_, "statement_", None)
        return found if isinstance(found, Statement) else statement(self.release_)

    def write_statement(
        self, path: str | os.PathLike[str], *, fields: Mapping[str, object] | None = None, overwrite: bool = False
    ) -> None:
        """Write the privacy statement of the search to a file.

        Parameters
        ----------
        path : str or path-like
            File to write; its suffix sets the format: web page (.html), Markdown (.md) or JSON (.json).
        fields : mapping, default=None
            Values of the fields that only the user can fill in, such as ``curator``, keyed by field name.
        overwrite : bool, default=False
            Whether to replace an existing file.
        """
        check_is_fitted(self)
        write_statement(path, self.statement_, self.profile_, fields=fields, overwrite=overwrite)

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        """Write the best model to a file.

        The record and the guarantee in the file are those of the search.

        Parameters
        ----------
        path : str or path-like
            File to write.
        overwrite : bool, default=False
            Whether to replace an existing file.

        Raises
        ------
        ParameterError
            If models of this type cannot be saved to a file, or if ``path`` exists and ``overwrite`` is False.
        """
        check_is_fitted(self)
        if not hasattr(self.best_estimator_, "save"):
            raise ParameterError(
                f"a model file cannot hold {type(self.best_estimator_).__name__}.",
                remedy="Save best_estimator_ by its own library, and write the statement beside it.",
            )
        self.best_estimator_.save(path, overwrite=overwrite)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "best_estimator_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        if hasattr(self.estimator, "__sklearn_tags__"):
            inner = self.estimator.__sklearn_tags__()
            tags.estimator_type = inner.estimator_type
            tags.classifier_tags, tags.regressor_tags = inner.classifier_tags, inner.regressor_tags
        tags.no_validation = tags.non_deterministic = True
        return tags

    def _goal(self) -> ApproxDP:
        goal = parameters.goal_of(self.epsilon, self.delta, self.adjacency)
        if goal is None:
            rule = "must be finite: without noise, a search of scikit-learn does the same"
            raise ParameterError(argument="epsilon", rule=rule, remedy="Choose 1.0, for example.")
        if not isinstance(goal, ApproxDP):
            rule = "must be greater than 0: the scores have Gaussian noise"
            raise ParameterError(argument="delta", rule=rule, remedy="Choose 1e-6, for example.")
        return goal

    def _trials(self, records: int | None, *, estimator: Any = None, **facts: Any) -> SettingTrials:
        share = checks.between("validation", self.validation, 0.001, MOST_VALIDATION, _VALIDATION)
        n = None if records is None else SearchPlan.training_size(records, share)
        known = checked_settings(expanded_settings(self.settings))
        return trials_of(estimator or self.estimator, known, Adjacency.of(self.adjacency), n, **facts)

    def _planned(self, records: int | None, trials: SettingTrials) -> SearchPlan:
        """Return the plan; the plan of the same search, made before, is not computed again."""
        goal = self._goal()
        trials.task, trials.label_range  # noqa: B018  # raise before any data are read
        key = (goal, trials.settings, self.runs, self.validation, records, trials.key)
        known = self.__dict__.get("_ahead")
        if known is None or known[0] != key:
            known = self._ahead = (key, *self._plan_with_less_noise(goal, records, trials))
        found, gaussian = known[1:]
        if isinstance(trials, LinearTrials):
            trials.gaussian = gaussian
        return found

    def _plan_with_less_noise(
        self, goal: ApproxDP, records: int | None, trials: SettingTrials
    ) -> tuple[SearchPlan, bool]:
        """Return the plan, and whether linear models have Gaussian noise instead of noise with a pure guarantee."""

        def planned() -> SearchPlan:
            return SearchPlan.for_goal(
                trials.settings,
                goal,
                event_of=trials.event,
                runs=self.runs,
                validation=float(self.validation),
                n=records,
            )

        plan = planned()
        if not isinstance(trials, LinearTrials) or not trials.has_pure_noise(plan.trial_goal):
            return plan, False
        noise, trials.gaussian = trials.noise(plan.trial_goal), True
        other = planned()
        return (other, True) if trials.noise(other.trial_goal) < noise else (plan, False)


def without_privacy(estimator: Any) -> Any:
    """Return an unfitted copy of an estimator in which all parameters that a search sets have their defaults.

    Parameters
    ----------
    estimator
        Private estimator.
    """
    usual = inspect.signature(type(estimator)).parameters
    changed = {name: usual[name].default for name in SET_BY_THE_SEARCH if name in usual}
    return clone(estimator).set_params(**changed)


def expanded_settings(settings: Any) -> list[Mapping[str, object]]:
    """Return the list of settings: all combinations of the values in a mapping, or a copy of a given list.

    Raises
    ------
    ParameterError
        If a setting contains a parameter that the search sets, or that must be the same for all trials.
    """
    if isinstance(settings, Mapping):
        lists = [_values(name, values) for name, values in settings.items()]
        found: list[Mapping[str, object]] = [
            dict(zip(settings, values, strict=True)) for values in itertools.product(*lists)
        ]
    elif isinstance(settings, Sequence) and all(isinstance(setting, Mapping) for setting in settings):
        found = [dict(setting) for setting in settings]
    else:
        rule = "must be a mapping of parameters to lists of values, or a list of mappings"
        raise ParameterError(argument="settings", rule=rule, got=shown(settings), remedy='Give {"clip": [0.5, 1.0]}.')
    for name in dict.fromkeys(itertools.chain(*found)):
        last = str(name).rsplit("__", 1)[-1]
        if last in SET_BY_THE_SEARCH:
            rule = "must not be a setting: the search sets it, under its own guarantee"
            raise ParameterError(argument=str(name), rule=rule, remedy=f"Leave out {arg(str(name))}.")
        if last in SAME_FOR_ALL:
            rule = "must not be a setting: it limits the data, and is the same for all trials"
            raise ParameterError(argument=str(name), rule=rule, remedy="Give it to the estimator.")
    return found


def _values(name: object, values: Any) -> list[Any]:
    if isinstance(values, str) or not isinstance(values, Sequence | np.ndarray) or not len(values):
        rule = f"must give a list of values for {name!r}"
        raise ParameterError(argument="settings", rule=rule, got=shown(values), remedy='Give {"clip": [0.5, 1.0]}.')
    return list(values)


def _shape(X: Any) -> tuple[int | None, inputs.Names]:
    """Return the number of features and the names of the columns."""
    try:
        table = inputs.two_dimensional(X)
    except DataError:  # records of a training function have any form
        return None, None
    return int(table.shape[1]), inputs.names_of(table)


def _draw(plan: SearchPlan, run: Run[_SplitRecords], *, seeded: bool) -> SearchOutcome:
    """Return the best outcome; its trials have fresh randomness, and no ledger."""
    trials, split, stream = run.value.trials, run.value.split, run.stream

    def train(place: int) -> Any:
        return trials.train(place, plan.trial_goal, split.training, _seed(stream) if seeded else None)

    outcome = plan.draw(train, lambda model: trials.grades(model, split.evaluation), stream)
    if outcome.model is None:
        raise AssumptionError(
            "no trial of the search returned a model, so there is nothing to release.",
            remedy="The charge is not refunded. Try the estimator on made-up records, give a larger epsilon, or use "
            "more records.",
        )
    return outcome


def _seed(stream: Stream) -> int:
    return integer(stream, 64) % 2**_SEED_BITS


def _score(trials: SettingTrials, outcome: SearchOutcome) -> float:
    """Return the noisy accuracy, or minus the noisy mean of the clipped squared errors."""
    if trials.task is TargetKind.CLASSIFICATION:
        return outcome.grade
    assert trials.label_range is not None
    low, high = trials.label_range
    return (outcome.grade - 1) * ((high - low) / 2) ** 2 + 0.0


@dataclass(frozen=True)
class _Adoption:
    """Release of the best model: its record, guarantee and profile become those of the search."""

    plan: SearchPlan
    run: Run[_SplitRecords]
    setting: Mapping[str, object]
    score: float
    by_function: bool

    def release(self, model: Any) -> tuple[Any, Release[Any]]:
        """Commit the release, and return the model with it."""
        if isinstance(model, PrivateLinearModel):
            return model, self._linear(model, None)
        if isinstance(model, PrivateTableModel):
            return model, self._table(model)
        return model, self._other(model)

    def _facts(self, public: Mapping[str, object]) -> dict[str, object]:
        """Return the public facts of the release: those of the training, and those of the search."""
        known: Any = self.plan.facts.public[SEARCHING]
        listed: Any = public.get("why", ())
        why = [*map(str, self.plan.why), *map(str, listed)]
        search = {**known, "setting": dict(self.setting), "score": self.score, "records": self.plan.n}
        search |= {"function": True} if self.by_function else {}
        found = _json({**public, SEARCHING: search, "why": why})
        return dict(Record(**{**self.plan.facts.known, "public": found}).public)

    def _linear(self, model: Any, schema: str | None) -> Release[Any]:
        """Give a linear model the release of the search; ``schema`` is the digest of a schema that was found."""
        goal, fitted = self.plan.goal, model._fitted
        public = self._facts(fitted.public)
        model.set_params(epsilon=goal.epsilon, delta=goal.delta, adjacency=goal.adjacency.value)
        if self.run.record.seeded is False:
            model.set_params(random_state=None)
        arguments = model.get_params(deep=False)
        header = header_digest(
            type(model).__name__, plain_parameters(arguments, str(public["method"])), public, by_schema=True
        )
        committed = searched_digest(header, schema, fitted.released)
        self._record_stage(committed)
        release = self.run.released(fitted.released, lambda _: committed).with_public(public)
        model._set_fitted(replace(fitted, release=release), _kept_columns(model))
        return release

    def _table(self, model: Any) -> Release[Any]:
        """Give a model of a raw table, and the linear model inside, the release of the search."""
        goal, inner = self.plan.goal, model.model_
        release = self._linear(inner, str(inner._fitted.public["schema_digest"]))
        model.set_params(epsilon=goal.epsilon, delta=goal.delta, random_state=None)
        model.guarantee_, model.profile_, model.record_ = inner.guarantee_, inner.profile_, inner.record_
        if model.n_records_ is not None:
            model.n_records_ /= 1 - self.plan.validation
        return release

    def _other(self, model: Any) -> Release[Any]:
        """Commit setting and score, with the weights of a PyTorch module, and give an estimator this release."""
        inner = getattr(model, "release_", None)
        own = inner.record.public if isinstance(inner, Release) else {"release": "model of a private search"}
        public = self._facts(own)
        committed = _content_digest(model, self.setting, self.score)
        self._record_stage(committed)
        value = inner.value if isinstance(inner, Release) else model
        release = self.run.released(value, lambda _: committed).with_public(public)
        if isinstance(inner, Release):
            goal, private = self.plan.goal, release.record.is_private
            model.release_, model.record_ = release, release.record
            model.guarantee_ = release.guarantee if private else None
            model.profile_ = release.profile if private else None
            model.set_params(epsilon=goal.epsilon, delta=goal.delta)
        return release

    def _record_stage(self, committed: str) -> None:
        self.run.record_stage(SEARCHING, {"digest": committed, "setting": _json(dict(self.setting))})


def _content_digest(model: Any, setting: Mapping[str, object], score: float) -> str:
    """Return a digest of setting, score and the weights of a PyTorch module, if the model is or has one."""
    module = getattr(model, "module_", model)
    weights = module.state_dict() if hasattr(module, "state_dict") else {}
    parts = [digest(np.asarray(value.detach().cpu().numpy())) for value in weights.values()]
    text = repr(["dperm search", sorted(setting.items(), key=lambda item: item[0]), score, parts])
    return f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"


def _json(value: Any) -> Any:
    import json

    return json.loads(json.dumps(value, default=_plain))


def _plain(value: object) -> object:
    """Return a number of numpy as a number, and anything else that JSON cannot hold by its text."""
    return value.item() if isinstance(value, np.generic) else repr(value)


class _Columns:
    """Number and names of the columns of a fitted model, in scikit-learn's attributes."""


def _kept_columns(model: Any) -> Any:
    kept = _Columns()
    for name in ("n_features_in_", "feature_names_in_"):
        if hasattr(model, name):
            setattr(kept, name, getattr(model, name))
    return kept
