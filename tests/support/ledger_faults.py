# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Writers that race, die and come back, on one ledger.

A writer does what a run does: reserve, draw, let the draw out (a line in a journal, on the disk), commit. Writers pick
their request ids from one moving window, as a scheduler does that starts jobs again and does not know what became of
them: most ids are asked for several times, some by two writers at once. The journal is the truth about what left.
"""

import json
import os
import random
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from ledger_reader import Figures, Released, audited, digest_of, read_books

from dperm import PureDP
from dperm.accounting import Pure
from dperm.errors import BudgetError, LedgerError
from dperm.ledger import Ledger

LIMITS = {"small": 0.25, "large": 2.0**20, "family": 2.0**20, "child": 2.0**20}
ACCOUNTS = ("small", "large", "child")
"""A child is charged to its family too."""
WINDOW = 12
LINE = 100


@dataclass(frozen=True)
class World:
    """A ledger, and the folder where its writers write down what they do."""

    location: str
    folder: str
    careless: str = ""
    """What its writers do wrong, to see whether it is found."""

    @classmethod
    def made(cls, location: str, folder: str, careless: str = "") -> "World":
        for account, limit in LIMITS.items():
            parents = ("family",) if account == "child" else ()
            given = PureDP(limit, "replace_one")
            Ledger.open(location, given, dataset=f"data of {account}", account=account, parents=parents)
        return cls(location, folder, careless)

    def note(self, name: str, text: str) -> None:
        """A line in a journal, on the disk when this returns."""
        file = os.open(Path(self.folder) / name, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        os.write(file, f"{text.ljust(LINE - 1)}\n".encode())
        os.fsync(file)
        os.close(file)

    def noted(self, name: str) -> list[str]:
        path = Path(self.folder) / name
        return [line.strip() for line in path.read_text().splitlines()] if path.exists() else []

    def released(self) -> list[Released]:
        rows = (line.split() for line in self.noted("released"))
        return [Released(row[0], row[1], float.fromhex(row[2]), row[3]) for row in rows]

    def frontier(self) -> int:
        """The number up to which most requests were tried."""
        path = Path(self.folder) / "released"
        return 3 * (path.stat().st_size // LINE) // 2 if path.exists() else 0

    def audit(self) -> Figures:
        """The books against the journals; these are read first, so the books have to know what they tell."""
        anchors, released = [json.loads(line) for line in self.noted("anchors")], self.released()
        limits = {account: Fraction(limit) for account, limit in LIMITS.items()}
        found = audited(read_books(self.location), limits, released, anchors)
        found.broken += self.noted("errors")
        return found


def epsilon_of(number: int) -> float:
    """What request ``number`` asks for, every time that it is asked."""
    return 0.0005 * (1 + number % 7) + 1e-9 * number


def release(world: World, number: int, reach: Callable[[str], None]) -> bool:
    """One run. Whether it drew noise."""
    account, request, epsilon = ACCOUNTS[number % 3], f"r{number}", epsilon_of(number)
    nonce = secrets.token_hex(8)
    if world.careless == "draws first":
        world.note("released", f"{account} {request} {epsilon.hex()} {nonce}")
    try:
        found = Ledger(world.location, account=account).reserve(Pure(epsilon, "replace_one"), request_id=request)
    except BudgetError:
        return False
    if found.repeated and world.careless != "draws again":
        return False
    reach("reserved")
    if number % 41 == 40:
        found.burn("nothing came of it")
        return False
    if world.careless != "draws first":
        world.note("released", f"{account} {request} {epsilon.hex()} {nonce}")
    reach("released")
    found.commit(digest_of(nonce))
    if number % 4 == 0:
        world.note("anchors", json.dumps({name: found.receipt[name] for name in ("account", "seq", "hash")}))
    return True


def work(world: World, seed: int, reach: Callable[[str], None], patient: bool = False) -> None:
    """Release until somebody kills it. The patient one asks again, as for a server that is starting."""
    generator = random.Random(seed)
    while True:
        number = world.frontier() + generator.randrange(WINDOW)
        if generator.random() < 0.1:
            number = generator.randrange(number + 1)
        while True:
            try:
                release(world, number, reach)
                break
            except LedgerError:
                if not patient:
                    raise
                time.sleep(0.05)
