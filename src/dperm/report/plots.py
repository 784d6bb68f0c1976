# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Plots of a statement.

Each function draws on the given axes, or on new ones without ``ax``, and returns them. matplotlib is an extra:
``pip install "dperm[plots]"``.
"""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from dperm.errors import ParameterError
from dperm.presentation.numbers import epsilon_first, format_remaining, format_up
from dperm.privacy.profile import PrivacyProfile
from dperm.report.plot_style import FIRST, INK, LEFT, LINE, SECOND, legend_above, missing_matplotlib, tidy
from dperm.report.profile_samples import ProfileSamples
from dperm.report.utility import MeasuredUtility

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LOWEST_DELTA = 1e-10
MOST_BARS = 8
_RATES = np.linspace(0.0, 1.0, 201) ** 2


def privacy_profile(
    profile: PrivacyProfile | ProfileSamples, ax: "Axes | None" = None, *, promise: tuple[float, float] | None = None
) -> "Axes":
    """Plot the privacy profile delta(epsilon): every point of the curve is a valid guarantee.

    Parameters
    ----------
    profile
        Privacy profile of a release.
    ax
        Axes; None for new ones.
    promise
        Pair (epsilon, delta) to mark. At delta = 0 a line marks the epsilon.
    """
    ax, samples = _axes(ax), ProfileSamples.of(profile)
    fine = samples.refined()
    points = [(x, max(y, LOWEST_DELTA / 100)) for x, y in zip(fine.epsilons, fine.deltas, strict=True)]
    ax.semilogy(*zip(*points, strict=True), color=FIRST, linewidth=2)
    if promise is not None:
        _mark(ax, *promise)
    ax.set(xlabel="epsilon", ylabel="delta", xlim=(0, samples.epsilons[-1]), ylim=(LOWEST_DELTA, 1))
    ax.set_yticks([10.0**-power for power in range(0, 11, 2)], ["1", *(f"1e-{power}" for power in range(2, 11, 2))])
    ax.minorticks_off()
    return tidy(ax)


def trade_off(profile: PrivacyProfile | ProfileSamples, ax: "Axes | None" = None) -> "Axes":
    """Plot the largest true-positive rate of any attack against its false-positive rate.

    Parameters
    ----------
    profile
        Privacy profile of a release.
    ax
        Axes; None for new ones.
    """
    ax, samples = _axes(ax), ProfileSamples.of(profile)
    rates = samples.true_positive_rates(_RATES)
    ax.fill_between(_RATES, _RATES, rates, color=FIRST, alpha=0.15, linewidth=0)
    ax.plot(_RATES, rates, color=FIRST, linewidth=2, label="best possible attack")
    ax.plot([0, 1], [0, 1], color=LINE, linewidth=1.5, linestyle="--", label="random guessing")
    ax.set(xlabel="false-positive rate", ylabel="true-positive rate, at most", xlim=(0, 1), ylim=(0, 1.005))
    ax.legend(frameon=False, loc="lower right")
    return tidy(ax)


def accuracy_against_epsilon(
    points: "Iterable[Mapping[str, float] | tuple[float, float]] | MeasuredUtility", ax: "Axes | None" = None
) -> "Axes":
    """Plot measured utility against epsilon, with confidence intervals and levels for comparison.

    Parameters
    ----------
    points
        Pairs (epsilon, value), or mappings with "epsilon", "value" and optionally "low" and "high"; or a complete
        ``utility`` field, `dperm.report.utility.MeasuredUtility`.
    ax
        Axes; None for new ones.
    """
    ax = _axes(ax)
    utility = points if isinstance(points, MeasuredUtility) else MeasuredUtility.of(points)
    x, y = [point.epsilon for point in utility.points], [point.value for point in utility.points]
    errors = np.array([(point.value - point.low, point.high - point.value) for point in utility.points]).T
    ax.errorbar(x, y, yerr=errors, color=FIRST, linewidth=2, marker="o", markersize=5, elinewidth=1.5, capsize=3)
    for name, level in utility.levels.items():
        style = (SECOND, "--") if name == "without privacy" else (LINE, ":")
        ax.axhline(level, color=style[0], linewidth=1.5, linestyle=style[1], label=name)
    ax.set_xscale("log")
    ax.set_xlabel("epsilon")
    ax.set_ylabel(utility.measure, parse_math=False)  # a dollar sign of the user stays a dollar sign
    ax.set_xticks(x, [format_up(epsilon) for epsilon in x])
    ax.minorticks_off()
    ax.margins(y=0.15)
    if utility.levels:
        legend_above(ax, columns=2, space=0.2)
    return tidy(ax)


def budget(receipt: Mapping[str, Any], ax: "Axes | None" = None) -> "Axes":
    """Plot the spent and the remaining part of a budget.

    Parameters
    ----------
    receipt
        Receipt of a release, with "spent" and "capacity".
    ax
        Axes; None for new ones.
    """
    ax = _axes(ax)
    for place, (name, spent, limit) in enumerate(reversed(spendings(receipt))):
        share = min(1.0, spent / limit) if limit > 0 else 1.0
        ax.barh(place, 1.0, color=LEFT, height=0.36)
        ax.barh(place, share, color=FIRST, height=0.36)
        remaining = format_remaining(limit, spent, 4)
        text = f"{name}: {format_up(spent, 4)} of {format_up(limit, 4)} spent, {remaining} remaining"
        ax.annotate(text, (0.0, place + 0.26), va="bottom", color=INK, parse_math=False)
    ax.set(xlim=(0, 1), ylim=(-0.4, len(spendings(receipt)) - 0.2), yticks=[], xticks=[0, 0.25, 0.5, 0.75, 1])
    ax.set_xticklabels(["0", "25 %", "50 %", "75 %", "100 %"])
    tidy(ax).grid(False)
    ax.spines["left"].set_visible(False)
    return ax


def spendings(receipt: Mapping[str, Any]) -> list[tuple[str, float, float]]:
    """Return (name, spent, limit) of each currency of a budget; at most eight, those with the largest spent share.

    Raises
    ------
    ParameterError
        If the receipt lacks "spent" or "capacity".
    """
    try:
        spent, capacity = receipt["spent"], receipt["capacity"]
        rows = [(str(name), float(spent[name]), float(limit)) for name, limit in epsilon_first(capacity).items()]
    except (LookupError, TypeError, ValueError, AttributeError):
        raise ParameterError(
            argument="receipt", rule='must be that of a budget, with "spent" and "capacity" by name'
        ) from None
    if len(rows) <= MOST_BARS:
        return rows
    return sorted(rows, key=lambda row: row[1] / row[2] if row[2] > 0 else 1.0, reverse=True)[:MOST_BARS]


def _axes(ax: "Axes | None") -> "Axes":
    if ax is not None:
        return ax
    try:
        from matplotlib import pyplot
    except ImportError:
        raise missing_matplotlib() from None
    return pyplot.subplots(layout="constrained")[1]


def _mark(ax: "Axes", epsilon: float, delta: float) -> None:
    if delta < LOWEST_DELTA:
        ax.axvline(epsilon, color=SECOND, linewidth=1.5, linestyle="--", label="stated guarantee")
    else:
        ax.plot([epsilon], [delta], color=SECOND, marker="o", markersize=8, linestyle="none", label="stated guarantee")
    ax.legend(frameon=False, loc="lower left")
