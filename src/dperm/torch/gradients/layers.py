# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Helpers shared by the layer rules: trained parameters, input checks and layer names in messages."""

from torch import Tensor, nn

from dperm.errors import AssumptionError

SITES_REMEDY = (
    "Use PerExampleGradients(model, sites=check_model(model, inputs)), with check_model from dperm.torch.model_checks."
)
"""Remedy for models used without a check."""


def trained_parameter(layer: nn.Module, name: str) -> nn.Parameter | None:
    """Return the parameter with this name, or None if it is missing or frozen."""
    parameter = layer._parameters.get(name)
    return parameter if parameter is not None and parameter.requires_grad else None


def check_examples(layer: nn.Module, values: Tensor, *, dims: int) -> None:
    """Refuse an input with fewer than ``dims`` dimensions: its example dimension is missing."""
    if values.dim() < dims:
        raise AssumptionError(
            f"the input of {type(layer).__name__} must have the examples as its first dimension and {dims} dimensions "
            f"in total, got {values.dim()}.",
            remedy="Pass a batch; for a single example, input.unsqueeze(0).",
        )


def describe_layer(name: str) -> str:
    """Return "layer 'name'", or "the model" for an empty name."""
    return f"layer {name!r}" if name else "the model"
