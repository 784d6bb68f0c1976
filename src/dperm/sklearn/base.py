# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""What all private linear models have in common."""

import copy
import os
from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted, validate_data

from dperm.checks import shown
from dperm.data.bounded import invalid_rows
from dperm.data.pipeline_steps import checked_steps
from dperm.data.space import FeatureSpace
from dperm.data.targets import Target
from dperm.erm.loss import Loss
from dperm.erm.spec import ProblemSpec
from dperm.errors import ParameterError
from dperm.privacy import Adjacency
from dperm.privacy.public_rows import planned_rows, public_rows
from dperm.report import Statement, write_statement
from dperm.sklearn import display, files, geometry, inputs, parameters
from dperm.sklearn.fitted import Fitted, fit_private, fit_without_noise
from dperm.sklearn.intervals import noise_interval
from dperm.sklearn.public_labels import PublicLabels
from dperm.sklearn.reader import Reader
from dperm.sklearn.units import require_finite_units

if TYPE_CHECKING:
    from dperm.data.arrays import Floats
    from dperm.methods.plan import Plan


DERIVED = ("lipschitz must", "curvature must", "smoothness must", "scale must", "strength must", "sensitivity and goal")
"""How errors about constants begin that no argument of an estimator is called by: they follow from the arguments."""


class PrivateLinearModel(BaseEstimator, ABC):
    """A linear model, learnt with a guarantee; the final classes say with which loss, and of what labels.

    Arguments are stored as they are and checked by ``plan`` and ``fit``.
    """

    most_classes: ClassVar[int]
    """How many classes it can tell apart; 0 for a regression."""

    epsilon: Any
    delta: Any
    adjacency: Any
    method: Any
    feature_norm: Any
    bounds: Any
    C: Any
    clip: Any
    fit_intercept: Any
    n: Any
    ledger: Any
    invalid: Any
    fitted_transformers: Any
    random_state: Any
    feature_names_in_: Any

    @abstractmethod
    def _loss_function(self, target: Target) -> Loss:
        """The loss for labels of this shape, checked."""

    @abstractmethod
    def _planned_labels(self) -> PublicLabels:
        """What is known of y without it."""

    @abstractmethod
    def _labels_of(self, y: Any) -> tuple[PublicLabels, Any]:
        """What is public about y, and y, which is read only where the user declared nothing."""

    @abstractmethod
    def _warn_undeclared(self) -> None:
        """Say what was not declared about y."""

    @abstractmethod
    def _plain_estimator(self) -> Any:
        """An unfitted scikit-learn estimator that predicts in the same way."""

    @abstractmethod
    def _set_learnt(self, fitted: Fitted) -> None:
        """Set the attributes that predict, in the shapes of scikit-learn."""

    def plan(self, n: int | None = None, dim: int | None = None) -> "Plan":
        """Plan that ``fit`` runs, from public numbers alone: the same object that ``plan_`` holds after the fit.

        Where the ``classes`` of a classifier were not declared, two are assumed.

        Parameters
        ----------
        n
            Number of rows of X under replace_one, where it is public. Under add_remove it is private, and ``fit`` plans
            with the ``n`` of the estimator alone: declare it there, and leave it out here.
        dim
            Number of features; may be left out where ``bounds`` has a pair for each.

        Returns
        -------
        Plan
            With ``method``, ``spec`` (the regularisation and clipping that will be used), ``event``, ``why`` and
            ``describe()``.

        Raises
        ------
        ParameterError
            If ``n`` is not the number that ``fit`` would plan with.
        """
        dim = geometry.dim_of(self.bounds) if dim is None else dim
        public = planned_rows(Adjacency.of(self.adjacency), self.n, n)
        space, labels = self._space(dim, None), self._planned_labels()
        return self._plan_in_units(self._spec(space, labels.target, public), space, labels)

    def fit(self, X: Any, y: Any) -> Self:
        """Learn from private data; what is released is covered by ``guarantee_``.

        Without ``bounds`` and ``feature_norm`` a warning says that rows are scaled down to norm 1; without
        ``label_range`` one says that labels are clipped to [-1, 1].

        The order: everything public is checked and planned; the budget is asked; the data are read and their bounds
        enforced; the budget is charged; then the problem is solved and noise is drawn. Whatever raises before the
        charge costs nothing. Classes that were not declared are found in y before the plan, which needs their number.

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
        steps = [] if goal is None else checked_steps(self.fitted_transformers)
        table = inputs.two_dimensional(X)
        rows, dim = inputs.checked_shape(table, public=Adjacency.of(self.adjacency) is Adjacency.REPLACE_ONE)
        names = inputs.names_of(table)
        seen = type(self)()  # notes the columns; this estimator changes only when all went well
        validate_data(seen, table, skip_check_array=True)
        if names is None and isinstance(self.bounds, Mapping):
            raise ParameterError(
                "bounds by name need named columns, and the columns of X have no names. Give X as a data frame, or "
                "bounds as a list with a pair for each column."
            )
        space = self._space(dim, names)
        labels, y = self._labels_of(inputs.required(y))
        spec = self._spec(space, labels.target, public_rows(Adjacency.of(self.adjacency), self.n, rows))
        reader = Reader(table, y, space, labels, names, invalid_rows(self.invalid), tuple(steps))
        if not labels.declared:
            self._warn_undeclared()
        if self.feature_norm is None and self.bounds is None:
            geometry.warn_unbounded()
        if goal is None:
            return self._keep(fit_without_noise(spec, reader, name=name), seen)
        given = self.get_params(deep=False)
        plan = self._plan_in_units(spec, space, labels)
        return self._keep(fit_private(plan, reader, name=name, parameters=given, budget=budget, seed=seed), seen)

    @property
    def statement_(self) -> Statement:
        """Every field of a privacy report on this fit, as data; worked out when it is first asked for."""
        check_is_fitted(self)
        return self._fitted.statement

    def write_statement(
        self, path: str | os.PathLike[str], *, fields: Mapping[str, object] | None = None, overwrite: bool = False
    ) -> None:
        """Write the statement as a page (.html), as Markdown (.md) or as JSON (.json), by the suffix of ``path``.

        ``fields`` are those that only you can know: curator, intended_use, ...; ``statement_.gaps`` names them. A file
        that is there is left as it is, unless ``overwrite``.
        """
        check_is_fitted(self)
        write_statement(path, self.statement_, self.profile_, fields=fields, overwrite=overwrite)

    def noise_interval(self, level: float = 0.95) -> "tuple[Floats, Floats]":
        """Where each coefficient would be without its noise: (low, high), in your units, the intercept last.

        "Without its noise" means the same problem, with the same C and the same clip, solved exactly: to compare, fit
        with ``epsilon=inf``, ``C=1 / plan_.spec.strength`` and ``clip=statement_["mechanism"]["clip_share"]``. Each
        interval holds on its own, with probability ``level`` or a little more. It is about the noise only: that another
        sample would give other coefficients, and that regularisation and clipping move them, is not in it. With more
        than two classes there is a row for each. For method="bolt_on" it is about the same descent without the noise.

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
        for name in ("coef_", "intercept_", "classes_", "n_features_in_", "feature_names_in_"):
            if hasattr(self, name):
                setattr(plain, name, copy.copy(getattr(self, name)))
        return plain

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        """Write the fitted model to a file: coefficients, labels, guarantee, record and parameters; no pickle.

        The ledger is not in it, nor a numpy Generator or RandomState; a method object is kept by its name.

        Raises
        ------
        ParameterError
            If ``path`` exists and ``overwrite`` is False; the file stays as it is.
        """
        check_is_fitted(self)
        try:
            files.save(self, path, overwrite=overwrite)
        except FileExistsError:
            raise ParameterError(
                f"path: {shown(Path(path).name)} exists and is left as it is. Give another name, or overwrite=True."
            ) from None

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
        """Sparse data, and results that differ from fit to fit."""
        tags = super().__sklearn_tags__()
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

    def _spec(self, space: FeatureSpace, target: Target, n: int | None) -> ProblemSpec:
        """The public constants of the problem."""
        loss = self._loss_function(target)
        return ProblemSpec(
            loss,
            space.radius,
            loss.outputs * space.size,
            n=n,
            regularization=parameters.regularization_of(self.C),
            clip=parameters.clip_of(self.clip, loss, space.radius),
            weight=target.weights_range[1],
        )

    def _features(self, X: Any) -> Any:
        """The rows to predict, as numbers. They are not clipped."""
        check_is_fitted(self)
        table = inputs.two_dimensional(X)
        validate_data(self, table, reset=False, skip_check_array=True)
        inputs.checked_shape(table, "there is no row to predict. Give at least one.", public=True)
        matrix = inputs.numeric(table)
        inputs.require_finite(matrix, inputs.names_of(table))
        return matrix

    def _plan_in_units(self, spec: ProblemSpec, space: FeatureSpace, labels: PublicLabels) -> "Plan":
        """The plan, if what it releases is finite in the user's units too."""
        plan = self._plan_for(spec)
        require_finite_units(plan.longest, space, labels)
        return plan

    def _plan_for(self, spec: ProblemSpec) -> "Plan":
        from dperm.methods.choose import choose  # the noise and its cryptography, which predicting does without
        from dperm.methods.plan import extreme_arguments

        goal = self._goal()
        if goal is None:
            raise ParameterError("epsilon=inf has no plan: nothing is added, and nothing is promised.")
        try:
            return choose(spec, goal, self.method)
        except ArithmeticError:  # public numbers that doubles do not hold together
            raise extreme_arguments(spec, "the plan overflows") from None
        except ParameterError as error:
            if str(error).startswith(DERIVED):
                raise extreme_arguments(spec, str(error).partition(". ")[0].rstrip(".")) from None
            raise

    def _keep(self, fitted: Fitted, seen: Any) -> Self:
        """Take over what was learnt; names of columns that are gone are forgotten."""
        self._fitted = fitted
        self._parameters = {name: value for name, value in self.get_params(deep=False).items() if name != "ledger"}
        self._set_learnt(fitted)
        self.guarantee_, self.profile_ = fitted.guarantee, fitted.profile  # None where nothing is promised
        self.plan_, self.record_ = fitted.plan, fitted.record
        self.n_features_in_ = seen.n_features_in_
        if hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        if hasattr(seen, "feature_names_in_"):
            self.feature_names_in_ = seen.feature_names_in_
        return self
