# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Public facts about the release of a private transformer, which the record of a later fit names."""

from collections.abc import Sequence

from dperm.data.encoded import EncodingFacts
from dperm.privacy import Record
from dperm.privacy.guarantee import guarantee_as_dict
from dperm.report.schema_facts import ENCODERS

_ENTRY = ("ledger", "account", "seq", "hash", "digest")
"""Parts of a receipt that identify a ledger entry."""


def release_facts(record: Record, **own: object) -> dict[str, object]:
    """Return guarantee, seed and ledger entry of a release, with the transformer's ``own`` facts.

    Parameters
    ----------
    record
        Record of the release.
    **own
        Digest of the release, and further public facts.
    """
    entry = {name: record.ledger[name] for name in _ENTRY if record.ledger.get(name) is not None}
    return {
        "guarantee": guarantee_as_dict(record.guarantee),
        "is_private": record.is_private,
        "time": record.timestamp,
        "ledger_entry": entry or None,
        **own,
    }


def with_earlier(record_public: dict[str, object], earlier: Sequence[EncodingFacts]) -> dict[str, object]:
    """Return the public facts of a release with the transformers before it, if there are any."""
    listed = [facts.source() for facts in earlier]
    return {**record_public, ENCODERS: listed} if listed else record_public
