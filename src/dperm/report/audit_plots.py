# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Plots of audits and attacks: ROC curves, measured and claimed epsilons, and results of the audit demonstration.

The plotting functions draw on the axes ``ax``, or on new axes if ``ax`` is None, and return the axes. If ``path`` is
given, they also write the plot to this file. The plots require matplotlib: ``pip install "dperm[plots]"``.
"""

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from typing import TYPE_CHECKING

import numpy as np

from dperm.audit.demo.result import DemoAttack
from dperm.audit.exposure.exposure import CHANCE
from dperm.audit.finding import Finding
from dperm.audit.membership.ceiling import profile_of
from dperm.audit.membership.roc import Roc
from dperm.errors import ParameterError
from dperm.presentation.numbers import format_down, format_parameters, format_up
from dperm.privacy import ApproxDP, PureDP
from dperm.privacy.guarantee import AnyGuarantee, Guarantee, guarantee_as_dict
from dperm.privacy.profile import PrivacyProfile
from dperm.report.plot_style import FIRST, INK, LINE, SECOND, legend_above, new_axes, save, tidy
from dperm.report.profile_samples import ProfileSamples

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MARKED = (0.001, 0.01, 0.1)
"""False-positive rates at which true-positive rates are marked."""
DIAGONAL = "measured = claimed (a point above it refutes the claim)"
GUESSING = "random guessing (AUC 0.5)"
MOST_CURVES = 6
RIGHT = 0.55
"""Points beyond this share of the axis have their labels on the left."""
_STYLES = ((FIRST, "-"), (INK, "-"), (LINE, "-"), (FIRST, "--"), (INK, "--"), (LINE, "--"))
_CEILING_POINTS = 200
NAME_HEIGHT = 0.042
"""Height of a label beside a point, as a share of the axis."""
_SQUARE = (5.4, 5.2)


def plot_roc(
    rocs: Mapping[str, Roc] | Roc,
    ax: "Axes | None" = None,
    *,
    guarantee: Guarantee | PrivacyProfile | None = None,
    note: str = "",
    path: "str | PathLike[str] | None" = None,
) -> "Axes":
    """Plot the ROC curves of attacks on logarithmic axes.

    Leakage is visible at low false-positive rates, on the left of the plot. An attack that identifies a few members
    with certainty is invisible on linear axes and in the AUC (Carlini et al. 2022). Since logarithmic axes do not
    contain 0, each curve starts at the rate of one false positive, or at 1e-5 if that rate is smaller.

    Parameters
    ----------
    rocs
        Up to six curves, keyed by name, or one curve.
    ax
        Axes to draw on; None creates new ones.
    guarantee
        Guarantee or privacy profile with trade-off curve f. The plot shades the true-positive rates above 1 - f(FPR),
        which no attack can reach at false-positive rate FPR. None shades nothing.
    note
        Text inside the plot, such as "not private: do not publish".
    path
        File to write; its suffix selects the format. None writes no file.

    Returns
    -------
    matplotlib.axes.Axes
        The axes with the plot.

    Raises
    ------
    ParameterError
        If there are no curves or more than six, or if matplotlib is not installed.
    """
    named = {"attack": rocs} if isinstance(rocs, Roc) else dict(rocs)
    if not 1 <= len(named) <= MOST_CURVES:
        raise ParameterError(argument="rocs", rule=f"must have from 1 to {MOST_CURVES} curves", got=str(len(named)))
    ax = new_axes(*_SQUARE) if ax is None else ax
    lowest = _lowest_rate(named.values())
    if guarantee is not None:
        _draw_ceiling(ax, guarantee, lowest)
    for (name, roc), (color, line) in zip(named.items(), _STYLES, strict=False):
        _draw_curve(ax, roc, (color, line), f"{name} (AUC {roc.auc:.3f})", lowest)
    ax.plot([lowest, 1], [lowest, 1], color=LINE, linewidth=1.2, linestyle=":", label=GUESSING)
    _scale_roc(ax, lowest)
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
    """Plot measured lower bounds on epsilon against the claimed epsilons.

    A point above the diagonal refutes its claim. The vertical line below a point covers the epsilons that the audit
    rules out. Violations are shown as crosses with labels.

    Parameters
    ----------
    findings
        Findings keyed by name, or a list of findings, which are named after their subjects.
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
        If there are no findings, a claimed epsilon is infinite or 0, or matplotlib is not installed.
    """
    named = dict(findings) if isinstance(findings, Mapping) else {each.subject: each for each in findings}
    points = {name: (each.claimed_epsilon(each.bound.delta), each.bound.epsilon) for name, each in named.items()}
    if not points or not all(math.isfinite(claimed) and claimed > 0 for claimed, _ in points.values()):
        raise _no_finite_claims("findings")
    ax = new_axes(*_SQUARE) if ax is None else ax
    low, high = _epsilon_range(points.values())
    ax.fill_between([low, high], [low, high], high, color=SECOND, alpha=0.08, linewidth=0)
    ax.plot([low, high], [low, high], color=LINE, linewidth=1.2, linestyle=":", label=DIAGONAL)
    for kind, violated in (("no violation found", False), ("violation", True)):
        some = {name: points[name] for name, each in named.items() if each.violation is violated}
        _draw_points(ax, some, kind, violated=violated, span=(low, high))
    ax.set(xscale="log", yscale="log", xlim=(low, high), ylim=(low, high), aspect="equal")
    ax.set(xlabel="claimed epsilon", ylabel="measured epsilon, at least")
    _epsilon_ticks(ax, low, high)
    return _finished(ax, path)


def _no_finite_claims(argument: str) -> ParameterError:
    return ParameterError(
        argument=argument, rule="must have at least one item, each with a claimed epsilon that is finite and > 0"
    )


def ceiling_name(guarantee: Guarantee | PrivacyProfile) -> str:
    """Return the legend of the upper bound that a guarantee sets on ROC curves.

    An example of such a legend is "upper bound by epsilon = 1, delta = 1e-6 (add_remove)".

    Parameters
    ----------
    guarantee
        Guarantee or privacy profile.

    Returns
    -------
    str
        Text of the legend. For a privacy profile, the text contains no numbers.
    """
    if not isinstance(guarantee, AnyGuarantee):
        return "upper bound by the guarantee"
    numbers = {name: value for name, value in guarantee_as_dict(guarantee).items() if name != "adjacency"}
    return f"upper bound by {format_parameters(numbers) or 'the guarantee'} ({guarantee.adjacency.value})"


def _draw_ceiling(ax: "Axes", guarantee: Guarantee | PrivacyProfile, lowest: float) -> None:
    """Shade the region that no attack can reach."""
    rates = np.geomspace(lowest, 1, _CEILING_POINTS)
    highest = ProfileSamples.of(profile_of(guarantee)).true_positive_rates(rates)
    ax.fill_between(rates, highest, 1, color=SECOND, alpha=0.10, linewidth=0)
    ax.plot(rates, highest, color=SECOND, linewidth=1.8, label=ceiling_name(guarantee))


def _scale_roc(ax: "Axes", lowest: float) -> None:
    """Set logarithmic axes with ticks at powers of ten, in percent."""
    ax.set(xscale="log", yscale="log", xlim=(lowest, 1), ylim=(lowest, 1), aspect="equal")
    ax.set(xlabel="false-positive rate (FPR)", ylabel="true-positive rate (TPR)")
    powers = [10.0**-power for power in range(round(-math.log10(lowest)), -1, -1)]
    labels = [f"{100 * power:g} %" for power in powers]
    ax.set_xticks(powers, labels)
    ax.set_yticks(powers, labels)
    ax.minorticks_off()


def _draw_curve(ax: "Axes", roc: Roc, style: tuple[str, str], label: str, lowest: float) -> None:
    """Draw a step function at 600 rates, with markers at the reported rates."""
    false, true = roc.curve
    least = max(lowest, 1 / len(roc.non_members))
    rates = np.geomspace(least, 1, 600)
    reached = true[np.searchsorted(false, rates * (1 + 1e-12), "right") - 1]
    visible = reached > 0
    ax.plot(rates[visible], reached[visible], color=style[0], linestyle=style[1], linewidth=2, label=label)
    marked = [(rate, roc.tpr_at(rate)) for rate in MARKED if rate >= least]
    inside = [(rate, tpr) for rate, tpr in marked if tpr >= lowest]
    if inside:
        ax.plot(*zip(*inside, strict=True), color=style[0], marker="o", markersize=5.5, linestyle="none")


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
        _draw_labels(ax, dict(zip(points, zip(x, y, strict=True), strict=True)), span)


def _draw_labels(ax: "Axes", places: Mapping[str, tuple[float, float]], span: tuple[float, float]) -> None:
    """Draw labels beside their points with a thin line, moved up where they would overlap."""
    heights = _apart([_share(y, span) for _, y in places.values()], NAME_HEIGHT)
    for (name, place), height in zip(places.items(), heights, strict=True):
        share = _share(place[0], span)
        side, align = (1, "left") if share <= RIGHT else (-1, "right")
        at = (_at_share(share + side * NAME_HEIGHT, span), _at_share(height, span))
        thin_line = {"arrowstyle": "-", "color": LINE, "linewidth": 0.6, "shrinkA": 0, "shrinkB": 3}
        text = ax.annotate(
            name, place, at, color=INK, parse_math=False, arrowprops={**thin_line, "relpos": (float(side < 0), 0.5)}
        )
        text.set(ha=align, va="center", fontsize=9)


def _share(value: float, span: tuple[float, float]) -> float:
    """Return the position of a value along a logarithmic axis, from 0 to 1."""
    return math.log(value / span[0]) / math.log(span[1] / span[0])


def _at_share(share: float, span: tuple[float, float]) -> float:
    return span[0] * math.pow(span[1] / span[0], share)


def _apart(heights: list[float], gap: float) -> list[float]:
    """Return the heights, raised where they are nearer than ``gap`` to the one below, and kept below 1."""
    order, moved = sorted(range(len(heights)), key=heights.__getitem__), list(heights)
    for below, above in itertools.pairwise(order):
        moved[above] = max(moved[above], moved[below] + gap)
    ceiling = 1.0
    for place in reversed(order):
        ceiling = moved[place] = min(moved[place], ceiling)
        ceiling -= gap
    return moved


def _lowest_rate(rocs: Iterable[Roc]) -> float:
    """Return the power of ten below one false positive of the largest attack, between 1e-2 and 1e-5."""
    most = max(len(roc.non_members) for roc in rocs)
    return 10.0 ** -min(5, max(2, math.ceil(math.log10(most) - 1e-9)))


def _epsilon_range(points: Iterable[tuple[float, float]]) -> tuple[float, float]:
    values = [value for pair in points for value in pair if 0 < value < math.inf]
    return 10 ** (math.log10(min(values)) - 0.25), 10 ** (math.log10(max(values)) + 0.25)


def _epsilon_ticks(ax: "Axes", low: float, high: float) -> None:
    steps = [base * 10.0**power for power in range(-6, 7) for base in (1, 2, 5)]
    if math.log10(high / low) > 2:
        steps = [10.0**power for power in range(-6, 7)]
    ticks = [step for step in steps if low <= step <= high]
    for place in (ax.set_xticks, ax.set_yticks):
        place(ticks, [format_up(tick) for tick in ticks])
    ax.minorticks_off()


def _finished(ax: "Axes", path: "str | PathLike[str] | None") -> "Axes":
    legend_above(tidy(ax))
    return save(ax, path)


WIDTH, LINE_HEIGHT, MARGINS = 7.2, 0.36, 1.5
"""Sizes of the dot plot in inches."""
AXIS = "epsilon (no leak: 0; a measured value to the right of the claim refutes it)"
SPAN = 30.0
"""Smallest ratio between the ends of the axis."""


@dataclass(frozen=True)
class AuditDot:
    """Claimed and measured epsilon of one audit, as one row of a dot plot.

    Attributes
    ----------
    name
        Name of the audit, written to the left of the row.
    claimed, measured
        Claimed epsilon, and measured lower bound on epsilon; the measured bound may be 0 or infinite.
    violation
        Whether the audit refutes the claim.
    """

    name: str
    claimed: float
    measured: float
    violation: bool


def plot_dots(
    dots: Sequence[AuditDot], ax: "Axes | None" = None, *, path: "str | PathLike[str] | None" = None
) -> "Axes":
    """Plot several audits on one logarithmic axis: the claim as a bar, the measured lower bound as a dot.

    A dot to the right of its bar refutes the claim, and is drawn as a cross. Dots at the left edge of the plot stand
    for bounds too small for the axis, and dots at the right edge for infinite bounds.

    Parameters
    ----------
    dots
        Claimed and measured epsilons, one `AuditDot` per audit.
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
        If there are no dots, a claimed epsilon is infinite or 0, or matplotlib is not installed.
    """
    if not dots or not all(0 < dot.claimed < math.inf for dot in dots):
        raise _no_finite_claims("dots")
    ax = new_axes(WIDTH, MARGINS + LINE_HEIGHT * len(dots)) if ax is None else ax
    low, high = _dot_range(dots)
    for height, dot in enumerate(dots):
        _draw_dot(ax, dot, height, (low, high))
    _dot_legend(ax, dots)
    ax.set(xscale="log", xlim=(low, high), ylim=(len(dots) - 0.4, -0.6), xlabel=AXIS)
    ax.set_yticks(range(len(dots)), [dot.name for dot in dots], parse_math=False)
    _dot_ticks(ax, low, high)
    tidy(ax, axis="x").spines["left"].set_visible(False)
    ax.tick_params(axis="y", length=0)
    return save(ax, path)


def _draw_dot(ax: "Axes", dot: AuditDot, height: int, span: tuple[float, float]) -> None:
    color, marker = (SECOND, "X") if dot.violation else (FIRST, "o")
    at = min(max(dot.measured, span[0]), span[1])
    ax.plot([dot.claimed, at], [height, height], color=color, linewidth=1.4, alpha=0.45)
    ax.plot([dot.claimed], [height], color=INK, marker="|", markersize=15, markeredgewidth=2.2, linestyle="none")
    ax.plot([at], [height], color=color, marker=marker, markersize=8, linestyle="none", clip_on=False, zorder=3)
    label, place = f"≥ {format_down(dot.measured, 3)}", ("axes fraction", "data")
    ax.annotate(label, (1, height), (8, 0), place, "offset points", color=color, fontsize=9, va="center")


def _dot_legend(ax: "Axes", dots: Sequence[AuditDot]) -> None:
    from matplotlib.lines import Line2D

    kinds = [
        ("claimed (at most)", INK, "|", True),
        ("measured (at least)", FIRST, "o", not all(dot.violation for dot in dots)),
        ("VIOLATION (at least)", SECOND, "X", any(dot.violation for dot in dots)),
    ]
    handles = [
        Line2D([], [], color=color, marker=marker, markersize=9, linestyle="none", label=name)
        for name, color, marker, shown in kinds
        if shown
    ]
    ax.legend(handles=handles, frameon=False, loc="lower left", bbox_to_anchor=(0, 1), ncols=3, borderaxespad=0.2)


def _dot_range(dots: Sequence[AuditDot]) -> tuple[float, float]:
    """Return the ends of the axis; bounds far below their claims lie on the left edge."""
    claims = [dot.claimed for dot in dots]
    measured = [dot.measured for dot in dots if min(claims) / SPAN < dot.measured < math.inf]
    low, high = min((*claims, *measured)), max((*claims, *measured))
    if high / low < SPAN:
        middle = math.sqrt(low * high)
        low, high = min(low, middle / math.sqrt(SPAN)), max(high, middle * math.sqrt(SPAN))
    return low / 1.5, high * 1.5


def _dot_ticks(ax: "Axes", low: float, high: float) -> None:
    bases = (1, 2, 5) if high / low < 100 else (1,)
    ticks = [base * 10.0**power for power in range(-9, 10) for base in bases if low <= base * 10.0**power <= high]
    ax.set_xticks(ticks, [format_up(float(f"{tick:.1g}")) for tick in ticks])
    ax.minorticks_off()


DEMO_FILES = {"Exposure of a planted secret": "exposure.png", "Membership inference": "membership.png"}
"""File names of the demonstration's plots, by title of the part."""
DEMO_ROC = "Membership inference"
WITH_NOISE = "with DP"
"""Name of the curve of the models with noise."""
_DEMO_COLORS = (INK, FIRST)
_DEMO_LOWEST = 1e-3


def plot_part(
    part: DemoAttack,
    ax: "Axes | None" = None,
    *,
    guarantee: PureDP | ApproxDP | None = None,
    path: "str | PathLike[str] | None" = None,
) -> "Axes":
    """Plot one attack of the audit demonstration, on models trained without and with noise.

    Parameters
    ----------
    part
        One attack from the result of `dperm.audit.demo.run`; it must have points for a plot.
    ax
        Axes to draw on; None creates new ones.
    guarantee
        Guarantee of the models with noise. The legend states this guarantee, and a plot of ROC curves also shows the
        upper bound that the guarantee sets.
    path
        File to write; its suffix selects the format. None writes no file.

    Returns
    -------
    matplotlib.axes.Axes
        The axes with the plot.

    Raises
    ------
    ParameterError
        If matplotlib is not installed.
    """
    ax, is_roc = new_axes(*_SQUARE) if ax is None else ax, part.title == DEMO_ROC
    if is_roc and guarantee is not None:
        _draw_ceiling(ax, guarantee, _DEMO_LOWEST)
    labels = {}
    if guarantee is not None:
        labels[WITH_NOISE] = f"{WITH_NOISE}, {format_parameters(guarantee_as_dict(guarantee))}"
    for color, (name, (x, y)) in zip(_DEMO_COLORS, part.points.items(), strict=False):
        ax.plot(x, y, color=color, linewidth=2, marker="" if is_roc else "o", label=labels.get(name, name))
    if is_roc:
        ax.plot([_DEMO_LOWEST, 1], [_DEMO_LOWEST, 1], color=LINE, linestyle=":", label=GUESSING)
        _scale_roc(ax, _DEMO_LOWEST)
    else:
        ax.axhline(CHANCE, color=LINE, linestyle=":", label=f"never inserted, on average ({CHANCE:.1f} bits)")
        ax.set(xlabel="insertions of the secret", ylabel="exposure, bits", ylim=(0, None))
    return _finished(ax, path)
