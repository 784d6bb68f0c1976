# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Plots as SVG inside a page: described for those who cannot see them, in the colours of the page, always the same."""

import io
import re
import warnings
from collections.abc import Callable
from html import escape
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from dperm.report.palette import COLORS, INK, LINE

if TYPE_CHECKING:
    from matplotlib.axes import Axes

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
"""Inches: small, so that letters stay large where the page is narrow."""


def can_draw() -> bool:
    """Whether matplotlib is installed."""
    try:
        return find_spec("matplotlib") is not None
    except ValueError:  # a module without a spec stands for it
        return False


def svg(draw: "Callable[[Axes], object]", name: str, *, title: str, description: str, height: float = _SIZE[1]) -> str:
    """The ``<svg>`` element of what ``draw`` draws; ``name`` begins all of its ids, which are unique in a page."""
    import matplotlib
    from matplotlib.figure import Figure

    file = io.StringIO()
    with matplotlib.rc_context(), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing")  # letters are those of the reader's browser
        matplotlib.rcdefaults()  # whatever the user has set, a page is always the same
        matplotlib.rcParams.update(_STYLE)
        figure = Figure(figsize=(_SIZE[0], height), layout="constrained")
        draw(figure.subplots())
        figure.savefig(file, format="svg", transparent=True, metadata={"Date": None})
    return _embedded(file.getvalue(), name, title, description)


def _embedded(text: str, name: str, title: str, description: str) -> str:
    """A whole file of SVG as an element of a page."""
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
