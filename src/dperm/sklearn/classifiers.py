# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Linear classifiers with differential privacy."""

from abc import ABC
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, final

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, log_softmax, softmax
from sklearn.base import ClassifierMixin

from dperm.checks import shown
from dperm.data import inputs
from dperm.data.arrays import Floats
from dperm.data.bounded import invalid_rows
from dperm.data.labels import MOST_FOUND, declared_classes, found_classes, warn_undeclared_classes
from dperm.data.targets import MOST_CLASSES, Target
from dperm.erm.loss import Loss
from dperm.erm.losses import Hinge, HuberHinge, Logistic, SmoothedHinge
from dperm.erm.softmax import Softmax
from dperm.errors import ParameterError
from dperm.sklearn.base import PrivateLinearModel
from dperm.sklearn.fit_result import FitResult
from dperm.sklearn.labels import PublicLabels, public_classes, two_unknown_classes


@dataclass(kw_only=True, eq=False, repr=False)
class PrivateLinearClassifier(ClassifierMixin, PrivateLinearModel, ABC):
    """Linear classifier fitted with differential privacy; subclasses choose the loss."""

    classes: Sequence[Any] | str | None = None
    class_weight: Mapping[Any, float] | None = None

    def decision_function(self, X: Any) -> Floats:
        """Return the scores of each row: the inner products with ``coef_``, plus ``intercept_``.

        The rows are neither clipped nor scaled down.

        Parameters
        ----------
        X : array, sparse matrix or table of shape (n_samples, n_features)
            Rows to predict.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            With two classes, one score per row, where a positive score predicts ``classes_[1]``. With more than two
            classes, one column of scores per class.
        """
        features = self._features(X)
        if len(self.coef_) == 1:
            return np.asarray(features @ self.coef_[0] + self.intercept_[0], dtype=np.float64)
        return np.asarray(features @ self.coef_.T + self.intercept_, dtype=np.float64)

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the predicted class of each row.

        Parameters
        ----------
        X
            Rows to predict, of shape (n_samples, n_features).

        Returns
        -------
        ndarray of shape (n_samples,)
            One class per row.
        """
        scores = self.decision_function(X)
        places = (scores > 0).astype(np.intp) if scores.ndim == 1 else scores.argmax(axis=1)
        return np.asarray(self.classes_[places])

    def __sklearn_tags__(self) -> Any:
        """Return scikit-learn's tags on multi-class support and poor scores."""
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = self.most_classes > 2
        tags.classifier_tags.poor_score = True
        return tags

    def _planned_labels(self) -> PublicLabels:
        if self.classes is None:
            return two_unknown_classes(self.class_weight)
        known = declared_classes(self.classes, self.most_classes)
        return public_classes(known, self.class_weight, declared=True)

    def _labels_of(self, y: Any) -> tuple[PublicLabels, Any]:
        if self.classes is not None:
            return self._planned_labels(), y
        labels, drop = inputs.labels_of(y), invalid_rows(self.invalid) == "drop"
        found = found_classes(labels, drop=drop, most=min(self.most_classes, MOST_FOUND))
        return public_classes(found, self.class_weight, declared=False), labels

    def _warn_undeclared(self) -> None:
        warn_undeclared_classes(stacklevel=4)

    def _set_coefficients(self, fitted: FitResult) -> None:
        classes: Any = fitted.classes
        self.coef_, self.intercept_, self.classes_ = fitted.coef.copy(), fitted.intercept.copy(), classes


@dataclass(kw_only=True, eq=False, repr=False)
class PrivateProbabilityClassifier(PrivateLinearClassifier, ABC):
    """Classifier with the logistic or softmax loss, whose scores are logits of class probabilities."""

    def predict_proba(self, X: Any) -> Floats:
        """Return the probabilities of the classes, one column per class.

        With two classes and the default ``clip`` of 1/2, the probabilities are overconfident. Clipping reduces the
        influence of records on the wrong side of the boundary, so the fitted coefficients are too large. For example,
        where 9 of 10 records are positive, the predicted probability is about 0.944. More records or a larger epsilon
        do not correct this bias. ``clip=1.0`` avoids the bias, with twice as much noise. With more than two classes,
        the probabilities are not calibrated either if gradients were clipped.

        Parameters
        ----------
        X : array, sparse matrix or table of shape (n_samples, n_features)
            Rows to predict.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Probabilities, in the order of ``classes_``.
        """
        decision = self.decision_function(X)
        if decision.ndim > 1:
            return np.asarray(softmax(decision, axis=1))
        positive = expit(decision)
        return np.column_stack([1 - positive, positive])

    def predict_log_proba(self, X: Any) -> Floats:
        """Return the logarithms of ``predict_proba``, without underflow.

        Parameters
        ----------
        X
            Rows to predict, of shape (n_samples, n_features).

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Log probabilities, in the order of ``classes_``.
        """
        decision = self.decision_function(X)
        if decision.ndim > 1:
            return np.asarray(log_softmax(decision, axis=1))
        return np.column_stack([-np.logaddexp(0, decision), -np.logaddexp(0, -decision)])

    def _loss_function(self, target: Target) -> Loss:
        return Logistic() if target.outputs == 1 else Softmax(target.outputs)


@final
@dataclass(kw_only=True, eq=False, repr=False)
class PrivateLogisticRegression(PrivateProbabilityClassifier):
    """Differentially private logistic regression for two or more classes.

    More than two classes are fitted together with the softmax loss, with one guarantee for all coefficients. A
    one-versus-rest model would cost epsilon once per class.

    Parameters
    ----------
    epsilon : float, default=1.0
        Privacy-loss bound epsilon in (0, 500]; smaller is more private. ``inf`` fits without privacy.
    delta : float, default=1e-6
        Delta of the guarantee, far smaller than 1 divided by the number of records; 0.0 requests a pure guarantee.
    adjacency : {"replace_one", "add_remove"} or Adjacency, default="replace_one"
        Neighbouring relation: "replace_one" (the number of records is public) or "add_remove" (it is private).
    method : str or method object, default="auto"
        "auto" (chosen from public numbers), a name ("objective", "output", "gradient", "sgd", "bolt_on", "posterior"),
        or a method object of `dperm.methods`.
    feature_norm : float or "auto", default=None
        Public L2 norm to which longer rows are scaled down. If neither ``feature_norm`` nor ``bounds`` is given, the
        norm is 1.0, and ``fit`` warns. "auto" takes the norm that a transformer of dperm, such as `PublicTableEncoder`,
        `PrivateTableEncoder` or `PrivateScaler`, has attached to the rows.
    bounds : (low, high), list of pairs, or mapping of names to pairs, default=None
        Public bounds of the columns: one pair for all columns, or one for each. Columns are clipped to these bounds and
        scaled to [-1, 1] internally. The fitted coefficients are in the original units.
    C : float, default=None
        Inverse 1/Lambda of the regularization strength. The objective is the sum (not the mean) of the losses plus
        Lambda/2 times the squared norm of the coefficients, as in scikit-learn, with columns scaled as described under
        ``bounds``. None lets the plan choose C. The intercept is regularized too.
    clip : float, default=None
        Clipping norm of a record's gradient, as a fraction of the largest possible norm, in (0, 1]. None lets the plan
        choose (1/2 for the logistic loss, 1 for hinge losses). 1.0 clips nothing, which gives calibrated probabilities
        but twice as much noise as ``clip=0.5``. With more than two classes, only the methods "gradient" and "sgd" can
        clip gradients; their default is about 0.35.
    fit_intercept : bool, default=True
        Whether to fit an intercept.
    n : int, default=None
        Public number of records, on which the plan is based under add_remove; it is never compared with the data. Under
        replace_one, the number of rows is used, and ``n`` must be None or equal to it.
    ledger : Ledger or budget in memory, default=None
        Budget to which a fit is charged. Copies of the estimator in other processes charge the same
        `dperm.ledger.Ledger`. None charges nothing.
    invalid : {"raise", "drop"}, default="raise"
        "raise" raises DataError for rows with NaN, infinities or undeclared labels. With "drop", such rows contribute
        nothing; the guarantee covers this.
    fitted_transformers : {"refuse", "not_covered"}, default="refuse"
        Treatment of pipelines with a transformer, such as StandardScaler, that learns from the private data. "refuse"
        raises LeakError. With "not_covered", the model is fitted, and the statement says that the preparation is not
        covered.
    allow_unprotected_scores : bool, default=False
        Whether scikit-learn may evaluate the model on the private data, as `GridSearchCV` and `cross_val_score` do.
        With True, every fit is charged, and the statement says that the scores are not covered.
    random_state : int, Generator or RandomState, default=None
        Seed, which makes the fit reproducible and NOT PRIVATE.
    classes : sequence of labels or "auto", default=None
        Public labels, two or more. None uses the labels found in y (at most 100) and treats them as public. "auto"
        takes the classes that `PrivateTableEncoder` released; records with other labels then contribute nothing, as
        with ``invalid="drop"``.
    class_weight : mapping, default=None
        Public weight of each class, in (0, 1e6]; classes that are not listed have weight 1. "balanced" is refused,
        because its weights would depend on counts of private labels.

    Attributes
    ----------
    coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
        Coefficients for features in the units of X; one row for two classes.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        Intercepts.
    classes_ : ndarray of shape (n_classes,)
        Class labels, sorted.
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
    PrivateLinearSVC : Differentially private linear support vector machine.

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

    def _plain_estimator(self) -> Any:
        from sklearn.linear_model import LogisticRegression

        return LogisticRegression(fit_intercept=bool(self.fit_intercept))


@final
@dataclass(kw_only=True, eq=False, repr=False)
class PrivateLinearSVC(PrivateLinearClassifier):
    """Differentially private linear support vector machine for two classes.

    Parameters
    ----------
    loss : {"huber_hinge", "smoothed_hinge", "hinge"}, default="huber_hinge"
        Loss function. "huber_hinge" replaces the kink of the hinge loss by a parabola. "smoothed_hinge" is twice
        differentiable. "hinge" has a kink, and only the methods "gradient", "sgd" and "posterior" allow it.
    width : float, default=0.5
        Half the width of the interval of margins in which the loss is smoothed; not used for "hinge".
    epsilon, delta, adjacency, method, feature_norm, bounds, C, clip, fit_intercept
        See `PrivateLogisticRegression`.
    n, ledger, invalid, fitted_transformers, allow_unprotected_scores, random_state, classes, class_weight
        See `PrivateLogisticRegression`.

    Attributes
    ----------
    coef_, intercept_, classes_, guarantee_, profile_, statement_, plan_, record_, n_features_in_, feature_names_in_
        See `PrivateLogisticRegression`.

    See Also
    --------
    PrivateLogisticRegression : Logistic regression for two or more classes, with class probabilities.

    Examples
    --------
    >>> from dperm.sklearn import PrivateLinearSVC
    >>> plan = PrivateLinearSVC(epsilon=1.0, delta=0.0).plan(n=10_000, dim=5)
    >>> plan.goal
    PureDP(epsilon=1.0, adjacency=REPLACE_ONE)
    """

    most_classes: ClassVar[int] = 2

    loss: str = "huber_hinge"
    width: float = 0.5

    def _loss_function(self, target: Target) -> Loss:
        match self.loss:
            case "huber_hinge":
                return HuberHinge(self.width)
            case "smoothed_hinge":
                return SmoothedHinge(self.width)
            case "hinge":
                return Hinge()
        rule = 'must be "huber_hinge", "smoothed_hinge" or "hinge"'
        raise ParameterError(argument="loss", rule=rule, got=shown(self.loss))

    def _plain_estimator(self) -> Any:
        from sklearn.svm import LinearSVC

        return LinearSVC(fit_intercept=bool(self.fit_intercept))
