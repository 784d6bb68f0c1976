# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""The 31 fields, tier by tier: what is known, what is stated, and the gaps; details behind folds."""

from collections.abc import Mapping
from html import escape

from dperm.report import fields as words
from dperm.report.presented import is_empty, presented
from dperm.report.stated import known_part, stated_part
from dperm.report.tiers import TIERS, Item, Tier, gap_text
from dperm.report.unit import neighbours
from dperm.report.web.values import fold, value_html

_CHANGES = ("opening_limit", "limit_changes")
SHOWN = {
    "mechanism": ("name", "loss", "regularization", "clip", "clip_norm", "batch_size", "groups_in_a_batch"),
    "accountant": ("name", "error"),
    "profile": ("gdp_mu", "advantage", "epsilons"),
    "noise_source": ("law", "grade"),
    "public_quantities": (
        *("assumptions", "assumed_public", "estimator", "model", "trained_parameters", "n", "n_groups"),
        *("records_per_group", "n_features", "classes", "label_range"),
    ),
    "ledger_entry": ("ledger", "account", "seq", "hash", "dataset", "unit", "limit", *_CHANGES),
}
"""What is shown at once of long fields; the rest is behind a fold."""

ELSEWHERE = ("event",)
"""What the fold with the mathematics shows."""

FIRST_ONLY = ("reasons",)
"""Lists of which the first item is for everybody, and the rest for specialists."""


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
        (f'<p class="part">{escape(words.FIELDS[key])}</p>' if several else "")
        + _field(key, neighbours(fields) if key == "adjacency" else fields[key])
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
        parts.append(f'<div class="stated"><span class="by">Stated by the curator</span>{_shown(key, stated)}</div>')
    return "".join(parts)


def _known(key: str, value: object) -> str:
    if isinstance(value, list) and value and key in FIRST_ONLY:
        return _as_block(_shown(key, value[0])) + _rest(key, value[1:])
    if key not in SHOWN or not isinstance(value, Mapping):
        return _as_block(_shown(key, value))
    shown = {name: value[name] for name in SHOWN[key] if not is_empty(value.get(name))}
    rest = {name: item for name, item in value.items() if name not in (*shown, *ELSEWHERE) and not is_empty(item)}
    return _shown(key, shown) + _rest(key, rest)


def _rest(key: str, rest: object) -> str:
    return fold("Show all details", _shown(key, rest), kind="more") if rest else ""


def _shown(key: str, value: object) -> str:
    return value_html(presented(key, value))


def _as_block(html: str) -> str:
    return html if html.startswith(("<dl", "<ul", "<div")) else f"<p>{html}</p>"
