# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Old path of `dperm.torch.gradients.per_example`, deprecated."""

from dperm.deprecation import deprecated_names

__getattr__ = deprecated_names(
    __name__,
    {
        "PerExampleGradients": "dperm.torch.gradients.per_example:PerExampleGradients",
    },
)
