# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Pictures of the demonstration: exposure against insertions, and ROC curves on logarithmic axes."""

from os import PathLike
from typing import TYPE_CHECKING

from dperm.audit.demo.result import DemoAttack
from dperm.audit.exposure.exposure import CHANCE
from dperm.errors import ParameterError
from dperm.privacy import ApproxDP, PureDP
from dperm.privacy.guarantee import guarantee_as_dict
from dperm.report.audit_plots import draw_ceiling, percent_ticks
from dperm.report.palette import FAINT, FIRST, INK, LINE
from dperm.report.plain import limits_of
from dperm.report.plots import INSTALL

if TYPE_CHECKING:
    from matplotlib.axes import Axes

NAMES = {"Exposure of a planted secret": "exposure.png", "Membership inference": "membership.png"}
"""Titles of the parts that have points, and the names of their pictures."""
ROC = "Membership inference"
_COLORS = (INK, FIRST)
WITH_NOISE = "with DP"
"""The name of the curve of the models with noise."""
_LEAST = 1e-3


def plot_part(
    part: DemoAttack,
    ax: "Axes | None" = None,
    *,
    guarantee: PureDP | ApproxDP | None = None,
    path: "str | PathLike[str] | None" = None,
) -> "Axes":
    """The curves of one attack, without and with noise.

    Parameters
    ----------
    part
        Of `dperm.audit.demo.run`; it has points.
    guarantee
        Of the models with noise: named in the legend, and its ceiling is drawn into ROC curves.
    path
        Where to write the picture; its ending tells the format.
    """
    ax, curves = _axes(ax), part.title == ROC
    if curves and guarantee is not None:
        draw_ceiling(ax, guarantee, _LEAST)
    said = {} if guarantee is None else {WITH_NOISE: f"{WITH_NOISE}, {limits_of(guarantee_as_dict(guarantee))}"}
    for color, (name, (x, y)) in zip(_COLORS, part.points.items(), strict=False):
        ax.plot(x, y, color=color, linewidth=2, marker="" if curves else "o", label=said.get(name, name))
    if curves:
        ax.plot([_LEAST, 1], [_LEAST, 1], color=LINE, linestyle=":", label="guessing blindly (AUC 0.5)")
        ax.set(xscale="log", yscale="log", xlim=(_LEAST, 1), ylim=(_LEAST, 1), aspect="equal")
        ax.set(xlabel="false alarms (FPR)", ylabel="members found (TPR)")
        percent_ticks(ax, _LEAST)
    else:
        ax.axhline(CHANCE, color=LINE, linestyle=":", label=f"never planted, on average ({CHANCE:.1f} bits)")
        ax.set(xlabel="insertions of the secret", ylabel="exposure, bits", ylim=(0, None))
    return _finished(ax, path)


def _axes(ax: "Axes | None") -> "Axes":
    if ax is not None:
        return ax
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise ParameterError(f"plots need matplotlib, which is not installed: {INSTALL}.") from None
    return Figure(figsize=(5.4, 5.2), layout="constrained").subplots()


def _finished(ax: "Axes", path: "str | PathLike[str] | None") -> "Axes":
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(True, color=FAINT, linewidth=0.8)
    ax.set_axisbelow(True)
    ax.legend(frameon=False, loc="lower left", bbox_to_anchor=(0, 1), ncols=1, borderaxespad=0.3)
    if path is not None:
        ax.figure.figure.savefig(path, dpi=150)
    return ax
