# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Small problems that tests of methods share."""

from collections.abc import Callable

import numpy as np
import pytest

from dperm.data.bounded import BoundedData, enforce
from dperm.data.space import FeatureSpace
from dperm.data.targets import Classes
from dperm.erm.losses import Logistic, Loss
from dperm.erm.spec import ProblemSpec

SPACE = FeatureSpace(3, norm=1.0)
ROWS = 400


@pytest.fixture
def spec() -> Callable[..., ProblemSpec]:
    """A problem on SPACE; anything can be changed by keyword."""

    def make(loss: Loss | None = None, **changes: object) -> ProblemSpec:
        given = {"radius": SPACE.radius, "dim": SPACE.size, "n": ROWS, **changes}
        return ProblemSpec(loss or Logistic(), **given)

    return make


@pytest.fixture
def data() -> Callable[..., BoundedData]:
    """Rows of SPACE with labels that follow a line."""

    def make(seed: int = 0, rows: int = ROWS) -> BoundedData:
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(rows, SPACE.dim))
        y = np.where(X @ np.array([2.0, -1.0, 0.5]) + 0.3 * rng.normal(size=rows) > 0, 1, 0)
        return enforce(X, y, SPACE, Classes((0, 1)))

    return make
