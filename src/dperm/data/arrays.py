# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""The arrays of data and learning."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
"""Doubles."""
Mask = NDArray[np.bool_]
"""A truth value for each record."""
