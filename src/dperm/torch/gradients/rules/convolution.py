# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Convolutions as products with patches: the output at position t is W a_t + b, with a_t the input patch at t.

The gradient of W is sum_t g_t a_t', as for a linear layer. A transposed convolution is the adjoint of a convolution:
its input is multiplied with patches of its output gradient. A native kernel processes the patches of one example at a
time, so they stay in the cache.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from struct import pack
from typing import NamedTuple, cast
from weakref import WeakKeyDictionary

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.utils._python_dispatch import is_in_torch_dispatch_mode

from dperm.torch.gradients.factors import Dense, GradientFactor, OuterSequence, prefers_dense, row_squares
from dperm.torch.gradients.layers import check_examples, trained_parameter
from dperm.torch.gradients.rules.patches import Windows
from dperm.torch.gradients.scratch import Scratch
from dperm.torch.gradients.tape import Uses
from dperm.torch.gradients.weighted_sums import Accumulator
from dperm.torch.native.kernels import is_faster, is_plain, kernels

ROOM, LANES = 2**15, 16
"""Numbers in the patches held at a time, and the largest padding of a row of them."""


@dataclass(frozen=True, slots=True)
class Permuted:
    """Gradients with permuted dimensions: dimension i of the parameter is dimension ``order[i]`` of ``factor``."""

    factor: GradientFactor
    order: tuple[int, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the parameter, without the example dimension."""
        return tuple(self.factor.shape[dim] for dim in self.order)

    def squared_norms(self) -> Tensor:
        """Return the squared norms of ``factor``; the order does not matter."""
        return self.factor.squared_norms()

    def spread(self) -> Tensor | None:
        """Return the spread of ``factor``; the order does not matter."""
        return self.factor.spread()

    def weighted(self, weights: Tensor) -> Tensor:
        """Return the weighted sum, permuted to the order of the parameter."""
        return self.factor.weighted(weights).permute(self.order).contiguous()

    def add_weighted(self, weights: Tensor, onto: Accumulator) -> None:
        """Add the permuted weighted sum to an existing tensor."""
        onto.total(self.weighted(weights))

    def dense(self) -> Tensor:
        """Return a permuted view of the gradients."""
        return self.factor.dense().permute(0, *[1 + dim for dim in self.order])

    def masked(self, keep: Tensor) -> "Permuted":
        """Return a permuted factor with zeros outside ``keep``."""
        return Permuted(self.factor.masked(keep), self.order)


class ConvolutionGradients(NamedTuple):
    """Gradients (examples, channels, entries), their squared norms, and sums of values over positions."""

    grads: Tensor
    squares: Tensor
    sums: Tensor


def kernel_gradients(
    windows: Windows, images: Tensor, *, values: Tensor, margins: tuple[int, ...], scratch: Scratch
) -> ConvolutionGradients | None:
    """Return the products of ``values`` (examples, channels, ...) with the patches of ``images``.

    The result is None if no kernel applies.

    Parameters
    ----------
    margins
        Zeros around the images, in the order of ``pad``.
    scratch
        Memory for the gradients.
    """
    native, dims = kernels(), len(windows.sizes)
    if native is None or dims > 2 or len(images) != len(values) or is_in_torch_dispatch_mode():
        return None
    images, values = images.contiguous(), values.contiguous()
    examples, high = values.shape[:2]
    entries, places = windows.channels * math.prod(windows.sizes), math.prod(windows.places)
    if not (entries and places and is_plain(images) and is_plain(values) and is_faster(examples * places * entries)):
        return None
    packed = _packed(windows, images, margins)
    room = max(ROOM, entries + LANES)
    held = torch.empty(windows.channels * packed[5] * packed[6] + room, dtype=torch.float32, device="cpu")
    found = ConvolutionGradients(
        scratch.empty(examples, high, entries),
        torch.empty(examples, dtype=torch.float32, device="cpu"),
        torch.empty(examples, high, dtype=torch.float32, device="cpu"),
    )
    native.convolution(
        images.data_ptr(),
        values.data_ptr(),
        examples,
        high,
        pack("15q", *packed),
        held.data_ptr(),
        room,
        *[value.data_ptr() for value in found],
    )
    return found


def _packed(windows: Windows, images: Tensor, margins: tuple[int, ...]) -> tuple[int, ...]:
    """Return the fields of ``Windows`` in ``convolution.cpp``. One spatial dimension counts as the second of two."""
    left, right, top, bottom = (*margins, 0, 0, 0, 0)[:4]
    high, wide = _two(tuple(images.shape[2:]))
    return (
        windows.channels,
        *(high, wide, top, left, high + top + bottom, wide + left + right),
        *(
            number
            for pair in (windows.sizes, windows.strides, windows.dilations, windows.places)
            for number in _two(pair)
        ),
    )


def _two(numbers: tuple[int, ...]) -> tuple[int, int]:
    return (1, numbers[0]) if len(numbers) == 1 else (numbers[0], numbers[1])


Convolution = nn.Conv1d | nn.Conv2d | nn.Conv3d | nn.ConvTranspose1d | nn.ConvTranspose2d | nn.ConvTranspose3d
"""Supported convolution layers."""
_SCRATCH: WeakKeyDictionary[nn.Module, Scratch] = WeakKeyDictionary()
FEW = 2**18
"""Numbers in the patches held at a time by torch: reused memory of the size of the cache (measured)."""


def convolution_rule(module: nn.Module, inputs: tuple[Tensor, ...], grad: Tensor) -> Uses:
    """Return the per-example gradients of the weight and bias of ``nn.Conv1d``, ``nn.Conv2d`` and ``nn.Conv3d``."""
    layer = cast(nn.Conv2d, module)
    check_examples(layer, inputs[0], dims=2 + len(layer.kernel_size))
    mode, sums = "constant" if layer.padding_mode == "zeros" else layer.padding_mode, None
    if (weight := trained_parameter(layer, "weight")) is not None:
        factor, sums = _weight_gradients(layer, inputs[0], grad, mode)
        yield weight, factor
    yield from _bias(layer, grad, sums)


def transposed_convolution_rule(module: nn.Module, inputs: tuple[Tensor, ...], grad: Tensor) -> Uses:
    """Return the per-example gradients of the weight and bias of ``nn.ConvTranspose1d``, ``2d`` and ``3d``."""
    layer = cast(nn.ConvTranspose2d, module)
    check_examples(layer, inputs[0], dims=2 + len(layer.kernel_size))
    if (weight := trained_parameter(layer, "weight")) is not None:
        yield weight, _weight_gradients(layer, grad, inputs[0], "constant")[0]
    yield from _bias(layer, grad, None)


def _weight_gradients(
    layer: Convolution, images: Tensor, values: Tensor, mode: str
) -> tuple[GradientFactor, Tensor | None]:
    """Return the gradient of the weight for ``values`` (examples, channels, ...) multiplied with patches of ``images``.

    The second result holds the sums of the values over positions, if the kernel has computed them.
    """
    windows = Windows(images.shape[1], layer.kernel_size, layer.stride, layer.dilation, tuple(values.shape[2:]))
    margins, shape = tuple(_margins(layer)), tuple(layer.weight.shape)
    if mode != "constant":
        images, margins = _padded(images, margins, mode), ()
    windows.check(images, margins)
    if layer.groups == 1 and prefers_dense(math.prod(windows.places), math.prod(shape[1:]), shape[0]):
        found = kernel_gradients(
            windows, images, values=values, margins=margins, scratch=_SCRATCH.setdefault(layer, Scratch(1))
        )
        if found is not None:
            return Dense(found.grads.view(-1, *shape), found.squares), found.sums
    return _by_torch(layer, windows, _padded(images, margins, "constant"), values.flatten(2)), None


def _by_torch(layer: Convolution, windows: Windows, padded: Tensor, values: Tensor) -> GradientFactor:
    """Return the gradient of the weight, computed by torch operations."""
    shape = tuple(layer.weight.shape)
    if layer.groups > 1:
        values = values.unflatten(1, (layer.groups, -1))
        patches = windows.places_last(padded).unflatten(1, (layer.groups, -1))
        return Dense(torch.matmul(values, patches.transpose(2, 3)).reshape(len(values), *shape))
    order = (0, *(1 + dim for dim in windows.order))
    arranged = tuple(shape[dim] for dim in order)
    if prefers_dense(values.shape[2], math.prod(shape[1:]), shape[0]):
        found, squares = _instantiated(layer, windows, padded, values)
        factor: GradientFactor = Dense(found.reshape(len(values), *arranged), squares)
    else:
        factor = OuterSequence(windows.patches(padded), values.transpose(1, 2), arranged)
    same = tuple(range(len(order)))
    return factor if order == same else Permuted(factor, tuple(order.index(dim) for dim in same))


def _instantiated(layer: Convolution, windows: Windows, padded: Tensor, values: Tensor) -> tuple[Tensor, Tensor | None]:
    """Return the stored gradients of all examples, computed for a few examples at a time.

    Patches take several times the memory of an image. The second result holds the squared norms, computed while the
    gradients are in the cache.
    """
    if is_in_torch_dispatch_mode() or not values.is_cpu:
        # A trace processes all examples at once: a graph of many small products takes minutes to compile.
        return torch.bmm(values, windows.patches(padded)), None
    entries = windows.channels * math.prod(windows.sizes)
    held = _SCRATCH.setdefault(layer, Scratch(1))
    found = held.empty(len(values), values.shape[1], entries, dtype=values.dtype)
    few, squares = max(1, FEW // max(1, entries * values.shape[2])), []
    for some, at, to in zip(padded.split(few), values.split(few), found.split(few), strict=True):
        torch.bmm(at, windows.patches(some), out=to)
        squares.append(row_squares(to.flatten(1)))
    return found, torch.cat(squares)


def _padded(values: Tensor, margins: Sequence[int], mode: str) -> Tensor:
    return functional.pad(values, list(margins), mode=mode) if any(margins) else values


def _margins(layer: Convolution) -> Sequence[int]:
    """Return the padding of the input in the order of ``pad``: last dimension first."""
    if layer.padding == "valid":
        return []
    if layer.padding == "same":
        totals = [step * (size - 1) for size, step in zip(layer.kernel_size, layer.dilation, strict=True)]
        return [side for total in reversed(totals) for side in (total // 2, total - total // 2)]
    return [side for side in reversed(cast(tuple[int, ...], layer.padding)) for _ in range(2)]


def _bias(layer: Convolution, grad: Tensor, sums: Tensor | None) -> Uses:
    if (bias := trained_parameter(layer, "bias")) is not None:
        yield bias, Dense(grad.flatten(2).sum(2) if sums is None else sums)
