# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Private principal components as a scikit-learn transformer (T78)."""

import math
from dataclasses import replace
from typing import Any, Self, final

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from dperm import checks
from dperm.data import inputs
from dperm.data.arrays import Floats
from dperm.data.encoded import EncodedMatrix, EncodingFacts, encoded, facts_of
from dperm.data.pipeline_steps import checked_transformers
from dperm.data.row_scaling import scaled_down
from dperm.data.score_sources import check_pipeline_scores
from dperm.data.tables import require_in_memory
from dperm.errors import DataError, ParameterError
from dperm.mechanisms.releases import Covariance
from dperm.presentation.spelling import arg
from dperm.privacy import Adjacency
from dperm.privacy.digest import digest
from dperm.privacy.public_rows import planned_rows, public_rows
from dperm.report import Statement, statement
from dperm.sklearn import parameters
from dperm.sklearn.auto import AUTO
from dperm.sklearn.release_facts import release_facts, with_earlier

_AUTO = f'"{AUTO}"'
_COMPONENTS = "It is the number of directions, at most the number of columns."


@final
class PrivatePCA(TransformerMixin, BaseEstimator):
    """Project rows onto private principal directions: eigenvectors of a noisy second-moment matrix (T78).

    Rows with a norm above ``feature_norm`` are scaled down to this norm. The second moment is taken about the origin,
    so center the columns with public numbers first, or use `PrivateScaler`. Computing the eigenvectors is
    post-processing and costs no privacy. The eigenvectors are orthonormal, so projecting a row never increases its
    norm.

    Parameters
    ----------
    n_components : int, default=2
        Number of directions, at most the number of columns.
    epsilon : float, default=1.0
        Privacy-loss bound of the release; smaller is more private.
    delta : float, default=1e-6
        Delta of the guarantee, greater than 0.
    feature_norm : float or "auto", default=1.0
        Public bound on the L2 norm of a row; longer rows are scaled down to this bound. "auto" uses the bound that an
        encoder or scaler of dperm has attached to the rows, as in a pipeline.
    adjacency : {"replace_one", "add_remove"}, default="replace_one"
        Neighbouring relation.
    n : int, default=None
        Public number of records under add_remove, where it is never compared with the data. With None, a noisy count
        of the records is released too, which raises the noise by a factor of sqrt(2). Under replace_one, the number of
        rows is used, and ``n`` must be None or equal to it.
    ledger : Ledger or budget in memory, default=None
        Budget to which a fit is charged.
    random_state : int, Generator or RandomState, default=None
        Seed, which makes the fit reproducible and NOT PRIVATE.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        Orthonormal directions, in order of decreasing ``explained_variance_``.
    explained_variance_ : ndarray of shape (n_components,)
        Noisy mean of the squared projections onto each direction. The noise makes the largest values too large on
        average.
    norm_ : float
        Bound on the norm of every projected row: ``feature_norm``, or with "auto" the bound attached to X.
    moment_ : ndarray of shape (n_features, n_features)
        Released second-moment matrix.
    guarantee_ : ApproxDP or None
        Guarantee of the release; None for a seeded fit.
    plan_ : Covariance
        Plan of the release, made from public numbers, with ``event``.
    record_ : Record
        Public facts of the release.
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : ndarray of str
        Names of the columns of X; only for tables.

    Examples
    --------
    >>> import numpy as np
    >>> from dperm.sklearn import PrivatePCA
    >>> X = np.random.default_rng(0).normal(size=(20_000, 3)) * [1.0, 0.3, 0.1]
    >>> pca = PrivatePCA(1, epsilon=1.0, delta=1e-6, feature_norm=3.0).fit(X)
    >>> float(round(abs(pca.components_[0, 0]), 1))
    1.0
    """

    def __init__(
        self,
        n_components: int = 2,
        *,
        epsilon: float = 1.0,
        delta: float = 1e-6,
        feature_norm: float | str = 1.0,
        adjacency: Adjacency | str = "replace_one",
        n: int | None = None,
        ledger: Any = None,
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.epsilon = epsilon
        self.delta = delta
        self.feature_norm = feature_norm
        self.adjacency = adjacency
        self.n = n
        self.ledger = ledger
        self.random_state = random_state

    def plan(self, columns: int, n: int | None = None) -> Covariance:
        """Return the plan of the release, computed from public numbers alone.

        Parameters
        ----------
        columns : int
            Number of columns.
        n : int, default=None
            Number of rows under replace_one, where this number is public.

        Returns
        -------
        Covariance
            Plan with ``event`` and ``standard_error``.
        """
        goal = parameters.goal_of(self.epsilon, self.delta, self.adjacency)
        if goal is None:
            rule = "must be finite: components without noise have no guarantee"
            raise ParameterError(argument="epsilon", rule=rule, remedy="Choose 1.0, for example.")
        checks.count("n_components", self.n_components, _COMPONENTS, most=columns)
        if self._is_auto():
            raise ParameterError(
                f"{arg('feature_norm', _AUTO)} is known only in a fit, from the encoder or scaler of its rows.",
                remedy=f"Declare {arg('feature_norm')} to plan without data.",
            )
        norm: Any = self.feature_norm
        records = planned_rows(goal.adjacency, self.n, n)
        if goal.adjacency is Adjacency.REPLACE_ONE:
            return Covariance(goal, norm, dim=columns, n=records)
        return Covariance(goal, norm, dim=columns, average=records is None)

    def _is_auto(self) -> bool:
        return isinstance(self.feature_norm, str) and self.feature_norm == AUTO

    def _norm_of(self, facts: EncodingFacts | None) -> Any:
        """Return the declared norm, or that of the rows."""
        if not self._is_auto():
            return self.feature_norm
        if facts is None or not math.isfinite(facts.norm):
            raise ParameterError(
                f"{arg('feature_norm', _AUTO)} needs rows with a norm, and X carries none.",
                remedy="Put PublicTableEncoder, PrivateTableEncoder or PrivateScaler directly before PrivatePCA, "
                "without set_output and without a step in between, or declare feature_norm.",
            )
        return facts.norm

    def fit(self, X: Any, y: object = None) -> Self:
        """Release the principal directions of private rows, and charge the release to ``ledger``.

        Parameters
        ----------
        X : table or array-like of shape (n_samples, n_features)
            Finite numbers.
        y : object, default=None
            Ignored.

        Returns
        -------
        self
            Fitted transformer.

        Raises
        ------
        DataError
            If X is not a matrix of finite numbers, or is sparse and does not come from an encoder. Nothing is charged.
        LeakError
            If a pipeline fitted an earlier transformer to the private data without a guarantee, if ``ledger`` is given
            and the release of an earlier transformer was not charged to the same account, or if scikit-learn evaluates
            the model of the pipeline on the private data. Nothing is charged.
        BudgetError
            If ``ledger`` does not cover the release. Nothing is charged.
        """
        require_in_memory(X)
        budget, seed = parameters.budget_of(self.ledger), parameters.seed_of(self.random_state)
        facts = facts_of(X)
        check_pipeline_scores()
        earlier = checked_transformers(budget=budget, seeded=seed is not None, facts=facts)
        planned = type(self)(**{**self.get_params(deep=False), "feature_norm": self._norm_of(facts)})
        matrix, names = _matrix(X)
        plan = planned.plan(matrix.shape[1], public_rows(Adjacency.of(self.adjacency), self.n, len(matrix)))
        bits = None
        if seed is not None:
            from dperm.noise import NotPrivateBits

            bits = NotPrivateBits(seed)
        release = plan.release(matrix, budget, bits=bits)
        release = release.with_public(with_earlier(dict(release.record.public), earlier))
        moment = release.value if plan.average else release.value / float(self.n or 1)
        values, vectors = np.linalg.eigh(moment)
        order = np.argsort(values)[::-1][: self.n_components]
        self.components_ = _signed(vectors.T[order])
        self.explained_variance_ = np.maximum(values[order], 0.0)
        self.moment_, self.norm_ = moment, float(planned.feature_norm)
        self._declares_norm = facts.declares_norm if self._is_auto() and facts is not None else not self._is_auto()
        self.release_, self.plan_, self.record_ = release, plan, release.record
        self._digest = digest(release.value)
        self.guarantee_ = release.guarantee if release.record.is_private else None
        self.n_features_in_ = matrix.shape[1]
        if names is not None:
            self.feature_names_in_ = np.array(names, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        return self

    def transform(self, X: Any) -> Any:
        """Return the projections of the rows. Rows with a norm above ``norm_`` are scaled down first.

        Parameters
        ----------
        X : table or array-like of shape (n_samples, n_features)
            Finite numbers.

        Returns
        -------
        ndarray of shape (n_samples, n_components)
            Projections, with norm at most ``norm_``. The array, and any subset of its rows, passes ``norm_`` on to an
            estimator with ``feature_norm="auto"``. It also passes on the classes or the label range that an earlier
            encoder released.
        """
        check_is_fitted(self)
        facts = facts_of(X)
        matrix, names = _matrix(X)
        if matrix.shape[1] != self.n_features_in_:
            raise DataError(f"X must have {self.n_features_in_} columns, as in the fit.")
        inputs.require_finite(matrix, names)
        rows = scaled_down(scaled_down(np.asarray(matrix), self.norm_) @ self.components_.T, self.norm_)
        return encoded(rows, self.encoding_facts if facts is None else self._facts_after(facts))

    def _facts_after(self, facts: EncodingFacts) -> EncodingFacts:
        """Return the facts of projected rows, with those of the transformer before and its facts about the labels."""
        return replace(self.encoding_facts, classes=facts.classes, label_range=facts.label_range, earlier=facts.every)

    @property
    def encoding_facts(self) -> EncodingFacts:
        """Released facts that are attached to the projected rows, including the guarantee of the release."""
        check_is_fitted(self)
        own = {"release_digest": self._digest, "n_components": len(self.components_)}
        return EncodingFacts(
            None,
            release=release_facts(self.record_, **own),
            step=type(self).__name__,
            width=len(self.components_),
            length=self.norm_,
            declares_norm=self._declares_norm,
        )

    @property
    def statement_(self) -> Statement:
        """Privacy statement of the release: all fields as plain data."""
        check_is_fitted(self)
        return statement(self.release_)

    def get_feature_names_out(self, input_features: ArrayLike | None = None) -> NDArray[np.object_]:
        """Return the feature names.

        Parameters
        ----------
        input_features
            Ignored, because components are not named after columns.

        Returns
        -------
        ndarray of str
            privatepca0, privatepca1 and so on.
        """
        check_is_fitted(self)
        return np.array([f"privatepca{place}" for place in range(len(self.components_))], dtype=object)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.non_deterministic = True
        return tags


def _matrix(X: Any) -> tuple[Floats, inputs.Names]:
    """Return X as a dense matrix of doubles, and the names of its columns."""
    found = inputs.two_dimensional(X.toarray() if isinstance(X, EncodedMatrix) else X)
    names = inputs.names_of(found)
    inputs.checked_shape(found)
    matrix = inputs.numeric(found)
    if not isinstance(matrix, np.ndarray):
        raise DataError("X must be dense.", remedy="Use X.toarray().")
    return matrix.astype(np.float64, copy=False), names


def _signed(components: Floats) -> Floats:
    """Return the directions with a positive largest entry, so that the sign does not depend on the machine."""
    places = np.argmax(np.abs(components), axis=1)
    signs = np.sign(components[np.arange(len(components)), places])
    return components * np.where(signs == 0, 1.0, signs)[:, np.newaxis]
