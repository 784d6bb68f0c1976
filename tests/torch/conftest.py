# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""One thread for all tests of PyTorch models: they are small."""

import torch

torch.set_num_threads(1)
