# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""From a table to a released model with its privacy statement on the command line: ledger, fit, audit, report, verify.

The data are the RAND Health Insurance Experiment, included in statsmodels: does a person see a doctor more than once
in a year? All files are written to build/demo. Four models are charged to one account, whose limit is their joint
guarantee. The first uses no schema: "--prepare" finds ranges, bins, categories and classes privately, under the
guarantee of its model. Accuracy is measured on records outside the training table. A person has up to five records, one
per year; the statement explains the consequence. The last model has a pure guarantee (delta 0) and is audited; the
statement includes the findings.
"""

import csv
import math
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from statistics import NormalDist

from rich.console import Console
from rich.table import Table

FOLDER = Path("build/demo")
SCHEMA = Path(__file__).parent / "doctor_visits.toml"
PREPARED = 1.0
"""Epsilon of the model without a schema."""
EPSILONS = (0.05, 0.3, 1.0)
RELEASES = len(EPSILONS) + 1
LIMIT, DELTA = 2.5, 1.6e-5
FEATURES = ("lncoins", "idp", "lpi", "fmde", "physlm", "disea", "hlthg", "hlthf", "hlthp")
FIELDS = """\
curator = "A team that evaluates dperm"
intended_use = "To show the accuracy of a private model"
product = "Logistic regression: will a person see a doctor more than once in a year?"
publication_date = "not published"
contribution_bound = "One record is one year of one person, and a person has up to 5 years, so up to 5 records. A \
year is protected with the epsilon above. A whole person is protected as a group: with up to 5 times this epsilon."
tuning = "four fits, all charged to the account; the last was selected for its pure guarantee, not by scores"
reasons = "epsilon 1: the largest of the fits; the limit of the account covers all of them"

[utility]
measure = "accuracy"
on = "{records} records, every fourth, not used for training, possibly other years of the same people; the data \
are public, so the measurement was not charged; intervals: Wilson, 95 %, as if records were independent"
points = [
{points}
]
without_privacy = {without_privacy:.4f}
by_guessing = {by_guessing:.4f}
"""


def dperm(*arguments: object) -> None:
    """Print a command and run it."""
    words = [str(argument) for argument in arguments]
    Console(highlight=False).print(f"\n[bold]$ dperm {shlex.join(words)}[/bold]", soft_wrap=True)
    subprocess.run([sys.executable, "-m", "dperm", *words], check=True)


def write_tables() -> tuple[Path, Path]:
    """Write a training table, and a test table with every fourth record."""
    from statsmodels.datasets import randhie

    data = randhie.load_pandas().data
    rows = [(*(row[name] for name in FEATURES), "yes" if row["mdvis"] > 1 else "no") for row in data.to_dict("records")]
    train, test = FOLDER / "train.csv", FOLDER / "test.csv"
    _write(train, (row for place, row in enumerate(rows) if place % 4 != 3))
    _write(test, (row for place, row in enumerate(rows) if place % 4 == 3))
    return train, test


def _write(path: Path, rows: Iterable[tuple[object, ...]]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([(*FEATURES, "often"), *rows])


def column(path: Path, name: str) -> list[str]:
    """One column of a table."""
    with path.open(newline="", encoding="utf-8") as file:
        return [row[name] for row in csv.DictReader(file)]


def accuracy(predicted: list[str], truth: list[str]) -> float:
    """Fraction of correct predictions."""
    return sum(one == other for one, other in zip(predicted, truth, strict=True)) / len(truth)


def interval(share: float, count: int) -> tuple[float, float]:
    """Wilson's 95 % confidence interval of a fraction of ``count`` records."""
    z = NormalDist().inv_cdf(0.975)
    middle, spread = share + z**2 / (2 * count), z * math.sqrt(share * (1 - share) / count + (z / (2 * count)) ** 2)
    return (middle - spread) / (1 + z**2 / count), (middle + spread) / (1 + z**2 / count)


def point(epsilon: float, share: float, count: int) -> str:
    """A point of the plot, as TOML."""
    low, high = interval(share, count)
    return f"  {{ epsilon = {epsilon}, value = {share:.4f}, low = {low:.4f}, high = {high:.4f} }},"


def without_privacy(train: Path, test: Path) -> float:
    """Accuracy of scikit-learn's logistic regression on standardized data, without privacy."""
    import numpy as np
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    def features(path: Path) -> "np.ndarray[tuple[int, int], np.dtype[np.float64]]":
        return np.array([column(path, name) for name in FEATURES], dtype=float).T

    model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
    model.fit(features(train), column(train, "often"))
    return accuracy(list(model.predict(features(test))), column(test, "often"))


def fit_prepared(train: Path, test: Path, ledger: Path) -> list[str]:
    """Fit a model without a schema, charged to the ledger, and return its predictions."""
    model, predicted = FOLDER / "visits-prepared.dperm", FOLDER / "predicted-prepared.csv"
    goal = ("--target", "often", "--epsilon", PREPARED)
    dperm("plan", "table", train, *goal, "--delta", DELTA / RELEASES)
    dperm("fit", train, *goal, "--prepare", "--ledger", ledger, "--out", model)
    dperm("predict", model, test, "-o", predicted)
    return column(predicted, "often")


def main() -> None:
    """Open an account, fit and compare four models, audit the last, and write its statement."""
    shutil.rmtree(FOLDER, ignore_errors=True)  # from an earlier demo; never remove a real ledger
    FOLDER.mkdir(parents=True)
    train, test = write_tables()
    ledger = FOLDER / "visits.ledger"
    account = ("--dataset", "RAND Health Insurance Experiment", "--unit", "one year of one person")
    limit = ("--adjacency", "replace_one", "--epsilon", LIMIT, "--delta", DELTA, "--blocks", RELEASES)
    dperm("ledger", "open", ledger, *account, *limit, "--data", train)
    truth, reached = column(test, "often"), {}
    prepared = accuracy(fit_prepared(train, test, ledger), truth)
    for epsilon in EPSILONS:
        model, predicted = FOLDER / f"visits-{epsilon:g}.dperm", FOLDER / f"predicted-{epsilon:g}.csv"
        goal = ("--epsilon", epsilon, "--delta", 0 if epsilon == EPSILONS[-1] else DELTA / RELEASES)
        dperm("fit", train, "--target", "often", *goal, "--schema", SCHEMA, "--ledger", ledger, "--out", model)
        dperm("predict", model, test, "-o", predicted)
        reached[epsilon] = accuracy(column(predicted, "often"), truth)
    levels = {
        "without_privacy": without_privacy(train, test),
        "by_guessing": max(truth.count("yes"), truth.count("no")) / len(truth),
    }
    fields = FOLDER / "fields.toml"
    points = "\n".join(point(epsilon, share, len(truth)) for epsilon, share in reached.items())
    fields.write_text(FIELDS.format(points=points, records=len(truth), **levels), encoding="utf-8")
    audit = FOLDER / "audit.json"
    dperm("audit", "model", model, "--runs", 20_000, "--confidence", 0.999, "--out", audit)
    dperm("report", model, "-o", FOLDER / "statement.html", "--fields", fields, "--audit", audit)
    dperm("ledger", "show", ledger)
    dperm("ledger", "verify", ledger, "--model", model)
    print()
    table = Table("", "accuracy", title="More than one visit to a doctor in a year")
    rows = [(f"epsilon {PREPARED:g}, without a schema", prepared)]
    rows += [*((f"epsilon {epsilon:g}", value) for epsilon, value in reached.items()), *levels.items()]
    for name, value in rows:
        table.add_row(name.replace("_", " "), f"{value:.3f}")
    Console(width=100).print(table)
    print(f"Statement: {FOLDER / 'statement.html'} (open it in a browser)")


if __name__ == "__main__":
    main()
