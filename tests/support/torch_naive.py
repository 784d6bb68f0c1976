# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Clipped sums of per-example gradients by a loop over examples: slow, and plainly right."""

import math
from collections.abc import Callable, Sequence

import torch
from torch import Tensor, nn

from dperm.torch.gradients.clipping import GRAM_SLACK, LONGEST_SQUARE, SLACK, STABLE
from dperm.torch.gradients.factors import SPREAD
from dperm.torch.gradients.per_example import PerExampleGradients

Losses = Callable[..., Tensor]
"""(model, *inputs) -> one loss for each example; every input has the examples first."""

Spreads = dict[nn.Parameter, Tensor]
"""For each parameter a number for every example."""


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
    spreads: Spreads | None = None,
) -> dict[nn.Parameter, Tensor]:
    """The sum of clipped gradients in units of the clip norm, in double precision; unused parameters have zeros.

    With ``spreads``, norms are lengthened by the bounds on rounding of the exact grade (T46b).
    """
    inputs = (inputs,) if isinstance(inputs, Tensor) else tuple(inputs)
    parameters = [parameter for parameter in model.parameters() if parameter.requires_grad]
    rows: list[dict[nn.Parameter, Tensor]] = []
    for row in range(len(inputs[0])):
        loss = losses_fn(model, *(part[row : row + 1] for part in inputs)).sum()
        found = torch.autograd.grad(loss, parameters, allow_unused=True)
        rows.append({p: g.detach().double() for p, g in zip(parameters, found, strict=True) if g is not None})
    layers = _layers(model, {parameter for row in rows for parameter in row})
    total = {parameter: torch.zeros_like(parameter, dtype=torch.float64) for parameter in parameters}
    for place, row in enumerate(rows):
        own = None if spreads is None else {p: float(found[place]) for p, found in spreads.items() if p in row}
        for parameter, contribution in _clipped(row, layers, clip_norm, clipping, own).items():
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


def spreads_of(model: nn.Module, inputs: Tensor | Sequence[Tensor], losses_fn: Losses) -> Spreads:
    """Sums of the norms of the terms of every gradient, for each parameter whose gradients are not stored."""
    inputs = (inputs,) if isinstance(inputs, Tensor) else tuple(inputs)
    with PerExampleGradients(model) as gradients:
        factors = gradients.factors(losses_fn(model, *inputs), double=True)
        return {parameter: spread for parameter, factor in factors if (spread := factor.spread()) is not None}


def assert_engine_is_naive(
    model: nn.Module,
    inputs: Tensor | Sequence[Tensor],
    losses_fn: Losses,
    clip_norm: float = 1.0,
    clipping: str = "flat",
    *,
    double: bool = False,
) -> None:
    """The engine's clipped sums are those of the loop: to 1e-10 if the model is in double precision, else to 1e-6.

    The exact grade adds 2^-28 of its squared spread to a squared norm (T46b): the loop does the same. Of a gradient
    whose terms cancel to 1/23 of their spread, that takes 1e-6.
    """
    spreads = spreads_of(model, inputs, losses_fn) if double else None
    expected = naive_clipped_sum(model, inputs, losses_fn, clip_norm, clipping, spreads)
    found = engine_clipped_sum(model, inputs, losses_fn, clip_norm, clipping, double=double)
    if any(parameter.dtype is not torch.float64 for parameter in model.parameters()):
        assert_same_sums(found, expected, 1e-6)
    else:  # Weights in double precision are smaller by design.
        assert_same_sums(found, {parameter: value * (1 - SLACK) for parameter, value in expected.items()}, 1e-10)


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
    row: dict[nn.Parameter, Tensor],
    layers: list[list[nn.Parameter]],
    clip_norm: float,
    clipping: str,
    spreads: dict[nn.Parameter, float] | None = None,
) -> dict[nn.Parameter, Tensor]:
    """One example's contribution; nothing if its gradient is not finite or far too long."""
    if not sum(float(g.square().sum()) for g in row.values()) < LONGEST_SQUARE:
        return {}
    if clipping == "per_layer":
        own = [{p: row[p] for p in layer if p in row} for layer in layers]
        share = 1 / math.sqrt(len(layers))
        return {p: share * _weight(part, clip_norm * share, "flat", spreads, joint=True) * g
                for part in own for p, g in part.items()}  # fmt: skip
    weight = _weight(row, clip_norm, clipping, spreads)
    return {parameter: weight * g for parameter, g in row.items()}


def _weight(
    row: dict[nn.Parameter, Tensor],
    clip_norm: float,
    clipping: str,
    spreads: dict[nn.Parameter, float] | None,
    *,
    joint: bool = False,
) -> float:
    """The weight of one gradient, over all of these parameters; ``joint``: they have one spread, as in a layer."""
    own = {p: spreads[p] for p in row if p in spreads} if spreads else {}
    square = sum(max(float(g.square().sum()), (own.get(p, 0.0) / SPREAD) ** 2) for p, g in row.items())
    square += GRAM_SLACK * (sum(own.values()) ** 2 if joint else sum(spread**2 for spread in own.values()))
    norm = math.sqrt(square)
    weight = 1 / (norm + STABLE * clip_norm if clipping == "normalized" else max(clip_norm, norm))
    return min(weight, SPREAD / sum(own.values())) if any(own.values()) else weight
