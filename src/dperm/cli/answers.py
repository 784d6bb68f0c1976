# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""One answer of a profile with how it was found, as JSON-ready data."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dperm.accounting.engines import Answer


def answer_data(found: "Answer", quantity: str) -> dict[str, object]:
    """An answer as JSON-ready data; ``quantity`` is "epsilon" or "delta"."""
    return {
        quantity: found.upper,
        f"{quantity}_bracket": [found.lower, found.upper],
        "relative_width": found.width,
        "engine": found.engine,
        "why": found.why,
    }
