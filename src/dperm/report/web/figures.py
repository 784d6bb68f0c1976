# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""The pictures of the page, each with the same numbers as a table; where matplotlib is missing, the tables alone."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from html import escape
from typing import TYPE_CHECKING, Any

from dperm.privacy.profile import PrivacyProfile
from dperm.report import plots
from dperm.report.accounts import account_of, covering_accounts
from dperm.report.curve import Curve
from dperm.report.measured import Measured, measured
from dperm.report.numbers import as_text, left, percent, rounded_up
from dperm.report.plain import capital, uncovered_preparation
from dperm.report.stated import known_part
from dperm.report.svg import can_draw, svg
from dperm.report.unit import unit_of
from dperm.report.web.values import fold, grid

if TYPE_CHECKING:
    from collections.abc import Callable

    from matplotlib.axes import Axes

RATES = (0.001, 0.01, 0.05, 0.1, 0.2, 0.5)
EVERY = 4
"""Of the points of a curve, every fourth is in the table, and the first with delta = 0."""
NO_PLOTS = f"Plots are left out: they need matplotlib. To get them: {plots.INSTALL}"


@dataclass(frozen=True)
class Picture:
    """What is drawn, and said about it."""

    name: str
    title: str
    caption: str
    draw: "Callable[[Axes], object]"
    table: str
    height: float = 3.2

    def html(self, drawn: bool) -> str:
        """A figure; the table is behind a fold if there is a plot."""
        if drawn:
            plot = svg(self.draw, self.name, title=self.title, description=self.caption, height=self.height)
            content = plot + fold("The same in numbers", self.table)
        else:
            content = self.table
        caption = f"<figcaption><h3>{escape(self.title)}</h3><p>{escape(self.caption)}</p></figcaption>"
        return f'<figure id="{self.name}">{caption}{content}</figure>'


def figures_html(fields: Mapping[str, object], profile: PrivacyProfile | None) -> str:
    """All pictures that there is something to draw for; empty if there are none."""
    pictures = list(_pictures(fields, profile))
    if not pictures:
        return ""
    drawn = can_draw()
    note = "" if drawn else f'<p class="note">{escape(NO_PLOTS)}</p>'
    return f'{note}<div class="figures">{"".join(picture.html(drawn) for picture in pictures)}</div>'


def _pictures(fields: Mapping[str, object], profile: PrivacyProfile | None) -> Iterator[Picture]:
    if profile is not None and isinstance(fields["profile"], Mapping) and not uncovered_preparation(fields):
        curve = Curve.of(profile)
        yield _attack(curve, unit_of(fields))
        yield _profile(curve, fields["parameters"])
    points = measured(fields["utility"])
    if points is not None:
        yield _usefulness(points)
    receipt = known_part("ledger_entry", fields["ledger_entry"])
    if isinstance(receipt, Mapping):
        covering = [one for one in covering_accounts(receipt) if one is not receipt]
        budgets = [one for one in (*covering, receipt) if {"spent", "capacity"} <= one.keys()]
        yield from (_budget(one, place, named=bool(receipt.get("parents"))) for place, one in enumerate(budgets))


def _attack(curve: Curve, unit: str) -> Picture:
    rates = zip(RATES, curve.true_positive_rates(RATES), strict=True)
    table = grid(("false alarms", "true alarms, at most"), [(percent(x), percent(float(y))) for x, y in rates])
    caption = (
        f"An attacker who knows all other {unit}s tries to detect one. The curve is the most that any attack can "
        f"reach; the closer to the diagonal, the less there is to learn."
    )
    return Picture("trade-off", "What an attacker can do", caption, partial(plots.trade_off, curve), table)


def _profile(curve: Curve, parameters: object) -> Picture:
    pairs = list(zip(curve.epsilons, curve.deltas, strict=True))
    shown = sorted({*pairs[::EVERY], *[pair for pair in pairs if pair[1] == 0][:1]})
    rows = {rounded_up(x, 4): rounded_up(y, 4) for x, y in shown}  # of epsilons that look the same the last stays
    table = grid(("epsilon", "delta, at most"), list(rows.items()))
    promise = None
    if isinstance(parameters, Mapping) and "epsilon" in parameters:
        promise = float(parameters["epsilon"]), float(parameters.get("delta", 0.0))
    caption = "Every point on the curve is a promise that holds; a smaller epsilon only with a larger remainder delta."
    draw = partial(plots.privacy_profile, curve, promise=promise)
    return Picture("profile", "The whole promise", caption, draw, table)


def _usefulness(points: Measured) -> Picture:
    rows = [[rounded_up(p.epsilon), *map(as_text, (p.value, p.low, p.high))] for p in points.points]
    table = grid(("epsilon", points.measure, "low", "high"), rows)
    levels = "".join(f" {name.capitalize()}: {as_text(level)}." for name, level in points.levels.items())
    on = f" Measured on: {points.on.rstrip('.')}." if points.on else ""
    ends = " Bars: from low to high, as stated." if any(p.low < p.high for p in points.points) else ""
    caption = f"{capital(points.measure)} against epsilon, as measured and stated by the curator.{levels}{ends}{on}"
    draw = partial(plots.accuracy_against_epsilon, points)
    return Picture("usefulness", "What privacy costs", caption, draw, table)


def _budget(receipt: Mapping[str, Any], place: int, *, named: bool) -> Picture:
    """Spending of the charged account, or of an account that covers the people concerned."""
    rows = plots.spendings(receipt)
    texts = [(name, rounded_up(a), rounded_up(b), left(b, a)) for name, a, b in rows]
    caption = (
        "What this and earlier releases have spent together when this one was booked, and what was left. Failed runs "
        "are charged too."
    )
    table = grid(("", "spent", "limit when booked", "left"), texts)
    height = 0.8 + 0.65 * len(rows)
    name = f"budget-{place}" if place else "budget"
    title = f"The budget of {account_of(receipt)}" if named else "The budget"
    return Picture(name, title, caption, partial(plots.budget, receipt), table, height)
