# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""From coefficients of the bounded space to the user's units: linear, so noise can be followed through it."""

from dataclasses import dataclass

import numpy as np

from dperm.data.arrays import Floats
from dperm.data.space import FeatureSpace
from dperm.errors import ParameterError
from dperm.sklearn.public_labels import PublicLabels

LARGEST = 1e300
"""Bound on coefficients and predictions in the user's units, and on the terms that they are sums of."""


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


def require_finite_units(longest: float, space: FeatureSpace, labels: PublicLabels) -> None:
    """Refuse units in which coefficients of norm ``longest``, or predictions for rows within the bounds, overflow.

    A prediction is the sum of coef_j x_j and the intercept, which is a sum of its own: each term has to be a double.

    Raises
    ------
    ParameterError
        If one of them could be beyond 1e300.
    """
    units = Units.of(space, labels.scale)
    entries = np.full(space.dim, space.norm) if space.bounds is None else np.abs(np.array(space.bounds)).max(axis=1)
    terms = (
        np.log10(units.scales).max(),
        (np.log10(units.scales) + np.log10(np.maximum(entries, 1e-300))).max() + np.log10(space.dim),
        np.log10(np.abs(units.combination).max(initial=1e-300)) + np.log10(space.size),
    )
    if not np.log10(max(longest, 1e-300)) + max(terms) <= np.log10(LARGEST):
        scaled = "" if labels.scale == 1 else ", label_range"
        raise ParameterError(
            f"bounds or feature_norm{scaled} and the noise of the plan are too extreme together: coefficients of norm "
            f"up to {longest:.3g}, scaled to the units of X and y, could overflow. Rescale X"
            f"{' and y' * bool(scaled)}, so that their bounds are near 1."
        )
