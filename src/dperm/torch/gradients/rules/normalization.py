# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Normalization within an example: y = w z + b, with z the normalized input.

The gradient of w is the sum of g z, and the gradient of b is the sum of g. z is recomputed without weights.
"""

from collections.abc import Callable
from typing import Any, cast

import torch
from torch import Tensor, nn
from torch.nn import functional

from dperm.errors import AssumptionError
from dperm.torch.gradients.factors import Dense
from dperm.torch.gradients.layers import check_examples, trained_parameter
from dperm.torch.gradients.tape import Tape, Uses


def layer_norm_rule(module: nn.Module, inputs: tuple[Tensor, ...], grad: Tensor) -> Uses:
    """Return the per-example gradients of the weight and bias of ``nn.LayerNorm``."""
    layer, values = cast(nn.LayerNorm, module), inputs[0]
    shape = list(layer.normalized_shape)
    check_examples(layer, values, dims=1 + len(shape))
    if (weight := trained_parameter(layer, "weight")) is not None:
        z = functional.layer_norm(values, shape, eps=layer.eps)
        yield weight, _last_dims(grad * z, len(shape))
    if (bias := trained_parameter(layer, "bias")) is not None:
        yield bias, _last_dims(grad, len(shape))


def rms_norm_rule(module: nn.Module, inputs: tuple[Tensor, ...], grad: Tensor) -> Uses:
    """Return the per-example gradient of the weight of ``nn.RMSNorm``."""
    layer, values = cast(nn.RMSNorm, module), inputs[0]
    shape = list(layer.normalized_shape)
    check_examples(layer, values, dims=1 + len(shape))
    if (weight := trained_parameter(layer, "weight")) is not None:
        # The default depends on the precision, and the precision may be higher here than in the model.
        eps = torch.finfo(weight.dtype).eps if layer.eps is None else layer.eps
        yield weight, _last_dims(grad * functional.rms_norm(values, shape, eps=eps), len(shape))


def group_norm_rule(module: nn.Module, inputs: tuple[Tensor, ...], grad: Tensor) -> Uses:
    """Return the per-example gradients of the weight and bias of ``nn.GroupNorm``."""
    layer = cast(nn.GroupNorm, module)
    return _channels(layer, lambda: functional.group_norm(inputs[0], layer.num_groups, eps=layer.eps), grad)


def instance_norm_rule(module: nn.Module, inputs: tuple[Tensor, ...], grad: Tensor) -> Uses:
    """Return the per-example gradients of the weight and bias of ``nn.InstanceNorm1d``, ``2d`` and ``3d``."""
    layer, values = cast(nn.InstanceNorm2d, module), inputs[0]

    def normalized() -> Tensor:
        mean, variance = layer.running_mean, layer.running_var
        if mean is None or variance is None:
            return functional.instance_norm(values, eps=layer.eps)
        mean, variance = mean.to(values.dtype), variance.to(values.dtype)
        return functional.instance_norm(values, mean, variance, use_input_stats=False, eps=layer.eps)

    return _channels(layer, normalized, grad)


def instance_norm(module: nn.InstanceNorm2d, tape: Tape) -> Callable[[Tensor], Tensor]:
    """Return the forward pass of ``nn.InstanceNorm1d``, ``2d`` and ``3d``. Refuse running statistics in training."""

    def forward(input: Tensor) -> Tensor:
        if module.training and module.track_running_stats:
            raise AssumptionError(
                f"the forward pass must not keep statistics of private examples, but an {type(module).__name__} with "
                f"track_running_stats does so in training.",
                remedy="Set track_running_stats=False.",
            )
        check_examples(module, input, dims=cast(Any, module)._get_no_batch_dim() + 1)
        # A clone, because torch returns a view, and a later in-place operation on a view would detach its gradient.
        output = type(module).forward(module, input).clone()
        tape.record(instance_norm_rule, module, (input,), output)
        return output

    return forward


def _channels(layer: nn.GroupNorm | nn.InstanceNorm2d, normalized: Callable[[], Tensor], grad: Tensor) -> Uses:
    """Return the per-example gradients of the weight and bias, one entry per channel (dimension 1)."""
    if (weight := trained_parameter(layer, "weight")) is not None:
        yield weight, Dense(_by_channel(grad * normalized()))
    if (bias := trained_parameter(layer, "bias")) is not None:
        yield bias, Dense(_by_channel(grad))


def _by_channel(values: Tensor) -> Tensor:
    return values if values.dim() == 2 else values.flatten(2).sum(2)


def _last_dims(values: Tensor, dims: int) -> Dense:
    """Return sums over all dimensions except the examples and the last ``dims`` dimensions."""
    middle = list(range(1, values.dim() - dims))
    return Dense(values.sum(middle) if middle else values)
