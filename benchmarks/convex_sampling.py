# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Fifth part of benchmarks/convex.py: gradient descent on samples (DP-SGD) compared with all records (DP-GD).

Logistic regression at 1,000,000 x 50, synthetic, delta = n^-1.1, add_remove with the declared n; objective perturbation
is included for comparison. Extra memory of DP-SGD is measured as in benchmarks/convex_timing.py.
"""

import argparse
from functools import partial

from convex_contests import NEED_N, Rows, rough
from convex_data import Shape, Split
from convex_outcomes import Outcome, Setting, measured, print_outcomes, several, tried
from convex_runs import ADD_REMOVE, ours
from convex_timing import extra_memory
from rich.console import Console
from sklearn.linear_model import LogisticRegression

EPSILONS = (0.1, 1.0, 4.0)
METHODS = ("sgd", "gradient", "objective")
SHAPE, QUICK = Shape(50, 1_000_000, 0, 0), Shape(50, 100_000, 0, 0)
RUNS = 3


def settings(split: Split, runs: int) -> list[Setting]:
    """Every method and epsilon."""
    found = []
    for method in METHODS:
        n = rough(split.n) if method in NEED_N else None
        for epsilon in EPSILONS:
            model = ours(split, ADD_REMOVE, epsilon, method=method, n=n)
            found.append(Setting(split.name, ADD_REMOVE.name, method, epsilon, partial(several, model, split, runs)))
    return found


def sampling(console: Console, options: argparse.Namespace) -> list[Outcome]:
    """Run the part, which has no target; it compares time and accuracy."""
    split, runs = (QUICK if options.quick else SHAPE).draw(), min(options.runs, RUNS)
    found = measured(settings(split, runs), "sampling")
    plain = tried(LogisticRegression(), split)
    console.print(f"[bold]Sampling[/bold]: {split.name}; delta = {split.delta:.3g}, n = {rough(split.n):,} declared")
    console.print(f"  scikit-learn, C = 1, no privacy: {plain.score:.4f}, {plain.seconds:.2f} s")
    title = f"{split.name}, {ADD_REMOVE.name}: accuracy ± standard error of {runs} runs, CPU seconds"
    print_outcomes(console, title, found)
    rows = Rows(split.name, split.X, split.y)
    shares = ", ".join(f"{share:.1%} ({name})" for name, share in extra_memory("sgd", rows).items())
    console.print(f"  extra memory of sgd at epsilon 1: {shares} of X, {rows.X.nbytes / 2**20:.0f} MiB")
    return found
