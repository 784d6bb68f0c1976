# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Facts about schemas that were released apart from the model, each with a guarantee of its own."""

from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any

from dperm.errors import EventFormatError
from dperm.presentation.numbers import format_up
from dperm.privacy import ApproxDP, PureDP
from dperm.privacy.guarantee import AnyGuarantee, guarantee_as_dict, guarantee_from_dict
from dperm.privacy.record import Record
from dperm.privacy.rounding import round_up
from dperm.report.budget_facts import format_limit

ENCODERS = "encoders"
"""Key in records for the schemas by which the rows of a fit were encoded."""
APART = (
    "The schema of the columns was released separately by PrivateTableEncoder, under {}; {}. The guarantee "
    "of the model does not cover that release."
)
TOGETHER = "By basic composition (T11), the schema and the model together satisfy {}."
NO_SUM = (
    "The guarantees of the schema and the model have different forms or neighbouring relations, and are not added here."
)
UNCHARGED = (
    "The schema of the columns was not charged to the account of the model. The limit of the account does not cover "
    "the schema."
)
_ACCOUNT = ("ledger", "account")
"""Parts of a receipt that identify an account."""
SCHEMA_PREPROCESSING = (
    "Before the fit, a private preparation found the kinds, ranges, bins and categories of the columns, and the labels "
    "of the target unless they were declared. It read each cell independently of the others. It was a separate "
    "release, with a guarantee of its own."
)
SCHEMA_STATISTICS = (
    "The fit itself used no statistics of the data except the public quantities in field 11 and the released schema."
)
SCHEMA_LIMIT = (
    "The guarantee relies on AES-256, on the operating system's random numbers, and on the assumption that the "
    "quantities declared public (field 11) were not derived from the data, except through the private schema."
)


def private_schemas(record: Record) -> list[Mapping[str, Any]]:
    """Return the schemas with a guarantee of their own, as the record names them; seeded ones have none."""
    found = record.public.get(ENCODERS)
    listed = found if isinstance(found, list) else []
    named = (one for one in listed if isinstance(one, Mapping))
    return [one for one in named if isinstance(one.get("guarantee"), Mapping) and one.get("is_private") is True]


def schema_sentences(record: Record) -> tuple[str, ...]:
    """Return sentences about separately released schemas and the joint guarantee; empty without such schemas."""
    schemas = private_schemas(record)
    if not schemas:
        return ()
    single = [APART.format(_short(one["guarantee"]), _entry(one)) for one in schemas]
    total = _total([record.guarantee, *_guarantees(schemas)])
    return (*single, NO_SUM if total is None else TOGETHER.format(_short(guarantee_as_dict(total))))


def uncharged_schemas(record: Record) -> str:
    """Return a sentence about schemas that the account of the model does not cover; "" without such schemas.

    It depends on the receipt, so it is no part of the fields that follow from the public facts alone.
    """
    if not record.ledger:
        return ""
    own = [record.ledger.get(name) for name in _ACCOUNT]
    entries = [one.get("ledger_entry") for one in private_schemas(record)]
    charged = [isinstance(entry, Mapping) and [entry.get(name) for name in _ACCOUNT] == own for entry in entries]
    return "" if all(charged) else UNCHARGED


def _entry(schema: Mapping[str, Any]) -> str:
    entry, digest = schema.get("ledger_entry"), schema.get("schema_digest")
    charged = ""
    if isinstance(entry, Mapping):
        account = f" of the account {entry['account']!r}" if entry.get("account") else " of a budget in memory"
        charged = f", entry {entry.get('seq')}{account}"
    return f"schema digest {digest}{charged}"


def _short(guarantee: Mapping[str, Any]) -> str:
    """Return a guarantee as text, such as "(1, 1e-6)-DP (replace_one)"; kinds without epsilon in full."""
    numbers = [format_up(guarantee[name]) for name in ("epsilon", "delta") if name in guarantee]
    if not numbers:
        return format_limit(guarantee)
    pair = numbers[0] if len(numbers) == 1 else f"({', '.join(numbers)})"
    return f"{pair}-DP ({guarantee.get('adjacency', '')})"


def _guarantees(schemas: list[Mapping[str, Any]]) -> Iterator[AnyGuarantee | None]:
    for one in schemas:
        try:
            yield guarantee_from_dict(one["guarantee"])
        except EventFormatError:
            yield None


def _total(parts: list[AnyGuarantee | None]) -> AnyGuarantee | None:
    """Return the sum of (epsilon, delta) guarantees under one adjacency, rounded up; None for other guarantees."""
    known = [part for part in parts if isinstance(part, PureDP | ApproxDP)]
    if len(known) < len(parts) or len({part.adjacency for part in known}) > 1:
        return None
    epsilon = round_up(sum((Fraction(part.epsilon) for part in known), Fraction(0)))
    deltas = sum((Fraction(part.delta) for part in known if isinstance(part, ApproxDP)), Fraction(0))
    adjacency = known[0].adjacency
    if deltas >= 1:
        return None
    return ApproxDP(epsilon, round_up(deltas), adjacency) if deltas else PureDP(epsilon, adjacency)
