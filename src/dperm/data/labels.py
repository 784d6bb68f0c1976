# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Labels of a public set of two, as signs."""

import numpy as np
from numpy.typing import NDArray

Signs = NDArray[np.int8]
"""-1 and +1 for the two classes, 0 for a record that does not count."""


def signs_of(labels: NDArray[np.generic], classes: tuple[object, object]) -> Signs:
    """-1 where the label is the first class, +1 where it is the second, 0 where it is neither (NaN included)."""
    negative, positive = (_equal(labels, label) for label in classes)
    return positive.astype(np.int8) - negative.astype(np.int8)


def _equal(labels: NDArray[np.generic], label: object) -> NDArray[np.bool_]:
    """Elementwise equality; labels of another kind (a number among words) are simply not equal."""
    if labels.dtype.kind in "biufc" and isinstance(label, str | bytes):
        return np.zeros(labels.shape, dtype=np.bool_)
    if labels.dtype.kind in "US" and not isinstance(label, str | bytes):
        return np.zeros(labels.shape, dtype=np.bool_)
    try:
        found = labels == label
    except (TypeError, ValueError):  # something among the objects has no truth value when compared
        found = np.array([_same(item, label) for item in labels.tolist()], dtype=np.bool_)
    return np.asarray(found, dtype=np.bool_) if np.ndim(found) else np.zeros(labels.shape, dtype=np.bool_)


def _same(item: object, label: object) -> bool:
    try:
        return bool(item == label)
    except (TypeError, ValueError):
        return False
