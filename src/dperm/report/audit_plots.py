# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Plots of audits: ROC curves of attacks on log-log axes, and measured against claimed epsilons.

Each function takes and returns the axes of matplotlib; without ``ax`` it makes one, and with ``path`` it writes a file.
matplotlib is an extra: ``pip install "dperm[plots]"``.
"""

import itertools
import math
from collections.abc import Iterable, Mapping
from os import PathLike
from typing import TYPE_CHECKING

import numpy as np

from dperm.audit.finding import Finding
from dperm.audit.membership.ceiling import profile_of
from dperm.audit.membership.roc import Roc
from dperm.errors import ParameterError
from dperm.privacy.guarantee import AnyGuarantee, Guarantee, guarantee_as_dict
from dperm.privacy.profile import PrivacyProfile
from dperm.report.curve import Curve
from dperm.report.numbers import rounded_up
from dperm.report.palette import FAINT, FIRST, INK, LINE, SECOND
from dperm.report.plain import limits_of
from dperm.report.plots import INSTALL

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MARKED = (0.001, 0.01, 0.1)
"""False-positive rates at which true-positive rates are marked."""
DIAGONAL = "measured = claimed (a point above it refutes the claim)"
MOST_CURVES = 6
RIGHT = 0.55
"""Names of points further along the axis stand on their left."""
_STYLES = ((FIRST, "-"), (INK, "-"), (LINE, "-"), (FIRST, "--"), (INK, "--"), (LINE, "--"))
_CEILING_POINTS = 200
NAME_HEIGHT = 0.042
"""Of a line of text beside a point, as a share of the axis."""


def plot_roc(
    rocs: Mapping[str, Roc] | Roc,
    ax: "Axes | None" = None,
    *,
    guarantee: Guarantee | PrivacyProfile | None = None,
    note: str = "",
    path: "str | PathLike[str] | None" = None,
) -> "Axes":
    """True against false alarms of attacks, both on logarithmic axes, with the diagonal of guessing.

    Leaks show at the left: an attack that names a few members for certain hides in a linear plot and in the AUC
    (Carlini et al. 2022). Where an attack never errs, its curve ends at one false alarm.

    Parameters
    ----------
    rocs
        Curves by name, six at most, or one.
    guarantee
        Shades what no attack can reach against it: all above 1 - f(FPR).
    note
        Words that stand in the picture, such as "not private: do not publish".
    path
        Where to write the picture; its ending tells the format.
    """
    named = {"attack": rocs} if isinstance(rocs, Roc) else dict(rocs)
    if not 1 <= len(named) <= MOST_CURVES:
        raise ParameterError(f"rocs must hold from 1 to {MOST_CURVES} curves, got {len(named)}.")
    ax = _square(ax)
    lowest = _lowest(named.values())
    if guarantee is not None:
        draw_ceiling(ax, guarantee, lowest)
    for (name, roc), (color, line) in zip(named.items(), _STYLES, strict=False):
        _draw_curve(ax, roc, (color, line), f"{name} (AUC {roc.auc:.3f})", lowest)
    ax.plot([lowest, 1], [lowest, 1], color=LINE, linewidth=1.2, linestyle=":", label="guessing blindly (AUC 0.5)")
    ax.set(xscale="log", yscale="log", xlim=(lowest, 1), ylim=(lowest, 1), aspect="equal")
    ax.set(xlabel="false alarms (FPR)", ylabel="members found (TPR)")
    percent_ticks(ax, lowest)
    if note:
        text = ax.text(0.98, 0.03, note, transform=ax.transAxes, ha="right", color=SECOND, weight="bold")
        text.set_parse_math(False)
    return _finished(ax, path)


def plot_claimed_against_measured(
    findings: Mapping[str, Finding] | Iterable[Finding],
    ax: "Axes | None" = None,
    *,
    path: "str | PathLike[str] | None" = None,
) -> "Axes":
    """Measured lower bounds on epsilon against what was claimed; above the diagonal both cannot be true.

    A point says "at least so much": the epsilons on the line below it are ruled out. Violations are crosses, with their
    names.
    """
    named = dict(findings) if isinstance(findings, Mapping) else {each.subject: each for each in findings}
    points = {name: (each.claimed_epsilon(each.bound.delta), each.bound.epsilon) for name, each in named.items()}
    if not points or not all(math.isfinite(claimed) and claimed > 0 for claimed, _ in points.values()):
        raise ParameterError("findings must hold at least one, each with a claimed epsilon that is finite and > 0.")
    ax = _square(ax)
    low, high = _span(points.values())
    ax.fill_between([low, high], [low, high], high, color=SECOND, alpha=0.08, linewidth=0)
    ax.plot(
        [low, high],
        [low, high],
        color=LINE,
        linewidth=1.2,
        linestyle=":",
        label=DIAGONAL,
    )
    for kind, violated in (("no violation found", False), ("violation", True)):
        some = {name: points[name] for name, each in named.items() if each.violation is violated}
        _draw_points(ax, some, kind, violated=violated, span=(low, high))
    ax.set(xscale="log", yscale="log", xlim=(low, high), ylim=(low, high), aspect="equal")
    ax.set(xlabel="claimed epsilon", ylabel="measured epsilon, at least")
    _epsilon_ticks(ax, low, high)
    return _finished(ax, path)


def ceiling_name(guarantee: Guarantee | PrivacyProfile) -> str:
    """Such as "ceiling of epsilon = 1, delta = 1e-6 (add_remove)"."""
    if not isinstance(guarantee, AnyGuarantee):
        return "ceiling of the guarantee"
    numbers = {name: value for name, value in guarantee_as_dict(guarantee).items() if name != "adjacency"}
    return f"ceiling of {limits_of(numbers) or 'the guarantee'} ({guarantee.adjacency.value})"


def draw_ceiling(ax: "Axes", guarantee: Guarantee | PrivacyProfile, lowest: float) -> None:
    """What no attack can reach, shaded."""
    rates = np.geomspace(lowest, 1, _CEILING_POINTS)
    most = Curve.of(profile_of(guarantee)).true_positive_rates(rates)
    ax.fill_between(rates, most, 1, color=SECOND, alpha=0.10, linewidth=0)
    ax.plot(rates, most, color=SECOND, linewidth=1.8, label=ceiling_name(guarantee))


def _draw_curve(ax: "Axes", roc: Roc, style: tuple[str, str], label: str, lowest: float) -> None:
    """A staircase, thinned to what can be seen, with markers at the rates that are reported."""
    false, true = roc.curve
    least = max(lowest, 1 / len(roc.non_members))
    rates = np.geomspace(least, 1, 600)
    found = true[np.searchsorted(false, rates * (1 + 1e-12), "right") - 1]
    seen = found > 0
    ax.plot(rates[seen], found[seen], color=style[0], linestyle=style[1], linewidth=2, label=label)
    marked = [(rate, roc.tpr_at(rate)) for rate in MARKED if rate >= least]
    shown = [(rate, tpr) for rate, tpr in marked if tpr >= lowest]
    if shown:
        ax.plot(*zip(*shown, strict=True), color=style[0], marker="o", markersize=5.5, linestyle="none")


def _draw_points(
    ax: "Axes", points: Mapping[str, tuple[float, float]], kind: str, *, violated: bool, span: tuple[float, float]
) -> None:
    if not points:
        return
    low, high = span
    x = [claimed for claimed, _ in points.values()]
    y = [min(max(measured, low), high) for _, measured in points.values()]  # 0 and infinity lie on the edges
    color, marker = (SECOND, "X") if violated else (FIRST, "o")
    ax.vlines(x, low, y, color=color, linewidth=1, alpha=0.3)
    ax.plot(x, y, color=color, marker=marker, markersize=8, linestyle="none", label=kind, clip_on=False, zorder=3)
    if violated:
        _draw_names(ax, dict(zip(points, zip(x, y, strict=True), strict=True)), span)


def _draw_names(ax: "Axes", places: Mapping[str, tuple[float, float]], span: tuple[float, float]) -> None:
    """Names beside their points, with a hair line, moved up where they would cover each other."""
    heights = _apart([_share(y, span) for _, y in places.values()], NAME_HEIGHT)
    for (name, place), height in zip(places.items(), heights, strict=True):
        share = _share(place[0], span)
        side, align = (1, "left") if share <= RIGHT else (-1, "right")
        at = (_at(share + side * NAME_HEIGHT, span), _at(height, span))
        hair = {"arrowstyle": "-", "color": LINE, "linewidth": 0.6, "shrinkA": 0, "shrinkB": 3}
        text = ax.annotate(
            name, place, at, color=INK, parse_math=False, arrowprops={**hair, "relpos": (float(side < 0), 0.5)}
        )
        text.set(ha=align, va="center", fontsize=9)


def _share(value: float, span: tuple[float, float]) -> float:
    """How far along a logarithmic axis."""
    return math.log(value / span[0]) / math.log(span[1] / span[0])


def _at(share: float, span: tuple[float, float]) -> float:
    return span[0] * math.pow(span[1] / span[0], share)


def _apart(heights: list[float], gap: float) -> list[float]:
    """The heights, raised where they are nearer than ``gap`` to the one below; all lowered if they leave the top."""
    order, moved = sorted(range(len(heights)), key=heights.__getitem__), list(heights)
    for below, above in itertools.pairwise(order):
        moved[above] = max(moved[above], moved[below] + gap)
    ceiling = 1.0
    for place in reversed(order):
        ceiling = moved[place] = min(moved[place], ceiling)
        ceiling -= gap
    return moved


def _lowest(rocs: Iterable[Roc]) -> float:
    """The power of ten below one false alarm of the largest attack, between 1e-2 and 1e-5."""
    most = max(len(roc.non_members) for roc in rocs)
    return 10.0 ** -min(5, max(2, math.ceil(math.log10(most) - 1e-9)))


def _span(points: Iterable[tuple[float, float]]) -> tuple[float, float]:
    values = [value for pair in points for value in pair if 0 < value < math.inf]
    return 10 ** (math.log10(min(values)) - 0.25), 10 ** (math.log10(max(values)) + 0.25)


def _square(ax: "Axes | None") -> "Axes":
    if ax is not None:
        return ax
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise ParameterError(f"plots need matplotlib, which is not installed: {INSTALL}.") from None
    return Figure(figsize=(5.4, 5.2), layout="constrained").subplots()


def percent_ticks(ax: "Axes", lowest: float) -> None:
    """Powers of ten, in percent."""
    powers = [10.0**-power for power in range(round(-math.log10(lowest)), -1, -1)]
    names = [f"{100 * power:g} %" for power in powers]
    ax.set_xticks(powers, names)
    ax.set_yticks(powers, names)
    ax.minorticks_off()


def _epsilon_ticks(ax: "Axes", low: float, high: float) -> None:
    steps = [base * 10.0**power for power in range(-6, 7) for base in (1, 2, 5)]
    if math.log10(high / low) > 2:
        steps = [10.0**power for power in range(-6, 7)]
    ticks = [step for step in steps if low <= step <= high]
    for place in (ax.set_xticks, ax.set_yticks):
        place(ticks, [rounded_up(tick) for tick in ticks])
    ax.minorticks_off()


def _finished(ax: "Axes", path: "str | PathLike[str] | None") -> "Axes":
    """Less ink, the legend where curves seldom are, and the file."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(True, color=FAINT, linewidth=0.8)
    ax.set_axisbelow(True)
    legend = ax.legend(frameon=False, loc="lower left", bbox_to_anchor=(0, 1), ncols=1, borderaxespad=0.3)
    for text in legend.get_texts():
        text.set_parse_math(False)
    if path is not None:
        ax.figure.figure.savefig(path, dpi=150)
    return ax
