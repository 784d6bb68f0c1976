# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Logistic and linear regression on raw tables, of which only the column names need to be public (T70, T90)."""

import warnings
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, ClassVar, final

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin, RegressorMixin

from dperm import checks
from dperm.data.arrays import Floats
from dperm.data.canonical import canonical_cell, label_text
from dperm.data.columns import AnyColumn
from dperm.data.labels import declared_classes
from dperm.data.space import checked_pair
from dperm.erm.loss import Loss
from dperm.erm.losses import Logistic
from dperm.erm.residual_losses import Squared
from dperm.erm.softmax import Softmax
from dperm.errors import DpermWarning, ParameterError
from dperm.pipeline.holdout import HOLDOUT
from dperm.pipeline.plan import TablePlan
from dperm.preparation.prepared import PreparedTable, TargetKind
from dperm.presentation.spelling import arg
from dperm.presentation.user_line import level_of_user
from dperm.privacy import Adjacency
from dperm.sklearn.classifiers import PrivateLogisticRegression
from dperm.sklearn.regressors import PrivateLinearRegression
from dperm.sklearn.table_fit import PrivateTableModel, require_declared_classes, require_numbers
from dperm.sklearn.table_groups import LabelRule


@final
class PrivateTableClassifier(ClassifierMixin, PrivateTableModel):
    """Logistic regression on raw tables, with no need for public bounds, categories or classes.

    One release with one guarantee contains a private schema, a model of the encoded table, and the metrics of the model
    on held-out records (T71, T85). The schema contains the kind of each column (numbers or categories), ranges, bins,
    categories and classes (T72-T75). All noise levels are fixed, and the budget is checked, before the table is read
    (T70). The budget is charged before any noise is drawn. The column names must be public. Under replace_one, the
    number of records must be public too.

    Parameters
    ----------
    epsilon : float, default=1.0
        Privacy-loss bound of the schema, the model and the metrics together.
    delta : float, default=1e-6
        Delta of the guarantee, greater than 0.
    adjacency : {"replace_one", "add_remove"}, default="replace_one"
        Neighbouring relation.
    columns : mapping of str to Numeric or Categorical, default=None
        Public declarations of some columns, by column name. Declared columns cost no privacy.
    classes : sequence of labels, default=None
        Public classes, which cost no privacy; None finds the classes privately.
    most_classes : int, default=2
        Public upper limit on the number of classes. If more classes are found, the records of the rarest ones do not
        contribute to the model.
    encoding : {"auto", "bins", "scaled"}, default="auto"
        Encoding of undeclared columns of numbers. "bins" uses indicators of bins in addition to the scaled number
        (T75). "scaled" uses the scaled number alone: (x - median) / spread, clipped to [-1, 1], as in `PrivateScaler`.
        "scaled" suits wide tables, because it scales long rows down to a private median of the row norms (T76). "auto"
        chooses "scaled" for more than 200 feature columns, and "bins" otherwise.
    clip : float, default=None
        Clipping norm of a record's gradient, as in `PrivateLogisticRegression`.
    n : int, default=None
        Public number of records under add_remove, where it is never compared with the data.
    invalid : {"raise", "drop"}, default="raise"
        Treatment of values that violate the declarations in ``columns`` (undeclared categories, text in columns of
        numbers, and missing values that are not allowed), and of labels that are not in ``classes``. "raise" raises
        DataError. With "drop", such values count as missing or as the category ``other``, and records with such labels
        contribute nothing. Numbers outside their bounds are always clipped.
    holdout : float, default=0.1
        Probability in [0, 0.5] with which each record is held out for evaluation, by an independent secret coin flip.
        ``metrics_`` is computed from these evaluation records alone and adds nothing to the privacy cost (T71). With 0,
        all records are training records.
    groups : mapping of str to sequence, default=None
        Mapping from the name of one column of X to its public groups, such as ``{"region": ["north", "south"]}``.
        ``metrics_`` then also contains metrics for each group, and the noise of all metrics grows by a factor of at
        most sqrt(2).
    ledger : Ledger or budget in memory, default=None
        Budget to which a fit is charged.
    allow_unprotected_scores : bool, default=False
        Whether scikit-learn may evaluate the model on the private data, as in `PrivateLogisticRegression`.
    random_state : int, Generator or RandomState, default=None
        Seed, which makes the fit reproducible and NOT PRIVATE.

    Attributes
    ----------
    model_ : PrivateLogisticRegression
        Fitted model of the encoded table.
    schema_ : Schema
        Released schema: the encoder and the classes.
    classes_ : ndarray
        Declared or released classes, sorted.
    guarantee_ : ApproxDP or None
        Guarantee of the schema, the model and the metrics together; None for a seeded fit.
    profile_, record_, statement_
        Privacy profile, public facts and privacy statement of the release.
    plan_ : TablePlan
        Plan made from public numbers.
    metrics_ : Metrics or None
        Private metrics of the model on the evaluation records, with intervals; None if ``holdout`` is 0.
    n_records_ : float or None
        Noisy number of records; None if the columns and the labels are all declared.

    Notes
    -----
    *Tables of any size.* ``fit`` reads a table from `dperm.data.table`, or a Dask data frame, in row groups instead of
    as a whole. For given random bits, it releases the same numbers as for the same records in memory. The numbers
    depend neither on the division into row groups nor on the engine (T203). ``fit`` makes several passes over the
    table. Under replace_one, the first pass counts the rows. Further passes check the declared columns and labels,
    compute the histograms of the schema (with "scaled", also the histogram of the row norms), encode the training
    records, and compute the metrics. If ``holdout`` is 0, the check and the first histograms share a pass, and there
    are no metrics. ``fit`` raises DataError if a row group changes between two passes (T206).

    The memory needed for a row group is bounded, except for a dictionary of the distinct values in each text column.
    This dictionary is large for a column such as names. The fitted model can predict only tables in memory.

    Examples
    --------
    >>> import numpy as np
    >>> from dperm.sklearn import PrivateTableClassifier
    >>> rng = np.random.default_rng(0)
    >>> age, work = rng.integers(18, 90, 20_000), rng.choice(["private", "public"], 20_000)
    >>> table = {"age": age, "work": work, "income": np.where(age + 40 * (work == "public") > 70, "high", "low")}
    >>> model = PrivateTableClassifier(epsilon=1.0, delta=1e-6).fit(table, target="income")
    >>> model.guarantee_
    ApproxDP(epsilon=1.0, delta=1e-06, adjacency=REPLACE_ONE)
    >>> model.predict({"age": [20, 80], "work": ["private", "public"]}).tolist()
    ['low', 'high']
    """

    task: ClassVar[TargetKind] = TargetKind.CLASSIFICATION

    def __init__(
        self,
        *,
        epsilon: float = 1.0,
        delta: float = 1e-6,
        adjacency: Adjacency | str = "replace_one",
        columns: Mapping[str, AnyColumn] | None = None,
        classes: Sequence[Any] | None = None,
        most_classes: int = 2,
        encoding: str = "auto",
        clip: float | None = None,
        n: int | None = None,
        invalid: str = "raise",
        holdout: float = HOLDOUT,
        groups: Mapping[str, Sequence[Any]] | None = None,
        ledger: Any = None,
        allow_unprotected_scores: bool = False,
        random_state: Any = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.adjacency = adjacency
        self.columns = columns
        self.classes = classes
        self.most_classes = most_classes
        self.encoding = encoding
        self.clip = clip
        self.n = n
        self.invalid = invalid
        self.holdout = holdout
        self.groups = groups
        self.ledger = ledger
        self.allow_unprotected_scores = allow_unprotected_scores
        self.random_state = random_state

    def predict_proba(self, X: object) -> Floats:
        """Return the probabilities of the classes, one column per class.

        Parameters
        ----------
        X : table
            Table with the columns of the fit.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Probabilities, in the order of ``classes_``.
        """
        rows = self._encoded(X)
        return np.asarray(self.model_.predict_proba(rows))

    def decision_function(self, X: object) -> Floats:
        """Return the scores of the rows.

        Parameters
        ----------
        X : table
            Table with the columns of the fit.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            With two classes, one score per row, where a positive score predicts ``classes_[1]``. With more than two
            classes, one column of scores per class.
        """
        rows = self._encoded(X)
        return np.asarray(self.model_.decision_function(rows))

    @property
    def classes_(self) -> NDArray[Any]:
        """Declared or released classes, sorted."""
        classes: NDArray[Any] = self.model_.classes_
        return classes

    def _declares_labels(self) -> bool:
        return self.classes is not None

    def _label_rule(self) -> LabelRule:
        return partial(require_declared_classes, classes=tuple(distinct_classes(self.classes)))

    def _most_classes(self) -> int:
        if self.classes is not None:
            return len(distinct_classes(self.classes))
        return checks.count("most_classes", self.most_classes, MOST_CLASSES_HINT, least=2, most=1000)

    def _loss(self) -> Loss:
        return Logistic() if self._most_classes() == 2 else Softmax(self._most_classes())

    def _estimator(self, prepared: PreparedTable) -> Any:
        found = prepared.classes if self.classes is None else tuple(distinct_classes(self.classes))
        if found is None or len(found) < 2:
            return None
        return PrivateLogisticRegression(**self._fixed_parameters(prepared), classes=found)

    def _warn_from_release(self, prepared: PreparedTable, plan: TablePlan) -> None:
        super()._warn_from_release(prepared, plan)
        if self._declares_labels():
            return
        found = len(prepared.values[prepared.target].counts)  # type: ignore[index]  # values of the target
        if found > self._most_classes():
            warnings.warn(
                f"the preparation found {found} classes, more than {arg('most_classes', self._most_classes())}: the "
                f"model knows the most frequent ones only.",
                DpermWarning,
                stacklevel=level_of_user(),
            )


@final
class PrivateTableRegressor(RegressorMixin, PrivateTableModel):
    """Linear regression on raw tables, with no need for public bounds, categories or a public label range.

    One release with one guarantee contains a private schema, which includes the range of the labels, a model of the
    encoded table, and the metrics of the model on held-out records (T88). See `PrivateTableClassifier`.

    Parameters
    ----------
    epsilon, delta, adjacency, columns, encoding, n, holdout, groups, ledger, allow_unprotected_scores, random_state
        See `PrivateTableClassifier`.
    clip : float, default=None
        Residual beyond which gradients are clipped, as in `PrivateLinearRegression`.
    invalid : {"raise", "drop"}, default="raise"
        Treatment of values that violate the declarations in ``columns`` (undeclared categories, text in columns of
        numbers, and missing values that are not allowed) and, if ``label_range`` is declared, of labels that are not
        numbers. "raise" raises DataError. With "drop", such values count as missing or as the category ``other``, and
        records with such labels contribute nothing. Numbers outside their bounds are always clipped.
    label_range : (low, high), default=None
        Public range of the labels, which costs no privacy; None finds a range privately.
    clip_predictions : bool, default=True
        Whether ``predict`` clips predictions to the declared or released range of the labels.

    Attributes
    ----------
    model_ : PrivateLinearRegression
        Fitted model of the encoded table.
    schema_, guarantee_, profile_, record_, statement_, plan_, metrics_, n_records_
        See `PrivateTableClassifier`.

    Examples
    --------
    >>> from dperm.sklearn import PrivateTableRegressor
    >>> plan = PrivateTableRegressor(epsilon=1.0, delta=1e-6, adjacency="add_remove").plan(["carat", "cut"], "price")
    >>> plan.goal
    ApproxDP(epsilon=1.0, delta=1e-06, adjacency=ADD_REMOVE)
    """

    task: ClassVar[TargetKind] = TargetKind.REGRESSION

    def __init__(
        self,
        *,
        epsilon: float = 1.0,
        delta: float = 1e-6,
        adjacency: Adjacency | str = "replace_one",
        columns: Mapping[str, AnyColumn] | None = None,
        label_range: tuple[float, float] | None = None,
        clip_predictions: bool = True,
        encoding: str = "auto",
        clip: float | None = None,
        n: int | None = None,
        invalid: str = "raise",
        holdout: float = HOLDOUT,
        groups: Mapping[str, Sequence[Any]] | None = None,
        ledger: Any = None,
        allow_unprotected_scores: bool = False,
        random_state: Any = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.adjacency = adjacency
        self.columns = columns
        self.label_range = label_range
        self.clip_predictions = clip_predictions
        self.encoding = encoding
        self.clip = clip
        self.n = n
        self.invalid = invalid
        self.holdout = holdout
        self.groups = groups
        self.ledger = ledger
        self.allow_unprotected_scores = allow_unprotected_scores
        self.random_state = random_state

    def _loss(self) -> Loss:
        checks.truth("clip_predictions", self.clip_predictions)
        return Squared()

    def _estimator(self, prepared: PreparedTable) -> Any:
        found = prepared.label_range if self.label_range is None else checked_pair("label_range", self.label_range)
        if found is None:
            return None
        return PrivateLinearRegression(
            **self._fixed_parameters(prepared), label_range=found, clip_predictions=self.clip_predictions
        )

    def _declares_labels(self) -> bool:
        return self.label_range is not None

    def _label_rule(self) -> LabelRule:
        return require_numbers


MOST_CLASSES_HINT = "It is the upper limit on the number of classes, at least 2, and must be public."


def distinct_classes(classes: Sequence[Any] | None) -> list[Any]:
    """Return the declared classes; raise ParameterError if two are equal as cells, or one is a missing value."""
    declared: list[Any] = declared_classes(classes).tolist()
    texts = [label_text(label) for label in declared]
    if len(set(texts)) < len(texts) or any(canonical_cell(label) is None for label in declared):
        rule = "must be different labels when they are read cell by cell, and none may be a missing value such as 'NA'"
        raise ParameterError(argument="classes", rule=rule, remedy="'01', 1 and True are one label. Rename them.")
    return declared
