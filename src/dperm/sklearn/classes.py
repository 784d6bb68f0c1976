# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""The classes and their weights: declared, or found in y and then taken as public."""

import warnings
from collections.abc import Mapping, Sequence
from numbers import Real
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from dperm import checks
from dperm.checks import shown, shown_few
from dperm.data.identity import ambiguous, plain_label
from dperm.data.targets import MOST_CLASSES, Classes
from dperm.errors import DataError, ParameterError, PublicAssumptionWarning
from dperm.sklearn.public_labels import PublicLabels

LARGEST_WEIGHT = 1e6
LARGEST_INTEGER = 2**53
MOST_FOUND = 100
"""Labels that are taken from y as public, at most: an identifier, or a number to be predicted, is not published."""
BINARY = "Only binary classification is supported."
SEVERAL = "PrivateLogisticRegression learns more than two classes, with one guarantee for all of them."
ASSUMED = "the set of labels, which was found in y"
_ALIKE = (
    "must stay different in one array and in every Unicode normal form. Text that ends with a NUL, and large whole "
    "numbers beside floats, do not."
)
_warned: set[str] = set()


def public_classes(classes: NDArray[Any], class_weight: object, *, declared: bool) -> PublicLabels:
    """What is public about labels of these classes."""
    weights = weights_of(class_weight, classes)
    known = f"the {'two' if len(classes) == 2 else len(classes)} classes, as they were declared"
    return PublicLabels(
        Classes(tuple(classes.tolist()), weights),
        facts={"classes": classes.tolist(), "class_weight": list(weights)},
        assumption=known if declared else ASSUMED,
        declared=declared,
        classes=classes,
    )


def two_unknown(class_weight: object) -> PublicLabels:
    """Two classes of which only the weights are known: what a plan assumes where none were declared."""
    weights = list(checked_weights(class_weight).values())
    if len(weights) > 2:
        raise ParameterError(
            f"classes must be declared to plan for class_weight of {len(weights)} classes: without them a plan assumes "
            f"two. Give their labels, such as classes=(0, 1, 2)."
        )
    filled = (*weights, 1.0, 1.0)[:2]
    return PublicLabels(Classes(("one", "another"), filled), facts={}, assumption=ASSUMED, declared=False)


def declared(classes: object, most: int = MOST_CLASSES) -> NDArray[Any] | None:
    """The declared classes, sorted as scikit-learn sorts them; None if they are to be found in y."""
    if classes is None:
        return None
    listed = isinstance(classes, Sequence | np.ndarray) and not isinstance(classes, str | bytes)
    given = list(cast(Sequence[object], classes)) if listed else []
    labels = [_label(item) for item in given]
    if len(labels) > most == 2:
        raise ParameterError(f"{BINARY} classes must name two labels. {SEVERAL}")
    if (
        not 2 <= len(labels) <= most
        or len({isinstance(item, str) for item in labels}) > 1
        or len(set(labels)) < len(labels)
    ):
        number = "two" if most == 2 else "two or more"
        raise ParameterError(
            f'classes must be {number} different labels of one kind, such as (0, 1) or ("no", "yes"), got '
            f"{shown_few(classes)}."
        )
    together = np.array(sorted(labels))
    if ambiguous(labels) or ambiguous(together.tolist()):
        raise ParameterError(f"classes {_ALIKE} Give labels that differ in more, got {shown_few(classes)}.")
    return together


def found(labels: NDArray[Any], invalid: str, most: int = MOST_FOUND) -> NDArray[Any]:
    """The labels in y; they are thereby taken as public.

    Raises
    ------
    DataError
        If there are not at least two and at most ``most``, or some are missing; with ``invalid="drop"`` missing ones
        are left out.
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
    return _few(_distinct(kept), most)


def weights_of(class_weight: object, classes: NDArray[Any]) -> tuple[float, ...]:
    """The weights of the classes; 1 where none is given."""
    given, known = checked_weights(class_weight), classes.tolist()
    for label in given:
        if label not in known:
            raise ParameterError(
                f"class_weight must name the classes {_in_words(known)} only{_another_kind(label, known[0])}."
            )
    return tuple(given.get(label, 1.0) for label in known)


def checked_weights(class_weight: object) -> dict[Any, float]:
    """The declared weights, public numbers in (0, 1e6]; empty if there are none."""
    if class_weight is None:
        return {}
    if isinstance(class_weight, str):
        raise ParameterError(
            f"class_weight must be None or a mapping of classes to public weights, got {shown(class_weight)}. Weights "
            f"balanced by the labels would release how many records each class has, which is private."
        )
    if not isinstance(class_weight, Mapping):
        raise ParameterError(
            f"class_weight must be a mapping of classes to weights, such as {{0: 1.0, 1: 3.0}}, got "
            f"{shown(class_weight)}."
        )
    return {_label(label): _weight(label, weight) for label, weight in class_weight.items()}


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
    plain = plain_label(item)
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
        return sorted({plain_label(label) for label in set(labels.tolist())})
    except TypeError:
        raise DataError("Unknown label type: text and numbers are mixed in y. Give labels of one kind.") from None


def _few(distinct: list[Any], most: int) -> NDArray[Any]:
    if len(distinct) > most == 2:
        raise DataError(f"{BINARY} y has more than two classes. {SEVERAL}")
    if len(distinct) > most:
        raise DataError(
            f"y has more than {most} different labels, too many to be taken as public from the data. If they are "
            f"classes, declare them: classes=[...]. If they are numbers to be predicted, use PrivateLinearRegression."
        )
    if len(distinct) < 2:
        raise DataError(
            "y has only one class, and there is nothing to tell apart. If the other one just does not occur, declare "
            "both: classes=(0, 1)."
        )
    together = np.array(distinct)
    if ambiguous(distinct) or ambiguous(together.tolist()):
        raise DataError(f"labels in y {_ALIKE} Rename them.")
    return together


def _in_words(labels: list[Any]) -> str:
    """The labels, or the first of them."""
    *others, last = (repr(label) for label in labels[:5])
    return f"{', '.join(others)} and {last}" if len(labels) <= 5 else f"{', '.join([*others, last])}, ..."
