# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Standard normals of grade `fast`, by torch: distribution and word order of `dperm.noise.single_precision`."""

import math

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from dperm.noise.bits import Stream
from dperm.noise.single_precision import FloatingPool
from dperm.torch.gradients.scratch import Scratch
from dperm.torch.native.kernels import kernels

MOST_POOLS = 8
_POOLS: dict[int, tuple[Stream, FloatingPool]] = {}
"""Pools by the identity of their streams; the references keep the streams alive."""
BLOCK = 2**17
"""Number of pairs per operation: starting one costs as much as ten thousand numbers."""


def torch_gaussian(size: int, stream: Stream) -> NDArray[np.float32]:
    """Return ``size`` standard normals as an array."""
    numbers: NDArray[np.float32] = normals(size, stream, Scratch(0)).numpy()
    return numbers


def normals(size: int, stream: Stream, scratch: Scratch) -> Tensor:
    """Return ``size`` standard normals by Box and Muller, sqrt(-2 log U) (cos V, sin V), in newly allocated memory.

    ``scratch`` holds intermediate results.
    """
    out, native = torch.empty(size + size % 2, dtype=torch.float32, device="cpu"), kernels()
    for start in range(0, len(out), 2 * BLOCK):
        part = out[start : start + 2 * BLOCK]
        words = torch.from_numpy(stream.words(len(part) // 2).view(np.uint32))
        if native is not None and words.is_contiguous() and len(words) == len(part):
            native.normals(words.data_ptr(), len(part) // 2, part.data_ptr())
        else:
            _by_torch(words, part, scratch)
    return out[:size]


def _by_torch(words: Tensor, out: Tensor, scratch: Scratch) -> None:
    """Fill ``out``: radii from the first half of the words, angles from the second."""
    half = len(out) // 2
    radius, angle, turned = scratch.empty(3, half)
    radius.copy_(words[:half]).add_(0.5).mul_(2.0**-32).log_().mul_(-2.0).sqrt_()
    angle.copy_(words[half:]).mul_(2 * math.pi * 2.0**-32)
    torch.mul(radius, torch.cos(angle, out=turned), out=out[:half])
    torch.mul(radius, torch.sin(angle, out=turned), out=out[half:])


def floating_pool(stream: Stream) -> FloatingPool:
    """Return the pool of numbers drawn ahead from ``stream``; it saves the fixed cost of small draws."""
    found = _POOLS.get(id(stream))
    if found is None:
        found = _POOLS[id(stream)] = stream, FloatingPool(stream, torch_gaussian)
        for oldest in list(_POOLS)[:-MOST_POOLS]:
            _POOLS.pop(oldest, None)
    return found[1]
