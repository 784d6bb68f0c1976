# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Tightness of the black-box audit for the methods of dperm: claim, lower bound, ratio, CPU seconds.

Each row audits a real plan on worst-case neighbouring data sets, with new noise, at 95 % confidence. A bound is random,
and for a tight method it would exceed the claim in 5 % of the audits. The table shows the median of several audits and
their range. One thread. Run: ``python benchmarks/audit.py`` (``--runs``, ``--repeats``).
"""

import argparse
import os
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before numpy: CPU time of one thread
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from rich.console import Console
from rich.progress import track
from rich.table import Table

from dperm import ApproxDP, PureDP
from dperm.audit.black_box import Subject, audit, of_mechanism, of_plan
from dperm.erm.losses import Hinge, HuberHinge, Logistic
from dperm.erm.spec import ProblemSpec
from dperm.mechanisms import GammaNormMechanism, GaussianMechanism
from dperm.methods import GradientPerturbation, ObjectivePerturbation, OutputPerturbation

PURE = PureDP(2.0, "replace_one")
APPROX = ApproxDP(2.0, 1e-5, "replace_one")
HUBER = ProblemSpec(HuberHinge(0.5), radius=1.0, dim=1, n=1000)
CLIPPED = ProblemSpec(Logistic(), radius=1.0, dim=1, n=1000, clip=0.5, regularization=25.0)
CASES: dict[str, tuple[float | None, Callable[[], Subject]]] = {
    "output, Laplace, epsilon 2": (0.98, lambda: of_plan(OutputPerturbation("laplace").plan(HUBER, PURE))),
    "output, gamma norm, epsilon 2": (0.98, lambda: of_plan(OutputPerturbation().plan(HUBER, PURE))),
    "output, Laplace, epsilon 1": (
        None,
        lambda: of_plan(OutputPerturbation("laplace").plan(HUBER, PureDP(1.0, "replace_one"))),
    ),
    "Gaussian mechanism, epsilon 2": (0.93, lambda: of_mechanism(GaussianMechanism.calibrate(1.0, APPROX))),
    "Gaussian mechanism, epsilon 1": (
        0.93,
        lambda: of_mechanism(GaussianMechanism.calibrate(1.0, ApproxDP(1.0, 1e-5, "replace_one"))),
    ),
    "output, Gaussian, epsilon 2": (0.93, lambda: of_plan(OutputPerturbation("gaussian").plan(HUBER, APPROX))),
    "DP-GD, 20 steps": (
        0.93,
        lambda: of_plan(GradientPerturbation(steps=20).plan(ProblemSpec(Hinge(), 1.0, 1, n=1000), APPROX)),
    ),
    "DP-GD, default steps, add/remove": (
        0.93,
        lambda: of_plan(
            GradientPerturbation().plan(
                ProblemSpec(Logistic(), 1.0, 1, n=1000, clip=0.5), ApproxDP(2.0, 1e-5, "add_remove")
            )
        ),
    ),
    "objective, Huber hinge, Lambda 100": (
        0.85,
        lambda: of_plan(ObjectivePerturbation("gamma_norm").plan(HUBER.with_regularization(100.0), PURE)),
    ),
    "objective, Huber hinge, default Lambda": (
        0.85,
        lambda: of_plan(ObjectivePerturbation("gamma_norm").plan(HUBER, PURE)),
    ),
    "objective, clipped logistic": (0.85, lambda: of_plan(ObjectivePerturbation("gamma_norm").plan(CLIPPED, PURE))),
    "gamma norm in 20 dimensions": (
        None,
        lambda: of_mechanism(GammaNormMechanism.calibrate(1.0, PURE, dim=20)),
    ),
}


@dataclass(frozen=True)
class Row:
    """One measured case."""

    name: str
    wanted: float | None
    claimed: float
    measured: tuple[float, ...]
    seconds: float

    @property
    def middle(self) -> float:
        """Median of the bounds."""
        return statistics.median(self.measured)


def measured(name: str, runs: int, repeats: int) -> Row:
    """Bounds of several audits; each searches for its own neighbouring data sets."""
    wanted, make = CASES[name]
    bounds, start = [], time.process_time()
    for _ in range(repeats):
        found = audit(make(), runs=runs)
        bounds.append(found.bound.epsilon)
    seconds = (time.process_time() - start) / repeats
    return Row(name, wanted, found.claimed_epsilon(found.bound.delta), tuple(bounds), seconds)


def main() -> None:
    """Measure all cases and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=100_000)
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    table = Table(title=f"Black-box audit, {options.runs:,} runs, 95 %, middle of {options.repeats} audits")
    for column in ("subject", "claimed", "measured", "ratio", "range", "wanted", "CPU s"):
        table.add_column(column, justify="left" if column == "subject" else "right")
    for name in track(CASES, description="auditing", transient=True):
        row = measured(name, options.runs, options.repeats)
        shares = [bound / row.claimed for bound in row.measured]
        wanted = "" if row.wanted is None else f">= {row.wanted:g}"
        span = f"{min(shares):.3f}-{max(shares):.3f}"
        ratio = f"{row.middle / row.claimed:.3f}"
        table.add_row(name, f"{row.claimed:.4g}", f"{row.middle:.4f}", ratio, span, wanted, f"{row.seconds:.2f}")
    Console(width=120).print(table)


if __name__ == "__main__":
    main()
