# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Disks that are full: writers whose files may not grow beyond some size (RLIMIT_FSIZE), in every size that matters."""

import os
import random
import resource
import secrets
import shutil
import signal
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

from ledger_reader import Released, audited, digest_of, read_books

from dperm import PureDP
from dperm.accounting import Pure
from dperm.errors import LedgerError
from dperm.ledger import Anchor, Ledger, transactions, verify
from dperm.ledger.sqlite import handles

LIMIT, EPSILON, REQUESTS, TRIES_AFTER = 64.0, 2.0**-10, 40, 3


def full(folder: str, points: int, seed: int) -> dict[str, Any]:
    """So many sizes, half of them around the log's growth, half around the file's."""
    found: dict[str, Any] = {"points": points, "hit": 0, "usable": 0, "releases": 0, "bad": []}
    grown = [_base(Path(folder) / f"base-{note}", note) for note in (0, 60_000)]
    for number, size in enumerate(_sizes(grown, points, random.Random(seed))):
        base, place = grown[number % 2], Path(folder) / f"point-{number}"
        shutil.copytree(base.parent, place)
        _point(place / base.name, size, found)
        shutil.rmtree(place)
    return found


def _base(folder: Path, note: int) -> Path:
    """A ledger with some lines, closed: everything is in its file."""
    folder.mkdir()
    path = folder / "x.ledger"
    ledger = Ledger.open(path, PureDP(LIMIT, "replace_one"), dataset="full")
    for number in range(10):
        ledger.reserve(Pure(EPSILON, "replace_one"), request_id=f"base-{number}", facts={"note": "x" * note})
    handles.forget(path)
    return path


def _sizes(grown: list[Path], points: int, generator: random.Random) -> Iterator[int]:
    small, large = (path.stat().st_size for path in grown)
    for number in range(points):
        at_the_log, at_the_file = generator.randrange(small + 2**16), large + generator.randrange(-(2**14), 2**15)
        yield at_the_file if number % 2 else at_the_log


def _point(path: Path, size: int, found: dict[str, Any]) -> None:
    transactions._last.clear()  # every point is a copy of one ledger, and this process is to believe in it
    ledger = Ledger(str(path))
    anchor = ledger.anchor()
    handles.forget(path)
    said = _limited(path, size)
    released = [Released("main", *_of(line)) for line in said if line.startswith("released")]
    failed = [line for line in said if line.startswith("failed")]
    other = [line for line in said if not line.startswith(("released", "failed LedgerError"))]
    found["hit"] += bool(failed)
    found["releases"] += len(released)
    found["bad"] += other + _after(path, released, anchor)
    found["usable"] += 1
    handles.forget(path)


def _of(line: str) -> tuple[str, float, str]:
    _, request, nonce = line.split()
    return request, EPSILON, nonce


def _after(path: Path, released: list[Released], anchor: Anchor) -> list[str]:
    """There is room again: what was released is booked, and the same ids are not drawn again."""
    ledger = Ledger(str(path))
    ledger.reserve(Pure(EPSILON, "replace_one"), request_id="after").commit("sha256:after")
    again = [ledger.reserve(Pure(EPSILON, "replace_one"), request_id=one.request_id) for one in released]
    kept = [{"account": anchor.account, "seq": anchor.seq, "hash": anchor.hash}]
    figures = audited(read_books(str(path)), {"main": Fraction(LIMIT)}, released, kept)
    twice = ["a request could be drawn again"] if not all(one.repeated for one in again) else []
    return [*figures.bad, *verify(path, [anchor]).problems, *twice]


def _limited(path: Path, size: int) -> list[str]:
    """What a writer says whose files may not exceed ``size``; a pipe has no size."""
    reading, writing = os.pipe()
    process = os.fork()
    if process == 0:
        os.close(reading)
        try:
            _write_until_full(path, size, writing)
        except BaseException as error:
            os.write(writing, f"died {error!r}\n".encode())
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        said = pipe.read().splitlines()
    os.waitpid(process, 0)
    return said


def _write_until_full(path: Path, size: int, pipe: int) -> None:
    connect = handles._connect

    def impatient(given: Path) -> Any:
        connection = connect(given)
        connection.execute("PRAGMA wal_autocheckpoint = 20")  # the file grows while the log is written, not after it
        return connection

    handles._connect = impatient
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))
    failures = 0
    for number in range(REQUESTS):
        failures += not _release(path, f"r{number}", pipe)
        if failures > TRIES_AFTER:
            return


def _release(path: Path, request: str, pipe: int) -> bool:
    try:
        found = Ledger(str(path)).reserve(Pure(EPSILON, "replace_one"), request_id=request)
        if found.repeated:
            return True
        nonce = secrets.token_hex(8)
        os.write(pipe, f"released {request} {nonce}\n".encode())
        found.commit(digest_of(nonce))
    except Exception as error:
        os.write(pipe, f"failed {type(error).__name__} {isinstance(error, LedgerError)} {error}\n".encode())
        return False
    return True
