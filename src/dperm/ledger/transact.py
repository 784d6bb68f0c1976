# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Asking again, when the connection to a store was lost on the way.

Whoever loses it at COMMIT cannot know whether the line was written. So what is asked again has to be idempotent: a
reservation finds its own line by its request id and token, a closing by its content, and reading changes nothing.
"""

import time
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from typing import TypeVar

from dperm.errors import LedgerError
from dperm.ledger.books import Books, Store
from dperm.ledger.memory import changing

PATIENCE = 30.0
"""Seconds after which a store that does not come back is reported."""
_SHORTEST, _LONGEST = 0.02, 1.0

Result = TypeVar("Result")


class Interrupted(LedgerError):
    """A transaction was cut off: it can be asked for again, and may or may not be in the books."""


def transact(store: Store, accounts: Iterable[str], action: Callable[[Books], Result]) -> Result:
    """Run an idempotent ``action`` in a transaction that changes ``accounts``; durable when it returns.

    Raises
    ------
    LedgerError
        If the store did not come back in time, or cannot be written or trusted.
    """
    names = tuple(accounts)
    return _patiently(lambda: changing(store, names), action)


def consult(store: Store, question: Callable[[Books], Result]) -> Result:
    """The answer to ``question`` from the books as they stand at one moment."""
    return _patiently(store.read, question)


def _patiently(begin: Callable[[], AbstractContextManager[Books]], action: Callable[[Books], Result]) -> Result:
    deadline, pause = time.monotonic() + PATIENCE, _SHORTEST
    while True:
        try:
            with begin() as books:
                return action(books)
        except Interrupted:
            if time.monotonic() + pause > deadline:
                raise
        time.sleep(pause)
        pause = min(2 * pause, _LONGEST)
