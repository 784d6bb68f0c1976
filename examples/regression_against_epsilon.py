# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Private regression on real data: R^2 against epsilon for several methods, as a table and a plot.

The data are scikit-learn's diabetes study: 442 patients, ten measurements, and the progression of the disease after a
year. So few records need a large epsilon, as the plot shows. Each fit has its own guarantee, and together they cost far
more. This is an illustration, not a method for choosing epsilon or a method on private data.
"""

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
from sklearn.datasets import load_diabetes
from sklearn.linear_model import LinearRegression

from dperm.errors import DpermWarning
from dperm.sklearn import PrivateHuberRegressor, PrivateLinearRegression

EPSILONS = (0.3, 1.0, 3.0, 10.0, 30.0)
FITS = 20
PICTURE = Path("build/regression_against_epsilon.png")
# Columns are centred and scaled, and scores are expected to be at most 400. These bounds do not come from the data.
PUBLIC: dict[str, Any] = {"bounds": (-0.2, 0.2), "label_range": (0.0, 400.0), "delta": 1e-4}
METHODS: dict[str, Any] = {
    "objective perturbation": lambda epsilon: PrivateLinearRegression(epsilon=epsilon, method="objective", **PUBLIC),
    "objective perturbation, Huber loss": lambda epsilon: PrivateHuberRegressor(epsilon=epsilon, kappa=40.0, **PUBLIC),
    "sufficient statistics": lambda epsilon: PrivateLinearRegression(epsilon=epsilon, method="sufficient", **PUBLIC),
    "output perturbation": lambda epsilon: PrivateLinearRegression(epsilon=epsilon, method="output", **PUBLIC),
}


@dataclass(frozen=True)
class Scores:
    """R^2 of every fit, by method and epsilon, and without privacy."""

    patients: int
    fits: dict[tuple[str, float], np.ndarray]
    plain: float


def scores() -> Scores:
    """R^2 on a fixed quarter of the patients; the others are used for training."""
    X, y = load_diabetes(return_X_y=True)
    test = np.arange(len(y)) % 4 == 3
    settings, fits = [(name, epsilon) for name in METHODS for epsilon in EPSILONS], {}
    for name, epsilon in track(settings, description="fitting", console=Console(stderr=True), transient=True):
        model = METHODS[name](epsilon)
        fits[name, epsilon] = np.array([model.fit(X[~test], y[~test]).score(X[test], y[test]) for _ in range(FITS)])
    plain = LinearRegression().fit(X[~test], y[~test]).score(X[test], y[test])
    return Scores(int((~test).sum()), fits, float(plain))


def print_table(found: Scores) -> None:
    """Print medians; a single fit at a small epsilon can be far off."""
    table = Table("epsilon", *(f"{epsilon:g}" for epsilon in EPSILONS), title=f"Median R^2 of {FITS} fits")
    for name in METHODS:
        table.add_row(name, *(f"{np.median(found.fits[name, epsilon]):.2f}" for epsilon in EPSILONS))
    Console(width=100).print(table)
    print(f"without privacy {found.plain:.2f}; predicting the mean of the labels gives 0")


def draw(found: Scores) -> None:
    """Plot medians with the interquartile range of the fits."""
    figure, axes = pyplot.subplots(figsize=(8, 5), layout="constrained")
    for name in METHODS:
        low, middle, high = np.percentile([found.fits[name, epsilon] for epsilon in EPSILONS], [25, 50, 75], axis=1)
        (line,) = axes.plot(EPSILONS, middle, "o-", markersize=4, label=name)
        axes.fill_between(EPSILONS, low, high, alpha=0.15, color=line.get_color())
    axes.axhline(found.plain, color="black", linewidth=1, label="without privacy (scikit-learn)")
    axes.axhline(0.0, color="grey", linewidth=1, linestyle=":", label="mean of the labels")
    axes.set(xscale="log", ylim=(-0.5, 0.45), xlabel="epsilon (smaller is more private)", ylabel="R² on test data")
    axes.set_xticks(EPSILONS, [f"{epsilon:g}" for epsilon in EPSILONS])
    axes.minorticks_off()
    axes.set_title(
        f"Progression of diabetes, {found.patients} training patients\n"
        f"replace-one, δ = {PUBLIC['delta']:g}; lines: median, bands: interquartile range of {FITS} fits"
    )
    axes.legend(fontsize="small", loc="lower right")
    PICTURE.parent.mkdir(exist_ok=True)
    figure.savefig(PICTURE, dpi=120)


def main() -> None:
    """Fit all models, print the table and write the plot."""
    warnings.simplefilter("ignore", DpermWarning)  # the example shows cases where noise outweighs the data
    found = scores()
    print_table(found)
    draw(found)
    print(f"Plot: {PICTURE}. Every fit has its own guarantee; all fits together would cost the sum.")


if __name__ == "__main__":
    main()
