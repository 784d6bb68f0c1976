# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""ATTACKS: lower bounds on epsilon at a stated confidence, exact privacy losses, membership, exposure, differencing."""

from dperm.audit.finding import Finding
from dperm.audit.lower_bound import LowerBound

__all__ = ["Finding", "LowerBound"]
