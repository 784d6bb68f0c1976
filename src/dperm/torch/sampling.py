# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Poisson samples of records or of groups of records, cut into micro-batches of a fixed size (T22, T46).

What is drawn is whole groups: a group is all records of one person, or one record. Each is in a sample with the same
probability, independently. A group gives its first records, up to a public number, in the order of the data set.
"""

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from dperm.errors import DataError
from dperm.noise.arrays import Integers
from dperm.noise.bits import Stream
from dperm.noise.poisson import sampled_rows
from dperm.torch.records import Batch, Records


@dataclass(frozen=True)
class Groups:
    """Which records belong together: those of group k are ``order[starts[k] : starts[k] + lengths[k]]``.

    ``count`` is the number of groups, which is private under add/remove.
    """

    count: int
    order: Integers
    starts: Integers
    lengths: Integers

    def positions(self, groups: Integers) -> Integers:
        """The records of these groups."""
        lengths = self.lengths[groups]
        ends = np.cumsum(lengths)
        within = np.arange(ends[-1] if len(ends) else 0) - np.repeat(ends - lengths, lengths)
        found: Integers = self.order[np.repeat(self.starts[groups], lengths) + within]
        return found


@dataclass(frozen=True)
class Single:
    """Every record is a group of its own."""

    count: int

    def positions(self, groups: Integers) -> Integers:
        """The groups are the records."""
        return groups


def groups_of(keys: ArrayLike, count: int, most: int) -> Groups:
    """The groups of records with equal keys, at most the first ``most`` records of each."""
    try:
        _, inverse, sizes = np.unique(np.asarray(keys), return_inverse=True, return_counts=True)
    except (TypeError, ValueError):
        raise DataError("group must hold one key for each record, such as integers or strings.") from None
    if inverse.shape != (count,):
        raise DataError("group must hold one key for each record of the data set, in its order.") from None
    order = np.argsort(inverse, kind="stable").astype(np.int64)
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.int64)
    return Groups(len(sizes), order, starts, np.minimum(sizes, most).astype(np.int64))


@dataclass(frozen=True)
class MicroBatch:
    """A part of a sample: how many of its rows are records, and whether it is the last part."""

    batch: Batch
    rows: int
    last: bool


@dataclass(frozen=True)
class Sampler:
    """Draws samples of ``groups`` at ``rate``, and cuts them into micro-batches of at most ``size`` records."""

    records: Records
    groups: Groups | Single
    rate: float
    size: int
    stream: Stream

    def batches(self, steps: int) -> Iterator[MicroBatch]:
        """The micro-batches of ``steps`` samples; an empty sample is one row of padding that counts for nothing."""
        parts: deque[tuple[int, bool]] = deque()
        for batch in self.records.batches(self._positions(steps, parts)):
            yield from self._empties(parts)
            rows, last = parts.popleft()
            yield MicroBatch(batch, rows, last)
        yield from self._empties(parts)

    def _positions(self, steps: int, parts: deque[tuple[int, bool]]) -> Iterator[Integers]:
        """The records of each micro-batch; ``parts`` notes all of them, also those of empty samples."""
        for _ in range(steps):
            drawn = self.groups.positions(sampled_rows(self.rate, self.groups.count, self.stream))
            cuts = [drawn[start : start + self.size] for start in range(0, len(drawn), self.size)]
            if not cuts:
                parts.append((0, True))
            for place, cut in enumerate(cuts):
                parts.append((len(cut), place == len(cuts) - 1))
                yield cut

    def _empties(self, parts: deque[tuple[int, bool]]) -> Iterator[MicroBatch]:
        while parts and parts[0][0] == 0:
            parts.popleft()
            yield MicroBatch(self.records.padding(1), 0, True)
