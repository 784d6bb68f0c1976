# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Old location of `gradient_sensitivity` and `output_sensitivity`, now in `dperm.sensitivity`."""

from dperm.deprecation import deprecated_names

__getattr__ = deprecated_names(
    __name__,
    {name: f"dperm.sensitivity:{name}" for name in ("gradient_sensitivity", "output_sensitivity")},
)
