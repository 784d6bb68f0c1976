# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Clients that race for one account: a program of its own, since it forks.

    clients = Clients(url, folder, workers=8, requests=200)
    with clients.running(kills=20): ...               # meanwhile something may happen to the server
    clients.granted, clients.refused, clients.problems()

Each client asks for its requests one by one: reserve, draw (a line in a journal), commit. Whoever is killed is started
again, and asks first for the request that it died in.
"""

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from dperm.accounting import Pure
from dperm.errors import BudgetError
from dperm.ledger import Anchor, Ledger, transactions, verify

COST = 2.0**-9


@dataclass(frozen=True)
class Clients:
    """So many clients with so many requests each, and the folder of their journals."""

    location: str
    folder: str
    workers: int = 8
    requests: int = 200

    @contextmanager
    def running(self, *, kills: int = 0) -> Iterator[subprocess.Popen[str]]:
        """The program, which has ended well when the block is left."""
        given = [self.location, self.folder, self.workers, self.requests, kills]
        words = [sys.executable, __file__, *map(str, given)]
        process = subprocess.Popen(words, stderr=subprocess.PIPE, text=True, start_new_session=True)
        try:
            yield process
            _, said = process.communicate(timeout=300)
            assert process.returncode == 0, said
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.communicate()

    def run(self, *, kills: int = 0) -> None:
        """Run them to their end."""
        with self.running(kills=kills):
            pass

    @property
    def granted(self) -> int:
        return len(self.noted("drawn"))

    @property
    def refused(self) -> int:
        return len(self.noted("refused"))

    def problems(self) -> list[str]:
        """What the books say against the journals: nothing, if no noise was drawn uncovered, or twice."""
        anchors = [Anchor.from_json(line) for line in self.noted("anchors")]
        ledger, drawn = Ledger(self.location), Counter(self.noted("drawn"))
        booked = Counter(booking.request_id for booking in ledger.bookings())
        twice = [f"{name} was drawn twice" for name, times in drawn.items() if times > 1]
        uncovered = [f"{name} was drawn without a reservation" for name in drawn if name not in booked]
        double = [f"{name} was charged twice" for name, times in booked.items() if times > 1]
        spent, charged = ledger.spent["epsilon"], sum(booked.values()) * COST
        wrong = [] if spent == charged <= ledger.capacity["epsilon"] else [f"{spent} is spent, {charged} is charged"]
        return [*twice, *uncovered, *double, *wrong, *verify(self.location, anchors).problems]

    def note(self, journal: str, text: str) -> None:
        file = os.open(Path(self.folder) / journal, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        os.write(file, f"{text}\n".encode())
        os.close(file)

    def noted(self, journal: str) -> list[str]:
        path = Path(self.folder) / journal
        return path.read_text().splitlines() if path.exists() else []

    def work(self, worker: int) -> None:
        """All requests of one client, from the one where it stopped."""
        ledger, journal = Ledger(self.location), f"begun-{worker}"
        for number in range(max(0, len(set(self.noted(journal))) - 1), self.requests):
            name = f"{worker}-{number}"
            self.note(journal, name)
            try:
                reservation = ledger.reserve(Pure(COST, "replace_one"), request_id=name)
            except BudgetError:
                self.note("refused", name)
                continue
            if not reservation.repeated:
                self.note("drawn", name)
                reservation.commit(f"sha256:{name}")
                self.note("anchors", Anchor.from_receipt(reservation.receipt).to_json())


def hire(clients: Clients, worker: int) -> int:
    """Fork a client."""
    process = os.fork()
    if process == 0:
        code = 1
        try:
            clients.work(worker)
            code = 0
        except BaseException as error:
            print(f"{type(error).__name__}: {error}", file=sys.stderr, flush=True)
        finally:
            os._exit(code)
    return process


def main(location: str, folder: str, *counts: str) -> int:
    """Run all clients, kill some, and return whether one failed."""
    workers, requests, kills = map(int, counts)
    transactions.PATIENCE = 240.0  # a crashed server takes its time on a busy machine
    Ledger(location).accounts()  # a client that never saw the server would not wait for it
    clients, failed, chance = Clients(location, folder, workers, requests), 0, random.Random(7)
    living = {hire(clients, worker): worker for worker in range(workers)}
    while living:
        if kills:
            time.sleep(chance.uniform(0.0, 0.03))
            kills -= 1
            os.kill(chance.choice(sorted(living)), signal.SIGKILL)
        process, status = os.waitpid(-1, 0)
        worker = living.pop(process)
        if os.WIFSIGNALED(status):
            clients.note("killed", json.dumps(worker))
            living[hire(clients, worker)] = worker
        failed += os.WIFEXITED(status) and os.WEXITSTATUS(status) != 0
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
