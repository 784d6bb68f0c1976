# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Figures of the page: SVG plots with a description and the same numbers as a table.

Without matplotlib the page has the tables alone. The plots use the colors of the page and do not depend on the user's
matplotlib settings.
"""

import io
import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from html import escape
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from dperm.presentation.nested_data import html_details
from dperm.presentation.numbers import format_number, format_remaining, format_up
from dperm.presentation.phrases import capitalize
from dperm.presentation.tables import TextTable
from dperm.privacy.profile import PrivacyProfile
from dperm.report import metric_figures, plots
from dperm.report.budget_facts import account_name, covering_accounts
from dperm.report.definitions import changed_by, unit_of
from dperm.report.evaluation_plots import draw_calibration, draw_roc_curve
from dperm.report.field_values import is_pair, known_part, stated_part, uncovered_parts
from dperm.report.headline import format_rate
from dperm.report.metric_facts import shown_row
from dperm.report.metric_figures import StatedMetrics
from dperm.report.plot_style import COLORS, INK, INSTALL, LINE
from dperm.report.profile_samples import ProfileSamples
from dperm.report.utility import MeasuredUtility, measured_utility

if TYPE_CHECKING:
    from matplotlib.axes import Axes

RATES = (0.001, 0.01, 0.05, 0.1, 0.2, 0.5)
EVERY = 4
"""Every fourth point of a profile is in the table, and the first one with delta = 0."""
NO_PLOTS = f"Plots are left out because matplotlib is not installed. To install it: {INSTALL}"
_STYLE: Any = {
    "svg.fonttype": "none",
    "svg.hashsalt": "dperm",
    "font.size": 10.0,
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.edgecolor": LINE,
    "xtick.color": INK,
    "ytick.color": INK,
}
_SIZE = (4.5, 3.2)
_TALL = 4.2
"""Width and height in inches: small, so that text stays readable on narrow pages."""


@dataclass(frozen=True)
class PageFigure:
    """Plot of the page, with its title, caption and table."""

    name: str
    title: str
    caption: str
    draw: "Callable[[Axes], object]"
    table: str
    height: float = _SIZE[1]

    def html(self, drawn: bool) -> str:
        """Return the figure; the table is folded if there is a plot."""
        if drawn:
            plot = svg(self.draw, self.name, title=self.title, description=self.caption, height=self.height)
            content = plot + html_details("Show as a table", self.table)
        else:
            content = self.table
        caption = f"<figcaption><h3>{escape(self.title)}</h3><p>{escape(self.caption)}</p></figcaption>"
        return f'<figure id="{self.name}">{caption}{content}</figure>'


def figures_html(fields: Mapping[str, object], profile: PrivacyProfile | None) -> str:
    """Return all figures of a statement; empty if there is nothing to draw."""
    figures = list(_figures(fields, profile))
    if not figures:
        return ""
    drawn = can_draw()
    note = "" if drawn else f'<p class="note">{escape(NO_PLOTS)}</p>'
    return f'{note}<div class="figures">{"".join(figure.html(drawn) for figure in figures)}</div>'


def _figures(fields: Mapping[str, object], profile: PrivacyProfile | None) -> Iterator[PageFigure]:
    if profile is not None and isinstance(fields["profile"], Mapping) and not uncovered_parts(fields):
        samples = ProfileSamples.of(profile)
        yield _attack(samples, unit_of(fields), changed_by(fields))
        yield _profile(samples, fields["parameters"])
    value = fields["utility"]
    yield from _metrics(known_part("utility", value) if is_pair("utility", value) else None)
    utility = measured_utility(stated_part("utility", value) if is_pair("utility", value) else value)
    if utility is not None:
        yield _utility(utility)
    receipt = known_part("ledger_entry", fields["ledger_entry"])
    if isinstance(receipt, Mapping):
        covering = [one for one in covering_accounts(receipt) if one is not receipt]
        budgets = [one for one in (*covering, receipt) if {"spent", "capacity"} <= one.keys()]
        yield from (_budget(one, place, named=bool(receipt.get("parents"))) for place, one in enumerate(budgets))


def _metrics(utility: object) -> Iterator[PageFigure]:
    """Yield the plots of private metrics; nothing without metrics."""
    metrics = StatedMetrics.of(utility)
    if metrics is None:
        return
    covered = f"The {metrics.described_level} intervals account for both sampling error and privacy noise."
    if metrics.shares:
        table = _numbers(("metric", "estimate", "low", "high"), map(shown_row, metrics.rows))
        height = 1.0 + 0.27 * len(metrics.shares)
        draw = partial(metric_figures.draw_intervals, metrics)
        yield PageFigure("metrics", "Private metrics", covered, draw, table, height)
    if metrics.roc is not None and metrics.auc is not None:
        columns = ("thresholds", "false_positive_rates", "true_positive_rates", "low", "high")
        points = zip(*(metrics.roc[name] for name in columns), strict=True)
        rows = [dict(zip(columns, row, strict=True)) for row in points]
        caption = f"True-positive rate against false-positive rate at the edges of the score bins. {covered}"
        table = _numbers(columns, rows)
        curve = partial(draw_roc_curve, metrics.curve, metrics.auc)
        yield PageFigure("roc", "ROC curve", caption, curve, table, _TALL)
    if metrics.calibration is not None:
        caption = (
            f"Share of positive records among the records of each score bin. {covered} Bins that the noise hides are "
            "left out of the plot."
        )
        table = _numbers(("left", "right", "value", "low", "high"), metrics.calibration)
        shares = partial(draw_calibration, metrics.bins)
        yield PageFigure("calibration", "Calibration", caption, shares, table, _TALL)


def _numbers(columns: Sequence[str], rows: Iterable[Mapping[str, Any]]) -> str:
    """Return numbers and names as an HTML table."""
    cells = [
        [format_number(row[name]) if isinstance(row[name], int | float) else str(row[name]) for name in columns]
        for row in rows
    ]
    return TextTable([name.replace("_", " ") for name in columns], cells).html()


def _attack(samples: ProfileSamples, unit: str, changed: str) -> PageFigure:
    rates = zip(RATES, samples.true_positive_rates(RATES), strict=True)
    rows = [(format_rate(x), format_rate(float(y))) for x, y in rates]
    table = TextTable(("false-positive rate", "true-positive rate, at most"), rows).html()
    caption = (
        f"An attacker who knows all other {unit}s tries to tell whether one {unit} was {changed}. No attack lies above "
        f"the curve; the closer the curve is to the diagonal, the less an attacker can learn."
    )
    return PageFigure("trade-off", "Success of the best attack", caption, partial(plots.trade_off, samples), table)


def _profile(samples: ProfileSamples, parameters: object) -> PageFigure:
    pairs = list(zip(samples.epsilons, samples.deltas, strict=True))
    listed = sorted({*pairs[::EVERY], *[pair for pair in pairs if pair[1] == 0][:1]})
    rows = {format_up(x, 4): format_up(y, 4) for x, y in listed}  # the last of several equal texts stays
    table = TextTable(("epsilon", "delta, at most"), list(rows.items())).html()
    promise = None
    if isinstance(parameters, Mapping) and "epsilon" in parameters:
        promise = float(parameters["epsilon"]), float(parameters.get("delta", 0.0))
    caption = "Every point on the curve is a valid guarantee; a smaller epsilon holds with a larger delta."
    draw = partial(plots.privacy_profile, samples, promise=promise)
    return PageFigure("profile", "Privacy profile", caption, draw, table)


def _utility(utility: MeasuredUtility) -> PageFigure:
    rows = [[format_up(p.epsilon), *map(format_number, (p.value, p.low, p.high))] for p in utility.points]
    table = TextTable(("epsilon", utility.measure, "low", "high"), rows).html()
    levels = "".join(f" {name.capitalize()}: {format_number(level)}." for name, level in utility.levels.items())
    on = f" Measured on: {utility.on.rstrip('.')}." if utility.on else ""
    ends = " Bars: from low to high, as stated." if any(p.low < p.high for p in utility.points) else ""
    caption = f"{capitalize(utility.measure)} against epsilon, as measured and stated by the curator.{levels}{ends}{on}"
    draw = partial(plots.accuracy_against_epsilon, utility)
    return PageFigure("usefulness", "Utility against epsilon", caption, draw, table)


def _budget(receipt: Mapping[str, Any], place: int, *, named: bool) -> PageFigure:
    """Return the spending of the charged account, or of a covering account."""
    rows = plots.spendings(receipt)
    texts = [(name, format_up(spent), format_up(limit), format_remaining(limit, spent)) for name, spent, limit in rows]
    caption = (
        "Amount that this and earlier releases had spent when this one was charged, and the remainder. Failed runs are "
        "charged too."
    )
    table = TextTable(("", "spent", "limit at the time of the charge", "remaining"), texts).html()
    height = 0.8 + 0.65 * len(rows)
    name = f"budget-{place}" if place else "budget"
    title = f"Budget of {account_name(receipt)}" if named else "Privacy budget"
    return PageFigure(name, title, caption=caption, draw=partial(plots.budget, receipt), table=table, height=height)


def can_draw() -> bool:
    """Return whether matplotlib is installed."""
    try:
        return find_spec("matplotlib") is not None
    except ValueError:  # the entry in sys.modules has no spec
        return False


def svg(draw: "Callable[[Axes], object]", name: str, *, title: str, description: str, height: float = _SIZE[1]) -> str:
    """Return a plot as an ``<svg>`` element.

    Parameters
    ----------
    draw
        Function that draws on axes.
    name
        Prefix of all ids, unique in the page.
    title, description
        Texts for screen readers.
    height
        Height in inches.
    """
    import matplotlib
    from matplotlib.figure import Figure

    file = io.StringIO()
    with matplotlib.rc_context(), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing")  # the reader's browser has the fonts
        matplotlib.rcdefaults()  # the page does not depend on the user's settings
        matplotlib.rcParams.update(_STYLE)
        figure = Figure(figsize=(_SIZE[0], height), layout="constrained")
        draw(figure.subplots())
        figure.savefig(file, format="svg", transparent=True, metadata={"Date": None})
    return _embedded(file.getvalue(), name, title, description)


def _embedded(text: str, name: str, title: str, description: str) -> str:
    """Return an SVG file as an element of a page."""
    text = text[text.index("<svg") :]
    text = re.sub(r"\s*<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    text = re.sub(r'(\bid="|href="#|url\(#)', rf"\g<1>{name}-", text)
    text = re.sub(r"font: ([\d.]+px)[^;\"]*", r"font: \1 var(--font, sans-serif)", text)
    for color, variable in COLORS.items():
        text = text.replace(color, f"var(--{variable}, {color})")
    box = re.search(r'viewBox="[^"]*"', text)
    opening = f'<svg {box[0] if box else ""} role="img" aria-labelledby="{name}-title {name}-description">'
    words = (
        f'<title id="{name}-title">{escape(title)}</title><desc id="{name}-description">{escape(description)}</desc>'
    )
    return re.sub(r"<svg[^>]*>", lambda _: opening + words, text, count=1).strip()
