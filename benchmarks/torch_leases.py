# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Cost of leasing draws from a ledger, per training step.

A training run that has written a checkpoint leases its draws of noise from the ledger and regularly checks that no
other run took over (`dperm.torch.lease`). The share is the time spent in that code divided by the time of all steps, in
CPU time of this process and in wall-clock time, which includes waiting for the disk or the server and other load on the
machine. Target: at most 1 % of the CPU time for training runs of more than a few seconds. Run:
``python benchmarks/torch_leases.py``.
"""

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import torch
from rich.console import Console
from rich.table import Table
from torch import nn

from dperm import ApproxDP
from dperm.ledger import EntryKind, Ledger
from dperm.torch import DPSGD
from dperm.torch.lease import DrawLease

SHAPES = {"64-64-10, batch 64": (64, 64, 64, 5), "784-512-10, batch 256": (784, 512, 256, 1)}
"""Width of the input and of the hidden layer, mean batch size, and a multiple of the steps."""
ROWS = 10_000


@dataclass
class Spent:
    """Wall-clock and CPU seconds, and the number of calls."""

    clock: float = 0.0
    processor: float = 0.0
    times: int = 0

    @contextmanager
    def watched(self) -> Iterator[None]:
        """Add the time of the block."""
        began, worked = time.perf_counter(), time.process_time()
        yield
        self.clock += time.perf_counter() - began
        self.processor += time.process_time() - worked
        self.times += 1


@dataclass
class Watch:
    """Time spent in leases and in checks."""

    leases: Spent = field(default_factory=Spent)
    checks: Spent = field(default_factory=Spent)

    @contextmanager
    def placed(self) -> Iterator[None]:
        """Wrap the functions of `DrawLease` with timers."""
        names = {"_extend": self.leases, "check": self.checks}
        real = {name: getattr(DrawLease, name) for name in names}
        for name, spent in names.items():

            def watched(lease: DrawLease, *rest: Any, name: str = name, spent: Spent = spent) -> None:
                with spent.watched():
                    real[name](lease, *rest)

            setattr(DrawLease, name, watched)
        try:
            yield
        finally:
            for name, function in real.items():
                setattr(DrawLease, name, function)


def trained(location: str | None, shape: str, steps: int, folder: Path) -> tuple[Spent, Watch, int]:
    """Time of all steps after the first checkpoint, the part for leases, and the number of entries."""
    width, hidden, batch, times = SHAPES[shape]
    X, y = torch.randn(ROWS, width), torch.randint(10, (ROWS,))
    model = nn.Sequential(nn.Linear(width, hidden), nn.ReLU(), nn.Linear(hidden, 10))
    plan = DPSGD(1.0, rate=batch / ROWS, steps=steps * times, grade="fast").plan(ROWS, 2.0, 1e-5)
    ledger = None
    if location is not None:
        limit = ApproxDP(1000.0, 1e-2, "add_remove")
        ledger = Ledger.open(location, limit, blocks=1000, dataset=shape, account=shape.replace(" ", "_"))
    total, watch, loss = Spent(), Watch(), nn.CrossEntropyLoss(reduction="none")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with watch.placed(), plan.attach(model, optimizer, (X, y), ledger, rehearsal=False) as private:
        private.save(folder / "run.pt")
        for x, labels in private:
            with total.watched() if private.steps_taken else nullcontext():
                private.step(loss(model(x), labels))
    lines = 0 if ledger is None else sum(entry.kind is EntryKind.LEASE for entry in ledger.entries())
    return total, watch, lines


@contextmanager
def server() -> Iterator[str | None]:
    """URL of an empty database, if the tests can start a server."""
    sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))
    try:
        import postgres
    except BaseException:  # pytest.skip, where psycopg is missing
        yield None
        return
    with postgres.lent() as url:
        yield url


def main() -> None:
    """Run all cases and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])  # type: ignore[union-attr]
    parser.add_argument("--steps", type=int, default=1000)
    steps = parser.parse_args().steps
    torch.set_num_threads(1)
    table = Table(
        "store", "model", "step, CPU ms", "leases", "lease, CPU ms", "checks", "check, CPU ms", "processor", "clock"
    )
    with tempfile.TemporaryDirectory() as name, server() as url:
        stores = {"SQLite": str(Path(name) / "bench.ledger"), "PostgreSQL": url}
        for store, location in stores.items():
            for number, shape in enumerate(SHAPES) if location is not None else ():
                folder = Path(name) / f"{store} {number}"
                folder.mkdir()
                total, watch, lines = trained(location, shape, steps, folder)
                leases, checks = watch.leases, watch.checks
                table.add_row(
                    store,
                    shape,
                    f"{1e3 * total.processor / total.times:.2f}",
                    str(lines),
                    f"{1e3 * leases.processor / max(leases.times, 1):.2f}",
                    str(checks.times),
                    f"{1e3 * checks.processor / max(checks.times, 1):.3f}",
                    f"{(leases.processor + checks.processor) / total.processor:.2%}",
                    f"{(leases.clock + checks.clock) / total.clock:.2%}",
                )
    Console(width=140).print(table)


if __name__ == "__main__":
    main()
