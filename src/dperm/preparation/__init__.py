# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Private preparation of raw tables: kinds, ranges, bins, categories and classes under one guarantee."""

from dperm.preparation.numbers import NumberPlan, PreparedNumbers
from dperm.preparation.plan import PreparationPlan
from dperm.preparation.prepared import Encoding, PreparedTable, TargetKind
from dperm.preparation.training import TablePlan

__all__ = [
    "Encoding",
    "NumberPlan",
    "PreparationPlan",
    "PreparedNumbers",
    "PreparedTable",
    "TablePlan",
    "TargetKind",
]
