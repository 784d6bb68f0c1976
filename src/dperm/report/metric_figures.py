# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Plots of private metrics, drawn from the utility field of a statement."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dperm.report.metric_facts import ROWS
from dperm.report.plot_style import FIRST, LINE, legend_above, tidy

if TYPE_CHECKING:
    from matplotlib.axes import Axes

WIDEST = 0.7
"""Intervals of calibration bins longer than this are not drawn: the noise hides these bins."""
MOST_BARS = 24
"""Largest number of metrics in the plot of intervals."""


@dataclass(frozen=True)
class StatedMetrics:
    """Private metrics in a utility field.

    Attributes
    ----------
    rows
        Metric, estimate, low and high of each metric.
    roc
        Lists of rates with their intervals; None without curves.
    calibration
        Score bins with their rates; None without curves.
    level
        Nominal coverage of the intervals.
    """

    rows: Sequence[Mapping[str, Any]]
    roc: Mapping[str, Sequence[float]] | None
    calibration: Sequence[Mapping[str, float]] | None
    level: float

    @classmethod
    def of(cls, utility: object) -> "StatedMetrics | None":
        """Return the metrics of a utility field; None for any other value."""
        if not isinstance(utility, Mapping) or not isinstance(utility.get(ROWS), list | tuple):
            return None
        return cls(utility[ROWS], utility.get("roc"), utility.get("calibration"), float(utility.get("level", 0.95)))

    @property
    def described_level(self) -> str:
        """Level as text, such as "95 %"."""
        return f"{100 * self.level:g} %"

    @property
    def shares(self) -> list[Mapping[str, Any]]:
        """Metrics between 0 and 1, which share one axis."""
        return [row for row in self.rows if 0 <= row["low"] and row["high"] <= 1][:MOST_BARS]


def draw_intervals(metrics: StatedMetrics, ax: "Axes") -> None:
    """Draw every metric between 0 and 1 with its interval, the first one on top."""
    rows = metrics.shares[::-1]
    values = [row["estimate"] for row in rows]
    ends = [
        [row["estimate"] - row["low"] for row in rows],
        [row["high"] - row["estimate"] for row in rows],
    ]
    places = range(len(rows))
    ax.errorbar(values, places, xerr=ends, color=FIRST, linestyle="none", marker="o", markersize=5, capsize=3)
    ax.set_yticks(places, [str(row["metric"]) for row in rows], parse_math=False)
    ax.set(xlim=(0, 1.02), ylim=(-0.6, len(rows) - 0.4), xlabel=f"estimate with {metrics.described_level} interval")
    tidy(ax, axis="x")


def draw_roc(metrics: StatedMetrics, ax: "Axes") -> None:
    """Draw the ROC curve with the intervals of its true-positive rates."""
    assert metrics.roc is not None  # the caller has checked it
    roc, x = metrics.roc, metrics.roc["false_positive_rates"]
    label = f"{metrics.described_level} intervals"
    ax.fill_between(x, roc["low"], roc["high"], color=FIRST, alpha=0.15, linewidth=0, label=label)
    ax.plot(x, roc["true_positive_rates"], color=FIRST, linewidth=2, marker="o", markersize=3, label="ROC curve")
    ax.plot([0, 1], [0, 1], color=LINE, linewidth=1.5, linestyle="--", label="random guessing")
    ax.set(xlabel="false-positive rate", ylabel="true-positive rate", xlim=(0, 1), ylim=(0, 1.005))
    ax.legend(frameon=False, loc="lower right")
    tidy(ax)


def draw_calibration(metrics: StatedMetrics, ax: "Axes") -> None:
    """Draw the share of positive records in each score bin; bins hidden by the noise are left out."""
    assert metrics.calibration is not None  # the caller has checked it
    ax.plot([0, 1], [0, 1], color=LINE, linewidth=1.5, linestyle="--", label="calibrated")
    seen = [one for one in metrics.calibration if one["high"] - one["low"] <= WIDEST]
    if seen:
        x, y = [(one["left"] + one["right"]) / 2 for one in seen], [one["value"] for one in seen]
        ends = [[one["value"] - one["low"] for one in seen], [one["high"] - one["value"] for one in seen]]
        label = f"estimate with {metrics.described_level} interval"
        ax.errorbar(x, y, yerr=ends, color=FIRST, linewidth=1.5, marker="o", markersize=4, capsize=3, label=label)
    ax.set(xlabel="score", ylabel="share of positive records", xlim=(0, 1), ylim=(0, 1.005))
    legend_above(ax, columns=2)
    tidy(ax)
