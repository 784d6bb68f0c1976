# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Runs in several processes: each with randomness of its own, all ended when one fails or the user interrupts."""

import multiprocessing
import pickle
import signal
import sys
from collections.abc import Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from multiprocessing.context import BaseContext
from multiprocessing.process import BaseProcess

from dperm.audit.black_box.sample import Progress, Truths, told
from dperm.audit.black_box.training import Failure, Trainings, succeeded, trained
from dperm.errors import DataError, ParameterError
from dperm.noise.arrays import Floats

_inherited: dict[str, Trainings] = {}
"""What this process trains with: set once, as it starts."""


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


def _finished(futures: list["Future[Floats | Failure]"], progress: Progress | None) -> list[Floats]:
    """The results as they come; the first failure raises."""
    left = set(futures)
    while left:
        done, left = wait(left, return_when=FIRST_COMPLETED)
        for future in done:
            succeeded(future.result())
        told(progress, 1 - len(left) / len(futures))
    return [succeeded(future.result()) for future in futures]


def _end(pool: ProcessPoolExecutor, others: set[BaseProcess]) -> None:
    """Leave no process behind: those of a pool that has finished are gone, the others are ended."""
    pool.shutdown(wait=False, cancel_futures=True)
    for child in set(multiprocessing.active_children()) - others:
        child.terminate()
        child.join()


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
    """In a new process: the parent answers interrupts, and no two processes draw the same numbers.

    Noise of dperm is keyed anew after a fork. The generators of others go on as their parent's would, and runs would
    not be independent: those that are in use get a seed from the operating system.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for module in ("random", "numpy.random", "torch"):
        loaded = sys.modules.get(module)
        if loaded is not None:
            loaded.seed()
    _inherited["trainings"] = trainings


def _some(included: Truths) -> Floats | Failure:
    return trained(_inherited["trainings"], included)
