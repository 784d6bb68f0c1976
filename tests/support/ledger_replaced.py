# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Another file in the place of the ledger's, while writers are at work.

What is reserved before, and released after, cannot be helped: the reservation was in the books when it was made, and
went with them. How many those are, and how long after, is measured. What is reserved after must not be granted.
"""

import os
import random
import shutil
import sqlite3
import time
from contextlib import closing, suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

from ledger_faults import LIMITS, World, epsilon_of
from ledger_reader import broken_chain, digest_of, read_books

from dperm.accounting import Pure
from dperm.errors import LedgerError
from dperm.ledger import Anchor, Ledger, verify
from dperm.ledger.sqlite import handles

WAYS = ("another ledger", "an older copy", "removed", "log removed", "older copy, log kept by writers")


def replaced(folder: str, rounds: int, seed: int, writers: int = 8) -> dict[str, Any]:
    """Every way in turn, so many times in all."""
    generator = random.Random(seed)
    found: dict[str, Any] = {
        "rounds": rounds,
        "refused": 0,
        "caught": 0,
        "whole": 0,
        "late": 0,
        "window": 0,
        "longest_ms": 0.0,
        "bad": [],
    }
    for number in range(rounds):
        place = Path(folder) / f"round-{number}"
        place.mkdir()
        _round(place, WAYS[number % len(WAYS)], generator, writers, found)
    return found


def _round(place: Path, way: str, generator: random.Random, writers: int, found: dict[str, Any]) -> None:
    path = place / "x.ledger"
    world = World.made(str(path), str(place))
    _charge(path, "before", generator.randrange(3, 30))
    substitute = _substitute(place, path, way)
    _charge(path, "between", generator.randrange(3, 30))
    crew = [_hire(world, slot) for slot in range(writers)]
    _wait_for(world, generator.randrange(20, 60))
    begun, done = _replace(path, substitute, way)
    ended = [os.waitpid(process, 0)[1] for process in crew]
    found["refused"] += sum(os.waitstatus_to_exitcode(status) == 3 for status in ended)
    found["bad"] += [f"{way}: {line}" for line in world.noted("errors")]
    _judge(world, path, way, (begun, done), found)


def _charge(path: Path, name: str, times: int) -> None:
    """Lines that are in the file, and no longer in its log."""
    for number in range(times):
        Ledger(str(path), "large").reserve(Pure(0.5, "replace_one"), request_id=f"{name}-{number}")
    handles.forget(path)


def _substitute(place: Path, path: Path, way: str) -> Path:
    """What will take its place."""
    other = place / "other"
    other.mkdir()
    if way == "another ledger":
        World.made(str(other / "x.ledger"), str(other))
        handles.forget(other / "x.ledger")
    else:
        with closing(sqlite3.connect(path)) as live, closing(sqlite3.connect(other / "x.ledger")) as copy:
            live.backup(copy)
    return other / "x.ledger"


def _replace(path: Path, substitute: Path, way: str) -> tuple[float, float]:
    begun = time.monotonic()
    if way == "removed":
        path.unlink()
    elif way == "log removed":
        path.with_name(path.name + "-wal").unlink()
    else:
        if way != "older copy, log kept by writers":
            for end in ("-wal", "-shm"):
                path.with_name(path.name + end).unlink()
        os.replace(substitute, path)
    return begun, time.monotonic()


def _hire(world: World, slot: int) -> int:
    process = os.fork()
    if process:
        return process
    code = 1
    try:
        for number in range(slot, 10**6, 100):
            _release(world, number)
    except LedgerError:
        code = 3
    except BaseException as error:
        world.note("errors", repr(error)[:90])
    finally:
        os._exit(code)


def _release(world: World, number: int) -> None:
    asked = time.monotonic()
    event, request = Pure(epsilon_of(number) / 1000, "replace_one"), f"r{number}"
    found = Ledger(world.location, "large").reserve(event, request_id=request)
    world.note("released", f"{request} {asked} {time.monotonic()}")
    found.commit(digest_of(request))
    anchor = Anchor.from_receipt(found.receipt)
    with open(Path(world.folder) / f"anchor-{number % 100}", "w") as file:
        file.write(anchor.to_json())


def _whole(world: World, anchors: list[Anchor]) -> bool:
    """Whether every line is there: an older file under the log of the newer one may come to the same."""
    with suppress(sqlite3.Error, TypeError, ValueError):
        books = read_books(world.location)
        kept = {line.split()[0] for line in world.noted("released")}
        booked = {line.request_id for line in books.lines}
        chains = not any(broken_chain(books.of(account)) for account in LIMITS)
        return chains and kept <= booked and all(books.holds(asdict(anchor)) for anchor in anchors)
    return False


def _wait_for(world: World, releases: int) -> None:
    while len(world.noted("released")) < releases and not world.noted("errors"):
        time.sleep(0.002)


def _judge(world: World, path: Path, way: str, moment: tuple[float, float], found: dict[str, Any]) -> None:
    """What was released after it, and what a new process makes of the file."""
    rows = [line.split() for line in world.noted("released")]
    late = [row for row in rows if float(row[1]) > moment[1]]
    found["late"] += len(late)
    found["bad"] += [f"{way}: {row[0]} was asked for afterwards, and granted" for row in late]
    after = [float(row[2]) - moment[1] for row in rows if float(row[2]) > moment[1]]
    found["window"] += len(after)
    found["longest_ms"] = max([found["longest_ms"], *(1000 * span for span in after)])
    anchors = [
        Anchor.from_json(file.read_text()) for file in Path(world.folder).glob("anchor-*") if file.stat().st_size
    ]
    caught, whole = not verify(path, anchors).ok, path.exists() and _whole(world, anchors)
    found["caught"] += caught
    found["whole"] += whole
    if not caught and not whole:
        found["bad"].append(f"{way}: lines are missing, and nobody says so")
    with suppress(LedgerError):
        Ledger(str(path), "large").reserve(Pure(0.5, "replace_one"), request_id="new process")
        found["bad"] += [] if whole else [f"{way}: a new process charged a ledger with missing lines"]
    handles.forget(path)
    shutil.rmtree(world.folder)
