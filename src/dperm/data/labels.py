# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Class labels of a classifier: declared by the user, or found in y and treated as public."""

import warnings
from collections.abc import Sequence
from numbers import Real
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from dperm import checks
from dperm.checks import shown_few
from dperm.data.identity import ambiguous, plain_label
from dperm.data.targets import DROP, MOST_CLASSES
from dperm.errors import DataError, ParameterError, PublicAssumptionWarning
from dperm.presentation.spelling import arg

LARGEST_INTEGER = 2**53
MOST_FOUND = 100
"""Largest number of labels taken from y. More are identifiers or numbers to predict, and publishing those leaks."""
FOUND = "the set of labels, which was found in y"
"""Public assumption of a fit without declared classes, as stored in its record."""
_BINARY = "Only binary classification is supported."
_SEVERAL = "Use PrivateLogisticRegression, which learns more than two classes with one guarantee for all of them."
_DISTINCT = "must stay different when stored in one array and in every Unicode normal form"
_COLLISIONS = "Text that ends with a NUL, and large whole numbers beside floats, do not."
_warned: set[str] = set()


def declared_classes(classes: object, most: int = MOST_CLASSES) -> NDArray[Any]:
    """Return the declared classes as a sorted array.

    Parameters
    ----------
    classes
        Sequence of at least two different labels of one kind: all text, or all numbers and truth values.
    most
        Largest number of classes; 2 for a binary classifier.

    Raises
    ------
    ParameterError
        If ``classes`` is of any other form, or if two labels collide in an array or in a Unicode normal form.

    Examples
    --------
    >>> declared_classes(("yes", "no")).tolist()
    ['no', 'yes']
    """
    listed = isinstance(classes, Sequence | np.ndarray) and not isinstance(classes, str | bytes)
    labels = [checked_label(item) for item in cast(Sequence[object], classes)] if listed else []
    if len(labels) > most == 2:
        raise ParameterError(f"{_BINARY} {arg('classes')} must name two labels.", remedy=_SEVERAL)
    one_kind = len({isinstance(item, str) for item in labels}) == 1
    if not 2 <= len(labels) <= most or not one_kind or len(set(labels)) < len(labels):
        number = "two" if most == 2 else "two or more"
        rule = f"must be {number} different labels of one kind"
        remedy = 'Declare (0, 1) or ("no", "yes"), for example.'
        raise ParameterError(argument="classes", rule=rule, got=shown_few(classes), remedy=remedy)
    together = np.array(sorted(labels))
    if ambiguous(labels) or ambiguous(together.tolist()):
        remedy = f"{_COLLISIONS} Choose labels that differ in more."
        raise ParameterError(argument="classes", rule=_DISTINCT, got=shown_few(classes), remedy=remedy)
    return together


def found_classes(labels: NDArray[Any], *, drop: bool, most: int = MOST_FOUND) -> NDArray[Any]:
    """Return the different labels in y as a sorted array; the guarantee then treats them as public.

    Parameters
    ----------
    labels
        Labels, such as `dperm.data.inputs.labels_of` returns.
    drop
        Whether to leave out missing and infinite labels instead of refusing them.
    most
        Largest number of classes; 2 for a binary classifier.

    Raises
    ------
    DataError
        If there are fewer than two or more than ``most`` classes, if labels are missing, continuous or of two kinds,
        or if two labels collide. No message repeats a label.
    """
    present = _present(labels)
    if not drop and not present.all():
        raise DataError(
            "y must not have missing or infinite labels (NaN, inf).",
            remedy=f"Correct them, or give {DROP} to leave such rows out.",
        )
    kinds = {plain_label(label) for label in set(labels[present].tolist())}
    if any(isinstance(label, float) and not label.is_integer() for label in kinds):
        raise DataError(
            "Unknown label type: continuous. y must hold classes.", remedy=f"Declare them: {arg('classes', '(0, 1)')}."
        )
    if len({isinstance(label, str) for label in kinds}) > 1:
        raise DataError("Unknown label type: text and numbers are mixed in y.", remedy="Give labels of one kind.")
    return _checked_number(sorted(kinds), most)  # all text, or all numbers


def warn_undeclared_classes(stacklevel: int) -> None:
    """Warn that the classes were taken from y, once per process.

    ``stacklevel`` counts frames from this function (1) up to the line that called ``fit``.
    """
    if "classes" in _warned:
        return
    _warned.add("classes")
    warnings.warn(
        "classes were not declared: they are found in y, and the guarantee takes them as public. Declare them, such as "
        "classes=(0, 1), if the labels that occur are known without the data. (This is said once.)",
        PublicAssumptionWarning,
        stacklevel=stacklevel,
    )


def checked_label(item: object) -> str | bool | int | float:
    """Return a declared label as plain text, truth value or number below 2^53 in magnitude.

    Raises
    ------
    ParameterError
        If it is anything else.
    """
    plain = plain_label(item)
    if isinstance(plain, str | bool) or (isinstance(plain, int) and abs(plain) < LARGEST_INTEGER):
        return plain
    remedy = "Labels are text, truth values or numbers."
    return checks.between("classes", plain, -LARGEST_INTEGER, LARGEST_INTEGER, remedy)


def _present(labels: NDArray[Any]) -> NDArray[np.bool_]:
    if labels.dtype.kind == "f":
        return np.asarray(np.isfinite(labels))
    if labels.dtype.kind != "O":
        return np.ones(labels.shape, dtype=np.bool_)
    known = (item is not None and not (isinstance(item, Real) and abs(item) == np.inf) for item in labels.tolist())
    return np.fromiter(known, dtype=np.bool_, count=len(labels))


def _checked_number(distinct: list[Any], most: int) -> NDArray[Any]:
    if len(distinct) > most == 2:
        raise DataError(f"{_BINARY} y has more than two classes.", remedy=_SEVERAL)
    if len(distinct) > most:
        raise DataError(
            f"y has more than {most} different labels, too many to be taken as public from the data.",
            remedy=f"If they are classes, declare them: {arg('classes', '[...]')}. If they are numbers to be "
            "predicted, use PrivateLinearRegression.",
        )
    if len(distinct) < 2:
        raise DataError(
            "y has only one class, and there is nothing to tell apart.",
            remedy=f"If the other one does not occur in y, declare both: {arg('classes', '(0, 1)')}.",
        )
    together = np.array(distinct)
    if ambiguous(distinct) or ambiguous(together.tolist()):
        raise DataError(f"labels in y {_DISTINCT}. {_COLLISIONS}", remedy="Rename them.")
    return together
