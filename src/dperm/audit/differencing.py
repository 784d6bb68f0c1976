# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Reconstruction by differencing (A11): recover the features and the target of a record from exact coefficients.

Paige et al. 2020 reconstruct genotypes from risk scores published before and after a patient joined the data. The
attacker has coefficients that were fitted without noise, and knows the other records. For ridge regression, the matrix
of their second moments suffices; for logistic regression, the attacker needs the records themselves. The last entry of
each row is a known constant (T54), from which the attacker determines the scale of the record.
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
from dperm.presentation.spelling import arg

ULP = float(np.finfo(np.float64).eps)
DIGITS = 100.0
"""Required ratio of signal to rounding error, two digits; below it, the record is reported as NaN."""
FARTHEST = 1e6
"""Largest plausible feature, as a multiple of the root of the sum of the other records' squares."""
CONSTANT = "It is the last entry of every row: without it, the scale of a record cannot be determined."


@dataclass(frozen=True)
class Reconstruction:
    """Record reconstructed from exact coefficients.

    All values are NaN if the effect of the record on the model cannot be distinguished from rounding errors. This
    happens if the model without the record already fits the record very well.

    Attributes
    ----------
    features
        Features of the record, without the constant last entry of its row.
    target
        Target of the record: a number for ridge regression, -1 or +1 for logistic regression.
    """

    features: Floats
    target: float

    def nearest(self, values: Sequence[float]) -> Floats:
        """Return each feature rounded to the nearest possible value; NaN stays NaN.

        Parameters
        ----------
        values
            Possible values of a feature, such as 0, 1, 2 for a genotype.

        Returns
        -------
        ndarray
            One of ``values`` per feature, or NaN.

        Raises
        ------
        ParameterError
            If ``values`` is empty.
        """
        known = numbers("values", values)
        if not len(known):
            raise ParameterError(
                argument="values", rule="must contain at least one possible value of a feature", got="none"
            )
        nearest = known[np.abs(self.features[:, np.newaxis] - known).argmin(axis=1)]
        return np.where(np.isnan(self.features), np.nan, nearest)


def ridge_record(before: ArrayLike, after: ArrayLike, moments: ArrayLike, *, constant: float = 1.0) -> Reconstruction:
    """Reconstruct the record that was added between two ridge regressions, from the exact coefficients of both.

    Let w1 and w2 be the coefficients before and after the record with row x and target y was added. They satisfy
    A (w2 - w1) = x (y - x'w2) with A = X'X + Lambda I, where X contains the rows of the other records and Lambda is the
    regularization strength.

    Parameters
    ----------
    before, after
        Coefficients w1 without and w2 with the record; the last coefficient belongs to the constant.
    moments
        Matrix A = X'X + Lambda I, where X contains the rows of the other records, including the constant.
    constant
        Last entry of every row, positive.

    Returns
    -------
    Reconstruction
        The record. Its features and target are NaN if the two models are equal up to rounding.

    Raises
    ------
    ParameterError
        If an argument is invalid, the shapes do not match, or the reconstructed features are far larger than those of
        the other records, which happens if ``constant`` is not the last entry of every row.
    """
    constant = checks.positive("constant", constant, CONSTANT)
    first, second = numbers("before", before), numbers("after", after)
    if len(first) != len(second) or len(first) < 2:
        raise ParameterError(
            argument="before",
            rule=f"must have as many coefficients as {arg('after')}, at least two with the constant's",
            got=f"{len(first)} and {len(second)}",
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
    """Reconstruct the only unknown record of a logistic regression from the coefficients and all other records.

    The gradient of the objective is zero at its minimizer w. The loss gradient of the unknown record (x, y) at w
    therefore follows from the other records (x_i, y_i): -y s(-y x'w) x = sum_i y_i s(-y_i x_i'w) x_i - Lambda w. Here
    s is the logistic function, and Lambda is the regularization strength. The last entry of x is a positive constant,
    so the last entry of this gradient has the sign of -y.

    Parameters
    ----------
    coefficients
        The minimizer w of the sum of log(1 + exp(-y_i x_i'w)) over all records, including the unknown one, plus
        (Lambda/2) ||w||^2. The last coefficient belongs to the constant.
    rows, signs
        Rows of the other records, including the constant, and their labels -1 or +1.
    regularization
        Regularization strength Lambda, at least 0, for the sum (not the mean) of the losses.
    constant
        Last entry of every row, positive.

    Returns
    -------
    Reconstruction
        The record. Its features and target are NaN if rounding errors dominate its gradient.

    Raises
    ------
    ParameterError
        If an argument is invalid, the shapes do not match, or a label is not -1 or +1.
    """
    constant = checks.positive("constant", constant, CONSTANT)
    strength = checks.nonnegative("regularization", regularization)
    w, x, y = numbers("coefficients", coefficients), numbers("rows", rows, dims=2), numbers("signs", signs)
    if len(w) < 2 or x.shape[1] != len(w):
        raise ParameterError(
            argument="coefficients",
            rule=f"must be at least two with the constant's, one for each column of {arg('rows')}",
            got=f"{len(w)} and {x.shape[1]}",
        )
    if len(y) != len(x) or not np.isin(y, (-1.0, 1.0)).all():
        raise ParameterError(argument="signs", rule="must contain -1 or +1 for each row")
    others = -(y * expit(-y * (x @ w))) @ x
    rounding = ULP * (len(x) + len(w)) * float(expit(-y * (x @ w)) @ np.abs(x[:, -1]) + strength * abs(w[-1]))
    row, slope = _row(-(others + strength * w), constant, rounding)
    return Reconstruction(row[:-1], float(-np.sign(slope)))


def _row(multiple: Floats, constant: float, rounding: float) -> tuple[Floats, float]:
    """Divide a multiple of the row by its factor, found from the last entry; NaN if rounding could explain it."""
    factor = float(multiple[-1]) / constant
    if abs(float(multiple[-1])) <= DIGITS * rounding:
        return np.full(len(multiple), np.nan), np.nan
    return multiple / factor, factor


def _check_constant(row: Floats, moments: Floats, constant: float) -> None:
    """Raise ``ParameterError`` for a record far larger than the others: its last entry is not the constant."""
    usual = np.sqrt(np.maximum(np.diagonal(moments), constant**2))
    if (np.abs(row) > FARTHEST * usual).any():
        raise ParameterError(
            (
                f"{arg('before')}, {arg('after')} and {arg('moments')} must have the constant last: otherwise, with "
                f"{arg('constant', format(constant, 'g'))}, the record's features exceed {FARTHEST:g} times those of "
                "all others."
            ),
            remedy="Put the entry of the constant last.",
        )


def _square(name: str, values: ArrayLike, size: int) -> Floats:
    found = numbers(name, values, dims=2)
    if found.shape != (size, size):
        raise ParameterError(
            argument=name,
            rule=f"must have {size} rows and columns, one for each coefficient",
            got=f"shape {found.shape}",
        )
    return found
