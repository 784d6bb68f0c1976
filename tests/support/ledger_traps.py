# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Where a writer may die: before and after every statement that changes something, and between the steps of a run."""

import os
import random
import signal
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

POINTS = ("begun", "entry", "meter", "committing", "commit", "committed", "marked", "reserved", "released")
"""Where a writer kills itself: before and after every statement that changes something, and between the steps."""


@dataclass
class Trap:
    """Kills its own process at a point, when it comes there for the n-th time."""

    point: str
    left: int
    changed: bool = False

    def reach(self, point: str) -> None:
        if point == self.point:
            self.left -= 1
            if self.left == 0:
                os.kill(os.getpid(), signal.SIGKILL)

    def statement(self, text: str) -> None:
        """Called by SQLite before it runs a statement."""
        if text.startswith("BEGIN"):
            self.changed = False
        elif text.startswith("INSERT INTO entry"):
            self.changed = True
            self.reach("begun")
        elif text.startswith(("INSERT INTO meter", "UPDATE meter")):
            self.reach("entry")
        elif text.startswith("SELECT number, hash"):
            self.reach("meter")
        elif text.startswith("COMMIT") and self.changed:
            if self.point == "committing" and self.left == 1:  # somewhere inside COMMIT, which lets threads run
                threading.Thread(target=self._soon, daemon=True).start()
            else:
                self.reach("committing")
            self.reach("commit")

    def set(self, location: str) -> None:
        """Put it into the way of the store."""
        if location.startswith("postgres"):
            self._set_in_postgres()
        else:
            self._set_in_sqlite()

    def _set_in_sqlite(self) -> None:
        from dperm.ledger import locking
        from dperm.ledger.sqlite import handles

        connect, write = handles._connect, locking.Lock.write

        def traced(path: Path) -> Any:
            connection = connect(path)
            connection.set_trace_callback(self.statement)
            return connection

        def before_write(lock: Any, mark: Any) -> None:
            self.reach("committed")
            write(lock, mark)
            self.reach("marked")

        handles._connect, locking.Lock.write = traced, before_write

    def _set_in_postgres(self) -> None:
        from dperm.ledger.postgres import connections

        connect = connections._connect

        def traced(location: str) -> Any:
            connection = connect(location)
            execute = connection.execute

            def stepped(query: str, *rest: Any, **options: Any) -> Any:
                text = query.replace("dperm.", "")
                self.statement(text)
                said = execute(query, *rest, **options)
                if text.startswith(("UPDATE meter", "INSERT INTO meter")):
                    self.reach("meter")
                elif text.startswith("COMMIT") and self.changed:
                    self.reach("committed")
                return said

            connection.execute = stepped
            return connection

        connections._connect = traced

    def _soon(self) -> None:
        time.sleep(random.uniform(0, 1e-3))
        os.kill(os.getpid(), signal.SIGKILL)
