# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Old path of `dperm.torch.model_checks.check`, deprecated."""

from dperm.deprecation import deprecated_names

__getattr__ = deprecated_names(
    __name__,
    {
        "check_model": "dperm.torch.model_checks.check:check_model",
        "check_losses": "dperm.torch.model_checks.check:check_losses",
    },
)
