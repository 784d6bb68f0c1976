# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Attention layers, `torch.nn.MultiheadAttention`: their projections are linear layers that torch never calls."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from dperm.errors import AssumptionError
from dperm.torch.engine.factors import Dense
from dperm.torch.engine.rules.linear import linear_rule
from dperm.torch.engine.rules.projections import projections
from dperm.torch.engine.rules.recurrent import in_training
from dperm.torch.engine.tape import Tape, Uses


def attention(module: nn.MultiheadAttention, tape: Tape) -> Callable[..., Any]:
    """The forward pass that notes the uses of the projections."""
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
        # torch has a message for a causal hint without a mask
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
    """softmax(q k' / sqrt(width) + mask) v, and the weights if they are asked for."""
    dropout = module.dropout if module.training else 0.0
    if not need_weights:
        return F.scaled_dot_product_attention(q, k, v, mask, dropout, causal), None
    scores = (q * math.sqrt(1 / module.head_dim)) @ k.transpose(2, 3)
    weights = (scores if mask is None else scores + mask).softmax(-1)
    if dropout:
        weights = F.dropout(weights, dropout)
    return weights @ v, weights


def _output(module: nn.MultiheadAttention, tape: Tape, values: Tensor) -> Tensor:
    """The projection of (examples, heads, time, width), with the dimensions as the layer has them."""
    merged = values.transpose(1, 2).flatten(2)
    found = F.linear(merged, module.out_proj.weight, module.out_proj.bias)
    tape.record(linear_rule, module.out_proj, (merged,), found)
    return found if module.batch_first else found.transpose(0, 1)


def _with_bias(module: nn.MultiheadAttention, tape: Tape, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
    """Keys and values, and the learned ones and those of zeros that the layer adds to each sequence."""
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
    """The rule of a parameter of which every example has a copy."""

    parameter: nn.Parameter

    def __call__(self, module: nn.Module, inputs: tuple[Tensor, ...], grad: Tensor) -> Uses:
        return [(self.parameter, Dense(grad.reshape(len(grad), *self.parameter.shape)))]


def _mask(mask: Tensor | None, padding: Tensor | None, q: Tensor, k: Tensor) -> Tensor | None:
    """What is added to the scores (examples, heads, time, time of keys); added keys are never masked."""
    found = None
    if mask is not None:
        found = _added(mask, q, k)
        found = found.view(*q.shape[:2], *found.shape[1:]) if found.dim() == 3 else found[None, None]
    if padding is not None:
        hidden = _added(padding, q, k)[:, None, None]
        found = hidden if found is None else found + hidden
    return found


def _added(mask: Tensor, q: Tensor, k: Tensor) -> Tensor:
    """The mask as numbers, with zeros for added keys."""
    if mask.dtype is torch.bool:
        mask = torch.zeros_like(mask, dtype=q.dtype).masked_fill_(mask, -math.inf)
    more = k.shape[2] - mask.shape[-1]
    return F.pad(mask, (0, more)) if more else mask


def _check_inputs(*inputs: Tensor) -> None:
    if any(values.dim() != 3 for values in inputs):
        raise AssumptionError(
            "MultiheadAttention got a sequence without a batch dimension, so there is one example only. Give inputs "
            "of three dimensions."
        )


def _check_module(module: nn.MultiheadAttention) -> None:
    if not isinstance(module.out_proj.weight, nn.Parameter):
        raise AssumptionError(
            "MultiheadAttention has an out_proj whose weight is computed from other parameters, so their gradients are "
            "not known. Remove the parametrization of out_proj."
        )
