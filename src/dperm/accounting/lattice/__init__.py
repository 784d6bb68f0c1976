# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Lattice engine."""

from dperm.accounting.lattice.engine import delta_bracket, epsilon_bracket

__all__ = ["delta_bracket", "epsilon_bracket"]
