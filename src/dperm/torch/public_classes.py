# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""The classes of a classifier: declared, or found in y and then taken as public."""

import math
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dperm.checks import shown_few
from dperm.data.identity import ambiguous, plain_label
from dperm.data.targets import MOST_CLASSES
from dperm.errors import DataError, ParameterError, PublicAssumptionWarning

Labels = NDArray[Any]
MOST_FOUND = 100
"""Labels that are taken from y as public, at most: an identifier is not published."""
DECLARED = "the classes, as they were declared"
FOUND = "the set of labels, which was found in y"
ALIKE = "also without a NUL at the end and in every Unicode normal form"
_warned: set[str] = set()


def declared(classes: object) -> Labels:
    """The declared classes, sorted."""
    given: list[Any] = []
    if isinstance(classes, np.ndarray | Sequence) and not isinstance(classes, str | bytes):
        given = [plain_label(item) for item in classes]
    kinds = {isinstance(item, str) for item in given}
    if not 2 <= len(given) <= MOST_CLASSES or len(kinds) > 1 or not all(map(_is_label, given)):
        raise ParameterError(
            f'classes must be two or more different labels of one kind, such as (0, 1) or ("no", "yes"), got '
            f"{shown_few(classes)}."
        )
    together = np.array(sorted(given))
    if ambiguous(given) or ambiguous(together.tolist()):
        raise ParameterError(f"classes must be different labels, {ALIKE}, got {shown_few(classes)}.")
    return together


def found(labels: Labels, *, drop: bool) -> Labels:
    """The labels in y, which are thereby taken as public; ``drop`` leaves out those that are missing."""
    present = [plain_label(item) for item in labels.tolist() if _is_label(item)]
    if not drop and len(present) < len(labels):
        raise DataError("y must not have missing or infinite labels (NaN, inf), or other objects. Correct them.")
    if any(isinstance(item, float) and not item.is_integer() for item in present):
        raise DataError("Unknown label type: continuous. y must hold classes; declare them: classes=(0, 1).")
    if len({isinstance(item, str) for item in present}) > 1:
        raise DataError("Unknown label type: text and numbers are mixed in y. Give labels of one kind.")
    distinct = np.array(sorted(set(present)))  # type: ignore[type-var]
    if ambiguous(set(present)) or ambiguous(distinct.tolist()):
        raise DataError(f"labels in y must be different labels, {ALIKE}. Rename them.")
    if len(distinct) < 2:
        raise DataError("y has only one class. If another one just does not occur, declare both: classes=(0, 1).")
    if len(distinct) > MOST_FOUND:
        raise DataError(f"y has more than {MOST_FOUND} different labels, too many to be taken as public. Declare them.")
    _warn_once()
    return distinct


def _warn_once() -> None:
    """Say that the labels were taken from y; once in a process, not once for every fold."""
    if "classes" in _warned:
        return
    _warned.add("classes")
    warnings.warn(
        "classes were not declared: they are found in y, and the guarantee takes them as public. Declare them, such as "
        "classes=(0, 1), if the labels that occur are known without the data. (This is said once.)",
        PublicAssumptionWarning,
        stacklevel=5,  # the line that called fit
    )


def _is_label(item: object) -> bool:
    return isinstance(item, str | bool | int) or (isinstance(item, float) and math.isfinite(item))
