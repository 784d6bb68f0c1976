# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Tasks that Dask workers run. Their representations have no contents: logs and dashboards of a cluster show them."""

from collections.abc import Callable
from typing import Any

from dperm.data.passes import HeldGroup
from dperm.data.row_groups import FOREIGN
from dperm.engines.guarded import guarded
from dperm.engines.worker_settings import kernel_settings
from dperm.errors import DpermError


class OnRowGroup:
    """Task of a worker: encode a row group and hold it."""

    def __init__(self, encode: Callable[[Any], HeldGroup], group: Any) -> None:
        self._encode, self._group = encode, group

    def __call__(self, *parts: Any) -> Any:
        """Return `Held` or `Refused`; ``parts`` are the computed parts of a Dask block."""
        with kernel_settings():
            return or_refused(self._held, parts, name=self._group.id)

    def _held(self, parts: tuple[Any, ...]) -> "Held":
        return Held(self._encode(self._group.loaded(*parts) if parts else self._group))

    def __repr__(self) -> str:
        """Show no contents: logs and dashboards show this text."""
        return "encode"


class OnHeldGroups:
    """Task of a worker: run a function on held row groups."""

    def __init__(self, task: Callable[[HeldGroup], Any], names: tuple[str, ...]) -> None:
        self._task, self._names = task, names

    def __call__(self, *held: "Held | Refused") -> tuple[str, list[Any]]:
        """Return the address of the worker, and the result of each row group."""
        from distributed import get_worker

        with kernel_settings():
            results = [self._result(name, one) for name, one in zip(self._names, held, strict=True)]
        return get_worker().address, results

    def _result(self, name: str, held: "Held | Refused") -> Any:
        return held if isinstance(held, Refused) else or_refused(self._task, held.group, name=name)

    def __repr__(self) -> str:
        """Show no contents: logs and dashboards show this text."""
        return "run"


class Held:
    """Held row group of a worker, with its size for Dask and a representation without rows."""

    def __init__(self, group: HeldGroup) -> None:
        self.group = group
        self._size = sum(rows.nbytes() for _, rows in group.chunks())

    def __sizeof__(self) -> int:
        """Return the bytes of the rows; Dask moves and stores results by their size."""
        return object.__sizeof__(self) + self._size

    def __repr__(self) -> str:
        """Show no contents: logs and dashboards show this text."""
        return "rows"


class Refused:
    """Error of dperm as the result of a task. Dask would run a task again that raises."""

    def __init__(self, error: DpermError) -> None:
        self.error = error


def or_refused(function: Callable[[Any], Any], argument: Any, *, name: str) -> Any:
    """Return ``function(argument)``, or the error of dperm that it raises.

    Raises
    ------
    DataError
        With the code ``FOREIGN``, in place of an exception of another library.
    """
    try:
        return guarded(function, argument, name=name)
    except DpermError as error:
        if error.code == FOREIGN:
            raise
        return Refused(error)
