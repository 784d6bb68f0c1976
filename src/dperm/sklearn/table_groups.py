# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Raw tables in row groups: records of a fit that are checked, counted, encoded and scored group by group (T70, T203).

The driver keeps budget, noise and solver. Everything in this module that is sent to the workers is a pure function of
records, with public or released constants. The key of secret coin flips is sent too; workers hold the records anyway.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from operator import add
from typing import Any

import numpy as np

from dperm.checks import shown
from dperm.data.bounded import BoundedData, enforce, too_many_rows
from dperm.data.canonical import CanonicalColumn, cell_labels
from dperm.data.columns import AnyColumn, Unseen
from dperm.data.encoder import PublicEncoder
from dperm.data.large_tables import Table, engine_facts_of
from dperm.data.passes import TablePasses, changed_group
from dperm.data.raw_passes import RAW, ChosenRows, Columns, GroupFacts, RawPasses, RecordReader
from dperm.data.row_encoder import RowEncoder, require_rows
from dperm.data.row_groups import RowGroup, listed_columns
from dperm.data.space import FeatureSpace
from dperm.engines.dask_tables import is_dask, row_groups_of
from dperm.errors import DataError, ParameterError
from dperm.evaluation import Metrics
from dperm.evaluation.plan import EvaluationPlan
from dperm.evaluation.records import PrivateScores, integer_sums
from dperm.noise.bits import Stream
from dperm.pipeline.holdout import RecordCoins
from dperm.preparation.plan import CountableColumns
from dperm.preparation.table_columns import BinCounter, GroupedColumns, SparseCounts, raw_columns_of
from dperm.sklearn.files import prefers_sparse
from dperm.sklearn.labels import PublicLabels
from dperm.sklearn.table_input import refuse_paths

LabelRule = Callable[[CanonicalColumn], None]
"""Picklable function that raises DataError for labels outside their declaration."""
Scorer = Callable[[Columns, CanonicalColumn], PrivateScores]
"""Picklable function that returns the labels and the predictions of some records."""


@dataclass(frozen=True)
class RawTable:
    """Raw table in row groups, with the column to predict.

    Attributes
    ----------
    table
        Table with its engine.
    features
        Names of the other columns.
    target
        Name of the column to predict; None without one.
    """

    table: Table
    features: tuple[str, ...]
    target: str | None


def raw_table(X: Any, y: Any, target: str | None = None) -> RawTable | None:
    """Return a raw table in row groups; None if X is in memory.

    Parameters
    ----------
    X
        Table of `dperm.data.table`, or a Dask frame or array.
    y
        Name of the column to predict or, for an object of Dask, a Dask series or array. None without one.
    target
        Name of the column to predict, in place of y.

    Raises
    ------
    ParameterError
        If y names no column of the table, or is not aligned with X.
    """
    refuse_paths(X)
    if not isinstance(X, Table) and not is_dask(X):
        if is_dask(y):
            raise ParameterError(
                argument="y", rule="must be in memory like X", remedy="Pass both as objects of Dask, or compute both."
            )
        return None
    name = y if isinstance(y, str) else target
    if isinstance(X, Table):
        if y is not None and not isinstance(y, str):
            got = f"an object of type {type(y).__name__}"
            raise ParameterError(
                argument="y",
                rule="must be the name of a column, where X is a table in row groups",
                got=got,
                remedy=listed_columns(X),
            )
        table = X
    else:
        table = _dask_table(X, None if isinstance(y, str) else y)
        name = table.columns[-1] if y is not None and not isinstance(y, str) else name
    if name is not None and name not in table.columns:
        raise DataError(f"the table must have a column named {shown(name)}.", remedy=listed_columns(table))
    features = tuple(column for column in table.columns if column != name)
    if not features:
        raise DataError("the table must have at least one feature column.")
    return RawTable(table, features, name)


def _dask_table(X: Any, y: Any) -> Table:
    """Return the partitions of Dask objects as a table; the labels have their own name, if no feature has it."""
    from dperm.engines import DaskEngine

    groups, engine = row_groups_of(X, y), DaskEngine()
    name = getattr(y, "name", None)
    if y is None or not hasattr(X, "columns") or not isinstance(name, str) or not name or name in groups.columns:
        return Table(groups.groups, groups.columns, engine, 0)
    blocks: Any = tuple(replace(group, label=name) for group in groups.groups)  # type: ignore[type-var]  # Dask blocks
    return Table(blocks, (*groups.columns[:-1], name), engine, 0)


@dataclass(frozen=True)
class CheckedRecords:
    """Function of records that checks their declared parts; with a counter, it also counts the bins of the profile.

    Attributes
    ----------
    encoder
        Encoder of the declared columns; None without any.
    unseen
        Treatment of values outside their declarations.
    target, rule
        Name of the labels, and the rule that they must satisfy; None for no rule.
    counter
        Counter of bins; None to count nothing.
    """

    encoder: PublicEncoder | None
    unseen: Unseen
    target: str | None = None
    rule: LabelRule | None = None
    counter: BinCounter | None = None

    def __call__(self, columns: Columns) -> SparseCounts | None:
        """Return the counts of bins.

        Raises
        ------
        DataError
            If a record breaks a declaration.
        """
        if self.encoder is not None:
            self.encoder.transform(columns, sparse=True, unseen=self.unseen)
        if self.rule is not None and self.target is not None:
            self.rule(columns[self.target])
        return None if self.counter is None else self.counter(columns)


def checked_columns(
    passes: RawPasses, check: CheckedRecords, *, counted: tuple[str, ...], others: tuple[str, ...] = ()
) -> GroupedColumns:
    """Check the declared parts of all records, and count the bins of some columns, in one pass over the table.

    Parameters
    ----------
    passes
        Passes over the table.
    check
        Check of the records, without a counter.
    counted
        Names of the columns to count.
    others
        Names of further columns to read in canonical form, such as the labels.

    Returns
    -------
    GroupedColumns
        Counted columns.

    Raises
    ------
    DataError
        If a record breaks a declaration, or there is no record.
    """
    declared = {} if check.encoder is None else check.encoder.columns
    reader = passes.reader({**raw_columns_of((*others, *counted)), **declared}, unseen=check.unseen)
    found = passes.run(replace(check, counter=BinCounter(counted) if counted else None), reader, add=add)
    if not passes.rows:
        raise DataError("the table must have at least one record.")
    return GroupedColumns.counted(passes, counted, found)


@dataclass(frozen=True)
class ReleasedReader:
    """Picklable reader of a row group: features encoded by a released schema, with labels.

    Attributes
    ----------
    encoder
        Released encoder.
    reader
        Reader of its columns and of the labels.
    target
        Name of the labels.
    classes
        Classes of the labels; None for numbers.
    digests
        Number of rows and checksum of each row group, from earlier passes; as secret as the rows.
    """

    encoder: PublicEncoder
    reader: RecordReader
    target: str
    classes: Any
    digests: Mapping[str, tuple[int, int]] = field(repr=False)

    def __call__(self, group: RowGroup) -> Iterator[tuple[Any, Any]]:
        """Yield pieces of the matrix with their labels.

        Raises
        ------
        DataError
            After the last piece, if the row group has changed.
        """
        facts = GroupFacts()
        for columns in self.reader.pieces(group, facts):
            features = self.encoder.transform(columns, sparse=prefers_sparse(self.encoder), unseen=self.reader.unseen)
            yield features, cell_labels(columns[self.target], self.classes)
        if facts.digest(self.reader.keys) != self.digests[group.id]:
            raise changed_group(group.id)


@dataclass(frozen=True)
class ScoreCounter:
    """Function of records: exact sums of an evaluation (T85, T88)."""

    plan: EvaluationPlan
    score: Scorer
    target: str

    def __call__(self, columns: Columns) -> Any:
        """Return the sums."""
        return integer_sums(self.plan, self.score(columns, columns[self.target]))


@dataclass
class GroupedRecords:
    """Private records of a fit in row groups, checked but not copied.

    Attributes
    ----------
    passes
        Passes over the table.
    columns
        Columns to prepare, of the training records; None if nothing is prepared.
    target
        Name of the labels.
    coins
        Coin flips that choose the evaluation records; None without any.
    unseen
        Treatment of values outside their declarations.
    """

    passes: RawPasses
    columns: CountableColumns | None
    target: str
    coins: RecordCoins | None
    unseen: Unseen
    unknown: tuple[str, ...] = ()
    scored: str = ""
    _encoded: TablePasses | None = field(default=None, repr=False)

    @property
    def is_evaluated(self) -> bool:
        """Whether there is an evaluation part, which may have no records."""
        return self.coins is not None

    @property
    def engine_facts(self) -> dict[str, str]:
        """Name and version of the engine, as public facts of a fit."""
        return engine_facts_of(self.passes.table)

    def bounded(self, encoder: PublicEncoder, space: FeatureSpace, labels: PublicLabels, most_rows: int) -> BoundedData:
        """Return the training records encoded by a released schema, in row groups (T200).

        Notes
        -----
        *Guarantees.* A row group is refused if it differs from the one whose counts gave the schema (T206).
        """
        chosen: ChosenRows | None = None if self.coins is None else self.coins.training
        reader = self.passes.reader({**encoder.columns, self.target: RAW}, unseen=self.unseen, chosen=chosen)
        read = ReleasedReader(encoder, reader, self.target, labels.classes, digests=self.passes.digests(reader.keys))
        row_encoder = RowEncoder(space, labels.target, read, encoder.feature_names)
        table = self.passes.table
        ids = tuple(group.id for group in table.groups)
        encoded = self._encoded = TablePasses(table.engine.hold(row_encoder, table.groups), ids)
        encoded.read_manifest()
        if not encoded.rows:
            return no_training_records(encoder, space, labels)
        return require_rows(BoundedData(space, labels.target, encoded), most_rows)

    def metrics(self, plan: EvaluationPlan, encoder: PublicEncoder, score: Scorer, stream: Stream) -> Metrics:
        """Return the private metrics of the evaluation records, counted in one pass."""
        assert self.coins is not None
        declared: dict[str, AnyColumn] = {**encoder.columns, self.target: RAW}
        if plan.groups is not None:
            declared.setdefault(plan.groups.column, RAW)
        reader = self.passes.reader(declared, unseen=self.unseen, chosen=self.coins.evaluation)
        found = self.passes.run(ScoreCounter(plan, score, self.target), reader, add=add)
        return plan.draw_from_sums(np.zeros(plan.cells, np.int64) if found is None else found, stream)

    def close(self) -> None:
        """Free the encoded rows, and all else that the engine holds."""
        if self._encoded is not None:
            self._encoded.close()
        self.passes.close()


def no_training_records(encoder: PublicEncoder, space: FeatureSpace, labels: PublicLabels) -> BoundedData:
    """Return one record of weight 0: it stands for no training records, without an error."""
    missing = {name: [None] for name in encoder.columns}
    features = encoder.transform(missing, sparse=prefers_sparse(encoder), unseen="other")
    return enforce(features, np.array([np.nan]), space, labels.target, invalid="drop")


def require_few_rows(rows: int, most: int) -> None:
    """Raise DataError if there are more rows than the public limit of a plan."""
    if rows > most:
        raise too_many_rows(most)


def counted_rows(passes: RawPasses, raw: RawTable) -> int:
    """Return the number of rows of a table, by one pass over one column; it is public under replace-one only."""
    passes.run(CheckedRecords(None, "other"), passes.reader({raw.features[0]: RAW}), add=add)
    return passes.rows


def refuse_table(X: object, action: str) -> None:
    """Raise ParameterError for a table in row groups, where only tables in memory are supported."""
    if isinstance(X, Table) or is_dask(X):
        raise ParameterError(
            argument="X",
            rule=f"must be in memory for {action}",
            got="a table in row groups",
            remedy="Call it piece by piece: read one file after the other with pandas or pyarrow, and pass its table.",
        )
