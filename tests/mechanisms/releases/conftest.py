# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Settings of the tests of releases."""

from collections.abc import Callable

import numpy as np
import pytest

from dperm.errors import NotPrivateWarning
from dperm.noise import NotPrivateBits


@pytest.fixture
def seeded() -> Callable[..., np.ndarray]:
    """Values of some releases of the same data, reproducible and NOT PRIVATE."""

    def seeded(planned, data, *, seed, times=1):
        bits = NotPrivateBits(seed)
        with pytest.warns(NotPrivateWarning):
            return np.array([planned.release(data, bits=bits).value for _ in range(times)])

    return seeded
