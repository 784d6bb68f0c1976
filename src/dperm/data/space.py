# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""The public geometry of the features: what every row is made to keep, and how large a row can then be."""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from dperm import checks
from dperm.checks import shown, shown_few
from dperm.data.arrays import Floats
from dperm.errors import ParameterError

NORM = "Rows are scaled down to this L2 norm; it must not be taken from the data."
PUBLIC = "Bounds must not be taken from the data."
MOST_DIM = 2**26
INTERCEPT_SHARE = 0.25
NARROWEST = 1e-100
LARGEST_COEF = 1e150


@dataclass(frozen=True)
class FeatureSpace:
    """Columns scaled to [-1, 1] by public bounds, rows scaled down to a public norm, and a constant column (T54).

    A row x of the user's becomes, in this order: each entry clipped to its column's bounds and mapped affinely to
    [-1, 1] (if there are bounds); the row scaled down to L2 norm ``norm`` if it is longer (if there is a norm); the
    constant a appended (if there is an intercept). So ||x|| <= R = ``radius``, whatever the data are, and the
    intercept is a coefficient like any other, regularised like any other: without that there is no strong convexity,
    and T30 and T35-T41 are void.

    Attributes
    ----------
    dim
        Number of columns of X.
    norm
        Public L2 norm of the rows, measured after the columns were scaled.
    bounds
        Public (low, high) for each column.
    intercept
        Whether there is a constant column. Its constant a is a quarter of the bound on the rows, or 1 beside columns
        that are only scaled: multiplying features and norm by a number changes no prediction. A larger constant
        would raise R, and so the noise of every coefficient; a smaller one would let regularisation hold the intercept
        down.
    """

    dim: int
    norm: float | None = None
    bounds: tuple[tuple[float, float], ...] | None = None
    intercept: bool = True

    def __post_init__(self) -> None:
        """Check; one of the two bounds has to be there."""
        set_field = object.__setattr__
        set_field(self, "dim", checks.count("dim", self.dim, "It is the number of features.", most=MOST_DIM))
        if self.norm is None and self.bounds is None:
            raise ParameterError("feature_norm or bounds must be given: without a public bound nothing is proved.")
        if self.norm is not None:
            set_field(self, "norm", checks.between("feature_norm", self.norm, 1e-100, 1e100, NORM))
        if self.bounds is not None:
            set_field(self, "bounds", _checked_bounds(self.bounds, self.dim))

    @property
    def size(self) -> int:
        """Number of coefficients: a column each, and the intercept."""
        return self.dim + self.intercept

    @property
    def constant(self) -> float:
        """The entry a of the constant column; 0 without an intercept."""
        if not self.intercept:
            return 0.0
        return 1.0 if self.norm is None else INTERCEPT_SHARE * self.row_norm

    @cached_property
    def row_norm(self) -> float:
        """Bound on the norm of a row without the constant: sqrt(d) of columns in [-1, 1], or ``norm`` if smaller."""
        sphere = math.sqrt(self.dim) if self.bounds is not None else math.inf
        return min(sphere, math.inf if self.norm is None else self.norm)

    @cached_property
    def radius(self) -> float:
        """R: bound on the norm of a row with the constant, rounded up (T54)."""
        return math.hypot(self.row_norm, self.constant) * (1 + 2.0**-50)

    @cached_property
    def center(self) -> Floats | None:
        """The middle of each column's bounds; None if all are 0 (sparse data can stay sparse)."""
        if self.bounds is None:
            return None
        middle = np.array([low / 2 + high / 2 for low, high in self.bounds])
        return middle if middle.any() else None

    @cached_property
    def half_width(self) -> Floats | None:
        """Half the width of each column's bounds."""
        return None if self.bounds is None else np.array([high / 2 - low / 2 for low, high in self.bounds])

    @cached_property
    def scale(self) -> Floats | None:
        """One over it, which columns are multiplied by; None if all are 1."""
        return None if self.half_width is None or (self.half_width == 1).all() else 1 / self.half_width

    def coefficients(self, theta: Floats) -> tuple[Floats, float]:
        """Coefficients and intercept in the user's units, from those of the bounded rows: post-processing (T3)."""
        weights = theta[: self.dim].copy()
        offset = float(theta[self.dim] * self.constant) if self.intercept else 0.0
        if self.half_width is not None:
            weights /= self.half_width
        if self.center is not None:
            offset -= float(weights @ self.center)
        return weights, offset

    def theta(self, coef: ArrayLike, intercept: float = 0.0) -> Floats:
        """Coefficients for the bounded rows, from those in the user's units: what `coefficients` undoes.

        Scores are the same for rows within the bounds and the norm; other rows are moved there first.

        Raises
        ------
        ParameterError
            If an intercept is needed and there is no constant column: bounds that are not symmetric move the origin.
        """
        weights = self._checked_coef(coef)
        offset = checks.between("intercept", intercept, -LARGEST_COEF, LARGEST_COEF)
        parts = np.append(weights * (0.0 if self.center is None else self.center), offset)
        scaled = weights if self.half_width is None else weights * self.half_width
        if self.intercept:
            return np.append(scaled, parts.sum() / self.constant)
        if abs(parts.sum()) > 1e-12 * np.abs(parts).sum():
            raise ParameterError(
                "intercept must be 0, or undo what bounds that are not symmetric do to it, where there is no constant "
                "column: give intercept=True to FeatureSpace, or symmetric bounds and no intercept."
            )
        return scaled

    def _checked_coef(self, coef: ArrayLike) -> Floats:
        given = np.asarray(coef)
        if given.shape != (self.dim,) or given.dtype.kind not in "iuf":
            raise ParameterError(f"coef must have a number for each of the {self.dim} columns, got {shown_few(coef)}.")
        if not (np.abs(given) <= LARGEST_COEF).all():
            raise ParameterError(f"coef must be finite numbers of at most {LARGEST_COEF:g} in size.")
        return given.astype(np.float64)


def _checked_bounds(bounds: object, dim: int) -> tuple[tuple[float, float], ...]:
    """One finite (low, high) with low < high for each column."""
    pairs = tuple(bounds) if isinstance(bounds, tuple | list) else ()
    if len(pairs) != dim:
        raise ParameterError(f"bounds must have a (low, high) for each of the {dim} columns, got {shown(bounds)}.")
    return tuple(checked_pair(f"bounds[{place}]", pair) for place, pair in enumerate(pairs))


def checked_pair(where: str, pair: object) -> tuple[float, float]:
    """``pair`` as (low, high), if it is one of finite public numbers; ``where`` is the user's name for it."""
    ends = tuple(pair) if isinstance(pair, tuple | list | np.ndarray) else ()
    if len(ends) != 2:
        raise ParameterError(f"{where} must be a pair (low, high), got {shown_few(pair)}. {PUBLIC}")
    if any(isinstance(end, float | np.floating) and not math.isfinite(end) for end in ends):
        raise ParameterError(f"{where} must be a pair of which both ends are finite, got {shown(pair)}. {PUBLIC}")
    low, high = (checks.between(where, end, -1e100, 1e100, PUBLIC) for end in ends)
    if not low < high:
        raise ParameterError(f"{where}: low must be less than high, got {shown(pair)}.")
    if not high - low >= NARROWEST:
        raise ParameterError(f"{where}: high - low must be at least {NARROWEST:g}, got {shown(pair)}.")
    return low, high
