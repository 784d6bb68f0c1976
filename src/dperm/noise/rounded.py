# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Deprecated location of `dperm.noise.integer_noise`."""

from dperm.deprecation import deprecated_names

_NAMES = ("rounded_gaussian", "rounded_laplace", "discrete_laplace", "SMALLEST_SCALE", "LARGEST_SCALE")
__getattr__ = deprecated_names(__name__, {name: f"dperm.noise.integer_noise:{name}" for name in _NAMES})
