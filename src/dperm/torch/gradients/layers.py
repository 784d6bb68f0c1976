# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""What every rule asks of a layer: which parameters are trained, and whether there are examples."""

from torch import Tensor, nn

from dperm.errors import AssumptionError


def trained_parameter(layer: nn.Module, name: str) -> nn.Parameter | None:
    """The parameter of that name; None if there is none, or if it is frozen."""
    parameter = layer._parameters.get(name)
    return parameter if parameter is not None and parameter.requires_grad else None


def check_examples(layer: nn.Module, values: Tensor, *, dims: int) -> None:
    """Refuse an input of fewer than ``dims`` dimensions: the examples are missing."""
    if values.dim() < dims:
        raise AssumptionError(
            f"a layer needs examples in the first dimension of its input, and {dims} dimensions in all for this "
            f"{type(layer).__name__}, got {values.dim()}. Give it a batch, input.unsqueeze(0) for a single example."
        )


def describe_layer(name: str) -> str:
    """The layer of that name, or the model."""
    return f"layer {name!r}" if name else "the model"
