# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Arguments "auto" of an estimator, supplied by the transformer of its rows."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from dperm.data.canonical import label_text
from dperm.data.encoded import EncodingFacts
from dperm.data.pipeline_steps import private_encoders
from dperm.errors import AssumptionError, ParameterError
from dperm.presentation.spelling import arg
from dperm.sklearn.labels import checked_weights

AUTO = "auto"
_QUOTED = f'"{AUTO}"'
NAMES = ("feature_norm", "classes", "label_range")
"""Arguments that an encoder can supply."""
_DIRECTLY = (
    "Put PublicTableEncoder, PrivateTableEncoder, PrivateScaler or PrivatePCA directly before the estimator, without "
    "set_output and without a step in between"
)
_DECLARED = {
    "feature_norm": "or declare the norm, such as feature_norm=encoder.norm",
    "classes": "or declare the labels, such as classes=(0, 1)",
    "label_range": "or declare the range, such as label_range=(0, 100)",
}
_TASKS = {"classes": '"classification"', "label_range": '"regression"'}


@dataclass(frozen=True)
class EncodedSchema:
    """Transformer that produced the rows of a fit, from declared columns or by a private release.

    Attributes
    ----------
    facts
        Facts of the transformer.
    supplied
        Names of the arguments that the rows supplied.
    """

    facts: EncodingFacts
    supplied: tuple[str, ...] = ()

    @property
    def supplies_labels(self) -> bool:
        """Whether the transformer supplied released classes or a released range; then labels are read one by one."""
        return not {"classes", "label_range"}.isdisjoint(self.supplied)

    def as_data(self) -> dict[str, object]:
        """Return the schema as plain data, to store in the record of the fit."""
        return {**self.facts.source(), "supplied": list(self.supplied)}


def schemas_of(facts: EncodingFacts | None, supplied: tuple[str, ...]) -> tuple[EncodedSchema, ...]:
    """Return the transformer of the rows and those before it, if they are known, then others on the call stack.

    Others are private transformers of pipelines that fit the model.

    Parameters
    ----------
    facts
        Facts that are attached to the rows; None if there are none.
    supplied
        Names of the arguments that the encoder supplied.
    """
    known = () if facts is None else facts.every
    own = [EncodedSchema(one) for one in known]
    own[:1] = [replace(one, supplied=tuple(name for name in NAMES if name in supplied)) for one in own[:1]]
    others = [encoder.encoding_facts for encoder in private_encoders()]
    releases = [one.release for one in known]
    return (*own, *(EncodedSchema(found) for found in others if found.release not in releases))


def auto_arguments(estimator: Any) -> tuple[str, ...]:
    """Return the names of the arguments that are "auto"."""
    given = ((name, getattr(estimator, name, None)) for name in NAMES)
    return tuple(name for name, value in given if isinstance(value, str) and value == AUTO)


def require_declared(estimator: Any) -> None:
    """Raise ParameterError for arguments "auto" where there are no encoded rows, as in a plan."""
    names = auto_arguments(estimator)
    if names:
        raise ParameterError(
            f"{arg(names[0], _QUOTED)} is known only during a fit, from the encoder of the rows.",
            remedy=f"Declare {arg(names[0])} to plan without data.",
        )


def supplied_arguments(estimator: Any, facts: EncodingFacts | None) -> dict[str, Any]:
    """Return the arguments "auto" with the values of the encoder; empty without such arguments.

    Parameters
    ----------
    estimator
        Estimator with its arguments.
    facts
        Facts of the encoder of the rows; None if none are attached to the rows.

    Returns
    -------
    dict
        Arguments by name. With released labels, records of other labels contribute nothing (``invalid="drop"``), since
        a private schema leaves out rare classes.

    Raises
    ------
    ParameterError
        If no such facts are attached to the rows. Nothing is charged.
    AssumptionError
        If a private schema found fewer than two classes, or no range. The model charges nothing.
    """
    names = auto_arguments(estimator)
    if not names:
        return {}
    if facts is None:
        raise ParameterError(
            f"{arg(names[0], _QUOTED)} needs rows of an encoder, and X does not come from one directly.",
            remedy=f"{_DIRECTLY}, {_DECLARED[names[0]]}.",
        )
    if "feature_norm" in names and estimator.bounds is not None:
        raise ParameterError(
            f"{arg('feature_norm', _QUOTED)} is the norm of features in [-1, 1]. {arg('bounds')} would rescale them.",
            remedy=f"Leave out {arg('bounds')}.",
        )
    found = {name: _supplied(name, facts) for name in names}
    if len(found.keys() - {"feature_norm"}) > 0:
        found["invalid"] = "drop"
    if "classes" in found and isinstance(estimator.class_weight, Mapping):
        found["class_weight"] = _known_weights(estimator.class_weight, found["classes"])
    return found


def _supplied(name: str, facts: EncodingFacts) -> Any:
    if name == "feature_norm":
        if not math.isfinite(facts.norm):
            raise ParameterError(
                f"{arg(name, _QUOTED)} needs rows with a norm, and {facts.name} does not scale its rows.",
                remedy=f"Use PrivateScaler instead, or declare {arg('bounds')}.",
            )
        return facts.norm
    tasks = {one.release.get("task") for one in facts.every if one.release is not None}
    if facts.release is None:
        raise ParameterError(
            f"{arg(name, _QUOTED)} needs a PrivateTableEncoder: {facts.name} knows nothing about the labels.",
            remedy=f"Declare {arg(name)}.",
        )
    task = _TASKS[name]
    if task.strip('"') not in tasks:
        raise ParameterError(
            f"{arg(name, _QUOTED)} needs a PrivateTableEncoder with {arg('task', task)}.",
            remedy=f"Give {arg('task', task)} to the encoder, {_DECLARED[name]}.",
        )
    found = facts.classes if name == "classes" else facts.label_range
    if found is None or len(found) < 2:
        missing = "fewer than two classes" if name == "classes" else "no range of the labels"
        raise AssumptionError(
            f"the private schema has {missing}, so there is no model. The charge for the schema is not refunded.",
            remedy=f"Declare {arg(name)}, give the encoder a larger epsilon, or use more records (T91).",
        )
    return found


def _known_weights(class_weight: Mapping[Any, Any], classes: tuple[Any, ...]) -> dict[Any, float]:
    """Return the weights of the released classes. A rare class may be missing among them, and needs no weight."""
    known = {label_text(label): label for label in classes}
    weights = ((label_text(label), weight) for label, weight in checked_weights(class_weight).items())
    return {known[text]: weight for text, weight in weights if text in known}
