# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Plots of private metrics, drawn from the utility field of a statement."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dperm.report.metric_facts import HIDDEN_KEY, ROWS
from dperm.report.plot_style import FIRST, tidy

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from dperm.evaluation.estimate import Estimate
    from dperm.evaluation.metrics import CalibrationBin, RocCurve

MOST_BARS = 24
"""Largest number of metrics in the plot of intervals."""


@dataclass(frozen=True)
class StatedMetrics:
    """Private metrics in a utility field.

    Attributes
    ----------
    rows
        Metric, estimate, low and high of each metric.
    auc
        Area under the ROC curve; None without curves.
    roc
        Lists of rates with their intervals; None without curves.
    calibration
        Score bins with their rates; None without curves.
    level
        Nominal coverage of the intervals.
    """

    rows: Sequence[Mapping[str, Any]]
    auc: "Estimate | None"
    roc: Mapping[str, Sequence[float]] | None
    calibration: Sequence[Mapping[str, float]] | None
    level: float

    @classmethod
    def of(cls, utility: object) -> "StatedMetrics | None":
        """Return the metrics of a utility field; None for any other value."""
        if not isinstance(utility, Mapping) or not isinstance(utility.get(ROWS), list | tuple):
            return None
        from dperm.evaluation.estimate import Estimate  # it imports the noise, which models from files do without

        auc = utility.get("auc")
        return cls(
            utility[ROWS],
            None if auc is None else Estimate(*(auc[name] for name in ("value", "low", "high", "level"))),
            utility.get("roc"),
            calibration=utility.get("calibration"),
            level=float(utility.get("level", 0.95)),
        )

    @property
    def curve(self) -> "RocCurve":
        """ROC curve; there must be one."""
        from dperm.evaluation.metrics import RocCurve

        assert self.roc is not None
        return RocCurve(**{name: tuple(numbers) for name, numbers in self.roc.items()})

    @property
    def bins(self) -> "list[CalibrationBin]":
        """Bins of the calibration curve; there must be one."""
        from dperm.evaluation.estimate import Estimate
        from dperm.evaluation.metrics import CalibrationBin

        assert self.calibration is not None
        return [
            CalibrationBin(
                left=one["left"],
                right=one["right"],
                records=one["records"],
                rate=Estimate(one["value"], one["low"], one["high"], level=self.level),
            )
            for one in self.calibration
        ]

    @property
    def described_level(self) -> str:
        """Level as text, such as "95 %"."""
        return f"{100 * self.level:g} %"

    @property
    def shares(self) -> list[Mapping[str, Any]]:
        """Metrics between 0 and 1 that the noise does not hide; they share one axis."""
        return [row for row in self.rows if 0 <= row["low"] and row["high"] <= 1 and not row.get(HIDDEN_KEY)][
            :MOST_BARS
        ]


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
