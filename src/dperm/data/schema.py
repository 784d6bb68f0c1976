# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""A public schema: what is known of the columns and of the target of a table without looking at it, from a TOML file.

::

    [columns.age]
    low = 17
    high = 90
    impute = 40                            # stands for missing ages; without it they are refused

    [columns.work]
    categories = ["private", "public"]
    other = true                           # all other values share one feature; without it they are refused

    [target]
    name = "income"
    classes = ["<=50K", ">50K"]            # or range = [0, 5000] for a number

The order of the columns is that of the features.
"""

import difflib
import hashlib
import json
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dperm.checks import shown
from dperm.data.columns import AnyColumn, Categorical, Numeric
from dperm.data.encoder import PublicEncoder
from dperm.data.space import checked_pair
from dperm.errors import LeakError, ParameterError

VERSION = 1
PLACEHOLDER = "FILL IN"
"""What a draft has where the user must say something: a schema that still has it is refused."""
KEYS = {"low": Numeric, "high": Numeric, "categories": Categorical, "other": Categorical}
FROM_DATA = (
    "Without it, bounds would have to be taken from the data, and would show something about them before any noise is "
    "drawn. Put in what is known without the data"
)

FILL_IN = f'Remove the "# " before the lines that apply to the column, and replace each "{PLACEHOLDER}" in them.'


@dataclass(frozen=True)
class TargetSchema:
    """What is declared of the column to predict: its classes, or its range.

    Attributes
    ----------
    name
        The name of the column.
    classes
        The public labels, two or more, all text or all numbers; None for a number.
    range
        The public (low, high) of a number, to which it is clipped; None for classes.
    """

    name: str
    classes: tuple[Any, ...] | None = None
    range: tuple[float, float] | None = None

    def __post_init__(self) -> None:
        """Check; one of the two is declared."""
        if not isinstance(self.name, str) or not self.name:
            raise ParameterError(f'target.name must be the name of a column, such as "income", got {shown(self.name)}.')
        _require_filled("target", {"classes": self.classes, "range": self.range})
        if (self.classes is None) == (self.range is None):
            raise ParameterError("target must have classes = [...] for labels or range = [low, high] for a number.")
        if self.range is not None:
            object.__setattr__(self, "range", checked_pair("target.range", self.range))
        if self.classes is not None:
            object.__setattr__(self, "classes", _checked_classes(self.classes))

    def to_data(self) -> dict[str, object]:
        """As JSON-ready data."""
        kept = {"classes": self.classes, "range": self.range}
        return {"name": self.name, **{name: list(given) for name, given in kept.items() if given is not None}}


@dataclass(frozen=True)
class Schema:
    """The declared columns as an encoder, and the declared target, if there is one.

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

    def __post_init__(self) -> None:
        """Refuse a model that would learn the target from itself."""
        if self.target is not None and self.target.name in self.encoder.columns:
            name = shown(self.target.name)
            raise ParameterError(f"the target {name} is declared under columns too: it would be learnt from itself.")

    @classmethod
    def load(cls, path: Path) -> "Schema":
        """The schema in a TOML file; messages begin with its name."""
        try:
            return cls.from_toml(path.read_text(encoding="utf-8"))
        except UnicodeDecodeError:
            raise ParameterError(f"{path}: a schema is a TOML file in UTF-8.") from None
        except ParameterError as error:
            raise type(error)(f"{path}: {error}") from None

    @classmethod
    def from_toml(cls, text: str) -> "Schema":
        """The schema that the TOML ``text`` declares.

        Raises
        ------
        LeakError
            If nothing is declared of a column, or a draft was not filled in.
        ParameterError
            If it is not TOML, or declares what makes no sense.
        """
        try:
            data = tomllib.loads(text)
        except (tomllib.TOMLDecodeError, RecursionError) as error:
            raise ParameterError(f"this is not TOML: {error}.") from None
        _known("the schema", data, ("columns", "target"))
        try:
            return cls(PublicEncoder(_columns(data.get("columns"))), _target(data.get("target")))
        except LeakError as error:
            if PLACEHOLDER not in text:
                raise
            raise LeakError(f"this draft is not filled in: {error} {FILL_IN}") from None

    def to_json(self) -> str:
        """As one line of JSON, with a version: it is public, and is kept beside a model."""
        target = None if self.target is None else self.target.to_data()
        data = {"dperm_schema": VERSION, "encoder": json.loads(self.encoder.to_json()), "target": target}
        return json.dumps(data, allow_nan=False)

    @property
    def digest(self) -> str:
        """The digest of its JSON, by which a model names the schema that it was learnt through."""
        return text_digest(self.to_json())

    @classmethod
    def from_json(cls, text: str) -> "Schema":
        """The schema that ``to_json`` wrote."""
        data = json.loads(text)
        if not isinstance(data, dict) or data.get("dperm_schema") != VERSION or set(data) != _PARTS:
            raise ParameterError(f'text must be what Schema.to_json wrote, with "dperm_schema": {VERSION}.')
        return cls(PublicEncoder.from_json(json.dumps(data["encoder"])), _target(data["target"]))


_PARTS = {"dperm_schema", "encoder", "target"}


def text_digest(text: str) -> str:
    """SHA-256 of the JSON of a schema."""
    return f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"


def _columns(given: object) -> dict[str, AnyColumn]:
    tables = _table("columns", given)
    if not tables:
        raise LeakError(f"no column is declared, as in [columns.age] low = 17 high = 90. {FROM_DATA}.")
    return {name: _column(f"columns.{name}", table) for name, table in tables.items()}


def _column(where: str, given: object) -> AnyColumn:
    """What a table says of a column, by its keys: bounds, or categories."""
    table = _table(where, given)
    _known(where, table, (*KEYS, "impute"))
    _require_filled(where, table)
    kinds = {KEYS[name] for name in table if name in KEYS}
    if not kinds:
        raise LeakError(f"{where} declares neither low and high nor categories. {FROM_DATA}, or delete {where}.")
    if len(kinds) > 1:
        raise ParameterError(f"{where} must have low and high, or categories (and other), not both.")
    kind = kinds.pop()
    needed = [name for name in ("low", "high", "categories") if KEYS[name] is kind and name not in table]
    if needed:
        raise LeakError(f"{where}.{needed[0]} is missing. {FROM_DATA}.")
    column: AnyColumn = kind(**table)
    return column.checked(where)


def _target(given: object) -> TargetSchema | None:
    if given is None:
        return None
    table = _table("target", given)
    _known("target", table, ("name", "classes", "range"))
    _require_filled("target", table)
    if not {"classes", "range"} & set(table):
        raise LeakError(f"target declares neither classes nor a range. {FROM_DATA}.")
    return TargetSchema(table.get("name", ""), table.get("classes"), table.get("range"))


def _checked_classes(given: object) -> tuple[Any, ...]:
    labels = tuple(Categorical(given).checked("target").categories)  # type: ignore[arg-type]  # it checks
    if len(labels) < 2 or len({isinstance(label, str) for label in labels}) > 1:
        raise ParameterError('target.classes must be two labels or more of one kind, such as [0, 1] or ["no", "yes"].')
    return labels


def _require_filled(where: str, table: Mapping[str, object]) -> None:
    """Refuse what a draft left for the user to say."""
    for name, value in table.items():
        items = value if isinstance(value, list | tuple) else [value]
        if PLACEHOLDER in items:
            raise LeakError(f'{where}.{name} still says "{PLACEHOLDER}". {FROM_DATA}.')


def _table(where: str, given: object) -> dict[str, Any]:
    if not isinstance(given, dict | None):
        raise ParameterError(f"{where} must be a table, as in [{where}], got {shown(given)}.")
    return given or {}


def _known(where: str, table: Mapping[str, object], names: tuple[str, ...]) -> None:
    """Refuse keys that would be ignored: a misspelt bound is no bound."""
    for name in table:
        if name not in names:
            close = difflib.get_close_matches(name, names, n=1)
            hint = f" Did you mean {close[0]}?" if close else ""
            raise ParameterError(f"{where} has {shown(name)}, and may have {', '.join(names)} only.{hint}")
