# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Error rates of the warning that noise outweighs the records: a confusion table over random shapes.

    python benchmarks/noise_warning.py --quick
    python benchmarks/noise_warning.py --held-out --settings 600

Each setting draws a distribution of rows, a shape, an epsilon near the point where learning fails, an adjacency, a goal
and a method. It fits three models with new noise to a synthetic table and compares their mean test score with the
constant model: the larger class, or an R^2 of 0. A model is *better* if its accuracy is more than .05 above that
(R^2 > .05), *useless* if it is at most .01 above it (R^2 <= 0), and neither in between. A warning for a better model is
a false alarm; no warning for a useless model is a miss. The warning of method="sufficient" about skewed labels names a
standard deviation, and counts if labels are skewed and their standard deviation is below it. Tables from which a model
without privacy does not learn .1 more than the constant are omitted. The plan warns before any fit, from public
constants.

Thresholds were fixed on the development distributions; --held-out uses other distributions and other seeds.
"""

import argparse
import json
import statistics
import warnings
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass

import auto_choice_data as laws
import numpy as np
from rich.console import Console
from rich.progress import track
from rich.table import Table as Printed
from sklearn.linear_model import LogisticRegression, Ridge

from dperm.errors import DpermError, DpermWarning
from dperm.methods.noise_warning import least_label_deviation
from dperm.sklearn import PrivateLinearRegression, PrivateLogisticRegression

DEVELOPMENT = {
    "isotropic": laws.spectrum(0),
    "decay 1": laws.spectrum(1),
    "decay 2": laws.spectrum(2),
    "decay 1, head": laws.spectrum(1, 5),
    "words": laws.words(20, 50),
}
HELD_OUT = {
    "levels": laws.levels(10),
    "factors": laws.factors(5),
    "neighbours": laws.neighbours(0.8),
    "clusters": laws.clusters(5),
}
ROWS, COLUMNS = (300, 1_000, 3_000, 10_000, 30_000), (10, 30, 100, 300, 1_000, 3_000)
LARGEST = 1_000_000
RANGES = {
    ("classes", False): (-0.7, 1.2),
    ("classes", True): (-1.7, 0.5),
    ("numbers", False): (-2.0, 0.3),
    ("numbers", True): (-3.3, -0.3),
}
"""Powers of ten of sqrt(d) noise over n R, by kind of labels and for methods with noise on coefficients or sums."""
FITS = 3


@dataclass(frozen=True)
class Outcome:
    """One setting: the plan, whether it warned, and the score."""

    law: str
    n: int
    dim: int
    kind: str
    skewed: bool
    epsilon: float
    delta: float
    adjacency: str
    method: str
    warned: bool
    constant: float
    without_privacy: float
    score: float

    @property
    def verdict(self) -> str:
        """Better than the constant model, useless, or neither."""
        gain = self.score - self.constant
        if gain > 0.05:
            return "better"
        return "useless" if gain <= (0.0 if self.kind == "numbers" else 0.01) else "neither"


def tables(law: dict[str, laws.Law], generator: np.random.Generator) -> Iterator[tuple[laws.Table, laws.Split, float]]:
    """Random tables from which a model without privacy learns, with its score."""
    while True:
        name, n, dim = generator.choice(list(law)), int(generator.choice(ROWS)), int(generator.choice(COLUMNS))
        numbers, skewed = generator.random() < 0.5, generator.random() < 0.2
        if (n * dim > LARGEST and name not in ("words", "levels")) or (name == "levels" and dim < 30):
            continue
        signal = generator.choice((0.3, 0.6, 0.9) if numbers else (2.0, 4.0, 8.0))
        table = laws.Table(name, law[name], n, dim, 0 if numbers else 2, float(signal), bool(numbers and skewed))
        split = table.draw(int(generator.integers(2**31)))
        plain = Ridge(0.1) if numbers else LogisticRegression(max_iter=200)
        score = plain.fit(split.X, split.y).score(split.X_test, split.y_test)
        if score > split.constant_score + 0.1:
            yield table, split, score


def setting(table: laws.Table, generator: np.random.Generator) -> dict[str, object]:
    """A method and a guarantee near the point where learning fails."""
    numbers, pure = not table.classes, bool(generator.random() < 0.25)
    methods = ["auto", "objective", "output"] + ([] if pure else ["gradient", "gradient", "sgd"])
    if numbers and not pure and table.dim <= 300:
        methods += ["sufficient"]
    method, adjacency = str(generator.choice(methods)), str(generator.choice(["add_remove", "replace_one"]))
    kind = "numbers" if numbers else "classes"
    ratio = 10 ** generator.uniform(*RANGES[kind, method in ("output", "sufficient")])
    moved = (0.25 if numbers else 0.5) * (2 if adjacency == "replace_one" else 1)
    epsilon = table.dim**0.5 * moved * (table.dim**0.5 if pure else 5) / (table.n * ratio)
    return {
        "method": method,
        "adjacency": adjacency,
        "epsilon": float(np.clip(epsilon, 0.003, 60)),
        "delta": 0.0 if pure else 1e-6,
        "n": table.n if adjacency == "add_remove" else None,
    }


def outcome(table: laws.Table, split: laws.Split, without: float, given: dict[str, object]) -> Outcome:
    """Plan, record whether the plan warns, fit and score."""
    if split.is_regression:
        model = PrivateLinearRegression(label_range=split.label_range, feature_norm=1.0, **given)
    else:
        model = PrivateLogisticRegression(classes=(0, 1), feature_norm=1.0, **given)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        plan = model.plan(n=table.n, dim=table.dim)
    said = " ".join(str(each.message) for each in told if issubclass(each.category, DpermWarning))
    warned = "outweighs what" in said
    if "outweighs skewed labels" in said and table.skewed and split.label_range is not None:
        low, high = split.label_range
        warned = bool(split.y.std() < least_label_deviation(plan, table.n) * (high - low))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fits = [model.fit(split.X, split.y).score(split.X_test, split.y_test) for _ in range(FITS)]
    return Outcome(
        law=table.name,
        n=table.n,
        dim=table.dim,
        kind="numbers" if split.is_regression else "classes",
        skewed=table.skewed,
        epsilon=model.epsilon,
        delta=model.delta,
        adjacency=model.adjacency,
        method=plan.method,
        warned=warned,
        constant=split.constant_score,
        without_privacy=without,
        score=statistics.fmean(max(score, -1.0) for score in fits),
    )


def print_confusion(console: Console, outcomes: list[Outcome]) -> None:
    """Print counts by kind of labels and method, with both error rates."""
    headings = ("labels", "method", "better", "warned: false alarms", "useless", "silent: misses", "neither")
    printed = Printed(*headings, title="The warning that noise outweighs the records")
    groups = [
        (kind, method) for kind in ("classes", "numbers") for method in (None, *sorted({o.method for o in outcomes}))
    ]
    for kind, method in groups:
        mine = [o for o in outcomes if o.kind == kind and method in (None, o.method)]
        counts = Counter((o.verdict, o.warned) for o in mine)
        better, useless = (counts[verdict, True] + counts[verdict, False] for verdict in ("better", "useless"))
        alarms, misses = counts["better", True], counts["useless", False]
        neither = counts["neither", True] + counts["neither", False]
        rates = (f"{count} ({count / max(total, 1):.0%})" for count, total in ((alarms, better), (misses, useless)))
        first, second = rates
        printed.add_row(kind, method or "all", str(better), first, str(useless), second, str(neither))
    console.print(printed)


def main() -> None:
    """Read the options, measure the settings and print the confusion table."""
    parser = argparse.ArgumentParser(description="Error rates of the warning that noise outweighs the records.")
    parser.add_argument("--settings", type=int, default=300, help="Number of settings.")
    parser.add_argument("--quick", action="store_true", help="40 settings.")
    parser.add_argument("--held-out", action="store_true", help="Laws that the thresholds were not fixed on.")
    parser.add_argument("--seed", type=int, default=0, help="Of shapes and tables; noise is always fresh.")
    parser.add_argument("--json", help="File to append the outcomes to, one a line.")
    options = parser.parse_args()
    generator = np.random.default_rng([options.seed, options.held_out])
    laws.TEST_ROWS = 2000
    outcomes: list[Outcome] = []
    source = tables(HELD_OUT if options.held_out else DEVELOPMENT, generator)
    for _ in track(range(40 if options.quick else options.settings), console=Console(stderr=True), transient=True):
        table, split, without = next(source)
        try:
            outcomes.append(outcome(table, split, without, setting(table, generator)))
        except DpermError:  # a goal that the method cannot meet
            continue
    if options.json:
        with open(options.json, "a") as file:
            file.writelines(json.dumps(asdict(each)) + "\n" for each in outcomes)
    print_confusion(Console(width=130), outcomes)


if __name__ == "__main__":
    main()
