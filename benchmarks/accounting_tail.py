# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""CPU time and tightness of epsilon on 2,000 random compositions, including extreme ones.

Rates go down to 1e-6 and noise multipliers down to .2 (`accounting_cases.wide_cases`). One thread. Run:
``python benchmarks/accounting_tail.py``; ``--write FILE`` stores the brackets, and ``--compare FILE`` compares them
with those of an earlier version: two brackets of one number must overlap.
"""

import argparse
import json
import os
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before numpy: CPU time of one thread
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from accounting_cases import Case, wide_cases
from rich.console import Console
from rich.progress import track
from rich.table import Table

from dperm.accounting import account
from dperm.privacy import explain

SHARES = (0.5, 0.9, 0.95, 0.98, 0.99, 0.995, 1.0)
SLOWEST = 10


@dataclass(frozen=True)
class Row:
    """One measured case."""

    name: str
    seconds: float
    lower: float
    upper: float
    engine: str

    @property
    def width(self) -> float:
        """Relative width of the bracket."""
        return (self.upper - self.lower) / self.upper if self.upper > self.lower else 0.0


def measure(case: Case) -> Row:
    """Measure the CPU time from the event to the bracket of epsilon."""
    start = time.process_time()
    answer = account(case.event(), case.adjacency).epsilon_answer(case.delta)
    return Row(case.name, time.process_time() - start, answer.lower, answer.upper, answer.engine)


def explanation_seconds(case: Case) -> float:
    """CPU time of an explanation of the profile."""
    profile = account(case.event(), case.adjacency)
    start = time.process_time()
    explain(profile)
    return time.process_time() - start


def quantiles(console: Console, title: str, values: list[float], form: Callable[[float], str]) -> None:
    """Return one line of quantiles."""
    ordered = sorted(values)
    cells = (f"{share:.1%} {form(ordered[int(share * (len(ordered) - 1))])}" for share in SHARES)
    console.print(f"{title}: {', '.join(cells)}")


def print_tail(console: Console, rows: list[Row], cases: list[Case]) -> None:
    """Print quantiles, the slowest cases and the targets."""
    quantiles(console, "CPU seconds", [row.seconds for row in rows], lambda value: f"{value:.3f}")
    quantiles(console, "relative width of the bracket", [row.width for row in rows], lambda value: f"{value:.0e}")
    table = Table("slowest", "seconds", "bracket", "width", "engine", "steps")
    by_name = {case.name: case for case in cases}
    for row in sorted(rows, key=lambda row: -row.seconds)[:SLOWEST]:
        steps = "; ".join(f"{s.kind} {s.noise:.3g} x{s.count} rate {s.rate:.3g}" for s in by_name[row.name].steps)
        bracket = f"{row.lower:.7g} .. {row.upper:.7g}"
        table.add_row(row.name, f"{row.seconds:.2f}", bracket, f"{row.width:.0e}", row.engine, steps)
    console.print(table)
    slow = sum(row.seconds > 0.2 for row in rows) / len(rows)
    longest = max(row.seconds for row in rows)
    console.print(f"above .2 s: {slow:.2%} (bar 1 %); longest {longest:.2f} s (bar 3 s)")


def print_comparison(console: Console, rows: list[Row], path: Path) -> None:
    """Print the overlap with earlier brackets and the change of their widths."""
    stored = [Row(**entry) for entry in json.loads(path.read_text(encoding="utf-8"))]
    earlier = {row.name: row for row in stored}
    pairs = [(earlier[row.name], row) for row in rows if row.name in earlier]
    apart = [new.name for old, new in pairs if old.lower > new.upper or new.lower > old.upper]
    console.print(f"{len(pairs)} brackets compared, disjoint: {apart or 'none'}")
    quantiles(console, "earlier CPU seconds", [old.seconds for old, _ in pairs], lambda value: f"{value:.3f}")
    quantiles(console, "earlier width", [old.width for old, _ in pairs], lambda value: f"{value:.0e}")


def main() -> None:
    """Measure, print, and store or compare the brackets."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])  # type: ignore[union-attr]
    parser.add_argument("--cases", type=int, default=2000, help="number of random compositions")
    parser.add_argument("--explain", type=int, default=100, help="number of them that are explained as well")
    parser.add_argument("--write", type=Path, help="file for the brackets")
    parser.add_argument("--compare", type=Path, help="file with the brackets of an earlier run")
    options = parser.parse_args()
    console, cases = Console(width=180), wide_cases(options.cases)
    measure(cases[1])  # load code before the first measurement
    rows = [measure(case) for case in track(cases, description="measuring", console=Console(stderr=True))]
    print_tail(console, rows, cases)
    if options.explain:
        seconds = [explanation_seconds(case) for case in cases[: options.explain]]
        quantiles(console, "CPU seconds of an explanation", seconds, lambda value: f"{value:.3f}")
    if options.write:
        options.write.write_text(json.dumps([asdict(row) for row in rows]), encoding="utf-8")
    if options.compare:
        print_comparison(console, rows, options.compare)


if __name__ == "__main__":
    main()
