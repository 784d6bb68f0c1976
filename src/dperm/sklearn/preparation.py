# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Private preparation of raw tables as scikit-learn transformers."""

import warnings
from collections.abc import Mapping, Sequence
from typing import Any, Self, final

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from dperm.accounting.budget import Budget
from dperm.checks import shown
from dperm.data.canonical import row_count
from dperm.data.columns import AnyColumn
from dperm.data.encoded import EncodingFacts, encoded
from dperm.data.encoder import PublicEncoder
from dperm.data.pipeline_steps import checked_transformers
from dperm.data.raw_passes import RawPasses
from dperm.data.row_scaling import scaled_down
from dperm.data.score_sources import check_pipeline_scores
from dperm.data.tables import column_names
from dperm.errors import DataError, DpermWarning, ParameterError
from dperm.mechanisms.run import release as run_release
from dperm.noise.bits import Bits
from dperm.preparation.plan import PreparationPlan, warn_few_records
from dperm.preparation.prepared import Encoding, PreparedTable, TargetKind
from dperm.preparation.table_columns import GroupedColumns
from dperm.presentation.spelling import arg
from dperm.privacy import Adjacency, Release
from dperm.privacy.public_rows import public_rows
from dperm.report import Statement, statement
from dperm.sklearn import parameters
from dperm.sklearn.files import prefers_sparse
from dperm.sklearn.release_facts import release_facts
from dperm.sklearn.table_groups import (
    CheckedRecords,
    RawTable,
    checked_columns,
    counted_rows,
    raw_table,
    refuse_table,
)

LABELS = "y"
"""Name of the target if y is passed separately from the table and has no name of its own."""


@final
class PrivateTableEncoder(TransformerMixin, BaseEstimator):
    """Find a schema of a raw table privately, and encode the table.

    The schema contains the kind of each column (numbers or categories), ranges, bins, categories and classes. The
    column names must be public. Under replace_one, the number of records must be public too. ``fit`` releases one
    private schema for all columns at once (T72-T75). ``transform`` learns nothing from the data, and encodes any table
    with the columns of the fit. Each cell is read on its own, so one record cannot change how another record is read.

    Parameters
    ----------
    epsilon : float, default=1.0
        Privacy-loss bound of the preparation; smaller is more private.
    delta : float, default=1e-6
        Delta of the guarantee, greater than 0. With delta = 0, no undeclared value could be released.
    adjacency : {"replace_one", "add_remove"}, default="replace_one"
        Neighbouring relation.
    columns : mapping of str to Numeric or Categorical, default=None
        Public declarations of some columns, by column name. Declared columns cost no privacy. Their values must satisfy
        the declarations.
    task : {"classification", "regression"}, default=None
        Kind of y. If given, ``fit(X, y)`` also finds the classes or the range of y. None ignores y.
    most_classes : int, default=100
        Public upper limit on the number of classes. If more classes are found, the rarest ones are left out.
    encoding : {"auto", "bins", "scaled"}, default="auto"
        Encoding of undeclared columns of numbers, as in `PrivateTableClassifier`. With "scaled", rows are scaled down
        to a private median of their norms (T76). "auto" chooses "scaled" for more than 200 feature columns, and "bins"
        otherwise.
    ledger : Ledger or budget in memory, default=None
        Budget to which a fit is charged.
    random_state : int, Generator or RandomState, default=None
        Seed, which makes the fit reproducible and NOT PRIVATE.

    Attributes
    ----------
    encoder_ : PublicEncoder
        Encoder of the columns, computed from the release alone.
    schema_ : Schema
        The encoder together with the classes or the range of y; ``schema_.to_toml()`` returns the text of a schema
        file.
    norm_ : float
        Bound on the norm of every encoded row.
    classes_ : ndarray
        Classes found in y, sorted; only for classification.
    label_range_ : tuple of float
        Range of y; only for regression.
    n_records_ : float
        Noisy number of records.
    guarantee_ : ApproxDP or None
        Guarantee of the preparation; None for a seeded fit.
    plan_ : PreparationPlan
        Plan made from public numbers.
    record_ : Record
        Public facts of the release.
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : ndarray of str
        Names of the columns of X.

    Notes
    -----
    ``fit`` reads a table from `dperm.data.table`, or a Dask data frame, in row groups instead of as a whole. It
    releases the same numbers as for the same records in memory (T203); see `PrivateTableClassifier`. ``transform``
    accepts only tables in memory.

    See Also
    --------
    PublicTableEncoder : Encoder of declared columns, which learns nothing from the data.

    Examples
    --------
    >>> import numpy as np
    >>> from dperm.sklearn import PrivateTableEncoder
    >>> rng = np.random.default_rng(0)
    >>> table = {"age": rng.integers(18, 90, 20_000), "work": rng.choice(["private", "public"], 20_000)}
    >>> encoder = PrivateTableEncoder(epsilon=1.0, delta=1e-6).fit(table)
    >>> sorted(encoder.encoder_.columns["work"].categories)
    ['private', 'public']
    """

    def __init__(
        self,
        *,
        epsilon: float = 1.0,
        delta: float = 1e-6,
        adjacency: Adjacency | str = "replace_one",
        columns: Mapping[str, AnyColumn] | None = None,
        task: str | None = None,
        most_classes: int = 100,
        encoding: str = "auto",
        ledger: Any = None,
        random_state: Any = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.adjacency = adjacency
        self.columns = columns
        self.task = task
        self.most_classes = most_classes
        self.encoding = encoding
        self.ledger = ledger
        self.random_state = random_state

    def plan(self, columns: Sequence[str], target: str | None = None) -> PreparationPlan:
        """Return the plan of a fit to a table with these columns, computed from public numbers alone.

        Parameters
        ----------
        columns : sequence of str
            Names of the columns of X.
        target : str, default=None
            Name of y, if ``task`` is given.

        Returns
        -------
        PreparationPlan
            Plan with ``event``, ``why`` and ``records_needed``.
        """
        goal = parameters.goal_of(self.epsilon, self.delta, self.adjacency)
        if goal is None:
            rule = "must be finite: a preparation without noise has no guarantee"
            raise ParameterError(argument="epsilon", rule=rule, remedy="Declare the columns, or choose 1.0.")
        declared = PublicEncoder(self.columns).columns if self.columns else {}
        missing = [name for name in declared if name not in columns]
        if missing:
            raise DataError(f"the table must have a column named {shown(missing[0])}.")
        return PreparationPlan.for_goal(
            [name for name in columns if name not in declared],
            goal,
            target=None if self._task() is None else (target or LABELS),
            task=self._task(),
            declared=declared,
            most_classes=self.most_classes,
            encoding=Encoding.of(self.encoding, len(columns)),
        )

    def fit(self, X: object, y: object = None) -> Self:
        """Release the schema of a private table, and charge the release to ``ledger``.

        Parameters
        ----------
        X : table
            pandas or polars data frame, Arrow table, mapping of names to columns, table of any size from
            `dperm.data.table`, or Dask data frame.
        y : array-like or str, default=None
            Labels, one for each record; required if ``task`` is given, otherwise ignored. For a table from
            `dperm.data.table`, the name of the column with the labels.

        Returns
        -------
        self
            Fitted encoder.

        Raises
        ------
        DataError
            If X is not a table with columns of equal length, or a declared column violates its declaration. Nothing is
            charged. Cell values of undeclared columns never cause an error.
        LeakError
            If a pipeline fitted an earlier transformer to the private data without a guarantee, if ``ledger`` is given
            and the release of an earlier transformer was not charged to the same account, or if scikit-learn evaluates
            the model of the pipeline on the private data. Nothing is charged.
        BudgetError
            If ``ledger`` does not cover the preparation. Nothing is charged.
        """
        raw = raw_table(X, y)
        names = column_names(X) if raw is None else raw.features
        budget, seed = parameters.budget_of(self.ledger), parameters.seed_of(self.random_state)
        check_pipeline_scores()
        checked_transformers(budget=budget, seeded=seed is not None, labels=True)
        target = None if self._task() is None else _name_of(y, names) if raw is None else raw.target
        if self._task() is not None and y is None:
            rule = f"must be given for task={self.task!r}"
            raise ParameterError(argument="y", rule=rule, remedy="Leave out task to prepare the features alone.")
        plan = self.plan(names, target)
        bits = None
        if seed is not None:
            from dperm.noise import NotPrivateBits

            bits = NotPrivateBits(seed)
        if raw is None:
            warn_few_records(plan, public_rows(Adjacency.of(self.adjacency), None, row_count(X, names)), stacklevel=2)
            if plan.declared:
                PublicEncoder(plan.declared).transform(X, sparse=True)  # raises for values outside their declarations
            release = plan.run(X, y if target is not None else None, budget, bits=bits)
        else:
            release = self._release_of_groups(raw, plan, budget, bits)
        self._set_fitted(release, plan, names)
        for fact in release.value.warnings:  # the release is kept, even if warnings are errors
            warnings.warn(fact.describe(arg), DpermWarning, stacklevel=2)
        return self

    def _release_of_groups(
        self, raw: RawTable, plan: PreparationPlan, budget: Budget | None, bits: Bits | None
    ) -> Release[PreparedTable]:
        """Return the release of a table in row groups; see `fit`."""
        passes = RawPasses(raw.table)
        try:
            if Adjacency.of(self.adjacency) is Adjacency.REPLACE_ONE:
                warn_few_records(plan, counted_rows(passes, raw), stacklevel=3)

            def read() -> GroupedColumns:
                check = CheckedRecords(PublicEncoder(plan.declared) if plan.declared else None, "raise")
                return checked_columns(passes, check, counted=plan.names)

            return run_release(plan.facts, read, plan.draw, budget=budget, bits=bits)
        finally:
            passes.close()

    def _set_fitted(self, release: Release[PreparedTable], plan: PreparationPlan, names: tuple[str, ...]) -> Self:
        found = release.value
        self.release_, self.plan_, self.record_ = release, plan, release.record
        self.encoder_, self.schema_, self.norm_ = found.encoder, found.schema, found.norm
        self.n_records_ = found.records
        self.guarantee_ = release.guarantee if release.record.is_private else None
        for name in ("classes_", "label_range_"):
            if hasattr(self, name):
                delattr(self, name)
        if found.classes is not None:
            self.classes_ = np.array(found.classes)
        if found.label_range is not None:
            self.label_range_ = found.label_range
        self.feature_names_in_ = np.array(names, dtype=object)
        self.n_features_in_ = len(names)
        return self

    def transform(self, X: object) -> Any:
        """Return one row of features for each record, with norm at most ``norm_``.

        Parameters
        ----------
        X : table
            Table with the columns of the fit. Unseen categories are encoded as the category "other", and no cell value
            causes an error.

        Returns
        -------
        ndarray or csr_array
            Features. The returned array, and any subset of its rows, passes ``norm_``, ``classes_`` and
            ``label_range_`` on to an estimator with ``feature_norm="auto"``, ``classes="auto"`` and
            ``label_range="auto"``.
        """
        check_is_fitted(self)
        refuse_table(X, "transform")
        features = self.encoder_.transform(X, sparse=prefers_sparse(self.encoder_), unseen="other")
        if self._scales_rows():
            features = (
                scaled_down(features, self.norm_) if isinstance(features, np.ndarray) else self._shorter(features)
            )
        return encoded(features, self.encoding_facts)

    def _scales_rows(self) -> bool:
        return self.release_.value.rows is not None

    def _shorter(self, features: Any) -> Any:
        """Return sparse rows with longer ones scaled down; their entries are at most 1, so that no square overflows."""
        longest = self.norm_ * (1 - (features.shape[1] + 16) * 2.0**-52)
        lengths = np.sqrt(np.asarray(features.multiply(features).sum(axis=1)).ravel())
        factors = np.where(lengths > longest, longest / np.where(lengths > 0, lengths, 1.0), 1.0)
        features.data *= np.repeat(factors, np.diff(features.indptr))
        return features

    @property
    def encoding_facts(self) -> EncodingFacts:
        """Released facts that are attached to the encoded rows, including the guarantee of the release."""
        check_is_fitted(self)
        return EncodingFacts(
            self.encoder_,
            sparse=prefers_sparse(self.encoder_),
            unseen="other",
            length=self.norm_ if self._scales_rows() else None,
            classes=None if not hasattr(self, "classes_") else tuple(self.classes_.tolist()),
            label_range=getattr(self, "label_range_", None),
            release=self._release_facts(),
        )

    def _release_facts(self) -> dict[str, object]:
        """Return the public facts of the release, as the record of a later model names them."""
        public = self.record_.public
        return release_facts(
            self.record_,
            schema_digest=self.schema_.digest,
            prepared=public["columns"],
            declared=public["declared"],
            target=public["target"],
            task=public["task"],
            most_classes=public["most_classes"],
        )

    @property
    def statement_(self) -> Statement:
        """Privacy statement of the preparation: all fields as plain data."""
        check_is_fitted(self)
        return statement(self.release_)

    def get_feature_names_out(self, input_features: ArrayLike | None = None) -> NDArray[np.object_]:
        """Return the feature names.

        Parameters
        ----------
        input_features
            Ignored, because columns have names.

        Returns
        -------
        ndarray of str
            Feature names.
        """
        check_is_fitted(self)
        return np.array(self.encoder_.feature_names, dtype=object)

    def _task(self) -> TargetKind | None:
        if self.task is None:
            return None
        if self.task not in tuple(TargetKind):
            rule = 'must be "classification", "regression" or None'
            raise ParameterError(argument="task", rule=rule, got=shown(self.task))
        return TargetKind(self.task)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.no_validation = True  # cells are read one by one
        tags.non_deterministic = True
        tags.input_tags.categorical = tags.input_tags.string = tags.input_tags.allow_nan = True
        return tags


def _name_of(y: object, names: Sequence[str]) -> str:
    """Return the name of a pandas or polars series, unless it is a column of X too."""
    name = getattr(y, "name", None)
    return name if isinstance(name, str) and name and name not in names else LABELS
