# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""From a table to a released model with its privacy statement, as one types it: ledger, fit, audit, report, verify.

The data are the RAND Health Insurance Experiment, which statsmodels carries: does a person see a doctor more than once
in a year? Everything is written to build/demo. The three models are charged to one account: what is promised about all
of them together is its limit. Accuracy is measured on records that are not in the training table. A person has up to
five records, one for each year: what that means for a person is said in the statement. The last model is pure, delta 0,
and is attacked: what the attacks have found is in its statement, too.
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
EPSILONS = (0.05, 0.3, 1.0)
LIMIT, DELTA = 1.5, 1.2e-5
FEATURES = ("lncoins", "idp", "lpi", "fmde", "physlm", "disea", "hlthg", "hlthf", "hlthp")
FIELDS = """\
curator = "A team that tries dperm"
intended_use = "To show what a private model costs in accuracy"
product = "Logistic regression: will a person see a doctor more than once in a year?"
publication_date = "not published"
contribution_bound = "One record is one year of one person, and a person has up to 5 years, so up to 5 records. A \
year is protected with the epsilon above. A whole person is protected as a group: with up to 5 times this epsilon."
tuning = "three fits, all charged to the account; the last was taken because its epsilon is the largest, not by scores"
reasons = "epsilon 1: the largest of the three that were fitted; the account's limit covers them all"

[utility]
measure = "accuracy"
on = "{records} records, every fourth, which no model has seen, but perhaps other years of the same people; the data \
are public, so that nothing had to be charged for it; intervals: Wilson, 95 %, as if records were independent"
points = [
{points}
]
without_privacy = {without_privacy:.4f}
by_guessing = {by_guessing:.4f}
"""


def dperm(*arguments: object) -> None:
    """Show a command as it would be typed, and run it."""
    words = [str(argument) for argument in arguments]
    Console(highlight=False).print(f"\n[bold]$ dperm {shlex.join(words)}[/bold]", soft_wrap=True)
    subprocess.run([sys.executable, "-m", "dperm", *words], check=True)


def write_tables() -> tuple[Path, Path]:
    """One table to learn from, and one of every fourth record to predict."""
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
    """The share of records that are predicted right."""
    return sum(one == other for one, other in zip(predicted, truth, strict=True)) / len(truth)


def interval(share: float, count: int) -> tuple[float, float]:
    """Wilson's 95 % confidence interval of a share among so many."""
    z = NormalDist().inv_cdf(0.975)
    middle, spread = share + z**2 / (2 * count), z * math.sqrt(share * (1 - share) / count + (z / (2 * count)) ** 2)
    return (middle - spread) / (1 + z**2 / count), (middle + spread) / (1 + z**2 / count)


def point(epsilon: float, share: float, count: int) -> str:
    """A point of the plot, as TOML."""
    low, high = interval(share, count)
    return f"  {{ epsilon = {epsilon}, value = {share:.4f}, low = {low:.4f}, high = {high:.4f} }},"


def without_privacy(train: Path, test: Path) -> float:
    """Accuracy of scikit-learn's logistic regression, which looks at the data as it likes."""
    import numpy as np
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    def features(path: Path) -> "np.ndarray[tuple[int, int], np.dtype[np.float64]]":
        return np.array([column(path, name) for name in FEATURES], dtype=float).T

    model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
    model.fit(features(train), column(train, "often"))
    return accuracy(list(model.predict(features(test))), column(test, "often"))


def main() -> None:
    """Open an account, fit three models, compare them, attack the last, and write its statement."""
    shutil.rmtree(FOLDER, ignore_errors=True)  # of an earlier demo: a real ledger is never removed
    FOLDER.mkdir(parents=True)
    train, test = write_tables()
    ledger = FOLDER / "visits.ledger"
    account = ("--dataset", "RAND Health Insurance Experiment", "--unit", "one year of one person")
    limit = ("--adjacency", "replace_one", "--epsilon", LIMIT, "--delta", DELTA, "--blocks", len(EPSILONS))
    dperm("ledger", "open", ledger, *account, *limit, "--data", train)
    truth, reached = column(test, "often"), {}
    for epsilon in EPSILONS:
        model, predicted = FOLDER / f"visits-{epsilon:g}.dperm", FOLDER / f"predicted-{epsilon:g}.csv"
        goal = ("--epsilon", epsilon, "--delta", 0 if epsilon == EPSILONS[-1] else DELTA / len(EPSILONS))
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
    rows = [*((f"epsilon {epsilon:g}", value) for epsilon, value in reached.items()), *levels.items()]
    for name, value in rows:
        table.add_row(name.replace("_", " "), f"{value:.3f}")
    Console(width=100).print(table)
    print(f"Statement: {FOLDER / 'statement.html'} (open it in a browser)")


if __name__ == "__main__":
    main()
