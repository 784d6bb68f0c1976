# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Data that can be told apart, and estimators with everything declared."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from dperm.sklearn import PrivateLinearSVC, PrivateLogisticRegression

ESTIMATORS = {"logistic": PrivateLogisticRegression, "svc": PrivateLinearSVC}


@pytest.fixture(params=ESTIMATORS)
def make(request) -> Callable[..., Any]:
    """A private estimator with declared classes, and the norm 1 where no bounds are given."""

    def make(**parameters: Any) -> Any:
        norm = {} if "bounds" in parameters else {"feature_norm": 1.0}
        return ESTIMATORS[request.param](**{"classes": (0, 1), **norm, **parameters})

    return make


@pytest.fixture(scope="session")
def data() -> tuple[np.ndarray, np.ndarray]:
    """2000 rows, some longer than 1, and labels that a plane almost tells apart."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(2000, 3)) / 2
    y = (X @ [2.0, -1.0, 0.5] + 0.3 + 0.3 * rng.normal(size=2000) > 0).astype(int)
    X.flags.writeable = y.flags.writeable = False
    return X, y
