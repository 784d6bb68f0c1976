# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Accuracy of private linear models with default settings, compared with the targets of the project and diffprivlib.

``--part`` selects a part; "all" runs all of them:

- real, with ``--data DIR`` or DPERM_DATA: two versions of Adult and KDD Cup 99, every method, delta = n^-1.1, where n
  is the number of training records; unseeded;
- synthetic: data of several shapes; compares the default regularisation with the best one in hindsight
  (benchmarks/convex_hindsight.py);
- multiclass: digits and MNIST (benchmarks/convex_multiclass.py);
- regression: R^2 of every method on several data sets (benchmarks/convex_regression.py);
- sampling: DP-SGD compared with DP-GD on a million records (benchmarks/convex_sampling.py).

diffprivlib runs in a separate environment:

    python -m venv PEER && PEER/bin/pip install diffprivlib==0.6.6 scikit-learn==1.5.2
    python benchmarks/convex.py --data DIR --peer-python PEER/bin/python

Every repeated fit has its own guarantee; a benchmark is not a release. The constants of the default rules were fixed
after looking at the test parts of these real data sets and of MNIST, and at synthetic data of the same families (drawn
again here). Therefore this is not an independent test of the rules.
"""

import argparse
import json
import os
import warnings
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before numpy: CPU time of one thread
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from convex_contests import rough
from convex_data import FILES, SHAPES, Split, real
from convex_hindsight import hindsight, print_hindsight
from convex_multiclass import multiclass
from convex_regression import measure_regression
from convex_runs import (
    ADD_REMOVE,
    PEER_NEEDS,
    PURE_REPLACE_ONE,
    REPLACE_ONE,
    Cell,
    Guarantee,
    ours,
    peer_scores,
    repeated,
    without_privacy,
)
from convex_sampling import sampling
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from dperm.errors import DpermWarning

EPSILONS = (0.05, 0.1, 0.5, 1.0, 2.0, 4.0, 8.0)
QUICK = (0.1, 1.0)
WHATS = {
    "auto": {},
    "output": {"method": "output"},
    "gradient": {"method": "gradient"},
    "sgd": {"method": "sgd"},
    "bolt_on": {"method": "bolt_on"},
    "posterior": {"method": "posterior"},
    "auto, SVC": {"estimator": "svc"},
}
PEER = "diffprivlib 0.6.6"
PARTS = ("real", "synthetic", "multiclass", "regression", "sampling")
NEED_N = ("gradient", "sgd", "posterior")
NEVER = {
    ADD_REMOVE: ("bolt_on", PEER),
    REPLACE_ONE: (PEER,),
    PURE_REPLACE_ONE: ("gradient", "sgd", "posterior"),
}
"""What no choice of constants allows: bolt_on needs replace_one, descent and posteriors need delta > 0."""


@dataclass(frozen=True)
class Bar:
    """Minimum accuracy of the default settings."""

    data: str
    guarantee: Guarantee
    epsilon: float
    accuracy: float


BARS = (
    Bar("adult_jmlr2011", ADD_REMOVE, 1.0, 0.837),
    Bar("adult_jmlr2011", ADD_REMOVE, 0.1, 0.823),
    Bar("adult_jmlr2011", ADD_REMOVE, 0.05, 0.813),
    Bar("adult_jmlr2011", REPLACE_ONE, 1.0, 0.835),
    Bar("adult_jmlr2011", REPLACE_ONE, 0.1, 0.815),
    Bar("adult_jmlr2011", PURE_REPLACE_ONE, 1.0, 0.829),
    Bar("adult_jmlr2011", PURE_REPLACE_ONE, 0.1, 0.778),
    Bar("adult_v2", ADD_REMOVE, 1.0, 0.854),
    Bar("adult_v2", ADD_REMOVE, 0.1, 0.839),
    Bar("kdd99", ADD_REMOVE, 1.0, 0.989),
)


@dataclass(frozen=True)
class Task:
    """One setting with several runs."""

    split: Split
    guarantee: Guarantee
    what: str
    epsilon: float

    @property
    def chosen(self) -> dict[str, object]:
        """Arguments of the method; under add_remove, methods that need n get it rounded to one digit."""
        needs_n = self.what in NEED_N and self.guarantee == ADD_REMOVE
        return WHATS[self.what] | ({"n": rough(self.split.n)} if needs_n else {})

    def run(self, options: argparse.Namespace) -> Cell:
        """Run the task several times."""
        if self.what == PEER:
            python, name = options.peer_python, self.split.name
            scores = peer_scores(python, options.data, name, epsilon=self.epsilon, runs=options.runs)
        else:
            scores = repeated(self.split, ours(self.split, self.guarantee, self.epsilon, **self.chosen), options.runs)
        return Cell(self.split.name, self.guarantee.name, self.what, self.epsilon, scores)


def tasks(splits: list[Split], options: argparse.Namespace) -> Iterator[Task]:
    """Every data set and guarantee with every method; diffprivlib if it offers the same guarantee."""
    whats = (*WHATS, PEER) if options.peer_python else tuple(WHATS)
    for split in splits:
        for guarantee, never in NEVER.items():
            for what in (each for each in whats if each not in never):
                yield from (Task(split, guarantee, what, epsilon) for epsilon in options.epsilons)


def print_table(console: Console, cells: list[Cell], split: Split, guarantee: Guarantee) -> None:
    """Print accuracy and AUC of each method at each epsilon."""
    mine = [cell for cell in cells if (cell.data, cell.guarantee) == (split.name, guarantee.name)]
    epsilons = sorted({cell.epsilon for cell in mine})
    table = Table("method", *(f"epsilon {epsilon:g}" for epsilon in epsilons))
    table.title = f"{split.name}, {guarantee.name}: accuracy ± standard error, AUC"
    for what in dict.fromkeys(cell.what for cell in mine):
        found = {cell.epsilon: cell for cell in mine if cell.what == what}
        used = "/".join(sorted({score.method for cell in found.values() for score in cell.scores} - {"", what}))
        table.add_row(f"{what} ({used})" if used else what, *(found[epsilon].shown for epsilon in epsilons))
    console.print(table)


def print_split(console: Console, split: Split) -> None:
    """Print the accuracy without privacy."""
    size = f"{split.n:,} x {split.X.shape[1]}, tested on {len(split.y_test):,} ({split.how})"
    console.print(f"[bold]{split.name}[/bold]: trained on {size}; delta = {split.delta:.3g}")
    console.print(f"  majority class: {split.majority:.4f}")
    for name, score in without_privacy(split).items():
        console.print(f"  {name}: {score.accuracy:.4f}, AUC {score.auc:.3f}")


def verdict(passed: bool) -> str:
    """Return the verdict with colour markup."""
    return "[green]pass[/green]" if passed else "[red]FAIL[/red]"


def print_bars(console: Console, cells: list[Cell]) -> bool:
    """Print targets and measured values; return whether all targets are met."""
    found = {(cell.data, cell.guarantee, cell.what, cell.epsilon): cell for cell in cells}
    table, met = Table("what", "bar", "measured", "", title="Default settings against the bars"), True
    for bar in BARS:
        cell = found.get((bar.data, bar.guarantee.name, "auto", bar.epsilon))
        if cell:
            passed = cell.accuracy >= bar.accuracy
            met &= passed
            what = f"{bar.data}, {bar.guarantee.name}, epsilon {bar.epsilon:g}"
            table.add_row(what, f">= {bar.accuracy:.3f}", f"{cell.accuracy:.4f} ± {cell.error:.4f}", verdict(passed))
    for peer in (cell for cell in cells if cell.what == PEER):
        cell = found[peer.data, peer.guarantee, "auto", peer.epsilon]
        passed = cell.accuracy > peer.accuracy
        met &= passed
        what = f"{peer.data}, {peer.guarantee}, epsilon {peer.epsilon:g}: ahead of {PEER}"
        table.add_row(what, f"> {peer.accuracy:.4f}", f"{cell.accuracy:.4f} ± {cell.error:.4f}", verdict(passed))
    console.print(table)
    return met


def parsed() -> argparse.Namespace:
    """Parse the command-line options."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=os.environ.get("DPERM_DATA"), help="directory of the real data")
    parser.add_argument("--sets", nargs="*", default=list(FILES), choices=list(FILES), help="which of the real data")
    parser.add_argument("--peer-python", type=Path, help=f"a Python that has {PEER_NEEDS}")
    parser.add_argument("--runs", type=int, default=10, help="fits of each setting")
    parser.add_argument("--quick", action="store_true", help="few runs, epsilons and shapes")
    parser.add_argument("--part", choices=("all", *PARTS), default="all")
    parser.add_argument("--california", type=Path, help="California housing as csv or npz, for the regression")
    parser.add_argument("--json", type=Path, help="where to write all scores")
    options = parser.parse_args()
    if options.peer_python and not options.peer_python.exists():
        parser.error(f"--peer-python {options.peer_python} does not exist; it is a Python that has {PEER_NEEDS}.")
    options.epsilons = QUICK if options.quick else EPSILONS
    options.runs = min(options.runs, 3) if options.quick else options.runs
    options.data = options.data and Path(options.data)
    return options


def measure_real(console: Console, options: argparse.Namespace) -> list[Cell]:
    """Measure the first part."""
    splits = [real(options.data, name) for name in options.sets]
    todo = list(tasks(splits, options))
    cells = []
    with Progress(console=Console(stderr=True), transient=True) as progress:
        bar = progress.add_task("real data", total=len(todo))
        for task in todo:
            progress.update(bar, description=f"{task.split.name}, {task.guarantee.name}, {task.what}")
            cells.append(task.run(options))
            progress.advance(bar)
    for split in splits:
        print_split(console, split)
        for guarantee in (ADD_REMOVE, REPLACE_ONE, PURE_REPLACE_ONE):
            print_table(console, cells, split, guarantee)
    return cells


def run_real(console: Console, options: argparse.Namespace) -> tuple[list[Cell], bool]:
    """Run the first part and compare it with its targets."""
    if not options.data:
        console.print("No --data and no DPERM_DATA: the real data are left out.")
        return [], True
    if not options.peer_python:
        console.print(f"No --peer-python: diffprivlib is left out. It must have {PEER_NEEDS}.")
    cells = measure_real(console, options)
    return cells, print_bars(console, cells)


def run_part(part: str, console: Console, options: argparse.Namespace) -> tuple[list[Any], bool]:
    """Run one part; return its results and whether its targets are met."""
    match part:
        case "real":
            return run_real(console, options)
        case "synthetic":
            shapes = hindsight(SHAPES[::2] if options.quick else SHAPES, min(options.runs, 5))
            print_hindsight(console, shapes)
            return shapes, True
        case "multiclass":
            return multiclass(console, options)
        case "regression":
            return measure_regression(console, options), True
    return sampling(console, options), True


def main() -> None:
    """Run the parts and print their tables."""
    warnings.simplefilter("ignore", DpermWarning)  # that noise drowns the data: the tables say so
    options, console, found, met = parsed(), Console(width=200), {}, True
    for part in PARTS if options.part == "all" else (options.part,):
        rows, passed = run_part(part, console, options)
        found[part] = [asdict(row) for row in rows]
        met &= passed
        if options.json:
            options.json.write_text(json.dumps(found))
    raise SystemExit(0 if met else 1)


if __name__ == "__main__":
    main()
