# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Fit time and memory of private logistic regression beside scikit-learn's, in one run.

CPU time on one thread, repetitions alternating between the contenders, medians: scikit-learn's LogisticRegression with
its defaults, ours by objective and by output perturbation, at 45,223 x 104 (Adult with ``--data DIR`` or DPERM_DATA,
else synthetic) and at 1,000,000 x 50 (synthetic). Extra memory is the larger of two peaks: what a process of its own,
which has loaded the data and fitted a few rows before, grows by during a fit, and what numpy allocates at once.

    python benchmarks/convex_timing.py --data DIR
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before numpy: CPU time of one thread
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from convex_data import FILES, Shape
from rich.console import Console
from rich.progress import Progress
from rich.table import Table
from sklearn.linear_model import LogisticRegression

from dperm.sklearn import PrivateLogisticRegression

PLAIN, OURS = "scikit-learn", ("objective", "output")
RATIO, TOLERANCE, MEMORY = 1.0, 1e-3, 0.10


@dataclass(frozen=True)
class Rows:
    """What is fitted."""

    name: str
    X: np.ndarray
    y: np.ndarray


def contender(name: str, n: int) -> Any:
    """An unfitted estimator: scikit-learn's with its defaults, or ours at epsilon 1."""
    if name == PLAIN:
        return LogisticRegression()
    public = {"delta": n**-1.1, "adjacency": "add_remove", "feature_norm": 1.0, "classes": (-1, 1)}
    return PrivateLogisticRegression(epsilon=1.0, method=name, **public)


def adult(directory: Path | None) -> Rows:
    """All rows of Adult, or synthetic ones of the same shape."""
    if directory is None:
        split = Shape(104, 45_223, 1, -2).draw()
        return Rows("45,223 x 104, synthetic", split.X, split.y)
    with np.load(directory / FILES["adult_jmlr2011"]) as stored:
        return Rows("Adult, 45,223 x 104", stored["X"].astype(np.float64), stored["y"].astype(np.int64))


def million() -> Rows:
    """A million records."""
    split = Shape(50, 1_000_000, 0, 0).draw()
    return Rows("1,000,000 x 50, synthetic", split.X, split.y)


def fitted(name: str, rows: Rows) -> tuple[float, Any]:
    """CPU seconds of one fit, and the model."""
    model = contender(name, len(rows.y))
    start = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # scikit-learn may stop at its 100 iterations, which is its default
        model.fit(rows.X, rows.y)
    return time.process_time() - start, model


def extra_memory(name: str, rows: Rows) -> dict[str, float]:
    """Growth of a fresh process during one fit, and the peak of numpy's allocations, as shares of X."""
    with tempfile.TemporaryDirectory() as directory:
        X, y = Path(directory, "X.npy"), Path(directory, "y.npy")
        np.save(X, rows.X)
        np.save(y, rows.y)
        command = [sys.executable, __file__, "--child", name, str(X), str(y)]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    found = json.loads(done.stdout)
    return {key: value / rows.X.nbytes for key, value in found.items()}


def peak() -> int:
    """The most bytes that this process ever held.

    Linux hands a parent's ru_maxrss down to its children; VmHWM is the process's own.
    """
    status = Path("/proc/self/status")
    if status.exists():
        return next(1024 * int(line.split()[1]) for line in status.read_text().splitlines() if line.startswith("VmHWM"))
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def child(name: str, X: str, y: str) -> None:
    """In a process of its own: load, fit a few rows to load all code, then fit and print how the peak grew."""
    import tracemalloc

    rows = Rows("", np.load(X), np.load(y))
    fitted(name, Rows("", rows.X[:2000], rows.y[:2000]))
    before = peak()
    fitted(name, rows)
    grown = peak() - before
    tracemalloc.start()
    fitted(name, rows)
    print(json.dumps({"process": grown, "numpy": tracemalloc.get_traced_memory()[1]}))


@dataclass(frozen=True)
class Measured:
    """One contender on one set."""

    name: str
    seconds: tuple[float, ...]
    memory: float
    tolerance: float | None

    @property
    def median(self) -> float:
        """Of the CPU seconds."""
        return statistics.median(self.seconds)


def measure(rows: Rows, repeats: int, progress: Progress) -> list[Measured]:
    """All contenders, one after the other, ``repeats`` times."""
    names = (PLAIN, *OURS)
    bar = progress.add_task(rows.name, total=len(names) * (repeats + 1))
    seconds: dict[str, list[float]] = {name: [] for name in names}
    tolerances: dict[str, float | None] = dict.fromkeys(names)
    for _ in range(repeats):
        for name in names:
            spent, model = fitted(name, rows)
            seconds[name].append(spent)
            if name != PLAIN:
                tolerances[name] = model.plan_.tolerance / model.plan_.spec.lipschitz
            progress.advance(bar)
    found = []
    for name in names:
        memory = max(extra_memory(name, rows).values())
        found.append(Measured(name, tuple(seconds[name]), memory, tolerances[name]))
        progress.advance(bar)
    return found


def judged(shown: str, passed: bool) -> str:
    """A number that has a bar."""
    return f"{shown} [green]pass[/green]" if passed else f"{shown} [red]FAIL[/red]"


def print_table(console: Console, rows: Rows, found: list[Measured]) -> bool:
    """Times, ratios, memory and certified tolerances; whether all bars are met."""
    table = Table("fit", "CPU s, median (least .. most)", f"of {PLAIN}", "extra memory", "tolerance", title=rows.name)
    table.add_row("bar", "", f"{RATIO:g}", f"{MEMORY:.0%} of X", f"{TOLERANCE:g} of one record's influence")
    plain, met = found[0].median, True
    for row in found:
        times, ratio = f"{row.median:.3f} ({min(row.seconds):.3f} .. {max(row.seconds):.3f})", row.median / plain
        cells = [f"{ratio:.2f}", f"{row.memory:.1%}"]
        if row.tolerance is not None:
            passes = (ratio <= RATIO, row.memory <= MEMORY, row.tolerance <= TOLERANCE)
            met &= all(passes)
            cells = [judged(*pair) for pair in zip((*cells, f"{row.tolerance:.1e}"), passes, strict=True)]
        table.add_row(row.name, times, *cells)
    console.print(table)
    return met


def main() -> None:
    """Measure both sizes and print their tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=os.environ.get("DPERM_DATA"), help="directory of the real data")
    parser.add_argument("--repeats", type=int, default=5, help="fits of each contender")
    parser.add_argument("--quick", action="store_true", help="leave out the million rows")
    parser.add_argument("--child", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        child(*options.child)
        return
    console, met = Console(width=120), True
    makers = [lambda: adult(options.data and Path(options.data))] + ([] if options.quick else [million])
    with Progress(console=Console(stderr=True), transient=True) as progress:
        for make in makers:
            rows = make()
            met &= print_table(console, rows, measure(rows, options.repeats, progress))
    raise SystemExit(0 if met else 1)


if __name__ == "__main__":
    main()
