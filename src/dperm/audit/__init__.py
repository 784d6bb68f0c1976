# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Audits: statistical and exact lower bounds on epsilon, membership inference, exposure and differencing attacks."""

from dperm.audit.finding import Finding
from dperm.audit.lower_bound import LowerBound

__all__ = ["Finding", "LowerBound"]
