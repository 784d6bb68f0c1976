# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Differentially private empirical risk minimisation.

The public names are loaded on first use (PEP 562), so that ``import dperm`` imports neither numpy nor scipy.
"""

import importlib
import logging
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dperm.accounting import (
        Approximate,
        Gaussian,
        Laplace,
        Poisson,
        Pure,
        RandomizedResponse,
        WithoutReplacement,
    )
    from dperm.accounting.account import account
    from dperm.accounting.calibrate import calibrate
    from dperm.errors import (
        AdjacencyError,
        AssumptionError,
        BudgetError,
        ConversionError,
        DataError,
        DpermError,
        LedgerError,
        ParameterError,
    )
    from dperm.ledger import Ledger
    from dperm.privacy import (
        GDP,
        RDP,
        ZCDP,
        Adjacency,
        ApproxDP,
        PrivacyProfile,
        PureDP,
        Record,
        Release,
    )
    from dperm.privacy.explain import explain

    __version__: str

__all__ = [
    "GDP",
    "RDP",
    "ZCDP",
    "Adjacency",
    "AdjacencyError",
    "ApproxDP",
    "Approximate",
    "AssumptionError",
    "BudgetError",
    "ConversionError",
    "DataError",
    "DpermError",
    "Gaussian",
    "Laplace",
    "Ledger",
    "LedgerError",
    "ParameterError",
    "Poisson",
    "PrivacyProfile",
    "Pure",
    "PureDP",
    "RandomizedResponse",
    "Record",
    "Release",
    "WithoutReplacement",
    "account",
    "calibrate",
    "explain",
]

_HOMES = {
    "dperm.privacy": {
        "GDP",
        "RDP",
        "ZCDP",
        "Adjacency",
        "ApproxDP",
        "PrivacyProfile",
        "PureDP",
        "Record",
        "Release",
        "explain",
    },
    "dperm.accounting": {
        "Approximate",
        "Gaussian",
        "Laplace",
        "Poisson",
        "Pure",
        "RandomizedResponse",
        "WithoutReplacement",
        "account",
        "calibrate",
    },
    "dperm.errors": {
        "AdjacencyError",
        "AssumptionError",
        "BudgetError",
        "ConversionError",
        "DataError",
        "DpermError",
        "LedgerError",
        "ParameterError",
    },
    "dperm.ledger": {"Ledger"},
}

# Silent unless the application configures logging; nothing private is ever logged.
logging.getLogger("dperm").addHandler(logging.NullHandler())

# Hidden from type checkers, which would otherwise accept every misspelt name.
if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        if name == "__version__":
            return importlib.import_module("importlib.metadata").version("dperm")
        for home, names in _HOMES.items():
            if name in names:
                value = globals()[name] = getattr(importlib.import_module(home), name)
                return value
        raise AttributeError(f"module 'dperm' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, "__version__"})
