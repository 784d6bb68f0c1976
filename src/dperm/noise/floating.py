# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""The grade `fast`: Gaussian noise in single precision from unpredictable bits.

The law is only as close to a Gaussian as single precision makes it: outputs carry about 24 random bits and end at about
6.76 standard deviations, and their low-order bits can tell what was added to them (T10). There is no eta or tau for
that; a record that names this grade says that the guarantee is the one of the ideal mechanism.
"""

import numpy as np
from numpy.typing import NDArray

from dperm.noise.bits import Stream

BLOCK = 2**15


def floating_gaussian(size: int, stream: Stream) -> NDArray[np.float32]:
    """``size`` standard normals by Box and Muller: sqrt(-2 log U) (cos V, sin V)."""
    out = np.empty(size + size % 2, dtype=np.float32)
    for start in range(0, len(out), 2 * BLOCK):
        part = out[start : start + 2 * BLOCK]
        half = len(part) // 2
        words = stream.words(half).view(np.uint32)
        radius = words[:half].astype(np.float32)
        radius += np.float32(0.5)
        radius *= np.float32(2.0**-32)  # in (0, 1]
        np.log(radius, out=radius)
        radius *= np.float32(-2.0)
        np.sqrt(radius, out=radius)
        angle = words[half:].astype(np.float32)
        angle *= np.float32(2 * np.pi * 2.0**-32)
        np.multiply(radius, np.cos(angle), out=part[:half])
        np.multiply(radius, np.sin(angle), out=part[half:])
    return out[:size]
