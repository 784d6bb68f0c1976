# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Arithmetic for models run under ``torch.autocast``: gradients are processed in single precision or better."""

from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

import torch

_AS_IT_IS = nullcontext()


def without_autocast(device: str) -> AbstractContextManager[object]:
    """Return a context manager for norms and sums in the precision of their inputs.

    Half precision would break the error bounds of norms and sums.
    """
    return torch.autocast(device, enabled=False) if torch.is_autocast_enabled(device) else _AS_IT_IS


class plain_arithmetic:  # lower case, because it is used like a function
    """Context manager without gradients and without autocast, at a third of the cost of ``torch.no_grad()``."""

    __slots__ = ("_cast", "_grad")

    def __init__(self, device: str) -> None:
        self._cast = torch.autocast(device, enabled=False) if torch.is_autocast_enabled(device) else None

    def __enter__(self) -> None:
        """Turn gradients and autocast off."""
        if self._cast is not None:
            self._cast.__enter__()
        self._grad = torch.is_grad_enabled()
        torch._C._set_grad_enabled(False)

    def __exit__(self, *error: Any) -> None:
        """Restore the previous state of both."""
        torch._C._set_grad_enabled(self._grad)
        if self._cast is not None:
            self._cast.__exit__(*error)


@dataclass(frozen=True)
class AutocastState:
    """Autocast data type during a forward pass, or None without autocast."""

    device: str
    dtype: torch.dtype | None

    @classmethod
    def now(cls, device: str) -> "AutocastState":
        """Return the current state for a device type."""
        return cls(device, torch.get_autocast_dtype(device) if torch.is_autocast_enabled(device) else None)

    def again(self) -> AbstractContextManager[object]:
        """Return a context manager with the same state.

        The context caches no casts, because a cast may belong to one example.
        """
        if self.dtype is None:
            return _AS_IT_IS
        return torch.autocast(self.device, dtype=self.dtype, cache_enabled=False)
