# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Sums of clipped gradients, which gradient perturbation adds noise to."""

import numpy as np
from numpy.typing import NDArray

from dperm.data.arrays import Floats
from dperm.data.bounded import BoundedData
from dperm.erm.objective import Objective
from dperm.erm.spec import ProblemSpec


def loss_gradient(data: BoundedData, spec: ProblemSpec, theta: Floats) -> Floats:
    """Sum over the records of their weighted gradients, each of norm at most L (T44), without the regulariser.

    In closed form: the gradient of a linear model's record has norm |f'| ||x|| (||p - e_y|| ||x|| for the softmax
    loss), so clipping limits |f'|, and a pass costs two products with the data.
    """
    return Objective(data, spec, np.zeros(spec.dim)).loss_gradient(theta)


def batch_gradient(data: BoundedData, spec: ProblemSpec, theta: Floats, places: NDArray[np.int64]) -> Floats:
    """The same sum over the records at ``places`` (T46); memory and time are those of the batch."""
    return loss_gradient(data.at(places), spec, theta) if len(places) else np.zeros(spec.dim)
