# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Linear regressions with differential privacy."""

from abc import ABC
from dataclasses import dataclass
from typing import Any, ClassVar, final

import numpy as np
from sklearn.base import RegressorMixin

from dperm import checks
from dperm.data import inputs
from dperm.data.arrays import Floats
from dperm.data.targets import Interval, Target
from dperm.erm.loss import Loss
from dperm.erm.residual_losses import Pinball, Squared
from dperm.sklearn.base import PrivateLinearModel
from dperm.sklearn.fit_result import FitResult
from dperm.sklearn.labels import PublicLabels, huber_loss, public_range, warn_undeclared_range


@dataclass(kw_only=True, eq=False, repr=False)
class PrivateLinearRegressor(RegressorMixin, PrivateLinearModel, ABC):
    """Linear regression fitted with differential privacy; subclasses choose the loss."""

    most_classes: ClassVar[int] = 0

    label_range: tuple[float, float] | str | None = None
    clip_predictions: bool = False

    def predict(self, X: Any) -> Floats:
        """Return the prediction for each row, in the units of y.

        The prediction is the inner product of the row with ``coef_``, plus ``intercept_``. Rows are neither clipped nor
        scaled down. Predictions are clipped to ``label_range`` if ``clip_predictions`` is True.

        Parameters
        ----------
        X
            Rows to predict, of shape (n_samples, n_features).

        Returns
        -------
        ndarray of shape (n_samples,)
            One prediction per row.
        """
        found = self._scores(X)
        if not checks.truth("clip_predictions", self.clip_predictions):
            return found
        by_encoder = isinstance(self.label_range, str)  # "auto"
        known = public_range(self._parameters["label_range"] if by_encoder else self.label_range).target
        assert isinstance(known, Interval)
        return np.clip(found, known.low, known.high)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the coefficient of determination R^2 of the predictions.

        If X and y are private, the score is **not covered by the guarantee**.

        Parameters
        ----------
        X
            Rows to predict, of shape (n_samples, n_features).
        y
            True labels, of shape (n_samples,).
        sample_weight
            Weights of the rows, or None.

        Returns
        -------
        float
            R^2 of the predictions, at most 1.
        """
        return float(super().score(X, inputs.numbers_of(y), sample_weight))

    def _scores(self, X: Any) -> Floats:
        """Return the predictions before they are clipped."""
        return np.asarray(self._features(X) @ self.coef_ + self.intercept_, dtype=np.float64)

    def __sklearn_tags__(self) -> Any:
        """Return scikit-learn's tags, which say that scores may be poor."""
        tags = super().__sklearn_tags__()
        tags.regressor_tags.poor_score = True
        return tags

    def _planned_labels(self) -> PublicLabels:
        checks.truth("clip_predictions", self.clip_predictions)
        return public_range(self.label_range)

    def _labels_of(self, y: Any) -> tuple[PublicLabels, Any]:
        return self._planned_labels(), y

    def _warn_undeclared(self) -> None:
        warn_undeclared_range()

    def _set_coefficients(self, fitted: FitResult) -> None:
        self.coef_, self.intercept_ = fitted.coef[0].copy(), float(fitted.intercept[0])


@final
@dataclass(kw_only=True, eq=False, repr=False)
class PrivateLinearRegression(PrivateLinearRegressor):
    """Differentially private linear regression by least squares, with clipped gradients.

    The gradients of the squared loss are unbounded, so they are clipped (T44). Beyond a certain residual, the clipped
    loss grows linearly, like the Huber loss.

    Parameters
    ----------
    epsilon : float, default=1.0
        Privacy-loss bound epsilon in (0, 500]; smaller is more private. ``inf`` fits without privacy.
    delta : float, default=1e-6
        Delta of the guarantee, far smaller than 1 divided by the number of records; 0.0 requests a pure guarantee.
    adjacency : {"replace_one", "add_remove"} or Adjacency, default="replace_one"
        Neighbouring relation: "replace_one" (the number of records is public) or "add_remove" (it is private).
    method : str or method object, default="auto"
        "auto" (chosen from public numbers), a name ("objective", "output", "gradient", "sgd", "bolt_on" or "posterior";
        for `PrivateLinearRegression` also "sufficient", which does not clip gradients), or a method object of
        `dperm.methods`.
    feature_norm : float or "auto", default=None
        Public L2 norm to which longer rows are scaled down. If neither ``feature_norm`` nor ``bounds`` is given, the
        norm is 1.0, and ``fit`` warns. "auto" takes the norm that a transformer of dperm, such as `PublicTableEncoder`,
        `PrivateTableEncoder` or `PrivateScaler`, has attached to the rows.
    bounds : (low, high), list of pairs, or mapping of names to pairs, default=None
        Public bounds of the columns: one pair for all columns, or one for each. Columns are clipped to these bounds and
        scaled to [-1, 1] internally. The fitted coefficients are in the original units.
    C : float, default=None
        Inverse 1/Lambda of the regularization strength. The objective is the sum (not the mean) of the losses plus
        Lambda/2 times the squared norm of the coefficients, with labels and columns scaled as described under
        ``label_range`` and ``bounds``. None lets the plan choose C. The intercept is regularized too, towards the
        middle of ``label_range``.
    clip : float, default=None
        Residual beyond which gradients are clipped, as a fraction of half the width of ``label_range``, in (0, 1]. The
        value applies to rows of the largest norm; shorter rows are clipped at larger residuals. Noise is proportional
        to ``clip``. None lets the plan choose (1/4). Without noise (``epsilon=inf``), None disables clipping.
    fit_intercept : bool, default=True
        Whether to fit an intercept. Without a fitted intercept, the middle of ``label_range`` is the prediction for a
        row in the middle of ``bounds``, or for a row of zeros if there are no ``bounds``.
    n : int, default=None
        Public number of records, on which the plan is based under add_remove; it is never compared with the data. Under
        replace_one, the number of rows is used, and ``n`` must be None or equal to it.
    ledger : Ledger or budget in memory, default=None
        Budget to which a fit is charged. Copies of the estimator in other processes charge the same
        `dperm.ledger.Ledger`. None charges nothing.
    invalid : {"raise", "drop"}, default="raise"
        "raise" raises DataError for rows with NaN, infinities or labels that are not numbers. With "drop", such rows
        contribute nothing; the guarantee covers this.
    fitted_transformers : {"refuse", "not_covered"}, default="refuse"
        Treatment of pipelines with a transformer, such as StandardScaler, that learns from the private data. "refuse"
        raises LeakError. With "not_covered", the model is fitted, and the statement says that the preparation is not
        covered.
    allow_unprotected_scores : bool, default=False
        Whether scikit-learn may evaluate the model on the private data, as `GridSearchCV` and `cross_val_score` do.
        With True, every fit is charged, and the statement says that the scores are not covered.
    random_state : int, Generator or RandomState, default=None
        Seed, which makes the fit reproducible and NOT PRIVATE.
    label_range : (low, high) or "auto", default=None
        Public range of y. Labels are clipped to this range and scaled to [-1, 1] internally. Do not compute the range
        from the data. A narrower range needs less noise. None means (-1, 1), with a warning at every fit. "auto" takes
        the range that `PrivateTableEncoder` released; records whose labels are not numbers then contribute nothing.
    clip_predictions : bool, default=False
        Whether ``predict`` clips predictions to ``label_range``. Clipping costs no privacy. It helps if the labels do
        not depend linearly on the features near the ends of the range.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        Coefficients for features in the units of X and labels in the units of y.
    intercept_ : float
        Intercept, in the units of y.
    guarantee_ : PureDP, ApproxDP or None
        Privacy guarantee with its adjacency; None for ``epsilon=inf``, for a fit with ``random_state``, and for a fit
        after transformers that learnt from the private data without a guarantee.
    profile_ : PrivacyProfile or None
        Privacy profile delta(epsilon); None without a guarantee.
    statement_ : Statement
        All fields of the privacy statement, as plain data.
    plan_ : Plan or None
        Plan made from public numbers; None for ``epsilon=inf`` and for a model loaded from a file.
    record_ : Record or None
        Public facts about the release, including the receipt from the ledger, if any; None for ``epsilon=inf``.
    n_features_in_ : int
        Number of features seen during ``fit``.
    feature_names_in_ : ndarray of shape (``n_features_in_``,)
        Names of the features seen during ``fit``, if all are strings.

    See Also
    --------
    PrivateHuberRegressor : Linear regression with the Huber loss.
    PrivateQuantileRegressor : Linear quantile regression.

    Examples
    --------
    >>> import numpy as np
    >>> from dperm.sklearn import PrivateLinearRegression
    >>> X = np.random.default_rng(0).uniform(0, 10, (2000, 3))
    >>> y = 50 + 4 * X[:, 0] - 3 * X[:, 1]
    >>> model = PrivateLinearRegression(epsilon=1.0, delta=1e-6, bounds=(0, 10), label_range=(0, 100)).fit(X, y)
    >>> model.guarantee_
    ApproxDP(epsilon=1.0, delta=1e-06, adjacency=REPLACE_ONE)
    >>> model.coef_.shape
    (3,)
    """

    def _loss_function(self, target: Target) -> Loss:
        return Squared()

    def _plain_estimator(self) -> Any:
        from sklearn.linear_model import LinearRegression

        return LinearRegression(fit_intercept=bool(self.fit_intercept))


@final
@dataclass(kw_only=True, eq=False, repr=False)
class PrivateHuberRegressor(PrivateLinearRegressor):
    """Differentially private linear regression with the Huber loss, which grows linearly for large residuals.

    Parameters
    ----------
    kappa : float, default=None
        Absolute residual above which the loss is linear, in the units of y. ``kappa`` bounds the influence of a record,
        so the noise is proportional to ``kappa``. None means a quarter of the width of ``label_range``.
    clip : float, default=None
        Clipping norm of a record's gradient, as a fraction of the largest possible norm, in (0, 1]; None and 1.0
        disable clipping.
    epsilon, delta, adjacency, method, feature_norm, bounds, C, fit_intercept
        See `PrivateLinearRegression`.
    n, ledger, invalid, fitted_transformers, allow_unprotected_scores, random_state, label_range, clip_predictions
        See `PrivateLinearRegression`.

    Attributes
    ----------
    coef_, intercept_, guarantee_, profile_, statement_, plan_, record_, n_features_in_, feature_names_in_
        See `PrivateLinearRegression`.

    Examples
    --------
    >>> from dperm.sklearn import PrivateHuberRegressor
    >>> plan = PrivateHuberRegressor(epsilon=1.0, label_range=(0, 100), kappa=10.0).plan(n=10_000, dim=5)
    >>> plan.spec.loss
    Huber(kappa=0.2)
    """

    kappa: float | None = None

    def _loss_function(self, target: Target) -> Loss:
        return huber_loss(self.kappa, self.label_range)

    def _plain_estimator(self) -> Any:
        from sklearn.linear_model import HuberRegressor

        return HuberRegressor(fit_intercept=bool(self.fit_intercept))


@final
@dataclass(kw_only=True, eq=False, repr=False)
class PrivateQuantileRegressor(PrivateLinearRegressor):
    """Differentially private linear quantile regression with the pinball loss.

    The pinball loss has a kink, so methods that require a smooth loss reject it, and ``epsilon=inf`` is not available.
    ``method="auto"`` uses gradient perturbation, or DP-SGD for large data. Both of these methods require delta > 0 and
    a public number of records.

    Parameters
    ----------
    quantile : float, default=0.5
        Level of the predicted quantile of y, in (0, 1); 0.5 is the median.
    clip : float, default=None
        See `PrivateHuberRegressor`.
    epsilon, delta, adjacency, method, feature_norm, bounds, C, fit_intercept
        See `PrivateLinearRegression`.
    n, ledger, invalid, fitted_transformers, allow_unprotected_scores, random_state, label_range, clip_predictions
        See `PrivateLinearRegression`.

    Attributes
    ----------
    coef_, intercept_, guarantee_, profile_, statement_, plan_, record_, n_features_in_, feature_names_in_
        See `PrivateLinearRegression`.

    Examples
    --------
    >>> from dperm.sklearn import PrivateQuantileRegressor
    >>> plan = PrivateQuantileRegressor(quantile=0.9, label_range=(0, 100), feature_norm=1.0).plan(n=10_000, dim=5)
    >>> plan.method
    'gradient'
    """

    quantile: float = 0.5

    def _loss_function(self, target: Target) -> Loss:
        return Pinball(self.quantile)

    def _plain_estimator(self) -> Any:
        from sklearn.linear_model import QuantileRegressor

        return QuantileRegressor(quantile=self.quantile, fit_intercept=bool(self.fit_intercept))
