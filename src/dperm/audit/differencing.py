# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Reconstruction by differencing (A11): a record, features and target, read off exact coefficients.

Paige et al. 2020 reconstruct genotypes from risk scores that were published before and after a patient came. The
attacker holds coefficients that were fitted without noise, and knows the others: of ridge regression their second
moments, of logistic regression their records. Rows have a constant as their last entry (T54), which fixes the scale.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit

from dperm import checks
from dperm.audit.arrays import numbers
from dperm.errors import ParameterError
from dperm.noise.arrays import Floats

ULP = float(np.finfo(np.float64).eps)
DIGITS = 100.0
"""A record that the model fits so well that fewer than two digits of its part are left after rounding is not told."""
FARTHEST = 1e6
"""No feature is so many times as large as the root of the sum of the others' squares."""
CONSTANT = "It is the last entry of every row: without it the scale of a record cannot be told."


@dataclass(frozen=True)
class Reconstruction:
    """A record as the attacker has it; NaN where the coefficients say nothing, of one that the model fits anyway.

    Attributes
    ----------
    features
        The row without its constant.
    target
        The number that was learned from, or the class, -1 or +1.
    """

    features: Floats
    target: float

    def nearest(self, values: Sequence[float]) -> Floats:
        """Each feature as the nearest of the ``values`` it can have, such as 0, 1, 2 of a genotype; NaN stays NaN."""
        known = numbers("values", values)
        if not len(known):
            raise ParameterError("values must hold one value at least that a feature can have, got none.")
        nearest = known[np.abs(self.features[:, np.newaxis] - known).argmin(axis=1)]
        return np.where(np.isnan(self.features), np.nan, nearest)


def ridge_record(before: ArrayLike, after: ArrayLike, moments: ArrayLike, *, constant: float = 1.0) -> Reconstruction:
    """The record that came between two ridge regressions: A (w2 - w1) = x (y - x'w2), A = X'X + Lambda I.

    Parameters
    ----------
    before, after
        Coefficients without and with the record, the constant's last.
    moments
        A: second moments of the rows of the others plus the regularisation.
    constant
        Last entry of every row.

    Of equal models nothing is told: features and target are NaN.

    Raises
    ------
    ParameterError
        If the features come out far beyond those of the others: then the last entry is not the constant.
    """
    constant = checks.positive("constant", constant, CONSTANT)
    first, second = numbers("before", before), numbers("after", after)
    if len(first) != len(second) or len(first) < 2:
        raise ParameterError(
            f"before and after must have one size, two or more with the constant's, got {len(first)} and {len(second)}."
        )
    matrix = _square("moments", moments, len(second))
    sizes = np.linalg.norm(first) + np.linalg.norm(second)
    rounding = ULP * len(matrix) * float(np.linalg.norm(matrix) * sizes)  # of solvers, too: they are backward stable
    row, residual = _row(matrix @ (second - first), constant, rounding)
    _check_constant(row, matrix, constant)
    return Reconstruction(row[:-1], float(residual + row @ second))


def logistic_record(
    coefficients: ArrayLike, rows: ArrayLike, signs: ArrayLike, *, regularization: float, constant: float = 1.0
) -> Reconstruction:
    """The record beside known others of one logistic regression: at the minimum all gradients add up to 0.

    -y s(-y x'w) x = -(sum over the others of -y_i s(-y_i x_i'w) x_i + Lambda w), s the logistic function; the sign of
    the constant's entry is -y.

    Parameters
    ----------
    coefficients
        The minimiser of sum_i log(1 + exp(-y_i x_i'w)) + (Lambda/2) ||w||^2, the constant's last.
    rows, signs
        The others: rows with their constant, and labels -1 or +1.
    regularization
        Lambda, in sum scale.
    constant
        Last entry of every row.
    """
    constant = checks.positive("constant", constant, CONSTANT)
    strength = checks.nonnegative("regularization", regularization)
    w, x, y = numbers("coefficients", coefficients), numbers("rows", rows, dims=2), numbers("signs", signs)
    if len(w) < 2 or x.shape[1] != len(w):
        raise ParameterError(
            f"coefficients must be two or more with the constant's, and rows have as many columns, got {len(w)} and "
            f"{x.shape[1]}."
        )
    if len(y) != len(x) or not np.isin(y, (-1.0, 1.0)).all():
        raise ParameterError("signs must hold -1 or +1 for each row.")
    others = -(y * expit(-y * (x @ w))) @ x
    rounding = ULP * (len(x) + len(w)) * float(expit(-y * (x @ w)) @ np.abs(x[:, -1]) + strength * abs(w[-1]))
    row, slope = _row(-(others + strength * w), constant, rounding)
    return Reconstruction(row[:-1], float(-np.sign(slope)))


def _row(multiple: Floats, constant: float, rounding: float) -> tuple[Floats, float]:
    """The row whose multiple this is, by its last entry, and the factor; NaN if that may be all rounding."""
    factor = float(multiple[-1]) / constant
    if abs(float(multiple[-1])) <= DIGITS * rounding:
        return np.full(len(multiple), np.nan), np.nan
    return multiple / factor, factor


def _check_constant(row: Floats, moments: Floats, constant: float) -> None:
    """Refuse a record that no others are like: something else than the constant stands last."""
    usual = np.sqrt(np.maximum(np.diagonal(moments), constant**2))
    if (np.abs(row) > FARTHEST * usual).any():
        raise ParameterError(
            f"before, after and moments must have the constant last: with constant={constant:g} there the record's "
            f"features would be more than {FARTHEST:g} times those of all others. Put the constant's entry last."
        )


def _square(name: str, values: ArrayLike, size: int) -> Floats:
    found = numbers(name, values, dims=2)
    if found.shape != (size, size):
        raise ParameterError(f"{name} must have {size} rows and columns, as coefficients have, got {found.shape}.")
    return found
