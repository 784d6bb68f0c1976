# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Old path of `dperm.torch.gradients.clipping`; models pickled by version 0.9 refer to it."""

from dperm.deprecation import deprecated_names

__getattr__ = deprecated_names(
    __name__,
    {
        "Clipping": "dperm.torch.gradients.clipping:Clipping",
    },
)
