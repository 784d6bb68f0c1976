# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Estimators with everything declared, and data that they can learn from."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from families import CLASSIFIERS, FAMILIES, REGRESSORS, SMOOTH_FAMILIES, Family


@pytest.fixture(params=FAMILIES)
def each(request) -> Family:
    """Every model: two classes and three, and the regressions."""
    return FAMILIES[request.param]


@pytest.fixture(params=SMOOTH_FAMILIES)
def smooth(request) -> Family:
    """Those that every method can learn."""
    return FAMILIES[request.param]


@pytest.fixture(params=REGRESSORS)
def regression(request) -> Family:
    """The regressions."""
    return FAMILIES[request.param]


@pytest.fixture(params=CLASSIFIERS)
def make(request) -> Callable[..., Any]:
    """A classifier of two declared classes, and the norm 1 where no bounds are given."""
    return FAMILIES[request.param].make


@pytest.fixture(scope="session")
def data() -> tuple[np.ndarray, np.ndarray]:
    """2000 rows, some longer than 1, and labels that a plane almost tells apart."""
    return FAMILIES["logistic"].data
