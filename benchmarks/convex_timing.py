# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Fit time of private linear models and of scikit-learn's in one run, and memory of logistic regression.

CPU time on one thread, medians; repetitions alternate between contenders, each of which has fitted a few rows before to
load all code. benchmarks/convex_contests.py defines the contenders: logistic regression with two classes at
45,223 x 104 (Adult with ``--data DIR`` or DPERM_DATA, else synthetic) and 1,000,000 x 50; least squares and Huber loss
at 100,000 x 20 and 1,000,000 x 50 (synthetic); ten classes on digits and, with ``--data``, on MNIST. Extra memory is
the larger of two peaks: the growth of a separate process during a fit, after it has loaded the data and fitted a few
rows, and the peak of numpy's allocations.

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
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before numpy: CPU time of one thread
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from convex_contests import PLAIN, Contest, Rows, adult, binary, huber, least_squares, million, softmax
from convex_multiclass_data import digits, mnist
from convex_regression_data import synthetic
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

TOLERANCE = 1e-3
FEW = 2000
PARTS = ("binary", "regression", "multiclass")


def fitted(contest: Contest, name: str) -> tuple[float, Any]:
    """CPU seconds of one fit, and the model."""
    model = contest.makers[name]()
    start = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # scikit-learn may stop at its 100 iterations, which is its default
        model.fit(contest.rows.X, contest.rows.y)
    return time.process_time() - start, model


def extra_memory(name: str, rows: Rows) -> dict[str, float]:
    """Growth of a new process during one fit, and the peak of numpy's allocations, as fractions of X."""
    with tempfile.TemporaryDirectory() as directory:
        X, y = Path(directory, "X.npy"), Path(directory, "y.npy")
        np.save(X, rows.X)
        np.save(y, rows.y)
        command = [sys.executable, __file__, "--child", name, str(X), str(y)]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    found = json.loads(done.stdout)
    return {key: value / rows.X.nbytes for key, value in found.items()}


def peak() -> int:
    """Peak memory of this process in bytes.

    On Linux, child processes inherit ru_maxrss from their parent; VmHWM is the process's own peak.
    """
    status = Path("/proc/self/status")
    if status.exists():
        return next(1024 * int(line.split()[1]) for line in status.read_text().splitlines() if line.startswith("VmHWM"))
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def child(name: str, X: str, y: str) -> None:
    """In a separate process: load, fit a few rows, then fit and print the growth of the peak."""
    import tracemalloc

    contest = binary(Rows("", np.load(X), np.load(y)), (name,))
    fitted(binary(Rows("", contest.rows.X[:FEW], contest.rows.y[:FEW]), (name,)), name)
    before = peak()
    fitted(contest, name)
    grown = peak() - before
    tracemalloc.start()
    fitted(contest, name)
    print(json.dumps({"process": grown, "numpy": tracemalloc.get_traced_memory()[1]}))


@dataclass(frozen=True)
class Measured:
    """One contender on one data set."""

    name: str
    seconds: tuple[float, ...]
    memory: float | None
    tolerance: float | None

    @property
    def median(self) -> float:
        """Median CPU seconds."""
        return statistics.median(self.seconds)


def tolerance(model: Any) -> float | None:
    """Certified tolerance of the solver, as a fraction of one record's influence; None without a solver."""
    plan = getattr(model, "plan_", None)
    return None if plan is None or plan.tolerance is None else plan.tolerance / plan.spec.lipschitz


def measure(contest: Contest, repeats: int, progress: Progress) -> list[Measured]:
    """Measure all contenders in turn, ``repeats`` times."""
    bar = progress.add_task(contest.title, total=len(contest.makers) * (repeats + 1))
    seconds: dict[str, list[float]] = {name: [] for name in contest.makers}
    tolerances: dict[str, float | None] = {}
    few = replace(contest, rows=Rows("", contest.rows.X[:FEW], contest.rows.y[:FEW]))
    for name in contest.makers:
        fitted(few, name)
    for _ in range(repeats):
        for name in contest.makers:
            spent, model = fitted(contest, name)
            seconds[name].append(spent)
            tolerances[name] = tolerance(model)
            progress.advance(bar)
    found = []
    for name in contest.makers:
        memory = max(extra_memory(name, contest.rows).values()) if contest.memory else None
        found.append(Measured(name, tuple(seconds[name]), memory, tolerances[name]))
        progress.advance(bar)
    return found


def judged(shown: str, passed: bool | None) -> str:
    """A number with the verdict of its target, if it has one."""
    if passed is None:
        return shown
    return f"{shown} [green]pass[/green]" if passed else f"{shown} [red]FAIL[/red]"


def verdicts(row: Measured, contest: Contest, plain: float) -> tuple[bool | None, bool | None, bool | None]:
    """Verdicts on time, memory and tolerance; None without a target."""
    if row.name == PLAIN or row.name in contest.without_bar:
        return None, None, None
    memory = None if contest.memory is None or row.memory is None else row.memory <= contest.memory
    return row.median / plain <= contest.ratio, memory, None if row.tolerance is None else row.tolerance <= TOLERANCE


def print_table(console: Console, contest: Contest, found: list[Measured]) -> bool:
    """Print times, ratios, memory and certified tolerances; return whether all targets are met."""
    headings = ("fit", "CPU s, median (least .. most)", f"of {PLAIN}", "extra memory", "tolerance")
    table, plain, met = Table(*headings, title=contest.title), found[0].median, True
    memory = "" if contest.memory is None else f"{contest.memory:.0%} of X"
    table.add_row("bar", "", f"{contest.ratio:g}", memory, f"{TOLERANCE:g} of one record's influence")
    for row in found:
        times = f"{row.median:.3f} ({min(row.seconds):.3f} .. {max(row.seconds):.3f})"
        shown = (
            f"{row.median / plain:.2f}",
            "" if row.memory is None else f"{row.memory:.1%}",
            "" if row.tolerance is None else f"{row.tolerance:.1e}",
        )
        passes = verdicts(row, contest, plain)
        met &= False not in passes
        table.add_row(row.name, times, *(judged(*pair) for pair in zip(shown, passes, strict=True)))
    console.print(table)
    return met


def contests(options: argparse.Namespace) -> Iterator[Contest]:
    """Contests one after the other, so that at most one million rows are in memory."""
    if "binary" in options.parts:
        yield binary(adult(options.data))
        if not options.quick:
            yield binary(million())
    if "regression" in options.parts:
        for n, dim in ((100_000, 20), (1_000_000, 50))[: 1 if options.quick else 2]:
            data = synthetic(n, dim)
            yield least_squares(data)
            yield huber(data)
    if "multiclass" in options.parts:
        yield softmax(digits())
        if options.data and not options.quick:
            yield softmax(mnist(options.data))


def main() -> None:
    """Measure all contests and print their tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=os.environ.get("DPERM_DATA"), help="directory of the real data")
    parser.add_argument("--repeats", type=int, default=5, help="fits of each contender")
    parser.add_argument("--quick", action="store_true", help="leave out the million rows and MNIST")
    parser.add_argument("--parts", nargs="*", choices=PARTS, default=PARTS, help="which models")
    parser.add_argument("--child", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        child(*options.child)
        return
    options.data = options.data and Path(options.data)
    console, met = Console(width=120), True
    with Progress(console=Console(stderr=True), transient=True) as progress:
        for contest in contests(options):
            met &= print_table(console, contest, measure(contest, options.repeats, progress))
    raise SystemExit(0 if met else 1)


if __name__ == "__main__":
    main()
