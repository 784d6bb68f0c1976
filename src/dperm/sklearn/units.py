# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""From coefficients of the bounded space to the user's units: linear, so noise can be followed through it."""

from dataclasses import dataclass

import numpy as np

from dperm.data.arrays import Floats
from dperm.data.space import FeatureSpace


@dataclass(frozen=True)
class Units:
    """The linear map of `FeatureSpace.coefficients`, written out: a file keeps it, whatever later versions do.

    Attributes
    ----------
    scales
        coef_j = scales_j theta_j: one over the half width of the column's bounds.
    combination
        intercept = combination'theta: a for the constant column, minus center times scale for the others; empty
        where the intercept is 0 whatever theta is.
    """

    scales: Floats
    combination: Floats

    @classmethod
    def of(cls, space: FeatureSpace) -> "Units":
        """The units of a feature space; columns with a center have an intercept even if none is fitted."""
        scales = np.ones(space.dim) if space.half_width is None else 1 / space.half_width
        constant = [space.constant] if space.intercept else []
        if space.center is None:
            return cls(scales, np.append(np.zeros(space.dim), constant) if space.intercept else np.empty(0))
        return cls(scales, np.append(-space.center * scales, constant))

    @property
    def intercept(self) -> bool:
        """Whether there is an intercept."""
        return self.combination.size > 0
