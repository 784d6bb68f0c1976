# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Third part of benchmarks/convex.py: ten classes with one guarantee, on digits and, with ``--data``, on MNIST.

All settings are defaults. Public information is declared (a norm, the classes, under add_remove a rough n), and nothing
is tuned. The rule of "auto" was developed on MNIST and digits, so this is not an independent test of it.
"""

import argparse
import warnings
from collections.abc import Iterator
from functools import partial

from convex_contests import rough
from convex_multiclass_data import CLASSES, DELTA, Images, digits, mnist
from convex_outcomes import Outcome, Setting, measured, print_outcomes, several, tried
from convex_runs import ADD_REMOVE, REPLACE_ONE, Guarantee
from rich.console import Console
from rich.table import Table
from sklearn.linear_model import LogisticRegression

from dperm.sklearn import PrivateLogisticRegression

EPSILONS = (0.5, 1.0, 4.0, 8.0)
QUICK = (1.0, 8.0)
GUARANTEES = (ADD_REMOVE, REPLACE_ONE)
METHODS = {"digits": ("auto", "objective", "sgd", "gradient"), "MNIST": ("auto", "objective", "sgd")}
MNIST_RUNS = 3
BAR = 0.88
"""Accuracy of the defaults on MNIST at epsilon 1, delta 1e-5."""


def private(data: Images, guarantee: Guarantee, *, method: str, epsilon: float) -> PrivateLogisticRegression:
    """Private classifier with its defaults, unseeded."""
    return PrivateLogisticRegression(
        epsilon=epsilon,
        delta=DELTA,
        adjacency=guarantee.adjacency,
        method=method,
        feature_norm=data.norm,
        classes=CLASSES,
        n=rough(data.n) if guarantee == ADD_REMOVE else None,
    )


def settings(data: Images, runs: int, epsilons: tuple[float, ...]) -> Iterator[Setting]:
    """Every guarantee, method and epsilon."""
    for guarantee in GUARANTEES:
        for method in METHODS[data.name]:
            for epsilon in epsilons:
                run = partial(several, private(data, guarantee, method=method, epsilon=epsilon), data, runs)
                yield Setting(data.name, guarantee.name, method, epsilon, run)


def print_set(console: Console, data: Images, outcomes: list[Outcome]) -> None:
    """Print the accuracy without privacy, and a table for each guarantee."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it stops at its 100 iterations on MNIST, which is its default
        plain = tried(LogisticRegression(), data)
    size = f"{data.n:,} x {data.X.shape[1]}, tested on {len(data.y_test):,} ({data.how})"
    console.print(f"[bold]{data.name}[/bold]: trained on {size}, {len(CLASSES)} classes")
    console.print(f"  scikit-learn with its defaults, no privacy: {plain.score:.4f}, {plain.seconds:.2f} s")
    for guarantee in GUARANTEES:
        mine = [each for each in outcomes if each.guarantee == guarantee.name]
        declared = f", n = {rough(data.n):,} declared" if guarantee == ADD_REMOVE else ""
        public = f"{guarantee.adjacency}{declared}, delta = {DELTA:g}, feature_norm {data.norm:g}"
        runs = max(len(each.tries) for each in mine)
        title = f"{data.name}, {public}: accuracy ± standard error of {runs} runs, CPU seconds"
        print_outcomes(console, title, mine)


def print_bar(console: Console, outcomes: list[Outcome]) -> bool:
    """Print the target of the project; return whether it is met."""
    table, met = Table("what", "bar", "measured", "", title="Default settings against the bar"), True
    for each in outcomes:
        if (each.data, each.what, each.epsilon) == ("MNIST", "auto", 1.0):
            passed = each.mean >= BAR
            met &= passed
            verdict = "[green]pass[/green]" if passed else "[red]FAIL[/red]"
            what = f"MNIST, {each.guarantee}, epsilon 1, delta {DELTA:g}"
            table.add_row(what, f">= {BAR:.3f}", each.scored, verdict)
    if table.row_count:
        console.print(table)
    return met


def multiclass(console: Console, options: argparse.Namespace) -> tuple[list[Outcome], bool]:
    """Run the part; return its outcomes and whether the target is met."""
    epsilons, found = QUICK if options.quick else EPSILONS, []
    sets = [(digits, options.runs)]
    if options.data:
        sets.append((lambda: mnist(options.data), 1 if options.quick else min(options.runs, MNIST_RUNS)))
    else:
        console.print("No --data and no DPERM_DATA: MNIST is left out.")
    for read, runs in sets:
        data = read()
        outcomes = measured(list(settings(data, runs, epsilons)), data.name)
        print_set(console, data, outcomes)
        found += outcomes
    return found, print_bar(console, found)
