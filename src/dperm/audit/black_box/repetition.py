# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Detection of random numbers repeated across processes, because dependent runs invalidate the bounds.

A new process copies every object of its parent, including generators. A generator held by ``train`` (a numpy Generator,
a random.Random, seeded bits) gives the same numbers in each process, invisibly from outside. So each process begins
with a few uncounted trainings on the same data. If the outputs of two processes are equal, one by one, they are copies.
"""

from collections import Counter
from dataclasses import dataclass, field

import numpy as np

from dperm.audit.black_box.training import Failure, Trainings, trained
from dperm.errors import ParameterError
from dperm.noise.arrays import Floats

DISTINCT, MOST, OTHERS = 6, 32, 4
"""Numbers of first trainings: six suffice if all differ.

Otherwise there are 32, and at least four must differ from the most frequent one. Independent processes then look like
copies with probability at most 2e-6.
"""


def first_trainings(trainings: Trainings) -> Floats | Failure:
    """Return the first outputs of a process, always without the record."""
    found = trained(trainings, np.zeros(DISTINCT, dtype=np.bool_))
    if isinstance(found, Failure) or len(np.unique(found, axis=0)) == DISTINCT:
        return found
    return trained(trainings, np.zeros(MOST, dtype=np.bool_))


def tells(rows: Floats) -> bool:
    """Whether first outputs vary enough to distinguish processes."""
    counts = Counter(row.tobytes() for row in rows)
    return len(rows) - max(counts.values()) >= OTHERS


@dataclass(frozen=True)
class Firsts:
    """First outputs of the processes with at least one finished part."""

    known: dict[bytes, int] = field(default_factory=dict)

    def require_new(self, process: int, rows: Floats) -> None:
        """Raise ``ParameterError`` for rows also released by another process; rows varying little are ignored."""
        if tells(rows) and self.known.setdefault(rows.tobytes(), process) != process:
            raise ParameterError(
                "workers must be 1 here: train repeats random numbers, the same in every process, and runs would not "
                "be independent. Or make the generator inside train, without a seed."
            )
