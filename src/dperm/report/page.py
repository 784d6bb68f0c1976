# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""The statement as one page of HTML that stands alone: no request, no script; it opens from disk, and prints."""

from html import escape
from importlib.resources import files

from dperm.privacy.profile import PrivacyProfile
from dperm.report.mathematics import mathematics
from dperm.report.plain import heading, title_of
from dperm.report.statement import Statement
from dperm.report.web import head
from dperm.report.web.fields_part import tiers_html
from dperm.report.web.figures import figures_html
from dperm.report.web.values import fold

POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
"""Browsers are told to load nothing and to run nothing."""


def page(statement: Statement, profile: PrivacyProfile | None = None) -> str:
    """One self-contained HTML page, plain words first, mathematics and JSON behind folds.

    Parameters
    ----------
    statement
        What is said.
    profile
        The whole curve of the release, such as ``model.profile_``, from which two of the plots are drawn. Plots need
        matplotlib; without it there are tables.
    """
    fields = statement.fields
    title = title_of(fields)
    kind = heading(fields)
    body = _body(statement, profile, title)
    return (
        f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>{escape(kind)}: {escape(title)}</title>'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<meta name="color-scheme" content="light dark"><meta name="referrer" content="no-referrer">'
        f'<style>{_style()}</style></head><body class="{_class(statement)}">'
        f"{body}</body></html>\n"
    )


def _class(statement: Statement) -> str:
    return "private" if statement.is_private else "refuted" if statement.is_refuted else "not-private"


def _body(statement: Statement, profile: PrivacyProfile | None, title: str) -> str:
    fields = statement.fields
    figures = figures_html(fields, profile if statement.is_private else None)
    parts = (
        f'<header><p class="eyebrow">Privacy statement</p><h1>{escape(title)}</h1></header><main>',
        head.status_html(fields),
        '<div class="top"><section class="plain"><h2>What is promised</h2>',
        head.promise_html(fields),
        head.covered_html(fields),
        head.gaps_html(fields),
        '</section><aside class="card" aria-labelledby="facts"><h2 id="facts">Key facts</h2>',
        head.card_html(fields),
        "</aside></div>",
        f"<section><h2>In pictures</h2>{figures}</section>" if figures else "",
        f"<section><h2>All fields</h2>{tiers_html(fields)}</section>",
        "<section><h2>For specialists</h2>",
        fold("The mathematics", "".join(_mathematics_html(*part) for part in mathematics(fields)), kind="panel"),
        fold("Machine-readable: JSON", f"<pre>{escape(statement.to_json(indent=1))}</pre>", kind="panel json"),
        "</section></main>",
        f"<footer><p>{escape(_FOOTER)}</p></footer>",
    )
    return "".join(parts)


_FOOTER = (
    "This page loads nothing and runs no script. Epsilon, delta, limits, what was spent and what an attacker can do "
    "are rounded up, what is left is rounded down, other long numbers to six digits; the JSON has every digit."
)


def _mathematics_html(kind: str, text: str) -> str:
    if kind == "code":
        return f"<pre>{escape(text)}</pre>"
    return f'<p class="formula">{escape(text)}</p>' if kind == "formula" else f"<p>{escape(text)}</p>"


def _style() -> str:
    return files("dperm.report.web").joinpath("style.css").read_text(encoding="utf-8")
