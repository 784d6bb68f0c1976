# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""The contour engine: certified inversion of the moment generating function on a line in the complex plane."""
