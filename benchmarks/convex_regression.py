# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Fourth part of benchmarks/convex.py: regression with bounded labels, every method, compared with diffprivlib.

R^2 on the test data; delta = n^-1.1. All settings are defaults: the public bounds of columns and labels are declared
(benchmarks/convex_regression_data.py), and under add_remove a rough n for methods that divide by it; nothing is tuned.
diffprivlib's LinearRegression has a pure guarantee and gets the same bounds.
"""

import argparse
from collections.abc import Callable, Iterator
from functools import partial

from convex_contests import NEED_N, rough
from convex_outcomes import Outcome, Setting, Try, measured, print_outcomes, several, tried
from convex_regression_data import SETS, Regression, regression
from convex_runs import ADD_REMOVE, PURE_REPLACE_ONE, REPLACE_ONE, Guarantee, peer_runs
from rich.console import Console
from sklearn.linear_model import LinearRegression

from dperm.sklearn import PrivateHuberRegressor, PrivateLinearRegression

EPSILONS = (0.1, 1.0, 4.0, 8.0)
QUICK = (1.0, 8.0)
HUBER, PEER = "Huber, auto", "diffprivlib 0.6.6"
METHODS = {
    ADD_REMOVE: ("auto", "objective", "output", "gradient", "sgd", "sufficient", HUBER),
    REPLACE_ONE: ("auto", "objective", "output", "gradient", "sgd", "bolt_on", "sufficient", HUBER),
    PURE_REPLACE_ONE: ("objective", "output", PEER),
}


def private(data: Regression, guarantee: Guarantee, *, what: str, epsilon: float) -> object:
    """Private regression model with its defaults, unseeded."""
    estimator = PrivateHuberRegressor if what == HUBER else PrivateLinearRegression
    return estimator(
        epsilon=epsilon,
        delta=0.0 if guarantee.pure else data.delta,
        adjacency=guarantee.adjacency,
        method="auto" if what == HUBER else what,
        bounds=data.bounds,
        label_range=data.label_range,
        n=rough(data.n) if guarantee == ADD_REMOVE and what in NEED_N else None,
    )


def peer(options: argparse.Namespace, key: str, epsilon: float) -> tuple[Try, ...]:
    """Run diffprivlib in its own environment."""
    arguments = ["--regression", key, "--epsilon", epsilon, "--runs", options.runs]
    if options.california:
        arguments += ["--california", options.california]
    return tuple(Try(run["r2"], run["seconds"]) for run in peer_runs(options.peer_python, arguments))


def settings(data: Regression, key: str, options: argparse.Namespace) -> Iterator[Setting]:
    """Every guarantee, method and epsilon."""
    run: Callable[[], tuple[Try, ...]]
    for guarantee, whats in METHODS.items():
        for what in whats if options.peer_python else (each for each in whats if each != PEER):
            for epsilon in QUICK if options.quick else EPSILONS:
                if what == PEER:
                    run = partial(peer, options, key, epsilon)
                else:
                    run = partial(several, private(data, guarantee, what=what, epsilon=epsilon), data, options.runs)
                yield Setting(data.name, guarantee.name, what, epsilon, run)


def print_set(console: Console, data: Regression, outcomes: list[Outcome]) -> None:
    """Print R^2 without privacy, and a table for each guarantee."""
    plain = tried(LinearRegression(), data)
    size = f"{data.n:,} x {data.X.shape[1]}, tested on {len(data.y_test):,} ({data.how})"
    console.print(f"[bold]{data.name}[/bold]: trained on {size}, labels in {data.label_range}")
    console.print(f"  scikit-learn's LinearRegression, no privacy: R^2 = {plain.score:.4f}, {plain.seconds:.2f} s")
    for guarantee in METHODS:
        mine = [each for each in outcomes if each.guarantee == guarantee.name]
        declared = f", n = {rough(data.n):,} declared for gradient and sgd" if guarantee == ADD_REMOVE else ""
        public = f"{guarantee.adjacency}{declared}, delta = {0 if guarantee.pure else data.delta:.3g}"
        runs = max(len(each.tries) for each in mine)
        print_outcomes(console, f"{data.name}, {public}: R^2 ± standard error of {runs} runs, CPU seconds", mine)


def measure_regression(console: Console, options: argparse.Namespace) -> list[Outcome]:
    """Run the part, which has no target; the tables show the cost of privacy."""
    if not options.peer_python:
        console.print("No --peer-python: diffprivlib is left out.")
    found = []
    for key in (*SETS, *(("california",) if options.california else ())):
        data = regression(key, options.california)
        outcomes = measured(list(settings(data, key, options)), data.name)
        print_set(console, data, outcomes)
        found += outcomes
    return found
