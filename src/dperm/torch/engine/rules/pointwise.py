# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Small layers: PReLU and the bilinear map."""

from typing import cast

from torch import Tensor, nn

from dperm.torch.engine.factors import Dense
from dperm.torch.engine.rules.layers import check_examples, trained
from dperm.torch.engine.rules.linear import matrix_uses
from dperm.torch.engine.tape import Uses


def prelu_rule(module: nn.Module, inputs: tuple[Tensor, ...], grad: Tensor) -> Uses:
    """The rule of ``nn.PReLU``, y = max(x, 0) + w min(x, 0): the gradient of w adds up g min(x, 0)."""
    layer, values = cast(nn.PReLU, module), inputs[0]
    check_examples(layer, values, dims=1 if layer.num_parameters == 1 else 2)
    if (weight := trained(layer, "weight")) is not None:
        products = grad * values.clamp(max=0)
        products = products.reshape(len(products), layer.num_parameters, -1)
        yield weight, Dense(products.sum(2))


def bilinear_rule(module: nn.Module, inputs: tuple[Tensor, ...], grad: Tensor) -> Uses:
    """The rule of ``nn.Bilinear``: linear in the products of the entries of its two inputs."""
    layer, (left, right) = cast(nn.Bilinear, module), inputs
    check_examples(layer, left, dims=2)
    products = (left[..., :, None] * right[..., None, :]).flatten(-2)
    return matrix_uses(cast(nn.Parameter, layer.weight), layer.bias, products, grad)
