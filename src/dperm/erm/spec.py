# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""The public constants of a learning problem: all that a theorem may use."""

import math
from dataclasses import dataclass, replace

from dperm import checks
from dperm.erm.losses import Loss
from dperm.errors import ParameterError

LAMBDA = "It is Lambda = 1/C, in sum scale."


@dataclass(frozen=True)
class ProblemSpec:
    """Minimise J(theta) = sum_i w_i f_i(y_i x_i'theta) + (Lambda/2) ||theta||^2 over ||x_i|| <= R (C0.2, C0.3).

    Attributes
    ----------
    loss
        f, convex and decreasing in the margin: every loss here is monotone in the sense of T40.
    radius
        R, the bound on ||x||, the constant column included (T54).
    dim
        Number of coefficients, the intercept included.
    n
        Public number of records; None where it is private and was not declared.
    regularization
        Lambda > 0; None where the method is to choose it.
    clip
        Largest |f'| ||x|| of a record before its weight (T44); None for no clipping.
    weight
        The largest weight of a class.
    """

    loss: Loss
    radius: float
    dim: int
    n: int | None = None
    regularization: float | None = None
    clip: float | None = None
    weight: float = 1.0

    def __post_init__(self) -> None:
        """Check the numbers."""
        set_field = object.__setattr__
        set_field(self, "radius", checks.between("radius", self.radius, 1e-101, 1e101))
        set_field(self, "dim", checks.count("dim", self.dim))
        if self.n is not None:
            set_field(self, "n", checks.count("n", self.n, "It is the public number of records."))
        if self.regularization is not None:
            set_field(
                self, "regularization", checks.between("regularization", self.regularization, 1e-30, 1e30, LAMBDA)
            )
        if self.clip is not None:
            set_field(self, "clip", checks.between("clip", self.clip, 1e-200, 1e200))
        set_field(self, "weight", checks.between("weight", self.weight, 1e-30, 1e30))

    @property
    def lipschitz(self) -> float:
        """L, rounded up: the largest gradient norm of one record's loss: w R sup |f'|, or w times the clip (T44)."""
        slope = self.radius * self.loss.slope
        return self.weight * min(slope, math.inf if self.clip is None else self.clip) * (1 + 2.0**-51)

    @property
    def smoothness(self) -> float:
        """Beta, rounded up: the largest eigenvalue of one record's Hessian, w R^2 sup f''; clipping leaves it (T44)."""
        return self.weight * self.radius**2 * self.loss.curvature * (1 + 2.0**-50)

    @property
    def strength(self) -> float:
        """Lambda, which has to be known by now."""
        if self.regularization is None:
            raise ParameterError("regularization has not been chosen: give C, or let a method plan it.")
        return self.regularization

    def with_regularization(self, regularization: float) -> "ProblemSpec":
        """The same problem with this Lambda."""
        return replace(self, regularization=regularization)

    def clipped(self, clip: float | None) -> "ProblemSpec":
        """The same problem with the gradient of each record clipped at ``clip`` (T44)."""
        return replace(self, clip=clip)
