# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Private second moment of rows about a public centre."""

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from functools import cached_property
from typing import ClassVar, cast

import numpy as np
from numpy.typing import ArrayLike

from dperm import checks
from dperm.checks import shown
from dperm.errors import ParameterError
from dperm.mechanisms.additive import AdditiveMechanism
from dperm.mechanisms.releases import parameters, records, sensitivities
from dperm.mechanisms.releases.clipping import ClippedRows
from dperm.mechanisms.releases.fixed_point import FixedPoint, Totals, add_totals, fixed_point
from dperm.mechanisms.releases.mechanism_choice import mechanism_for
from dperm.mechanisms.releases.noisy_statistic import NoisyStatistic
from dperm.mechanisms.releases.sensitivities import WEIGHT
from dperm.mechanisms.releases.table_columns import Layout, Records, total
from dperm.noise.arrays import Floats
from dperm.presentation.spelling import arg
from dperm.privacy import Adjacency

MOST_DIM = 2**12
BITS = 20
BLOCK = 2**13
"""Rows per block. Integers of 20 bits have products below 2^40, and 2^13 of them sum to less than 2^53. So every
sum in a matrix product of doubles, in any order, is an exact integer.
"""


@dataclass(frozen=True)
class Covariance(NoisyStatistic[Floats]):
    """Mean of (x - c)(x - c)^T over rows x, for a public centre c, with x - c clipped to L2 norm R.

    If c is near the mean of the rows, the result is approximately the covariance matrix. The entries of the clipped
    rows are rounded to integers of 20 bits, whose products are summed exactly. One release adds noise to the diagonal,
    to the entries above the diagonal and, under add/remove, to R^2 times the number of records. Entries above the
    diagonal are multiplied by the weight 181/128, just below sqrt(2), before noise is added, and divided by it
    afterwards. The norm of the released vector is therefore at most the Frobenius norm of the matrix, and off-diagonal
    entries have less noise. The L2 sensitivity is sqrt(2) R^2 under add/remove and replace-one, except that it is R^2
    under replace-one if d = 1.

    Parameters
    ----------
    goal
        Guarantee of one release.
    norm
        Bound R on the L2 norm of x - c. If the norm exceeds R, x - c is scaled down to norm R.
    dim
        Number d of entries in a row.
    center
        Public centre c; 0 by default.
    n
        Number of records. Required under replace-one, where the data must have exactly n records. Must be None under
        add/remove, where the number of records is private.
    psd
        Whether to replace the noisy matrix with the nearest positive semidefinite matrix, by post-processing.
    average
        Whether to release the mean. If False, the sum is released. Under add/remove, the sum is released without the
        number of records, and its L2 sensitivity is R^2 (T78).

    Examples
    --------
    >>> from dperm import GDP
    >>> from dperm.mechanisms.releases import Covariance
    >>> moment = Covariance(GDP(1.0, "replace_one"), norm=1.0, dim=2, n=3)
    >>> moment.event
    ReplaceOneOnly(event=Gaussian(noise_multiplier=2.0))
    >>> moment.release([[0.1, 0.2], [0.3, -0.4], [50.0, 60.0]]).value.shape
    (2, 2)
    """

    norm: float
    _: KW_ONLY
    dim: int
    center: Sequence[float] | None = None
    n: int | None = None
    psd: bool = False
    average: bool = True

    name: ClassVar[str] = "covariance"

    def _check_parameters(self) -> None:
        super()._check_parameters()
        self._set(norm=parameters.norm_bound("norm", self.norm))
        self._set(dim=checks.count("dim", self.dim, "Give the length of a row.", most=MOST_DIM))
        self._set(center=_checked_center(self.center, self.dim))
        self._set(n=parameters.public_n(self.n, self.adjacency))
        if not isinstance(self.psd, bool):
            raise ParameterError(argument="psd", rule="must be True or False", got=shown(self.psd))
        self._set(average=checks.truth("average", self.average))

    @cached_property
    def clip(self) -> ClippedRows:
        """Clipping of the centred rows."""
        return ClippedRows(self.norm, self.dim, BITS)

    @property
    def _layout(self) -> Layout:
        """A column for each entry of a row."""
        return Layout(self.dim, numeric=self.dim, rows=True)

    @property
    def public(self) -> dict[str, object]:
        """Norm, centre, n under replace-one, the post-processing, and whether the release is a sum."""
        known: dict[str, object] = {"norm": self.norm, "center": self.center, "n": self.n, "psd": self.psd}
        return known if self.average else {**known, "average": False}

    @cached_property
    def fixed_point(self) -> FixedPoint:
        """Fixed-point format of the totals, in units of g^2/128, where g is the step of the rounded rows.

        In these units, the weights 1 and 181/128 are the integers 128 and 181.
        """
        denominator_bits = WEIGHT.denominator.bit_length() - 1
        return fixed_point(2 * self.clip.exponent - denominator_bits, l2=self._sensitivity[1], dim=self._entries)

    @cached_property
    def mechanism(self) -> AdditiveMechanism:
        """Mechanism that adds noise, calibrated to the sensitivity of the vector of all released sums."""
        l1, l2 = self._sensitivity
        return mechanism_for(self.goal, l1=l1, l2=l2, dim=self._entries, rounding=self.fixed_point.rounding)

    @property
    def standard_error(self) -> Floats | None:
        """Standard deviation of the noise in each entry of the matrix; None for a mean if n is private."""
        if self.average and self.n is None:
            return None
        diagonal = self.mechanism.standard_deviation / ((self.n or 1) if self.average else 1)
        errors = np.full((self.dim, self.dim), diagonal / float(WEIGHT))
        np.fill_diagonal(errors, diagonal)
        return errors

    def totals(self, data: Records) -> Totals:
        """Return the exact weighted sums and, for a mean under add/remove, R^2 n. The result is **not private**.

        Parameters
        ----------
        data
            Private records.

        Returns
        -------
        Totals
            Exact totals, in units of the fixed-point format.

        Raises
        ------
        DataError
            If the data are invalid.
        """
        center = cast(tuple[float, ...], self.center)
        values, found = total(WeightedProducts(self.clip, center).sums, add_totals, data)
        records.require_records(found, self.n)
        count = [self.clip.largest * WEIGHT.denominator * found] if self._counts else []
        return Totals(values + count, found)

    def finished(self, noisy: Floats, n: int | None) -> Floats:
        """Return the symmetric matrix of noisy sums, or of means (noisy sums divided by the public or noisy n).

        Parameters
        ----------
        noisy
            Noisy statistic.
        n
            Public number of records; None if it is private.

        Returns
        -------
        ndarray
            Value to release.
        """
        row, column = np.triu_indices(self.dim)
        sums = np.where(row == column, noisy[: len(row)], noisy[: len(row)] / float(WEIGHT))
        matrix = np.empty((self.dim, self.dim))
        matrix[row, column] = matrix[column, row] = sums / (self._number(noisy, n) if self.average else 1.0)
        return nearest_semidefinite(matrix) if self.psd else matrix

    def _number(self, noisy: Floats, n: int | None) -> float:
        """Return the number of records, at least 1: the public or the noisy one."""
        count = float(n) if n is not None else float(noisy[-1]) / float(self.clip.largest * self.clip.step**2)
        return max(count, 1.0)

    @property
    def _counts(self) -> bool:
        """Whether the release has the number of records."""
        return self.average and self.adjacency is Adjacency.ADD_REMOVE

    @property
    def _entries(self) -> int:
        return self.dim * (self.dim + 1) // 2 + self._counts

    @property
    def _sensitivity(self) -> tuple[float, float]:
        """L1 and L2 sensitivities of the whole vector."""
        if self._counts:
            return (
                sensitivities.second_moment_and_count_l1(self.norm, self.dim),
                sensitivities.second_moment_and_count_l2(self.norm),
            )
        return (
            sensitivities.second_moment_l1(self.norm, self.dim, self.adjacency),
            sensitivities.second_moment_l2(self.norm, self.dim, self.adjacency),
        )


@dataclass(frozen=True)
class WeightedProducts:
    """Products of the entries of centred and clipped rows, with the weight of each entry of the matrix."""

    clip: ClippedRows
    center: tuple[float, ...]

    def sums(self, data: ArrayLike) -> Totals:
        """Return the exact sums of the products on and above the diagonal. Not private."""
        rows = records.rows(data, self.clip.dim)
        upper = np.triu_indices(self.clip.dim)
        weights = np.where(upper[0] == upper[1], WEIGHT.denominator, WEIGHT.numerator).tolist()
        sums = np.zeros(len(weights), dtype=object)
        for block in self.clip.blocks(rows - np.array(self.center), BLOCK):
            exact = block.astype(np.float64)
            sums += (exact.T @ exact)[upper].astype(np.int64)
        return Totals([int(one) * weight for one, weight in zip(sums, weights, strict=True)], len(rows))


def nearest_semidefinite(matrix: Floats) -> Floats:
    """Return the nearest positive semidefinite matrix in Frobenius norm; negative eigenvalues become 0."""
    values, vectors = np.linalg.eigh(matrix)
    half = vectors * np.sqrt(np.maximum(values, 0.0))
    nearest: Floats = half @ half.T
    return (nearest + nearest.T) / 2


def _checked_center(center: object, dim: int) -> tuple[float, ...]:
    if center is None:
        return (0.0,) * dim
    checked = parameters.numbers("center", center)
    if len(checked) != dim or max(map(abs, checked)) > parameters.MAGNITUDES[1]:
        raise ParameterError(
            argument="center", rule=f"must be {arg('dim', dim)} numbers of at most 2^400", got=shown(center)
        )
    return checked
