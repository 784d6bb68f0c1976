# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Repeated fits of a setting and tables of their scores, for the later parts of benchmarks/convex.py."""

import math
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from dperm.errors import AdjacencyError, AssumptionError


@dataclass(frozen=True)
class Try:
    """One fit: test accuracy or R^2, CPU seconds, and the method used."""

    score: float
    seconds: float
    method: str = ""


@dataclass(frozen=True)
class Outcome:
    """All fits of one setting; empty if the method cannot provide the guarantee."""

    data: str
    guarantee: str
    what: str
    epsilon: float
    tries: tuple[Try, ...]

    @property
    def mean(self) -> float:
        """Mean score."""
        return statistics.fmean(each.score for each in self.tries)

    @property
    def error(self) -> float:
        """Standard error of the mean; 0 for a single fit."""
        if len(self.tries) < 2:
            return 0.0
        return statistics.stdev(each.score for each in self.tries) / math.sqrt(len(self.tries))

    @property
    def seconds(self) -> float:
        """Median CPU seconds."""
        return statistics.median(each.seconds for each in self.tries)

    @property
    def scored(self) -> str:
        """Mean score with its standard error, if there are several fits."""
        if self.mean <= -10:
            return f"{self.mean:.1e}"
        return f"{self.mean:.4f}" + (f" ± {self.error:.4f}" if len(self.tries) > 1 else "")

    @property
    def shown(self) -> str:
        """Score and CPU seconds as text."""
        return f"{self.scored}  {self.seconds:.2f} s" if self.tries else "-"


@dataclass(frozen=True)
class Setting:
    """A setting to fit."""

    data: str
    guarantee: str
    what: str
    epsilon: float
    run: Callable[[], tuple[Try, ...]]


def tried(model: Any, data: Any) -> Try:
    """Fit once and score on the test data: accuracy of a classifier, R^2 of a regression model."""
    start = time.process_time()
    model.fit(data.X, data.y)
    seconds = time.process_time() - start
    method = model.plan_.method if hasattr(model, "plan_") else ""
    return Try(float(model.score(data.X_test, data.y_test)), seconds, method)


def several(model: Any, data: Any, runs: int) -> tuple[Try, ...]:
    """Fit several times; return an empty tuple if the method cannot provide the guarantee."""
    try:
        return tuple(tried(model, data) for _ in range(runs))
    except (AssumptionError, AdjacencyError):
        return ()


def measured(settings: list[Setting], part: str) -> list[Outcome]:
    """Measure all settings one after the other."""
    found = []
    with Progress(console=Console(stderr=True), transient=True) as progress:
        bar = progress.add_task(part, total=len(settings))
        for each in settings:
            progress.update(bar, description=f"{each.data}, {each.guarantee}, {each.what}")
            found.append(Outcome(each.data, each.guarantee, each.what, each.epsilon, each.run()))
            progress.advance(bar)
    return found


def print_outcomes(console: Console, title: str, outcomes: list[Outcome]) -> None:
    """Print a line for each method and a column for each epsilon."""
    epsilons = sorted({each.epsilon for each in outcomes})
    table = Table("method", *(f"epsilon {epsilon:g}" for epsilon in epsilons), title=title)
    for what in dict.fromkeys(each.what for each in outcomes):
        found = {each.epsilon: each for each in outcomes if each.what == what}
        used = "/".join(sorted({one.method for each in found.values() for one in each.tries} - {"", what}))
        shown = (found[epsilon].shown if epsilon in found else "" for epsilon in epsilons)
        table.add_row(f"{what} ({used})" if used else what, *shown)
    console.print(table)
