# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Array types of data and learning."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
"""Array of doubles."""
Singles = NDArray[np.float32]
"""Array in single precision."""
Mask = NDArray[np.bool_]
"""One truth value for each record."""
