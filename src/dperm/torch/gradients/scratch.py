# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Memory that is used again in the next step: to get fresh pages costs more than to write to them."""

import math
import sys
import threading

import torch
from torch import Tensor

LARGEST_PIECE = 2**25 - 2**16


class Scratch(threading.local):
    """A few pieces of memory of one thread, each handed out only while nobody else holds a view of it.

    Parameters
    ----------
    most
        Pieces that are kept; what is asked for beyond is fresh.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._held: list[Tensor] = []

    def empty(self, *shape: int, dtype: torch.dtype = torch.float32) -> Tensor:
        """A tensor on the CPU with anything in it."""
        size = math.prod(shape)
        for held in self._held:
            if held.numel() == size and held.dtype is dtype:
                view = held.view(shape)  # first: whatever interrupts now finds that somebody holds it
                if _holders(held) == _WITH_A_VIEW:
                    return view
        fresh = torch.empty(size, dtype=dtype, device="cpu")
        self._held = [*self._held, fresh][-self._most :] if self._most else []
        return fresh.view(shape)


def keep_freed_memory() -> None:
    """Let the allocator keep what a step frees, up to 64 MB: the next step needs it again.

    The allocator of glibc gives memory at its end back to the system, beyond a threshold of twice the largest piece it
    has seen freed (up to 32 MB). So one such piece, which is never written to, is shown to it. Elsewhere this does
    nothing.
    """
    torch.empty(LARGEST_PIECE, dtype=torch.uint8, device="cpu")


def _holders(value: Tensor) -> tuple[int, int, bool]:
    """Tensors of this memory, Python objects that stand for it, and whether other processes may see it."""
    storage = value.untyped_storage()
    return int(torch._C._storage_Use_Count(storage._cdata)), sys.getrefcount(storage), storage.is_shared()


def _with_a_view() -> tuple[int, int, bool]:
    """What is counted for a tensor and one view of it."""
    value = torch.empty(1, device="cpu")
    view = value.view(1)
    found = _holders(value)
    del view
    return found


_WITH_A_VIEW = _with_a_view()
