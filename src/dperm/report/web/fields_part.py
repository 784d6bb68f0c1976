# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""The 31 fields, tier by tier: what is known, what is stated, and the gaps; details behind folds."""

from collections.abc import Mapping
from html import escape

from dperm.report import fields as words
from dperm.report.numbers import as_text, rounded_up
from dperm.report.stated import known_part, stated_part
from dperm.report.tiers import TIERS, Item, Tier, gap_text
from dperm.report.web.head import NEIGHBOURS
from dperm.report.web.values import Number, fold, value_html

SHOWN = {
    "mechanism": ("name", "loss", "regularization", "clip"),
    "accountant": ("name", "error"),
    "profile": ("gdp_mu", "advantage", "epsilons"),
    "noise_source": ("law", "grade"),
    "public_quantities": ("assumptions", "estimator", "n", "n_features", "classes", "label_range"),
    "ledger_entry": ("ledger", "account", "seq", "hash", "request_id", "dataset", "unit", "limit"),
}
"""What is shown at once of long fields; the rest is behind a fold."""

ELSEWHERE = ("event",)
"""What the fold with the mathematics shows."""

_NUMBERS: dict[str, Number] = {
    "parameters": rounded_up,
    "goal": rounded_up,
    "profile": rounded_up,
    "ledger_entry": repr,
}
"""Ceilings are rounded up, and what is booked is not rounded."""


def tiers_html(fields: Mapping[str, object]) -> str:
    """All tiers."""
    return "".join(_tier(tier, fields) for tier in TIERS)


def _tier(tier: Tier, fields: Mapping[str, object]) -> str:
    items = "".join(_item(item, fields) for item in tier.items)
    return (
        f'<h3>{escape(tier.title)}</h3><p class="question">{escape(tier.question)}</p><dl class="fields">{items}</dl>'
    )


def _item(item: Item, fields: Mapping[str, object]) -> str:
    several = len(item.keys) > 1
    content = "".join(
        (f'<p class="part">{escape(words.FIELDS[key])}</p>' if several else "") + _field(key, fields[key])
        for key in item.keys
    )
    number = f'<span class="number">{item.number}</span>'
    return f'<div id="field-{item.number}"><dt>{number} {escape(item.title)}</dt><dd>{content}</dd></div>'


def _field(key: str, value: object) -> str:
    known, stated = known_part(key, value), stated_part(key, value)
    parts = [] if known is None else [_known(key, known)]
    if stated == words.NOT_STATED:
        parts.append(f'<p class="gap" data-gap="{key}"><strong>Gap.</strong> {escape(gap_text(key))}</p>')
    elif stated is not None:
        parts.append(f'<div class="stated"><span class="by">Stated by the user</span>{value_html(stated)}</div>')
    return "".join(parts)


def _known(key: str, value: object) -> str:
    number = _NUMBERS.get(key, as_text)
    if key == "adjacency":
        return f"<p>{escape(NEIGHBOURS.get(str(value), str(value)))}</p>"
    if key not in SHOWN or not isinstance(value, Mapping):
        return _as_block(value_html(value, number))
    shown = {name: value[name] for name in SHOWN[key] if value.get(name) is not None}
    rest = {name: item for name, item in value.items() if name not in shown and name not in ELSEWHERE}
    folded = fold("Show all details", value_html(rest, number), kind="more") if rest else ""
    return value_html(shown, number) + folded


def _as_block(html: str) -> str:
    return html if html.startswith(("<dl", "<ul", "<div")) else f"<p>{html}</p>"
