# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Compiled noise of grade `fast`: the distribution of `dperm.noise.single_precision`, from the same words (T10)."""

import math
from collections.abc import Callable, Sequence

import numpy as np
import torch
from torch import Tensor
from torch.fx.experimental.proxy_tensor import make_fx

from dperm.errors import ParameterError
from dperm.noise.bits import Stream
from dperm.torch.compiled.inductor import Compiled, compile_graph

PIECE = 2.0**16
"""Factor of the upper 16 bits of a word."""


class CompiledNoise:
    """Turns clipped sums into noisy gradients: adds normal noise and multiplies by a public factor.

    Parameters
    ----------
    sums
        Tensors with the shapes and types of the clipped sums; their values are not used.
    scale
        Standard deviation of the noise, in units of the clipping norm.
    code
        Function that makes a graph executable; the default compiles the graph.
    """

    def __init__(self, sums: Sequence[Tensor], scale: float, *, code: Callable[..., Compiled] = compile_graph) -> None:
        self._pairs = pairs_of(sums)
        self._scale, self._factor = torch.tensor(scale), torch.tensor(1.0)
        self._last = 1.0
        self._expected = [(total.shape, total.dtype) for total in sums]
        words = torch.zeros(2 * self._pairs, dtype=torch.int32)
        inputs = [*(torch.zeros_like(total) for total in sums), words, self._scale, self._factor]
        self._code = code(make_fx(lambda *values: noisy(values[:-3], *values[-3:]))(*inputs), inputs)

    def __call__(self, sums: Sequence[Tensor], stream: Stream, factor: float = 1.0) -> list[Tensor]:
        """Return (sum + noise) * factor in new memory.

        Parameters
        ----------
        sums
            Sums over all micro-batches of a step.
        stream
            Source of random bits.
        factor
            Public factor, such as the clipping norm divided by the expected batch size.

        Raises
        ------
        ParameterError
            If shapes or types differ from those at compilation.
        """
        if [(total.shape, total.dtype) for total in sums] != self._expected:
            raise ParameterError(argument="sums", rule="must have the shapes and types of the compiled noise")
        if factor != self._last:
            self._last = factor
            self._factor.fill_(factor)
        words = torch.from_numpy(stream.words(self._pairs).view(np.int32))
        with torch.no_grad():
            return list(self._code([*sums, words, self._scale, self._factor]))


def standard_normals(words: Tensor) -> Tensor:
    """Return normals by Box and Muller: sqrt(-2 log U) (cos V, sin V), with U and V from the halves of ``words``."""
    first, second = words.chunk(2)
    radius = _unsigned(first).add(0.5).mul(2.0**-32).log().mul(-2.0).sqrt()
    angle = _unsigned(second).mul(2 * math.pi * 2.0**-32)
    return torch.cat([radius * angle.cos(), radius * angle.sin()])


def noisy(sums: Sequence[Tensor], bits: Tensor, scale: Tensor, factor: Tensor) -> list[Tensor]:
    """Return (sum + scale * normals) * factor. ``bits`` holds normals, or words to make normals from."""
    sizes = [total.numel() for total in sums]
    normals = (bits if bits.is_floating_point() else standard_normals(bits))[: sum(sizes)]
    return [
        (total + part.view(total.shape).to(total.dtype) * scale) * factor
        for total, part in zip(sums, normals.split(sizes), strict=True)
    ]


def pairs_of(sums: Sequence[Tensor]) -> int:
    """Return the number of 64-bit words needed for one normal per entry."""
    return (sum(total.numel() for total in sums) + 1) // 2


def _unsigned(words: Tensor) -> Tensor:
    """Return signed 32-bit words as the nearest unsigned numbers in single precision."""
    return ((words >> 16) & 0xFFFF).float().mul(PIECE).add((words & 0xFFFF).float())
