# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""One thread for all tests of PyTorch models: they are small. Some are run with native kernels and without."""

import pytest
import torch
from torch_kernels import WAYS, take

torch.set_num_threads(1)


@pytest.fixture(scope="module", params=WAYS)
def both_ways(request):
    with pytest.MonkeyPatch.context() as patch:
        take(request.param, patch)
        yield
