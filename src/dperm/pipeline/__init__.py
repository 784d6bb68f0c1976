# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Releases of several stages under one guarantee: private schema, training and evaluation (T70, T71)."""

from dperm.pipeline.holdout import RecordSplit
from dperm.pipeline.plan import TablePlan

__all__ = ["RecordSplit", "TablePlan"]
