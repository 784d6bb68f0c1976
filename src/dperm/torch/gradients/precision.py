# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Models that run under ``torch.autocast``: what is done with their gradients is in single precision or better."""

from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

import torch

_AS_IT_IS = nullcontext()


def without_autocast(device: str) -> AbstractContextManager[object]:
    """A block in which norms and sums are in the precision of what they are made of: half would break their bounds."""
    return torch.autocast(device, enabled=False) if torch.is_autocast_enabled(device) else _AS_IT_IS


class plain_arithmetic:  # it reads as a function: with plain_arithmetic(device): ...
    """A block without gradients and without autocast, which costs a third of what ``torch.no_grad()`` does."""

    __slots__ = ("_cast", "_grad")

    def __init__(self, device: str) -> None:
        self._cast = torch.autocast(device, enabled=False) if torch.is_autocast_enabled(device) else None

    def __enter__(self) -> None:
        """Both off."""
        if self._cast is not None:
            self._cast.__enter__()
        self._grad = torch.is_grad_enabled()
        torch._C._set_grad_enabled(False)

    def __exit__(self, *error: Any) -> None:
        """As it was."""
        torch._C._set_grad_enabled(self._grad)
        if self._cast is not None:
            self._cast.__exit__(*error)


@dataclass(frozen=True)
class AutocastState:
    """The autocast under which a module has run; None: none."""

    device: str
    dtype: torch.dtype | None

    @classmethod
    def now(cls, device: str) -> "AutocastState":
        """That of this moment."""
        return cls(device, torch.get_autocast_dtype(device) if torch.is_autocast_enabled(device) else None)

    def again(self) -> AbstractContextManager[object]:
        """A block in which it is as it was; casts are not kept, for they may belong to one example."""
        if self.dtype is None:
            return _AS_IT_IS
        return torch.autocast(self.device, dtype=self.dtype, cache_enabled=False)
