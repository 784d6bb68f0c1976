# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
from contextlib import contextmanager

import pytest

from dperm.errors import BudgetError, LedgerError
from dperm.ledger import transactions
from dperm.ledger.books import FORMAT
from dperm.ledger.transactions import TransactionInterruptedError


class Books:
    """As much of the books as a transaction by itself looks at."""

    id = "0" * 32

    def format(self):
        return FORMAT

    def identity(self):
        return self

    def head(self, account):
        return None

    def __str__(self):
        return "books"


class Flaky:
    """A store that is cut off the first few times: before the action, or after it, at COMMIT."""

    def __init__(self, times, error=TransactionInterruptedError, late=False):
        self.left, self.error, self.late, self.begun, self.asked = times, error, late, 0, None

    @contextmanager
    def read(self):
        self.begun += 1
        self.left -= 1
        if self.left >= 0 and not self.late:
            raise self.error("cut off")
        yield Books()
        if self.left >= 0:
            raise self.error("cut off")

    def write(self, accounts):
        self.asked = accounts
        return self.read()


@pytest.fixture
def clock(monkeypatch):
    """A clock that moves by sleeping only."""
    slept = []
    monkeypatch.setattr(transactions.time, "monotonic", lambda: sum(slept))
    monkeypatch.setattr(transactions.time, "sleep", slept.append)
    return slept


@pytest.mark.parametrize("late", [False, True], ids=["before", "at-commit"])
def test_what_was_cut_off_is_asked_again_and_the_last_answer_counts(clock, late):
    answers, store = iter(range(9)), Flaky(3, late=late)
    found = transactions.transact(store, iter(["a", "b"]), lambda books: (str(books), next(answers)))
    assert found == ("books", 3 if late else 0)
    assert (store.begun, store.asked) == (4, ("a", "b"))
    assert len(clock) == 3 and clock == sorted(clock)


def test_reading_is_asked_again_too(clock):
    store = Flaky(2)
    assert transactions.consult(store, str) == "books"
    assert store.begun == 3


def test_a_store_that_does_not_come_back_is_reported_in_time(clock):
    with pytest.raises(TransactionInterruptedError):
        transactions.transact(Flaky(10**6), ["a"], str)
    assert transactions.PATIENCE / 2 < sum(clock) <= transactions.PATIENCE


@pytest.mark.parametrize("error", [LedgerError, BudgetError, ValueError, KeyboardInterrupt])
def test_no_other_error_is_asked_again(clock, error):
    store = Flaky(1, error)
    with pytest.raises(error):
        transactions.transact(store, ["a"], str)
    assert (store.begun, clock) == (1, [])
