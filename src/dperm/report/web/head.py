# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""The head of the page, in plain words: status, promise, what is not covered, key facts, gaps."""

from collections.abc import Mapping
from html import escape

from dperm.report import fields as words
from dperm.report.audits_in_short import refutation
from dperm.report.headline import headline, headline_sentences, headline_title
from dperm.report.key_facts import key_facts
from dperm.report.plain import capital, not_covered, promised
from dperm.report.stated import gaps_of
from dperm.report.tiers import ITEMS
from dperm.report.web.values import definitions, text_html


def status_html(fields: Mapping[str, object]) -> str:
    """Private or not, so that nobody can miss it."""
    if fields["status"] == words.PRIVATE:
        level = headline(fields).level.replace(" ", "-")
        first, *rest = map(text_html, headline_sentences(fields))
        lines = "".join(f"<li>{line}</li>" for line in (f"<strong>{first}</strong>", *rest))
        return f'<div class="status {level}"><p class="word">{escape(headline_title(fields))}</p><ul>{lines}</ul></div>'
    word, _, why = str(fields["status"]).partition(": ")
    said = escape(capital(why)) + (f" <strong>{text_html(refutation(fields))}</strong>" if refutation(fields) else "")
    return f'<div class="status bad"><p class="word">{escape(word)}</p><p>{said}</p></div>'


def promise_html(fields: Mapping[str, object]) -> str:
    """What is promised, in sentences."""
    return "".join(f"<p>{text_html(sentence)}</p>" for sentence in promised(fields))


def covered_html(fields: Mapping[str, object]) -> str:
    """What is covered, and what is not; nothing where nothing is promised."""
    if fields["status"] not in words.PROMISING:
        return ""
    items = "".join(f"<li>{text_html(line)}</li>" for line in not_covered(fields))
    covered = f"<h2>What is covered</h2><p>{escape(capital(str(fields['covered'])))}</p>"
    return f"{covered}<h2>What is not covered</h2><ul>{items}</ul>"


def card_html(fields: Mapping[str, object]) -> str:
    """The key facts."""
    return definitions((name, text_html(text)) for name, text in key_facts(fields))


def _gap_link(key: str, number: int) -> str:
    required = " (required)" if key in words.REQUIRED else ""
    return f'<a href="#field-{number}">{escape(words.FIELDS[key])}</a>{required}'


def gaps_html(fields: Mapping[str, object]) -> str:
    """Which fields wait for the user, with links to them; nothing if none does."""
    gaps = gaps_of(fields)
    if not gaps:
        return ""
    numbers = {key: item.number for item in ITEMS for key in item.keys}
    links = ", ".join(_gap_link(key, numbers[key]) for key in gaps)
    count = "One gap" if len(gaps) == 1 else f"{len(gaps)} gaps"
    return f'<div class="gaps"><p><strong>{count} that only the curator can fill:</strong> {links}.</p></div>'
