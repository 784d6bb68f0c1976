# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Private median: its accuracy at each epsilon, and why objective perturbation of the median reveals records.

The sample is synthetic. Each repeated release has its own guarantee, and together they cost far more. This is an
illustration, not a method for choosing epsilon on private data. If matplotlib is installed, a plot is written.
"""

from pathlib import Path

import numpy as np

from dperm import PureDP
from dperm.mechanisms.releases import Quantile
from dperm.theory import median_atom

PEOPLE = 5000
INCOME = (0.0, 200_000.0)  # public, chosen before the sample was drawn
EPSILONS = (0.003, 0.01, 0.03, 0.1, 0.3, 1.0)
RUNS = 30
PICTURE = Path("build/private_median.png")


def synthetic_incomes() -> np.ndarray:
    """Log-normal incomes of a synthetic survey."""
    return np.exp(np.random.default_rng(2026).normal(10.6, 0.6, PEOPLE))


def releases(incomes: np.ndarray, epsilon: float) -> np.ndarray:
    """Private medians of the same sample, each with its own guarantee."""
    median = Quantile(PureDP(epsilon, "replace_one"), 0.5, bounds=INCOME)
    return np.array([median.release(incomes).value for _ in range(RUNS)])


def show_accuracy() -> dict[float, np.ndarray]:
    """Print the errors in money and in ranks; return those in money."""
    incomes = synthetic_incomes()
    truth, found = float(np.median(incomes)), {epsilon: releases(incomes, epsilon) for epsilon in EPSILONS}
    print(f"The median income of {PEOPLE:,} people is {truth:,.0f} without privacy.")
    print(f"{RUNS} private medians at each epsilon:")
    print("  epsilon   typical error   largest error   largest error in ranks")
    for epsilon, values in found.items():
        errors = np.abs(values - truth)
        ranks = np.abs(np.searchsorted(np.sort(incomes), values) - PEOPLE / 2).max()
        print(f"  {epsilon:7g} {np.median(errors):15,.0f} {errors.max():15,.0f} {ranks:24,.0f}")
    return {epsilon: np.abs(values - truth) for epsilon, values in found.items()}


def draw(errors: dict[float, np.ndarray]) -> None:
    """Plot all errors and their median."""
    try:
        import matplotlib
    except ImportError:
        print("  (matplotlib is not installed: no plot)")
        return
    matplotlib.use("Agg")  # a file, no window
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(7, 4.5), layout="constrained")
    for epsilon, values in errors.items():
        axes.scatter(np.full(len(values), epsilon), np.maximum(values, 1e-2), s=8, color="tab:blue", alpha=0.5)
    axes.plot(list(errors), [np.median(values) for values in errors.values()], color="black", label="typical (median)")
    axes.set(
        xscale="log", yscale="log", xlabel="epsilon (smaller is more private)", ylabel="error of the median income"
    )
    axes.set_xticks(list(errors), [f"{epsilon:g}" for epsilon in errors])
    axes.minorticks_off()
    axes.yaxis.set_major_formatter("{x:,.10g}")
    axes.set_title(f"Private median of {PEOPLE:,} incomes, replace-one\ndots: {RUNS} releases at each epsilon")
    axes.legend()
    PICTURE.parent.mkdir(exist_ok=True)
    figure.savefig(PICTURE, dpi=120)
    print(f"  plot: {PICTURE}")


def perturbed_median(points: np.ndarray, noise: float) -> float:
    """Minimiser of sum |w - x_i| + noise w: the first record at which the slope is not negative.

    Infinite if there is no minimum, that is, if the noise exceeds the number of records.
    """
    ordered = np.sort(points)
    slopes = 2 * np.arange(1, len(ordered) + 1) - len(ordered) + noise
    if abs(noise) > len(ordered):
        return float(-np.inf if noise > 0 else np.inf)
    return float(ordered[np.argmax(slopes >= 0)])


def show_the_kink() -> None:
    """Print how often objective perturbation releases a record exactly (T42)."""
    print("Objective perturbation of the median of {0, 100}, which dperm refuses: frequency of the exact release 100")
    print("  sigma   simulated   computed   from the neighbour {0, 99}")
    generator = np.random.default_rng(2026)
    for sigma in (0.5, 1.0, 2.0):
        noise = generator.normal(0, sigma, 40_000)
        hits = [np.mean([perturbed_median(np.array(data), b) == 100 for b in noise]) for data in ((0, 100), (0, 99))]
        computed = median_atom([0, 100], 100, sigma=sigma).probability
        print(f"  {sigma:5g} {hits[0]:11.4f} {computed:10.4f} {hits[1]:28.4f}")
    atom = median_atom([0, 1], 1, sigma=1.0, regularization=0.1).probability
    print(
        f"  With (0.1/2) w^2 added, strongly convex, the median of {{0, 1}} is exactly 1 with probability {atom:.4f}."
    )
    print("  For every epsilon, delta is at least this probability. With the exponential mechanism, a neighbouring")
    print("  data set releases every value with nearly the same probability.")


if __name__ == "__main__":
    draw(show_accuracy())
    print()
    show_the_kink()
