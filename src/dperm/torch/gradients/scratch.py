# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Memory reused from step to step: allocating fresh pages costs more than writing to them."""

import math
import sys
import threading

import torch
from torch import Tensor

LARGEST_PIECE = 2**25 - 2**16
"""Bytes of the allocation in `keep_freed_memory`, just below the limit of glibc's dynamic threshold."""


class Scratch(threading.local):
    """Pool of buffers for one thread. A buffer is handed out only if no other view of it exists.

    Parameters
    ----------
    most
        Largest number of buffers to keep. Further requests get fresh memory.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._held: list[Tensor] = []

    def empty(self, *shape: int, dtype: torch.dtype = torch.float32) -> Tensor:
        """Return an uninitialized tensor on the CPU."""
        size = math.prod(shape)
        for held in self._held:
            if held.numel() == size and held.dtype is dtype:
                view = held.view(shape)  # before the count: an interrupt from here on sees the buffer in use
                if _holders(held) == _WITH_A_VIEW:
                    return view
        fresh = torch.empty(size, dtype=dtype, device="cpu")
        self._held = [*self._held, fresh][-self._most :] if self._most else []
        return fresh.view(shape)


def keep_freed_memory() -> None:
    """Make the allocator keep up to 64 MB of freed memory for the next step.

    The allocator of glibc returns memory at the end of its heap to the system beyond a threshold: twice the largest
    freed block so far, up to 32 MB. Allocating and freeing one such block, without writing to it, raises the threshold.
    Other allocators are not affected.
    """
    torch.empty(LARGEST_PIECE, dtype=torch.uint8, device="cpu")


def _holders(value: Tensor) -> tuple[int, int, bool]:
    """Return the counts of tensors and Python objects with this memory, and whether other processes share it."""
    storage = value.untyped_storage()
    return int(torch._C._storage_Use_Count(storage._cdata)), sys.getrefcount(storage), storage.is_shared()


def _with_a_view() -> tuple[int, int, bool]:
    """Return the counts of `_holders` for a tensor with one view."""
    value = torch.empty(1, device="cpu")
    view = value.view(1)
    found = _holders(value)
    del view
    return found


_WITH_A_VIEW = _with_a_view()
