# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Public schema of a table: declarations of its columns and target, from a TOML file.

::

    [columns.age]
    low = 17
    high = 90
    impute = 40                            # used for missing ages; without it they are refused
    bins = [18, 65]                        # also one feature for each interval between these numbers
    missing = true                         # missing ages have a feature of their own

    [columns.work]
    categories = ["private", "public"]
    other = true                           # all other values share one feature; without it they are refused

    [target]
    name = "income"
    classes = ["<=50K", ">50K"]            # or range = [0, 5000] for a number

The columns have the order of the features. `AdditiveSchema` has further keys for additive models::

    interactions = [["age", "work"]]       # pairs of columns with a joint effect

    [columns.gain]
    low = 0
    high = 100000
    unit = 1000                            # scale linear below this number, and logarithmic above it
    special = [0, 99999]                   # values with an effect of their own
    detail = 0.6                           # share of the cells of a step function
    bins = 256                             # number of cells
    weight = 2                             # relative weight; also of a column with categories
"""

import difflib
import hashlib
import json
import os
import tomllib
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self, TypeVar

from dperm.checks import shown
from dperm.data.additive_encoder import AdditiveEncoder
from dperm.data.columns import AnyColumn, Categorical, Numeric, declared_fields
from dperm.data.encoder import PublicEncoder
from dperm.data.space import checked_pair
from dperm.data.toml_text import toml_key, toml_value
from dperm.errors import LeakError, ParameterError

_Read = TypeVar("_Read")
VERSION = 1
PLACEHOLDER = "FILL IN"
"""Text of a draft to be replaced by the user. A schema that still contains it is refused."""
KEYS = {
    "low": Numeric,
    "high": Numeric,
    "bins": Numeric,
    "unit": Numeric,
    "special": Numeric,
    "detail": Numeric,
    "period": Numeric,
    "categories": Categorical,
    "other": Categorical,
}
"""Keys that tell the kind of a column."""
SHARED_KEYS = ("impute", "missing", "canonical", "weight")
INTERACTIONS = "interactions"
"""Key of the pairs of columns with a joint effect in an additive model."""
FROM_DATA = (
    "Without it, bounds would have to be taken from the data, and would show something about them before any noise is "
    "drawn. Declare values known without the data"
)

FILL_IN = f'Remove the "# " before the lines that apply to the column, and replace each "{PLACEHOLDER}" in them.'


@dataclass(frozen=True)
class TargetSchema:
    """Declaration of the column to predict: its classes, or its range.

    Attributes
    ----------
    name
        Column name.
    classes
        Public labels, two or more, all text or all numbers; None for a number.
    range
        Public (low, high), to which a number is clipped; None for classes.

    Raises
    ------
    LeakError
        If a field still contains the placeholder of a draft.
    ParameterError
        If the name is not a text, or not exactly one of classes and range is declared.
    """

    name: str
    classes: tuple[Any, ...] | None = None
    range: tuple[float, float] | None = None

    def __post_init__(self) -> None:
        """Check that exactly one of classes and range is declared."""
        if not isinstance(self.name, str) or not self.name:
            rule = 'must be the name of a column, such as "income"'
            raise ParameterError(argument="target.name", rule=rule, got=shown(self.name))
        _require_filled("target", {"classes": self.classes, "range": self.range})
        if (self.classes is None) == (self.range is None):
            rule = "must have classes = [...] for labels or range = [low, high] for a number"
            raise ParameterError(argument="target", rule=rule)
        if self.range is not None:
            object.__setattr__(self, "range", checked_pair("target.range", self.range))
        if self.classes is not None:
            object.__setattr__(self, "classes", _checked_classes(self.classes))

    def to_data(self) -> dict[str, object]:
        """Return the declaration as JSON-serialisable data."""
        kept = {"classes": self.classes, "range": self.range}
        return {"name": self.name, **{name: list(given) for name, given in kept.items() if given is not None}}


class TableSchema(ABC):
    """Base class of schemas of tables: `Schema` and `AdditiveSchema`."""

    encoder: PublicEncoder | AdditiveEncoder
    target: TargetSchema | None

    def __post_init__(self) -> None:
        """Check that the target is not one of the declared columns too."""
        _require_apart(self.target, self.encoder.columns)

    @classmethod
    @abstractmethod
    def from_toml(cls, text: str) -> Self:
        """Return the schema declared by the TOML ``text``."""

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Return the schema in a TOML file.

        Raises
        ------
        LeakError, ParameterError
            As `from_toml` does; the message begins with the path.
        """
        return _loaded(Path(path), cls.from_toml)

    def to_json(self) -> str:
        """Return the schema, which is public, as one line of JSON with a format version."""
        return _schema_json(self.encoder.to_json(), self.target)

    @property
    def digest(self) -> str:
        """SHA-256 digest of the JSON, by which a model refers to its schema."""
        return text_digest(self.to_json())


@dataclass(frozen=True)
class Schema(TableSchema):
    """Declared columns as an encoder, and the declared target, if there is one.

    Attributes
    ----------
    encoder
        Encoder of the declared columns.
    target
        Declaration of the column to predict; None for prediction alone.

    Raises
    ------
    ParameterError
        If the target is also declared as a column.

    Examples
    --------
    >>> schema = Schema.from_toml(
    ...     '''
    ...     [columns.age]
    ...     low = 17
    ...     high = 90
    ...     [target]
    ...     name = "pay"
    ...     range = [0, 5000]
    ...     '''
    ... )
    >>> schema.encoder.feature_names
    ('age',)
    >>> schema.target
    TargetSchema(name='pay', classes=None, range=(0.0, 5000.0))
    >>> Schema.from_json(schema.to_json()) == schema
    True
    """

    encoder: PublicEncoder
    target: TargetSchema | None = None

    @classmethod
    def from_toml(cls, text: str) -> Self:
        """Return the schema declared by the TOML ``text``.

        Raises
        ------
        LeakError
            If a column has no declaration, or a draft was not filled in.
        ParameterError
            If the text is not TOML, or a declaration is invalid or for additive models only.
        """
        data = _toml(text)
        try:
            return cls(PublicEncoder(_linear_columns(data)), _target(data.get("target")))
        except LeakError as error:
            raise _of_draft(error, text) from None

    def to_toml(self) -> str:
        """Return the schema as the text of a TOML file, which `from_toml` reads back as an equal schema.

        Defaults are left out, and floats are exact. `from_toml` refuses a category that is the placeholder of drafts.

        Raises
        ------
        ParameterError
            If a name or a category cannot be encoded as UTF-8.
        """
        return _toml_tables(self.encoder.columns, self.target)

    @classmethod
    def from_json(cls, text: str) -> "Schema":
        """Return the schema stored by ``to_json``; raise ParameterError for any other JSON."""
        encoder, target = _schema_parts(text)
        return cls(PublicEncoder.from_json(encoder), target)


@dataclass(frozen=True)
class AdditiveSchema(TableSchema):
    """Declared columns and pairs of an additive model, and the declared target, if there is one.

    The TOML file has the keys of `Schema` and those for additive models.

    Attributes
    ----------
    encoder
        Encoder of the declared columns and pairs.
    target
        Declaration of the column to predict; None for prediction alone.

    Raises
    ------
    ParameterError
        If the target is also declared as a column.

    Examples
    --------
    >>> schema = AdditiveSchema.from_toml(
    ...     '''
    ...     [columns.gain]
    ...     low = 0
    ...     high = 100000
    ...     unit = 1000
    ...     special = [0]
    ...     '''
    ... )
    >>> schema.encoder.columns["gain"]
    Numeric(low=0.0, high=100000.0, impute=None, unit=1000.0, special=(0.0,))
    >>> AdditiveSchema.from_json(schema.to_json()) == schema
    True
    """

    encoder: AdditiveEncoder
    target: TargetSchema | None = None

    @classmethod
    def from_toml(cls, text: str) -> Self:
        """Return the schema declared by the TOML ``text``.

        Raises
        ------
        LeakError
            If a column has no declaration, or a draft was not filled in.
        ParameterError
            If the text is not TOML, or a declaration is invalid.
        """
        data = _toml(text)
        try:
            return cls(_additive_encoder(_columns(data.get("columns")), data), _target(data.get("target")))
        except LeakError as error:
            raise _of_draft(error, text) from None

    def to_toml(self) -> str:
        """Return the schema as the text of a TOML file, which `from_toml` reads back as an equal schema.

        Raises
        ------
        ParameterError
            If a name or a category cannot be encoded as UTF-8.
        """
        pairs = [list(pair) for pair in self.encoder.pairs]
        declared = f"{INTERACTIONS} = {toml_value(pairs)}\n\n" if pairs else ""
        return declared + _toml_tables(self.encoder.columns, self.target)

    @classmethod
    def from_json(cls, text: str) -> "AdditiveSchema":
        """Return the schema stored by ``to_json``; raise ParameterError for any other JSON."""
        encoder, target = _schema_parts(text)
        return cls(AdditiveEncoder.from_json(encoder), target)


AnySchema = Schema | AdditiveSchema


def load_schema(path: str | os.PathLike[str]) -> AnySchema:
    """Return the schema in a TOML file: an `AdditiveSchema` if it has keys for additive models, otherwise a `Schema`.

    Raises
    ------
    LeakError, ParameterError
        As `Schema.from_toml` does; the message begins with the path.
    """
    return _loaded(Path(path), lambda text: (AdditiveSchema if _is_additive(text) else Schema).from_toml(text))


def schema_from_json(text: str) -> AnySchema:
    """Return the schema stored by ``to_json`` of either class; raise ParameterError for any other JSON."""
    data = json.loads(text)
    encoder = data.get("encoder") if isinstance(data, dict) else None
    is_additive = isinstance(encoder, dict) and "dperm_additive_encoder" in encoder
    return AdditiveSchema.from_json(text) if is_additive else Schema.from_json(text)


@dataclass(frozen=True)
class PartialSchema:
    """Declarations of some columns of a table, and possibly of the target. A private preparation finds the others.

    Attributes
    ----------
    columns
        Declaration of each declared column, by name; may be empty.
    target
        Declaration of the column to predict; None if it is not declared.
    """

    columns: Mapping[str, AnyColumn]
    target: TargetSchema | None = None

    @classmethod
    def load(cls, path: Path) -> "PartialSchema":
        """Return the declarations in a TOML file.

        Raises
        ------
        LeakError
            If a draft was not filled in, or a table in it declares nothing.
        ParameterError
            If the text is not TOML, a declaration is invalid, or nothing is declared.
        """
        return _loaded(path, cls.from_toml)

    @classmethod
    def from_toml(cls, text: str) -> "PartialSchema":
        """Return the declarations in the TOML ``text``, with the errors of `load`."""
        data = _toml(text)
        try:
            columns = _linear_columns(data) if data.get("columns") else {}
            found = cls(PublicEncoder(columns).columns if columns else {}, _target(data.get("target")))
        except LeakError as error:
            remedy = "Declare it, or delete it, so that it is prepared privately."
            raise LeakError(error.problem, remedy=f"{error.remedy} {remedy}") from None
        if not columns and found.target is None:
            raise ParameterError("the schema declares nothing.", remedy="Declare columns or the target, or omit it.")
        if found.target is not None and columns:
            Schema(PublicEncoder(columns), found.target)  # raises if the target is a column too
        return found

    @property
    def digest(self) -> str:
        """SHA-256 digest of the declarations."""
        target = None if self.target is None else self.target.to_data()
        columns = PublicEncoder(self.columns).to_json() if self.columns else None
        return text_digest(json.dumps({"encoder": columns, "target": target}, allow_nan=False))


_PARTS = {"dperm_schema", "encoder", "target"}


def _loaded(path: Path, read: Callable[[str], _Read]) -> _Read:
    """Return the content of a schema file; the message of an error begins with the path."""
    try:
        return read(path.read_text(encoding="utf-8"))
    except UnicodeDecodeError:
        raise ParameterError(f"{path}: a schema is a TOML file in UTF-8.") from None
    except ParameterError as error:
        raise type(error)(f"{path}: {error}") from None


def _toml(text: str) -> dict[str, Any]:
    """Return the tables of a schema file, with unchecked values."""
    try:
        data = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise ParameterError(f"this is not TOML: {error}.") from None
    _known("the schema", data, ("columns", "target", INTERACTIONS))
    return data


def _is_additive(text: str) -> bool:
    """Whether a schema file has keys for additive models; its declarations are checked when they are read."""
    data = _toml(text)
    return INTERACTIONS in data or bool(_additive_keys(_columns(data.get("columns"))))


def _additive_keys(columns: Mapping[str, AnyColumn]) -> list[str]:
    return [f"columns.{name}.{key}" for name, column in columns.items() for key in column.additive_fields]


def _linear_columns(data: Mapping[str, Any]) -> dict[str, AnyColumn]:
    """Return the declarations of the columns of a linear model.

    Raises
    ------
    ParameterError
        If a key applies to additive models only.
    """
    columns = _columns(data.get("columns"))
    named = [*([INTERACTIONS] if INTERACTIONS in data else []), *_additive_keys(columns)]
    if named:
        problem = f"{named[0]} applies to additive models only."
        raise ParameterError(problem, remedy="Fit one with dperm fit --model additive, or remove this key.")
    return columns


def _additive_encoder(columns: Mapping[str, AnyColumn], data: Mapping[str, Any]) -> AdditiveEncoder:
    """Return the encoder of the declared columns and pairs, with errors in the words of the file."""
    pairs = data.get(INTERACTIONS, [])
    try:
        return AdditiveEncoder(columns, tuple(pairs) if isinstance(pairs, list) else pairs)
    except ParameterError as error:
        if not error.argument.startswith("pairs"):
            raise
        renamed = INTERACTIONS + error.argument.removeprefix("pairs")
        remedy = f'Give pairs of declared columns, such as {INTERACTIONS} = [["hour", "workingday"]].'
        raise ParameterError(argument=renamed, rule=error.rule, got=error.got, remedy=remedy) from None


def _of_draft(error: LeakError, text: str) -> LeakError:
    """Return the error with the remedy for a draft, if the text still is one."""
    if PLACEHOLDER not in text:
        return error
    return LeakError(f"this draft is not filled in: {error}", remedy=FILL_IN)


def _require_apart(target: TargetSchema | None, columns: Mapping[str, AnyColumn]) -> None:
    """Raise ParameterError if the target is declared as a column too."""
    if target is not None and target.name in columns:
        name = shown(target.name)
        problem = f"the target {name} is declared under columns too, so it would be predicted from itself."
        raise ParameterError(problem, remedy="Remove it from the columns.")


def _schema_json(encoder: str, target: TargetSchema | None) -> str:
    found = None if target is None else target.to_data()
    return json.dumps({"dperm_schema": VERSION, "encoder": json.loads(encoder), "target": found}, allow_nan=False)


def _schema_parts(text: str) -> tuple[str, TargetSchema | None]:
    """Return the JSON of the encoder, and the target, of a schema in JSON."""
    data = json.loads(text)
    if not isinstance(data, dict) or data.get("dperm_schema") != VERSION or set(data) != _PARTS:
        rule = f'must be JSON written by Schema.to_json, with "dperm_schema": {VERSION}'
        raise ParameterError(argument="text", rule=rule)
    return json.dumps(data["encoder"]), _target(data["target"])


def text_digest(text: str) -> str:
    """Return the SHA-256 digest of the JSON of a schema."""
    return f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"


def _toml_fields(column: AnyColumn) -> dict[str, object]:
    """Return the fields of a declaration that a schema file has: TOML has no null, and false is the default."""
    return {name: value for name, value in declared_fields(column).items() if value is not None and value is not False}


def _toml_tables(columns: Mapping[str, AnyColumn], target: TargetSchema | None) -> str:
    tables = {f"columns.{toml_key(name)}": _toml_fields(column) for name, column in columns.items()}
    if target is not None:
        tables["target"] = target.to_data()
    return "\n".join(_toml_table(head, given) for head, given in tables.items())


def _toml_table(head: str, given: Mapping[str, object]) -> str:
    return "".join([f"[{head}]\n", *(f"{name} = {toml_value(value)}\n" for name, value in given.items())])


def _columns(given: object) -> dict[str, AnyColumn]:
    tables = _table("columns", given)
    if not tables:
        problem = "no column is declared, as in [columns.age] low = 17 high = 90."
        raise LeakError(problem, remedy=f"{FROM_DATA}.")
    return {name: _column(f"columns.{name}", table) for name, table in tables.items()}


def _column(where: str, given: object) -> AnyColumn:
    """Return the declaration of a column, whose keys tell its kind: bounds, or categories."""
    table = _table(where, given)
    _known(where, table, (*KEYS, *SHARED_KEYS))
    _require_filled(where, table)
    kinds = {KEYS[name] for name in table if name in KEYS}
    if not kinds:
        problem = f"{where} declares neither low and high nor categories."
        raise LeakError(problem, remedy=f"{FROM_DATA}, or delete {where}.")
    if len(kinds) > 1:
        raise ParameterError(
            argument=where, rule="must have low and high (and bins), or categories (and other), not both"
        )
    kind = kinds.pop()
    needed = [name for name in ("low", "high", "categories") if KEYS[name] is kind and name not in table]
    if needed:
        raise LeakError(f"{where}.{needed[0]} is missing.", remedy=f"{FROM_DATA}.")
    column: AnyColumn = kind(**table)
    return column.checked(where)


def _target(given: object) -> TargetSchema | None:
    if given is None:
        return None
    table = _table("target", given)
    _known("target", table, ("name", "classes", "range"))
    _require_filled("target", table)
    if not {"classes", "range"} & set(table):
        raise LeakError("target declares neither classes nor a range.", remedy=f"{FROM_DATA}.")
    return TargetSchema(table.get("name", ""), table.get("classes"), table.get("range"))


def _checked_classes(given: object) -> tuple[Any, ...]:
    labels = tuple(Categorical(given).checked("target").categories)  # type: ignore[arg-type]  # it checks
    if len(labels) < 2 or len({isinstance(label, str) for label in labels}) > 1:
        rule = 'must be two labels or more of one kind, such as [0, 1] or ["no", "yes"]'
        raise ParameterError(argument="target.classes", rule=rule)
    return labels


def _require_filled(where: str, table: Mapping[str, object]) -> None:
    """Raise LeakError for values that still contain the placeholder of a draft."""
    for name, value in table.items():
        items = value if isinstance(value, list | tuple) else [value]
        if PLACEHOLDER in items:
            raise LeakError(f'{where}.{name} still says "{PLACEHOLDER}".', remedy=f"{FROM_DATA}.")


def _table(where: str, given: object) -> dict[str, Any]:
    if not isinstance(given, dict | None):
        raise ParameterError(argument=where, rule=f"must be a table, as in [{where}]", got=shown(given))
    return given or {}


def _known(where: str, table: Mapping[str, object], names: tuple[str, ...]) -> None:
    """Raise ParameterError for unknown keys. If misspelt bounds were ignored, there would be no bound."""
    for name in table:
        if name not in names:
            close = difflib.get_close_matches(name, names, n=1)
            hint = f"Did you mean {close[0]}?" if close else ""
            problem = f"{where} has {shown(name)}, and may have {', '.join(names)} only."
            raise ParameterError(problem, remedy=hint)
