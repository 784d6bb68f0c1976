# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Public facts of runs and stages, as JSON data of limited size."""

import json
from collections.abc import Mapping

from dperm.errors import ParameterError

DEEPEST = 20
"""Largest nesting of facts; readers of the books must not exhaust the stack."""
LONGEST_FACTS = 2**16
"""Largest number of characters of facts, as JSON."""


def plain_facts(facts: Mapping[str, object] | None) -> dict[str, object]:
    """Return facts as JSON data of limited size.

    Raises
    ------
    ParameterError
        If the facts are not JSON data, too long or too deep.
    """
    try:
        text = json.dumps(dict(facts or {}), allow_nan=False)
        found = dict(json.loads(text))
    except (RecursionError, TypeError, ValueError):
        raise ParameterError(
            argument="facts", rule="must be a mapping of JSON values: text, numbers, lists and mappings"
        ) from None
    if len(text) > LONGEST_FACTS or not _is_flat(found, DEEPEST):
        raise ParameterError(
            argument="facts",
            rule=f"must be at most {LONGEST_FACTS:,} characters of JSON, nested at most {DEEPEST} deep",
            remedy="Store less, such as a digest of long content.",
        )
    return found


def _is_flat(value: object, depth: int) -> bool:
    if not isinstance(value, dict | list):
        return True
    return depth > 0 and all(_is_flat(one, depth - 1) for one in (value.values() if isinstance(value, dict) else value))
