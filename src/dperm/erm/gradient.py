# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Sums of clipped gradients, the statistics of gradient perturbation."""

import numpy as np
from numpy.typing import NDArray

from dperm.data.arrays import Floats
from dperm.data.bounded import BoundedData
from dperm.erm.spec import ProblemSpec
from dperm.erm.table_objective import gradient_kernel


def loss_gradient(data: BoundedData, spec: ProblemSpec, theta: Floats) -> Floats:
    """Return the sum of the records' weighted gradients, each of norm at most L (T44), without the regulariser.

    It has a closed form: the gradient of a linear model's record has norm |f'| ||x|| (||p - e_y|| ||x|| for the softmax
    loss), so clipping limits |f'|, and a pass costs two products with the data. Products and sums are exact (T201).

    Parameters
    ----------
    data
        Bounded data.
    spec
        Problem with its clip.
    theta
        Coefficients.

    Notes
    -----
    *Guarantees.* One record adds a vector of norm at most `ProblemSpec.lipschitz`, up to rounding
    (`dperm.erm.rounding.gradient_error`).

    ============  ===============================================
    edge case     result
    ============  ===============================================
    no rows       zeros
    clip = None   gradients keep their length, at most R sup |f'|
    row of zeros  adds nothing, apart from its constant column
    ============  ===============================================
    """
    kernel = gradient_kernel(data, spec, theta)
    return kernel.gradient(data.sums(kernel))


def batch_gradient(data: BoundedData, spec: ProblemSpec, theta: Floats, places: NDArray[np.int64]) -> Floats:
    """Return the same sum over the records at ``places`` (T46), in memory and time of the batch."""
    return loss_gradient(data.at(places), spec, theta) if len(places) else np.zeros(spec.dim)
