# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""What an auditor has after the runs: the outputs, and the coins that decided about the record."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dperm.noise.arrays import Floats

Truths = NDArray[np.bool_]
Progress = Callable[[float], None]
"""Is told the share that is done."""


@dataclass(frozen=True)
class Sample:
    """Outputs, one row for each run, and whether the run had the record."""

    outputs: Floats
    included: Truths

    def __len__(self) -> int:
        """Number of runs."""
        return len(self.included)

    @property
    def flat(self) -> Floats:
        """The outputs as a matrix."""
        return self.outputs.reshape(len(self), -1)

    def split(self, share: float) -> tuple["Sample", "Sample"]:
        """The first runs, to choose with, and the others, to test with: no run is in both (A5)."""
        first = round(share * len(self))
        return self[:first], self[first:]

    def __getitem__(self, runs: slice) -> "Sample":
        """Some of the runs."""
        return Sample(self.outputs[runs], self.included[runs])


def real_numbers(values: object) -> Floats | None:
    """``values`` as an array of doubles; None for text, objects, complex numbers, or lists of unequal length.

    Nothing is raised: what went wrong may repeat private values.
    """
    try:
        found = np.asarray(values)
        return found.astype(np.float64) if found.dtype.kind in "biuf" else None
    except Exception:
        return None


def told(progress: Progress | None, share: float = 1.0) -> None:
    """Say how much is done, to whoever wants to know."""
    if progress is not None:
        progress(share)
