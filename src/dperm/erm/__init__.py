# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Empirical risk minimisation without privacy: losses and their constants, regularised problems, certified solvers."""
