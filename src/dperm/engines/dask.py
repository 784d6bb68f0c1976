# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Dask as an engine: row groups in the memory of Dask workers. To install Dask: ``pip install "dperm[dask]"``.

Each row group is encoded by one task, whose result stays on its worker. Because each task takes milliseconds of
overhead, a pass sends one task to each thread of a worker, for the row groups that this worker holds. The row groups of
a lost worker are encoded again by other workers.

Logs and dashboards of a cluster show keys, arguments and errors of tasks. Therefore keys are random, arguments have a
representation without contents, and errors are replaced on the worker.
"""

import importlib.metadata
import re
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, TypeVar

from dperm import checks
from dperm.checks import shown
from dperm.data.passes import HeldGroup
from dperm.engines.dask_futures import CALL, ask, closed, collected
from dperm.engines.dask_tasks import OnHeldGroups, OnRowGroup, Refused
from dperm.errors import DpermError, ParameterError

T = TypeVar("T")

CLOSING = 1.0
"""Seconds in which a client without a scheduler must close."""
_ADDRESS = re.compile(r"inproc://\S+|[a-z]+://\S+:\d+/?")


class DaskEngine:
    """Engine that holds encoded row groups in the memory of Dask workers, and runs passes there.

    The driver process charges the budget, draws the noise, runs the solver and checks the accuracy of its solution.
    Workers receive public constants and coefficients, and return sums. All workers must be under the control of the
    data curator, because they hold the private data.

    Parameters
    ----------
    client
        Client of ``dask.distributed``, or the address of a scheduler, such as "tcp://scheduler:8786". None for the
        current client of this process.
    retries
        Number of times that a failed task is run again, at least 0. A task that fails because dperm rejects the data
        is not run again. Dask itself runs the tasks of lost workers again.
    patience
        Time in seconds after which a pass fails if no worker is running.

    Raises
    ------
    ParameterError
        If an argument is out of range. `hold` raises it if Dask is missing, or if there is no scheduler.

    Notes
    -----
    *Guarantees.* The privacy guarantee of a release does not depend on the engine. `dperm.data.passes.TablePasses`
    accepts only one answer for each row group in a pass. It compares the checksum of the row group with the checksum in
    the first pass, and raises an error if they differ (T206). Errors, task keys and representations of tasks contain no
    cell and no coefficient.

    ========================================  =======================================================
    event                                     effect
    ========================================  =======================================================
    a worker dies                             other workers encode its row groups again
    a task fails ``retries`` + 1 times        DataError with the id of the row group
    no running worker for ``patience`` s      DataError with the id of a row group
    a task kills several workers              DataError, after Dask's limit of ``allowed-failures``
    the client or the scheduler is closed     DataError
    ========================================  =======================================================

    Examples
    --------
    >>> from dperm.engines import DaskEngine
    >>> DaskEngine("tcp://scheduler:8786", retries=1)
    DaskEngine(client='tcp://scheduler:8786', retries=1)
    """

    name = "dask"

    def __init__(self, client: Any = None, *, retries: int = 3, patience: float = 60.0) -> None:
        self.client = checked_address(client) if isinstance(client, str) else client
        self.retries = checks.count("retries", retries, least=0)
        self.patience = checks.positive("patience", patience)

    @property
    def version(self) -> str | None:
        """Version of the package ``distributed``, reported in the statement of a fit; None if it is not installed."""
        try:
            return importlib.metadata.version("distributed")
        except importlib.metadata.PackageNotFoundError:
            return None

    def hold(self, encode: Callable[[Any], HeldGroup], groups: Sequence[Any]) -> "DaskGroups":
        """Encode every row group on a worker, and keep the results there.

        Parameters
        ----------
        encode
            Picklable function that encodes a row group.
        groups
            Picklable row groups with distinct ids. Dask computes the partitions of a
            `dperm.engines.dask_tables.DaskBlock` on a worker, and ``encode`` receives the computed block there.

        Returns
        -------
        DaskGroups
            The encoded row groups on the workers.

        Raises
        ------
        DataError
            If a row group cannot be encoded. The message names the first such row group in the order of the table.
        ParameterError
            If Dask is not installed, or if there is no scheduler.
        """
        client, owned = _connected(self.client)
        held = DaskGroups(client, retries=self.retries, patience=self.patience, owned=owned)
        try:
            held.encode(encode, groups)
        except BaseException:
            held.close()
            raise
        return held

    def __repr__(self) -> str:
        """Show the address of the scheduler, and the number of retries."""
        return f"DaskEngine(client={_address(self.client)!r}, retries={self.retries})"

    def __deepcopy__(self, memo: dict[int, Any]) -> "DaskEngine":
        """Return an engine with the same client; `sklearn.base.clone` copies parameters."""
        return DaskEngine(self.client, retries=self.retries, patience=self.patience)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the address of the scheduler in place of the client."""
        return _engine_at, (_address(self.client), self.retries, self.patience)


class DaskGroups:
    """Encoded row groups in the memory of Dask workers; made by `DaskEngine.hold`.

    Parameters
    ----------
    client
        Client of ``dask.distributed``.
    retries, patience
        See `DaskEngine`.
    owned
        Whether `close` closes the client.
    """

    def __init__(self, client: Any, *, retries: int, patience: float, owned: bool) -> None:
        self._client, self._owned = client, owned
        self._retries, self._patience = retries, patience
        self._held: dict[str, Any] = {}
        self._places: dict[str, str] = {}

    def encode(self, encode: Callable[[Any], HeldGroup], groups: Sequence[Any]) -> None:
        """Encode the row groups, and wait for the last one."""
        for group in groups[:1]:
            self._require_open(group.id)
        self._held = _encode_tasks(self._client, encode, groups, retries=self._retries)
        for _ in self.run(_nothing):
            pass

    def run(self, task: Callable[[HeldGroup], T]) -> Iterator[T]:
        """Yield ``task(group)`` for every row group, as workers finish.

        Parameters
        ----------
        task
            Picklable function of an encoded row group.

        Yields
        ------
        object
            Results, in any order.

        Raises
        ------
        DataError
            If a row group cannot be processed; see `DaskEngine`. The message names the first such row group in the
            order of the table.
        """
        tasks, failures, places = {}, dict[str, DpermError](), self._places
        for names in self._shares():
            self._require_open(names[0])
            held, key = [self._held[name] for name in names], _key("pass")
            future = self._client.submit(OnHeldGroups(task, names), *held, key=key, pure=False, retries=self._retries)
            tasks[future] = names
        for names, (place, results) in collected(self._client, tasks, failures, patience=self._patience):
            places = places | dict.fromkeys(names, place)
            for name, result in zip(names, results, strict=True):
                if isinstance(result, Refused):
                    failures[name] = result.error
                else:
                    yield result
        for name in self._held:
            if name in failures:
                raise failures[name] from None
        if places != self._places:
            self._places = places if not self._places else self._found_places()

    def close(self) -> None:
        """Free the memory of the row groups on the workers."""
        for future in self._held.values():
            future.release()
        self._held, self._places = {}, {}
        if self._owned:
            self._client.close(timeout=CALL)

    def _shares(self) -> list[tuple[str, ...]]:
        """Return the row groups of each task.

        The threads of a worker share the row groups that it holds. A row group without a known place has its own task,
        so that no worker has to gather several of them.
        """
        threads: Mapping[str, int] = ask(self._client, "ncores") or {}
        at: dict[str, list[str]] = {}
        for name in self._held:
            place = self._places.get(name, "")
            at.setdefault(place or f"unknown {name}", []).append(name)
        cuts = [(names, threads.get(place, 1)) for place, names in at.items()]
        return [tuple(names[first::count]) for names, count in cuts for first in range(min(count, len(names)))]

    def _found_places(self) -> dict[str, str]:
        """Ask the scheduler for the worker of each row group, after a worker was lost."""
        holders = ask(self._client, "who_has", keys=[future.key for future in self._held.values()]) or {}
        return {name: next(iter(holders.get(future.key, ())), "") for name, future in self._held.items()}

    def _require_open(self, name: str) -> None:
        if self._client.status in ("closing", "closed"):
            raise closed(name)


def _nothing(group: HeldGroup) -> None:
    """Return nothing: a pass that waits for the row groups and finds their workers."""


def _encode_tasks(
    client: Any, encode: Callable[[Any], HeldGroup], groups: Sequence[Any], *, retries: int
) -> dict[str, Any]:
    """Submit the tasks that encode row groups; return their futures by id.

    No task is bound to a worker: Dask would not run it on a worker that replaces the last one. Blocks of Dask objects
    are submitted as one graph, so that a worker encodes a block before it reads the next one.
    """
    from dask.delayed import delayed
    from distributed import futures_of

    futures, blocks = dict[str, Any](), dict[str, Any]()
    for group in groups:
        if parts := getattr(group, "dask_parts", ()):
            function = OnRowGroup(encode, group.without_parts())
            blocks[group.id] = delayed(function, pure=False, traverse=False)(*parts, dask_key_name=_key("rows"))
        else:
            futures[group.id] = client.submit(OnRowGroup(encode, group), key=_key("rows"), pure=False, retries=retries)
    if blocks:
        persisted = client.persist(list(blocks.values()), retries=retries)
        futures.update((name, futures_of(one)[0]) for name, one in zip(blocks, persisted, strict=True))
    return {group.id: futures[group.id] for group in groups}


def _connected(client: Any) -> tuple[Any, bool]:
    """Return the client, and whether it was made here."""
    try:
        from distributed import Client
    except ImportError:
        raise ParameterError(
            "the Dask engine needs dask and distributed, which are not installed.",
            remedy='Run: pip install "dperm[dask]".',
        ) from None
    remedy = 'Start one: client = dask.distributed.Client("tcp://scheduler:8786").'
    if client is None:
        try:
            client = Client.current()
        except ValueError:
            raise ParameterError(
                argument="client", rule="must be given, because this process has no Dask client", remedy=remedy
            ) from None
    if isinstance(client, str):
        return _client_at(client, Client), True
    if not isinstance(client, Client) or client.asynchronous:
        rule = "must be a synchronous client of dask.distributed, the address of a scheduler, or None"
        raise ParameterError(argument="client", rule=rule, got=f"an object of type {type(client).__name__}")
    return client, False


def checked_address(address: str) -> str:
    """Return the address of a scheduler; raise ParameterError unless it has a scheme and a port."""
    if not _ADDRESS.fullmatch(address):
        rule = "must be an address like tcp://host:8786, with a scheme and a port"
        raise ParameterError(argument="client", rule=rule, got=shown(address))
    return address


def _client_at(address: str, Client: Any) -> Any:
    """Return a client of the scheduler at an address. A client that cannot connect is closed, so that it says nothing.

    Raises
    ------
    ParameterError
        If no scheduler answers within `CALL` seconds.
    """
    client = Client.__new__(Client)
    try:
        client.__init__(address, timeout=CALL, set_as_default=False)
        return client
    except (OSError, ValueError, TypeError):
        with suppress(Exception):
            client.close(timeout=CLOSING)
        client.status = "closed"  # its finalizer closes nothing a second time
    rule = "must be the address of a running scheduler"
    raise ParameterError(argument="client", rule=rule, got=shown(address))


def _engine_at(address: str | None, retries: int, patience: float) -> DaskEngine:
    """Return the engine of a pickle."""
    return DaskEngine(address, retries=retries, patience=patience)


def _address(client: Any) -> str | None:
    """Return the address of the scheduler; None for the current client, or for a closed one."""
    return client if client is None or isinstance(client, str) else getattr(client.scheduler, "address", None)


def _key(purpose: str) -> str:
    """Return a random task key, so that Dask keeps no result of an earlier task."""
    return f"dperm-{purpose}-{uuid.uuid4().hex}"
