# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""A compiled sum with noise of grade `fast` in the same graph, for samples of one micro-batch."""

import math
from collections.abc import Callable, Sequence

import numpy as np
import torch
from torch import Tensor, nn
from torch.fx.experimental.proxy_tensor import make_fx

from dperm.noise.bits import Stream
from dperm.noise.single_precision import MOST
from dperm.torch.compiled.inductor import Compiled, compile_graph
from dperm.torch.compiled.noise import noisy, pairs_of
from dperm.torch.compiled.sums import CompiledSum
from dperm.torch.gaussian import floating_pool
from dperm.torch.gradients.precision import plain_arithmetic


class CompiledStep:
    """Computes the private gradient of a sample: (sum + noise) times a public factor.

    Parameters
    ----------
    sums
        Compiled sum. Its graph is compiled once more, with noise.
    parameters
        All trained parameters. Parameters that no loss depends on also receive noise.
    scale
        Standard deviation of the noise, in units of the clipping norm.
    code
        Function that makes a graph executable; the default compiles the graph.
    """

    def __init__(
        self,
        sums: CompiledSum,
        parameters: Sequence[nn.Parameter],
        *,
        scale: float,
        code: Callable[..., Compiled] = compile_graph,
    ) -> None:
        self._sums, self.parameters = sums, list(parameters)
        self._pairs = pairs_of(self.parameters)
        self._scale, self._factor = torch.tensor(scale), torch.tensor(1.0)
        self._last = 1.0
        trace = sums.trace

        def step(*inputs: Tensor) -> list[Tensor]:
            *rest, bits, scale, factor = inputs
            *found, total, weights = trace.graph(*rest)
            by_parameter = dict(zip(trace.parameters, found, strict=True))
            totals = [by_parameter.get(value, torch.zeros_like(value)) for value in self.parameters]
            return [*noisy(totals, bits, scale, factor), total, weights]

        self._is_small = sum(value.numel() for value in self.parameters) <= MOST
        inputs = [*sums.examples, self._example_of_bits(), self._scale, self._factor]
        with torch.no_grad():
            self._code = code(make_fx(step)(*inputs), inputs)

    def __call__(
        self,
        batch: Sequence[Tensor],
        keep: Tensor,
        stream: Stream,
        *,
        factor: float = 1.0,
        clip_norm: float | None = None,
        observe: Callable[[Tensor], None] | None = None,
    ) -> list[Tensor]:
        """Return the private gradients of all parameters: `CompiledSum` followed by `CompiledNoise`."""
        inputs = self._sums.inputs(batch, keep, clip_norm)
        if factor != self._last:
            self._last = factor
            self._factor.fill_(factor)
        bits = self._bits(stream)
        with plain_arithmetic("cpu"):
            *found, total, weights = self._code([*inputs, bits, self._scale, self._factor])
            if math.isfinite(total.item()):
                if observe is not None:
                    observe(weights)
                return found
            sums = self._sums.without_compilation(batch, keep, observe)
            totals = [sums.get(value, torch.zeros_like(value)) for value in self.parameters]
            return noisy(totals, bits, self._scale, self._factor)

    def _bits(self, stream: Stream) -> Tensor:
        """Return words for the noise or, for a small model, normals drawn in advance."""
        if self._is_small:
            return torch.from_numpy(floating_pool(stream).take(2 * self._pairs))
        return torch.from_numpy(stream.words(self._pairs).view(np.int32))

    def _example_of_bits(self) -> Tensor:
        return torch.zeros(2 * self._pairs, dtype=torch.float32 if self._is_small else torch.int32)
