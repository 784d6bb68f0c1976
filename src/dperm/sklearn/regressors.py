# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""The private linear regressions."""

from typing import TYPE_CHECKING, Any, final

from dperm.data.targets import Target
from dperm.erm.loss import Loss
from dperm.erm.residual_losses import Pinball, Squared
from dperm.privacy import Adjacency
from dperm.sklearn import ranges
from dperm.sklearn.geometry import Bounds
from dperm.sklearn.regressor import PrivateLinearRegressor

if TYPE_CHECKING:
    from dperm.accounting.budget import Budget
    from dperm.methods.plan import Method

Range = tuple[float, float]


@final
class PrivateLinearRegression(PrivateLinearRegressor):
    """Linear regression by least squares, with clipped gradients and differential privacy.

    The squared loss has no bound on its gradients, so they are clipped (T44): beyond a residual it grows linearly, as
    the Huber loss does.

    Parameters
    ----------
    epsilon
        How much a record may show; ``inf`` learns without privacy.
    delta
        0.0 asks for a pure guarantee.
    adjacency
        "replace_one" (n is public) or "add_remove" (n is private).
    method
        "auto", a name ("objective", "output", "gradient", "sgd", "bolt_on", "posterior", for this class also
        "sufficient", which clips nothing), or a method object of `dperm.methods`.
    feature_norm
        Public L2 norm: longer rows are scaled down to it. 1.0, with a warning, if neither it nor ``bounds`` is given.
    bounds
        Public (low, high) of the columns: one for all, a list, or a mapping by name; columns are clipped to them and
        scaled to [-1, 1] inside. Coefficients are in your units.
    label_range
        Public (low, high) of y: labels are clipped to it, and scaled to [-1, 1] inside. It must not be taken from the
        data. The narrower it is, the less noise there is. (-1, 1), with a warning at every fit, if it is not given.
    C
        1/Lambda in sum scale, for labels and columns scaled as above; None lets the plan choose it. The intercept is
        regularised too, towards the middle of ``label_range``.
    clip
        The residual at which the gradient of a row of the largest norm is clipped, as a share of half the width of
        ``label_range``, in (0, 1]; shorter rows are clipped at larger residuals. Noise is proportional to it. None
        lets the plan choose (1/4); without noise (``epsilon=inf``) None clips nothing.
    fit_intercept
        Whether there is an intercept. Without one, ``intercept_`` is the middle of ``label_range``, the prediction
        for a row in the middle of the bounds.
    n
        Under add_remove, a public number of records that the plan may use; it is never compared with the data.
    ledger
        The budget that a fit is charged to: a `dperm.ledger.Ledger`, which copies of the estimator in other processes
        charge too, or a budget in memory.
    invalid
        "raise", or "drop": rows with NaN, infinities or labels that are no numbers contribute nothing, covered by the
        guarantee.
    fitted_transformers
        What to do in a pipeline with a transformer that learns from the data, such as StandardScaler: "refuse", or
        "not_covered", which fits and says in the statement that the preparation is not covered.
    random_state
        A seed, Generator or RandomState makes the fit reproducible and NOT PRIVATE.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,), in the units of X and y
    intercept_ : float
    guarantee_ : what is promised, with its adjacency; None for epsilon=inf and for a fit with random_state
    profile_ : the whole curve delta(epsilon); None where nothing is promised
    statement_ : every field of a report, as data
    plan_ : what was planned from public numbers; None for a model from a file
    record_ : the facts of the release, with the receipt of the ledger; None for epsilon=inf
    n_features_in_, feature_names_in_ : as in scikit-learn

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

    def __init__(
        self,
        *,
        epsilon: float = 1.0,
        delta: float = 1e-6,
        adjacency: Adjacency | str = "replace_one",
        method: "str | Method" = "auto",
        feature_norm: float | None = None,
        bounds: Bounds | None = None,
        label_range: Range | None = None,
        C: float | None = None,
        clip: float | None = None,
        fit_intercept: bool = True,
        n: int | None = None,
        ledger: "Budget | None" = None,
        invalid: str = "raise",
        fitted_transformers: str = "refuse",
        random_state: Any = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.adjacency = adjacency
        self.method = method
        self.feature_norm = feature_norm
        self.bounds = bounds
        self.label_range = label_range
        self.C = C
        self.clip = clip
        self.fit_intercept = fit_intercept
        self.n = n
        self.ledger = ledger
        self.invalid = invalid
        self.fitted_transformers = fitted_transformers
        self.random_state = random_state

    def _loss_function(self, target: Target) -> Loss:
        return Squared()

    def _plain_estimator(self) -> Any:
        from sklearn.linear_model import LinearRegression

        return LinearRegression(fit_intercept=bool(self.fit_intercept))


@final
class PrivateHuberRegressor(PrivateLinearRegressor):
    """Linear regression by the Huber loss, which counts large residuals linearly, with differential privacy.

    Parameters
    ----------
    kappa
        The residual at which the loss becomes linear, in the units of y. It bounds what a record can do, so noise is
        proportional to it. None is a quarter of the width of ``label_range``.
    clip
        Largest length of one record's gradient as a share of the largest possible one, in (0, 1]; None and 1.0 clip
        nothing.
    epsilon, delta, adjacency, method, feature_norm, bounds, label_range, C, fit_intercept
        As for `PrivateLinearRegression`.
    n, ledger, invalid, fitted_transformers, random_state
        As for `PrivateLinearRegression`.

    Attributes
    ----------
    coef_, intercept_, guarantee_, profile_, statement_, plan_, record_, n_features_in_, feature_names_in_
        As for `PrivateLinearRegression`.

    Examples
    --------
    >>> from dperm.sklearn import PrivateHuberRegressor
    >>> plan = PrivateHuberRegressor(epsilon=1.0, label_range=(0, 100), kappa=10.0).plan(n=10_000, dim=5)
    >>> plan.spec.loss
    Huber(kappa=0.2)
    """

    def __init__(
        self,
        *,
        epsilon: float = 1.0,
        delta: float = 1e-6,
        adjacency: Adjacency | str = "replace_one",
        method: "str | Method" = "auto",
        kappa: float | None = None,
        feature_norm: float | None = None,
        bounds: Bounds | None = None,
        label_range: Range | None = None,
        C: float | None = None,
        clip: float | None = None,
        fit_intercept: bool = True,
        n: int | None = None,
        ledger: "Budget | None" = None,
        invalid: str = "raise",
        fitted_transformers: str = "refuse",
        random_state: Any = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.adjacency = adjacency
        self.method = method
        self.kappa = kappa
        self.feature_norm = feature_norm
        self.bounds = bounds
        self.label_range = label_range
        self.C = C
        self.clip = clip
        self.fit_intercept = fit_intercept
        self.n = n
        self.ledger = ledger
        self.invalid = invalid
        self.fitted_transformers = fitted_transformers
        self.random_state = random_state

    def _loss_function(self, target: Target) -> Loss:
        return ranges.huber(self.kappa, self.label_range)

    def _plain_estimator(self) -> Any:
        from sklearn.linear_model import HuberRegressor

        return HuberRegressor(fit_intercept=bool(self.fit_intercept))


@final
class PrivateQuantileRegressor(PrivateLinearRegressor):
    """Linear regression of a quantile, by the pinball loss, with differential privacy.

    The loss has a kink: methods that need a smooth one refuse it, and so does ``epsilon=inf``. "auto" descends along
    noisy gradients, which needs delta > 0 and a public n.

    Parameters
    ----------
    quantile
        Which quantile of y is predicted, in (0, 1); 0.5 is the median.
    clip
        As for `PrivateHuberRegressor`.
    epsilon, delta, adjacency, method, feature_norm, bounds, label_range, C, fit_intercept
        As for `PrivateLinearRegression`.
    n, ledger, invalid, fitted_transformers, random_state
        As for `PrivateLinearRegression`.

    Attributes
    ----------
    coef_, intercept_, guarantee_, profile_, statement_, plan_, record_, n_features_in_, feature_names_in_
        As for `PrivateLinearRegression`.

    Examples
    --------
    >>> from dperm.sklearn import PrivateQuantileRegressor
    >>> plan = PrivateQuantileRegressor(quantile=0.9, label_range=(0, 100), feature_norm=1.0).plan(n=10_000, dim=5)
    >>> plan.method
    'gradient'
    """

    def __init__(
        self,
        *,
        epsilon: float = 1.0,
        delta: float = 1e-6,
        adjacency: Adjacency | str = "replace_one",
        method: "str | Method" = "auto",
        quantile: float = 0.5,
        feature_norm: float | None = None,
        bounds: Bounds | None = None,
        label_range: Range | None = None,
        C: float | None = None,
        clip: float | None = None,
        fit_intercept: bool = True,
        n: int | None = None,
        ledger: "Budget | None" = None,
        invalid: str = "raise",
        fitted_transformers: str = "refuse",
        random_state: Any = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.adjacency = adjacency
        self.method = method
        self.quantile = quantile
        self.feature_norm = feature_norm
        self.bounds = bounds
        self.label_range = label_range
        self.C = C
        self.clip = clip
        self.fit_intercept = fit_intercept
        self.n = n
        self.ledger = ledger
        self.invalid = invalid
        self.fitted_transformers = fitted_transformers
        self.random_state = random_state

    def _loss_function(self, target: Target) -> Loss:
        return Pinball(self.quantile)

    def _plain_estimator(self) -> Any:
        from sklearn.linear_model import QuantileRegressor

        return QuantileRegressor(quantile=self.quantile, fit_intercept=bool(self.fit_intercept))
