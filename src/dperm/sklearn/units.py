# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""From coefficients of the bounded space to the user's units: linear, so noise can be followed through it."""

from dataclasses import dataclass

import numpy as np

from dperm.data.arrays import Floats
from dperm.data.space import FeatureSpace


@dataclass(frozen=True)
class Units:
    """The linear part of the map from theta to coefficients, written out: a file keeps it, whatever later versions do.

    It is the same for every score of a record.

    Attributes
    ----------
    scales
        coef_j = scales_j theta_j: the scale of the labels over the half width of the column's bounds.
    combination
        intercept = combination'theta, up to a public constant: a for the constant column, minus center over half width
        for the others, times the scale of the labels; empty where the intercept is the same whatever theta is.
    """

    scales: Floats
    combination: Floats

    @classmethod
    def of(cls, space: FeatureSpace, scale: float = 1.0) -> "Units":
        """The units of a feature space and of labels in units of ``scale``.

        Columns with a center have an intercept even if none is fitted.
        """
        scales = np.full(space.dim, scale) if space.half_width is None else scale / space.half_width
        constant = [scale * space.constant] if space.intercept else []
        if space.center is None:
            return cls(scales, np.append(np.zeros(space.dim), constant) if space.intercept else np.empty(0))
        return cls(scales, np.append(-space.center * scales, constant))

    @property
    def intercept(self) -> bool:
        """Whether there is an intercept."""
        return self.combination.size > 0
