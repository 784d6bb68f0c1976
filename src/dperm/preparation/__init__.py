# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Private preparation of raw tables: kinds, ranges, bins, categories and classes under one guarantee."""

from dperm.preparation.plan import PreparationPlan
from dperm.preparation.prepared import PreparedTable, TargetKind
from dperm.preparation.training import TablePlan

__all__ = ["PreparationPlan", "PreparedTable", "TablePlan", "TargetKind"]
