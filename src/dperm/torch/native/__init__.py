# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Kernels in C++ for what torch does in many small operations of a step; without a compiler, torch does it.

They are compiled once on each machine, when they are first used, and kept in the user's cache. What they compute is
what torch computes, but for rounding: tests run both.
"""
