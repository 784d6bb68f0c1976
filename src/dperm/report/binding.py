# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Digest of the facts in a statement that are known before the data are read.

The reservation in a ledger holds this digest, so that an edit of these facts in a statement contradicts the ledger.
They include the preparation that the guarantee does not cover, and the limits of the claim.
"""

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from dperm.privacy.record import Record
from dperm.report.field_values import as_mapping, known_part
from dperm.report.run_facts import run_facts

STATEMENT = "statement"
"""Name of the digest among the facts of a reservation."""
BOUND_FIELDS = (
    *("public_quantities", "mechanism", "covered", "preprocessing", "nonprivate_statistics", "reasons"),
    *("contribution_bound", "limits"),
)
"""Fields of a statement that the digest covers, without the user's own statements beside them."""
_NAMED_LATER = ("columns", "schema_digest")
"""Public facts that a schema adds when the model is written; the digest of the schema binds them."""


def release_digest(record: Record) -> str:
    """Return the digest of the bound facts of a release, from its record as planned."""
    return _digest(run_facts(record))


def statement_digest(fields: Mapping[str, Any]) -> str:
    """Return the digest of the bound facts in the fields of a statement."""
    return _digest({name: known_part(name, fields.get(name)) for name in BOUND_FIELDS})


def _digest(known: Mapping[str, Any]) -> str:
    bound = {name: known.get(name) for name in BOUND_FIELDS}
    for name in ("public_quantities", "mechanism"):
        bound[name] = {key: value for key, value in as_mapping(bound[name]).items() if key not in _NAMED_LATER}
    text = json.dumps(["dperm statement", bound], sort_keys=True, separators=(",", ":"))
    return f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"
