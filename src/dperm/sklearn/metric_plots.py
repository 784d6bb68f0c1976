# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Plots of the private metrics of an estimator, as methods; the functions are in `dperm.report.evaluation_plots`."""

from os import PathLike
from typing import TYPE_CHECKING, Any

from sklearn.exceptions import NotFittedError

from dperm.errors import ParameterError
from dperm.report import evaluation_plots

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from dperm.evaluation import Metrics


class MetricPlots:
    """Methods that plot ``metrics_``: ROC curve, calibration and confusion matrix."""

    def plot_roc(self, ax: "Axes | None" = None, *, path: "str | PathLike[str] | None" = None) -> "Axes":
        """Plot the ROC curve with its confidence band; see `dperm.report.evaluation_plots.plot_roc_curve`.

        Parameters
        ----------
        ax : matplotlib axes, default=None
            Axes to draw on; None creates new axes.
        path : str or path-like, default=None
            File to write; its suffix selects the format. None writes no file.
        """
        return evaluation_plots.plot_roc_curve(self._released_metrics(), ax, path=path)

    def plot_calibration(self, ax: "Axes | None" = None, *, path: "str | PathLike[str] | None" = None) -> "Axes":
        """Plot the calibration curve; see `dperm.report.evaluation_plots.plot_calibration`.

        Parameters
        ----------
        ax, path
            See `plot_roc`.
        """
        return evaluation_plots.plot_calibration(self._released_metrics(), ax, path=path)

    def plot_confusion(self, ax: "Axes | None" = None, *, path: "str | PathLike[str] | None" = None) -> "Axes":
        """Plot the confusion matrix; see `dperm.report.evaluation_plots.plot_confusion`.

        Parameters
        ----------
        ax, path
            See `plot_roc`.
        """
        return evaluation_plots.plot_confusion(self._released_metrics(), ax, path=path)

    def _released_metrics(self) -> "Metrics":
        """Return ``metrics_``; raise an error without them."""
        if not hasattr(self, "metrics_"):
            raise NotFittedError("there are no metrics yet: call evaluate, evaluate_scores or fit first.")
        found: Any = self.metrics_
        if found is None:
            raise ParameterError(
                argument="holdout",
                rule="must be positive for plots of metrics",
                remedy="Fit with holdout=0.1, for example, or measure the model on new records with PrivateMetrics.",
            )
        metrics: Metrics = found
        return metrics
