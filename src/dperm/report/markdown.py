# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Statement as Markdown: plain-language summary first, then the 31 fields. All text is escaped."""

from collections.abc import Iterator, Mapping

from dperm.presentation.nested_data import markdown_lines, table_of
from dperm.presentation.phrases import capitalize, count_of
from dperm.presentation.tables import escape_markdown
from dperm.report import fields as names
from dperm.report.audits import refutation
from dperm.report.definitions import mathematics
from dperm.report.display import displayed_field, for_display
from dperm.report.field_values import gaps_of, known_part, stated_part
from dperm.report.fields import TIERS, NumberedField, gap_text
from dperm.report.headline import headline_sentences, headline_title
from dperm.report.metric_facts import ROWS
from dperm.report.run_facts import STAGES
from dperm.report.summary import exclusions, guarantee_sentences, heading, key_facts, title_of

_ELSEWHERE = ("event",)
"""Keys shown with the definitions at the end."""
_TABLES = {"mechanism": STAGES, "utility": ROWS}
"""Parts of fields that are shown as tables."""


def markdown(fields: Mapping[str, object]) -> str:
    """Return the page; it ends with a line break."""
    return "\n".join((*_head(fields), *_tiers(fields), *_mathematics(fields))) + "\n"


def _head(fields: Mapping[str, object]) -> Iterator[str]:
    promising, gaps = fields["status"] in names.PROMISING, gaps_of(fields)
    yield from (f"# {heading(fields)}: {escape_markdown(title_of(fields))}", "")
    yield from (f"**{escape_markdown(_status(fields))}**", "", "## Guarantee", "")
    yield from (line for sentence in guarantee_sentences(fields) for line in (escape_markdown(sentence), ""))
    if promising:
        yield from ("## Covered", "", escape_markdown(capitalize(str(fields["covered"]))), "")
        yield from ("## Limitations", "", *(f"- {escape_markdown(line)}" for line in exclusions(fields)), "")
    if gaps:
        titles = ", ".join(f"{names.FIELDS[name]}{_required(name)}" for name in gaps)
        yield from (f"**{count_of(len(gaps), 'gap')} for the curator to fill, marked below:** {titles}.", "")
    facts = (f"- {escape_markdown(name)}: {escape_markdown(text)}" for name, text in key_facts(fields))
    yield from ("## Key facts", "", *facts, "")


def _required(name: str) -> str:
    return " (required)" if name in names.REQUIRED else ""


def _status(fields: Mapping[str, object]) -> str:
    if fields["status"] != names.PRIVATE:
        return f"{names.status_text(fields['status'])} {refutation(fields)}".strip()
    return f"{headline_title(fields)}. {' '.join(headline_sentences(fields))}"


def _tiers(fields: Mapping[str, object]) -> Iterator[str]:
    for tier in TIERS:
        yield from (f"## {tier.title}", "", tier.question, "")
        for item in tier.items:
            yield from _item(item, fields)


def _item(item: NumberedField, fields: Mapping[str, object]) -> Iterator[str]:
    yield from (f"### {item.number}. {item.title}", "")
    for key in item.keys:
        if len(item.keys) > 1:
            yield from (f"*{names.FIELDS[key]}*", "")
        yield from _field(key, displayed_field(fields, key))


def _field(key: str, value: object) -> Iterator[str]:
    known, stated = known_part(key, value), stated_part(key, value)
    if known is not None:
        yield from (*markdown_lines(for_display(key, _without_event(known))), "")
    yield from _table(key, known)
    if stated == names.NOT_STATED:
        yield from (f"**GAP.** {escape_markdown(gap_text(key, known=known is not None))}", "")
    elif stated is not None:
        yield from ("Stated by the curator:", "", *markdown_lines(for_display(key, stated)), "")


def _without_event(known: object) -> object:
    if isinstance(known, Mapping):
        return {name: item for name, item in known.items() if name not in (*_ELSEWHERE, *_TABLES.values())}
    return known


def _table(key: str, known: object) -> Iterator[str]:
    """Yield the stages of a release, or its metrics, as a table; nothing for other fields."""
    part = _TABLES.get(key)
    shown = for_display(key, known) if part is not None and isinstance(known, Mapping) and known.get(part) else {}
    table = table_of(shown.get(part)) if isinstance(shown, Mapping) else None
    if part is not None and table is not None:
        yield from (f"*{capitalize(part)}*", "", table.markdown(), "")


def _mathematics(fields: Mapping[str, object]) -> Iterator[str]:
    yield from ("## Definitions and theorems", "")
    for kind, text in mathematics(fields):
        yield from ((escape_markdown(text), "") if kind == "text" else ("```text", *text.splitlines(), "```", ""))
