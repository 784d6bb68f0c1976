# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Public geometry of the features: bounds of the columns, and the resulting bound on the norm of a row."""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from dperm import checks
from dperm.checks import shown, shown_few
from dperm.data.arrays import Floats
from dperm.errors import ParameterError
from dperm.presentation.spelling import arg

NORM = "Rows are scaled down to this L2 norm; it must not be taken from the data."
PUBLIC = "Bounds must not be taken from the data."
MOST_DIM = 2**26
INTERCEPT_SHARE = 0.25
NARROWEST = 1e-100
LARGEST_COEF = 1e150


@dataclass(frozen=True)
class FeatureSpace:
    """Public geometry of the features: bounds of the columns, a bound on the norm of rows, and a constant column (T54).

    A row x is transformed in this order:

    1. With bounds, each entry is clipped to its column's bounds and mapped affinely to [-1, 1].
    2. With a norm, a row whose L2 norm exceeds ``norm`` is scaled down to this norm.
    3. With an intercept, the constant a is appended to the row.

    The intercept is regularized like any other coefficient. Otherwise the objective would not be strongly convex, and
    T30 and T35-T41 would not apply.

    Attributes
    ----------
    dim
        Number of columns of X.
    norm
        Public bound on the L2 norm of a row, applied after the columns are scaled; None for no bound on the norm.
    bounds
        Public (low, high) for each column; None for no bounds.
    intercept
        Whether there is a constant column. Its constant a is a quarter of ``row_norm`` if ``norm`` is given, and 1
        otherwise. Without bounds, multiplying the features and ``norm`` by a number therefore multiplies the constant
        by this number too. A larger constant would increase ``radius``, and with it the noise of every coefficient.
        With a smaller constant, regularization would shrink the intercept more.

    Raises
    ------
    ParameterError
        If there is neither a norm nor bounds, or if an argument is invalid.

    Notes
    -----
    *Guarantees.* For all data, every transformed row x satisfies ||x|| <= R, where R is ``radius``.

    Examples
    --------
    >>> from dperm.data.space import FeatureSpace
    >>> FeatureSpace(2, bounds=((0, 100), (0, 1))).row_norm
    1.4142135623730951
    """

    dim: int
    norm: float | None = None
    bounds: tuple[tuple[float, float], ...] | None = None
    intercept: bool = True

    def __post_init__(self) -> None:
        """Check the fields, and that there is a norm or bounds."""
        set_field = object.__setattr__
        set_field(self, "dim", checks.count("dim", self.dim, "It is the number of features.", most=MOST_DIM))
        if self.norm is None and self.bounds is None:
            raise ParameterError(
                f"{arg('feature_norm')} or {arg('bounds')} must be given: without a public bound nothing is proved."
            )
        if self.norm is not None:
            set_field(self, "norm", checks.between("feature_norm", self.norm, 1e-100, 1e100, NORM))
        if self.bounds is not None:
            set_field(self, "bounds", _checked_bounds(self.bounds, self.dim))

    @property
    def size(self) -> int:
        """Number of coefficients: one for each column, and one for the intercept if there is one."""
        return self.dim + self.intercept

    @property
    def constant(self) -> float:
        """Entry a of the constant column; 0 without an intercept."""
        if not self.intercept:
            return 0.0
        return 1.0 if self.norm is None else INTERCEPT_SHARE * self.row_norm

    @cached_property
    def row_norm(self) -> float:
        """Bound on the norm of a row without the constant: the smaller of ``norm`` and, with bounds, sqrt(``dim``)."""
        sphere = math.sqrt(self.dim) if self.bounds is not None else math.inf
        return min(sphere, math.inf if self.norm is None else self.norm)

    @cached_property
    def radius(self) -> float:
        """Bound R on the norm of a row with the constant, rounded up (T54)."""
        return math.hypot(self.row_norm, self.constant) * (1 + 2.0**-50)

    @cached_property
    def center(self) -> Floats | None:
        """Middle of each column's bounds. None without bounds or if all middles are 0; sparse data then stay sparse."""
        if self.bounds is None:
            return None
        middle = np.array([low / 2 + high / 2 for low, high in self.bounds])
        return middle if middle.any() else None

    @cached_property
    def half_width(self) -> Floats | None:
        """Half the width of each column's bounds; None without bounds."""
        return None if self.bounds is None else np.array([high / 2 - low / 2 for low, high in self.bounds])

    @cached_property
    def scale(self) -> Floats | None:
        """Scale factor of each column, 1 / ``half_width``; None without bounds, or if all factors are 1."""
        return None if self.half_width is None or (self.half_width == 1).all() else 1 / self.half_width

    def coefficients(self, theta: Floats) -> tuple[Floats, float]:
        """Return the coefficients and the intercept in the units of the original columns.

        The conversion is post-processing and costs no privacy (T3).

        Parameters
        ----------
        theta
            Coefficients for the transformed rows; with an intercept, the coefficient of the constant column comes last.

        Returns
        -------
        tuple[ndarray, float]
            Coefficients and intercept.
        """
        weights = theta[: self.dim].copy()
        offset = float(theta[self.dim] * self.constant) if self.intercept else 0.0
        if self.half_width is not None:
            weights /= self.half_width
        if self.center is not None:
            offset -= float(weights @ self.center)
        return weights, offset

    def theta(self, coef: ArrayLike, intercept: float = 0.0) -> Floats:
        """Return the coefficients for the transformed rows. This method is the inverse of `coefficients`.

        For rows within the bounds and the norm, the returned coefficients give the same scores as ``coef`` and
        ``intercept``. Other rows are clipped and scaled down before the returned coefficients are applied.

        Parameters
        ----------
        coef
            Coefficients in the units of the original columns.
        intercept
            Intercept in the units of the original columns.

        Returns
        -------
        ndarray
            Coefficients for the transformed rows; with an intercept, the coefficient of the constant column comes last.

        Raises
        ------
        ParameterError
            If an argument is invalid, or if an intercept is needed and there is no constant column. Bounds that are not
            symmetric about 0 need an intercept, since they move the origin.
        """
        weights = self._checked_coef(coef)
        offset = checks.between("intercept", intercept, -LARGEST_COEF, LARGEST_COEF)
        parts = np.append(weights * (0.0 if self.center is None else self.center), offset)
        scaled = weights if self.half_width is None else weights * self.half_width
        if self.intercept:
            return np.append(scaled, parts.sum() / self.constant)
        if abs(parts.sum()) > 1e-12 * np.abs(parts).sum():
            raise ParameterError(
                argument="intercept",
                rule="must be 0 where there is no constant column, after the shift by bounds that are not symmetric",
                remedy="Give intercept=True to FeatureSpace, or symmetric bounds and no intercept.",
            )
        return scaled

    def _checked_coef(self, coef: ArrayLike) -> Floats:
        given = np.asarray(coef)
        if given.shape != (self.dim,) or given.dtype.kind not in "iuf":
            rule = f"must have a number for each of the {self.dim} columns"
            raise ParameterError(argument="coef", rule=rule, got=shown_few(coef))
        if not (np.abs(given) <= LARGEST_COEF).all():
            rule = f"must be finite numbers of at most {LARGEST_COEF:g} in size"
            raise ParameterError(argument="coef", rule=rule)
        return given.astype(np.float64)


def _checked_bounds(bounds: object, dim: int) -> tuple[tuple[float, float], ...]:
    """Return one finite (low, high) with low < high for each column."""
    pairs = tuple(bounds) if isinstance(bounds, tuple | list) else ()
    if len(pairs) != dim:
        rule = f"must have a (low, high) for each of the {dim} columns"
        raise ParameterError(argument="bounds", rule=rule, got=shown(bounds))
    return tuple(checked_pair(f"bounds[{place}]", pair) for place, pair in enumerate(pairs))


def checked_pair(where: str, pair: object) -> tuple[float, float]:
    """Return ``pair`` as finite numbers (low, high).

    Parameters
    ----------
    where
        Name of the argument in messages.
    pair
        Tuple, list or array of two numbers.

    Raises
    ------
    ParameterError
        If ``pair`` is not a pair of finite numbers, if low >= high, or if high - low is below 1e-100.
    """
    ends = tuple(pair) if isinstance(pair, tuple | list | np.ndarray) else ()
    if len(ends) != 2:
        raise ParameterError(argument=where, rule="must be a pair (low, high)", got=shown_few(pair), remedy=PUBLIC)
    if any(isinstance(end, float | np.floating) and not math.isfinite(end) for end in ends):
        rule = "must be a pair of which both ends are finite"
        raise ParameterError(argument=where, rule=rule, got=shown(pair), remedy=PUBLIC)
    try:
        low, high = (checks.between(where, end, -1e100, 1e100) for end in ends)
    except ParameterError:
        rule = "must be a pair (low, high) of numbers in [-1e+100, 1e+100]"
        raise ParameterError(argument=where, rule=rule, got=shown_few(pair), remedy=PUBLIC) from None
    if not low < high:
        raise ParameterError(argument=where, rule="must have low less than high", got=shown(pair))
    if not high - low >= NARROWEST:
        rule = f"must have high - low of at least {NARROWEST:g}"
        raise ParameterError(argument=where, rule=rule, got=shown(pair))
    return low, high
