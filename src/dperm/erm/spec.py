# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Public constants of a learning problem, the only numbers available to a theorem."""

import math
from dataclasses import dataclass, replace

from dperm import checks
from dperm.erm.loss import Loss
from dperm.errors import ParameterError
from dperm.presentation.spelling import arg

LAMBDA = "It is Lambda = 1/C, in sum scale."


@dataclass(frozen=True)
class ProblemSpec:
    """Minimise J(theta) = sum_i w_i f(x_i'theta, y_i) + (Lambda/2) ||theta||^2 over ||x_i|| <= R (C0.2, C0.3).

    With K scores theta is a matrix with a row for each, written as one vector row by row, and x_i'theta is a vector.

    Attributes
    ----------
    loss
        f, convex in the scores.
    radius
        R, the bound on ||x||, the constant column included (T54).
    dim
        Number of all coefficients, the intercepts included.
    n
        Public number of records; None if it is private and not declared.
    regularization
        Lambda > 0; None if the method chooses it.
    clip
        Largest |f'| ||x|| of a record before its weight (T44); None for no clipping. The squared loss has no gradient
        bound without it.
    weight
        Largest weight of a class.

    Raises
    ------
    ParameterError
        If a number is out of range.

    Notes
    -----
    =========================  ==================================================================
    edge case                  result
    =========================  ==================================================================
    0, negative, inf or nan    ParameterError for radius, dim, n, regularization, clip and weight
    clip above every gradient  accepted; no gradient is clipped
    clip=None, squared         accepted; `lipschitz` raises ParameterError
    =========================  ==================================================================
    """

    loss: Loss
    radius: float
    dim: int
    n: int | None = None
    regularization: float | None = None
    clip: float | None = None
    weight: float = 1.0

    def __post_init__(self) -> None:
        """Check all numbers and convert them to Python floats and ints."""
        set_field = object.__setattr__
        set_field(self, "radius", checks.between("radius", self.radius, 1e-101, 1e101))
        set_field(self, "dim", checks.count("dim", self.dim))
        if self.dim % self.outputs:
            raise ParameterError(
                argument="dim",
                rule=f"must be a multiple of the number of scores of a record, {self.outputs}",
                got=str(self.dim),
            )
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
    def outputs(self) -> int:
        """Number of scores of a record."""
        return self.loss.outputs

    @property
    def width(self) -> int:
        """Number of coefficients of one score: the columns and the constant."""
        return self.dim // self.outputs

    @property
    def lipschitz(self) -> float:
        """L, the largest gradient norm of one record's loss: w R sup |f'|, or w times the clip (T44); rounded up."""
        longest = min(self.radius * self.loss.slope, math.inf if self.clip is None else self.clip)
        if math.isinf(longest):
            raise ParameterError(
                argument="clip",
                rule=f"must be given for the loss {self.loss.name!r}: its gradients have no bound of their own (T44)",
            )
        return self.weight * longest * (1 + 2.0**-51)

    @property
    def is_clipped(self) -> bool:
        """Whether the clip is below the longest gradient."""
        return self.clip is not None and self.clip < self.radius * self.loss.slope

    @property
    def smoothness(self) -> float:
        """Beta, the largest eigenvalue of one record's Hessian, w R^2 sup f'', also if clipped (T44); rounded up."""
        return self.weight * self.radius**2 * self.loss.curvature * (1 + 2.0**-50)

    @property
    def bend(self) -> float:
        """Bound on the mean of a record's `Loss.rank` Hessian eigenvalues, rounded up (T37, T53a)."""
        return self.weight * self.radius**2 * self.loss.bend * (1 + 2.0**-50)

    @property
    def strength(self) -> float:
        """Lambda; raises ParameterError if it has not been chosen."""
        if self.regularization is None:
            raise ParameterError(
                argument="regularization", rule="must be set", remedy=f"Set {arg('C')}, or let a method plan it."
            )
        return self.regularization

    def with_regularization(self, regularization: float) -> "ProblemSpec":
        """Return the same problem with this Lambda."""
        return replace(self, regularization=regularization)

    def clipped(self, clip: float | None) -> "ProblemSpec":
        """Return the same problem with the gradient of each record clipped at ``clip`` (T44)."""
        return replace(self, clip=clip)
