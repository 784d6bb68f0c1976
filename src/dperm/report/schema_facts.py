# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Facts about private preparations that were released apart from the model, each with a guarantee of its own."""

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
"""Key in records for the transformers of the rows of a fit: declared columns, or private releases."""
SCHEMA_STEP = "PrivateTableEncoder"
"""Name of the transformer that releases a schema."""
RELEASED = {
    SCHEMA_STEP: "schema of the columns",
    "PrivateScaler": "scaling of the columns and rows",
    "PrivateBounds": "bounds of the columns",
    "PrivatePCA": "second moment of the rows",
}
"""Released values, by transformer."""
_OTHER = "private preparation"
APART = "The {} was released separately by {}, under {}; {}. The guarantee of the {} does not cover that release."
TOGETHER = "By basic composition (T11), {} together satisfy {}."
NO_SUM = "The guarantees of {} have different forms or neighbouring relations, and are not added here."
UNCHARGED = (
    "The {name} was not charged to the account of the {fit}. The limit of the account does not cover the {short}."
)
_ACCOUNT = ("ledger", "account")
"""Parts of a receipt that identify an account."""
RELEASES_PREPROCESSING = (
    "Before the fit, private preparations were released, each with its own guarantee. Field 11 lists them as "
    "transformers of the rows. Each of them transformed every row independently of the others."
)
RELEASES_STATISTICS = (
    "The fit itself used no statistics of the data except the public quantities in field 11 and the released "
    "preparations."
)
RELEASES_LIMIT = (
    "The guarantee relies on AES-256, on the operating system's random numbers, and on the assumption that the "
    "quantities declared public (field 11) were not derived from the data, except through the private preparations."
)
SCHEMA_PREPROCESSING = (
    "Before the fit, a private preparation found the kinds, ranges, bins and categories of the columns, and the labels "
    "of the target unless they were declared. The preparation read each cell independently of the others. It was a "
    "separate release, with a guarantee of its own."
)
SCHEMA_STATISTICS = (
    "The fit itself used no statistics of the data except the public quantities in field 11 and the released schema."
)
SCHEMA_LIMIT = (
    "The guarantee relies on AES-256, on the operating system's random numbers, and on the assumption that the "
    "quantities declared public (field 11) were not derived from the data, except through the private schema."
)


def private_schemas(record: Record) -> list[Mapping[str, Any]]:
    """Return the preparations with a guarantee of their own, as the record names them; seeded ones have none."""
    found = record.public.get(ENCODERS)
    listed = found if isinstance(found, list) else []
    named = (one for one in listed if isinstance(one, Mapping))
    return [one for one in named if isinstance(one.get("guarantee"), Mapping) and one.get("is_private") is True]


def schema_sentences(record: Record) -> tuple[str, ...]:
    """Return sentences about separate private preparations and the joint guarantee; empty without any."""
    schemas = private_schemas(record)
    if not schemas:
        return ()
    fit = _fit(record)
    single = [
        APART.format(_released(one), one.get("encoder"), _short(one["guarantee"]), _entry(one), fit) for one in schemas
    ]
    total = _total([record.guarantee, *_guarantees(schemas)])
    every = f"the schema and the {fit}" if only_schemas(schemas) else f"these preparations and the {fit}"
    return (
        *single,
        NO_SUM.format(every) if total is None else TOGETHER.format(every, _short(guarantee_as_dict(total))),
    )


def only_schemas(preparations: list[Mapping[str, Any]]) -> bool:
    """Whether schemas are the only private preparations."""
    return all(one.get("encoder") == SCHEMA_STEP for one in preparations)


def _fit(record: Record) -> str:
    """Return the name of the release that the record describes."""
    return "model" if "estimator" in record.public else "present release"


def _released(preparation: Mapping[str, Any]) -> str:
    return RELEASED.get(str(preparation.get("encoder")), _OTHER)


def uncharged_schemas(record: Record) -> str:
    """Return a sentence about preparations that the account of the model does not cover; "" without any.

    It depends on the receipt, so it is not part of the fields that follow from the public facts alone.
    """
    if not record.ledger:
        return ""
    own = [record.ledger.get(name) for name in _ACCOUNT]
    uncharged = [one for one in private_schemas(record) if not _is_charged(one.get("ledger_entry"), own)]
    names = dict.fromkeys(map(_released, uncharged))
    return " ".join(UNCHARGED.format(name=name, fit=_fit(record), short=name.split()[0]) for name in names)


def _is_charged(entry: object, account: list[object]) -> bool:
    return isinstance(entry, Mapping) and [entry.get(name) for name in _ACCOUNT] == account


def _entry(schema: Mapping[str, Any]) -> str:
    entry, digest = schema.get("ledger_entry"), schema.get("schema_digest")
    known = f"digest {schema.get('release_digest')}" if digest is None else f"schema digest {digest}"
    charged = ""
    if isinstance(entry, Mapping):
        account = f" of the account {entry['account']!r}" if entry.get("account") else " of a budget in memory"
        charged = f", entry {entry.get('seq')}{account}"
    return f"{known}{charged}"


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
