# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Poisson samples of records or of groups of records, cut into micro-batches of a fixed size (T22, T46).

The sampler draws whole groups: a group is all records of one person, or one record. Each group is in a sample with the
same probability, independently. A group contributes its first records, up to a public number, in the order of the data
set.
"""

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from dperm.data.identity import KeyRule, person_keys
from dperm.errors import DataError
from dperm.noise.arrays import Integers
from dperm.noise.bits import Stream
from dperm.noise.poisson import sampled_rows
from dperm.torch.records import Batch, RecordSource

COUNT = "The number of keys is not that of the records."


@dataclass(frozen=True)
class Groups:
    """Partition of the records: group k holds ``order[starts[k] : starts[k] + lengths[k]]``.

    ``count`` is the number of groups; it is private under add/remove.
    """

    count: int
    order: Integers
    starts: Integers
    lengths: Integers

    def positions(self, groups: Integers) -> Integers:
        """Return the positions of the records of these groups."""
        lengths = self.lengths[groups]
        ends = np.cumsum(lengths)
        within = np.arange(ends[-1] if len(ends) else 0) - np.repeat(ends - lengths, lengths)
        found: Integers = self.order[np.repeat(self.starts[groups], lengths) + within]
        return found


@dataclass(frozen=True)
class SingletonGroups:
    """Partition of ``count`` records into groups of one record."""

    count: int

    def positions(self, groups: Integers) -> Integers:
        """Return ``groups``: the number of a group is the position of its record."""
        return groups


def groups_of(keys: object, count: int, most: int) -> Groups:
    """Return the groups of records with equal keys, with at most the first ``most`` records of each group.

    *Guarantees.* Records with equal keys are in one group, and no group contributes more than ``most`` records to a
    sample. `dperm.data.identity` defines equality of keys.

    Raises
    ------
    DataError
        If the number of keys differs from ``count``, or keys cannot be compared safely. The message shows no key.
    """
    numbers = _numbered(keys)
    broken = numbers if isinstance(numbers, str) else COUNT if len(numbers) != count else ""
    if isinstance(numbers, str) or broken:
        raise DataError(
            argument="group", rule="must hold one key for each record of the data set, in its order", remedy=broken
        )
    sizes = np.bincount(numbers) if count else np.zeros(0, dtype=np.int64)
    order = np.argsort(numbers, kind="stable").astype(np.int64)
    starts = (np.cumsum(sizes) - sizes).astype(np.int64)
    return Groups(len(sizes), order, starts, np.minimum(sizes, most).astype(np.int64))


def _numbered(keys: object) -> Integers | str:
    """Number of each record's group, in order of first appearance; a sentence if the keys break a rule."""
    numbers: dict[object, int] = {}
    try:
        found = person_keys(keys)
    except DataError as error:
        return str(error)
    except Exception:  # keys of any kind may raise, and repeat a value in their message
        return KeyRule.KIND.value
    return np.array([numbers.setdefault(key, len(numbers)) for key in found], dtype=np.int64)


@dataclass(frozen=True)
class MicroBatch:
    """Part of a sample.

    ``rows`` is the number of records, 0 for a row of padding. ``last`` marks the last part of the sample, and ``trial``
    a batch of a rehearsal.
    """

    batch: Batch
    rows: int
    last: bool
    trial: bool = False


@dataclass(frozen=True)
class Sampler:
    """Poisson sampler of ``groups`` at ``rate``, with micro-batches of at most ``size`` records.

    *Guarantees.* Each group is in each sample with probability ``rate``, independently of all others. The sizes of
    samples are never adjusted: an empty sample is one row of padding, with ``rows`` 0.
    """

    records: RecordSource
    groups: Groups | SingletonGroups
    rate: float
    size: int
    stream: Stream

    def batches(self, steps: int) -> Iterator[MicroBatch]:
        """Yield the micro-batches of ``steps`` samples."""
        parts: deque[tuple[int, bool]] = deque()
        for batch in self.records.batches(self._positions(steps, parts)):
            yield from self._empties(parts)
            rows, last = parts.popleft()
            yield MicroBatch(batch, rows, last)
        yield from self._empties(parts)

    def _positions(self, steps: int, parts: deque[tuple[int, bool]]) -> Iterator[Integers]:
        """Yield the positions of each micro-batch; ``parts`` lists them all, including empty samples."""
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
