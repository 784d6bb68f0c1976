# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Old module paths, deprecated until 1.0: see `dperm.torch.gradients` and `dperm.torch.model_checks`."""
