# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Learning without privacy: losses and their constants, the regularised problem, solvers with a certificate."""
