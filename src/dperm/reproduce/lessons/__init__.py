# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Lessons, one module per claim or figure; each module defines its ``LESSON``."""
