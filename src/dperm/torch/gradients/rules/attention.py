# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Attention layers, `torch.nn.MultiheadAttention`: projections and their rules.

torch never calls the projections as modules. They are linear layers, with their matrices in one parameter or in three.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from dperm.errors import AssumptionError
from dperm.torch.gradients.factors import Dense, GradientFactor, outer
from dperm.torch.gradients.rules.linear import linear_rule, matrix_uses
from dperm.torch.gradients.rules.recurrent import in_training
from dperm.torch.gradients.tape import Tape, Uses
from dperm.torch.gradients.weighted_sums import Accumulator


@dataclass(frozen=True)
class StackedBlocks:
    """Gradients made of several factors, stacked along the first dimension of the parameter.

    Attention layers store queries, keys and values in one such parameter.
    """

    parts: tuple[GradientFactor, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the parameter, without the example dimension."""
        return sum(part.shape[0] for part in self.parts), *self.parts[0].shape[1:]

    def squared_norms(self) -> Tensor:
        """Return the sum of the squared norms of the parts."""
        return torch.stack([part.squared_norms() for part in self.parts]).sum(0)

    def spread(self) -> Tensor | None:
        """Return the sum of the spreads of the parts. A part without a spread counts with its norm."""
        spreads = [part.spread() for part in self.parts]
        if all(spread is None for spread in spreads):
            return None
        found = zip(self.parts, spreads, strict=True)
        return torch.stack([part.squared_norms().sqrt() if own is None else own for part, own in found]).sum(0)

    def weighted(self, weights: Tensor) -> Tensor:
        """Return the stacked weighted sums of the parts."""
        return torch.cat([part.weighted(weights) for part in self.parts])

    def add_weighted(self, weights: Tensor, onto: Accumulator) -> None:
        """Add the stacked weighted sums to an existing tensor."""
        onto.total(self.weighted(weights))

    def dense(self) -> Tensor:
        """Return the stacked gradients of all examples."""
        return torch.cat([part.dense() for part in self.parts], 1)

    def masked(self, keep: Tensor) -> "StackedBlocks":
        """Return stacked factors with zeros outside ``keep``."""
        return StackedBlocks(tuple(part.masked(keep) for part in self.parts))


class _Joined(torch.autograd.Function):
    """Identity on tensors (examples, time, width). The marker receives all their gradients, one row per example."""

    @staticmethod
    def forward(ctx: Any, marker: Tensor, *parts: Tensor) -> tuple[Tensor, ...]:
        return tuple(part.view_as(part) for part in parts)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, ...]:
        return torch.cat([grad.flatten(1) for grad in grads], 1), *grads


def join_with_marker(*parts: Tensor) -> tuple[Tensor, tuple[Tensor, ...]]:
    """Return a marker tensor for the gradients of all parts, and the parts."""
    width = sum(part[0].numel() for part in parts)
    marker = parts[0].new_zeros(1).expand(len(parts[0]), width).requires_grad_()
    return marker, _Joined.apply(marker, *parts)  # type: ignore[no-untyped-call]


def split_joined(grad: Tensor, shapes: Sequence[Sequence[int]]) -> list[Tensor]:
    """Return the gradients of the parts, given their shapes without examples."""
    sizes = [steps * width for steps, width in shapes]
    return [part.view(len(grad), *shape) for part, shape in zip(grad.split(sizes, 1), shapes, strict=True)]


def projections(
    module: nn.MultiheadAttention, tape: Tape, query: Tensor, key: Tensor, value: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """Return queries, keys and values (examples, heads, time, head width) for inputs in the layout of the layer."""
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
        marker, found = join_with_marker(*parts)
        tape.record(_Separate(tuple((part.shape[1], part.shape[2]) for part in parts)), module, tuple(inputs), marker)
        parts = list(found)
    return tuple(part.unflatten(-1, (module.num_heads, module.head_dim)).transpose(1, 2) for part in parts)


def heads_first(values: Tensor, module: nn.MultiheadAttention) -> Tensor:
    """Return values as (examples, heads, time, width), from the layout of the layer."""
    return values.permute(0, 2, 1, 3) if module.batch_first else values.permute(1, 2, 0, 3)


def _separate(module: nn.MultiheadAttention) -> tuple[tuple[Tensor, ...], tuple[Tensor | None, ...]]:
    """Return the matrices and biases of queries, keys and values."""
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
    """Rule of three projections, given the shapes (time, width) of their results."""

    shapes: tuple[tuple[int, int], ...]

    def __call__(self, module: nn.Module, inputs: tuple[Tensor, ...], grad: Tensor) -> Uses:
        assert isinstance(module, nn.MultiheadAttention)
        grads = split_joined(grad, self.shapes)
        width = module.embed_dim

        def factor(number: int) -> GradientFactor:
            values = inputs[number]
            return outer(values, grads[number], (width, values.shape[-1]))

        if module.in_proj_weight is not None:
            if module.in_proj_weight.requires_grad:
                yield module.in_proj_weight, StackedBlocks(tuple(factor(number) for number in range(3)))
        else:
            for number, weight in enumerate((module.q_proj_weight, module.k_proj_weight, module.v_proj_weight)):
                if weight.requires_grad:
                    yield weight, factor(number)
        if module.in_proj_bias is not None and module.in_proj_bias.requires_grad:
            yield module.in_proj_bias, Dense(torch.cat([part.sum(1) for part in grads], 1))


def attention(module: nn.MultiheadAttention, tape: Tape) -> Callable[..., Any]:
    """Return a forward pass that records the projections on the tape."""
    original = module.forward
    _check_module(module)

    def forward(
        query: Tensor,
        key: Tensor,
        value: Tensor,
        key_padding_mask: Tensor | None = None,
        need_weights: bool = True,
        attn_mask: Tensor | None = None,
        average_attn_weights: bool = True,
        is_causal: bool = False,
    ) -> tuple[Tensor, Tensor | None]:
        # torch itself refuses a causal hint without a mask
        if not in_training(module) or (is_causal and attn_mask is None):
            return original(
                query, key, value, key_padding_mask, need_weights, attn_mask, average_attn_weights, is_causal
            )
        _check_inputs(query, key, value)
        q, k, v = projections(module, tape, query, key, value)
        k, v = _with_bias(module, tape, k, v)
        causal = is_causal and key_padding_mask is None and not need_weights
        mask = None if causal else _mask(attn_mask, key_padding_mask, q, k)
        values, weights = _attend(module, q, k, v, mask, causal=causal, need_weights=need_weights)
        if weights is not None and average_attn_weights:
            weights = weights.mean(1)
        return _output(module, tape, values), weights

    return forward


def _attend(
    module: nn.MultiheadAttention,
    q: Tensor,
    k: Tensor,
    v: Tensor,
    mask: Tensor | None,
    *,
    causal: bool,
    need_weights: bool,
) -> tuple[Tensor, Tensor | None]:
    """Return softmax(q k' / sqrt(width) + mask) v, and the attention weights if needed."""
    dropout = module.dropout if module.training else 0.0
    if not need_weights:
        return F.scaled_dot_product_attention(q, k, v, mask, dropout, causal), None
    scores = (q * math.sqrt(1 / module.head_dim)) @ k.transpose(2, 3)
    weights = (scores if mask is None else scores + mask).softmax(-1)
    if dropout:
        weights = F.dropout(weights, dropout)
    return weights @ v, weights


def _output(module: nn.MultiheadAttention, tape: Tape, values: Tensor) -> Tensor:
    """Return the output projection of (examples, heads, time, width), in the layout of the layer."""
    merged = values.transpose(1, 2).flatten(2)
    found = F.linear(merged, module.out_proj.weight, module.out_proj.bias)
    tape.record(linear_rule, module.out_proj, (merged,), found)
    return found if module.batch_first else found.transpose(0, 1)


def _with_bias(module: nn.MultiheadAttention, tape: Tape, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
    """Return keys and values extended by the learned bias and the zeros added by the layer."""
    found = []
    for values, bias in ((k, module.bias_k), (v, module.bias_v)):
        parts = [values]
        if isinstance(bias, nn.Parameter):
            copies = bias.reshape(1, module.num_heads, 1, module.head_dim).repeat(len(values), 1, 1, 1)
            tape.record(_Copied(bias), module, (), copies)
            parts.append(copies)
        if module.add_zero_attn:
            parts.append(values.new_zeros(*values.shape[:2], 1, values.shape[3]))
        found.append(torch.cat(parts, 2) if len(parts) > 1 else values)
    return found[0], found[1]


@dataclass(frozen=True)
class _Copied:
    """Rule of a parameter with one copy per example."""

    parameter: nn.Parameter

    def __call__(self, module: nn.Module, inputs: tuple[Tensor, ...], grad: Tensor) -> Uses:
        return [(self.parameter, Dense(grad.reshape(len(grad), *self.parameter.shape)))]


def _mask(mask: Tensor | None, padding: Tensor | None, q: Tensor, k: Tensor) -> Tensor | None:
    """Return the mask added to the scores (examples, heads, time, key time). Added keys are never masked."""
    found = None
    if mask is not None:
        found = _added(mask, q, k)
        found = found.view(*q.shape[:2], *found.shape[1:]) if found.dim() == 3 else found[None, None]
    if padding is not None:
        hidden = _added(padding, q, k)[:, None, None]
        found = hidden if found is None else found + hidden
    return found


def _added(mask: Tensor, q: Tensor, k: Tensor) -> Tensor:
    """Return the mask as numbers, with zeros for added keys."""
    if mask.dtype is torch.bool:
        mask = torch.zeros_like(mask, dtype=q.dtype).masked_fill_(mask, -math.inf)
    more = k.shape[2] - mask.shape[-1]
    return F.pad(mask, (0, more)) if more else mask


def _check_inputs(*inputs: Tensor) -> None:
    if any(values.dim() != 3 for values in inputs):
        raise AssumptionError(
            "MultiheadAttention got a sequence without a batch dimension: a single example.",
            remedy="Pass inputs with three dimensions.",
        )


def _check_module(module: nn.MultiheadAttention) -> None:
    if not isinstance(module.out_proj.weight, nn.Parameter):
        raise AssumptionError(
            "MultiheadAttention computes the weight of out_proj from other parameters, so their gradients are unknown.",
            remedy="Remove the parametrization of out_proj.",
        )
