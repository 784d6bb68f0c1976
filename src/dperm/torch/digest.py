# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""The digest of a model: of names, types, shapes and bytes of its state."""

import hashlib

import torch
from torch import Tensor, nn


def model_digest(model: nn.Module) -> str:
    """SHA-256 of everything in the state of the model that is a tensor, in order of the names."""
    sha = hashlib.sha256()
    for name, value in sorted(model.state_dict().items()):
        if isinstance(value, Tensor):
            sha.update(f"{name} {value.dtype} {tuple(value.shape)}\n".encode())
            sha.update(value.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy().data)
    return f"sha256:{sha.hexdigest()}"
