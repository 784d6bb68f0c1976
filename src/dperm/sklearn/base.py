# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""What the private linear classifiers have in common."""

import os
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from dperm.data.arrays import Floats
from dperm.data.bounded import invalid_rows
from dperm.data.space import FeatureSpace
from dperm.erm.losses import Loss
from dperm.erm.spec import ProblemSpec
from dperm.errors import ParameterError
from dperm.privacy import Adjacency
from dperm.report import Statement
from dperm.sklearn import classes as labels
from dperm.sklearn import display, files, geometry, inputs, parameters
from dperm.sklearn.fitted import Fitted, fit_private, fit_without_noise
from dperm.sklearn.intervals import noise_interval
from dperm.sklearn.reader import Reader

if TYPE_CHECKING:
    from dperm.methods.plan import Plan


class PrivateLinearClassifier(ClassifierMixin, BaseEstimator, ABC):
    """A linear classifier of two classes, learnt with a guarantee; the final classes say with which loss.

    Arguments are stored as they are and checked by ``plan`` and ``fit``.
    """

    epsilon: Any
    delta: Any
    adjacency: Any
    method: Any
    feature_norm: Any
    bounds: Any
    classes: Any
    C: Any
    clip: Any
    class_weight: Any
    fit_intercept: Any
    n: Any
    ledger: Any
    invalid: Any
    random_state: Any
    feature_names_in_: Any

    @abstractmethod
    def _loss_function(self) -> Loss:
        """The loss, checked."""

    @abstractmethod
    def _plain_estimator(self) -> Any:
        """An unfitted scikit-learn estimator that predicts in the same way."""

    def plan(self, n: int | None = None, dim: int | None = None) -> "Plan":
        """What ``fit`` would do with ``n`` records of ``dim`` features, from public numbers alone.

        Parameters
        ----------
        n
            Number of records. Needed under replace_one, where it is public; under add_remove the declared ``n``.
        dim
            Number of features; may be left out where ``bounds`` has a pair for each.

        Returns
        -------
        Plan
            With ``method``, ``spec`` (the regularisation and clipping that will be used), ``event``, ``why`` and
            ``describe()``.
        """
        dim = geometry.dim_of(self.bounds) if dim is None else dim
        declared = n if self.n is None else self.n
        if n is not None and declared != n:
            raise ParameterError(f"plan(n=...) must be the declared n={self.n!r}, or the declared one be left out.")
        public = parameters.public_rows(Adjacency.of(self.adjacency), declared, declared)
        return self._plan_for(self._spec(self._space(dim, None), public))

    def fit(self, X: Any, y: Any) -> Self:
        """Learn from private data; what is released is covered by ``guarantee_``.

        Without ``bounds`` and ``feature_norm`` a warning says that rows are scaled down to norm 1.

        The order: everything public is checked and planned; the budget is asked; the data are read and their bounds
        enforced; the budget is charged; then the problem is solved and noise is drawn. Whatever raises before the
        charge costs nothing.

        Parameters
        ----------
        X
            A row for each record: array, sparse matrix, or table of pandas, polars or Arrow.
        y
            A label for each record.
        """
        goal, budget = self._goal(), parameters.budget_of(self.ledger)
        if goal is None:
            parameters.uncharged(budget)
        seed, name = parameters.seed_of(self.random_state), type(self).__name__
        table = inputs.two_dimensional(X)
        rows, dim = inputs.checked_shape(table)
        names = inputs.names_of(table)
        seen = type(self)()  # notes the columns; this estimator changes only when all went well
        validate_data(seen, table, skip_check_array=True)
        space = self._space(dim, names)
        spec = self._spec(space, parameters.public_rows(Adjacency.of(self.adjacency), self.n, rows))
        reader = self._reader(table, inputs.required(y), space, names)
        if self.feature_norm is None and self.bounds is None:
            geometry.warn_unbounded()
        if goal is None:
            return self._keep(fit_without_noise(spec, reader, name=name), seen)
        return self._keep(fit_private(self._plan_for(spec), reader, name=name, budget=budget, seed=seed), seen)

    def decision_function(self, X: Any) -> Floats:
        """The inner product with ``coef_`` plus ``intercept_``; positive for ``classes_[1]``. Rows are not clipped."""
        check_is_fitted(self)
        table = inputs.two_dimensional(X)
        validate_data(self, table, reset=False, skip_check_array=True)
        inputs.checked_shape(table, "there is no row to predict. Give at least one.")
        matrix = inputs.numeric(table)
        inputs.require_finite(matrix, inputs.names_of(table))
        return np.asarray(matrix @ self.coef_[0] + self.intercept_[0], dtype=np.float64)

    def predict(self, X: Any) -> NDArray[Any]:
        """The class of each row."""
        positive = self.decision_function(X) > 0
        return np.asarray(self.classes_[positive.astype(np.intp)])

    @property
    def statement_(self) -> Statement:
        """Every field of a privacy report on this fit, as data; worked out when it is first asked for."""
        check_is_fitted(self)
        return self._fitted.statement

    def noise_interval(self, level: float = 0.95) -> tuple[Floats, Floats]:
        """Where each coefficient would be without its noise: (low, high), in your units, the intercept last.

        "Without its noise" means the same problem, with the same C and the same clip, solved exactly: to compare, fit
        with ``epsilon=inf``, ``C=1 / plan_.spec.strength`` and ``clip=0.5`` (logistic regression's default; 1.0 for
        the hinges). Each interval holds on its own, with probability ``level`` or a little more. It is about the noise
        only: that another sample would give other coefficients, and that regularisation and clipping move them, is
        not in it.

        Raises
        ------
        AssumptionError
            If the method does not add its noise to the coefficients: then its effect on them depends on the data.
        """
        check_is_fitted(self)
        return noise_interval(self._fitted, level)

    def to_sklearn(self) -> Any:
        """The same model as a fitted estimator of scikit-learn, which predicts the same: for ONNX, SHAP, deployment.

        It knows nothing of privacy; being computed from the release alone, it is covered by the same guarantee.
        """
        check_is_fitted(self)
        plain = self._plain_estimator()
        for name in ("coef_", "intercept_", "classes_"):
            setattr(plain, name, getattr(self, name).copy())
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(self, name):
                setattr(plain, name, getattr(self, name))
        return plain

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted model to a file: coefficients, classes, guarantee, record and parameters; no pickle.

        The ledger is not in it, nor a numpy Generator or RandomState; a method object is kept by its name.
        """
        check_is_fitted(self)
        files.save(self, path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """The model that ``save`` wrote. It predicts without ledger and cryptography.

        Raises
        ------
        ModelFormatError
            If the file holds something else, is damaged, or was written by a newer version.
        """
        return files.load(cls, path)

    def __sklearn_tags__(self) -> Any:
        """Two classes, sparse data, and results that differ from fit to fit and may be poor."""
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.classifier_tags.poor_score = True
        tags.input_tags.sparse = True
        tags.non_deterministic = True
        return tags

    def _repr_html_(self) -> str:
        """scikit-learn's diagram, and below it what is promised."""
        return display.html(self)

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        """What notebooks show."""
        return {"text/plain": repr(self), "text/html": display.html(self)}

    def _goal(self) -> Any:
        return parameters.goal_of(self.epsilon, self.delta, self.adjacency)

    def _space(self, dim: int, names: inputs.Names) -> FeatureSpace:
        return geometry.space_of(self.feature_norm, self.bounds, dim, names=names, intercept=self.fit_intercept)

    def _spec(self, space: FeatureSpace, n: int | None) -> ProblemSpec:
        """The public constants of the problem."""
        loss = self._loss_function()
        return ProblemSpec(
            loss,
            space.radius,
            space.size,
            n=n,
            regularization=parameters.regularization_of(self.C),
            clip=parameters.clip_of(self.clip, loss, space.radius),
            weight=labels.largest_weight(self.class_weight),
        )

    def _reader(self, table: Any, y: Any, space: FeatureSpace, names: inputs.Names) -> Reader:
        if names is None and isinstance(self.bounds, Mapping):
            raise ParameterError("bounds by name need named columns: give X as a data frame, or bounds as a list.")
        declared = labels.declared(self.classes)
        if declared is None:
            labels.warn_once()
        return Reader(
            table,
            y,
            space,
            names=names,
            classes=declared,
            class_weight=self.class_weight,
            invalid=invalid_rows(self.invalid),
        )

    def _plan_for(self, spec: ProblemSpec) -> "Plan":
        from dperm.methods.choose import choose  # the noise and its cryptography, which predicting does without

        goal = self._goal()
        if goal is None:
            raise ParameterError("epsilon=inf has no plan: nothing is added, and nothing is promised.")
        return choose(spec, goal, self.method)

    def _keep(self, fitted: Fitted, seen: Any) -> Self:
        """Take over what was learnt; names of columns that are gone are forgotten."""
        self._fitted = fitted
        self._parameters = {name: value for name, value in self.get_params(deep=False).items() if name != "ledger"}
        self.coef_, self.intercept_ = fitted.coef[np.newaxis, :].copy(), np.array([fitted.intercept])
        self.classes_ = fitted.classes
        self.guarantee_, self.profile_ = fitted.guarantee, fitted.profile  # None where nothing is promised
        self.plan_ = fitted.plan
        self.n_features_in_ = seen.n_features_in_
        if hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        if hasattr(seen, "feature_names_in_"):
            self.feature_names_in_ = seen.feature_names_in_
        return self
