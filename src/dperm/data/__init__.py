# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Bounded data: public bounds on features and labels, and the only way to make data that keep them."""
