# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""What a release asks the tables for is found by an index: a ledger of a hundred thousand lines is not read through."""

import sqlite3
from contextlib import closing

import pytest

from dperm import Laplace, PureDP
from dperm.ledger.sqlite import handles

EVENT = Laplace(16.0)
ASKED = {
    "check": lambda ledger: ledger.check(EVENT),
    "reserve": lambda ledger: ledger.reserve(EVENT, request_id="new"),
    "ask again": lambda ledger: ledger.reserve(EVENT, request_id="old"),
    "state": lambda ledger: ledger.reserve(EVENT, request_id="old").state,
    "receipt": lambda ledger: ledger.reserve(EVENT, request_id="old").receipt,
    "commit": lambda ledger: ledger.reserve(EVENT, request_id="old").commit("sha256:1"),
    "spent": lambda ledger: ledger.spent,
    "limit": lambda ledger: ledger.limit,
    "anchor": lambda ledger: ledger.anchor(),
    "approve": lambda ledger: ledger.approve("new", reason="r", by="b"),
}


@pytest.mark.parametrize("name", ASKED)
def test_no_line_is_read_that_is_not_asked_for(open_file, path, name):
    open_file(PureDP(4.0, "add_remove"), account="above")
    ledger = open_file(PureDP(1.0, "add_remove"), account="census", parents=["above"])
    ledger.reserve(EVENT, request_id="old", facts={"seeded": True})
    said = []
    with handles.borrow(path) as handle:
        handle.connection.set_trace_callback(said.append)
        ASKED[name](ledger)
        handle.connection.set_trace_callback(None)
    asked = {statement for statement in said if statement.lstrip().startswith("SELECT") and "entry" in statement}
    assert asked
    with closing(sqlite3.connect(path)) as connection:
        for statement in asked:
            plan = [row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {statement}")]
            through = [
                step for step in plan if step.startswith("SCAN") and "INDEX" not in step and "LIMIT 1" not in statement
            ]
            assert not through, (statement, plan)
