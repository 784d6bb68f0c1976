# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Embeddings: the gradient at a looked-up vector is the gradient of its table row."""

import math
from collections.abc import Callable
from typing import cast

import torch
from torch import Tensor, nn

from dperm.errors import AssumptionError
from dperm.torch.gradients.embedding_factors import TableRows
from dperm.torch.gradients.layers import check_examples, trained_parameter
from dperm.torch.gradients.tape import Tape, Uses


def embedding(module: nn.Embedding, tape: Tape) -> Callable[[Tensor], Tensor]:
    """Return the forward pass of ``nn.Embedding``. Refuse options that change the table or mix examples."""
    check_table(module)

    def forward(input: Tensor) -> Tensor:
        check_examples(module, input, dims=1)
        output = type(module).forward(module, input)
        tape.record(embedding_rule, module, (input,), output)
        return output

    return forward


def embedding_bag(module: nn.EmbeddingBag, tape: Tape) -> Callable[..., Tensor]:
    """Return the forward pass of ``nn.EmbeddingBag`` for bags of equal length."""
    check_table(module)

    def forward(input: Tensor, offsets: Tensor | None = None, per_sample_weights: Tensor | None = None) -> Tensor:
        if input.dim() != 2 or offsets is not None:
            raise AssumptionError(
                "an EmbeddingBag needs one row of indices for each example, got bags in one dimension with offsets.",
                remedy="Pass indices of shape (batch, length), and set padding_idx in the layer for shorter bags.",
            )
        output = type(module).forward(module, input, offsets, per_sample_weights)
        shares = () if per_sample_weights is None else (per_sample_weights,)
        tape.record(embedding_bag_rule, module, (input, *shares), output)
        return output

    return forward


def embedding_rule(module: nn.Module, inputs: tuple[Tensor, ...], grad: Tensor) -> Uses:
    """Return the per-example gradient of the table of ``nn.Embedding``, for the rows that were looked up."""
    layer, indices = cast(nn.Embedding, module), inputs[0]
    examples, places = indices.shape[0], math.prod(indices.shape[1:])
    indices, grads = indices.reshape(examples, places), grad.reshape(examples, places, grad.shape[-1])
    if layer.padding_idx is not None:
        grads = torch.where((indices == layer.padding_idx)[:, :, None], 0, grads)
    if (weight := trained_parameter(layer, "weight")) is not None:
        yield weight, TableRows(indices, grads, tuple(weight.shape))


def embedding_bag_rule(module: nn.Module, inputs: tuple[Tensor, ...], grad: Tensor) -> Uses:
    """Return the per-example gradient of the table of ``nn.EmbeddingBag``, for the rows that were looked up."""
    layer, indices = cast(nn.EmbeddingBag, module), inputs[0]
    counts = indices != (-1 if layer.padding_idx is None else layer.padding_idx)
    if layer.mode == "max":
        grads = _of_largest(layer.weight, indices, counts, grad)
    elif layer.mode == "mean":
        grads = (grad / counts.sum(1, keepdim=True).clamp(min=1))[:, None, :]
    else:
        grads = grad[:, None, :] * (inputs[1][:, :, None] if len(inputs) > 1 else 1)
    if (weight := trained_parameter(layer, "weight")) is not None:
        yield weight, TableRows(indices, torch.where(counts[:, :, None], grads, 0), tuple(weight.shape))


def _of_largest(table: Tensor, indices: Tensor, counts: Tensor, grad: Tensor) -> Tensor:
    """Return gradients (examples, T, d), with each entry at the first position of its maximum."""
    values = table.detach()[indices].masked_fill_(~counts[:, :, None], -math.inf)
    largest = values.max(dim=1, keepdim=True).indices
    return grad.new_zeros(values.shape).scatter_(1, largest, grad[:, None, :])


def check_table(layer: nn.Embedding | nn.EmbeddingBag) -> None:
    """Refuse options that make a table, or its gradient, depend on other examples."""
    name = type(layer).__name__
    if layer.max_norm is not None:
        raise AssumptionError(
            f"the forward pass must not change weights, but an {name} with max_norm shortens the rows looked up by a "
            f"batch and so reveals them.",
            remedy="Set max_norm=None; clipping bounds the gradients.",
        )
    if layer.scale_grad_by_freq:
        raise AssumptionError(
            f"an example's gradient must not depend on other examples, but an {name} with scale_grad_by_freq divides "
            f"by counts in the batch.",
            remedy="Set scale_grad_by_freq=False.",
        )
    if layer.sparse:
        raise AssumptionError(
            f"private gradients have noise in every row, but an {name} with sparse=True returns only the rows of the "
            f"batch.",
            remedy="Set sparse=False, and use an optimizer for dense gradients.",
        )
