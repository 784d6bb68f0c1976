# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""The power that a curve follows."""

from collections.abc import Sequence

import numpy as np


def slope(x: Sequence[float], y: Sequence[float]) -> float:
    """The slope of log y over log x, by least squares: b where y is near a x^b."""
    return float(np.polyfit(np.log(x), np.log(y), 1)[0])
