# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Base class of the private linear models."""

import copy
import os
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted, validate_data

from dperm.checks import shown
from dperm.data import inputs
from dperm.data.bounded import invalid_rows
from dperm.data.encoded import EncodingFacts
from dperm.data.pipeline_steps import checked_steps
from dperm.data.score_sources import checked_score_source
from dperm.data.space import FeatureSpace
from dperm.data.tables import require_in_memory
from dperm.data.targets import Target
from dperm.erm.loss import Loss
from dperm.erm.spec import ProblemSpec
from dperm.errors import EXTREME, ParameterError
from dperm.presentation.spelling import arg
from dperm.privacy import Adjacency
from dperm.privacy.public_rows import planned_rows, public_rows
from dperm.report import Statement, write_statement
from dperm.report.estimator_display import EstimatorDisplay
from dperm.sklearn import files, parameters
from dperm.sklearn.auto import require_declared, schemas_of, supplied_arguments
from dperm.sklearn.fit_result import MOST_ROWS, FitResult, PrivateData, fit_private, fit_without_noise
from dperm.sklearn.intervals import noise_interval
from dperm.sklearn.labels import PublicLabels
from dperm.sklearn.parameters import Bounds
from dperm.sklearn.table_input import encoding_facts_of, table_input, undeclared_classes
from dperm.sklearn.units import require_finite_units

if TYPE_CHECKING:
    from dperm.accounting.budget import Budget
    from dperm.data.arrays import Floats
    from dperm.methods.plan import Method, Plan


PREDICT_PARTS = (
    "Predict the records of a Dask array by X.map_blocks(model.predict, drop_axis=1), and those of a frame by "
    "X.map_partitions(model.predict)."
)
PREDICT_FILES = (
    "Predict piece by piece: read one file after the other with pandas or pyarrow, and pass its columns of features."
)
DERIVED = ("lipschitz", "curvature", "smoothness", "scale", "strength")
"""Constants that follow from the arguments; no argument of an estimator has these names."""


@dataclass(kw_only=True, eq=False, repr=False)
class PrivateLinearModel(EstimatorDisplay, BaseEstimator, ABC):
    """Base class of linear models fitted with differential privacy.

    Subclasses choose the loss and the kind of labels. The fields of this class and its subclasses are the parameters of
    the estimators (``get_params``). The constructor stores the parameters unchanged. ``plan`` and ``fit`` check them.

    Parameters
    ----------
    epsilon, delta, adjacency, method, feature_norm, bounds, C, clip, fit_intercept, n
        See `PrivateLinearRegression`.
    ledger, invalid, fitted_transformers, allow_unprotected_scores, random_state
        See `PrivateLinearRegression`.
    """

    most_classes: ClassVar[int]
    """Largest number of classes that the model supports; 0 for a regression."""
    encodes_tables: ClassVar[bool] = False
    """Whether the model encodes the columns of raw tables itself."""

    epsilon: float = 1.0
    delta: float = 1e-6
    adjacency: Adjacency | str = "replace_one"
    method: "str | Method" = "auto"
    feature_norm: float | str | None = None
    bounds: Bounds | None = None
    C: float | None = None
    clip: float | None = None
    fit_intercept: bool = True
    n: int | None = None
    ledger: "Budget | None" = None
    invalid: str = "raise"
    fitted_transformers: str = "refuse"
    allow_unprotected_scores: bool = False
    random_state: Any = None

    _ahead: "tuple[ProblemSpec, Any, Any, Plan] | None" = field(default=None, init=False)

    @abstractmethod
    def _loss_function(self, target: Target) -> Loss:
        """Return the loss for labels of this kind, after checking its parameters."""

    @abstractmethod
    def _planned_labels(self) -> PublicLabels:
        """Return the public facts about y that are known without the data."""

    @abstractmethod
    def _labels_of(self, y: Any) -> tuple[PublicLabels, Any]:
        """Return the public facts about y, and y itself. The labels are read only if the user declared nothing."""

    def _labels_of_table(self) -> tuple[PublicLabels, None]:
        """Return the declared facts about the labels of a table in row groups."""
        labels = self._planned_labels()
        if self.most_classes and not labels.declared:
            raise undeclared_classes()
        return labels, None

    @abstractmethod
    def _warn_undeclared(self) -> None:
        """Warn about undeclared facts of y."""

    @abstractmethod
    def _plain_estimator(self) -> Any:
        """Return an unfitted scikit-learn estimator with the same prediction rule."""

    @abstractmethod
    def _set_coefficients(self, fitted: FitResult) -> None:
        """Set the attributes used by ``predict``, in scikit-learn's shapes."""

    def plan(self, n: int | None = None, dim: int | None = None) -> "Plan":
        """Return the plan that ``fit`` will follow, computed from public numbers alone.

        After a fit to data of this size, ``plan_`` equals this plan. Without declared ``classes``, the plan of a
        classifier assumes two classes.

        Parameters
        ----------
        n : int, default=None
            Number of rows of X under replace_one, where this number is public. Under add_remove, the number is private,
            and ``fit`` uses only the parameter ``n`` of the estimator. Set that parameter instead of this argument.
        dim : int, default=None
            Number of features; not needed if ``bounds`` has one pair per feature.

        Returns
        -------
        Plan
            Plan with ``method``, ``spec`` (regularization and clipping), ``event``, ``why`` and ``describe()``.

        Raises
        ------
        ParameterError
            If a parameter is invalid, or ``n`` differs from the number that ``fit`` would plan with.
        """
        return self._plan_in_units(*self._public_problem(n, dim))

    def fit(self, X: Any, y: Any = None) -> Self:
        """Fit the model to private data.

        ``guarantee_`` covers the fitted attributes. ``fit`` first makes the plan from public numbers and checks the
        budget. It then reads the data, enforces the bounds, charges the budget, solves the problem and draws noise.
        Errors before the charge cost nothing. Undeclared classes are read from y before the plan is made, because the
        plan depends on their number.

        Parameters
        ----------
        X : array, sparse matrix, or pandas, polars or Arrow table, of shape (n_samples, n_features)
            Features, one row per record. For data larger than memory, a `dperm.data.Table` of numbers, the result of
            `PublicTableEncoder` for a `dperm.data.Table` or Dask data frame, or a Dask array or data frame of numbers.
            An additive model takes a table with the declared columns, a mapping of names to columns, or a dense array.
        y : array-like of shape (n_samples,)
            Labels, one for each record. For a `dperm.data.Table`, the name of the column with the labels. For Dask
            data, a Dask array or series with the same partitions as X.

        Returns
        -------
        self
            Fitted estimator.

        Raises
        ------
        ParameterError
            If a parameter is invalid.
        LeakError
            If scikit-learn evaluates the model on the private data and ``allow_unprotected_scores`` is False; if a
            pipeline fitted a transformer to the private data without a guarantee and ``fitted_transformers`` is
            "refuse"; or if ``ledger`` is given and an earlier transformer has no guarantee or was not charged to the
            same account. Nothing is charged.
        DataError
            If the data are invalid. Nothing is charged.
        BudgetError
            If ``ledger`` does not cover the fit. Nothing is charged.

        Warns
        -----
        DpermWarning
            If neither ``bounds`` nor ``feature_norm`` is given, so that rows are scaled down to norm 1; if a regression
            has no ``label_range``, so that labels are clipped to [-1, 1]; or if the guarantee does not cover earlier
            transformers that learnt from the private data.
        PublicAssumptionWarning
            If a classifier has no ``classes``, so that the labels found in y are treated as public. This warning is
            shown once per process.
        NotPrivateWarning
            If ``random_state`` is given.
        """
        goal, budget = self._goal(), parameters.budget_of(self.ledger)
        if goal is None:
            parameters.require_no_budget(budget)
        seed, name = parameters.seed_of(self.random_state), type(self).__name__
        scored = "" if goal is None else checked_score_source(self.allow_unprotected_scores)
        X, facts = self._encoded(X)
        steps = [] if goal is None else checked_steps(self.fitted_transformers, budget=budget, facts=facts)
        supplied = self._supplied(facts)
        arguments = {**self.get_params(deep=False), **supplied}
        model = type(self)(**arguments) if supplied else self
        found = table_input(X, y)
        table = found if found is not None else inputs.two_dimensional(X)
        adjacency = Adjacency.of(self.adjacency)
        columns = type(self)()  # receives the column names; this estimator changes only after a successful fit
        names: inputs.Names
        if found is not None:
            rows, dim, names = None, len(found.features), found.names
            columns.n_features_in_ = dim
            if names is not None:
                columns.feature_names_in_ = np.array(names, dtype=object)
        else:
            rows, dim = inputs.checked_shape(table, public=adjacency is Adjacency.REPLACE_ONE)
            names = inputs.names_of(table)
            validate_data(columns, table, skip_check_array=True)
        if names is None and isinstance(self.bounds, Mapping):
            raise ParameterError(
                "bounds by name need named columns, and the columns of X have no names.",
                remedy="Give X as a data frame, or bounds as a list with a pair for each column.",
            )
        space = model._space(dim, names)
        labels, y = model._labels_of_table() if found is not None else model._labels_of(inputs.required(y))
        data = PrivateData(
            table,
            y,
            space=space,
            labels=labels,
            names=names,
            invalid=invalid_rows(model.invalid),
            fitted_transformers=tuple(steps),
            unprotected_scores=scored,
            schemas=schemas_of(facts, tuple(supplied)),
            n=self.n if adjacency is Adjacency.REPLACE_ONE else None,
        )
        if not labels.declared:
            self._warn_undeclared()
        if self.feature_norm is None and self.bounds is None:
            parameters.warn_unbounded()
        try:
            if found is not None and adjacency is Adjacency.REPLACE_ONE and self.n is None:
                rows = data.read(MOST_ROWS).rows  # public here, and known once all row groups are read
            spec = model._spec(space, labels.target, public_rows(adjacency, self.n, self.n if rows is None else rows))
            if goal is None:
                return self._set_fitted(fit_without_noise(spec, data, name=name), columns, arguments)
            plan = model._plan_in_units(spec, space, labels)
            fitted = fit_private(plan, data, name=name, parameters=arguments, budget=budget, seed=seed)
            return self._set_fitted(fitted, columns, arguments)
        finally:
            if found is not None:
                found.close()

    @property
    def statement_(self) -> Statement:
        """Privacy statement of this fit: all fields as plain data."""
        check_is_fitted(self)
        return self._fitted.statement

    def write_statement(
        self, path: str | os.PathLike[str], *, fields: Mapping[str, object] | None = None, overwrite: bool = False
    ) -> None:
        """Write the privacy statement to a file.

        Parameters
        ----------
        path : str or path-like
            File to write; its suffix sets the format: web page (.html), Markdown (.md) or JSON (.json).
        fields : mapping, default=None
            Fields that only the user can fill in, such as curator and intended_use; ``statement_.gaps`` names these
            fields.
        overwrite : bool, default=False
            Whether to replace an existing file.

        Raises
        ------
        ParameterError
            If ``path`` has any other suffix, or exists and ``overwrite`` is False.
        """
        check_is_fitted(self)
        write_statement(path, self.statement_, self.profile_, fields=fields, overwrite=overwrite)

    def noise_interval(self, level: float = 0.95) -> "tuple[Floats, Floats]":
        """Return intervals for the coefficients that the same fit would have without its noise.

        The fit without noise has the same ``C`` and the same ``clip``, and is solved exactly. To compute this fit, use
        ``epsilon=inf``, ``C=1 / plan_.spec.strength`` and ``clip=statement_["mechanism"]["clip_share"]``. For
        ``method="bolt_on"``, the fit without noise is the last iterate of the same gradient descent before noise is
        added.

        The intervals cover the noise only. They are not confidence intervals for a population, because they do not
        account for sampling variation or for the bias of regularization and clipping. In a pipeline, the intervals are
        for the coefficients of the transformed columns, and take the fitted transformer as given.

        Parameters
        ----------
        level : float, default=0.95
            Coverage probability of each interval on its own, in (0, 1).

        Returns
        -------
        low, high : ndarray
            Lower and upper ends of the intervals in the units of X and y, with the intercept last; with more than two
            classes, one row per class.

        Raises
        ------
        AssumptionError
            If the method is not "output" or "bolt_on". The other methods do not add their noise to the coefficients, so
            the effect of the noise on the coefficients depends on the data.
        """
        check_is_fitted(self)
        return noise_interval(self._fitted, level)

    def to_sklearn(self) -> Any:
        """Return a fitted scikit-learn estimator with the same coefficients, for ONNX, SHAP or deployment.

        The estimator predicts like this model, except that it does not apply the ``clip_predictions`` of a regression.
        The estimator has no attributes ``guarantee_``, ``plan_`` and ``record_``. It is computed from the released
        model alone, so the same guarantee covers it.
        """
        check_is_fitted(self)
        plain = self._plain_estimator()
        for name in ("coef_", "intercept_", "classes_", "n_features_in_", "feature_names_in_"):
            if hasattr(self, name):
                setattr(plain, name, copy.copy(getattr(self, name)))
        return plain

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        """Write the fitted model to a file, without pickle.

        The file contains the coefficients, the class labels, the guarantee, the record and the parameters. It does not
        contain the ledger, a numpy Generator or a RandomState. If ``method`` is an object, the file contains only its
        name.

        Parameters
        ----------
        path : str or path-like
            File to write.
        overwrite : bool, default=False
            Whether to replace an existing file.

        Raises
        ------
        ParameterError
            If ``path`` exists and ``overwrite`` is False; the file is left unchanged.
        """
        check_is_fitted(self)
        try:
            files.save(self, path, overwrite=overwrite)
        except FileExistsError:
            raise ParameterError(
                f"{arg('path')}: {shown(Path(path).name)} exists and is left as it is.",
                remedy=f"Give another name, or {arg('overwrite', True)}.",
            ) from None

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Return the fitted model stored by ``save``.

        Prediction needs neither the ledger nor the ``cryptography`` package.

        Parameters
        ----------
        path
            File written by ``save``.

        Returns
        -------
        estimator
            The fitted model.

        Raises
        ------
        ModelFormatError
            If the file holds a model of another class or a model with a schema, is damaged, or was written by a newer
            version.
        """
        return files.load(cls, path)

    def __sklearn_tags__(self) -> Any:
        """Return scikit-learn's tags, which say that sparse data are accepted and that results are random."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.non_deterministic = True
        return tags

    def _encoded(self, X: Any) -> tuple[Any, EncodingFacts | None]:
        """Return the rows of features to fit, and the facts of their encoder; None without one."""
        return X, encoding_facts_of(X)

    def _supplied(self, facts: EncodingFacts | None) -> dict[str, Any]:
        """Return the arguments that the encoder of the rows supplies."""
        return supplied_arguments(self, facts)

    def _n_columns(self, dim: int) -> int:
        """Return the number of columns of X for ``dim`` features."""
        return dim

    def _require_encoder(self, public: Mapping[str, Any]) -> None:
        """Raise ValueError if the public facts of a stored fit name another encoder than the parameters declare."""

    def _edits_to_store(self) -> list[dict[str, object]]:
        """Return the changes of the model after its release as plain data, for a file; a linear model has none."""
        return []

    def _edited_terms(self) -> tuple[str, ...]:
        """Return the names of the terms that were changed after the release; a linear model has none."""
        return ()

    def _edit_facts(self) -> dict[str, object]:
        """Return public facts that identify a model changed after its release; empty for an unchanged model."""
        return {}

    def _restore_edits(self, stored: list[Any]) -> None:
        """Apply the changes in a file to the loaded model; raise ValueError if they do not fit."""
        if stored:
            raise ValueError("there are edits of a linear model")

    def _goal(self) -> Any:
        return parameters.goal_of(self.epsilon, self.delta, self.adjacency)

    def _space(self, dim: int, names: inputs.Names) -> FeatureSpace:
        return parameters.space_of(self.feature_norm, self.bounds, dim, names=names, intercept=self.fit_intercept)

    def _spec(self, space: FeatureSpace, target: Target, n: int | None) -> ProblemSpec:
        """Return the public constants of the problem."""
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
        """Return the rows to predict as numbers, without clipping them."""
        check_is_fitted(self)
        require_in_memory(X, remedy=PREDICT_PARTS, of_files=PREDICT_FILES)
        table = inputs.two_dimensional(X)
        validate_data(self, table, reset=False, skip_check_array=True)
        inputs.checked_shape(table, "there is no row to predict. Give at least one.", public=True)
        matrix = inputs.numeric(table)
        inputs.require_finite(matrix, inputs.names_of(table))
        return matrix

    def _plan_in_units(self, spec: ProblemSpec, space: FeatureSpace, labels: PublicLabels) -> "Plan":
        """Return the plan, after checking that its release is finite in the user's units too."""
        plan = self._plan_for(spec)
        require_finite_units(plan.longest, space, labels)
        return plan

    def _public_problem(self, n: int | None, dim: int | None) -> tuple[ProblemSpec, FeatureSpace, PublicLabels]:
        """Return the problem of ``plan``: its public constants, and the public facts about features and labels."""
        require_declared(self)
        dim = parameters.dim_of(self.bounds) if dim is None else dim
        public = planned_rows(Adjacency.of(self.adjacency), self.n, n)
        space, labels = self._space(dim, None), self._planned_labels()
        return self._spec(space, labels.target, public), space, labels

    def _plan_ahead(self, n: int | None = None, dim: int | None = None) -> "Plan":
        """Return the plan of `plan`, and let ``fit`` run it instead of planning again.

        ``fit`` makes its own plan if its public constants, the guarantee or the method differ.
        """
        spec, space, labels = self._public_problem(n, dim)
        plan = self._plan_in_units(spec, space, labels)
        self._ahead = spec, self._goal(), self.method, plan
        return plan

    def _plan_for(self, spec: ProblemSpec) -> "Plan":
        from dperm.methods.plan import extreme_arguments  # noise and cryptography, which predicting does without

        goal = self._goal()
        if goal is None:
            raise ParameterError(f"{arg('epsilon', 'inf')} has no plan: nothing is added, and nothing is promised.")
        if self._ahead is not None and self._ahead[:3] == (spec, goal, self.method):
            return self._ahead[3]
        try:
            return self._chosen_plan(spec, goal)
        except ArithmeticError:  # public numbers that doubles do not hold together
            raise extreme_arguments(spec, "the plan overflows") from None
        except ParameterError as error:
            if error.argument in DERIVED or error.code == EXTREME:
                raise extreme_arguments(spec, error.problem_text.rstrip(".")) from None
            raise

    def _chosen_plan(self, spec: ProblemSpec, goal: Any) -> "Plan":
        """Return the plan of the chosen method, with defaults for unset options."""
        from dperm.methods.choose import choose

        return choose(spec, goal, self.method)

    def _set_fitted(self, fitted: FitResult, columns: Any, arguments: Mapping[str, Any] | None = None) -> Self:
        """Set the fitted attributes, and forget the column names of an earlier fit.

        ``arguments`` are the arguments of the fit, where an encoder supplied some of them.
        """
        self._fitted = fitted
        used = self.get_params(deep=False) if arguments is None else arguments
        self._parameters = {name: value for name, value in used.items() if name != "ledger"}
        self._set_coefficients(fitted)
        self.guarantee_, self.profile_ = fitted.guarantee, fitted.profile  # None without a promise
        self.plan_, self.record_ = fitted.plan, fitted.record
        self.n_features_in_ = columns.n_features_in_
        if hasattr(columns, "feature_names_in_"):
            self.feature_names_in_ = columns.feature_names_in_
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        return self
