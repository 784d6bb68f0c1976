# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Futures of Dask: the wait for results, retries, and errors in place of a wait without end."""

import time
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from queue import Empty, SimpleQueue
from typing import Any

from dperm.engines.guarded import error_without_cells, failed_group
from dperm.errors import DataError, DpermError

POLL = 0.5
"""Seconds between two checks that there are workers."""
CALL = 10.0
"""Seconds in which the scheduler or a worker must answer a question."""


def collected(
    client: Any, tasks: Mapping[Any, tuple[str, ...]], failures: dict[str, DpermError], *, patience: float
) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Yield the row groups and the result of each task when it has finished.

    Parameters
    ----------
    client
        Client of ``dask.distributed``.
    tasks
        Names of the row groups of each future.
    failures
        Receives the errors of tasks, by row group.
    patience
        Seconds without any running worker that end the wait.

    Raises
    ------
    DataError
        If there has been no running worker for this time.
    """
    waiting, watch = dict(tasks), _Watch(client, patience)
    done: SimpleQueue[Any] = SimpleQueue()
    for future in tasks:
        future.add_done_callback(done.put)
    try:
        while waiting:
            try:
                future = done.get(timeout=POLL)
            except Empty:
                watch.check(chain.from_iterable(waiting.values()))
                continue
            found, error = _result_or_error(future, waiting[future])
            if found is None and error is None:  # its worker died after it had finished, and it runs again
                watch.check(waiting[future])
                future.add_done_callback(done.put)
                continue
            names = waiting.pop(future)
            if error is not None:
                failures[failed_group(error, names)] = error
            else:
                yield names, found
    finally:
        for future in waiting:
            future.release()


class _Watch:
    """Watch that ends the wait for tasks when there has been no running worker for some time."""

    def __init__(self, client: Any, patience: float) -> None:
        self._client, self._patience = client, patience
        self._idle_since: float | None = None

    def check(self, names: Iterable[str]) -> None:
        """Raise a DataError about the first of these row groups if the wait is over.

        A paused worker has no memory left, and starts no task.
        """
        found = ask(self._client, "identity") or {}
        if any(worker["status"] == "running" for worker in found.get("workers", {}).values()):
            self._idle_since = None
            return
        now = time.monotonic()
        if self._idle_since is None:
            self._idle_since = now
        if now - self._idle_since >= self._patience:
            raise DataError(
                f"row group {next(iter(names))!r} was not processed: there has been no running Dask worker for "
                f"{self._patience:g} seconds.",
                remedy="Check that the scheduler runs, and start workers with enough memory.",
            )


def _result_or_error(future: Any, names: tuple[str, ...]) -> tuple[Any, DpermError | None]:
    """Return the result of a future, or its error without cells; neither if it has no result at present."""
    from distributed import KilledWorker

    status = future.status
    if status == "cancelled":
        return None, closed(names[0])
    if status not in ("finished", "error"):
        return None, None
    try:
        return future.result(timeout=CALL), None
    except TimeoutError:
        return None, None
    except KilledWorker:
        return None, DataError(
            f"row group {names[0]!r} was not processed: several Dask workers died while they ran its task.",
            remedy="Give the workers more memory, or cut the table into smaller row groups.",
        )
    except Exception as error:
        return None, error_without_cells(error, names[0])


def ask(client: Any, question: str, **arguments: Any) -> Any:
    """Return the scheduler's answer; None if it does not answer in time."""
    if client.status != "running":
        return None
    try:
        return client.sync(getattr(client.scheduler, question), callback_timeout=CALL, **arguments)
    except Exception:
        return None


def closed(name: str) -> DataError:
    """Return the error for a task that the scheduler does not know any more."""
    return DataError(
        f"row group {name!r} was not processed: the Dask client or its scheduler was closed, or cancelled the task.",
        remedy="Keep both open until the run has ended.",
    )
