# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""An order of scores in which ties go by lot.

The lot is the same for everybody and known to nobody else: it follows from a stream of its own (a hash of its purpose),
not from a small seed that somebody's coins may have come from. Not by position: lists of members and non-members joined
end to end would turn ties into right guesses.
"""

import numpy as np

from dperm.data.arrays import Floats
from dperm.noise.arrays import Integers
from dperm.noise.simulation import generator

_PURPOSE = "the lot that breaks ties of scores"


def in_order(scores: Floats) -> Integers:
    """The places of the scores from the lowest to the highest, ties by a lot that has seen neither scores nor bits."""
    return np.lexsort((generator(0, _PURPOSE).random(len(scores)), scores))
