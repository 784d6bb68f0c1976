# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Constants in the comparisons of a training loop, and tests for values that are not finite.

A condition such as ``if (x == 0.5).any(): x = x - x.mean(0)`` holds for few batches, so ordinary batches rarely reveal
it. The rehearsal watches one run of the loop for comparisons, and then puts the constants into one row.
"""

import os
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

import dperm

EQUALITY = frozenset({"eq", "ne", "__eq__", "__ne__", "eq_", "ne_", "isclose", "allclose", "equal", "isin"})
FINITENESS = frozenset({"isfinite", "isinf", "isnan", "isposinf", "isneginf", "nan_to_num", "nan_to_num_"})
_TORCH = os.path.dirname(torch.__file__) + os.sep
_LIBRARIES = (_TORCH, os.path.dirname(dperm.__file__) + os.sep)
_DISPATCH = tuple(os.path.join(_TORCH, name) for name in ("overrides.py", "_tensor.py", "_jit_internal.py"))


class ComparedConstants(TorchFunctionMode):
    """Watch for calls of torch functions from code outside torch and dperm.

    Attributes
    ----------
    constants
        Numbers in tests for equality with tensors.
    tests_finiteness
        Whether a function such as ``isnan`` was called, or a tensor was compared with itself.
    """

    def __init__(self) -> None:
        super().__init__()
        self.constants: set[float] = set()
        self.tests_finiteness = False

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        """Record comparisons, and call the function."""
        name = getattr(func, "__name__", "")
        if (name in EQUALITY or name in FINITENESS) and _is_called_by_the_user(sys._getframe(1)):
            self._note(name, [*args, *(kwargs or {}).values()])
        return func(*args, **(kwargs or {}))

    def _note(self, name: str, values: list[Any]) -> None:
        if name in FINITENESS or (len(values) > 1 and values[0] is values[1]):
            self.tests_finiteness = True
            return
        for value in values:
            number = _number(value)
            if number is not None:
                self.constants.add(number)


def _number(value: Any) -> float | None:
    """``value`` as a float, if it is a number or a tensor without dimensions."""
    if isinstance(value, Tensor) and value.dim() == 0 and not value.is_complex():
        value = value.detach().item()
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        return float(value)
    except OverflowError:
        return None


def _is_called_by_the_user(frame: FrameType | None) -> bool:
    """Whether the nearest caller, apart from the dispatch of torch, is a module outside torch and dperm."""
    while frame is not None and frame.f_code.co_filename.startswith(_DISPATCH):
        frame = frame.f_back
    return frame is None or not frame.f_code.co_filename.startswith(_LIBRARIES)
