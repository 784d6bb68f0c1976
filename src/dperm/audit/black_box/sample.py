# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Sample of an audit: outputs of the runs, and coin flips for the inclusion of the record."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dperm.noise.arrays import Floats

Truths = NDArray[np.bool_]
Progress = Callable[[float], None]
"""Callback that receives the completed fraction of the work, in [0, 1]."""


@dataclass(frozen=True)
class RunSample:
    """Outputs of all runs, and whether each run included the record.

    Attributes
    ----------
    outputs
        Released numbers, one row for each run.
    included
        Boolean array with one entry for each run: True if the run included the record, False if not.
    """

    outputs: Floats
    included: Truths

    def __len__(self) -> int:
        """Number of runs in the sample."""
        return len(self.included)

    @property
    def flat(self) -> Floats:
        """Outputs as a matrix with one row for each run."""
        return self.outputs.reshape(len(self), -1)

    def split(self, share: float) -> tuple["RunSample", "RunSample"]:
        """Split the runs into a first part, for choosing thresholds, and a second part, for the bound (A5).

        Parameters
        ----------
        share
            Fraction of the runs in the first part, in [0, 1].

        Returns
        -------
        tuple[RunSample, RunSample]
            The two disjoint parts.
        """
        first = round(share * len(self))
        return self[:first], self[first:]

    def __getitem__(self, runs: slice) -> "RunSample":
        """Return a slice of the runs as a sample."""
        return RunSample(self.outputs[runs], self.included[runs])


def real_numbers(values: object) -> Floats | None:
    """Return ``values`` as an array of doubles; None for text, objects, complex numbers, or ragged lists.

    The function never raises, because the error may repeat private values.
    """
    try:
        found = np.asarray(values)
        return found.astype(np.float64) if found.dtype.kind in "biuf" else None
    except Exception:
        return None


def report_progress(progress: Progress | None, share: float = 1.0) -> None:
    """Report the completed fraction to ``progress``, if given."""
    if progress is not None:
        progress(share)
