# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Sort order of scores with random tie-breaking.

The tie-breaking order is fixed, and drawn from a random stream of its own (a hash of its purpose). It does not depend
on a small seed possibly shared with somebody's coins. Breaking ties by position is unsafe: concatenated lists of
members and non-members would turn ties into right guesses.
"""

import numpy as np

from dperm.data.arrays import Floats
from dperm.noise.arrays import Integers
from dperm.noise.simulation import generator

_PURPOSE = "the lot that breaks ties of scores"


def in_order(scores: Floats) -> Integers:
    """Return the indices sorting the scores in ascending order; ties are broken independently of membership."""
    return np.lexsort((generator(0, _PURPOSE).random(len(scores)), scores))
