# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Request of ``dperm fit --model additive``: an additive model from a file of data, charged to a ledger."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dperm.cli.fit_request import FittedModel, ModelFitRequest
from dperm.cli.running import progress_bar, spinner
from dperm.errors import ParameterError

if TYPE_CHECKING:
    from dperm.accounting.budget import Budget
    from dperm.cli.charging import ContentCheck
    from dperm.data.schema import AdditiveSchema

LINEAR, ADDITIVE = "linear", "additive"
MODELS = (LINEAR, ADDITIVE)
OPTION = f"--model {ADDITIVE}"
LINEAR_ONLY = f"cannot be combined with {OPTION}: it belongs to linear models. Leave it out."


@dataclass(frozen=True, kw_only=True)
class AdditiveFitRequest(ModelFitRequest):
    """A fit of an additive model, whose table is held in memory."""

    schema: "AdditiveSchema"

    @property
    def largest_size(self) -> int:
        """Upper bound on the size of the model file in bytes."""
        return super().largest_size + 4 * len(self.schema.to_json())  # among the parameters and the public facts

    def _new_model(self) -> Any:
        from dperm.sklearn import PrivateAdditiveClassifier, PrivateAdditiveRegressor

        target, encoder = self.target, self.schema.encoder
        given: dict[str, Any] = {
            "terms": dict(encoder.columns),
            "interactions": list(encoder.pairs),
            "epsilon": self.epsilon,
            "delta": self.delta,
            "adjacency": self.adjacency,
            "method": self.method,
            "C": self.C,
            "clip": self.clip,
            "n": self.n,
            "invalid": self.invalid,
            "random_state": self.seed,
        }
        if target.classes is None:
            return PrivateAdditiveRegressor(**given, label_range=target.range)
        if len(target.classes) > PrivateAdditiveClassifier.most_classes:
            raise ParameterError(
                f"{OPTION} needs a target with two classes or a range, and the schema declares {len(target.classes)} "
                f"classes for {target.name!r}. Use --model {LINEAR}, or declare two classes."
            )
        return PrivateAdditiveClassifier(**given, classes=target.classes)

    def run(self, files: tuple[Path, ...], budget: "Budget | None", content: "ContentCheck") -> FittedModel:
        """Read the data, charge the budget, and return the fitted model."""
        from dperm.data.files import read_table

        estimator, target = self.model.set_params(ledger=budget), self.target
        (data,) = files
        with progress_bar(f"Reading {data.name}") as progress, content.reading(once=True) as watch:
            columns = {**self.schema.encoder.columns, target.name: target}
            table = read_table(data, columns, progress, watch, unseen=self.unseen, separator=self.separator)
        labels = table.pop(target.name)
        with spinner("Learning ..."):
            return FittedModel(estimator.fit(table, labels), self.schema)


def is_additive(model: str) -> bool:
    """Return whether --model is additive.

    Raises
    ------
    ParameterError
        If there is no such model.
    """
    if model not in MODELS:
        raise ParameterError(f"--model must be one of {', '.join(MODELS)}, got {model!r}.")
    return model == ADDITIVE


def refuse_with_additive(options: Mapping[str, object]) -> None:
    """Raise ParameterError for the first option of linear models that has a value; ``options`` has values by name."""
    from dperm.cli.prepared_fit import refuse_options

    refuse_options(options, LINEAR_ONLY)


def refuse_released_schema(path: Path | None) -> None:
    """Raise ParameterError for a privately found schema: an additive model cannot name that release in its record."""
    from dperm.cli.schema_fit import schema_release

    released = None
    with suppress(OSError, UnicodeDecodeError):  # reported when the schema is read
        released = None if path is None else schema_release(path)
    if released is not None:
        raise ParameterError(
            f"{OPTION}: the schema in {path} is a private release of its own, which additive models do not support. "
            f"Declare all columns, or use --model {LINEAR}."
        )
