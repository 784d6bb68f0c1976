# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""A statement as Markdown: plain words first, then the 31 fields; everything that comes from outside is escaped."""

import re
from collections.abc import Iterator, Mapping

from dperm.report import fields as words
from dperm.report.stated import gaps_of, known_part, stated_part
from dperm.report.text import in_line, is_short
from dperm.report.tiers import TIERS, Item, gap_text

_SPECIAL = re.compile(r"([\\`*_{}\[\]<>#|~!&])")
_OPENING = re.compile(r"^(\d+[.)]|[-+])(?=\s|$)")
"""What would begin a list."""


def markdown(fields: Mapping[str, object]) -> str:
    """The page; it ends with a line break."""
    return "\n".join(_page(fields)) + "\n"


def escaped(text: object) -> str:
    """Text that Markdown shows as it is, on one line."""
    one_line = _SPECIAL.sub(r"\\\1", " ".join(str(text).split()))
    return _OPENING.sub(lambda found: found[0][:-1] + "\\" + found[0][-1], one_line)


def _page(fields: Mapping[str, object]) -> Iterator[str]:
    gaps, meaning = gaps_of(fields), fields["meaning"]
    yield from ("# Privacy statement", "", f"**{escaped(fields['status'])}**", "")
    if isinstance(meaning, list):
        yield from (line for sentence in meaning for line in (escaped(sentence), ""))
    yield from (f"What is covered: {escaped(fields['covered'])}", "")
    if gaps:
        names = ", ".join(words.FIELDS[name] for name in gaps)
        yield from (f"**{len(gaps)} gaps, marked below, can be filled by the user alone:** {names}.", "")
    for tier in TIERS:
        yield from (f"## {tier.title}", "", tier.question, "")
        for item in tier.items:
            yield from _item(item, fields)


def _item(item: Item, fields: Mapping[str, object]) -> Iterator[str]:
    yield from (f"### {item.number}. {item.title}", "")
    for key in item.keys:
        if len(item.keys) > 1:
            yield from (f"*{words.FIELDS[key]}*", "")
        yield from _field(key, fields[key])


def _field(key: str, value: object) -> Iterator[str]:
    known, stated = known_part(key, value), stated_part(key, value)
    if known is not None:
        yield from (*_block(known, ""), "")
    if stated == words.NOT_STATED:
        yield from (f"**GAP.** {escaped(gap_text(key))}", "")
    elif stated is not None:
        yield from ("Stated by the user:", "", *_block(stated, ""), "")


def _block(value: object, indent: str) -> Iterator[str]:
    """A value in lines of its own: items of mappings and lists after dashes."""
    if isinstance(value, Mapping) and value:
        for name, item in value.items():
            yield from _entry(f"{indent}- {escaped(name)}:", item, indent)
    elif isinstance(value, list | tuple) and not is_short(value):
        for item in value:
            yield from _entry(f"{indent}-", item, indent)
    else:
        yield f"{indent}{escaped(in_line(value))}"


def _entry(start: str, value: object, indent: str) -> Iterator[str]:
    nested = bool(value) if isinstance(value, Mapping) else isinstance(value, list | tuple) and not is_short(value)
    if nested:
        yield start
        yield from _block(value, f"{indent}  ")
    else:
        yield f"{start} {escaped(in_line(value))}"
