# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""The sum of clipped gradients, which gradient perturbation adds noise to."""

import numpy as np

from dperm.data.arrays import Floats
from dperm.data.bounded import BoundedData
from dperm.erm.objective import Objective
from dperm.erm.spec import ProblemSpec


def loss_gradient(data: BoundedData, spec: ProblemSpec, theta: Floats) -> Floats:
    """Sum over the records of w f' y x, each of norm at most L (T44), without the regulariser.

    In closed form: the gradient of a linear model's record has norm |f'| ||x||, so clipping limits |f'|, and a pass
    costs two products with the data.
    """
    return Objective(data, spec, np.zeros(spec.dim)).loss_gradient(theta)
