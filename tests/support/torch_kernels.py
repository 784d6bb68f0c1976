# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""With native kernels, and without."""

import pytest

from dperm.torch.native import kernels

WAYS = ("native", "torch")


def take(way: str, patch: pytest.MonkeyPatch) -> None:
    """Go one of both ways; where nothing can be compiled, the first one is skipped."""
    if way == "torch":
        patch.setattr(kernels, "_load", lambda: (None, "not wanted"))
    elif kernels.kernels() is None:
        pytest.skip(kernels.describe_kernels())
