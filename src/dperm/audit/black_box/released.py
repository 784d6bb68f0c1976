# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""The numbers that a training released, from whatever it returned."""

import numpy as np

from dperm.errors import DataError
from dperm.noise.arrays import Floats
from dperm.privacy import Release

FITTED = ("coef_", "intercept_")


def numbers(returned: object) -> Floats:
    """Of an array or a number; of a `Release`, its value; of a fitted model, its coef_ and intercept_, as one vector.

    An array of (steps, ...) keeps its shape: what iterations release can be looked at step by step.
    """
    if isinstance(returned, Release):
        return numbers(returned.value)
    parts = [getattr(returned, name) for name in FITTED if getattr(returned, name, None) is not None]
    try:
        if parts:
            return np.concatenate([np.ravel(np.asarray(part, dtype=np.float64)) for part in parts])
        return np.atleast_1d(np.asarray(returned, dtype=np.float64))
    except (TypeError, ValueError):
        raise DataError(
            f"train must return the released numbers: an array, or a model with coef_ and intercept_, got an object of "
            f"type {type(returned).__name__}."
        ) from None
