# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Gradients of a convolution's weight by a native kernel: patches of one example at a time, which stay in the cache."""

import math
from struct import pack
from typing import NamedTuple

import torch
from torch import Tensor
from torch.utils._python_dispatch import is_in_torch_dispatch_mode

from dperm.torch.engine.rules.patches import Windows
from dperm.torch.engine.scratch import Scratch
from dperm.torch.native.kernels import is_plain, kernels, serves

ROOM, LANES = 2**15, 16
"""Numbers of the patches that are held at a time, and up to how many more a row of them may take."""


class Found(NamedTuple):
    """Gradients (examples, channels, entries), their squared norms, and sums of values over places."""

    grads: Tensor
    squares: Tensor
    sums: Tensor


def one_pass(
    windows: Windows, images: Tensor, values: Tensor, margins: tuple[int, ...], scratch: Scratch
) -> Found | None:
    """What ``values`` (examples, channels, ...) make of the patches of ``images``, if a kernel can do it.

    Parameters
    ----------
    margins
        Zeros around the images, in the order of ``pad``.
    scratch
        For the gradients.
    """
    native, dims = kernels(), len(windows.sizes)
    if native is None or dims > 2 or len(images) != len(values) or is_in_torch_dispatch_mode():
        return None
    images, values = images.contiguous(), values.contiguous()
    examples, high = values.shape[:2]
    entries, places = windows.channels * math.prod(windows.sizes), math.prod(windows.places)
    if not (entries and places and is_plain(images) and is_plain(values) and serves(examples * places * entries)):
        return None
    packed = _packed(windows, images, margins)
    room = max(ROOM, entries + LANES)
    held = torch.empty(windows.channels * packed[5] * packed[6] + room, dtype=torch.float32, device="cpu")
    found = Found(
        scratch.empty(examples, high, entries),
        torch.empty(examples, dtype=torch.float32, device="cpu"),
        torch.empty(examples, high, dtype=torch.float32, device="cpu"),
    )
    native.convolution(
        images.data_ptr(),
        values.data_ptr(),
        examples,
        high,
        pack("15q", *packed),
        held.data_ptr(),
        room,
        *[value.data_ptr() for value in found],
    )
    return found


def _packed(windows: Windows, images: Tensor, margins: tuple[int, ...]) -> tuple[int, ...]:
    """The numbers of ``Windows`` in ``convolution.cpp``; one dimension of space is the second of two."""
    left, right, top, bottom = (*margins, 0, 0, 0, 0)[:4]
    high, wide = _two(tuple(images.shape[2:]))
    return (
        windows.channels,
        *(high, wide, top, left, high + top + bottom, wide + left + right),
        *(
            number
            for pair in (windows.sizes, windows.strides, windows.dilations, windows.places)
            for number in _two(pair)
        ),
    )


def _two(numbers: tuple[int, ...]) -> tuple[int, int]:
    return (1, numbers[0]) if len(numbers) == 1 else (numbers[0], numbers[1])
