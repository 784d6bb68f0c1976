# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""A statement as Markdown: plain words first, then the 31 fields; everything that comes from outside is escaped."""

import re
from collections.abc import Iterator, Mapping

from dperm.report import fields as words
from dperm.report.audits_in_short import refutation
from dperm.report.headline import headline_sentences, headline_title
from dperm.report.key_facts import key_facts
from dperm.report.mathematics import mathematics
from dperm.report.plain import capital, heading, not_covered, promised, title_of
from dperm.report.presented import presented
from dperm.report.stated import gaps_of, known_part, stated_part
from dperm.report.text import is_short
from dperm.report.tiers import TIERS, Item, gap_text
from dperm.report.unit import neighbours

_SPECIAL = re.compile(r"([\\`*_{}\[\]<>#|~!&])")
_OPENING = re.compile(r"^(\d+[.)]|[-+])(?=\s|$)")
"""What would begin a list."""
_ELSEWHERE = ("event",)
"""What the mathematics at the end show."""


def markdown(fields: Mapping[str, object]) -> str:
    """The page; it ends with a line break."""
    return "\n".join((*_head(fields), *_tiers(fields), *_mathematics(fields))) + "\n"


def escaped(text: object) -> str:
    """Text that Markdown shows as it is, on one line."""
    one_line = _SPECIAL.sub(r"\\\1", " ".join(str(text).split()))
    return _OPENING.sub(lambda found: found[0][:-1] + "\\" + found[0][-1], one_line)


def _head(fields: Mapping[str, object]) -> Iterator[str]:
    promising, gaps = fields["status"] in words.PROMISING, gaps_of(fields)
    yield from (f"# {heading(fields)}: {escaped(title_of(fields))}", "")
    yield from (f"**{escaped(_status(fields))}**", "", "## What is promised", "")
    yield from (line for sentence in promised(fields) for line in (escaped(sentence), ""))
    if promising:
        yield from ("## What is covered", "", escaped(capital(str(fields["covered"]))), "")
        yield from ("## What is not covered", "", *(f"- {escaped(line)}" for line in not_covered(fields)), "")
    if gaps:
        names = ", ".join(f"{words.FIELDS[name]}{_required(name)}" for name in gaps)
        yield from (f"**Gaps that only the curator can fill, {len(gaps)}, marked below:** {names}.", "")
    yield from ("## Key facts", "", *(f"- {escaped(name)}: {escaped(text)}" for name, text in key_facts(fields)), "")


def _required(name: str) -> str:
    return " (required)" if name in words.REQUIRED else ""


def _status(fields: Mapping[str, object]) -> str:
    if fields["status"] != words.PRIVATE:
        return f"{fields['status']} {refutation(fields)}".strip()
    return f"{headline_title(fields)}. {' '.join(headline_sentences(fields))}"


def _tiers(fields: Mapping[str, object]) -> Iterator[str]:
    for tier in TIERS:
        yield from (f"## {tier.title}", "", tier.question, "")
        for item in tier.items:
            yield from _item(item, fields)


def _item(item: Item, fields: Mapping[str, object]) -> Iterator[str]:
    yield from (f"### {item.number}. {item.title}", "")
    for key in item.keys:
        if len(item.keys) > 1:
            yield from (f"*{words.FIELDS[key]}*", "")
        yield from _field(key, neighbours(fields) if key == "adjacency" else fields[key])


def _field(key: str, value: object) -> Iterator[str]:
    known, stated = known_part(key, value), stated_part(key, value)
    if known is not None:
        yield from (*_block(presented(key, _shortened(known)), ""), "")
    if stated == words.NOT_STATED:
        yield from (f"**GAP.** {escaped(gap_text(key))}", "")
    elif stated is not None:
        yield from ("Stated by the curator:", "", *_block(presented(key, stated), ""), "")


def _shortened(known: object) -> object:
    if isinstance(known, Mapping):
        return {name: item for name, item in known.items() if name not in _ELSEWHERE}
    return known


def _block(value: object, indent: str) -> Iterator[str]:
    """A value in lines of its own: items of mappings and lists after dashes."""
    if isinstance(value, Mapping):
        for name, item in value.items():
            yield from _entry(f"{indent}- {escaped(name)}:", item, indent)
    elif isinstance(value, list) and _in_line(value) is None:
        for item in value:
            yield from _entry(f"{indent}-", item, indent)
    else:
        yield f"{indent}{escaped(_in_line(value))}"


def _entry(start: str, value: object, indent: str) -> Iterator[str]:
    line = _in_line(value)
    if line is None and isinstance(value, Mapping) and start.endswith("-"):
        line = _row(value)
    if line is None and isinstance(value, Mapping) and start.endswith("-"):
        first, *rest = _block(value, f"{indent}  ")
        yield from (f"{start} {first.strip().removeprefix('- ')}", *rest)
    elif line is None:
        yield start
        yield from _block(value, f"{indent}  ")
    else:
        yield f"{start} {escaped(line)}"


def _in_line(value: object) -> str | None:
    """A value that needs no lines of its own; None for others."""
    if isinstance(value, list):
        lists = all(isinstance(item, list) and is_short(item) for item in value)
        if lists:
            return ", ".join(f"[{', '.join(map(str, item))}]" for item in value)
        return ", ".join(map(str, value)) if is_short(value) else None
    return None if isinstance(value, Mapping) else str(value)


def _row(value: Mapping[str, object]) -> str | None:
    """An item of a list in one line: "epsilon: 1, delta: 1e-6"."""
    flat = not any(isinstance(part, Mapping | list) for part in value.values())
    return ", ".join(f"{name}: {part}" for name, part in value.items()) if flat else None


def _mathematics(fields: Mapping[str, object]) -> Iterator[str]:
    yield from ("## The mathematics", "")
    for kind, text in mathematics(fields):
        yield from ((escaped(text), "") if kind == "text" else ("```text", *text.splitlines(), "```", ""))
