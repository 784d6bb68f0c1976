# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Fused noisy gradient of a sample in one micro-batch: noise first, clipped sums added in place.

The result is (sum + noise) times a public number, the same as for sums with noise added afterwards. It saves memory
traffic: the noise is drawn into the gradient's memory, and every layer adds its product there.
"""

from collections.abc import Sequence
from itertools import accumulate
from typing import Self

import torch
from torch import Tensor, nn
from torch._C._nn import unflatten_dense_tensors

from dperm.errors import AssumptionError
from dperm.noise.bits import Stream
from dperm.noise.pool import MOST
from dperm.torch.gradients.fused_clipping import Accumulators, clip_fused
from dperm.torch.gradients.per_example import UnclippedGradients
from dperm.torch.gradients.precision import plain_arithmetic
from dperm.torch.gradients.scratch import Scratch
from dperm.torch.gradients.weighted_sums import Accumulator
from dperm.torch.noise import FastNoise, StepNoise

UNKNOWN = (
    "a parameter is trained now, but was frozen or missing when the training was attached. Set requires_grad before "
    "attach, and do not exchange parameters of the model afterwards."
)


class FusedNoisyGradient:
    """Noise of grade "fast" plus clipped sums, for parameters in single precision on the CPU."""

    def __init__(self, noise: FastNoise, parameters: Sequence[nn.Parameter]) -> None:
        self._noise = noise
        self._places = {id(value): place for place, value in enumerate(parameters)}
        self._parameters: list[Tensor] = list(parameters)
        self._size = sum(value.numel() for value in parameters)
        ends = list(accumulate(value.numel() for value in parameters))
        self._pieces = [
            (slice(end - value.numel(), end), tuple(value.shape)) for end, value in zip(ends, parameters, strict=True)
        ]
        self._scratch = Scratch(1)

    @classmethod
    def of(cls, noise: StepNoise, parameters: Sequence[nn.Parameter]) -> Self | None:
        """Return the fused gradient for these parameters, or None for another grade, precision or device."""
        if isinstance(noise, FastNoise) and all(value.dtype is torch.float32 and value.is_cpu for value in parameters):
            return cls(noise, parameters)
        return None

    def __call__(self, found: UnclippedGradients, stream: Stream, factor: float) -> list[Tensor]:
        """Return the noisy gradients of all parameters, in their order, times ``factor``.

        Parameters without influence on the losses get noise alone.

        Raises
        ------
        AssumptionError
            If a gradient belongs to a parameter unknown at `attach`.
        """
        noise, places = self._noise, [self._places.get(id(parameter), -1) for parameter, _ in found.factors]
        if -1 in places:
            raise AssumptionError(UNKNOWN)
        grads = self._split(noise.standard(self._size, stream, self._scratch))
        scale = noise.scale * factor
        _add(found, Accumulators([grads[place] for place in places], scale, factor))
        if len(places) < len(grads):
            for place in set(range(len(grads))) - set(places):
                grads[place].mul_(scale)
        return grads

    def _split(self, flat: Tensor) -> list[Tensor]:
        """Split one vector into the shapes of the parameters; for short vectors, views by NumPy are faster."""
        if self._size > MOST:
            return list(unflatten_dense_tensors(flat, self._parameters))
        numbers = flat.numpy()
        return [torch.from_numpy(numbers[place].reshape(shape)) for place, shape in self._pieces]


def _add(found: UnclippedGradients, onto: Accumulators) -> None:
    """Add the clipped sums: small ones and their weights by a native kernel, the others by torch."""
    own = [factor for _, factor in found.factors]
    fused = clip_fused(own, found.clipping, found.clip_norm, found.examples, onto)
    if fused is None:
        left = [(factor, weights, base) for (_, factor, weights), base in zip(found.weigh(), onto[0], strict=True)]
    else:
        weights, places = fused
        left = [] if weights is None else [(own[place], weights, onto[0][place]) for place in places]
    if left:
        with plain_arithmetic("cpu"):
            for factor, weights, base in left:
                factor.add_weighted(weights, Accumulator(base, onto.scale, onto.times))
