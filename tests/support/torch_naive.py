# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Clipped sums of per-example gradients by a loop over examples: slow, and plainly right."""

import math
from collections.abc import Callable, Sequence

import torch
from torch import Tensor, nn

from dperm.torch.engine.clipping import LONGEST_SQUARE, SLACK, STABLE
from dperm.torch.engine.gradients import PerExampleGradients

Losses = Callable[..., Tensor]
"""(model, *inputs) -> one loss for each example; every input has the examples first."""


def wavy_losses(model: nn.Module, *inputs: Tensor) -> Tensor:
    """Losses whose gradient at the output differs from entry to entry, and depends on the output."""
    values = model(*inputs)
    values = values.reshape(len(values), -1)
    return (values * torch.linspace(0.5, 1.5, values.shape[1], dtype=values.dtype)).sin().sum(1)


def scaled_losses(model: nn.Module, *inputs: Tensor) -> Tensor:
    """`wavy_losses` of all inputs but the last, times the last, a number for each example."""
    return wavy_losses(model, *inputs[:-1]) * inputs[-1]


def assert_bad_rows_count_nothing(
    model: nn.Module, inputs: Sequence[Tensor], losses_fn: Losses, bad: int, **options: object
) -> None:
    """The sum is that of the other examples, and it is finite."""
    found = engine_clipped_sum(model, inputs, losses_fn, **options)
    others = [torch.cat([part[:bad], part[bad + 1 :]]) for part in inputs]
    assert_same_sums(found, engine_clipped_sum(model, others, losses_fn, **options))


def naive_clipped_sum(
    model: nn.Module,
    inputs: Tensor | Sequence[Tensor],
    losses_fn: Losses,
    clip_norm: float = 1.0,
    clipping: str = "flat",
) -> dict[nn.Parameter, Tensor]:
    """The sum of clipped gradients in units of the clip norm, in double precision; unused parameters have zeros."""
    inputs = (inputs,) if isinstance(inputs, Tensor) else tuple(inputs)
    parameters = [parameter for parameter in model.parameters() if parameter.requires_grad]
    rows: list[dict[nn.Parameter, Tensor]] = []
    for row in range(len(inputs[0])):
        loss = losses_fn(model, *(part[row : row + 1] for part in inputs)).sum()
        found = torch.autograd.grad(loss, parameters, allow_unused=True)
        rows.append({p: g.detach().double() for p, g in zip(parameters, found, strict=True) if g is not None})
    layers = _layers(model, {parameter for row in rows for parameter in row})
    total = {parameter: torch.zeros_like(parameter, dtype=torch.float64) for parameter in parameters}
    for row in rows:
        for parameter, contribution in _clipped(row, layers, clip_norm, clipping).items():
            total[parameter] += contribution
    return total


def engine_clipped_sum(
    model: nn.Module,
    inputs: Tensor | Sequence[Tensor],
    losses_fn: Losses,
    clip_norm: float = 1.0,
    clipping: str = "flat",
    *,
    double: bool = False,
) -> dict[nn.Parameter, Tensor]:
    """The same by the engine, in double precision; parameters that it does not mention have zeros."""
    inputs = (inputs,) if isinstance(inputs, Tensor) else tuple(inputs)
    with PerExampleGradients(model) as gradients:
        losses = losses_fn(model, *inputs)
        found = gradients.clipped_sum(losses, clip_norm=clip_norm, clipping=clipping, double=double)
    trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
    assert set(found) <= set(trained)
    zeros = {parameter: torch.zeros_like(parameter, dtype=torch.float64) for parameter in trained}
    return zeros | {parameter: value.double() for parameter, value in found.items()}


def assert_same_sums(
    found: dict[nn.Parameter, Tensor], expected: dict[nn.Parameter, Tensor], tolerance: float = 1e-6
) -> None:
    """Both have the same parameters, and every entry agrees to within ``tolerance``."""
    assert found.keys() == expected.keys()
    for parameter, value in expected.items():
        assert found[parameter].shape == value.shape
        assert float((found[parameter] - value).abs().max()) <= tolerance


def assert_engine_is_naive(
    model: nn.Module,
    inputs: Tensor | Sequence[Tensor],
    losses_fn: Losses,
    clip_norm: float = 1.0,
    clipping: str = "flat",
    *,
    double: bool = False,
) -> None:
    """The engine's clipped sums are those of the loop: to 1e-10 if the model is in double precision, else to 1e-6."""
    expected = naive_clipped_sum(model, inputs, losses_fn, clip_norm, clipping)
    found = engine_clipped_sum(model, inputs, losses_fn, clip_norm, clipping, double=double)
    if any(parameter.dtype is not torch.float64 for parameter in model.parameters()):
        assert_same_sums(found, expected, 1e-6)
    else:  # Weights in double precision are smaller by design; where spreads count, by a little more.
        slack = {parameter: value / (1 + SLACK) for parameter, value in expected.items()}
        assert_same_sums(found, slack, 1e-6 if double else 1e-10)


def _layers(model: nn.Module, used: set[nn.Parameter]) -> list[list[nn.Parameter]]:
    """Used parameters by the first module that holds them."""
    found: list[list[nn.Parameter]] = []
    seen: set[nn.Parameter] = set()
    for module in model.modules():
        own = [p for p in module.parameters(recurse=False) if p in used and p not in seen]
        seen.update(own)
        if own:
            found.append(own)
    return found


def _clipped(
    row: dict[nn.Parameter, Tensor], layers: list[list[nn.Parameter]], clip_norm: float, clipping: str
) -> dict[nn.Parameter, Tensor]:
    """One example's contribution; nothing if its gradient is not finite or far too long."""
    square = sum(float(g.square().sum()) for g in row.values())
    if not square < LONGEST_SQUARE:
        return {}
    if clipping == "flat":
        weight = 1 / max(clip_norm, math.sqrt(square))
    elif clipping == "normalized":
        weight = 1 / (math.sqrt(square) + STABLE * clip_norm)
    else:
        assert clipping == "per_layer"
        return {p: g for layer in layers for p, g in _clipped_layer(row, layer, clip_norm, len(layers)).items()}
    return {parameter: weight * g for parameter, g in row.items()}


def _clipped_layer(
    row: dict[nn.Parameter, Tensor], layer: list[nn.Parameter], clip_norm: float, number: int
) -> dict[nn.Parameter, Tensor]:
    """The part of one of ``number`` layers, cut at C / sqrt(number), in units of C."""
    own = {parameter: row[parameter] for parameter in layer if parameter in row}
    norm = math.sqrt(sum(float(g.square().sum()) for g in own.values()))
    share = clip_norm / math.sqrt(number)
    weight = min(1.0, share / norm if norm else 1.0) / clip_norm
    return {parameter: weight * g for parameter, g in own.items()}
