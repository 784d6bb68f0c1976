# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Norm to which the rows of a wide table are scaled down: the median of a noisy histogram of row norms (T76)."""

from dataclasses import dataclass, field

import numpy as np

from dperm.data.arrays import Floats
from dperm.mechanisms.gaussian import GaussianMechanism
from dperm.noise.bits import Stream
from dperm.preparation.values import VISIBLE
from dperm.presentation.facts import Fact

NORM_BINS = 64
"""Number of intervals of the grid of norms."""
LOWEST_NORM = 2.0**-8
"""Lower end of the grid, as a share of the largest possible norm."""
NORM_SHARE = 0.05
"""Share of the histogram of row norms in mu^2 of a preparation; one histogram needs little."""
NORM_QUANTILE = 0.5
"""Share of the rows within the chosen norm; longer rows are scaled down to it."""


@dataclass(frozen=True)
class RowNorms:
    """Released histogram of row norms.

    Attributes
    ----------
    norm
        Norm to which rows are scaled down.
    counts
        Noisy counts of the intervals, 0 where the noise dominates.
    """

    norm: float
    counts: Floats = field(repr=False)


def row_norm_fact(mechanism: GaussianMechanism) -> Fact:
    """Return the consequence of the release for rows, from public numbers."""
    return Fact(
        "preparation.rows",
        "Rows are scaled down to a private median of their norms, computed from counts with noise of standard "
        "deviation {deviation:.3g} (T76).",
        {"deviation": mechanism.scale},
    )


def row_norm_numbers(mechanism: GaussianMechanism | None) -> dict[str, object]:
    """Return the public numbers of the release for a record; none without it."""
    return {} if mechanism is None else {"row_norm_noise_standard_deviation": mechanism.scale}


def norm_edges(longest: float) -> Floats:
    """Return the edges of the grid in (0, ``longest``], equally spaced on a logarithmic scale.

    Parameters
    ----------
    longest
        Bound on the norm of every possible row, a function of public numbers and earlier releases.
    """
    edges = longest * LOWEST_NORM ** (1 - np.arange(NORM_BINS + 1) / NORM_BINS)
    edges[-1] = longest
    return np.asarray(edges)


def norm_counts(norms: Floats, edges: Floats) -> Floats:
    """Return the exact counts of the intervals (edges[i], edges[i + 1]], which are **not private**.

    Shorter rows count in the first interval and longer ones in the last, so a record is in exactly one of them.
    """
    places = np.clip(np.searchsorted(edges, norms, side="left") - 1, 0, NORM_BINS - 1)
    return np.bincount(places, minlength=NORM_BINS).astype(np.float64)


def noisy_row_norms(norms: Floats, longest: float, mechanism: GaussianMechanism, stream: Stream) -> RowNorms:
    """Return the released histogram of these norms, with the upper end of the interval of its median.

    Parameters
    ----------
    norms
        Private norms of the rows, each computed from its own record.
    longest, mechanism, stream
        See `noisy_norm_counts`.
    """
    return noisy_norm_counts(norm_counts(norms, norm_edges(longest)), longest, mechanism, stream)


def noisy_norm_counts(counts: Floats, longest: float, mechanism: GaussianMechanism, stream: Stream) -> RowNorms:
    """Return the released histogram, with the upper end of the interval of its median.

    All intervals receive noise, empty ones included.

    Parameters
    ----------
    counts
        Exact counts of the intervals of `norm_edges`; private.
    longest
        Bound on the norm of every possible row; the result if no interval stands out.
    mechanism
        Gaussian noise for `dperm.sensitivity.preparation.norm_histogram_sensitivity`.
    stream
        Random bits of the release.
    """
    edges = norm_edges(longest)
    noisy = mechanism.noisy(counts, stream)
    visible = np.where(noisy > VISIBLE * mechanism.scale, noisy, 0.0)
    total = visible.sum()
    if not total > 0:
        return RowNorms(longest, visible)
    place = int(np.searchsorted(np.cumsum(visible), NORM_QUANTILE * total))
    return RowNorms(float(edges[1 + min(place, NORM_BINS - 1)]), visible)
