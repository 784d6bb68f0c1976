# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Accuracy against epsilon as a table, as text and as a plot, for benchmarks/torch_mnist.py."""

from collections.abc import Sequence
from pathlib import Path

import matplotlib

matplotlib.use("Agg")  # a file, no window
from convex_outcomes import Outcome
from matplotlib import pyplot
from rich.console import Console
from rich.table import Table

BARS = {1.0: 0.965, 3.0: 0.981}
PUBLISHED = {
    "Opacus' README, a CNN on pixels": ((1.16, 0.9463), (2.91, 0.9678), (6.86, 0.9709)),
    "Tramèr & Boneh 2021, linear on scattering": ((3.0, 0.987),),
}
"""As printed by their authors, not run here."""


def print_outcomes(console: Console, outcomes: Sequence[Outcome], *, bars: dict[float, float]) -> bool:
    """Print a table and a text plot; return whether the targets are met."""
    table = Table("epsilon", "accuracy", "CPU seconds of a run", "bar", title="On the test part")
    met = True
    for each in outcomes:
        bar = bars.get(each.epsilon)
        passed = bar is None or each.mean >= bar
        met &= passed
        shown = "" if bar is None else f">= {bar:.3f} [{'green]pass' if passed else 'red]FAIL'}[/]"
        table.add_row(f"{each.epsilon:g}", each.scored, f"{each.seconds:.1f}", shown)
    console.print(table)
    low = min(0.9, min(each.mean for each in outcomes))
    for each in outcomes:
        console.print(f"epsilon {each.epsilon:5g} {'█' * round(50 * (each.mean - low) / (1 - low)):50} {each.mean:.4f}")
    console.print(f"(bars from {low:.3f} to 1)")
    return met


def draw(path: Path, outcomes: Sequence[Outcome], *, title: str, published: bool) -> None:
    """Write a plot of accuracy against epsilon."""
    figure, axes = pyplot.subplots(figsize=(7, 4.5), layout="constrained")
    epsilons = [each.epsilon for each in outcomes]
    deviations = [each.error * len(each.tries) ** 0.5 for each in outcomes]
    axes.errorbar(
        epsilons, [each.mean for each in outcomes], deviations, fmt="o-", capsize=3, label="dperm, this recipe"
    )
    if published:
        for name, points in PUBLISHED.items():
            axes.plot(*zip(*points, strict=True), "s--", label=f"{name} (not run here)")
        axes.plot(BARS.keys(), BARS.values(), "k_", markersize=14, label="bar of the project")
    axes.set(xscale="log", xlabel="epsilon (smaller is more private)", ylabel="accuracy on the test part", title=title)
    axes.set_xticks(epsilons, [f"{epsilon:g}" for epsilon in epsilons])
    axes.minorticks_off()
    axes.grid(alpha=0.3)
    axes.legend(loc="lower right")
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=120)
