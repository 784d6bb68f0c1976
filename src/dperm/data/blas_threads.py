# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""One thread for linear algebra while a fit runs, for equal bits and because row groups run in threads of their own.

The number of threads is a setting of the whole process. Several fits may run at a time in threads: the first one sets
the limit, and the last one restores the setting.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from threading import Lock
from typing import Any


class _Limit:
    """Limit shared by all users in this process."""

    def __init__(self) -> None:
        self.lock, self.users = Lock(), 0
        self.limiter: Any = None

    def enter(self) -> None:
        with self.lock:
            if self.users == 0:
                _release_control()
                self.limiter = _thread_pools().limit(limits=1, user_api="blas")
            self.users += 1

    def leave(self) -> None:
        with self.lock:
            self.users -= 1
            if self.users == 0:
                _release_control()
                self.limiter.restore_original_limits()
                _release_control()
                self.limiter = None


_LIMIT = _Limit()


@contextmanager
def single_threaded_blas() -> Iterator[None]:
    """Limit BLAS to one thread until all users of this context in the process have left it."""
    _LIMIT.enter()
    try:
        yield
    finally:
        _LIMIT.leave()


@cache
def _thread_pools() -> Any:
    """Return the thread pools of this process; a search takes milliseconds."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


def _release_control() -> None:
    """Let any thread set limits: newer versions of threadpoolctl ignore all threads but the first one that did."""
    for library in _thread_pools().lib_controllers:
        release = getattr(library, "clear_controlling_thread", None)
        if release is not None:
            release(force=True)
