# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Transactions on a store: detection of rollbacks, and repetition after a lost connection.

After a loss of the connection at COMMIT, it is unknown whether the entry was written. So every repeated action is
idempotent: a reservation finds its own entry by request id and token, a closing by its content, and reads change
nothing.

The process remembers the last entry that it wrote in each account, and refuses a ledger without this entry: an older
copy was put in its place.
"""

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import TypeVar

from dperm.errors import LedgerError
from dperm.ledger.books import Books, Store, require_current
from dperm.ledger.entry import Entry

_last: dict[tuple[str, str], Entry] = {}
"""Last entry written by this process, by ledger id and account."""
PATIENCE = 30.0
"""Seconds until an unreachable store is reported."""
_SHORTEST, _LONGEST = 0.02, 1.0

Result = TypeVar("Result")


class TransactionInterruptedError(LedgerError):
    """A transaction lost its connection: it can be repeated, and may or may not be in the books."""


def transact(store: Store, accounts: Iterable[str], action: Callable[[Books], Result]) -> Result:
    """Run an idempotent ``action`` in a transaction that changes ``accounts``; durable on return.

    Raises
    ------
    LedgerError
        If the store stays unreachable, or cannot be written or trusted.
    """
    names = tuple(accounts)
    return _with_retries(lambda: checked_write(store, names), action)


def consult(store: Store, query: Callable[[Books], Result]) -> Result:
    """Return the result of ``query`` on a consistent snapshot of the books."""
    return _with_retries(store.read, query)


def _with_retries(begin: Callable[[], AbstractContextManager[Books]], action: Callable[[Books], Result]) -> Result:
    deadline, pause = time.monotonic() + PATIENCE, _SHORTEST
    while True:
        try:
            with begin() as books:
                return action(books)
        except TransactionInterruptedError:
            if time.monotonic() + pause > deadline:
                raise
        time.sleep(pause)
        pause = min(2 * pause, _LONGEST)


@contextmanager
def checked_write(store: Store, accounts: Iterable[str]) -> Iterator[Books]:
    """Yield the books for writing, after checking that all entries written by this process are present.

    Raises
    ------
    LedgerError
        If a durable entry is missing: the ledger was rolled back, or replaced by a copy.
    """
    names = tuple(accounts)
    with store.write(names) as books:
        require_current(books)
        ledger = books.identity().id
        _require_known_lines(books, ledger, names)
        yield books
        heads = [head for head in map(books.head, names) if head is not None]
    for head in heads:
        key = (ledger, head.account)
        # another thread may have written later lines: keep the latest
        _last[key] = max(_last.get(key, head), head, key=lambda line: line.seq)


def _require_known_lines(books: Books, ledger: str, names: Iterable[str]) -> None:
    for known in (_last.get((ledger, name)) for name in names):
        line = None if known is None else books.entry(known.account, known.seq)
        if known is not None and (line is None or line.hash != known.hash):
            raise LedgerError(
                f"line {known.seq} of account {known.account!r}, written by this process, is missing: the ledger was "
                "rolled back to an older state, or replaced by a copy. Nothing was charged.",
                remedy="Restore the right ledger, verify it against the anchor of the last artefact, and restart the "
                "process.",
            )
