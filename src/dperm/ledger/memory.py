# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""What this process has seen of a ledger: it is not fooled by an older copy, wherever that was put in its place."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from dperm.errors import LedgerError
from dperm.ledger.books import Books, Store, require_current
from dperm.ledger.entry import Entry

_last: dict[tuple[str, str], Entry] = {}
"""By id of the ledger and account: the last line that a change of this process left."""


@contextmanager
def changing(store: Store, accounts: Iterable[str]) -> Iterator[Books]:
    """The books for a change, as ``store.write`` gives them, with all that this process left in them.

    Raises
    ------
    LedgerError
        If a line is gone that was durable: the ledger was put back to an older state, or exchanged for a copy.
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
        # another thread may have been here after us: what it left stays
        _last[key] = max(_last.get(key, head), head, key=lambda line: line.seq)


def _require_known_lines(books: Books, ledger: str, names: Iterable[str]) -> None:
    for known in (_last.get((ledger, name)) for name in names):
        line = None if known is None else books.entry(known.account, known.seq)
        if known is not None and (line is None or line.hash != known.hash):
            raise LedgerError(
                f"line {known.seq} of account {known.account!r}, which this process has seen, is gone: the ledger was "
                "put back to an older state, or a copy of it is used. Nothing was charged. Put the right one back, "
                "verify it against the anchor of the last artefact, and start the process anew."
            )
