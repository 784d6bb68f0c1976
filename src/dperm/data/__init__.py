# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Data with public bounds on features and labels, and readers of tables and files."""

import importlib
from typing import TYPE_CHECKING

from dperm.data.columns import Categorical as Categorical
from dperm.data.columns import Numeric as Numeric
from dperm.data.encoder import PublicEncoder as PublicEncoder

if TYPE_CHECKING:
    from dperm.data.large_tables import Table as Table
    from dperm.data.large_tables import table as table

_TABLES = ("Table", "table")
"""Names that are loaded on first use (PEP 562): their modules are not needed for data in memory."""

# Hidden from type checkers, which would otherwise accept every misspelt name.
if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        if name in _TABLES:
            value = globals()[name] = getattr(importlib.import_module("dperm.data.large_tables"), name)
            return value
        raise AttributeError(f"module 'dperm.data' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_TABLES})
