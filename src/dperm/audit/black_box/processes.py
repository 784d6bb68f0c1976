# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Runs in several processes: each with randomness of its own, all ended when one fails or the user interrupts."""

import multiprocessing
import os
import pickle
import signal
import sys
import threading
from collections.abc import Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from multiprocessing.context import BaseContext
from multiprocessing.process import BaseProcess

from dperm.audit.black_box.repetition import Firsts, first_trainings
from dperm.audit.black_box.sample import Progress, Truths, told
from dperm.audit.black_box.training import Failure, Trainings, succeeded, trained
from dperm.errors import DataError, ParameterError
from dperm.noise.arrays import Floats

_inherited: dict[str, Trainings] = {}
"""What this process trains with: set once, as it starts."""
_first: dict[str, Floats | Failure] = {}
"""The first trainings of this process, by which repetitions are known."""
Part = tuple[int, Floats | Failure, Floats | Failure]
"""The process, its first trainings, and the outputs of a part of the runs."""


def in_processes(
    trainings: Trainings, parts: Sequence[Truths], *, workers: int, progress: Progress | None = None
) -> list[Floats]:
    """The outputs of each part, in order."""
    context = _context(trainings)
    others = set(multiprocessing.active_children())
    pool = ProcessPoolExecutor(workers, context, _started, (trainings,))
    try:
        found = _finished([pool.submit(_some, part) for part in parts], progress)
        pool.shutdown()
        return found
    except BrokenProcessPool:
        raise DataError("a process that trains ended without a word: it was killed, or ran out of memory.") from None
    finally:
        _end(pool, others)


def _finished(futures: list["Future[Part]"], progress: Progress | None) -> list[Floats]:
    """The results as they come; the first failure raises, and so does the first repetition."""
    left, firsts = set(futures), Firsts()
    while left:
        done, left = wait(left, return_when=FIRST_COMPLETED)
        for future in done:
            process, first, outputs = future.result()
            firsts.require_new(process, succeeded(first))
            succeeded(outputs)
        told(progress, 1 - len(left) / len(futures))
    return [succeeded(future.result()[2]) for future in futures]


def _end(pool: ProcessPoolExecutor, others: set[BaseProcess]) -> None:
    """Leave no process behind: those of a pool that has finished are gone, the others are ended.

    The pool itself waits for them: two who wait for one process may both miss it.
    """
    for child in set(multiprocessing.active_children()) - others:
        child.terminate()
    pool.shutdown(cancel_futures=True)


def _context(trainings: Trainings) -> BaseContext:
    """Forking hands over any function; elsewhere it has to be picklable."""
    if "fork" in multiprocessing.get_all_start_methods():
        return multiprocessing.get_context("fork")
    try:
        pickle.dumps(trainings)
    except Exception as error:
        raise ParameterError(
            f"workers must be 1 here: this system cannot fork, and train or the data cannot be pickled "
            f"({type(error).__name__}). Or define train at the top of a module."
        ) from None
    return multiprocessing.get_context("spawn")


def _started(trainings: Trainings) -> None:
    """In a new process: the parent answers interrupts, and generators of modules are seeded anew.

    Noise of dperm is keyed anew after a fork by itself. Generators that are objects of the user's go on as their
    parent's would, in every process: those are found out by the first trainings.
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
    """A parent that is killed ends nobody."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _some(included: Truths) -> Part:
    trainings = _inherited["trainings"]
    if not _first:
        _first["of this process"] = first_trainings(trainings)
    return os.getpid(), _first["of this process"], trained(trainings, included)
