# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Plots of private metrics: ROC curve, calibration and confusion matrix.

The functions draw on the axes ``ax``, or on new axes if ``ax`` is None, and return the axes. If ``path`` is given, they
also write the plot to this file. The plots show released numbers only. Plotting requires
matplotlib: ``pip install "dperm[plots]"``.
"""

from collections.abc import Sequence
from os import PathLike
from typing import TYPE_CHECKING

import numpy as np

from dperm.errors import ParameterError
from dperm.report.plot_style import FIRST, INK, LEFT, LINE, legend_above, new_axes, save, tidy

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from dperm.evaluation.estimate import Estimate
    from dperm.evaluation.metrics import CalibrationBin, Metrics, RocCurve

_SQUARE = (4.8, 4.8)
_MOST_CELLS = 12
"""Largest number of classes with numbers in the cells of a confusion matrix."""
_DARK = 0.55
"""Share above which a cell is dark, so that its text is white."""
_WIDEST = 0.5
"""Calibration bins with longer intervals are left out, because noise dominates their estimates."""


def plot_roc_curve(
    metrics: "Metrics", ax: "Axes | None" = None, *, path: "str | PathLike[str] | None" = None
) -> "Axes":
    """Plot the ROC curve of the positive class, with a band of confidence intervals for the true-positive rate.

    Parameters
    ----------
    metrics
        Metrics of a classifier, with scores for a positive class.
    ax
        Axes to draw on; None creates new ones.
    path
        File to write; its suffix selects the format. None writes no file.

    Returns
    -------
    matplotlib.axes.Axes
        The axes with the plot.

    Raises
    ------
    ParameterError
        If the metrics contain no curves, or matplotlib is not installed.
    """
    roc, auc = metrics.roc, metrics.auc
    if roc is None or auc is None:
        raise _without("curves")
    return save(draw_roc_curve(roc, auc, new_axes(*_SQUARE) if ax is None else ax), path)


def draw_roc_curve(roc: "RocCurve", auc: "Estimate", ax: "Axes") -> "Axes":
    """Draw a ROC curve on the given axes, with a band of confidence intervals for the true-positive rate.

    Parameters
    ----------
    roc, auc
        ROC curve, and the area under the curve.
    ax
        Axes to draw on.

    Returns
    -------
    matplotlib.axes.Axes
        The axes with the plot.
    """
    x = np.array(roc.false_positive_rates)
    level = f"{100 * auc.level:g} %"
    ax.fill_between(x, roc.low, roc.high, color=FIRST, alpha=0.15, linewidth=0, label=f"{level} intervals")
    name = f"AUC {auc.value:.3f} [{auc.low:.3f}, {auc.high:.3f}]"
    ax.plot(x, roc.true_positive_rates, color=FIRST, linewidth=2, marker="o", markersize=3, label=name)
    ax.plot([0, 1], [0, 1], color=LINE, linewidth=1.5, linestyle="--", label="random guessing")
    ax.set(xlabel="false-positive rate", ylabel="true-positive rate", xlim=(0, 1), ylim=(0, 1.005))
    ax.legend(frameon=False, loc="lower right")
    return tidy(ax)


def plot_calibration(
    metrics: "Metrics", ax: "Axes | None" = None, *, path: "str | PathLike[str] | None" = None
) -> "Axes":
    """Plot the share of positive records against the score, with a confidence interval for each score bin.

    Bins with an interval longer than 0.5 are left out, because noise dominates their estimates.

    Parameters
    ----------
    metrics, ax, path
        See `plot_roc_curve`.

    Returns
    -------
    matplotlib.axes.Axes
        The axes with the plot.

    Raises
    ------
    ParameterError
        If the metrics contain no curves, or matplotlib is not installed.
    """
    if metrics.calibration is None:
        raise _without("curves")
    return save(draw_calibration(metrics.calibration, new_axes(*_SQUARE) if ax is None else ax), path)


def draw_calibration(bins: "Sequence[CalibrationBin]", ax: "Axes") -> "Axes":
    """Draw the share of positive records in each score bin on the given axes.

    Parameters
    ----------
    bins
        Score bins, each with its share of positive records.
    ax
        Axes to draw on.

    Returns
    -------
    matplotlib.axes.Axes
        The axes with the plot.
    """
    ax.plot([0, 1], [0, 1], color=LINE, linewidth=1.5, linestyle="--", label="calibrated")
    seen = [one for one in bins if one.rate.high - one.rate.low <= _WIDEST]
    if seen:
        x, y = [(one.left + one.right) / 2 for one in seen], np.array([one.rate.value for one in seen])
        ends = np.array([(one.rate.low, one.rate.high) for one in seen]).T
        name = f"estimate with {100 * seen[0].rate.level:g} % interval"
        bars = [y - ends[0], ends[1] - y]
        ax.errorbar(x, y, yerr=bars, color=FIRST, linewidth=1.5, marker="o", markersize=4, capsize=3, label=name)
    ax.set(xlabel="score", ylabel="share of positive records", xlim=(0, 1), ylim=(0, 1.005))
    legend_above(ax, columns=2)
    return tidy(ax)


def plot_confusion(
    metrics: "Metrics", ax: "Axes | None" = None, *, path: "str | PathLike[str] | None" = None
) -> "Axes":
    """Plot the share of each predicted class among the records of each true class.

    With up to 12 classes, the cells also show the shares and their confidence intervals as numbers.

    Parameters
    ----------
    metrics, ax, path
        See `plot_roc_curve`.

    Returns
    -------
    matplotlib.axes.Axes
        The axes with the plot.

    Raises
    ------
    ParameterError
        If the metrics belong to a regression, or matplotlib is not installed.
    """
    rates, classes = metrics.confusion_rates, metrics.plan.classes
    if rates is None or classes is None:
        raise _without("a confusion matrix")
    size = max(4.0, min(12.0, 1.2 * len(classes) + 1.6))
    ax = new_axes(size, size) if ax is None else ax
    from matplotlib.colors import LinearSegmentedColormap

    shares = np.array([[one.value for one in row] for row in rates])
    colors = LinearSegmentedColormap.from_list("dperm", ["#ffffff", LEFT, FIRST])
    ax.imshow(shares, cmap=colors, vmin=0.0, vmax=1.0)
    if len(classes) <= _MOST_CELLS:
        for place, row in enumerate(rates):
            for other, one in enumerate(row):
                text = f"{one.value:.2f}\n[{one.low:.2f}, {one.high:.2f}]"
                color = "#ffffff" if one.value > _DARK else INK
                ax.text(other, place, text, ha="center", va="center", color=color, fontsize="small")
        names = [str(label) for label in classes]
        ax.set_xticks(range(len(names)), names, parse_math=False)
        ax.set_yticks(range(len(names)), names, parse_math=False)
    ax.set(xlabel="predicted class", ylabel="true class")
    ax.spines[:].set_visible(False)
    ax.tick_params(length=0)
    return save(ax, path)


def _without(part: str) -> ParameterError:
    return ParameterError(
        argument="metrics",
        rule=f"must have {part}",
        remedy="Curves need two classes, or positive= with one of the classes.",
    )
