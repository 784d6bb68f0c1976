# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Digest of the public facts of a fit, which binds its statement to its ledger entry.

The reservation in a ledger holds the digest of the public facts in the record. A statement repeats these facts in the
fields "public_quantities", "mechanism" and "reasons", so an edit there contradicts the ledger. The digest covers facts
and no sentences of the statement: a later version may word the sentences in another way.
"""

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from dperm.report.field_values import as_mapping, known_part, uncovered_parts
from dperm.report.fields import DECLARED, UNCOVERED_SCORES
from dperm.report.run_facts import SCORES, TRANSFORMERS

PUBLIC_FACTS = "public_facts"
"""Name of the digest among the facts of a reservation."""
BOUND_FIELDS = ("public_quantities", "mechanism", "reasons")
"""Fields of a statement with the public facts, in addition to the user's own statements."""
NAMED_LATER = ("columns", "schema_digest")
"""Facts that a schema adds when the model is written; the digest of the schema binds them."""


def public_facts_digest(public: Mapping[str, Any], *, by_schema: bool = False) -> str:
    """Return the SHA-256 digest of the public facts of a fit.

    Parameters
    ----------
    public
        Public facts as JSON-serialisable data.
    by_schema
        Whether a schema named the columns after the fit.
    """
    known = {name: value for name, value in public.items() if name not in NAMED_LATER}
    columns = None if by_schema else public.get("columns")
    text = json.dumps(["dperm public facts", known, columns], sort_keys=True, separators=(",", ":"))
    return f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"


def public_facts_of(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the public facts of a fit from the fields of its statement: the inverse of `run_facts` for estimators."""
    mechanism = dict(as_mapping(fields.get("mechanism")))
    mechanism.pop("event", None)
    method = mechanism.pop("name", None)
    why = known_part("reasons", fields.get("reasons"))
    found = {**as_mapping(fields.get("public_quantities")), **mechanism, "method": method}
    return found if why is None else {**found, "why": why}


def statement_digest(fields: Mapping[str, Any]) -> str:
    """Return the digest of the public facts in a statement."""
    domain = as_mapping(known_part("data_domain", fields.get("data_domain")))
    return public_facts_digest(public_facts_of(fields), by_schema=DECLARED in domain)


def hides_uncovered(fields: Mapping[str, Any]) -> bool:
    """Return whether the facts name transformers or scores on private data, and the limits do not say NOT COVERED."""
    found, parts = as_mapping(fields.get("mechanism")), uncovered_parts(fields)
    scores = any(part.startswith(UNCOVERED_SCORES) for part in parts)
    preparation = any(not part.startswith(UNCOVERED_SCORES) for part in parts)
    return (TRANSFORMERS in found and not preparation) or (SCORES in found and not scores)
