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
from dperm.errors import ParameterError
from dperm.noise.arrays import Floats

CONSTANT = "It is the last entry of every row: without it the scale of a record cannot be told."


@dataclass(frozen=True)
class Reconstruction:
    """A record as the attacker has it; NaN where the coefficients say nothing.

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
        """Each feature as the nearest of the ``values`` it can have, such as 0, 1, 2 of a genotype."""
        known = np.array(values, dtype=np.float64)
        return np.asarray(known[np.abs(self.features[:, np.newaxis] - known).argmin(axis=1)])


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
    """
    constant = checks.positive("constant", constant, CONSTANT)
    first, second = _vector("before", before), _vector("after", after)
    matrix = _matrix("moments", moments, len(second))
    if len(first) != len(second) or len(matrix) != len(second):
        raise ParameterError("before, after and moments must be of one size, the constant's coefficient included.")
    row, residual = _row(matrix @ (second - first), constant)
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
    w = _vector("coefficients", coefficients)
    x, y = _matrix("rows", rows, len(w)), _vector("signs", signs)
    if len(y) != len(x) or not np.isin(y, (-1.0, 1.0)).all():
        raise ParameterError("signs must hold -1 or +1 for each row.")
    others = -(y * expit(-y * (x @ w))) @ x
    row, slope = _row(-(others + strength * w), constant)
    return Reconstruction(row[:-1], float(-np.sign(slope)))


def _row(multiple: Floats, constant: float) -> tuple[Floats, float]:
    """The row whose multiple this is, by its last entry, and the factor."""
    factor = float(multiple[-1]) / constant
    if factor == 0:
        return np.full(len(multiple), np.nan), np.nan
    return multiple / factor, factor


def _vector(name: str, values: ArrayLike) -> Floats:
    found = np.asarray(values, dtype=np.float64)
    if found.ndim != 1 or not len(found) or not np.isfinite(found).all():
        raise ParameterError(f"{name} must be a vector of finite numbers.")
    return found


def _matrix(name: str, values: ArrayLike, columns: int) -> Floats:
    found = np.asarray(values, dtype=np.float64)
    if found.ndim != 2 or found.shape[1] != columns or not np.isfinite(found).all():
        raise ParameterError(f"{name} must be a matrix of finite numbers with {columns} columns, as coefficients have.")
    return found
