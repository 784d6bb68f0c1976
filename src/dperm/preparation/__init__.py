# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Private preparation of raw tables: kinds, ranges, bins, categories and classes under one guarantee."""

from dperm.deprecation import deprecated_names
from dperm.preparation.numbers import NumberPlan, PreparedNumbers
from dperm.preparation.plan import PreparationPlan
from dperm.preparation.prepared import Encoding, PreparedTable, TargetKind

__all__ = [
    "Encoding",
    "NumberPlan",
    "PreparationPlan",
    "PreparedNumbers",
    "PreparedTable",
    "TargetKind",
]

__getattr__ = deprecated_names(__name__, {"TablePlan": "dperm.pipeline:TablePlan"})
