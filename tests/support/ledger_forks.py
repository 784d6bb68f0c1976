# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Processes that share a ledger in ways that make SQLite forget its locks, and the log then vanish under a writer.

Each case is a story of two processes; what it returns is how many reservations were granted, and how many of them
somebody else sees afterwards.
"""

import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ledger_reader import read_books

from dperm import PureDP
from dperm.accounting import Pure
from dperm.ledger import Ledger
from dperm.ledger.sqlite import handles

EVENT = Pure(2.0**-10, "replace_one")
LOOK = """
import sys
from ledger_reader import read_books
print(sum(line.kind == "reserve" for line in read_books(sys.argv[1]).lines))
"""


def forks(location: str) -> dict[str, Any]:
    """All stories, each on a ledger of its own."""
    stories: dict[str, Callable[[Ledger], int]] = {
        "a child goes on after its parent": _child_after_parent,
        "a parent goes on after its child": _parent_after_child,
        "a fork while another thread charges": _fork_beside_a_thread,
        "a second account is opened beside a thread": _second_account,
    }
    found = {}
    for number, (name, story) in enumerate(stories.items()):
        path = f"{location}-{number}"
        ledger = Ledger.open(path, PureDP(4.0, "replace_one"), dataset="forks", account="main")
        handles.forget(Path(path))
        granted = story(ledger)
        seen = sum(line.kind == "reserve" for line in read_books(path).lines)
        found[name] = [granted, seen]
    return found


def _charge(ledger: Ledger, times: int) -> int:
    for _ in range(times):
        ledger.reserve(EVENT)
    return times


def _look(ledger: Ledger) -> int:
    """A process that opens the ledger and closes it: if it thinks that it is the last, it removes the log."""
    said = subprocess.run([sys.executable, "-c", LOOK, ledger.location], capture_output=True, text=True, check=True)
    return int(said.stdout)


def _child_after_parent(ledger: Ledger) -> int:
    """The connection of the parent's thread is closed while the child goes on."""
    granted, ready, go = [0], os.pipe(), os.pipe()

    def fork() -> None:
        granted[0] += _charge(ledger, 2)
        if os.fork() == 0:
            try:
                _charge(ledger, 2)
                os.write(ready[1], b"1")
                os.read(go[0], 1)
                _charge(ledger, 3)
            finally:
                os.write(ready[1], b"11")
                os._exit(0)
        os.read(ready[0], 1)

    parent = threading.Thread(target=fork)
    parent.start()
    parent.join()
    _look(ledger)
    os.write(go[1], b"1")
    os.read(ready[0], 1)
    os.wait()
    return granted[0] + 5


def _parent_after_child(ledger: Ledger) -> int:
    """The child ends in the ordinary way, which closes whatever it has open."""
    _charge(ledger, 2)
    child = os.fork()
    if child == 0:
        _charge(ledger, 2)
        sys.stdout = open(os.devnull, "w")
        sys.exit(0)
    os.waitpid(child, 0)
    _look(ledger)
    return 4 + _charge(ledger, 3)


def _fork_beside_a_thread(ledger: Ledger) -> int:
    """Children that live on must not keep the lock that another thread held."""
    thread = threading.Thread(target=_charge, args=(ledger, 40))
    thread.start()
    children = []
    while thread.is_alive() and len(children) < 10:
        child = os.fork()
        if child == 0:
            _charge(ledger, 1)
            os._exit(0)
        children.append(child)
    thread.join()
    for child in children:
        os.waitpid(child, 0)
    return 40 + len(children)


def _second_account(ledger: Ledger) -> int:
    """Opening a file a second time, and closing it, drops the locks that the process has on it."""
    go, ready, done, end = (threading.Event() for _ in range(4))

    def charge() -> None:
        try:
            _charge(ledger, 2)
            ready.set()
            go.wait()
            _charge(ledger, 3)
        finally:
            done.set()
            end.wait()

    thread = threading.Thread(target=charge)
    thread.start()
    ready.wait()
    Ledger.open(ledger.location, PureDP(4.0, "replace_one"), dataset="more forks", account="second")
    handles.forget(Path(ledger.location))
    _look(ledger)
    go.set()
    done.wait()
    lost = 5 - _look(ledger)
    end.set()
    thread.join()
    return 5 + lost  # also what comes back only when the thread ends
