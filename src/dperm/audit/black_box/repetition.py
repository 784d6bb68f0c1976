# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Whether processes repeat each other's random numbers: then runs are not independent, and bounds are false.

A new process copies every object of its parent, generators too. One that ``train`` holds (a numpy Generator, a
random.Random, seeded bits) gives the same numbers in each process, and nobody can tell from outside that it is there.
So each process begins with a few trainings on the same data that count for nothing: if those of two processes are
equal, one by one, they are copies.
"""

from collections import Counter
from dataclasses import dataclass, field

import numpy as np

from dperm.audit.black_box.training import Failure, Trainings, trained
from dperm.errors import ParameterError
from dperm.noise.arrays import Floats

DISTINCT, MOST, OTHERS = 6, 32, 4
"""Six first trainings are enough if all differ; otherwise there are 32, of which four must differ from the most
frequent one. Independent processes then look like copies with a probability of 2e-6 at most."""


def first_trainings(trainings: Trainings) -> Floats | Failure:
    """What a process releases first, always without the record."""
    found = trained(trainings, np.zeros(DISTINCT, dtype=np.bool_))
    if isinstance(found, Failure) or len(np.unique(found, axis=0)) == DISTINCT:
        return found
    return trained(trainings, np.zeros(MOST, dtype=np.bool_))


def tells(rows: Floats) -> bool:
    """Whether first trainings vary enough to be told from those of another process."""
    counts = Counter(row.tobytes() for row in rows)
    return len(rows) - max(counts.values()) >= OTHERS


@dataclass(frozen=True)
class Firsts:
    """The first trainings of the processes that have answered."""

    known: dict[bytes, int] = field(default_factory=dict)

    def require_new(self, process: int, rows: Floats) -> None:
        """Refuse rows that another process has released too, unless they hardly vary: those tell nothing."""
        if tells(rows) and self.known.setdefault(rows.tobytes(), process) != process:
            raise ParameterError(
                "workers must be 1 here: train repeats random numbers, the same in every process, and runs would not "
                "be independent. Or make the generator inside train, without a seed."
            )
