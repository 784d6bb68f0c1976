# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Error of the planner's expected accuracy compared with measured accuracy.

``--part`` selects a part; "all" runs all of them:

- real, with ``--data DIR`` or DPERM_DATA: the data sets of benchmarks/convex.py. The planner receives n, d and the
  class balance, and in a second run also the accuracy without privacy. PrivateLogisticRegression with its defaults is
  measured;
- tables: small tables about people included in packages, from which the default of the planner was chosen
  (benchmarks/planner_tables.py): their difficulty, and the same comparison;
- sizes: synthetic tables with fewer rows and a larger epsilon, compared with the tables that they represent.

The planner's constants were fixed on the small tables. The rule that its coefficients are larger where rows vary more
was found after a first look at Adult, where coefficients of equal size had an error of -.03 at epsilon <= .1. It was
kept because it is also more accurate on the small tables. Adult is therefore not an independent test of the planner. No
constant was fixed on KDD Cup 99, but its baseline of .997 was refused at first, and the accepted range was extended for
it. The baseline is the better of two regularisations on the test data.
"""

import argparse
import json
import os
import statistics
import warnings
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before numpy: CPU time of one thread
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from convex_data import FILES, Split, real
from convex_runs import ADD_REMOVE, PURE_REPLACE_ONE, REPLACE_ONE, Guarantee, ours, repeated, without_privacy
from planner_sizes import SIZES, compared_sizes, print_sizes
from planner_tables import compared_tables, print_tables
from rich.console import Console
from rich.progress import track
from rich.table import Table

from dperm.errors import DpermWarning
from dperm.planner import Shape, Trials, expected_accuracy
from dperm.privacy import ApproxDP, PureDP

EPSILONS = (0.05, 0.1, 0.5, 1.0, 2.0, 4.0, 8.0)
QUICK = (0.1, 1.0)
GUARANTEES = (ADD_REMOVE, REPLACE_ONE, PURE_REPLACE_ONE)
PARTS = ("real", "tables", "sizes")


@dataclass(frozen=True)
class Compared:
    """One setting: the measured accuracy, and the expected accuracy without and with a baseline."""

    data: str
    guarantee: str
    epsilon: float
    measured: float
    expected: float
    with_baseline: float

    @property
    def off(self) -> tuple[float, float]:
        """Expected minus measured accuracy, without and with the baseline."""
        return self.expected - self.measured, self.with_baseline - self.measured


def shape_of(split: Split) -> Shape:
    """Input of the planner."""
    return Shape(split.n, split.X.shape[1], balance=float((split.y > 0).mean()))


def goal_of(split: Split, guarantee: Guarantee, epsilon: float) -> ApproxDP | PureDP:
    """Guarantee of benchmarks/convex.py."""
    if guarantee.pure:
        return PureDP(epsilon, guarantee.adjacency)
    return ApproxDP(epsilon, split.delta, guarantee.adjacency)


def compared(split: Split, guarantee: Guarantee, epsilon: float, *, baseline: float, runs: int) -> Compared:
    """Compare one setting."""
    scores = repeated(split, ours(split, guarantee, epsilon), runs)
    goal, shape, trials = goal_of(split, guarantee, epsilon), shape_of(split), Trials(runs)
    blind = expected_accuracy(shape, goal, trials=trials).mean
    told = expected_accuracy(replace(shape, baseline=baseline), goal, trials=trials).mean
    measured = statistics.fmean(score.accuracy for score in scores)
    return Compared(split.name, guarantee.name, epsilon, measured, blind, told)


def settings(options: argparse.Namespace) -> Iterator[Callable[[], Compared]]:
    """All settings."""
    for name in options.sets:
        split = real(options.data, name)
        baseline = max(score.accuracy for score in without_privacy(split).values())
        for guarantee in GUARANTEES:
            for epsilon in options.epsilons:
                yield lambda at=(split, guarantee, epsilon), best=baseline: compared(
                    *at, baseline=best, runs=options.runs
                )


def print_compared(console: Console, found: list[Compared]) -> None:
    """Print a table for each data set and guarantee."""
    for data, guarantee in dict.fromkeys((each.data, each.guarantee) for each in found):
        mine = [each for each in found if (each.data, each.guarantee) == (data, guarantee)]
        table = Table("epsilon", "measured", "expected from n, d, balance", "off", "with the baseline", "off")
        table.title = f"{data}, {guarantee}: accuracy"
        for each in mine:
            blind, told = (f"{value:+.4f}" for value in each.off)
            numbers = (each.measured, each.expected, each.with_baseline)
            measured, expected, better = (f"{value:.4f}" for value in numbers)
            table.add_row(f"{each.epsilon:g}", measured, expected, blind, better, told)
        furthest = [f"{max(abs(each.off[k]) for each in mine):.4f}" for k in (0, 1)]
        table.add_row("furthest", "", "", furthest[0], "", furthest[1])
        console.print(table)


def run_real(console: Console, options: argparse.Namespace) -> list[Compared]:
    """Run the first part."""
    if not options.data:
        console.print("No --data and no DPERM_DATA: the real data are left out.")
        return []
    todo = list(settings(options))
    found = [run() for run in track(todo, "real data", console=Console(stderr=True), transient=True)]
    print_compared(console, found)
    return found


def parsed() -> argparse.Namespace:
    """Parse the command-line options."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=os.environ.get("DPERM_DATA"), help="directory of the real data")
    parser.add_argument("--sets", nargs="*", default=list(FILES), choices=list(FILES), help="which of the real data")
    parser.add_argument("--runs", type=int, default=10, help="fits of each setting")
    parser.add_argument("--quick", action="store_true", help="few runs and epsilons")
    parser.add_argument("--part", choices=("all", *PARTS), default="all")
    parser.add_argument("--json", type=Path, help="where to write all numbers")
    options = parser.parse_args()
    options.epsilons = QUICK if options.quick else EPSILONS
    options.runs = min(options.runs, 4) if options.quick else options.runs
    options.data = options.data and Path(options.data)
    return options


def run_part(part: str, console: Console, options: argparse.Namespace) -> list[object]:
    """Run one part and return its results."""
    match part:
        case "real":
            return list(run_real(console, options))
        case "tables":
            tables = compared_tables(options.runs)
            print_tables(console, tables)
            return list(tables)
    sizes = compared_sizes(SIZES[::2] if options.quick else SIZES)
    print_sizes(console, sizes)
    return list(sizes)


def main() -> None:
    """Run the parts and print their tables."""
    warnings.simplefilter("ignore", DpermWarning)  # that noise drowns the data: the tables say so
    options, console, found = parsed(), Console(width=160), {}
    for part in PARTS if options.part == "all" else (options.part,):
        found[part] = [asdict(row) for row in run_part(part, console, options)]
        if options.json:
            options.json.write_text(json.dumps(found))


if __name__ == "__main__":
    main()
