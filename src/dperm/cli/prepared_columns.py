# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Columns of a file for a private preparation: public names from its header, and the declared ones among them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dperm.checks import shown
from dperm.cli.running import progress_bar
from dperm.errors import ParameterError

if TYPE_CHECKING:
    from dperm.cli.charging import ContentCheck
    from dperm.data.columns import AnyColumn, Unseen
    from dperm.data.schema import PartialSchema, TargetSchema

SIZE = 2**14
"""Bytes reserved for each prepared column in a file: most columns need far less."""


@dataclass(frozen=True, kw_only=True)
class PreparedColumns:
    """Public names of the columns of a file.

    Attributes
    ----------
    features
        Names of all feature columns, declared and prepared, in the order of the file.
    target
        Name of the column to predict; None for a preparation of the features alone.
    schema
        Declarations; None if nothing is declared.
    separator
        Separator of the cells of a CSV file.
    """

    features: tuple[str, ...]
    target: str | None
    schema: "PartialSchema | None"
    separator: str = ","

    @property
    def declared(self) -> "Mapping[str, AnyColumn]":
        """Declarations of feature columns, by name."""
        return {} if self.schema is None else self.schema.columns

    @property
    def declared_target(self) -> "TargetSchema | None":
        """Declaration of the target."""
        return None if self.schema is None else self.schema.target

    @property
    def prepared(self) -> tuple[str, ...]:
        """Names of the columns to prepare, the target last."""
        names = tuple(name for name in self.features if name not in self.declared)
        return names if self.target is None or self.declared_target is not None else (*names, self.target)

    @property
    def largest_size(self) -> int:
        """Bytes to reserve for the result, from public numbers.

        The number of categories is private before the release. A larger result is written as far as the disk allows.
        """
        from dperm.data.encoder import PublicEncoder
        from dperm.data.schema import Schema
        from dperm.sklearn.files import HEADER_ALLOWANCE, largest_size

        declared = largest_size(Schema(PublicEncoder(self.declared))) if self.declared else HEADER_ALLOWANCE
        return declared + sum(SIZE + 16 * len(name.encode()) for name in self.prepared)

    def read(self, path: Path, content: "ContentCheck", unseen: "Unseen" = "raise") -> dict[str, Any]:
        """Return the columns of the file: prepared ones in canonical form, declared ones by their declarations.

        Raises
        ------
        DataError
            If the file or a declared column is invalid. No cell of a prepared column causes an error.
        """
        from dperm.data.files import read_table

        declared: dict[str, Any] = dict(self.declared)
        if self.declared_target is not None:
            declared[self.declared_target.name] = self.declared_target
        table = self.read_prepared(path, content, once=not declared) if self.prepared else {}
        if declared:
            with progress_bar(f"Reading {path.name}") as progress, content.reading(once=not table) as watch:
                table |= read_table(path, declared, progress, watch, unseen=unseen, separator=self.separator)
        return table

    def read_prepared(self, path: Path, content: "ContentCheck", *, once: bool = True) -> dict[str, Any]:
        """Return the columns to prepare in canonical form; ``once`` if the file is not read again.

        Raises
        ------
        DataError
            If the file is not in a valid format.
        """
        from dperm.data.files import read_raw_table

        with progress_bar(f"Reading {path.name}") as progress, content.reading(once=once) as watch:
            return read_raw_table(path, self.prepared, progress, watch, separator=self.separator)


def prepared_columns(
    path: Path,
    *,
    target: str | None,
    schema: Path | None,
    exclude: Sequence[str],
    predicts: bool,
    separator: str = ",",
) -> PreparedColumns:
    """Return the columns of a file, read from its header alone.

    Parameters
    ----------
    path
        File.
    target
        Column to predict.
    schema
        Schema file with declarations of some columns or of the target.
    exclude
        Columns to leave out.
    predicts
        Whether a target is required.
    separator
        Separator of the cells of a CSV file.

    Raises
    ------
    DataError
        If the file lacks a column that is declared, excluded, or to be predicted.
    ParameterError
        If the options contradict each other, or nothing is left to prepare.
    """
    from dperm.cli.schema_fit import schema_release
    from dperm.data.files import require_columns, separator_name, table_file
    from dperm.data.schema import PartialSchema

    declared = None if schema is None else PartialSchema.load(schema)
    if schema is not None and schema_release(schema) is not None:
        raise ParameterError(
            f"the schema in {schema} is a private release of its own, and its columns are not public declarations: the "
            "guarantee of --prepare would not cover it. Use it without --prepare, or declare columns in another file."
        )
    name = _target(target, schema, declared, required=predicts)
    wanted = [*([] if name is None else [name]), *([] if declared is None else declared.columns), *exclude]
    names = list(table_file(path, separator=separator).types())
    require_columns(path, names, dict.fromkeys(wanted))
    if not wanted:
        _require_header(path, names)
    for left_out in exclude:
        if left_out == name or (declared is not None and left_out in declared.columns):
            use = "to be predicted" if left_out == name else "declared in the schema"
            raise ParameterError(f"--exclude {shown(left_out)}: the column is {use}. Change one of the two.")
    features = tuple(column for column in names if column != name and column not in exclude)
    found = PreparedColumns(features=features, target=name, schema=declared, separator=separator_name(separator))
    if not features:
        raise ParameterError(f"{path} has no feature column: --target and --exclude leave none.")
    if not found.prepared:
        raise ParameterError(
            f"there is nothing to prepare: {schema} declares every column of {path}. A declared column costs nothing. "
            "Use dperm fit with this --schema and without --prepare; --holdout works there too."
        )
    return found


def _target(target: str | None, path: Path | None, schema: "PartialSchema | None", *, required: bool) -> str | None:
    """Return the name of the target, from the option or the declaration."""
    known = None if schema is None or schema.target is None else schema.target.name
    if target is not None and known is not None and target != known:
        raise ParameterError(
            f"--target is {target!r}, but {path} declares the target {known!r}. Change one of the two."
        )
    name = known if target is None else target
    if name is None and required:
        raise ParameterError("--target is missing: the column to predict, such as --target income.")
    if schema is not None and name in schema.columns:
        raise ParameterError(
            f"--target {shown(name)} is declared as a feature in {path}, so it would be predicted from itself. Remove "
            "it from the columns."
        )
    return name


def _require_header(path: Path, names: Sequence[str]) -> None:
    """Refuse names that are numbers: without a header, the first record would become the public names."""
    for name in names:
        try:
            float(name)
        except ValueError:
            continue
        raise ParameterError(
            f"{path} must begin with a line of column names, and one of them is a number. Names are public, and are "
            "stored with the result. If it is a header, confirm it with --target or --exclude and the name of a column."
        )
