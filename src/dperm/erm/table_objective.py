# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Regularised objective of bounded data and its derivatives, in exact passes over the rows wherever they are (T203).

Values, gradients and second derivatives are sums of integers, so they are the same for every cut of the table into row
groups and for every engine. Gradients are as accurate as doubles allow (T202); curvature is rough, because no guarantee
rests on it (T205).
"""

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from dperm.data.arrays import Floats
from dperm.data.bounded import BoundedData
from dperm.erm.exact_sums import (
    SCORE_ACCURACY,
    SLOPE_DIGITS,
    SLOPE_SLICES,
    Integers,
    SlicedCoefficients,
    doubles_of,
    exponent,
)
from dperm.erm.kernels import CurvatureKernel, GradientKernel, ProductKernel, ValueKernel, root_exponent
from dperm.erm.rounding import slope_bound
from dperm.erm.spec import ProblemSpec

ROUGH = 20
"""Accuracy of a direction in curvature products, in binary digits."""


LEAST_SIZE = -10
"""Exponent of the smallest size of a column, in units of the grid, for which its scale is chosen."""


class Digits(NamedTuple):
    """Digits of a gradient: binary digits of the coefficients, and slices of a slope.

    Only `EXACT` gradients have the error bound of T202. Rough ones are sums of integers too, so they are equal for
    every cut of the table.
    """

    accuracy: int
    slices: int


class Expansion(NamedTuple):
    """Gradient and second derivatives of J, and the share of the records whose loss has a second derivative above 0."""

    gradient: Floats
    hessian: Floats
    curved: float


EXACT = Digits(SCORE_ACCURACY, SLOPE_SLICES)
MIDDLE = Digits(40, 2)
FIRST = Digits(20, 1)


def rough_error(spec: ProblemSpec, length: float, digits: Digits) -> float:
    """Return the error of a record's rough gradient, by and large, at coefficients of norm ``length``."""
    scores = spec.loss.steepness * spec.radius * length * 2.0**-digits.accuracy
    slopes = slope_bound(spec, length) / spec.weight * 2.0 ** (-SLOPE_DIGITS * digits.slices)
    return spec.weight * spec.radius * (scores + slopes)


def gradient_kernel(
    data: BoundedData, spec: ProblemSpec, theta: Floats, low: Floats | None = None, *, digits: Digits = EXACT
) -> GradientKernel:
    """Return the kernel of the sum of clipped gradients at ``theta``, or at ``theta + low``."""
    top = exponent(slope_bound(spec, float(np.linalg.norm(theta)), data.space.constant))
    coefficients = SlicedCoefficients.of(data.grid, theta, spec.outputs, accuracy=digits.accuracy, low=low)
    return GradientKernel(data.target, spec.loss, spec.clip, coefficients, top=top, slices=digits.slices)


@dataclass(frozen=True)
class TableObjective:
    """J(theta) = sum_i w_i f(x_i'theta, y_i) + (Lambda/2) ||theta||^2 + linear'theta, computed in passes.

    It has the methods of `dperm.erm.objective.Objective`. ``stride`` is 1: all rows take part.
    """

    data: BoundedData
    spec: ProblemSpec
    linear: Floats
    stride: int = 1
    caution: float = 0.0

    def value(self, theta: Floats) -> float:
        """Return J(theta)."""
        size = float(np.linalg.norm(theta))
        most = self.spec.weight * (self.spec.loss.at_zero + self._slope(size) * self.spec.radius * size)
        coefficients = SlicedCoefficients.of(self.data.grid, theta, self.spec.outputs)
        kernel = ValueKernel(self.data.target, self.spec.loss, self.spec.clip, coefficients, top=exponent(most))
        losses = kernel.value(self.data.sums(kernel))
        return losses + float(theta @ (self.spec.strength / 2 * theta + self.linear))

    def gradient(self, theta: Floats, low: Floats | None = None, *, digits: Digits = EXACT) -> Floats:
        """Return the gradient of J at ``theta``, or at ``theta + low`` for digits below the last ones of ``theta``."""
        kernel = gradient_kernel(self.data, self.spec, theta, low, digits=digits)
        found = kernel.gradient(self.data.sums(kernel)) + self.spec.strength * theta + self.linear
        return found if low is None else found + self.spec.strength * low

    def gradient_and_hessian(
        self, theta: Floats, like: Floats, *, bits: int = 6, digits: Digits = EXACT
    ) -> "Expansion":
        """Return the gradient and the second derivatives at ``theta``, in one pass, for a loss of one score.

        Parameters
        ----------
        theta
            Coefficients.
        like
            Hessian of a sample or of other coefficients, from which the scale of each column is taken.
        bits
            Binary digits of the root mean square of a scaled column, whose entries are rounded to integers.
        digits
            Digits of the gradient.
        """
        bend_top = exponent(self.spec.weight * self.spec.loss.curvature)
        plain = gradient_kernel(self.data, self.spec, theta, digits=digits)
        powers = self._powers(like, bend_top, bits)
        kernel = replace(plain, powers=powers, bend_top=bend_top, caution=self.caution)
        sums = self.data.sums(kernel)
        hessian = kernel.hessian(sums)
        hessian[np.diag_indices(len(hessian))] += self.spec.strength
        gradient = kernel.gradient(sums) + self.spec.strength * theta + self.linear
        return Expansion(gradient, hessian, float(doubles_of(sums["curved"])[0]) / max(self.data.rows, 1))

    def _powers(self, like: Floats, top: int, bits: int) -> Integers:
        """Return the exponents of the columns' scales, for second derivatives of at most 2^top."""
        squares = (like.diagonal() - self.spec.strength) / max(self.data.rows, 1)
        sizes = np.sqrt(np.maximum(squares, 0.0)) / (self.data.grid.unit * 2.0 ** root_exponent(top))
        largest = np.maximum(np.frexp(sizes)[1], LEAST_SIZE)
        return np.asarray(bits - largest, dtype=np.int64)

    def hessian(self, theta: Floats) -> Floats:
        """Return the matrix of second derivatives, for a loss of one score."""
        coefficients = SlicedCoefficients.of(self.data.grid, theta, self.spec.outputs)
        kernel = CurvatureKernel(
            self.data.target,
            self.spec.loss,
            self.spec.clip,
            coefficients,
            top=exponent(self.spec.weight * self.spec.loss.curvature),
            caution=self.caution,
        )
        hessian = kernel.hessian(self.data.sums(kernel))
        hessian[np.diag_indices(len(hessian))] += self.spec.strength
        return hessian

    def bends(self, theta: Floats) -> Floats:
        """Return ``theta``: second derivatives of the records are computed in each product."""
        return theta

    def hessian_product(self, bends: Floats, vector: Floats) -> Floats:
        """Return the second derivatives at the coefficients ``bends`` times ``vector``."""
        spec, grid = self.spec, self.data.grid
        most = spec.weight * spec.loss.curvature * spec.radius * float(np.linalg.norm(vector))
        kernel = ProductKernel(
            self.data.target,
            spec.loss,
            spec.clip,
            SlicedCoefficients.of(grid, bends, spec.outputs),
            vector=SlicedCoefficients.of(grid, vector, spec.outputs, accuracy=ROUGH),
            top=exponent(2 * most),
            caution=self.caution,
        )
        return kernel.product(self.data.sums(kernel)) + spec.strength * vector

    def _slope(self, length: float) -> float:
        return slope_bound(self.spec, length) / self.spec.weight
