# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Private preparation of wide tables of numbers as scikit-learn transformers (T72, T74, T76)."""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Self, final

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from dperm import checks
from dperm.checks import shown
from dperm.data.canonical import canonical_columns
from dperm.data.columns import LARGEST, Numeric
from dperm.data.encoded import EncodingFacts, encoded, facts_of
from dperm.data.encoder import PublicEncoder
from dperm.data.pipeline_steps import checked_transformers
from dperm.data.row_scaling import scaled_down
from dperm.data.score_sources import check_pipeline_scores
from dperm.data.space import NARROWEST
from dperm.data.tables import is_table, named_columns, require_in_memory
from dperm.errors import DataError, ParameterError
from dperm.preparation.numbers import NumberPlan, PreparedNumbers
from dperm.preparation.schema import TAILS
from dperm.privacy import Adjacency, Release
from dperm.privacy.digest import digest
from dperm.report import Statement, statement
from dperm.sklearn import parameters
from dperm.sklearn.release_facts import release_facts, with_earlier

UNKNOWN_BOUNDS = (-1.0, 1.0)
"""Bounds of a column in which no range was found."""


@final
class PrivateScaler(TransformerMixin, BaseEstimator):
    """Scale the columns of a wide table of numbers privately, and scale its rows down to a private norm.

    An entry x becomes (x - median) / spread, clipped to [-1, 1], with the private median and spread of its column.
    Missing cells, text and infinities become 0. The spread is the larger of the distances from the median to the 0.02
    and 0.98 quantiles. Rows with a norm above a private median of the row norms are scaled down to this median. The
    medians, the spreads and the norm form one release with one guarantee (T72, T74, T76). Columns in which no range is
    found are left out.

    Parameters
    ----------
    epsilon : float, default=1.0
        Privacy-loss bound of the preparation; smaller is more private.
    delta : float, default=1e-6
        Delta of the guarantee, greater than 0.
    adjacency : {"replace_one", "add_remove"}, default="replace_one"
        Neighbouring relation.
    pooled : bool, default=False
        Whether all columns have the same scale, like the pixels of an image. All columns then share one median, one
        spread, and one histogram with much less noise. Choose this option without looking at the data.
    row_norm : bool, default=True
        Whether to release a median of the row norms. If False, ``norm_`` is the square root of the number of scaled
        columns, which bounds the norm of every row.
    ledger : Ledger or budget in memory, default=None
        Budget to which a fit is charged.
    random_state : int, Generator or RandomState, default=None
        Seed, which makes the fit reproducible and NOT PRIVATE.

    Attributes
    ----------
    norm_ : float
        Bound on the norm of every transformed row; pass it to an estimator as ``feature_norm``.
    center_, scale_ : ndarray
        Median and spread of each column; for columns that are left out, 0 and NaN.
    encoder_ : PublicEncoder
        Encoder of the columns, computed from the release alone, without the scaling of rows.
    n_records_ : float
        Noisy number of records.
    guarantee_ : ApproxDP or None
        Guarantee of the preparation; None for a seeded fit.
    plan_ : NumberPlan
        Plan made from public numbers.
    record_ : Record
        Public facts of the release.
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : ndarray of str
        Names of the columns of X; only for tables.

    See Also
    --------
    PrivateBounds : Bounds of the columns alone.
    PrivateTableClassifier : Scaling and model under one guarantee, with ``encoding="scaled"``.

    Examples
    --------
    >>> import numpy as np
    >>> from dperm.sklearn import PrivateScaler
    >>> X = np.random.default_rng(0).normal(5.0, 2.0, (20_000, 10))
    >>> scaler = PrivateScaler(epsilon=1.0, delta=1e-6).fit(X)
    >>> bool((np.linalg.norm(scaler.transform(X), axis=1) <= scaler.norm_).all())
    True
    """

    def __init__(
        self,
        *,
        epsilon: float = 1.0,
        delta: float = 1e-6,
        adjacency: Adjacency | str = "replace_one",
        pooled: bool = False,
        row_norm: bool = True,
        ledger: Any = None,
        random_state: Any = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.adjacency = adjacency
        self.pooled = pooled
        self.row_norm = row_norm
        self.ledger = ledger
        self.random_state = random_state

    def plan(self, columns: int | Sequence[str]) -> NumberPlan:
        """Return the plan of a fit, computed from public numbers alone.

        Parameters
        ----------
        columns : int or sequence of str
            Number or names of the columns of X.

        Returns
        -------
        NumberPlan
            Plan with ``event``, ``why`` and ``records_needed``.
        """
        return _plan(self, columns, pooled=self.pooled, row_norm=self.row_norm)

    def fit(self, X: object, y: object = None) -> Self:
        """Release the medians, the spreads and the norm of a private table, and charge the release to ``ledger``.

        Parameters
        ----------
        X : table or array-like of shape (n_samples, n_features)
            Data frame, Arrow table, mapping of names to columns, or dense array. No cell value causes an error.
        y : object, default=None
            Ignored.

        Returns
        -------
        self
            Fitted scaler.

        Raises
        ------
        DataError
            If X is not a table or a dense array. Nothing is charged.
        LeakError
            If a pipeline fitted an earlier transformer to the private data without a guarantee, if ``ledger`` is given
            and the release of an earlier transformer was not charged to the same account, or if scikit-learn evaluates
            the model of the pipeline on the private data. Nothing is charged.
        BudgetError
            If ``ledger`` does not cover the preparation. Nothing is charged.
        """
        released = _fit(self, X)
        encoder = self.encoder_ = released.encoder
        self.norm_ = encoder.norm if released.rows is None else released.rows.norm
        self.center_, self.scale_ = np.zeros(self.n_features_in_), np.full(self.n_features_in_, np.nan)
        for place, name in enumerate(released.columns):
            column = encoder.columns.get(name)
            if isinstance(column, Numeric):
                self.center_[place] = column.low / 2 + column.high / 2
                self.scale_[place] = column.high / 2 - column.low / 2
        return self

    def transform(self, X: object) -> Any:
        """Return the scaled entries of each record, with rows of norm at most ``norm_``.

        Parameters
        ----------
        X : table or array-like of shape (n_samples, n_features)
            Data with the columns of the fit. No cell value causes an error.

        Returns
        -------
        ndarray of shape (n_samples, n_features_out)
            Features. The array, and any subset of its rows, passes ``norm_`` on to an estimator with
            ``feature_norm="auto"``.
        """
        check_is_fitted(self)
        features = np.asarray(self.encoder_.transform(_columns_of(self, X), unseen="other"))
        return encoded(scaled_down(features, self.norm_), _facts_after(self, X))

    @property
    def encoding_facts(self) -> EncodingFacts:
        """Released facts that are attached to the scaled rows: encoder, bound on the row norm, and guarantee."""
        check_is_fitted(self)
        return _facts(self, self.encoder_, length=self.norm_)

    @property
    def statement_(self) -> Statement:
        """Privacy statement of the preparation: all fields as plain data."""
        check_is_fitted(self)
        return statement(self.release_)

    def get_feature_names_out(self, input_features: ArrayLike | None = None) -> NDArray[np.object_]:
        """Return the feature names.

        Parameters
        ----------
        input_features
            Ignored, because columns have names.

        Returns
        -------
        ndarray of str
            Feature names.
        """
        check_is_fitted(self)
        return np.array(self.encoder_.feature_names, dtype=object)

    def __sklearn_tags__(self) -> Tags:
        return _tags(super().__sklearn_tags__())


@final
class PrivateBounds(TransformerMixin, BaseEstimator):
    """Find bounds on the columns of a table of numbers privately, for estimators that need ``bounds``.

    The bounds are two private quantiles of each column (T72, T74). Bounds that are too wide reduce accuracy, and bounds
    that are too narrow clip values, but neither affects the guarantee.

    Parameters
    ----------
    epsilon : float, default=1.0
        Privacy-loss bound of the release; smaller is more private.
    delta : float, default=1e-6
        Delta of the guarantee, greater than 0.
    adjacency : {"replace_one", "add_remove"}, default="replace_one"
        Neighbouring relation.
    quantiles : (float, float), default=(0.02, 0.98)
        Levels of the lower and the upper quantile, in [0, 1], with the lower level first.
    pooled : bool, default=False
        Whether all columns have the same scale; see `PrivateScaler`.
    ledger : Ledger or budget in memory, default=None
        Budget to which a fit is charged.
    random_state : int, Generator or RandomState, default=None
        Seed, which makes the fit reproducible and NOT PRIVATE.

    Attributes
    ----------
    bounds_ : list of (low, high)
        Bounds of each column, for the argument ``bounds`` of an estimator; (-1, 1) for columns in which no range is
        found.
    median_ : ndarray
        Private median of each column, within the bounds of the column; it replaces missing cells.
    n_records_ : float
        Noisy number of records.
    guarantee_, plan_, record_, n_features_in_, feature_names_in_
        See `PrivateScaler`.

    Examples
    --------
    >>> import numpy as np
    >>> from dperm.sklearn import PrivateBounds, PrivateLinearRegression
    >>> X = np.random.default_rng(0).uniform(10.0, 20.0, (20_000, 3))
    >>> bounds = PrivateBounds(epsilon=1.0, delta=1e-6).fit(X)
    >>> model = PrivateLinearRegression(epsilon=1.0, delta=1e-6, bounds=bounds.bounds_, label_range=(30, 60))
    """

    def __init__(
        self,
        *,
        epsilon: float = 1.0,
        delta: float = 1e-6,
        adjacency: Adjacency | str = "replace_one",
        quantiles: tuple[float, float] = TAILS,
        pooled: bool = False,
        ledger: Any = None,
        random_state: Any = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.adjacency = adjacency
        self.quantiles = quantiles
        self.pooled = pooled
        self.ledger = ledger
        self.random_state = random_state

    def plan(self, columns: int | Sequence[str]) -> NumberPlan:
        """Return the plan of a fit, computed from public numbers alone.

        Parameters
        ----------
        columns : int or sequence of str
            Number or names of the columns of X.

        Returns
        -------
        NumberPlan
            Plan with ``event``, ``why`` and ``records_needed``.
        """
        self._quantiles()
        return _plan(self, columns, pooled=self.pooled, row_norm=False)

    def fit(self, X: object, y: object = None) -> Self:
        """Release the bounds of the columns of a private table, and charge the release to ``ledger``.

        Parameters
        ----------
        X : table or array-like of shape (n_samples, n_features)
            Data frame, Arrow table, mapping of names to columns, or dense array. No cell value causes an error.
        y : object, default=None
            Ignored.

        Returns
        -------
        self
            Fitted transformer.

        Raises
        ------
        DataError
            If X is not a table or a dense array. Nothing is charged.
        LeakError
            If a pipeline fitted an earlier transformer to the private data without a guarantee, if ``ledger`` is given
            and the release of an earlier transformer was not charged to the same account, or if scikit-learn evaluates
            the model of the pipeline on the private data. Nothing is charged.
        BudgetError
            If ``ledger`` does not cover the release. Nothing is charged.
        """
        released = _fit(self, X)
        self.bounds_ = [_wide_enough(pair) for pair in released.bounds(self._quantiles())]
        medians = [cells.quantile(0.5) if cells.span else 0.0 for cells in released.columns.values()]
        self.median_ = np.clip(medians, *np.array(self.bounds_).T)
        return self

    def transform(self, X: object) -> Any:
        """Return the numbers clipped to the bounds, with medians in place of missing cells, text and infinities.

        Parameters
        ----------
        X : table or array-like of shape (n_samples, n_features)
            Data with the columns of the fit. No cell value causes an error.

        Returns
        -------
        ndarray of shape (n_samples, n_features)
            Finite numbers within ``bounds_``. The array does not pass on a bound on the row norm, so
            ``feature_norm="auto"`` cannot be used. Pass ``bounds_`` to an estimator as ``bounds``.
        """
        check_is_fitted(self)
        read = canonical_columns(_columns_of(self, X), self.plan_.columns)
        columns = [
            np.clip(np.where(np.isnan(cells.numbers), middle, cells.numbers), *ends)
            for cells, middle, ends in zip(read, self.median_, self.bounds_, strict=True)
        ]
        return encoded(np.column_stack(columns), _facts_after(self, X))

    @property
    def encoding_facts(self) -> EncodingFacts:
        """Released facts that are attached to the rows: the guarantee of the release, but no bound on the row norm."""
        check_is_fitted(self)
        return _facts(self, None, length=math.inf)

    @property
    def statement_(self) -> Statement:
        """Privacy statement of the release: all fields as plain data."""
        check_is_fitted(self)
        return statement(self.release_)

    def get_feature_names_out(self, input_features: ArrayLike | None = None) -> NDArray[np.object_]:
        """Return the feature names, which are the column names.

        Parameters
        ----------
        input_features
            Ignored, because columns have names.

        Returns
        -------
        ndarray of str
            Feature names.
        """
        check_is_fitted(self)
        return np.array(self.plan_.columns, dtype=object)

    def _quantiles(self) -> tuple[float, float]:
        rule = "must be two different levels in [0, 1], the lower one first"
        given = self.quantiles
        if not isinstance(given, tuple | list) or len(given) != 2:
            raise ParameterError(argument="quantiles", rule=rule, got=shown(given))
        low, high = (checks.between("quantiles", share, 0.0, 1.0, f"It {rule}.") for share in given)
        if not low < high:
            raise ParameterError(argument="quantiles", rule=rule, got=shown(given))
        return low, high

    def __sklearn_tags__(self) -> Tags:
        return _tags(super().__sklearn_tags__())


def _plan(estimator: Any, columns: int | Sequence[str], *, pooled: bool, row_norm: bool) -> NumberPlan:
    """Return the plan of an estimator's fit."""
    goal = parameters.goal_of(estimator.epsilon, estimator.delta, estimator.adjacency)
    if goal is None:
        rule = "must be finite: a preparation without noise has no guarantee"
        raise ParameterError(argument="epsilon", rule=rule, remedy="Choose 1.0, for example.")
    names = [f"x{place}" for place in range(columns)] if isinstance(columns, int) else columns
    return NumberPlan.for_goal(names, goal, pooled=pooled, row_norm=row_norm)


def _fit(estimator: Any, X: object) -> PreparedNumbers:
    """Release the numbers of a private table, and set the attributes that all transformers share."""
    require_in_memory(X)
    budget, seed = parameters.budget_of(estimator.ledger), parameters.seed_of(estimator.random_state)
    check_pipeline_scores()
    earlier = checked_transformers(budget=budget, seeded=seed is not None, facts=facts_of(X))
    table = named_columns(X)
    plan = estimator.plan(tuple(table))
    bits = None
    if seed is not None:
        from dperm.noise import NotPrivateBits

        bits = NotPrivateBits(seed)
    release: Release[PreparedNumbers] = plan.run(table, budget, bits=bits)
    release = release.with_public(with_earlier(dict(release.record.public), earlier))
    estimator.release_, estimator.plan_, estimator.record_ = release, plan, release.record
    estimator._digest = digest(release.value)
    estimator.guarantee_ = release.guarantee if release.record.is_private else None
    estimator.n_records_ = release.value.records
    estimator.n_features_in_ = len(table)
    if is_table(X):
        estimator.feature_names_in_ = np.array(list(table), dtype=object)
    elif hasattr(estimator, "feature_names_in_"):
        del estimator.feature_names_in_
    return release.value


def _facts(estimator: Any, encoder: PublicEncoder | None, *, length: float | None) -> EncodingFacts:
    """Return the facts about the rows of a fitted transformer."""
    return EncodingFacts(
        encoder,
        release=release_facts(estimator.record_, release_digest=estimator._digest),
        step=type(estimator).__name__,
        width=estimator.n_features_in_,
        length=length,
    )


def _facts_after(estimator: Any, X: object) -> EncodingFacts:
    """Return the facts of transformed rows, with those of the rows before and their facts about the labels."""
    found: EncodingFacts = estimator.encoding_facts
    facts = facts_of(X)
    if facts is None:
        return found
    return replace(found, classes=facts.classes, label_range=facts.label_range, earlier=facts.every)


def _columns_of(estimator: Any, X: object) -> dict[str, object]:
    """Return the columns of data to transform, which must be those of the fit."""
    table = named_columns(X)
    if not is_table(X):
        if len(table) != estimator.n_features_in_:
            raise DataError(f"X must have {estimator.n_features_in_} columns, as in the fit.")
        return dict(zip(estimator.plan_.columns, table.values(), strict=True))
    return table


def _wide_enough(bounds: tuple[float, float] | None) -> tuple[float, float]:
    """Return bounds that an estimator accepts; `UNKNOWN_BOUNDS` for a column without any range."""
    if bounds is None:
        return UNKNOWN_BOUNDS
    low, high = max(bounds[0], -LARGEST), min(bounds[1], LARGEST)
    return (low, high) if high / 2 - low / 2 > 2 * NARROWEST else UNKNOWN_BOUNDS


def _tags(tags: Tags) -> Tags:
    tags.no_validation = True  # cells are read one by one
    tags.non_deterministic = True
    tags.input_tags.categorical = tags.input_tags.string = tags.input_tags.allow_nan = True
    return tags
