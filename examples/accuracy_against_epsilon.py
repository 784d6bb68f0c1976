# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Cost of privacy on real data: accuracy against epsilon for every method, as a table and a plot.

The default data set is the RAND Health Insurance Experiment, included in statsmodels: does a person see a doctor more
than once in a year? ``--adult PATH`` reads a file with arrays X (rows of norm 1), y in {-1, 1} and is_test, such as the
census data Adult. Each repeated fit has its own guarantee, and together they cost far more. This is an illustration,
not a method for choosing epsilon or a method on private data.
"""

import argparse
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")  # a file, no window
import numpy as np
from matplotlib import pyplot
from rich.console import Console
from rich.progress import track
from rich.table import Table
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from statsmodels.datasets import randhie

from dperm.errors import DpermWarning
from dperm.sklearn import PrivateLogisticRegression

EPSILONS = (0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0)
PICTURE = Path("build/accuracy_against_epsilon.png")
METHODS: dict[str, dict[str, Any]] = {
    "objective perturbation": {"method": "objective"},
    "gradient perturbation": {"method": "gradient"},
    "output perturbation": {"method": "output"},
    "objective perturbation, pure (delta = 0)": {"method": "objective", "delta": 0.0},
    "output perturbation, pure (delta = 0)": {"method": "output", "delta": 0.0},
}
# Taken from the description of the experiment, not from the data; answers outside the bounds are clipped.
BOUNDS = {
    "lncoins": (0.0, float(np.log(101))),  # ln(coinsurance + 1), coinsurance in per cent
    "idp": (0.0, 1.0),  # individual deductible plan
    "lpi": (0.0, float(np.log(3000))),  # ln of the yearly participation incentive in dollars
    "fmde": (0.0, float(np.log(4000))),  # ln(limit on own spending / coinsurance): at most 1,000 dollars / 25 %
    "physlm": (0.0, 1.0),  # physical limitation
    "disea": (0.0, 30.0),  # number of chronic diseases
    "hlthg": (0.0, 1.0),  # self-rated health: good, fair, poor; else excellent
    "hlthf": (0.0, 1.0),
    "hlthp": (0.0, 1.0),
}


@dataclass(frozen=True)
class Problem:
    """Training and test data, and their public information."""

    title: str
    X: Any
    y: Any
    X_test: Any
    y_test: Any
    public: dict[str, Any]

    @property
    def majority(self) -> float:
        """Accuracy of the more frequent class."""
        return float(max(np.mean(self.y_test > 0), np.mean(self.y_test <= 0)))

    @property
    def without_privacy(self) -> float:
        """Accuracy of scikit-learn's logistic regression on standardized data, without privacy."""
        model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
        return float(model.fit(self.X, self.y).score(self.X_test, self.y_test))


def doctor_visits() -> Problem:
    """RAND experiment; the guarantee protects one record, which is one year of one person."""
    table = randhie.load_pandas().data
    often, test = (table["mdvis"] > 1).astype(int), np.arange(len(table)) % 4 == 3
    X = table[list(BOUNDS)]
    public = {"bounds": BOUNDS, "classes": (0, 1)}
    return Problem("More than one visit to a doctor in a year", X[~test], often[~test], X[test], often[test], public)


def census(path: Path) -> Problem:
    """Adult, or any file in the same format."""
    with np.load(path) as stored:
        X, y, test = stored["X"].astype(float), stored["y"], stored["is_test"].astype(bool)
    public = {"feature_norm": 1.0, "classes": (-1, 1)}
    return Problem(path.stem, X[~test], y[~test], X[test], y[test], public)


def accuracies(problem: Problem, fits: int) -> dict[tuple[str, float], np.ndarray]:
    """Accuracy of each fit; delta is smaller than 1/n."""
    delta, found = len(problem.y) ** -1.1, {}
    settings = [(name, epsilon) for name in METHODS for epsilon in EPSILONS]
    for name, epsilon in track(settings, description="fitting", console=Console(stderr=True), transient=True):
        arguments = {"delta": delta, "adjacency": "replace_one", **problem.public, **METHODS[name]}
        model = PrivateLogisticRegression(epsilon=epsilon, **arguments)
        scores = [model.fit(problem.X, problem.y).score(problem.X_test, problem.y_test) for _ in range(fits)]
        found[name, epsilon] = np.array(scores)
    return found


def print_table(problem: Problem, found: dict[tuple[str, float], np.ndarray]) -> None:
    """Print the mean accuracies."""
    table = Table("epsilon", *(f"{epsilon:g}" for epsilon in EPSILONS), title=problem.title)
    for name in METHODS:
        table.add_row(name, *(f"{found[name, epsilon].mean():.3f}" for epsilon in EPSILONS))
    Console(width=120).print(table)
    print(f"without privacy {problem.without_privacy:.3f}, majority {problem.majority:.3f}")


def draw(problem: Problem, found: dict[tuple[str, float], np.ndarray]) -> None:
    """Plot means with the standard deviation of single fits."""
    figure, axes = pyplot.subplots(figsize=(8, 5), layout="constrained")
    for place, name in enumerate(METHODS):
        spread = np.array([found[name, epsilon] for epsilon in EPSILONS])
        where = np.array(EPSILONS) * 1.08 ** (place - len(METHODS) // 2)  # shifts the error bars apart
        style = {"fmt": "o--" if "pure" in name else "o-", "capsize": 2, "markersize": 4, "elinewidth": 1}
        axes.errorbar(where, spread.mean(1), spread.std(1), label=name, **style)
    axes.axhline(problem.without_privacy, color="black", linewidth=1, label="without privacy (scikit-learn)")
    axes.axhline(problem.majority, color="grey", linewidth=1, linestyle=":", label="majority class")
    axes.set(xscale="log", xlabel="epsilon (smaller is more private)", ylabel="test accuracy")
    axes.set_xticks(EPSILONS, [f"{epsilon:g}" for epsilon in EPSILONS])
    axes.minorticks_off()
    axes.set_title(f"{problem.title}\n{len(problem.y):,} records, replace-one, bars: one standard deviation of a fit")
    axes.legend(fontsize="small", loc="lower right")
    PICTURE.parent.mkdir(exist_ok=True)
    figure.savefig(PICTURE, dpi=120)


def main() -> None:
    """Fit all models, print the table and write the plot."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--adult", type=Path, help="file with arrays X, y and is_test")
    parser.add_argument("--fits", type=int, default=6, help="number of fits per method and epsilon")
    options = parser.parse_args()
    warnings.simplefilter("ignore", DpermWarning)  # the example shows cases where noise outweighs the data
    problem = census(options.adult) if options.adult else doctor_visits()
    found = accuracies(problem, options.fits)
    print_table(problem, found)
    draw(problem, found)
    print(f"Plot: {PICTURE}. Every fit has its own guarantee; all fits together would cost the sum.")


if __name__ == "__main__":
    main()
