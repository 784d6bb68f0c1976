# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Regret of method="auto" against the best method in hindsight, from long to wide tables.

    python benchmarks/auto_choice.py --quick
    python benchmarks/auto_choice.py --data DIR --part real

Each line is one table with one guarantee: the method chosen by "auto", its mean test score with a standard error over
fits with new noise, the best method, and the regret, the difference of the two means. The maximum of several noisy
means is biased upwards, so the regret of a perfect rule is slightly above 0. Scores are accuracies, or R^2 of at
least -1. Posterior sampling is omitted, since it is not designed for so many records.

The rules of dperm.methods.defaults were developed on the development tables. The held-out tables, with other
distributions of rows and other shapes, and the real data sets were not used.
"""

import argparse
import json
import os
import statistics
import time
import warnings
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from auto_choice_data import DEVELOPMENT, HELD_OUT, Split, bundled, stored
from rich.console import Console
from rich.progress import track
from rich.table import Table as Printed

from dperm.errors import DpermError
from dperm.sklearn import PrivateLinearRegression, PrivateLogisticRegression

DELTA = 1e-6
EPSILONS = {"development": (1.0, 50.0), "held out": (1.0, 8.0), "real": (1.0, 8.0)}
CLASSIFIERS = ("objective", "output", "gradient", "sgd")
REGRESSIONS = (*CLASSIFIERS, "sufficient")
WORST = -1.0
"""R^2 below this counts as this."""


@dataclass(frozen=True)
class Setting:
    """A table and a requested guarantee."""

    part: str
    name: str
    split: Split
    epsilon: float
    adjacency: str = "replace_one"

    @property
    def rows(self) -> int:
        """Number of training records."""
        return int(self.split.X.shape[0])

    @property
    def columns(self) -> int:
        """Number of columns."""
        return int(self.split.X.shape[1])

    def model(self, method: str) -> PrivateLogisticRegression | PrivateLinearRegression:
        """The estimator with its defaults."""
        public = {"epsilon": self.epsilon, "delta": DELTA, "feature_norm": 1.0, "adjacency": self.adjacency}
        declared = method in ("gradient", "sgd") and self.adjacency == "add_remove"
        public |= {"method": method, "n": self.rows if declared else None}
        if self.split.is_regression:
            return PrivateLinearRegression(label_range=self.split.label_range, **public)
        return PrivateLogisticRegression(classes=tuple(range(int(self.split.y.max()) + 1)), **public)


@dataclass(frozen=True)
class Mean:
    """Mean test score over fits, its standard error, and CPU seconds of one fit."""

    score: float
    error: float
    seconds: float
    method: str


@dataclass(frozen=True)
class Line:
    """Outcome of one setting: "auto" and every applicable method."""

    setting: Setting
    auto: Mean
    each: dict[str, Mean]

    @property
    def best(self) -> Mean:
        """The method with the largest mean, including "auto"."""
        return max((self.auto, *self.each.values()), key=lambda mean: mean.score)

    @property
    def regret(self) -> float:
        """Score of the best method minus that of "auto"."""
        return self.best.score - self.auto.score

    def as_dict(self) -> dict[str, object]:
        """Return plain data."""
        given = self.setting
        where = {"part": given.part, "name": given.name, "n": given.rows, "dim": given.columns}
        each = {name: asdict(mean) for name, mean in self.each.items()}
        return {
            **where,
            "epsilon": given.epsilon,
            "adjacency": given.adjacency,
            "auto": asdict(self.auto),
            "each": each,
        }


def measured(setting: Setting, method: str, repeats: int) -> Mean:
    """Fit several times with new noise, without a seed."""
    scores, start = [], time.process_time()
    for _ in range(repeats):
        model = setting.model(method).fit(setting.split.X, setting.split.y)
        scores.append(max(model.score(setting.split.X_test, setting.split.y_test), WORST))
    seconds = (time.process_time() - start) / repeats
    return Mean(statistics.fmean(scores), statistics.stdev(scores) / repeats**0.5, seconds, model.plan_.method)


def compared(setting: Setting, repeats: int, *, auto_only: bool = False) -> Line:
    """Compare all methods on one setting, except those that refuse it."""
    each = {}
    methods = REGRESSIONS if setting.split.is_regression else CLASSIFIERS
    for method in () if auto_only else methods:
        try:
            setting.model(method).plan(n=setting.rows, dim=setting.columns)
        except DpermError:
            continue
        if method == "sufficient" and setting.columns > 1000:
            continue
        each[method] = measured(setting, method, repeats)
    return Line(setting, measured(setting, "auto", repeats), each)


def settings(options: argparse.Namespace) -> Iterator[Setting]:
    """The requested tables, with one guarantee after the other."""
    for part, tables in (("development", DEVELOPMENT), ("held out", HELD_OUT)):
        if options.part not in (None, part):
            continue
        for place, table in enumerate(tables):
            adjacency = "add_remove" if place % 4 == 3 else "replace_one"
            epsilons = EPSILONS[part][:1] if options.quick else EPSILONS[part]
            split = table.draw(seed=2026)
            for epsilon in epsilons:
                yield Setting(part, table.name, split, epsilon, adjacency)
    if options.part in (None, "real") and not options.quick:
        real = bundled() | (stored(options.data) if options.data else {})
        for name, split in real.items():
            for epsilon in EPSILONS["real"]:
                yield Setting("real", name, split, epsilon)


def print_lines(console: Console, part: str, lines: list[Line]) -> None:
    """Print one line for each setting, then the mean and the worst regret."""
    headings = ("table", "n", "d", "epsilon", "auto", "score", "best", "score", "regret", "CPU s")
    printed = Printed(*headings, title=f"{part}: method='auto' against hindsight, delta = {DELTA:g}")
    for line in lines:
        given, auto, best = line.setting, line.auto, line.best
        printed.add_row(
            given.name + (", add/remove" if given.adjacency == "add_remove" else ""),
            f"{given.rows:,}",
            f"{given.columns:,}",
            f"{given.epsilon:g}",
            auto.method,
            f"{auto.score:.3f} ± {auto.error:.3f}",
            best.method,
            f"{best.score:.3f} ± {best.error:.3f}",
            f"{line.regret:.3f}",
            f"{auto.seconds:.2f}",
        )
    console.print(printed)
    for what, numbers in (("accuracy", False), ("R^2", True)):
        regrets = [line.regret for line in lines if line.setting.split.is_regression is numbers]
        if regrets:
            console.print(
                f"{part}, {what}: {len(regrets)} settings, mean regret {statistics.fmean(regrets):.4f}, ", end=""
            )
            console.print(f"median {statistics.median(regrets):.4f}, worst {max(regrets):.4f}")


def main() -> None:
    """Read the options, compare and print."""
    parser = argparse.ArgumentParser(description="method='auto' against the best method in hindsight.")
    parser.add_argument("--repeats", type=int, default=5, help="Fits of each method on each table.")
    parser.add_argument("--quick", action="store_true", help="One epsilon for each table, no real sets.")
    parser.add_argument("--part", choices=tuple(EPSILONS), help="One part only.")
    parser.add_argument("--auto-only", action="store_true", help="Only 'auto', to compare two versions of it.")
    parser.add_argument("--json", type=Path, help="File to append the outcomes to, one a line.")
    folder = os.environ.get("DPERM_DATA")
    parser.add_argument("--data", type=Path, default=Path(folder) if folder else None, help="Directory of real sets.")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    lines: dict[str, list[Line]] = {}
    for setting in track(list(settings(options)), console=Console(stderr=True), transient=True):
        line = compared(setting, options.repeats, auto_only=options.auto_only)
        lines.setdefault(setting.part, []).append(line)
        if options.json:
            with options.json.open("a") as file:
                file.write(json.dumps(line.as_dict()) + "\n")
    console = Console(width=150)
    for part, found in lines.items():
        print_lines(console, part, found)


if __name__ == "__main__":
    main()
