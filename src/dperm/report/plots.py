# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Plots of a statement. Each function takes and returns the axes of matplotlib; without ``ax`` it makes one.

matplotlib is an extra: ``pip install "dperm[plots]"``.
"""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from dperm.errors import ParameterError
from dperm.privacy.profile import PrivacyProfile
from dperm.report.curve import Curve
from dperm.report.labels import epsilon_first
from dperm.report.measured import Measured
from dperm.report.numbers import left, rounded_up
from dperm.report.palette import FAINT, FIRST, INK, LEFT, LINE, SECOND

if TYPE_CHECKING:
    from matplotlib.axes import Axes

INSTALL = 'pip install "dperm[plots]"'
LOWEST_DELTA = 1e-10
MOST_BARS = 8
_RATES = np.linspace(0.0, 1.0, 201) ** 2


def privacy_profile(
    profile: PrivacyProfile | Curve, ax: "Axes | None" = None, *, promise: tuple[float, float] | None = None
) -> "Axes":
    """The curve delta(epsilon): each of its points is a promise that holds.

    ``promise`` marks one of them, (epsilon, delta); at delta = 0 a line marks the epsilon.
    """
    ax, curve = _axes(ax), Curve.of(profile)
    drawn = curve.drawn()
    shown = [(x, max(y, LOWEST_DELTA / 100)) for x, y in zip(drawn.epsilons, drawn.deltas, strict=True)]
    ax.semilogy(*zip(*shown, strict=True), color=FIRST, linewidth=2)
    if promise is not None:
        _mark(ax, *promise)
    ax.set(xlabel="epsilon", ylabel="delta", xlim=(0, curve.epsilons[-1]), ylim=(LOWEST_DELTA, 1))
    ax.set_yticks([10.0**-power for power in range(0, 11, 2)], ["1", *(f"1e-{power}" for power in range(2, 11, 2))])
    ax.minorticks_off()
    return _tidy(ax)


def trade_off(profile: PrivacyProfile | Curve, ax: "Axes | None" = None) -> "Axes":
    """The most that an attacker can do: true-positive against false-positive rate, and the diagonal of guessing."""
    ax, curve = _axes(ax), Curve.of(profile)
    rates = curve.true_positive_rates(_RATES)
    ax.fill_between(_RATES, _RATES, rates, color=FIRST, alpha=0.15, linewidth=0)
    ax.plot(_RATES, rates, color=FIRST, linewidth=2, label="best possible attack")
    ax.plot([0, 1], [0, 1], color=LINE, linewidth=1.5, linestyle="--", label="guessing blindly")
    ax.set(xlabel="false alarms", ylabel="true alarms, at most", xlim=(0, 1), ylim=(0, 1.005))
    ax.legend(frameon=False, loc="lower right")
    return _tidy(ax)


def accuracy_against_epsilon(
    points: "Iterable[Mapping[str, float] | tuple[float, float]] | Measured", ax: "Axes | None" = None
) -> "Axes":
    """Measured usefulness against epsilon.

    ``points`` are pairs (epsilon, value), or mappings with "epsilon", "value" and optionally "low" and "high"; or the
    whole of a ``utility`` field, `dperm.report.measured.Measured`.
    """
    ax = _axes(ax)
    measured = points if isinstance(points, Measured) else Measured.of(points)
    x, y = [point.epsilon for point in measured.points], [point.value for point in measured.points]
    errors = np.array([(point.value - point.low, point.high - point.value) for point in measured.points]).T
    ax.errorbar(x, y, yerr=errors, color=FIRST, linewidth=2, marker="o", markersize=5, elinewidth=1.5, capsize=3)
    for name, level in measured.levels.items():
        style = (SECOND, "--") if name == "without privacy" else (LINE, ":")
        ax.axhline(level, color=style[0], linewidth=1.5, linestyle=style[1], label=name)
    ax.set_xscale("log")
    ax.set_xlabel("epsilon")
    ax.set_ylabel(measured.measure, parse_math=False)  # a dollar sign of the user is a dollar sign
    ax.set_xticks(x, [rounded_up(epsilon) for epsilon in x])
    ax.minorticks_off()
    ax.margins(y=0.15)
    if measured.levels:  # above the plot, where no line can cross it
        legend = ax.legend(frameon=False, loc="lower left", bbox_to_anchor=(0, 1), ncols=2, borderaxespad=0.2)
        for text in legend.get_texts():
            text.set_parse_math(False)
    return _tidy(ax)


def budget(receipt: Mapping[str, Any], ax: "Axes | None" = None) -> "Axes":
    """What this and earlier releases spent of a budget, and what is left, from the receipt of a release."""
    ax = _axes(ax)
    for place, (name, spent, most) in enumerate(reversed(spendings(receipt))):
        share = min(1.0, spent / most) if most > 0 else 1.0
        ax.barh(place, 1.0, color=LEFT, height=0.36)
        ax.barh(place, share, color=FIRST, height=0.36)
        text = f"{name}: {rounded_up(spent, 4)} of {rounded_up(most, 4)} spent, {left(most, spent, 4)} left"
        ax.annotate(text, (0.0, place + 0.26), va="bottom", color=INK, parse_math=False)
    ax.set(xlim=(0, 1), ylim=(-0.4, len(spendings(receipt)) - 0.2), yticks=[], xticks=[0, 0.25, 0.5, 0.75, 1])
    ax.set_xticklabels(["0", "25 %", "50 %", "75 %", "100 %"])
    _tidy(ax).grid(False)
    ax.spines["left"].set_visible(False)
    return ax


def spendings(receipt: Mapping[str, Any]) -> list[tuple[str, float, float]]:
    """(name, spent, limit) of each currency of a budget; of many, the ones that are used up most."""
    try:
        spent, capacity = receipt["spent"], receipt["capacity"]
        rows = [(str(name), float(spent[name]), float(most)) for name, most in epsilon_first(capacity).items()]
    except (LookupError, TypeError, ValueError, AttributeError):
        raise ParameterError('receipt must be that of a budget, with "spent" and "capacity" by name.') from None
    if len(rows) <= MOST_BARS:
        return rows
    return sorted(rows, key=lambda row: row[1] / row[2] if row[2] > 0 else 1.0, reverse=True)[:MOST_BARS]


def _axes(ax: "Axes | None") -> "Axes":
    if ax is not None:
        return ax
    try:
        from matplotlib import pyplot
    except ImportError:
        raise ParameterError(f"plots need matplotlib, which is not installed: {INSTALL}.") from None
    return pyplot.subplots(layout="constrained")[1]


def _mark(ax: "Axes", epsilon: float, delta: float) -> None:
    """The point that was promised."""
    if delta < LOWEST_DELTA:
        ax.axvline(epsilon, color=SECOND, linewidth=1.5, linestyle="--", label="promised")
    else:
        ax.plot([epsilon], [delta], color=SECOND, marker="o", markersize=8, linestyle="none", label="promised")
    ax.legend(frameon=False, loc="lower left")


def _tidy(ax: "Axes") -> "Axes":
    """Less ink."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(True, color=FAINT, linewidth=0.8)
    ax.set_axisbelow(True)
    return ax
