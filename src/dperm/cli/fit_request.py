# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Model and guarantee of a fit, from the options and a schema; all of it is public."""

import math
import warnings
from abc import ABC, abstractmethod
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from dperm.cli.model_options import ESTIMATORS
from dperm.cli.running import first_read, progress_bar, spinner
from dperm.cli.table_reading import TableReading, opened_table
from dperm.errors import AssumptionError, DataError, LeakError, ModelFormatError, ParameterError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dperm.accounting.budget import Budget
    from dperm.cli.charging import Account, ContentCheck
    from dperm.data import Table
    from dperm.data.columns import Unseen
    from dperm.data.encoded import EncodingFacts
    from dperm.data.encoded_table import EncodedTable
    from dperm.data.schema import AdditiveSchema, AnySchema, Schema, TargetSchema

    _Schema = TypeVar("_Schema", Schema, AdditiveSchema)
    from dperm.methods.plan import Plan

IN_MEMORY = ("bolt_on", "posterior")
"""Methods that need all rows in memory (`dperm.methods.plan.Plan.rows_in_memory`)."""
STAND_IN = 10_000
"""Number of records with which options are checked before the data are read."""


@dataclass(frozen=True, kw_only=True)
class ModelFitRequest(ABC):
    """A fit with a complete schema: schema, guarantee and model. Subclasses choose the estimator and read the data.

    Attributes
    ----------
    seed
        Makes the fit reproducible and NOT PRIVATE; None for noise from the operating system.
    invalid
        Treatment of invalid labels, undeclared categories and missing values, "raise" or "drop", as in the estimators.
    separator
        Separator of the cells of a CSV file, by its name.
    """

    noun: ClassVar[str] = "model"
    output: ClassVar[str] = "--out"
    schema: "AnySchema"
    epsilon: float
    delta: float
    adjacency: str
    method: str
    C: float | None
    clip: float | None
    n: int | None
    seed: int | None = None
    invalid: str = "raise"
    separator: str = ","

    @property
    def unseen(self) -> "Unseen":
        """Treatment of undeclared categories and missing values, as in models of raw tables."""
        return "other" if self.invalid == "drop" else "raise"

    @property
    def target(self) -> "TargetSchema":
        """The declared target; LeakError if the schema has none."""
        if self.schema.target is None:
            raise _undeclared_target()
        return self.schema.target

    @cached_property
    def model(self) -> Any:
        """The unfitted estimator, always the same object: the fit runs its plan, checked before."""
        return self._new_model()

    @abstractmethod
    def _new_model(self) -> Any:
        """Return a new unfitted estimator."""

    @abstractmethod
    def run(self, files: tuple[Path, ...], budget: "Budget | None", content: "ContentCheck") -> "FittedModel":
        """Read the data, charge the budget, and return the fitted model."""

    def plan(self) -> "Plan | None":
        """Return the plan of the fit; None if it needs the number of records, which is not known yet.

        In that case the options are checked with a stand-in for the number, so that errors are found before the data
        are read.
        """
        if self.is_planned:
            found: Plan = self.model._plan_ahead(self.n, self.features)
            return found
        finite = 1.0 if self.epsilon == math.inf else self.epsilon
        with warnings.catch_warnings(action="ignore"), suppress(AssumptionError):  # may hold for the true number
            self._new_model().set_params(n=STAND_IN, epsilon=finite)._plan_ahead(STAND_IN, self.features)
        return None

    @property
    def options(self) -> dict[str, object]:
        """Options by name, to which a request id is bound."""
        later: dict[str, object] = {}  # only if given: commands of earlier versions have no such options
        if self.invalid != "raise":
            later["invalid"] = self.invalid
        if self.separator != ",":
            later["separator"] = self.separator
        return {
            "schema": self.schema.digest,
            "target": self.target.name,
            "epsilon": self.epsilon,
            "delta": self.delta,
            "adjacency": self.adjacency,
            "estimator": type(self.model).__name__,
            "method": self.method,
            "C": self.C,
            "clip": self.clip,
            "n": self.n,
            "quantile": self._quantile,
            "seed": self.seed,
            **later,
        }

    @property
    def _quantile(self) -> float | None:
        """Quantile of the estimator; None for estimators without one."""
        return None

    @property
    def largest_size(self) -> int:
        """Upper bound on the size of the model file in bytes."""
        from dperm.sklearn.files import largest_size

        return largest_size(self.schema)

    def stored_entry(self, path: Path) -> tuple[object, object]:
        """Return request id and digest of the ledger entry in a model file; None without one."""
        return model_entry(path)

    @property
    def features(self) -> int:
        """Number of features after encoding."""
        return len(self.schema.encoder.feature_names)

    @property
    def is_planned(self) -> bool:
        """Whether the plan needs no data; False for an infinite epsilon."""
        return math.isfinite(self.epsilon) and (self.n is not None or self.adjacency == "add_remove")


@dataclass(frozen=True, kw_only=True)
class FitRequest(ModelFitRequest):
    """A fit of a linear model.

    Attributes
    ----------
    estimator, quantile
        Options of the same names; None where they are left out.
    schema_release
        Facts of the release of a privately found schema; None for a schema of declarations.
    reading
        Engine and memory. A request id is not bound to them, because results do not depend on them.
    """

    schema: "Schema"
    estimator: str | None
    quantile: float | None
    schema_release: "Mapping[str, object] | None" = None
    reading: TableReading = field(default_factory=TableReading)

    @property
    def _quantile(self) -> float | None:
        return self.quantile

    @property
    def largest_size(self) -> int:
        """Upper bound on the size of the model file in bytes."""
        named = 0 if self.schema_release is None else 4 * len(self.schema.to_json())  # among the public facts
        return super().largest_size + named

    def _new_model(self) -> Any:
        kind = estimator_class(self.estimator, self.target, quantile=self.quantile)
        given = {
            "epsilon": self.epsilon,
            "delta": self.delta,
            "adjacency": self.adjacency,
            "method": self.method,
            "feature_norm": self.schema.encoder.norm,
            "C": self.C,
            "clip": self.clip,
            "n": self.n,
            "invalid": self.invalid,
            "random_state": self.seed,
        }
        if self.quantile is not None:
            given["quantile"] = self.quantile
        labels = {"label_range": self.target.range} if self.target.classes is None else {"classes": self.target.classes}
        return kind(**given, **labels)

    def run(self, files: tuple[Path, ...], budget: "Budget | None", content: "ContentCheck") -> "FittedModel":
        """Read the data, charge the budget, and return the fitted model."""
        estimator = self.model.set_params(ledger=budget)
        if self._is_read_at_once(files):
            features, labels = self.read(files[0], content)
            with spinner("Learning ..."):
                return FittedModel(estimator.fit(features, labels), self.schema)
        named = files[0].name if len(files) == 1 else f"{len(files)} files"
        with first_read(f"Reading {named}", "Learning ...") as progress:
            wanted = (*self.schema.encoder.columns, self.target.name)
            table = opened_table(files, wanted, separator=self.separator, reading=self.reading, progress=progress)
            content.compare_files()
            try:
                estimator.fit(self._encoded(table), self.target.name)
            except DataError as error:
                raise _as_of_files(error, files) from None
            return FittedModel(estimator, self.schema)

    def _is_read_at_once(self, files: tuple[Path, ...]) -> bool:
        """Whether the table is held in memory as a whole: for methods that need it, and for a pipe."""
        is_pipe = len(files) == 1 and files[0].is_fifo() and self.reading == TableReading()
        return self.method in IN_MEMORY or is_pipe

    def _encoded(self, table: "Table") -> "EncodedTable":
        """Return the features of a table in row groups, encoded by the schema when they are read."""
        from dperm.data.encoded_table import EncodedTable
        from dperm.sklearn.files import prefers_sparse

        encoder, sparse = self.schema.encoder, prefers_sparse(self.schema.encoder)
        facts = self._facts(sparse=sparse)
        return EncodedTable(table, encoder, target=self.target, sparse=sparse, unseen=self.unseen, facts=facts)

    def _facts(self, *, sparse: bool) -> "EncodingFacts | None":
        """Return the facts of a privately found schema; None for a schema of declarations."""
        from dperm.data.encoded import EncodingFacts

        if self.schema_release is None:
            return None
        return EncodingFacts(self.schema.encoder, sparse=sparse, release=dict(self.schema_release))

    def read(self, data: Path, content: "ContentCheck") -> tuple[Any, Any]:
        """Return features and labels of a file in memory, encoded by the schema."""
        import numpy as np

        from dperm.cli.encoding import features_of
        from dperm.data.encoded import encoded
        from dperm.data.files import read_table

        target = self.target
        with progress_bar(f"Reading {data.name}") as progress, content.reading(once=True) as watch:
            columns = {**self.schema.encoder.columns, target.name: target}
            table = read_table(data, columns, progress, watch, unseen=self.unseen, separator=self.separator)
        labels = table.pop(target.name)
        with spinner("Encoding ..."):
            features = features_of(self.schema.encoder, table, unseen=self.unseen)
        facts = self._facts(sparse=not isinstance(features, np.ndarray))
        return features if facts is None else encoded(features, facts), labels


@dataclass(frozen=True)
class FittedModel:
    """Fitted model with its schema, as ``dperm fit`` stores it.

    Attributes
    ----------
    estimator
        Fitted linear model of encoded tables, or additive model.
    schema
        Its schema.
    table
        Fitted `PrivateTableClassifier`, `PrivateTableRegressor` or `PrivatePipeline`, if the release has stages.
    """

    estimator: Any
    schema: "AnySchema"
    table: Any = None

    @property
    def failure(self) -> None:
        """Error that ended the fit after a release; a fitted model has none."""

    def save(self, path: Path, *, overwrite: bool, allocated: Path | None = None) -> None:
        """Write the model to a file."""
        from dperm.sklearn.files import save

        save(self.estimator, path, schema=self.schema, overwrite=overwrite, allocated=allocated)

    def show(self, out: Path, account: "Account | None", *, as_json: bool) -> None:
        """Print the facts of the fit."""
        from dperm.cli.fit_report import print_fitted

        print_fitted(self, out, account, as_json=as_json)


def estimator_class(name: str | None, target: "TargetSchema", *, quantile: float | None) -> Any:
    """Return the class of --estimator; by default logistic for a target with classes, linear for one with a range.

    Raises
    ------
    ParameterError
        If the name is unknown or does not fit the target, or --quantile belongs to another estimator.
    """
    from dperm import sklearn

    classifiers = {"logistic": sklearn.PrivateLogisticRegression, "svc": sklearn.PrivateLinearSVC}
    regressors = {
        "linear": sklearn.PrivateLinearRegression,
        "huber": sklearn.PrivateHuberRegressor,
        "quantile": sklearn.PrivateQuantileRegressor,
    }
    labelled = target.classes is not None
    chosen = name or ("logistic" if labelled else "linear")
    if chosen not in classifiers | regressors:
        raise ParameterError(f"--estimator must be one of {ESTIMATORS.replace('|', ', ')}, got {chosen!r}.")
    if (chosen in classifiers) is not labelled:
        found, needed = ("classes", "a range") if labelled else ("a range", "classes")
        raise ParameterError(
            f"--estimator {chosen} needs a target with {needed}, and the schema declares {found} for "
            f"{target.name!r}. Change one of the two."
        )
    if quantile is not None and chosen != "quantile":
        raise ParameterError("--quantile belongs to --estimator quantile.")
    return (classifiers | regressors)[chosen]


def model_entry(path: Path) -> tuple[object, object]:
    """Return the request id and the digest in the ledger entry of a model file; None without one."""
    from dperm.sklearn.files import stored_record

    try:
        record = stored_record(path)
    except (ModelFormatError, OSError):
        return None, None
    entry = {} if record is None else record.ledger
    return entry.get("request_id"), entry.get("digest")


def read_schema(path: Path | None, target: str | None, data: Path | None) -> "Schema":
    """Return the schema in a file, if it declares the target ``target`` (any target if None).

    Raises
    ------
    LeakError
        If the schema or its target is missing. A note shows the command for a draft.
    ParameterError
        If the schema declares another target.
    """
    from dperm.data.schema import Schema

    return _read_schema(Schema, path, target, data)


def read_additive_schema(path: Path | None, target: str | None, data: Path | None) -> "AdditiveSchema":
    """Return the schema of an additive model, with the errors of `read_schema`."""
    from dperm.data.schema import AdditiveSchema

    return _read_schema(AdditiveSchema, path, target, data)


def _read_schema(kind: "type[_Schema]", path: Path | None, target: str | None, data: Path | None) -> "_Schema":
    from dperm.data.schema import PLACEHOLDER

    try:
        if path is None:
            raise LeakError(
                "--schema is missing: bounds, categories and classes would have to be taken from the data, which would "
                "release something about them without noise."
            )
        schema = kind.load(path)
        if schema.target is None:
            raise _undeclared_target()
    except LeakError as error:
        if path is None:
            error.add_note(_draft_command(data, target, "schema.toml"))
        elif PLACEHOLDER not in path.read_text(encoding="utf-8"):  # a draft needs no other one
            error.add_note(_draft_command(data, target, f"{path.stem}-draft.toml"))
        raise
    if target is not None and target != schema.target.name:
        raise ParameterError(
            f"--target is {target!r}, but {path} declares the target {schema.target.name!r}. Change one of the two."
        )
    return schema


def checked_privacy(epsilon: float | None, seed: int | None, *, not_private: bool, noun: str = "model") -> float:
    """Return epsilon; a request without a guarantee is refused unless ``not_private`` allows it."""
    if epsilon is None:
        raise ParameterError("--epsilon is missing: the privacy-loss bound, such as --epsilon 1.")
    without = "--epsilon inf adds no noise" if epsilon == math.inf else "" if seed is None else "--seed fixes the noise"
    if without and not not_private:
        raise LeakError(
            f"{without}: the {noun} would not be private, and there would be no guarantee. Leave it out, or add "
            f"--not-private if the data may be disclosed."
        )
    return epsilon


def _as_of_files(error: DataError, files: tuple[Path, ...]) -> DataError:
    """Return an error about a table in row groups with the files of the command, and with the remedies of a schema."""
    from dperm.cli.encoding import SCHEMA_FILE
    from dperm.data.row_encoder import NO_ROWS

    if error.code == NO_ROWS:
        has = f"{files[0]} must hold at least one record: it has" if len(files) == 1 else "all files have"
        return DataError(f"{has} a header and no record.")
    if error.code in SCHEMA_FILE:
        return type(error)(error.problem, remedy=SCHEMA_FILE[error.code], code=error.code)
    return error


def _undeclared_target() -> LeakError:
    return LeakError(
        'the schema declares no target, as in [target] name = "income" classes = ["<=50K", ">50K"]: its classes or its '
        "range would have to be taken from the data, which would release something about them without noise."
    )


def _draft_command(data: Path | None, target: str | None, out: str) -> str:
    """Return the command for a draft of the schema; ``out`` must not be a file of the user."""
    from shlex import quote

    chosen = f" --target {quote(target)}" if target else ""
    return (
        "To draft a schema from the names of the columns alone:\n"
        f"  dperm schema draft {quote(str(data or 'data.csv'))}{chosen} -o {quote(out)}"
    )
