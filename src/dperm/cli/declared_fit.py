# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Request of ``dperm fit --holdout`` with a complete schema: a model and its private metrics in one release."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dperm.cli.fit_request import estimator_class
from dperm.cli.prepared_columns import PreparedColumns
from dperm.cli.prepared_fit import TASKS, PreparedFitRequest, refuse_options
from dperm.errors import ParameterError

if TYPE_CHECKING:
    from dperm.data.schema import Schema

REGULARIZED = (
    "cannot be combined with --holdout: the event of training is fixed before the regularization is known. Leave one "
    "of the two out."
)


@dataclass(frozen=True, kw_only=True)
class DeclaredFitRequest(PreparedFitRequest):
    """A fit to declared columns, with metrics on records that a secret coin flip holds out.

    Attributes
    ----------
    estimator, method, quantile
        Options of the model, as in `FitRequest`.
    """

    estimator: str | None = None
    method: str = "auto"
    quantile: float | None = None

    @cached_property
    def model(self) -> Any:
        """The unfitted pipeline of encoder and linear model."""
        from dperm.sklearn import PrivatePipeline, PublicTableEncoder

        target = self.columns.declared_target
        assert target is not None  # `declared_columns` has checked it
        given: dict[str, Any] = {"method": self.method, "clip": self.clip}
        if self.quantile is not None:
            given["quantile"] = self.quantile
        labels: dict[str, Any] = (
            {"label_range": target.range} if target.classes is None else {"classes": target.classes}
        )
        learner = estimator_class(self.estimator, target, quantile=self.quantile)(**given, **labels)
        return PrivatePipeline(
            [("schema", PublicTableEncoder(dict(self.columns.declared))), ("model", learner)],
            epsilon=self.epsilon,
            delta=self.delta,
            adjacency=self.adjacency,
            n=self.n,
            invalid=self.invalid,
            holdout=self.holdout,
            groups=self.groups,
            random_state=self.seed,
        )

    @property
    def options(self) -> Mapping[str, object]:
        """Options by name, to which a request id is bound."""
        own = {"estimator": type(self.model.steps[-1][1]).__name__, "method": self.method, "quantile": self.quantile}
        return {**super().options, "prepare": False, **own}


def declared_fit_request(
    schema: "Schema",
    path: Path | None,
    *,
    C: float | None,
    released: object,
    separator: str,
    **options: Any,
) -> DeclaredFitRequest:
    """Return the request of a fit with a complete schema and private metrics.

    Parameters
    ----------
    schema, path
        Schema, and its file for messages.
    C
        Option --C, which is refused.
    released
        Facts of the release of a privately found schema, which is refused; None for declarations.
    separator
        Separator of the cells of a CSV file, by its name.
    **options
        Further fields of `DeclaredFitRequest`.

    Raises
    ------
    ParameterError
        If one event cannot be fixed for model and metrics before the data are read.
    """
    refuse_options({"--C": C}, REGULARIZED)
    require_early_event(options["method"])
    require_one_guarantee(options["epsilon"], options["delta"], path, released)
    assert schema.target is not None  # `read_schema` has checked it
    task = TASKS[0] if schema.target.classes is not None else TASKS[1]
    columns = declared_columns(schema, separator)
    return DeclaredFitRequest(columns=columns, task=task, most_classes=None, **options)


def declared_columns(schema: "Schema", separator: str) -> PreparedColumns:
    """Return the columns of a complete schema, of which none is prepared."""
    from dperm.data.schema import PartialSchema

    assert schema.target is not None  # `read_schema` has checked it
    partial = PartialSchema(schema.encoder.columns, schema.target)
    features = tuple(schema.encoder.columns)
    return PreparedColumns(features=features, target=schema.target.name, schema=partial, separator=separator)


def require_one_guarantee(epsilon: float, delta: float, path: Path | None, released: object) -> None:
    """Refuse metrics without Gaussian noise, or for a schema that is a private release of its own.

    Raises
    ------
    ParameterError
        If epsilon is infinite, delta is 0, or one guarantee would not cover schema, model and metrics.
    """
    if math.isinf(epsilon):
        raise ParameterError("--epsilon must be finite with --holdout: metrics without noise have no guarantee.")
    if not delta:
        raise ParameterError(
            "--delta must be greater than 0 with --holdout: metrics have Gaussian noise. Give --delta 1e-6, for "
            "example, or leave --holdout out."
        )
    if released is not None:
        raise ParameterError(
            f"--holdout: the schema in {path} is a private release of its own, and one guarantee must cover schema, "
            "model and metrics. Use --prepare with --holdout, or leave --holdout out."
        )


def require_early_event(method: str) -> None:
    """Refuse a method whose event is not known before the regularization (T70).

    Raises
    ------
    ParameterError
        If the method exists and has no such event; unknown names are refused by the plan.
    """
    from dperm.methods.choose import BY_NAME
    from dperm.methods.declared_event import EventMethod

    if method in BY_NAME and not isinstance(BY_NAME[method](), EventMethod):
        names = ["auto", *(name for name, make in BY_NAME.items() if isinstance(make(), EventMethod))]
        raise ParameterError(
            f"--method {method} cannot be combined with --holdout: its event is not fixed before the data are read. "
            f"Use one of {', '.join(names)}."
        )
