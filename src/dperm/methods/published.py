# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Old location of `dperm.methods.literature`."""

from dperm.deprecation import deprecated_names

__getattr__ = deprecated_names(
    __name__,
    {
        name: f"dperm.methods.literature:{name}"
        for name in ("nips08_algorithm_2", "jmlr11", "kifer_smith_thakurta", "dpgd_sigma", "dpgd_slide_sigma")
    },
)
