# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Rules of linear, bilinear and PReLU layers.

For y_t = W a_t + b the gradient of W is sum_t g_t a_t', and the gradient of b is sum_t g_t.
"""

from typing import cast

from torch import Tensor, nn

from dperm.torch.gradients.factors import Dense, affine, outer
from dperm.torch.gradients.layers import check_examples, trained_parameter
from dperm.torch.gradients.tape import Uses


def linear_rule(module: nn.Module, inputs: tuple[Tensor, ...], grad: Tensor) -> Uses:
    """Return the per-example gradients of the weight and bias of ``nn.Linear``."""
    return matrix_uses(module._parameters["weight"], module._parameters["bias"], inputs[0], grad)


def matrix_uses(weight: nn.Parameter | None, bias: nn.Parameter | None, inputs: Tensor, grad: Tensor) -> Uses:
    """Return the per-example gradients of a matrix and its bias, of those that are trained.

    Parameters
    ----------
    weight, bias
        Matrix (p, d), and vector of p entries.
    inputs
        Inputs (examples, ..., d) of the product.
    grad
        Gradients (examples, ..., p) of its result.
    """
    if weight is not None and weight.requires_grad and bias is not None and bias.requires_grad:
        factors = affine(inputs, grad, weight.shape)
        return [(weight, factors[0]), (bias, factors[1])]
    if weight is not None and weight.requires_grad:
        return [(weight, outer(inputs, grad, weight.shape))]
    if bias is not None and bias.requires_grad:
        return [(bias, Dense(grad if grad.dim() == 2 else grad.flatten(1, -2).sum(1)))]
    return []


def prelu_rule(module: nn.Module, inputs: tuple[Tensor, ...], grad: Tensor) -> Uses:
    """Return the per-example gradient of the weight of ``nn.PReLU``, y = max(x, 0) + w min(x, 0).

    It is the sum of g min(x, 0), where g is the output gradient.
    """
    layer, values = cast(nn.PReLU, module), inputs[0]
    check_examples(layer, values, dims=1 if layer.num_parameters == 1 else 2)
    if (weight := trained_parameter(layer, "weight")) is not None:
        products = grad * values.clamp(max=0)
        products = products.reshape(len(products), layer.num_parameters, -1)
        yield weight, Dense(products.sum(2))


def bilinear_rule(module: nn.Module, inputs: tuple[Tensor, ...], grad: Tensor) -> Uses:
    """Return the per-example gradients of the weight and bias of ``nn.Bilinear``.

    The layer acts as a linear layer on the products of the entries of its two inputs.
    """
    layer, (left, right) = cast(nn.Bilinear, module), inputs
    check_examples(layer, left, dims=2)
    products = (left[..., :, None] * right[..., None, :]).flatten(-2)
    return matrix_uses(cast(nn.Parameter, layer.weight), layer.bias, products, grad)
