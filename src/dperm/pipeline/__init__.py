# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Releases of several stages under one guarantee: private schema, training, evaluation, and search (T70, T71, T93)."""

from dperm.pipeline.holdout import RecordSplit
from dperm.pipeline.plan import TablePlan
from dperm.pipeline.search import SearchPlan

__all__ = ["RecordSplit", "SearchPlan", "TablePlan"]
