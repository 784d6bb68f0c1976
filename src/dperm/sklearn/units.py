# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Linear map from coefficients of the bounded space to the user's units."""

from dataclasses import dataclass

import numpy as np

from dperm.data.arrays import Floats
from dperm.data.space import FeatureSpace
from dperm.errors import ParameterError
from dperm.presentation.spelling import arg
from dperm.sklearn.labels import PublicLabels

LARGEST = 1e300
"""Bound on coefficients and predictions in the user's units, and on the terms of these sums."""


@dataclass(frozen=True)
class Units:
    """Linear part of the map from theta to the coefficients, the same for every score of a record.

    Files store it explicitly, so that later versions read the same intervals.

    Attributes
    ----------
    scales
        Factors of coef_j = scales_j theta_j: the scale of the labels over the half width of the column's bounds.
    combination
        Weights of intercept = combination'theta, up to a public constant: a for the constant column, minus center over
        half width for the others, times the scale of the labels. Empty if the intercept does not depend on theta.
    """

    scales: Floats
    combination: Floats

    @classmethod
    def of(cls, space: FeatureSpace, scale: float = 1.0) -> "Units":
        """Return the units of a feature space and of labels in units of ``scale``.

        Columns with a center have an intercept even without a fitted one.
        """
        scales = np.full(space.dim, scale) if space.half_width is None else scale / space.half_width
        constant = [scale * space.constant] if space.intercept else []
        if space.center is None:
            return cls(scales, np.append(np.zeros(space.dim), constant) if space.intercept else np.empty(0))
        return cls(scales, np.append(-space.center * scales, constant))

    @property
    def intercept(self) -> bool:
        """Whether the intercept depends on theta."""
        return self.combination.size > 0


def require_finite_units(longest: float, space: FeatureSpace, labels: PublicLabels) -> None:
    """Check that coefficients of norm ``longest``, and predictions for rows within the bounds, do not overflow.

    A prediction is the sum of coef_j x_j and the intercept, itself a sum. Each term must be finite.

    Raises
    ------
    ParameterError
        If a term could exceed 1e300 in the user's units.
    """
    units = Units.of(space, labels.scale)
    entries = np.full(space.dim, space.norm) if space.bounds is None else np.abs(np.array(space.bounds)).max(axis=1)
    terms = (
        np.log10(units.scales).max(),
        (np.log10(units.scales) + np.log10(np.maximum(entries, 1e-300))).max() + np.log10(space.dim),
        np.log10(np.abs(units.combination).max(initial=1e-300)) + np.log10(space.size),
    )
    if not np.log10(max(longest, 1e-300)) + max(terms) <= np.log10(LARGEST):
        scaled = "" if labels.scale == 1 else f", {arg('label_range')}"
        raise ParameterError(
            f"{arg('bounds')} or {arg('feature_norm')}{scaled} and the noise of the plan are too extreme together: "
            f"coefficients of norm up to {longest:.3g}, scaled to the units of X and y, could overflow.",
            remedy=f"Rescale X{' and y' * bool(scaled)}, so that their bounds are near 1.",
        )
