# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""The kernels as functions, if there are any here."""

import os
from collections.abc import Callable
from ctypes import CDLL, c_char_p, c_float, c_int64, c_void_p
from functools import lru_cache
from typing import Any, NamedTuple

import torch
from torch import Tensor

from dperm.errors import AssumptionError
from dperm.torch.native.build import library

SWITCH = "DPERM_NATIVE"
"""The variable of the environment that turns the kernels off if it is 0, no, off or false."""
MOST_THREADS, LITTLE = 2, 2**18
"""The kernels use one thread: with more of them than that, torch is quicker, but for so many numbers."""


class Kernels(NamedTuple):
    """Functions of the library; arrays are given by their addresses."""

    normals: Callable[..., None]
    convolution: Callable[..., None]
    clip: Callable[..., int]


def kernels() -> Kernels | None:
    """The kernels; None where torch does their work."""
    return _load()[0]


def describe_kernels() -> str:
    """Whether there are kernels, and if not, why."""
    found, why = _load()
    return f"no native kernels: {why}" if found is None else "native kernels"


def is_plain(value: Tensor) -> bool:
    """Whether a kernel can read a tensor: contiguous, of single precision, in the memory of the CPU, as it is there."""
    return (
        type(value) is Tensor
        and value.dtype is torch.float32
        and value.is_cpu
        and value.layout is torch.strided
        and value.is_contiguous()
        and not value.is_neg()
        and not value._is_zerotensor()
    )


def is_faster(numbers: int) -> bool:
    """Whether a kernel is quicker than torch with all its threads."""
    return numbers <= LITTLE or torch.get_num_threads() <= MOST_THREADS


@lru_cache(maxsize=1)
def _load() -> tuple[Kernels | None, str]:
    if (asked := os.environ.get(SWITCH, "").strip().lower()) in ("0", "no", "off", "false"):
        return None, f"{SWITCH} is {asked}"
    try:
        return _declared(library()), ""
    except AssumptionError as error:
        return None, str(error)
    except (OSError, AttributeError, ValueError) as error:  # no room on a disk, or a library of something else
        return None, f"they could not be built or loaded: {type(error).__name__}"


def _declared(found: CDLL) -> Kernels:
    array, packed, number, size = c_void_p, c_char_p, c_float, c_int64
    return Kernels(
        _function(found.dperm_normals, None, array, size, array),
        _function(found.dperm_convolution, None, *[array] * 2, size, size, packed, array, size, *[array] * 3),
        _function(found.dperm_clip, size, size, array, size, *[number] * 3, array, *[number] * 2),
    )


def _function(function: Any, result: Any, *arguments: Any) -> Callable[..., Any]:
    function.argtypes, function.restype = arguments, result
    return function  # type: ignore[no-any-return]  # ctypes is not typed
