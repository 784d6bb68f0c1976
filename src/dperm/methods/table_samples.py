# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Clipped gradients of Poisson samples of a table, in memory or in row groups (T46, T207)."""

from dataclasses import dataclass
from typing import Any

from dperm.data.arrays import Floats
from dperm.data.bounded import BoundedData, MemoryRows
from dperm.data.grid_rows import GridRows
from dperm.data.passes import Place, Sums
from dperm.erm.gradient import batch_gradient, loss_gradient
from dperm.erm.kernels import GradientKernel
from dperm.erm.spec import ProblemSpec
from dperm.erm.table_objective import gradient_kernel
from dperm.noise.keyed import DrawNumbers, KeyedSampler

COLLECTED_CELLS = 2**24
"""Expected number of cells of the samples that one pass collects."""


@dataclass(frozen=True)
class CollectedSamples:
    """Kernel that selects the rows of several draws, with the number of the draw.

    Attributes
    ----------
    sampler
        Sampler with the key of the draws; as secret as the data.
    draws
        Draw numbers.
    rate
        Inclusion probability of each record.
    offsets
        Number of the first row of each row group.
    """

    sampler: KeyedSampler
    draws: range
    rate: float
    offsets: dict[str, int]

    def __call__(self, rows: GridRows, place: Place) -> list[tuple[int, GridRows]]:
        """Return the sampled rows of each draw."""
        first = self.offsets[place.group] + place.start
        found = []
        for draw in self.draws:
            numbers = self.sampler.sample(self.rate, draw, first, first + rows.count)
            if len(numbers):
                found.append((draw, rows.at(numbers - first)))
        return found


@dataclass(frozen=True)
class SampledSum:
    """Kernel of the sum of clipped gradients over the rows of one draw.

    Attributes
    ----------
    gradient
        Kernel of all rows.
    samples
        Kernel that selects the rows of one draw.
    """

    gradient: GradientKernel
    samples: CollectedSamples

    def __call__(self, rows: GridRows, place: Place) -> Sums:
        """Return the integers of the sum."""
        found = self.samples(rows, place)
        return self.gradient(found[0][1] if found else rows.part(0, 0), place)


class TableSamples:
    """Samples of a run, each with a draw number of its own (T207).

    Rows in memory are sampled step by step. Rows in row groups are read once for several steps, because samples do not
    depend on the coefficients; a sample too large for that is summed where its rows are. The sums are equal to the last
    bit (T203).

    Parameters
    ----------
    data
        Bounded data.
    draws
        Draw numbers and keys of the run.
    rate
        Inclusion probability of each record.
    expected
        Public expected size of a sample.
    steps
        Number of steps.
    """

    def __init__(self, data: BoundedData, draws: DrawNumbers, *, rate: float, expected: float, steps: int) -> None:
        self._data, self._draws, self._rate, self._last = data, draws, rate, draws.number + steps
        width = max(data.space.size, 1)
        self._together = int(COLLECTED_CELLS / max(expected * width, 1.0))
        self._collected: dict[int, BoundedData] = {}

    def sum(self, spec: ProblemSpec, theta: Floats) -> Floats:
        """Return the sum of the clipped gradients of the current draw's sample at ``theta``, without noise."""
        draw, sampler = self._draws.number, self._draws.sampler
        if isinstance(self._data.store, MemoryRows):
            rows = sampler.sample(self._rate, draw, 0, self._data.rows)
            return batch_gradient(self._data, spec, theta, rows)
        if self._together < 1:
            kernel = SampledSum(gradient_kernel(self._data, spec, theta), self._kernel(range(draw, draw + 1)))
            return kernel.gradient.gradient(self._data.sums(kernel))
        if draw not in self._collected:
            self._collect(range(draw, min(draw + self._together, self._last, sampler.draws.stop)))
        return loss_gradient(self._collected.pop(draw), spec, theta)

    def _kernel(self, draws: range) -> CollectedSamples:
        return CollectedSamples(self._draws.sampler, draws, self._rate, self._data.store.offsets)

    def _collect(self, draws: range) -> None:
        """Read the samples of these draws in one pass."""
        parts: dict[int, list[Any]] = {draw: [] for draw in draws}
        for draw, rows in self._data.sums(self._kernel(draws)):
            parts[draw].append(rows)
        self._collected = {draw: self._data.with_rows(found) for draw, found in parts.items()}
