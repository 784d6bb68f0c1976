# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""The two classes and their weights: declared, or found in y and then taken as public."""

import warnings
from collections.abc import Mapping
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dperm import checks
from dperm.checks import shown
from dperm.errors import DataError, ParameterError, PublicAssumptionWarning

Pair = tuple[Any, Any]
LARGEST_WEIGHT = 1e6
LARGEST_INTEGER = 2**53
BINARY = "Only binary classification is supported."
ONE_VS_REST = (
    "Train one model for each class against the rest: k classes then cost k times epsilon (and k times delta)."
)
ASSUMED = "the set of labels, which was found in y"
_warned: set[str] = set()


def declared(classes: object) -> NDArray[Any] | None:
    """The two declared classes, sorted as scikit-learn sorts them; None if they are to be found in y."""
    if classes is None:
        return None
    given = list(classes) if isinstance(classes, list | tuple | np.ndarray) else []
    labels = [_label(item) for item in given]
    if len(labels) > 2:
        raise ParameterError(f"{BINARY} classes must name two labels. {ONE_VS_REST}")
    if len(labels) < 2 or len({isinstance(item, str) for item in labels}) > 1 or labels[0] == labels[1]:
        raise ParameterError(
            f'classes must be two different labels of one kind, such as (0, 1) or ("no", "yes"), got {shown(classes)}.'
        )
    return np.array(sorted(labels))


def found(labels: NDArray[Any], invalid: str) -> NDArray[Any]:
    """The two labels in y; they are thereby taken as public.

    Raises
    ------
    DataError
        If there are not two, or some are missing; with ``invalid="drop"`` missing ones are left out.
    """
    present = _present(labels)
    if invalid != "drop" and not present.all():
        raise DataError(
            'y must not have missing or infinite labels (NaN, inf). Correct them, or give invalid="drop" to leave such '
            "rows out."
        )
    kept = labels[present]
    if kept.dtype.kind == "f" and (np.rint(kept) != kept).any():
        raise DataError("Unknown label type: continuous. y must hold classes; declare them: classes=(0, 1).")
    return _two_of(_distinct(kept))


def weights_of(class_weight: object, classes: NDArray[Any]) -> tuple[float, float]:
    """The weights of the two classes; 1 where none is given."""
    given = checked_weights(class_weight)
    first, second = classes.tolist()
    for label in given:
        if label not in (first, second):
            raise ParameterError(
                f"class_weight must name the classes {first!r} and {second!r} only{_another_kind(label, first)}."
            )
    return given.get(first, 1.0), given.get(second, 1.0)


def checked_weights(class_weight: object) -> dict[Any, float]:
    """The declared weights, public numbers in (0, 1e6]; empty if there are none."""
    if class_weight is None:
        return {}
    if isinstance(class_weight, str):
        raise ParameterError(
            f"class_weight must be None or a mapping of classes to public weights, got {shown(class_weight)}. Weights "
            f"balanced by the labels would release how many records each class has, which is private."
        )
    if not isinstance(class_weight, Mapping) or len(class_weight) > 2:
        raise ParameterError(
            f"class_weight must be a mapping of the two classes to weights, such as {{0: 1.0, 1: 3.0}}, got "
            f"{shown(class_weight)}."
        )
    return {_label(label): _weight(label, weight) for label, weight in class_weight.items()}


def largest_weight(class_weight: object) -> float:
    """The weight that enters every sensitivity: the larger of the two, whichever class has it."""
    given = checked_weights(class_weight)
    return max([*given.values(), *([1.0] if len(given) < 2 else [])])


def warn_once() -> None:
    """Say that the labels were taken from y; once in a process, not once for every fold."""
    if "classes" in _warned:
        return
    _warned.add("classes")
    warnings.warn(
        "classes were not declared: they are found in y, and the guarantee takes them as public. Declare them, such as "
        "classes=(0, 1), if the labels that occur are known without the data. (This is said once.)",
        PublicAssumptionWarning,
        stacklevel=4,  # the line that called fit
    )


def _label(item: object) -> str | bool | int | float:
    """A label as plain Python data."""
    plain = item.item() if isinstance(item, np.generic) else item
    if isinstance(plain, str | bool) or (isinstance(plain, int) and abs(plain) < LARGEST_INTEGER):
        return plain
    rule = "text, truth values or numbers"
    return checks.between("classes", plain, -LARGEST_INTEGER, LARGEST_INTEGER, f"Labels are {rule}.")


def _weight(label: object, weight: object) -> float:
    number: Any = weight if isinstance(weight, Real) and not isinstance(weight, bool) else 0
    if not 0 < number <= LARGEST_WEIGHT:
        raise ParameterError(f"class_weight[{shown(label)}] must be a public number in (0, 1e6], got {shown(weight)}.")
    return float(number)


def _another_kind(label: object, known: object) -> str:
    """What is odd about a label of another type than the classes."""
    if isinstance(label, str) == isinstance(known, str):
        return f", got {shown(label)}"
    kinds = ("text", "numbers") if isinstance(label, str) else ("a number", "text")
    return f": {shown(label)} is {kinds[0]}, the classes are {kinds[1]}"


def _present(labels: NDArray[Any]) -> NDArray[np.bool_]:
    if labels.dtype.kind == "f":
        return np.isfinite(labels)
    if labels.dtype.kind != "O":
        return np.ones(labels.shape, dtype=np.bool_)
    known = (item is not None and not (isinstance(item, Real) and abs(item) == np.inf) for item in labels.tolist())
    return np.fromiter(known, dtype=np.bool_, count=len(labels))


def _distinct(labels: NDArray[Any]) -> list[Any]:
    try:
        return np.unique(labels).tolist() if labels.dtype.kind != "O" else sorted(set(labels.tolist()))
    except TypeError:
        raise DataError("Unknown label type: text and numbers are mixed in y. Give labels of one kind.") from None


def _two_of(distinct: list[Any]) -> NDArray[Any]:
    if len(distinct) > 2:
        raise DataError(f"{BINARY} y has more than two classes. {ONE_VS_REST}")
    if len(distinct) < 2:
        raise DataError(
            "y has only one class, and there is nothing to tell apart. If the other one just does not occur, declare "
            "both: classes=(0, 1)."
        )
    return np.array(distinct)
