# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Processes that die while they open a ledger, at every statement in turn; somebody else then opens it."""

import os
import signal
from pathlib import Path
from typing import Any

from ledger_reader import read_books

from dperm import PureDP
from dperm.accounting import Pure
from dperm.errors import LedgerError
from dperm.ledger import Ledger, verify
from dperm.ledger.sqlite import handles

LIMIT = PureDP(1.0, "replace_one")


def openings(folder: str) -> dict[str, Any]:
    """One file after the other, until an opening comes to its end."""
    found: dict[str, Any] = {"kills": 0, "again": 0, "done": 0, "bad": []}
    step = 0
    while found["done"] < 1 or found["kills"] < 1:
        step += 1
        path = Path(folder) / f"{step}.ledger"
        killed = _killed_at(step, path)
        found["kills"] += killed
        found["done"] += not killed
        _open_again(path, found)
    return found


def _killed_at(step: int, path: Path) -> bool:
    """Whether a process died before its statement of this number."""
    process = os.fork()
    if process == 0:
        try:
            _count_down(step)
            Ledger.open(path, LIMIT, dataset="opened by the first")
        finally:
            os._exit(0)
    return os.WIFSIGNALED(os.waitpid(process, 0)[1])


def _count_down(steps: int) -> None:
    left, opened = [steps], handles.open_connection

    def trace(_: str) -> None:
        left[0] -= 1
        if left[0] == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    def traced(path: Path) -> Any:
        connection = opened(path)
        connection.set_trace_callback(trace)
        return connection

    handles.open_connection = traced


def _open_again(path: Path, found: dict[str, Any]) -> None:
    """Either the account is there, or it can be opened: and then there is one, and it works."""
    try:
        Ledger.open(path, LIMIT, dataset="opened by the second")
        found["again"] += 1
    except LedgerError as error:
        if "exists already" not in str(error):
            found["bad"].append(f"{path.name}: {error}")
    ledger = Ledger(str(path))
    ledger.reserve(Pure(0.25, "replace_one")).commit("sha256:0")
    books = read_books(str(path))
    kinds = [line.kind for line in books.lines]
    if kinds != ["open", "reserve", "commit"] or len(books.keys) != 1 or len(books.meters) != 1:
        found["bad"].append(f"{path.name}: {kinds}")
    found["bad"] += verify(path, [ledger.anchor()]).problems
    handles.forget(path)
