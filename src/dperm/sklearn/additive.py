# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Additive models with differential privacy: one shape function for each declared column or pair.

The model is linear in public features of each term (`dperm.data.AdditiveEncoder`), whose rows have norm at most 1. So
the fit is that of a linear model with ``feature_norm=1``, under one guarantee and one charge. The shape functions are
computed from the released coefficients alone (T3).
"""

import copy
from abc import ABC
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from numbers import Integral
from os import PathLike
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Self, final

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from dperm.checks import shown
from dperm.data import inputs
from dperm.data.additive_encoder import AdditiveEncoder
from dperm.data.arrays import Floats
from dperm.data.bounded import invalid_rows
from dperm.data.columns import AnyColumn, Unseen
from dperm.data.encoded import EncodingFacts
from dperm.data.encoder import checked_columns
from dperm.data.schema import text_digest
from dperm.data.tables import column_names, is_table, named_columns, raw_columns, require_in_memory
from dperm.data.targets import LabelKind
from dperm.data.term_codes import NumberCode
from dperm.erm.spec import ProblemSpec
from dperm.errors import AssumptionError, DataError, DataTypeError, ParameterError
from dperm.presentation.facts import Fact
from dperm.presentation.numbers import format_parameters
from dperm.presentation.spelling import arg
from dperm.privacy import Adjacency
from dperm.privacy.digest import digest
from dperm.privacy.guarantee import guarantee_as_dict
from dperm.report import Statement
from dperm.report.schema_facts import ENCODERS
from dperm.report.shape_page import shapes_page
from dperm.report.shape_plots import figure_note, given_axes, plot_shape, save_shapes, shape_axes
from dperm.report.whole_file import write_text
from dperm.sklearn.base import PREDICT_FILES, PREDICT_PARTS, PrivateLinearModel
from dperm.sklearn.classifiers import PrivateProbabilityClassifier
from dperm.sklearn.fit_result import FitResult
from dperm.sklearn.regressors import PrivateLinearRegressor
from dperm.sklearn.shapes import (
    DIRECTIONS,
    EDITED,
    AdditiveExplanation,
    Edit,
    ShapeFunction,
    axes_of,
    checked_directions,
    edited_shape,
    global_explanation,
    local_explanation,
)
from dperm.sklearn.table_input import refuse_paths

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from dperm.data.term_codes import TermPlaces
    from dperm.erm.loss import Loss
    from dperm.methods.plan import Plan

ENCODER_STEP = "AdditiveEncoder"
"""Name of the encoder in records and statements."""
CURVATURE = {LabelKind.SIGN: 0.12, LabelKind.NUMBER: 1.0}
"""Typical second derivative of the loss of a record, by kind of label."""
LEARNABLE = 0.25
"""Curvature of a cell, in units of Lambda, below which the detail of a column is not learnt."""
EDITS = (
    "{} of the model {} changed after the release. The record describes the model as it was released. Such changes "
    "are post-processing (T3), if whoever made them did not look at the private data."
)
"""Sentences of a statement about edits."""
EDITS_WITHOUT_RELEASE = "{} of the model {} changed after the fit."
"""Sentence about edits of a model that was fitted without noise."""


@dataclass(kw_only=True, eq=False, repr=False)
class PrivateAdditiveModel(PrivateLinearModel, ABC):
    """Additive model fitted with differential privacy; subclasses choose the loss and the kind of labels.

    Parameters
    ----------
    terms, interactions, monotone
        See `PrivateAdditiveClassifier`.
    """

    encodes_tables: ClassVar[bool] = True

    terms: Mapping[str, AnyColumn] | AnyColumn | None = None
    interactions: Sequence[tuple[str, str]] | int = 0
    monotone: Mapping[str, int] | None = None

    feature_norm: float | str | None = field(default=1.0, init=False)
    bounds: Any = field(default=None, init=False)
    fit_intercept: bool = field(default=True, init=False)

    _edits: tuple[Edit, ...] = field(default=(), init=False)
    _fit_edits: int = field(default=0, init=False)  # made by the fit itself, which the parameters repeat

    def plan(self, n: int | None = None, dim: int | None = None) -> "Plan":
        """Return the plan that ``fit`` will follow, computed from public numbers alone.

        Parameters
        ----------
        n : int, default=None
            Number of records under replace_one, where this number is public. Under add_remove, the number is private,
            and ``fit`` uses only the parameter ``n`` of the estimator. Set that parameter instead of this argument.
        dim : int, default=None
            Number of columns of X; needed only if ``terms`` is one declaration for all columns.

        Returns
        -------
        Plan
            Plan with ``method``, ``spec`` (regularization and clipping), ``event``, ``why`` and ``describe()``.

        Raises
        ------
        ParameterError
            If a parameter is invalid, or ``n`` or ``dim`` differs from the number that ``fit`` would plan with.
        """
        encoder = self._declared_encoder(None if dim is None else [f"x{place}" for place in range(dim)])
        if dim not in (None, len(encoder.columns)):
            rule = f"must be the number of terms of single columns, {len(encoder.columns)}"
            raise ParameterError(argument="dim", rule=rule, got=shown(dim), remedy=f"Leave out {arg('dim')}.")
        self._directions(encoder)
        return super().plan(n, len(encoder.feature_names))

    def explain_local(self, X: Any) -> AdditiveExplanation:
        """Return the contribution of each term to the score of each record.

        The contributions of a record and ``intercept_`` sum to its score: the decision function of a classifier, or the
        prediction of a regressor before it is clipped. The explanation has the keys of explainable boosting machines.
        It describes the records in X. If these are private, so is the explanation.

        Parameters
        ----------
        X : table, mapping of names to columns, or dense array
            Records to explain.

        Returns
        -------
        AdditiveExplanation
            ``data()["scores"]`` has shape (n_samples, n_terms); ``data(i)`` describes record i.
        """
        places = self._places(X)
        shapes = self.shape_functions_.values()
        found = np.column_stack([shape.at(place) for shape, place in zip(shapes, places, strict=True)])
        return local_explanation(list(self.term_names_), found, self._offset)

    def explain_global(self) -> AdditiveExplanation:
        """Return the range of each term on its grid, and its contributions at all public points.

        The range is the mean absolute contribution over the public grid. It differs from the importance of an
        explainable boosting machine, which is a mean over the private records. There is no ``density`` either: counts
        of records are private.

        Returns
        -------
        AdditiveExplanation
            ``data()`` has the ranges of all terms; ``data(i)`` has the points and contributions of term i.
        """
        check_is_fitted(self)
        return global_explanation(self.shape_functions_)

    def plot_shapes(
        self,
        names: Sequence[str] | None = None,
        axes: Any = None,
        *,
        path: str | PathLike[str] | None = None,
    ) -> "list[Axes]":
        """Plot shape functions: curves of numbers, bars of categories and heat maps of pairs.

        The title states the guarantee. There are no bands: none is proved for noise in the objective. Requires
        matplotlib, ``pip install "dperm[plots]"``.

        Parameters
        ----------
        names : sequence of str, default=None
            Names of the terms to plot; None plots all.
        axes : matplotlib axes or sequence of axes, default=None
            Axes to draw on, one for each term; None creates a figure.
        path : str or path-like, default=None
            File to write; its suffix selects the format. None writes no file.

        Returns
        -------
        list of matplotlib.axes.Axes
            Axes with the plots.

        Raises
        ------
        ParameterError
            If a name is unknown, there are not as many axes as terms, or matplotlib is not installed.
        """
        check_is_fitted(self)
        wanted = self._known_terms("names", self.term_names_ if names is None else names)
        if axes is None:
            found = shape_axes(len(wanted))
            figure_note(found, "\n".join(self._shape_notes(wanted)))
        else:
            found = given_axes(axes, len(wanted))
        for name, ax in zip(wanted, found, strict=True):
            plot_shape(
                self.shape_functions_[name], ax, note="" if axes is None else "\n".join(self._shape_notes([name]))
            )
        return save_shapes(found, path)

    def write_shapes(self, path: str | PathLike[str], *, overwrite: bool = False) -> None:
        """Write an HTML page with a plot and a table of every shape function.

        The page loads no external resources. Without matplotlib, it has the tables alone.

        Parameters
        ----------
        path : str or path-like
            File to write; its name ends in ".html".
        overwrite : bool, default=False
            Whether to replace an existing file.

        Raises
        ------
        ParameterError
            If ``path`` has another suffix, or exists and ``overwrite`` is False.
        """
        check_is_fitted(self)
        target = Path(path)
        if target.suffix.lower() != ".html":
            raise ParameterError(argument="path", rule='must end in ".html"', got=shown(target.name))
        if target.exists() and not overwrite:
            raise ParameterError(
                f"The file {shown(target.name)} exists and was not changed.",
                remedy=f"Choose another {arg('path')}, or set {arg('overwrite', True)}.",
            )
        text = shapes_page(
            list(self.shape_functions_.values()),
            model=type(self).__name__,
            note=". ".join(self._shape_notes(self.term_names_)),
            intercept=self._offset,
            is_private=self.guarantee_ is not None,
        )
        write_text(target, text)

    def edit(self, changes: Mapping[str, Any]) -> Self:
        """Return a copy of the model with other shape functions for some terms. The statement lists the changes.

        An edit is post-processing of the release (T3) and costs nothing, if it is made without looking at the private
        data. An edit that was chosen with their help, such as by a score on them, is not covered by the guarantee.
        Charge that access separately.

        Parameters
        ----------
        changes : mapping of str to values, ShapeFunction or function
            New contributions by name of the term: values on the grid, one number, a shape made by
            ``ShapeFunction.replaced``, or a function of the shape with such a result. ``intercept_`` stays, and shapes
            are not centered again.

        Returns
        -------
        estimator
            Fitted copy with the changes. This model stays as it is.

        Raises
        ------
        ParameterError
            If a name is unknown, or new contributions do not fit the points of the term.

        Examples
        --------
        >>> import numpy as np
        >>> from dperm.data import Numeric
        >>> from dperm.sklearn import PrivateAdditiveClassifier
        >>> rng = np.random.default_rng(0)
        >>> table = {"age": rng.uniform(17, 90, 4000)}
        >>> model = PrivateAdditiveClassifier(terms={"age": Numeric(17, 90)}, classes=(False, True))
        >>> fitted = model.fit(table, table["age"] > 50)
        >>> limited = fitted.edit({"age": lambda shape: np.minimum(shape.values, 1.0)})
        >>> bool(limited.shape_functions_["age"].values.max() <= 1.0)
        True
        """
        check_is_fitted(self)
        if not isinstance(changes, Mapping) or not changes:
            rule = "must be a mapping of names of terms to new contributions"
            raise ParameterError(argument="changes", rule=rule, got=shown(changes))
        names = self._known_terms("changes", list(changes))
        return self._with_edits(
            {name: (EDITED, edited_shape(self.shape_functions_[name], changes[name])) for name in names}
        )

    def with_monotone(self, directions: Mapping[str, int]) -> Self:
        """Return a copy of the model with monotone shape functions for some terms.

        Each shape becomes the monotone function nearest to it in least squares on the uniform public grid. The
        contributions of special and missing values stay. Later edits may break the order again.

        Parameters
        ----------
        directions : mapping of str to {1, -1}
            Direction for each term of a single number: 1 for increasing, -1 for decreasing.

        Returns
        -------
        estimator
            Fitted copy with the changes. This model stays as it is.

        Raises
        ------
        ParameterError
            If a name is not that of a term of a single number, or a direction is neither 1 nor -1.
        """
        check_is_fitted(self)
        return self._with_edits(
            self._projected(checked_directions("directions", directions, self._orders(self.encoder_)))
        )

    @property
    def statement_(self) -> Statement:
        """Privacy statement of this fit: all fields as plain data. It lists changes made after the release."""
        found = super().statement_
        if not self._edits:
            return found
        several, listed = len({edit.term for edit in self._edits}) > 1, ", ".join(self._listed_edits())
        template = EDITS_WITHOUT_RELEASE if self.record_ is None else EDITS
        edits = template.format(
            f"The terms {listed}" if several else f"The term {listed}", "were" if several else "was"
        )
        return Statement({**found, "composition": f"{found['composition']} {edits}"})

    @property
    def shape_functions_(self) -> Mapping[str, ShapeFunction]:
        """Shape function of each term, by name. The mapping is read-only: predictions, statement and files use it."""
        check_is_fitted(self)
        return MappingProxyType(self._shapes)

    def to_sklearn(self) -> Any:
        """Raise AssumptionError: no estimator of scikit-learn has shape functions.

        ``shape_functions_[name].table()`` and ``intercept_`` contain the whole model.
        """
        raise AssumptionError(
            "no estimator of scikit-learn predicts like an additive model.",
            remedy="Export intercept_ and the tables of shape_functions_, which contain the whole model.",
        )

    def __sklearn_tags__(self) -> Any:
        """Return scikit-learn's tags, which say that tables with text and missing values are accepted."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = False
        tags.input_tags.allow_nan = tags.input_tags.categorical = tags.input_tags.string = True
        return tags

    def _set_fitted(self, fitted: FitResult, columns: Any, arguments: Mapping[str, Any] | None = None) -> Self:
        super()._set_fitted(fitted, columns, arguments)
        self._parameters = _own_declarations(self._parameters)
        encoder = AdditiveEncoder(self._parameters["terms"], _pairs(self._parameters["interactions"]))
        self.encoder_ = encoder
        self.n_features_in_ = len(encoder.columns)
        self.feature_names_in_ = np.array(list(encoder.columns), dtype=object)
        self.term_names_ = [term.name for term in encoder.terms]
        shapes, offset = {}, float(fitted.intercept[0])
        for term, values in zip(encoder.terms, encoder.term_values(fitted.coef[0]), strict=True):
            shapes[term.name], mean = ShapeFunction(term.name, axes_of(term), values, self._unit(fitted)).centred()
            offset += mean
        self._shapes: dict[str, ShapeFunction] = shapes
        self.intercept_: Any = np.array([offset]) if fitted.classes is not None else offset
        self._edits = ()
        self._apply_edits(self._projected(self._directions(encoder)))
        self._fit_edits = len(self._edits)
        return self

    def _encoded(self, X: Any) -> tuple[Any, EncodingFacts | None]:
        refuse_paths(X)
        table = _readable(X, public=Adjacency.of(self.adjacency) is Adjacency.REPLACE_ONE)
        encoder = self._declared_encoder(column_names(table))
        self._directions(encoder)
        unseen: Unseen = "raise" if invalid_rows(self.invalid) == "raise" else "other"
        _, facts = super()._encoded(X)
        earlier = () if facts is None else facts.every
        columns = _all_columns(table, X, encoder)
        shape = _row_count(columns, encoder), len(encoder.feature_names)
        rows = inputs.RowsOnDemand(shape, lambda: encoder.transform(columns, unseen=unseen))
        return rows, EncodingFacts(encoder, unseen=unseen, step=ENCODER_STEP, earlier=earlier)

    def _supplied(self, facts: EncodingFacts | None) -> dict[str, Any]:
        assert facts is not None and isinstance(facts.encoder, AdditiveEncoder)
        given = super()._supplied(facts)
        return given if isinstance(self.terms, Mapping) else {**given, "terms": facts.encoder.columns}

    def _n_columns(self, dim: int) -> int:
        return len(self.terms) if isinstance(self.terms, Mapping) else dim

    def _require_encoder(self, public: Mapping[str, Any]) -> None:
        encoder = self._declared_encoder(None)
        named = public[ENCODERS][0]
        if named["encoder"] != ENCODER_STEP or named["encoder_digest"] != text_digest(encoder.to_json()):
            raise ValueError("other terms were declared")
        if public["n_features"] != len(encoder.feature_names):
            raise ValueError("the terms have another number of features")

    def _edits_to_store(self) -> list[dict[str, object]]:
        return [edit.as_data() for edit in self._edits[self._fit_edits :]]

    def _edited_terms(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(edit.term for edit in self._edits[self._fit_edits :]))

    def _edit_facts(self) -> dict[str, object]:
        if not self._edited_terms():
            return {}
        numbers = [np.array([self._offset]), *(shape.points.ravel() for shape in self._shapes.values())]
        return {"edits": self._listed_edits(), "shapes_digest": digest(np.concatenate(numbers))}

    def _listed_edits(self, names: Sequence[str] | None = None) -> list[str]:
        chosen = (edit for edit in self._edits if names is None or edit.term in names)
        return list(dict.fromkeys(edit.describe() for edit in chosen))

    def _restore_edits(self, stored: list[Any]) -> None:
        edits = [Edit.from_data(data) for data in stored]
        shapes, last = dict(self._shapes), {edit.term: place for place, edit in enumerate(edits)}
        for place, edit in enumerate(edits):
            if (edit.points is None) is (place == last[edit.term]):
                raise ValueError("only the last edit of each term has contributions")
            shapes[edit.term] = edit.restored(shapes[edit.term])
        self._shapes, self._edits = shapes, (*self._edits, *edits)

    def _chosen_plan(self, spec: ProblemSpec, goal: Any) -> "Plan":
        from dperm.methods.choose import choose
        from dperm.methods.defaults import additive_regularization

        plan = choose(spec, goal, self.method, rule=additive_regularization)
        return plan.because(*_advice(plan, self._declared_encoder(None))) if isinstance(self.terms, Mapping) else plan

    def _with_edits(self, changed: Mapping[str, tuple[str, ShapeFunction]]) -> Self:
        found = copy.copy(self)
        found.intercept_, found.coef_ = copy.deepcopy(self.intercept_), np.array(self.coef_)
        return found._apply_edits(changed)

    def _apply_edits(self, changed: Mapping[str, tuple[str, ShapeFunction]]) -> Self:
        """Set changed shapes, given by name of the term with the kind of the change."""
        edits = [Edit(name, kind, tuple(shape.points.ravel().tolist())) for name, (kind, shape) in changed.items()]
        self._shapes = {**self._shapes, **{name: shape for name, (_, shape) in changed.items()}}
        replaced = (replace(edit, points=None) if edit.term in changed else edit for edit in self._edits)
        self._edits = (*replaced, *edits)
        return self

    def _projected(self, directions: Mapping[str, int]) -> dict[str, tuple[str, ShapeFunction]]:
        shapes = self.shape_functions_
        return {name: (DIRECTIONS[sign], shapes[name].monotone(sign)) for name, sign in directions.items()}

    def _directions(self, encoder: AdditiveEncoder) -> dict[str, int]:
        return checked_directions("monotone", self.monotone, self._orders(encoder))

    @staticmethod
    def _orders(encoder: AdditiveEncoder) -> dict[str, bool]:
        return {term.name: isinstance(term, NumberCode) for term in encoder.terms}

    def _declared_encoder(self, names: Sequence[str] | None) -> AdditiveEncoder:
        """Return the encoder of the declared terms; ``names`` are those of the columns of X, None without X."""
        terms: Any = self.terms
        if terms is None:
            raise ParameterError(
                argument="terms",
                rule="must declare the columns that the model uses",
                remedy='For example {"age": Numeric(0, 100), "work": Categorical(["public", "private"])}, from public '
                "knowledge.",
            )
        if isinstance(terms, AnyColumn):
            if names is None:
                raise ParameterError(
                    f"{arg('terms')} is one declaration for all columns, whose number is known only during a fit.",
                    remedy=f"Declare the columns by name, or give {arg('dim')}, the number of columns.",
                )
            terms = dict.fromkeys(names, terms)
        pairs = _pairs(self.interactions)
        try:
            return AdditiveEncoder(terms, pairs)
        except ParameterError as error:
            raise _renamed(error) from None

    def _known_terms(self, argument: str, names: Any) -> list[str]:
        found = [names] if isinstance(names, str) else list(names)
        unknown = [name for name in found if name not in self.term_names_]
        if unknown or not found:
            rule = f"must name terms of the model: {', '.join(self.term_names_)}"
            raise ParameterError(argument=argument, rule=rule, got=shown(unknown[0] if unknown else names))
        return found

    def _places(self, X: Any) -> "tuple[TermPlaces, ...]":
        """Return the places of the records to predict. Text in a column of numbers counts as missing."""
        check_is_fitted(self)
        table = _all_columns(_readable(X, public=True), X, self.encoder_, model=type(self).__name__)
        places = self.encoder_.places(table, unseen="other")
        if len(places[0]) == 0:
            raise DataError("X has 0 sample(s) while a minimum of 1 is required: there is no row to predict.")
        return places

    def _scores(self, X: Any) -> Floats:
        """Return the sum of the intercept and the contributions of all terms, in the order of the terms."""
        places = self._places(X)
        total = np.full(len(places[0]), self._offset)
        for shape, place in zip(self.shape_functions_.values(), places, strict=True):
            total += shape.at(place)
        return total

    @property
    def _offset(self) -> float:
        return float(np.ravel(self.intercept_)[0])

    @staticmethod
    def _unit(fitted: FitResult) -> str:
        """Return the unit of contributions. Clipped gradients make scores steeper than log-odds."""
        if fitted.classes is None:
            return "prediction"
        return "log-odds" if fitted.public.get("clip_share") == 1.0 else "score"

    def _shape_notes(self, names: Sequence[str]) -> list[str]:
        """Return the guarantee, and the changes of the named terms after the release if there are any."""
        since, edits = "fit" if self.record_ is None else "release", self._listed_edits(names)
        return [self._guarantee_note(), *([f"changed after the {since}: {', '.join(edits)}"] if edits else [])]

    def _guarantee_note(self) -> str:
        if self.guarantee_ is None:
            return "NOT PRIVATE: no guarantee"
        numbers = format_parameters(guarantee_as_dict(self.guarantee_))
        return f"{numbers} ({self.guarantee_.adjacency.value})"


@final
@dataclass(kw_only=True, eq=False, repr=False)
class PrivateAdditiveClassifier(PrivateAdditiveModel, PrivateProbabilityClassifier):
    """Differentially private additive classifier for two classes, with a shape function for each column.

    The score of a record is an intercept plus one contribution for each term: a smooth function of a number, an effect
    of each category, or a function of a declared pair of columns. All shape functions are released together under one
    guarantee, by logistic regression on public features with rows of norm at most 1 (T96).

    Parameters
    ----------
    terms : mapping of str to Numeric or Categorical
        Public declarations of the columns to use, by name. Other columns are not read. One declaration stands for all
        columns of X. Columns of an array are named x0, x1 and so on. Bounds, ``unit``, ``special``, ``detail``,
        ``period`` and ``weight`` must come from public knowledge, not from the data.
    interactions : sequence of pairs of str, default=0
        Declared pairs of columns with a joint effect, such as ``[("hour", "workingday")]``; 0 for none. Numbers in a
        pair have 24 cells.
    monotone : mapping of str to {1, -1}, default=None
        Terms of single numbers whose shapes are made increasing (1) or decreasing (-1) after the release.
    epsilon, delta, adjacency, n, ledger, fitted_transformers, allow_unprotected_scores, random_state
        See `PrivateLogisticRegression`.
    method : str or method object, default="auto"
        See `PrivateLogisticRegression`. "auto" is objective perturbation.
    C : float, default=None
        Inverse 1/Lambda of the regularization strength. None lets the plan choose C.
    clip : float, default=None
        Clipping norm of a record's gradient, as a fraction of the largest possible norm, in (0, 1]. None is 1/2. With
        1.0, shapes are log-odds and probabilities are calibrated, but there is twice as much noise.
    invalid : {"raise", "drop"}, default="raise"
        "raise" raises DataError for undeclared labels, and for text in columns of numbers. With "drop", records with
        undeclared labels contribute nothing, and such text counts as missing. Missing values are always valid. They
        have a contribution of their own, unless the column declares ``impute``.
    classes : sequence of two labels, default=None
        Public labels. None uses the labels found in y and treats them as public.
    class_weight : mapping, default=None
        Public weight of each class, in (0, 1e6].

    Attributes
    ----------
    shape_functions_ : read-only mapping of str to ShapeFunction
        Shape function of each term. The values of a shape on its grid have mean 0.
    intercept_ : ndarray of shape (1,)
        Intercept, which contains the means of the shapes.
    term_names_ : list of str
        Names of the terms: columns, then pairs, named "a x b".
    encoder_ : AdditiveEncoder
        Public codes of the terms.
    coef_ : ndarray of shape (1, n)
        Released coefficients of the n features of ``encoder_``, before edits and centering.
    classes_, guarantee_, profile_, statement_, plan_, record_
        See `PrivateLogisticRegression`.
    n_features_in_ : int
        Number of declared columns.
    feature_names_in_ : ndarray of str
        Names of the declared columns.

    See Also
    --------
    PrivateAdditiveRegressor : Additive model for numbers.
    PrivateLogisticRegression : Linear model, also for more than two classes.

    Examples
    --------
    >>> import numpy as np
    >>> from dperm.data import Categorical, Numeric
    >>> from dperm.sklearn import PrivateAdditiveClassifier
    >>> rng = np.random.default_rng(0)
    >>> table = {"age": rng.uniform(17, 90, 4000), "work": rng.choice(["public", "private"], 4000)}
    >>> y = (np.abs(table["age"] - 50) < 15).astype(int)
    >>> terms = {"age": Numeric(17, 90), "work": Categorical(["public", "private"])}
    >>> model = PrivateAdditiveClassifier(terms=terms, epsilon=1.0, classes=(0, 1)).fit(table, y)
    >>> model.guarantee_
    ApproxDP(epsilon=1.0, delta=1e-06, adjacency=REPLACE_ONE)
    >>> model.term_names_
    ['age', 'work']
    >>> scores = model.explain_local(table).data()["scores"].sum(axis=1) + model.intercept_
    >>> bool(np.allclose(scores, model.decision_function(table), rtol=0, atol=1e-12))
    True
    """

    most_classes: ClassVar[int] = 2

    def decision_function(self, X: Any) -> Floats:
        """Return the score of each record: ``intercept_`` plus the contributions of all terms.

        Numbers outside their bounds are clipped to them, undeclared categories share one contribution, and text in a
        column of numbers counts as missing.

        Parameters
        ----------
        X : table, mapping of names to columns, or dense array
            Records to predict.

        Returns
        -------
        ndarray of shape (n_samples,)
            Scores; a positive score predicts ``classes_[1]``.
        """
        return self._scores(X)

    def _plain_estimator(self) -> Any:
        return self.to_sklearn()


@final
@dataclass(kw_only=True, eq=False, repr=False)
class PrivateAdditiveRegressor(PrivateAdditiveModel, PrivateLinearRegressor):
    """Differentially private additive regression, with a shape function for each column.

    The prediction for a record is an intercept plus one contribution for each term, in the units of y. All shape
    functions are released together under one guarantee, by least squares with clipped gradients (T44) on public
    features with rows of norm at most 1 (T96).

    Parameters
    ----------
    terms, interactions, monotone, invalid
        See `PrivateAdditiveClassifier`.
    epsilon, delta, adjacency, method, C, n, ledger, fitted_transformers, allow_unprotected_scores, random_state
        See `PrivateLinearRegression`.
    clip : float, default=None
        Residual beyond which gradients are clipped, as a fraction of half the width of ``label_range``, in (0, 1]. None
        is 1/4.
    label_range : (low, high), default=None
        Public range of y. Labels are clipped to it. Do not compute the range from the data. None means (-1, 1), with a
        warning at every fit.
    clip_predictions : bool, default=False
        Whether ``predict`` clips predictions to ``label_range``.

    Attributes
    ----------
    shape_functions_, term_names_, encoder_, n_features_in_, feature_names_in_
        See `PrivateAdditiveClassifier`.
    intercept_ : float
        Intercept in the units of y, which contains the means of the shapes.
    coef_ : ndarray of shape (n,)
        Released coefficients of the n features of ``encoder_``, before edits and centering.
    guarantee_, profile_, statement_, plan_, record_
        See `PrivateLinearRegression`.

    See Also
    --------
    PrivateAdditiveClassifier : Additive model for two classes.
    PrivateLinearRegression : Linear model.

    Examples
    --------
    >>> import numpy as np
    >>> from dperm.data import Numeric
    >>> from dperm.sklearn import PrivateAdditiveRegressor
    >>> table = {"hour": np.random.default_rng(0).uniform(0, 24, 4000)}
    >>> y = np.cos(2 * np.pi * table["hour"] / 24)
    >>> terms = {"hour": Numeric(0, 24, period=24)}
    >>> model = PrivateAdditiveRegressor(terms=terms, epsilon=1.0, label_range=(-1, 1)).fit(table, y)
    >>> model.score(table, y) > 0.8  # not covered by the guarantee
    True
    """

    def predict(self, X: Any) -> Floats:
        """Return the prediction for each record, in the units of y.

        The prediction is ``intercept_`` plus the contributions of all terms. It is clipped to ``label_range`` if
        ``clip_predictions`` is True.

        Parameters
        ----------
        X : table, mapping of names to columns, or dense array
            Records to predict.

        Returns
        -------
        ndarray of shape (n_samples,)
            One prediction per record.
        """
        return super().predict(X)

    def _loss_function(self, target: Any) -> "Loss":
        from dperm.erm.residual_losses import Squared

        return Squared()

    def _plain_estimator(self) -> Any:
        return self.to_sklearn()


def _readable(X: Any, *, public: bool) -> Any:
    """Return a table or mapping unchanged, and an array as a mapping of x0, x1, ... to its columns.

    ``public`` says that the number of rows is public, so that messages may contain it.
    """
    require_in_memory(X, remedy=PREDICT_PARTS, of_files=PREDICT_FILES)
    if is_table(X):
        return X
    if sparse.issparse(X):
        raise DataTypeError(
            "X must not be a sparse matrix.", remedy="Give a table of the raw columns, or a dense array."
        )
    array = inputs.two_dimensional(X)
    inputs.checked_shape(array, public=public)
    if array.dtype.kind == "c":
        array = inputs.numeric(array)  # raises
    return named_columns(X if isinstance(X, list | tuple) else array)


def _all_columns(table: Any, X: Any, encoder: AdditiveEncoder, *, model: str = "") -> Any:
    """Return the table; raise ParameterError for an array whose columns are not the declared ones."""
    if is_table(X) or list(table) == list(encoder.columns):
        return table
    if model:
        raise ParameterError(
            f"X has {len(table)} features, but {model} is expecting {len(encoder.columns)} features as input.",
            remedy="Give a table with the declared columns, or an array with a column for each, if they are named x0, "
            "x1 and so on.",
        )
    raise ParameterError(
        argument="terms",
        rule="must name the columns x0, x1, ... of an array, all of them in order",
        remedy="Give X as a data frame or as a mapping of names to columns.",
    )


def _row_count(table: Any, encoder: AdditiveEncoder) -> int:
    """Return the length of the first declared column, without reading its cells."""
    first = next(iter(encoder.columns))
    try:
        (values,) = raw_columns(table, [first])
        return len(values)  # type: ignore[arg-type]  # TypeError for a column without a length
    except TypeError:
        raise DataError(f"column {shown(first)} must be one-dimensional.") from None


def _pairs(interactions: Any) -> tuple[Any, ...]:
    """Return the declared pairs; raise ParameterError for a number of pairs to choose."""
    if isinstance(interactions, Integral) and not isinstance(interactions, bool) and interactions == 0:
        return ()
    if not isinstance(interactions, tuple | list):
        raise ParameterError(
            argument="interactions",
            rule="must be 0 or a list of declared pairs, because pairs are not chosen privately",
            got=shown(interactions),
            remedy='Declare the pairs from public knowledge, such as [("hour", "workingday")].',
        )
    return tuple(interactions)


def _own_declarations(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters with copies of the declarations, which later changes by the user do not reach."""
    monotone, pairs = given["monotone"], given["interactions"]
    return {
        **given,
        "terms": checked_columns(given["terms"]),
        "interactions": [tuple(pair) for pair in pairs] if isinstance(pairs, tuple | list) else pairs,
        "monotone": None if monotone is None else dict(monotone),
    }


def _renamed(error: ParameterError) -> ParameterError:
    """Return an error of the encoder with the names of the estimator's arguments."""
    for inner, outer in (("columns", "terms"), ("pairs", "interactions")):
        if error.argument == inner or error.argument.startswith(f"{inner}["):
            return ParameterError(
                argument=outer + error.argument[len(inner) :],
                rule=error.rule,
                got=error.got,
                remedy=error.remedy,
                code=error.code,
            )
    return error


def _advice(plan: "Plan", encoder: AdditiveEncoder) -> tuple[Fact, ...]:
    """Return facts about declarations with which the plan cannot learn well."""
    spec = plan.spec
    found = [
        Fact("terms.declared", "The model has {terms} terms with {dim} features.", _sizes(encoder)),
    ]
    if plan.goal.__class__.__name__ == "PureDP":
        template = "With delta = 0, noise grows with the number of features, {dim}. Any delta > 0 needs less noise."
        found.append(Fact("terms.pure", template, {"dim": spec.dim}))
    if spec.n is not None and spec.regularization is not None:
        coarse = _unlearnt(encoder, spec)
        if coarse:
            template = (
                "The detail of {names} cannot be learnt with this guarantee and {n} records: a cell has too few of "
                "them. Leave out detail there, or declare fewer bins or a larger weight."
            )
            found.append(Fact("terms.detail", template, {"names": ", ".join(coarse), "n": spec.n}))
    return tuple(found)


def _sizes(encoder: AdditiveEncoder) -> dict[str, object]:
    return {"terms": len(encoder.terms), "dim": len(encoder.feature_names)}


def _unlearnt(encoder: AdditiveEncoder, spec: ProblemSpec) -> list[str]:
    """Return the columns whose detail has a curvature n w rho v / B below Lambda / 4 in a cell of average size."""
    found = []
    for term, share in zip(encoder.terms, encoder.shares, strict=True):
        if isinstance(term, NumberCode) and term.cells:
            curvature = (spec.n or 0) * share * term.column.detail * CURVATURE[spec.loss.labels] / term.cells
            if curvature < LEARNABLE * spec.strength:
                found.append(term.name)
    return found
