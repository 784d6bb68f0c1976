# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Old path of `dperm.torch.model_checks.description`, deprecated."""

from dperm.deprecation import deprecated_names

__getattr__ = deprecated_names(
    __name__,
    {
        "describe": "dperm.torch.model_checks.description:describe",
        "Description": "dperm.torch.model_checks.description:Description",
        "Row": "dperm.torch.model_checks.description:LayerDescription",
    },
)
