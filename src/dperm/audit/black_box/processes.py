# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Runs in several processes with separate random numbers; a failure or an interrupt terminates all of them.

A new process copies every object of its parent, including generators. A generator held by ``train`` (a numpy Generator,
a random.Random, seeded bits) gives the same numbers in each process, and dependent runs invalidate the bounds. So each
process begins with a few uncounted training runs on the same data. Two processes with equal first outputs are copies.
"""

import multiprocessing
import os
import pickle
import signal
import sys
import threading
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from multiprocessing.context import BaseContext
from multiprocessing.process import BaseProcess

import numpy as np

from dperm.audit.black_box.sample import Progress, Truths, report_progress
from dperm.audit.black_box.training import Failure, Trainings, require_success, run_trainings
from dperm.errors import DataError, ParameterError
from dperm.noise.arrays import Floats

DISTINCT, MOST, OTHERS = 6, 32, 4
"""Numbers of initial training runs: six suffice if all outputs differ.

Otherwise there are 32 runs, and at least four outputs must differ from the most frequent output. Independent processes
then look like copies with probability at most 2e-6.
"""
_inherited: dict[str, Trainings] = {}
"""Training function and data of this process, set once at its start."""
_first: dict[str, Floats | Failure] = {}
"""First outputs of this process, for detecting repeated random numbers."""
PartOutputs = tuple[int, Floats | Failure, Floats | Failure]
"""Process id, its first outputs, and the outputs of a part of the runs."""


def first_outputs(trainings: Trainings) -> Floats | Failure:
    """Return the first outputs of a process, always without the record."""
    found = run_trainings(trainings, np.zeros(DISTINCT, dtype=np.bool_))
    if isinstance(found, Failure) or len(np.unique(found, axis=0)) == DISTINCT:
        return found
    return run_trainings(trainings, np.zeros(MOST, dtype=np.bool_))


def varies_enough(rows: Floats) -> bool:
    """Whether first outputs vary enough to distinguish processes."""
    counts = Counter(row.tobytes() for row in rows)
    return len(rows) - max(counts.values()) >= OTHERS


@dataclass(frozen=True)
class FirstOutputs:
    """First outputs of the processes with at least one finished part."""

    known: dict[bytes, int] = field(default_factory=dict)

    def require_new(self, process: int, rows: Floats) -> None:
        """Raise ``ParameterError`` for rows also released by another process; rows that vary little are ignored."""
        if varies_enough(rows) and self.known.setdefault(rows.tobytes(), process) != process:
            raise ParameterError(
                argument="workers",
                rule=(
                    "must be 1 for this training run: train repeats its random numbers in every process, and runs "
                    "would be dependent"
                ),
                remedy="Alternatively, create the generator inside train, without a seed.",
            )


def run_in_processes(
    trainings: Trainings, parts: Sequence[Truths], *, workers: int, progress: Progress | None = None
) -> list[Floats]:
    """Run the parts in ``workers`` processes, and return the outputs of each part in order."""
    context = _context(trainings)
    others = set(multiprocessing.active_children())
    pool = ProcessPoolExecutor(workers, context, _initialise, (trainings,))
    try:
        found = _collect([pool.submit(_run_part, part) for part in parts], progress)
        pool.shutdown()
        return found
    except BrokenProcessPool:
        raise DataError(
            "a worker process died without reporting an error: it was killed, or ran out of memory."
        ) from None
    finally:
        _terminate(pool, others)


def _collect(futures: list["Future[PartOutputs]"], progress: Progress | None) -> list[Floats]:
    """Collect results as they arrive; raise on the first failure or the first repeated random numbers."""
    left, firsts = set(futures), FirstOutputs()
    while left:
        done, left = wait(left, return_when=FIRST_COMPLETED)
        for future in done:
            process, first, outputs = future.result()
            firsts.require_new(process, require_success(first))
            require_success(outputs)
        report_progress(progress, 1 - len(left) / len(futures))
    return [require_success(future.result()[2]) for future in futures]


def _terminate(pool: ProcessPoolExecutor, others: set[BaseProcess]) -> None:
    """Terminate all remaining processes of the pool; a finished pool has none.

    Only the pool waits for its processes, because two concurrent waits for one process may both miss its end.
    """
    for child in set(multiprocessing.active_children()) - others:
        child.terminate()
    pool.shutdown(cancel_futures=True)


def _context(trainings: Trainings) -> BaseContext:
    """Return the fork context if available; otherwise spawn, with a training function and data that can be pickled."""
    if "fork" in multiprocessing.get_all_start_methods():
        return multiprocessing.get_context("fork")
    try:
        pickle.dumps(trainings)
    except Exception as error:
        raise ParameterError(
            argument="workers",
            rule=(
                "must be 1 here: this system cannot fork, and train or the data cannot be pickled "
                f"({type(error).__name__})"
            ),
            remedy="Alternatively, define train at the top level of a module.",
        ) from None
    return multiprocessing.get_context("spawn")


def _initialise(trainings: Trainings) -> None:
    """Initialize a new process: leave interrupts to the parent, and reseed the modules' global generators.

    The noise of dperm rekeys itself after a fork. Generator objects owned by the user continue identically in every
    process; the first outputs reveal such copies.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    for module in ("random", "numpy.random", "torch"):
        loaded = sys.modules.get(module)
        if loaded is not None:
            loaded.seed()
    _inherited["trainings"] = trainings
    _first.clear()


def _end_with_parent() -> None:
    """Exit when the parent ends; a killed parent does not terminate its children."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _run_part(included: Truths) -> PartOutputs:
    trainings = _inherited["trainings"]
    if not _first:
        _first["of this process"] = first_outputs(trainings)
    return os.getpid(), _first["of this process"], run_trainings(trainings, included)
