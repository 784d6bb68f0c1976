# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Queries, keys and values of attention layers: linear layers, with their matrices in one parameter or in three."""

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from dperm.torch.engine.factors import Dense, Factor, outer
from dperm.torch.engine.rules.blocks import Stacked, joined, separated
from dperm.torch.engine.rules.linear import matrix_uses
from dperm.torch.engine.tape import Tape, Uses


def projections(
    module: nn.MultiheadAttention, tape: Tape, query: Tensor, key: Tensor, value: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """Queries, keys and values (examples, heads, time, width of a head) of inputs as the layer takes them."""
    if module.in_proj_weight is not None and query is key and key is value:
        packed = F.linear(query, module.in_proj_weight, module.in_proj_bias)
        tape.record(_PACKED[module.batch_first], module, (query,), packed)
        heads = packed.unflatten(-1, (3, module.num_heads, module.head_dim)).unbind(2)
        return heads_first(heads[0], module), heads_first(heads[1], module), heads_first(heads[2], module)
    inputs = [values if module.batch_first else values.transpose(0, 1) for values in (query, key, value)]
    weights, biases = _separate(module)
    parts = [F.linear(*triple) for triple in zip(inputs, weights, biases, strict=True)]
    trained = [weight for weight in (*weights, module.in_proj_bias) if weight is not None and weight.requires_grad]
    if trained:
        marker, found = joined(*parts)
        tape.record(_Separate(tuple((part.shape[1], part.shape[2]) for part in parts)), module, tuple(inputs), marker)
        parts = list(found)
    return tuple(part.unflatten(-1, (module.num_heads, module.head_dim)).transpose(1, 2) for part in parts)


def heads_first(values: Tensor, module: nn.MultiheadAttention) -> Tensor:
    """(examples, heads, time, width) of values with examples and time as the layer has them."""
    return values.permute(0, 2, 1, 3) if module.batch_first else values.permute(1, 2, 0, 3)


def _separate(module: nn.MultiheadAttention) -> tuple[tuple[Tensor, ...], tuple[Tensor | None, ...]]:
    """Matrices and what is added to their products, for queries, keys and values."""
    bias = module.in_proj_bias
    biases: tuple[Tensor | None, ...] = (None, None, None) if bias is None else bias.chunk(3)
    if module.in_proj_weight is not None:
        return module.in_proj_weight.chunk(3), biases
    return (module.q_proj_weight, module.k_proj_weight, module.v_proj_weight), biases


def _batch_first(module: nn.Module, inputs: tuple[Tensor, ...], grad: Tensor) -> Uses:
    assert isinstance(module, nn.MultiheadAttention)
    return matrix_uses(module.in_proj_weight, module.in_proj_bias, inputs[0], grad)


def _time_first(module: nn.Module, inputs: tuple[Tensor, ...], grad: Tensor) -> Uses:
    return _batch_first(module, (inputs[0].transpose(0, 1),), grad.transpose(0, 1))


_PACKED = {True: _batch_first, False: _time_first}


@dataclass(frozen=True)
class _Separate:
    """The rule of three projections, by the shapes (time, width) of their results."""

    shapes: tuple[tuple[int, int], ...]

    def __call__(self, module: nn.Module, inputs: tuple[Tensor, ...], grad: Tensor) -> Uses:
        assert isinstance(module, nn.MultiheadAttention)
        grads = separated(grad, self.shapes)
        width = module.embed_dim

        def factor(number: int) -> Factor:
            values = inputs[number]
            return outer(values, grads[number], (width, values.shape[-1]))

        if module.in_proj_weight is not None:
            if module.in_proj_weight.requires_grad:
                yield module.in_proj_weight, Stacked(tuple(factor(number) for number in range(3)))
        else:
            for number, weight in enumerate((module.q_proj_weight, module.k_proj_weight, module.v_proj_weight)):
                if weight.requires_grad:
                    yield weight, factor(number)
        if module.in_proj_bias is not None and module.in_proj_bias.requires_grad:
            yield module.in_proj_bias, Dense(torch.cat([part.sum(1) for part in grads], 1))
