# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""The private linear classifiers."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, final

import numpy as np
from scipy.special import expit, log_softmax, softmax

from dperm.checks import shown
from dperm.data.arrays import Floats
from dperm.data.targets import MOST_CLASSES, Target
from dperm.erm.loss import Loss
from dperm.erm.losses import Hinge, HuberHinge, Logistic, SmoothedHinge
from dperm.erm.softmax import Softmax
from dperm.errors import ParameterError
from dperm.privacy import Adjacency
from dperm.sklearn.classifier import PrivateLinearClassifier
from dperm.sklearn.geometry import Bounds

if TYPE_CHECKING:
    from dperm.accounting.budget import Budget
    from dperm.methods.plan import Method


@final
class PrivateLogisticRegression(PrivateLinearClassifier):
    """Logistic regression with differential privacy, of two classes or more.

    More than two classes are learnt together, by the softmax loss, with one guarantee for all of their coefficients:
    one model for each class against the rest would cost as many times epsilon.

    Parameters
    ----------
    epsilon
        How much a record may show; ``inf`` learns without privacy.
    delta
        0.0 asks for a pure guarantee.
    adjacency
        "replace_one" (n is public) or "add_remove" (n is private).
    method
        "auto", a name ("objective", "output", "gradient", "sgd", "bolt_on", "posterior"), or a method object of
        `dperm.methods`.
    feature_norm
        Public L2 norm: longer rows are scaled down to it. 1.0, with a warning, if neither it nor ``bounds`` is given.
    bounds
        Public (low, high) of the columns: one for all, a list, or a mapping by name; columns are clipped to them and
        scaled to [-1, 1] inside. Coefficients are in your units.
    classes
        The public labels, two or more. None takes those found in y (at most 100), and takes them as public.
    C
        1/Lambda in sum scale, as in scikit-learn; None lets the plan choose it. The intercept is regularised too.
    clip
        Largest length of one record's gradient as a share of the largest possible one, in (0, 1]; None lets the plan
        choose (1/2 for the logistic loss, 1 for hinge losses); 1.0 clips nothing: twice the noise of 1/2, and
        probabilities that are calibrated. With more than two classes only "gradient" and "sgd" can clip (by
        themselves at about 1/3).
    class_weight
        Public weights in (0, 1e6] by class; 1 where none is given. "balanced" is refused: it would count labels.
    fit_intercept
        Whether there is an intercept.
    n
        Under add_remove, a public number of records that the plan may use; it is never compared with the data.
    ledger
        The budget that a fit is charged to: a `dperm.ledger.Ledger`, which copies of the estimator in other processes
        charge too, or a budget in memory.
    invalid
        "raise", or "drop": rows with NaN, infinities or other labels contribute nothing, covered by the guarantee.
    fitted_transformers
        What to do in a pipeline with a transformer that learns from the data, such as StandardScaler: "refuse", or
        "not_covered", which fits and says in the statement that the preparation is not covered.
    random_state
        A seed, Generator or RandomState makes the fit reproducible and NOT PRIVATE.

    Attributes
    ----------
    coef_ : ndarray of shape (1, n_features), with more than two classes (n_classes, n_features)
    intercept_ : ndarray of shape (1,), with more than two classes (n_classes,)
    classes_ : ndarray of the classes, sorted
    guarantee_ : what is promised, with its adjacency; None for epsilon=inf and for a fit with random_state
    profile_ : the whole curve delta(epsilon); None where nothing is promised
    statement_ : every field of a report, as data
    plan_ : what was planned from public numbers; None for a model from a file
    record_ : the facts of the release, with the receipt of the ledger; None for epsilon=inf
    n_features_in_, feature_names_in_ : as in scikit-learn

    Examples
    --------
    >>> import numpy as np
    >>> from dperm.sklearn import PrivateLogisticRegression
    >>> X = np.random.default_rng(0).uniform(-1, 1, (2000, 3)) / 2
    >>> y = (X[:, 0] > X[:, 1]).astype(int)
    >>> model = PrivateLogisticRegression(epsilon=1.0, delta=1e-6, feature_norm=1.0, classes=(0, 1)).fit(X, y)
    >>> model.guarantee_
    ApproxDP(epsilon=1.0, delta=1e-06, adjacency=REPLACE_ONE)
    >>> model.coef_.shape
    (1, 3)
    """

    most_classes: ClassVar[int] = MOST_CLASSES

    def __init__(
        self,
        *,
        epsilon: float = 1.0,
        delta: float = 1e-6,
        adjacency: Adjacency | str = "replace_one",
        method: "str | Method" = "auto",
        feature_norm: float | None = None,
        bounds: Bounds | None = None,
        classes: Sequence[Any] | None = None,
        C: float | None = None,
        clip: float | None = None,
        class_weight: Mapping[Any, float] | None = None,
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
        self.classes = classes
        self.C = C
        self.clip = clip
        self.class_weight = class_weight
        self.fit_intercept = fit_intercept
        self.n = n
        self.ledger = ledger
        self.invalid = invalid
        self.fitted_transformers = fitted_transformers
        self.random_state = random_state

    def predict_proba(self, X: Any) -> Floats:
        """The probabilities of the classes, as columns.

        Of two classes, with the default ``clip``, 1/2, they are overconfident, too far from 1/2: records on the wrong
        side of the boundary are muted, so coefficients come out larger (where 9 of 10 records are positive, about
        .944). More records or a larger epsilon do not mend that; ``clip=1.0`` does, at twice the noise. Of more
        classes they are not calibrated either where gradients were clipped.
        """
        decision = self.decision_function(X)
        if decision.ndim > 1:
            return np.asarray(softmax(decision, axis=1))
        positive = expit(decision)
        return np.column_stack([1 - positive, positive])

    def predict_log_proba(self, X: Any) -> Floats:
        """Their logarithms."""
        decision = self.decision_function(X)
        if decision.ndim > 1:
            return np.asarray(log_softmax(decision, axis=1))
        return np.column_stack([-np.logaddexp(0, decision), -np.logaddexp(0, -decision)])

    def _loss_function(self, target: Target) -> Loss:
        return Logistic() if target.outputs == 1 else Softmax(target.outputs)

    def _plain_estimator(self) -> Any:
        from sklearn.linear_model import LogisticRegression

        return LogisticRegression(fit_intercept=bool(self.fit_intercept))


@final
class PrivateLinearSVC(PrivateLinearClassifier):
    """A linear support vector machine of two classes with differential privacy.

    Parameters
    ----------
    loss
        "huber_hinge" (the hinge, smoothed by a parabola), "smoothed_hinge" (twice differentiable), or "hinge", whose
        kink only method="gradient" allows.
    width
        Half the width of the region in which the kink is smoothed.
    epsilon, delta, adjacency, method, feature_norm, bounds, classes, C, clip, class_weight, fit_intercept
        As for `PrivateLogisticRegression`.
    n, ledger, invalid, fitted_transformers, random_state
        As for `PrivateLogisticRegression`.

    Attributes
    ----------
    coef_, intercept_, classes_, guarantee_, profile_, statement_, plan_, record_, n_features_in_, feature_names_in_
        As for `PrivateLogisticRegression`.

    Examples
    --------
    >>> from dperm.sklearn import PrivateLinearSVC
    >>> plan = PrivateLinearSVC(epsilon=1.0, delta=0.0).plan(n=10_000, dim=5)
    >>> plan.goal
    PureDP(epsilon=1.0, adjacency=REPLACE_ONE)
    """

    most_classes: ClassVar[int] = 2

    def __init__(
        self,
        *,
        epsilon: float = 1.0,
        delta: float = 1e-6,
        adjacency: Adjacency | str = "replace_one",
        method: "str | Method" = "auto",
        loss: str = "huber_hinge",
        width: float = 0.5,
        feature_norm: float | None = None,
        bounds: Bounds | None = None,
        classes: Sequence[Any] | None = None,
        C: float | None = None,
        clip: float | None = None,
        class_weight: Mapping[Any, float] | None = None,
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
        self.loss = loss
        self.width = width
        self.feature_norm = feature_norm
        self.bounds = bounds
        self.classes = classes
        self.C = C
        self.clip = clip
        self.class_weight = class_weight
        self.fit_intercept = fit_intercept
        self.n = n
        self.ledger = ledger
        self.invalid = invalid
        self.fitted_transformers = fitted_transformers
        self.random_state = random_state

    def _loss_function(self, target: Target) -> Loss:
        match self.loss:
            case "huber_hinge":
                return HuberHinge(self.width)
            case "smoothed_hinge":
                return SmoothedHinge(self.width)
            case "hinge":
                return Hinge()
        raise ParameterError(f'loss must be "huber_hinge", "smoothed_hinge" or "hinge", got {shown(self.loss)}.')

    def _plain_estimator(self) -> Any:
        from sklearn.svm import LinearSVC

        return LinearSVC(fit_intercept=bool(self.fit_intercept))
