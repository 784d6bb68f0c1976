# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Privacy loss distributions of one step, one ordered pair at a time."""
