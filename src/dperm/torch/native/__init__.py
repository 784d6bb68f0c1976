# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""C++ kernels in place of many small torch operations of a step. Without a compiler, torch is used.

The kernels are compiled once on each machine, at their first use, and stored in the user's cache. Their results agree
with torch up to rounding; tests run both.
"""
