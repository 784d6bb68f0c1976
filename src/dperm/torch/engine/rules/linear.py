# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Linear layers: y_t = W a_t + b, so that the gradient of W is sum_t g_t a_t', that of b sum_t g_t."""

from torch import Tensor, nn

from dperm.torch.engine.factors import Dense, affine, outer
from dperm.torch.engine.tape import Uses


def linear_rule(module: nn.Module, inputs: tuple[Tensor, ...], grad: Tensor) -> Uses:
    """The rule of ``nn.Linear``."""
    return matrix_uses(module._parameters["weight"], module._parameters["bias"], inputs[0], grad)


def matrix_uses(weight: nn.Parameter | None, bias: nn.Parameter | None, inputs: Tensor, grad: Tensor) -> Uses:
    """Uses of a matrix and of what is added to its products, by (examples, ..., d) and (examples, ..., p)."""
    if weight is not None and weight.requires_grad and bias is not None and bias.requires_grad:
        factors = affine(inputs, grad, weight.shape)
        return [(weight, factors[0]), (bias, factors[1])]
    if weight is not None and weight.requires_grad:
        return [(weight, outer(inputs, grad, weight.shape))]
    if bias is not None and bias.requires_grad:
        return [(bias, Dense(grad if grad.dim() == 2 else grad.flatten(1, -2).sum(1)))]
    return []
