# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Kernels as Python functions, if available on this machine."""

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
"""Environment variable; 0, no, off or false turns the kernels off."""
MOST_THREADS, LITTLE = 2, 2**18
"""Largest number of torch threads, and largest problem size, for single-threaded kernels to be faster than torch."""


class Kernels(NamedTuple):
    """Functions of the library. Arrays are passed by address."""

    normals: Callable[..., None]
    convolution: Callable[..., None]
    clip: Callable[..., int]


def kernels() -> Kernels | None:
    """Return the kernels, or None if torch is used instead."""
    return _load()[0]


def describe_kernels() -> str:
    """Return "native kernels", or the reason for their absence."""
    found, why = _load()
    return f"no native kernels: {why}" if found is None else "native kernels"


def is_plain(value: Tensor) -> bool:
    """Return whether a kernel can read a tensor: contiguous, single precision, dense, on the CPU, materialized."""
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
    """Return whether a kernel is faster than torch with all its threads, for this many numbers."""
    return numbers <= LITTLE or torch.get_num_threads() <= MOST_THREADS


@lru_cache(maxsize=1)
def _load() -> tuple[Kernels | None, str]:
    if (setting := os.environ.get(SWITCH, "").strip().lower()) in ("0", "no", "off", "false"):
        return None, f"{SWITCH} is {setting}"
    try:
        return _declared(library()), ""
    except AssumptionError as error:
        return None, str(error)
    except (OSError, AttributeError, ValueError) as error:  # a full disk, or a foreign library
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
