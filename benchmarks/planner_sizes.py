# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Trials with fewer rows and a larger epsilon, compared with the trials they represent (`dperm.planner.trials`)."""

import statistics
from dataclasses import dataclass, replace

from rich.console import Console
from rich.table import Table

from dperm.planner import Shape
from dperm.planner.expectation import accuracy
from dperm.planner.simulated_data import draw, signal_of
from dperm.planner.trials import Goal, scaled_goal
from dperm.privacy import ApproxDP, PureDP

RUNS = 5


@dataclass(frozen=True)
class Size:
    """A shape, the number of rows that represents it, and the goal."""

    n: int
    dim: int
    fewer: int
    epsilon: float
    method: str = "objective"
    pure: bool = False

    @property
    def goal(self) -> Goal:
        """Guarantee under replace_one."""
        if self.pure:
            return PureDP(self.epsilon, "replace_one")
        return ApproxDP(self.epsilon, 1e-7, "replace_one")


SIZES = (
    Size(200_000, 10, 20_000, 0.02),
    Size(200_000, 10, 20_000, 0.1),
    Size(200_000, 10, 20_000, 0.1, pure=True),
    Size(100_000, 10, 20_000, 0.1, "gradient"),
    Size(60_000, 100, 10_000, 0.1),
    Size(60_000, 100, 10_000, 0.5),
    Size(60_000, 100, 10_000, 0.5, pure=True),
    Size(60_000, 100, 10_000, 0.5, "gradient"),
    Size(60_000, 100, 10_000, 0.5, "sgd"),
    Size(60_000, 100, 10_000, 0.5, "output"),
    Size(60_000, 300, 12_000, 1.0),
    Size(40_000, 300, 6_000, 1.0),
    Size(40_000, 300, 3_000, 1.0),
    Size(40_000, 300, 1_200, 1.0),
    Size(30_000, 1000, 4_000, 0.5),
    Size(30_000, 1000, 4_000, 4.0),
)


@dataclass(frozen=True)
class Compared:
    """Mean accuracy with all rows, and with fewer."""

    size: Size
    direct: float
    scaled: float


def tried(size: Size, n: int) -> float:
    """Mean accuracy of several trials with n rows."""
    shape = Shape(size.n, size.dim)
    signal, goal, at = signal_of(shape), scaled_goal(size.goal, size.n / n), replace(shape, n=n)
    return statistics.fmean(
        accuracy(draw(at, signal, seed), at, goal, method=size.method, seed=seed) for seed in range(RUNS)
    )


def compared_sizes(sizes: tuple[Size, ...]) -> list[Compared]:
    """Compare all sizes."""
    return [Compared(size, tried(size, size.n), tried(size, size.fewer)) for size in sizes]


def print_sizes(console: Console, found: list[Compared]) -> None:
    """Print one line per size."""
    table = Table("n", "d", "epsilon", "method", "rows tried", "with n rows", "with those", "difference")
    for each in found:
        size, apart = each.size, each.scaled - each.direct
        what = (f"{size.n:,}", str(size.dim), f"{size.epsilon:g}", size.method + (" (pure)" if size.pure else ""))
        table.add_row(*what, f"{size.fewer:,}", f"{each.direct:.4f}", f"{each.scaled:.4f}", f"{apart:+.4f}")
    console.print(table)
