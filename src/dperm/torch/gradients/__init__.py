# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Differentially private training of PyTorch models: DP-SGD (T46)."""
