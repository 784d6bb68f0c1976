# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Micro-batches passed to the user's loop: parts of samples, and trial batches of rehearsals in between.

The loop calls one step for every batch. A sample that the loop has seen is never dropped, because dropping samples
would be another way of sampling: after a break in a rehearsal, the next loop starts with the same sample.
"""

from collections.abc import Callable, Generator, Iterator

import numpy as np

from dperm.errors import AssumptionError, DpermError, ParameterError
from dperm.torch.records import Batch, RecordSource
from dperm.torch.rehearsal import FEWEST, STAND_IN, STOPPED, Rehearsal
from dperm.torch.sampling import MicroBatch
from dperm.torch.update import NoisyUpdate

ENDED = (
    "the loop ended during a rehearsal. Rehearsals hand out additional batches: count steps with private.steps_taken, "
    "not batches (enumerate(private))."
)
LEFT_EARLY = (
    "the loop ended before the last of the {planned} planned steps, and all of them are charged. If the loop counts "
    "batches (enumerate(private)), count steps with private.steps_taken instead: rehearsals hand out more batches."
)
"""Warning after a clean exit before the last planned step.

It does not state the number of steps: in a loop that counts micro-batches, it depends on the number of records.
"""
COMMITTED = " The ledger holds this run as complete, so that it cannot be resumed from a checkpoint."
"""Addition to `LEFT_EARLY` for a run with a budget."""


def ended_refusal(refusal: str) -> DpermError:
    """Return the error for a loop that ended during a rehearsal before the charge.

    ``refusal`` is the rehearsal's message for a failure at this batch: an unusual value may have ended the loop.
    """
    if refusal == STOPPED:
        return AssumptionError(ENDED, remedy=f"If the loop does not count batches: {STOPPED}")
    return ParameterError(ENDED, remedy="Nothing was charged, and nothing learnt.")


class BatchLoop:
    """Iteration of a private training run over its micro-batches.

    *Guarantees.* Samples are passed to the loop in the order of the sampler, each completely and once. A loop that
    skips a batch, or runs beside another loop, is refused.

    Parameters
    ----------
    samples
        Micro-batches of the remaining steps.
    rehearsal, update
        Rehearsals and noisy update of the training run.
    records, size
        Source of the records, and the largest number of rows of a batch, for rehearsals before the charge.
    check
        Function that raises if the training run cannot continue.
    was_charged
        Function that returns whether the training run was charged.

    Attributes
    ----------
    pending
        Most recent micro-batch, until its step; else None.
    misuse
        Error of a call in the middle of a sample, or None.
    """

    def __init__(
        self,
        samples: Iterator[MicroBatch],
        rehearsal: Rehearsal,
        update: NoisyUpdate,
        *,
        records: RecordSource,
        size: int,
        check: Callable[[], object],
        was_charged: Callable[[], bool],
    ) -> None:
        self.pending: MicroBatch | None = None
        self.misuse: ParameterError | None = None
        self._samples, self._rehearsal, self._update = samples, rehearsal, update
        self._records, self._size = records, size
        self._check, self._was_charged = check, was_charged
        self._rehearsed: MicroBatch | None = None
        self._iterator: Generator[Batch, None, None] | None = None
        self._loops = 0

    @property
    def in_rehearsal(self) -> bool:
        """Whether a rehearsal began and has not ended."""
        return self._rehearsed is not None

    def begin(self) -> Iterator[Batch]:
        """Return the iterator of a new loop; an earlier loop can no longer continue."""
        self.refuse_within_a_sample("a loop can begin")
        self._loops += 1
        self._iterator = self._batches(self._loops)
        return self._iterator

    def close(self) -> None:
        """End a rehearsal under way, which switches dropout on again."""
        if self._rehearsed is not None and self._iterator is not None:
            self._iterator.close()

    def refuse_within_a_sample(self, action: str, *, seen: bool = False) -> None:
        """Refuse an action that would drop a sample; with ``seen``, refuse in any case.

        Raises
        ------
        ParameterError
            If a batch still needs its step, or a part of a sample was added.
        """
        if seen or self.pending is not None or self._update.is_partial:
            self.misuse = ParameterError(
                f"{action} between two steps only, right after step returned True: dropping a sample after the loop "
                f"has seen it would be another way of sampling."
            )
            raise self.misuse  # also in a rehearsal, where this message helps more than that about unusual values

    def _batches(self, loop: int) -> Generator[Batch, None, None]:
        for part in self._parts():
            self._refuse_other_loops(loop)
            batch, rows = self._rehearsal_batch(part)
            if self._rehearsal.is_due(self._update.draws, batch, rows):
                self._rehearsed = part
                yield from self._trials(batch, rows, loop)
            self.pending, self._rehearsed = part, None
            yield part.batch
        self._refuse_other_loops(loop)

    def _parts(self) -> Iterator[MicroBatch]:
        """Yield the sample of an interrupted rehearsal again, then the remaining samples."""
        if self._rehearsed is not None:
            yield self._rehearsed
        while (part := next(self._samples, None)) is not None:  # "yield from" would end them with the loop
            yield part

    def _rehearsal_batch(self, part: MicroBatch) -> tuple[Batch, int]:
        """Batch for a rehearsal; before the charge, the first records of the data set replace a small sample."""
        if self._was_charged() or part.rows >= min(FEWEST, self._records.count) or not self._rehearsal.enabled:
            return part.batch, part.rows
        rows = min(self._records.count, STAND_IN, self._size)
        return next(iter(self._records.batches(iter([np.arange(rows, dtype=np.int64)])))), rows

    def _trials(self, batch: Batch, rows: int, loop: int) -> Iterator[Batch]:
        """Yield the trial batches of a rehearsal with the rows of ``batch``."""
        with self._rehearsal.quiet():
            trials = self._rehearsal.batches(batch, rows, self._update.draws, charged=self._was_charged())
            for copy, size in trials:
                self.pending = MicroBatch(copy, size, last=False, trial=True)
                yield copy
                self._refuse_other_loops(loop)

    def _refuse_other_loops(self, loop: int) -> None:
        self._check()
        if loop != self._loops:
            raise ParameterError(
                "only one loop over a training run can be under way.", remedy="Break out of the other one."
            )
        if self.pending is not None:
            raise ParameterError("Call private.step(losses) once for every batch.")
