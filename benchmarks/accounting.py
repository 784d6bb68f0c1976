# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Accountants of dperm and dp-accounting compared in one run: CPU time, values and brackets.

Both compute epsilon at a target delta for the same compositions; dp-accounting uses its `PLDAccountant` with the
default grid. Each uses one thread. Run: ``make bench`` or ``python benchmarks/accounting.py``.
"""

import argparse
import os
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before numpy: CPU time of one thread
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from accounting_cases import GOLDEN, Case, Step, random_cases
from dp_accounting import dp_event, privacy_accountant
from dp_accounting.pld import common, pld_privacy_accountant, privacy_loss_distribution
from rich.console import Console
from rich.progress import track
from rich.table import Table

from dperm.accounting import Gaussian, Poisson, account, calibrate
from dperm.accounting.engines import solve_delta, solve_epsilon

RELATIONS = {
    "add_remove": privacy_accountant.NeighboringRelation.ADD_OR_REMOVE_ONE,
    "replace_one": privacy_accountant.NeighboringRelation.REPLACE_ONE,
}
CALIBRATIONS = (
    (0.01, 1000, 1.0, 1e-5),
    (0.01, 1000, 8.0, 1e-5),
    (256 / 60_000, 14_063, 3.0, 1e-5),
    (1e-3, 100_000, 2.0, 1e-6),
    (0.1, 100, 0.5, 1e-6),
    (1e-4, 1_000_000, 1.0, 1e-8),
    (0.01, 1000, 0.1, 1e-7),
)


@dataclass(frozen=True)
class Row:
    """One measured case."""

    case: Case
    engine: str
    lower: float
    upper: float
    ours_ms: float
    peer: float
    peer_ms: float

    @property
    def ratio(self) -> float:
        """CPU time of dp-accounting divided by that of dperm."""
        return self.peer_ms / self.ours_ms


def cpu_ms(run: Callable[[], object], repeats: int) -> tuple[float, object]:
    """Median CPU time of ``repeats`` runs, in milliseconds, and the last result.

    dperm keeps recent answers, so they are forgotten before each run; constants such as quadrature nodes stay.
    """
    times = []
    for _ in range(repeats):
        solve_epsilon.cache_clear()
        solve_delta.cache_clear()
        start = time.process_time()
        result = run()
        times.append(1e3 * (time.process_time() - start))
    return statistics.median(times), result


def peer_event(step: Step) -> dp_event.DpEvent:
    """The same mechanism as a dp-accounting event."""
    base = dp_event.GaussianDpEvent(step.noise) if step.kind == "gaussian" else dp_event.LaplaceDpEvent(step.noise)
    return dp_event.PoissonSampledDpEvent(step.rate, base) if step.rate < 1 else base


def peer_epsilon(case: Case) -> float:
    """Epsilon by dp-accounting, from the loss distribution if it has no event for the mechanism."""
    if case.steps[0].kind == "epsilon_delta":
        (step,) = case.steps
        parameters = common.DifferentialPrivacyParameters(step.noise, step.delta)
        distribution = privacy_loss_distribution.from_privacy_parameters(parameters)
        return float(distribution.self_compose(step.count).get_epsilon_for_delta(case.delta))
    accountant = pld_privacy_accountant.PLDAccountant(RELATIONS[case.adjacency])
    for step in case.steps:
        accountant.compose(peer_event(step), step.count)
    return float(accountant.get_epsilon(case.delta))


def measure(case: Case) -> Row:
    """Measure both libraries on one case, each from events to epsilon."""
    answer = account(case.event(), case.adjacency).epsilon_answer(case.delta)  # warm caches of code, not of results
    ours, _ = cpu_ms(lambda: account(case.event(), case.adjacency).epsilon_answer(case.delta), 5)
    theirs, value = cpu_ms(lambda: peer_epsilon(case), 3)
    return Row(case, answer.engine, answer.lower, answer.upper, ours, float(value), theirs)  # type: ignore[arg-type]


def print_rows(console: Console, rows: list[Row]) -> None:
    """Print the table of all cases."""
    table = Table("case", "engine", "epsilon bracket", "width", "ms", "dp-accounting", "its ms", "ratio")
    for row in rows:
        below = row.peer < row.lower
        table.add_row(
            row.case.name,
            row.engine,
            f"{row.lower:.10g} .. {row.upper:.10g}",
            f"{(row.upper - row.lower) / row.upper if row.upper else 0:.0e}",
            f"{row.ours_ms:.2f}",
            f"{row.peer:.8g}" + (" (below the truth)" if below else ""),
            f"{row.peer_ms:.0f}",
            f"{row.ratio:,.0f}",
        )
    console.print(table)


def print_summary(console: Console, rows: list[Row]) -> None:
    """Print the targets of the project and the measured values."""
    closed = [row for row in rows if row.engine == "closed"]
    solved = [row for row in rows if row.engine != "closed"]
    ours = sorted(row.ours_ms for row in rows)
    total = sum(row.peer_ms for row in rows) / sum(row.ours_ms for row in rows)
    table = Table("what", "bar", "measured")
    table.add_row("total CPU ratio, all cases", ">= 100", f"{total:,.0f}")
    table.add_row(
        "total CPU ratio, no closed form",
        "",
        f"{sum(r.peer_ms for r in solved) / sum(r.ours_ms for r in solved):,.0f}",
    )
    table.add_row("median ratio, no closed form", ">= 60", f"{statistics.median(r.ratio for r in solved):,.0f}")
    table.add_row("median ratio, closed form", ">= 1,000", f"{statistics.median(r.ratio for r in closed):,.0f}")
    table.add_row("smallest ratio", "> 1", f"{min(r.ratio for r in rows):,.1f}")
    table.add_row("our median ms", "<= 8", f"{statistics.median(ours):.2f}")
    table.add_row("our 95 % ms", "<= 60", f"{ours[int(0.95 * (len(ours) - 1))]:.2f}")
    console.print(table)


def print_calibrations(console: Console) -> None:
    """Print noise multipliers for seven targets, with the certified epsilon of both libraries."""
    table = Table("rate", "steps", "epsilon", "delta", "noise multiplier", "ms (bar 50)", "too little at 1 - 1e-6")
    for rate, steps, epsilon, delta in CALIBRATIONS:

        def family(sigma: float, rate: float = rate, steps: int = steps) -> object:
            return Poisson(Gaussian(sigma), rate=rate) * steps

        ms, sigma = cpu_ms(lambda family=family: calibrate(family, epsilon, delta, "add_remove"), 3)  # noqa: B023
        low = account(family(sigma * (1 - 1e-6)), "add_remove").epsilon_bracket(delta)[0]  # type: ignore[operator, arg-type]
        table.add_row(
            f"{rate:g}", str(steps), f"{epsilon:g}", f"{delta:g}", f"{sigma:.9g}", f"{ms:.1f}", str(low > epsilon)
        )
    console.print(table)


def main() -> None:
    """Run all measurements and print three tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])  # type: ignore[union-attr]
    parser.add_argument("--random", type=int, default=30, help="number of random compositions")
    options = parser.parse_args()
    console = Console(width=160)
    cases = [*GOLDEN, *random_cases(options.random)]
    rows = [measure(case) for case in track(cases, description="measuring", console=Console(stderr=True))]
    print_rows(console, rows)
    print_summary(console, rows)
    print_calibrations(console)


if __name__ == "__main__":
    main()
