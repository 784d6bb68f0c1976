# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""First release of a preparation: a noisy histogram of each column over the public bins (T72)."""

from dataclasses import dataclass

import numpy as np

from dperm.data.arrays import Floats
from dperm.data.canonical import CanonicalColumn
from dperm.mechanisms.gaussian import GaussianMechanism
from dperm.noise.bits import Stream
from dperm.preparation.bins import BINS, MISSING, TEXT, ZERO, bins_of

PIECE = 2**13
"""Cells whose bins are counted at once, which bounds the memory of the count."""


@dataclass(frozen=True)
class ColumnProfile:
    """Released profile of one column: noisy counts of the bins above the threshold, by bin number.

    Attributes
    ----------
    counts
        Noisy counts of the bins above the threshold.
    """

    counts: dict[int, float]

    @property
    def numeric(self) -> float:
        """Noisy number of cells that are numbers."""
        return sum(count for place, count in self.counts.items() if place >= ZERO)

    @property
    def text(self) -> float:
        """Noisy number of text cells; 0 if below the threshold."""
        return self.counts.get(TEXT, 0.0)

    @property
    def missing(self) -> float:
        """Noisy number of missing cells; 0 if below the threshold."""
        return self.counts.get(MISSING, 0.0)

    @property
    def total(self) -> float:
        """Noisy number of cells in all bins above the threshold."""
        return sum(self.counts.values())

    @property
    def is_number(self) -> bool:
        """Whether numbers outnumber texts."""
        return self.numeric > self.text


def bin_counts(column: CanonicalColumn) -> Floats:
    """Return the exact counts of all bins of one column, which are **not private**.

    One record adds 1 to one count of each column. Over d columns the L2 sensitivity is sqrt(d) under add/remove and
    sqrt(2d) under replace-one (`dperm.sensitivity.preparation.histogram_sensitivity`).
    """
    counts = np.zeros(BINS)
    for piece in column.pieces(PIECE):
        counts += np.bincount(bins_of(piece), minlength=BINS)
    return counts


def noisy_profiles(
    counts: Floats, mechanism: GaussianMechanism, *, threshold: float, stream: Stream
) -> list[ColumnProfile]:
    """Return the profile of each column: counts plus noise on every bin, empty ones included, cut at ``threshold``.

    No privacy rests on the threshold, because noise is drawn for all bins. It makes false bins rare.
    """
    noisy = mechanism.noisy(counts, stream).reshape(-1, BINS)
    return [_cut(row, threshold) for row in noisy]


def _cut(row: Floats, threshold: float) -> ColumnProfile:
    kept = np.flatnonzero(row > threshold)
    return ColumnProfile({int(place): float(row[place]) for place in kept})
