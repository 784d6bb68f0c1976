# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""The key facts of a statement: names and short texts."""

from collections.abc import Iterator, Mapping
from typing import Any

from dperm.privacy.protection import is_effective
from dperm.report import fields as words
from dperm.report.accounts import account_of, from_the_top
from dperm.report.audits_in_short import audits_in_short
from dperm.report.headline import ALMOST_ALL, headline
from dperm.report.labels import method_in_words
from dperm.report.ledger_facts import spending_in_words
from dperm.report.limit_changes import changes_of, later, limit_in_words, when_booked
from dperm.report.numbers import percent
from dperm.report.plain import as_mapping, capital, limits_of, receipt_of, uncovered_preparation
from dperm.report.unit import neighbours


def key_facts(fields: Mapping[str, object]) -> list[tuple[str, str]]:
    """(name, text) of what there is to say."""
    return [(name, text) for name, text in _facts(fields) if text]


def _facts(fields: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    public, mechanism = as_mapping(fields["public_quantities"]), as_mapping(fields["mechanism"])
    private, entry = fields["status"] in words.PROMISING, receipt_of(fields)
    refuted = fields["status"] == words.REFUTED
    yield "Promise", _promise(fields)
    yield "Audits", audits_in_short(fields["audit"], as_mapping(fields["parameters"]).get("epsilon"))
    yield "Asked for", "" if private else limits_of(fields["goal"])
    yield from () if refuted else _guesses(fields)
    yield "Protects", _protected(fields, entry) if private and not refuted else "nobody"
    yield "Neighbours", neighbours(fields) if private else ""
    yield "Records", _count(public.get("n"))
    yield "Groups of records", _count(public.get("n_groups"))
    yield "Method", method_in_words(mechanism.get("name", ""))
    yield "Data set", str(entry.get("dataset", ""))
    yield "Booked in", f"{capital(account_of(entry).removeprefix('the '))}, entry {entry.get('seq')}" if entry else ""
    for above in from_the_top(entry):
        kind = "Parent" if above.get("parents") else "Joint limit for a person:"
        yield f"{kind} {account_of(above).removeprefix('the ')} when booked", _parent(above)
    yield _limit_name(entry), _limit(entry, private)
    yield "Time of the run", str(fields["time"]).replace("T", " ").replace("+00:00", " UTC")


def _promise(fields: Mapping[str, object]) -> str:
    said = limits_of(fields["parameters"]) or str(fields["flavour"])
    if uncovered_preparation(fields) and fields["status"] == words.PRIVATE:
        return f"{said} for the fit alone; the preparation of the data is NOT COVERED"
    refuted = f"REFUTED: {said} was claimed, and is not true"
    return {words.PRIVATE: said, words.REFUTED: refuted}.get(str(fields["status"]), "none: NOT PRIVATE")


def _count(number: object) -> str:
    return f"{number:,}" if isinstance(number, int) else ""


def _limit_name(entry: Mapping[str, Any]) -> str:
    return f"Limit of {account_of(entry).removeprefix('the ')} when booked"


def _limit(entry: Mapping[str, Any], private: bool) -> str:
    """The limit as the receipt knows it, and what may have become of it."""
    if not entry.get("limit"):
        return ""
    parts = (
        f"{limit_in_words(as_mapping(entry['limit']))} {when_booked(entry)}",
        "it was changed after the account was opened" if changes_of(entry) else "",
        later(entry),
        "" if private else "nothing is promised for this release, the limit is about the others",
    )
    return "; ".join(part for part in parts if part)


def _protected(fields: Mapping[str, object], entry: Mapping[str, Any]) -> str:
    proved, unit = str(fields["unit_of_privacy"]).partition(".")[0], entry.get("unit")
    return f"{proved} (declared unit: {unit})" if unit and unit != proved else proved


def _parent(entry: Mapping[str, Any]) -> str:
    return f"limit {limit_in_words(as_mapping(entry.get('limit')))}; spent: {spending_in_words(entry)}"


def _guesses(fields: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    """The attacker's success with its baseline, for this release and for all releases of the covering account."""
    found = headline(fields)
    if found.release is not None:
        yield "An attacker's best guess", _guess(found.release.success)
    if found.together is not None:
        yield f"With everything charged to {found.covering}", _guess(found.together.success)


def _guess(success: float) -> str:
    if not is_effective(success):
        return f"right {ALMOST_ALL} of the time, instead of 50 % by guessing: no effective limit"
    return f"right at most {percent(success)} of the time, instead of 50 % by guessing"
