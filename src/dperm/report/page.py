# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Privacy statement as a self-contained HTML page, for the screen and for printing.

The page loads no external resources and runs no script. All text of the statement is escaped.
"""

from collections.abc import Mapping
from html import escape
from importlib.resources import files

from dperm.presentation.nested_data import html_definitions, html_details, html_text, html_value
from dperm.presentation.phrases import capitalize, count_of
from dperm.privacy.profile import PrivacyProfile
from dperm.report import fields as names
from dperm.report.audits import refutation
from dperm.report.definitions import mathematics
from dperm.report.display import DECLARED_COUNTS, displayed_field, for_display, is_empty
from dperm.report.field_values import gaps_of, known_part, stated_part
from dperm.report.fields import ITEMS, TIERS, NumberedField, Tier, gap_text
from dperm.report.figures import figures_html
from dperm.report.headline import headline, headline_sentences, headline_title
from dperm.report.statement import Statement
from dperm.report.summary import exclusions, guarantee_sentences, heading, key_facts, title_of

POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
"""Content security policy, under which browsers load no external resources and run no scripts."""
FOOTER = (
    "This page loads no external resources and runs no script. Upper bounds (epsilon, delta, limits, spending, success "
    "of attacks) are rounded up, and remaining amounts are rounded down. Other numbers are shown to six "
    "significant digits; the JSON has full precision."
)
_LIMIT_CHANGES = ("opening_limit", "limit_changes")
SHOWN = {
    "mechanism": ("name", "stages", "loss", "regularization", "clip", "clip_norm", "batch_size", "groups_in_a_batch"),
    "accountant": ("name", "error"),
    "profile": ("gdp_mu", "advantage", "epsilons"),
    "noise_source": ("law", "grade"),
    "public_quantities": (
        *("assumptions", "assumed_public", "estimator", "model", "trained_parameters", "n", "n_groups"),
        *(*DECLARED_COUNTS.values(), "records_per_group", "n_features", "classes", "label_range"),
    ),
    "ledger_entry": ("ledger", "account", "seq", "hash", "dataset", "unit", "limit", *_LIMIT_CHANGES),
}
"""Keys of long fields that are always visible; the others are folded."""
ELSEWHERE = ("event",)
"""Keys shown with the definitions and theorems."""
FIRST_ONLY = ("reasons",)
"""Lists whose first item is for all readers; the others are folded."""


def page(statement: Statement, profile: PrivacyProfile | None = None) -> str:
    """Return a privacy statement as a self-contained HTML page.

    The page starts with a summary in plain language. It ends with collapsed sections for definitions and JSON.

    Parameters
    ----------
    statement
        Statement to show.
    profile
        Privacy profile of the release, such as ``model.profile_``. Two of the plots need this profile; None leaves them
        out. If matplotlib is not installed, tables replace all plots.

    Returns
    -------
    str
        A complete HTML document.
    """
    title, kind = title_of(statement.fields), heading(statement.fields)
    return document(f"{kind}: {title}", _body(statement, profile, title), kind=_class(statement))


def document(title: str, body: str, *, kind: str) -> str:
    """Return a self-contained HTML document in the style of a statement.

    Parameters
    ----------
    title
        Title of the document; escaped here.
    body
        Finished HTML.
    kind
        "private", "refuted" or "not-private", which sets colors.
    """
    return (
        f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<meta name="color-scheme" content="light dark"><meta name="referrer" content="no-referrer">'
        f'<style>{_style()}</style></head><body class="{kind}">'
        f"{body}</body></html>\n"
    )


def _class(statement: Statement) -> str:
    return "private" if statement.is_private else "refuted" if statement.is_refuted else "not-private"


def _style() -> str:
    return files("dperm.report").joinpath("style.css").read_text(encoding="utf-8")


def _body(statement: Statement, profile: PrivacyProfile | None, title: str) -> str:
    fields = statement.fields
    figures = figures_html(fields, profile if statement.is_private else None)
    formulas = "".join(_mathematics_html(*part) for part in mathematics(fields))
    parts = (
        f'<header><p class="eyebrow">Privacy statement</p><h1>{escape(title)}</h1></header><main>',
        _status_html(fields),
        '<div class="top"><section class="plain"><h2>Guarantee</h2>',
        "".join(f"<p>{html_text(sentence)}</p>" for sentence in guarantee_sentences(fields)),
        _covered_html(fields),
        _gaps_html(fields),
        '</section><aside class="card" aria-labelledby="facts"><h2 id="facts">Key facts</h2>',
        html_definitions((name, html_text(text)) for name, text in key_facts(fields)),
        "</aside></div>",
        f"<section><h2>Plots</h2>{figures}</section>" if figures else "",
        f"<section><h2>All fields</h2>{''.join(_tier_html(tier, fields) for tier in TIERS)}</section>",
        "<section><h2>For specialists</h2>",
        html_details("Definitions and theorems", formulas, kind="panel"),
        html_details("Machine-readable: JSON", f"<pre>{escape(statement.to_json(indent=1))}</pre>", kind="panel json"),
        "</section></main>",
        f"<footer><p>{escape(FOOTER)}</p></footer>",
    )
    return "".join(parts)


def _mathematics_html(kind: str, text: str) -> str:
    if kind == "code":
        return f"<pre>{escape(text)}</pre>"
    return f'<p class="formula">{escape(text)}</p>' if kind == "formula" else f"<p>{escape(text)}</p>"


def _status_html(fields: Mapping[str, object]) -> str:
    """Return the banner with the status, in the color of the protection level."""
    if fields["status"] == names.PRIVATE:
        level = headline(fields).level.replace(" ", "-")
        first, *rest = map(html_text, headline_sentences(fields))
        lines = "".join(f"<li>{line}</li>" for line in (f"<strong>{first}</strong>", *rest))
        return f'<div class="status {level}"><p class="word">{escape(_banner(fields))}</p><ul>{lines}</ul></div>'
    word, _, reason = names.status_text(fields["status"]).partition(": ")
    verdict = f" <strong>{html_text(refutation(fields))}</strong>" if refutation(fields) else ""
    return (
        f'<div class="status bad"><p class="word">{escape(word)}</p><p>{escape(capitalize(reason))}{verdict}</p></div>'
    )


def _banner(fields: Mapping[str, object]) -> str:
    """Return the title of the banner; a title of several sentences ends with a full stop."""
    title = headline_title(fields)
    return f"{title}." if ". " in title else title


def _covered_html(fields: Mapping[str, object]) -> str:
    """Return the scope of the guarantee and its exclusions; empty without a guarantee."""
    if fields["status"] not in names.PROMISING:
        return ""
    items = "".join(f"<li>{html_text(line)}</li>" for line in exclusions(fields))
    covered = f"<h2>Covered</h2><p>{escape(capitalize(str(fields['covered'])))}</p>"
    return f"{covered}<h2>Limitations</h2><ul>{items}</ul>"


def _gaps_html(fields: Mapping[str, object]) -> str:
    """Return links to the gaps of the curator; empty without gaps."""
    gaps = gaps_of(fields)
    if not gaps:
        return ""
    numbers = {key: item.number for item in ITEMS for key in item.keys}
    links = ", ".join(_gap_link(key, numbers[key]) for key in gaps)
    count = f"{count_of(len(gaps), 'gap')} for the curator to fill:"
    return f'<div class="gaps"><p><strong>{count}</strong> {links}.</p></div>'


def _gap_link(key: str, number: int) -> str:
    required = " (required)" if key in names.REQUIRED else ""
    return f'<a href="#field-{number}">{escape(names.FIELDS[key])}</a>{required}'


def _tier_html(tier: Tier, fields: Mapping[str, object]) -> str:
    items = "".join(_item_html(item, fields) for item in tier.items)
    question = f'<p class="question">{escape(tier.question)}</p>'
    return f'<h3>{escape(tier.title)}</h3>{question}<dl class="fields">{items}</dl>'


def _item_html(item: NumberedField, fields: Mapping[str, object]) -> str:
    several = len(item.keys) > 1
    content = "".join(
        (f'<p class="part">{escape(names.FIELDS[key])}</p>' if several else "")
        + _field_html(key, displayed_field(fields, key))
        for key in item.keys
    )
    number = f'<span class="number">{item.number}</span>'
    return f'<div id="field-{item.number}"><dt>{number} {escape(item.title)}</dt><dd>{content}</dd></div>'


def _field_html(key: str, value: object) -> str:
    known, stated = known_part(key, value), stated_part(key, value)
    parts = [] if known is None else [_known_html(key, known)]
    if stated == names.NOT_STATED:
        hint = escape(gap_text(key, known=known is not None))
        parts.append(f'<p class="gap" data-gap="{key}"><strong>Gap.</strong> {hint}</p>')
    elif stated is not None:
        parts.append(
            f'<div class="stated"><span class="by">Stated by the curator</span>{_value_html(key, stated)}</div>'
        )
    return "".join(parts)


def _known_html(key: str, value: object) -> str:
    if isinstance(value, list) and value and key in FIRST_ONLY:
        return _as_block(_value_html(key, value[0])) + _folded(key, value[1:])
    if key not in SHOWN or not isinstance(value, Mapping):
        return _as_block(_value_html(key, value))
    visible = {name: value[name] for name in SHOWN[key] if not is_empty(value.get(name))}
    rest = {name: item for name, item in value.items() if name not in (*visible, *ELSEWHERE) and not is_empty(item)}
    return _value_html(key, visible) + _folded(key, rest)


def _folded(key: str, rest: object) -> str:
    return html_details("Show all details", _value_html(key, rest), kind="more") if rest else ""


def _value_html(key: str, value: object) -> str:
    return html_value(for_display(key, value))


def _as_block(html: str) -> str:
    return html if html.startswith(("<dl", "<ul", "<div")) else f"<p>{html}</p>"
