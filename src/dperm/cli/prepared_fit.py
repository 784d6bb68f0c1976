# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Request of ``dperm fit --prepare``: a private schema and a model in one release."""

import math
import warnings
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from dperm.cli.declared_groups import groups_text
from dperm.cli.fit_request import STAND_IN, FittedModel, model_entry
from dperm.cli.running import spinner
from dperm.errors import AssumptionError, ParameterError
from dperm.presentation.spelling import arg

if TYPE_CHECKING:
    from dperm.accounting.budget import Budget
    from dperm.cli.charging import ContentCheck
    from dperm.cli.prepared_columns import PreparedColumns
    from dperm.cli.schema_fit import FittedSchema
    from dperm.pipeline import TablePlan

TASKS = ("classification", "regression")


@dataclass(frozen=True, kw_only=True)
class PreparedFitRequest:
    """A fit to a table whose schema is found privately.

    Attributes
    ----------
    columns
        Public names of the columns, with the declared ones.
    task
        "classification" or "regression".
    most_classes
        Upper limit on the number of classes; it must be public. None for 2, or for the number of declared classes.
    seed
        Makes the fit reproducible and NOT PRIVATE; None for noise from the operating system.
    invalid
        Treatment of cells that the declarations do not allow, "raise" or "drop"; numbers outside their bounds are
        clipped in both cases.
    holdout
        Probability with which a record is held out for private metrics; 0 for none.
    groups
        Public groups of one column, with metrics of their own; None for none.
    allow_few_records
        Whether to fit if a public number of records is too small for the preparation; it changes no result.
    """

    noun: ClassVar[str] = "model"
    output: ClassVar[str] = "--out"
    columns: "PreparedColumns"
    task: str
    epsilon: float
    delta: float
    adjacency: str
    most_classes: int | None
    clip: float | None
    n: int | None
    seed: int | None = None
    invalid: str = "raise"
    holdout: float = 0.0
    groups: Mapping[str, tuple[str, ...]] | None = None
    allow_few_records: bool = False

    @cached_property
    def model(self) -> Any:
        """The unfitted estimator."""
        from dperm.sklearn import PrivateTableClassifier, PrivateTableRegressor

        given: dict[str, Any] = {
            "epsilon": self.epsilon,
            "delta": self.delta,
            "adjacency": self.adjacency,
            "columns": dict(self.columns.declared) or None,
            "clip": self.clip,
            "n": self.n,
            "invalid": self.invalid,
            "holdout": self.holdout,
            "groups": self.groups,
            "random_state": self.seed,
        }
        target = self.columns.declared_target
        if self.task == "regression":
            return PrivateTableRegressor(**given, label_range=None if target is None else target.range)
        classes = None if target is None else target.classes
        most: dict[str, Any] = {} if self.most_classes is None else {"most_classes": self.most_classes}
        return PrivateTableClassifier(**given, classes=classes, **most)

    def plan(self) -> "TablePlan | None":
        """Return the plan; None if it needs the number of records, which is not known yet.

        In that case the options are checked with a stand-in for the number, so that errors are found before the data
        are read.
        """
        require_noise(self.epsilon)
        if self.is_planned:
            found: TablePlan = self.model.plan(self.columns.features, self.columns.target, self.n)
            self._require_records(found, self.n)
            return found
        with warnings.catch_warnings(action="ignore"), suppress(AssumptionError):  # may hold for the true number
            self.model.plan(self.columns.features, self.columns.target, STAND_IN)
        return None

    def plan_for_any_size(self) -> "TablePlan":
        """Return the plan; `STAND_IN` replaces a public number of records that is not known yet.

        The preparation does not depend on the number, the noise of training slightly.
        """
        n = self.n if self.is_planned else STAND_IN
        found: TablePlan = self.model.plan(self.columns.features, self.columns.target, n)
        return found

    def _require_records(self, plan: "TablePlan", n: int | None) -> None:
        """Raise ParameterError if the public number of records is too small for the preparation (T91)."""
        for fact in () if self.allow_few_records else plan.warnings(n):
            remedy = "Or add --allow-few-records to fit the model anyway."
            raise ParameterError(fact.describe(arg), remedy=remedy)

    @property
    def is_planned(self) -> bool:
        """Whether the plan needs no data."""
        return self.n is not None or self.adjacency == "add_remove"

    @property
    def options(self) -> Mapping[str, object]:
        """Options by name, to which a request id is bound."""
        columns = self.columns
        later: dict[str, object] = {}  # only if given: commands of earlier versions have no such options
        if self.holdout:
            later["holdout"] = self.holdout
        if self.groups is not None:
            later["groups"] = groups_text(self.groups)
        return {
            "prepare": True,
            "schema": None if columns.schema is None else columns.schema.digest,
            "target": columns.target,
            "columns": list(columns.features),
            "task": self.task,
            "epsilon": self.epsilon,
            "delta": self.delta,
            "adjacency": self.adjacency,
            "estimator": type(self.model).__name__,
            "most-classes": self.most_classes,
            "clip": self.clip,
            "n": self.n,
            "seed": self.seed,
            "invalid": self.invalid,
            "separator": columns.separator,
            **later,
        }

    @property
    def largest_size(self) -> int:
        """Bytes to reserve for the model file, from public numbers."""
        return self.columns.largest_size

    def run(
        self, files: tuple[Path, ...], budget: "Budget | None", content: "ContentCheck"
    ) -> "FittedModel | FittedSchema":
        """Read the data, charge the budget, and return the fitted model; the schema alone if it has no labels.

        Raises
        ------
        ParameterError
            If the number of records is public and too small, and ``allow_few_records`` is False. Nothing is charged.
        """
        from dperm.data.canonical import row_count
        from dperm.privacy import Adjacency
        from dperm.privacy.public_rows import public_rows

        table = self.columns.read(files[0], content, "other" if self.invalid == "drop" else "raise")
        if not self.is_planned:
            rows = public_rows(Adjacency.of(self.adjacency), self.n, row_count(table, list(self.columns.features)))
            self._require_records(self.model.plan(self.columns.features, self.columns.target, rows), rows)
        with spinner("Learning ..."):
            model = self.model.set_params(ledger=budget)
            try:
                model.fit(table, target=self.columns.target)
            except AssumptionError as error:
                if not hasattr(model, "release_"):
                    raise
                from dperm.cli.schema_fit import FittedSchema

                return FittedSchema(model.release_, self.columns, error)
        return FittedModel(model.model_, model.schema_, model)

    def stored_entry(self, path: Path) -> tuple[object, object]:
        """Return request id and digest of the ledger entry in a model file; None without one."""
        return model_entry(path)


def checked_task(task: str | None, columns: "PreparedColumns") -> str:
    """Return the task: that of a declared target, or --task, by default a classification.

    Raises
    ------
    ParameterError
        If --task is unknown, or contradicts the declaration.
    """
    if task is not None and task not in TASKS:
        raise ParameterError(f"--task must be classification or regression, got {task!r}.")
    target = columns.declared_target
    if target is None:
        return task or TASKS[0]
    known = TASKS[0] if target.classes is not None else TASKS[1]
    if task is not None and task != known:
        found = "classes" if target.classes is not None else "a range"
        raise ParameterError(f"--task {task}: the schema declares {found} for {target.name!r}. Change one of the two.")
    return known


def checked_most_classes(most: int | None, task: str, columns: "PreparedColumns") -> int | None:
    """Return --most-classes; refused where no classes are to be found."""
    if most is not None and (task != TASKS[0] or columns.declared_target is not None):
        raise ParameterError("--most-classes belongs to a classification whose classes are not declared. Leave it out.")
    return most


def require_noise(epsilon: float) -> None:
    """Refuse an infinite epsilon: bounds and categories would be taken from the data as they are."""
    if math.isinf(epsilon):
        raise ParameterError(
            "--epsilon must be finite: a private preparation needs noise. Choose 1.0, for example, or declare all "
            "columns in a --schema."
        )


def checked_holdout(holdout: float | None, groups: str | None) -> float:
    """Return --holdout, 0 if it is left out.

    Raises
    ------
    ParameterError
        If it is outside [0, 0.5], or --groups has no records to be evaluated on.
    """
    from dperm import checks
    from dperm.pipeline.holdout import HOLDOUT_RULE, MOST_HOLDOUT

    found = 0.0 if holdout is None else checks.between("holdout", holdout, 0, MOST_HOLDOUT, HOLDOUT_RULE)
    if groups is not None and not found:
        raise ParameterError("--groups belongs to --holdout, which is missing: metrics need held-out records.")
    return found


def refuse_options(given: Mapping[str, object], reason: str) -> None:
    """Raise ParameterError for the first option that has a value.

    Parameters
    ----------
    given
        Values by option; None and empty lists are left out.
    reason
        Why the option cannot be used, as the end of a sentence.
    """
    for option, value in given.items():
        if value is not None and value is not False and not (isinstance(value, Sequence) and not len(value)):
            raise ParameterError(f"{option} {reason}")
