# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""A log cut off anywhere: SQLite opens it as a shorter ledger without a flaw, and the mark and the anchor tell."""

import random
from pathlib import Path

import pytest
from ledger_copies import EVENT, original
from ledger_reader import broken_chain, read_books

from dperm.errors import LedgerError
from dperm.ledger import Ledger, verify
from dperm.ledger.sqlite import handles


@pytest.mark.parametrize("cuts", [20, pytest.param(200, marks=pytest.mark.slow)], ids=["short", "long"])
def test_every_log_that_was_cut_is_a_shorter_ledger_and_is_caught(cuts: int, tmp_path: Path):
    seed = 6
    generator, whole = random.Random(seed), original(tmp_path, settled=0, logged=40)
    log, by_mark, by_anchor = whole.files["x.ledger-wal"], 0, 0
    for number in range(cuts):
        place = tmp_path / str(number)
        place.mkdir()
        left = log[: generator.randrange(len(log))]

        marked = whole.copied(place / "marked", log=left)
        by_mark += not verify(marked).ok
        with pytest.raises(LedgerError):
            Ledger(str(marked)).reserve(EVENT)
        handles.forget(marked)

        bare = whole.copied(place / "bare", log=left, lock=None)
        books = read_books(str(bare))
        assert books.lines == whole.books.lines[: len(books.lines)] != whole.books.lines
        assert broken_chain(list(books.lines)) == []
        assert verify(bare).ok, "without a mark or an anchor nobody can tell"
        by_anchor += not verify(bare, [whole.anchor]).ok
        handles.forget(bare)
    caught = f"by the mark {by_mark}/{cuts}, by an anchor {by_anchor}/{cuts}"
    print(f"seed {seed}: {cuts} torn logs: rollbacks caught {caught}.")
    assert (by_mark, by_anchor) == (cuts, cuts)
