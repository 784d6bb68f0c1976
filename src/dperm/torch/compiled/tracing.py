# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""The graph of a private sum: one trace of what the engine does for a batch."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.fx import GraphModule
from torch.fx.experimental.proxy_tensor import make_fx

from dperm.errors import AssumptionError, ParameterError
from dperm.torch.gradients.clipping import LONGEST_SQUARE, SLACK, STABLE, Clipping
from dperm.torch.gradients.embedding_factors import TableRows, TiedTable, spread_of_rows
from dperm.torch.gradients.factors import Dense, GradientFactor, floor_norms, in_double
from dperm.torch.gradients.per_example import PerExampleGradients


def branchless_squared_norms(factor: GradientFactor) -> Tensor:
    """The squared norm of every example's gradient."""
    match factor:
        case TableRows():
            return in_double(_squared_rows, factor.grads, factor.indices)
        case TiedTable():
            return factor.squared_norms(branchless_squared_norms)
    return factor.squared_norms()


def branchless_sum(factor: GradientFactor, weights: Tensor) -> Tensor:
    """The weighted sum; that of gradients as they are is no product of matrices, so that it joins what is around it."""
    if isinstance(factor, Dense):
        return (factor.values * weights.reshape(-1, *[1] * (factor.values.dim() - 1))).sum(0)
    return factor.weighted(weights)


def branchless_weights(
    clipping: Clipping, clip_norm: Tensor, squares: Sequence[Tensor], layers: list[int]
) -> list[Tensor]:
    """A weight for every example, for each of the parameters, whose layers have numbers; 0 in all if not finite."""
    total = _added(squares)
    finite = total < LONGEST_SQUARE  # false for what is not a number
    if clipping is not Clipping.PER_LAYER:
        return [torch.where(finite, _weights(clipping, clip_norm, total), 0)] * len(squares)
    order = sorted(set(layers))
    share = 1 / math.sqrt(len(order))
    by_layer = {}
    for layer in order:
        own = _added([square for square, number in zip(squares, layers, strict=True) if number == layer])
        by_layer[layer] = torch.where(finite, share * _weights(clipping, clip_norm * share, own), 0)
    return [by_layer[layer] for layer in layers]


def _weights(clipping: Clipping, clip_norm: Tensor, squares: Tensor) -> Tensor:
    norms = squares.clamp(min=0).sqrt()
    lengths = norms + STABLE * clip_norm if clipping is Clipping.NORMALIZED else torch.maximum(norms, clip_norm)
    return (lengths * (1 + SLACK) if lengths.dtype is torch.float64 else lengths).reciprocal()


def _squared_rows(grads: Tensor, indices: Tensor) -> Tensor:
    """The sums of gradients of the same index, squared; of k places with one index each has a share of 1/k."""
    same = (indices[:, :, None] == indices[:, None, :]).to(grads.dtype)
    totals = torch.bmm(same, grads)
    return floor_norms((totals.square().sum(2) / same.sum(2)).sum(1), spread_of_rows(grads))


def _added(parts: Sequence[Tensor]) -> Tensor:
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    return total


Loss = Callable[..., Tensor]


@dataclass(frozen=True)
class TracedSum:
    """A graph and what its inputs and outputs are.

    Attributes
    ----------
    graph
        Inputs: ``held``, then the parts of a batch, which examples count, and the clip norm. Outputs: the sums of
        ``parameters``, then their total, which is finite if all of them are, and the weights of the first.
    held
        All parameters and buffers: their values are read at each call.
    parameters
        Those that the losses depend on and that are trained.
    """

    graph: GraphModule
    state: list[Tensor]
    parameters: list[nn.Parameter]

    @property
    def is_random(self) -> bool:
        """Whether numbers are drawn in it, as by dropout."""
        targets: list[Any] = [node.target for node in self.graph.graph.nodes if node.op == "call_function"]
        return any(torch.Tag.nondeterministic_seeded in getattr(target, "tags", ()) for target in targets)


def trace_sum(
    gradients: PerExampleGradients,
    loss: Loss,
    batch: Sequence[Tensor],
    *,
    keep: Tensor,
    clip_norm: Tensor,
    clipping: Clipping,
) -> TracedSum:
    """The trace of a sum for batches of these shapes."""
    model = gradients.model
    state: list[Tensor] = [*model.parameters(), *model.buffers()]
    found: list[nn.Parameter] = []

    def step(*inputs: Tensor) -> list[Tensor]:
        *rest, kept, clip = inputs  # what is held is the model's own, which the trace knows again
        first, *targets = rest[len(state) :]
        factors = gradients.factors(loss(model(first), *targets))
        found[:] = [parameter for parameter, _ in factors]
        if not factors:
            raise ParameterError("nothing is trained: the losses do not depend on a parameter inside the with block.")
        with torch.no_grad():
            squares = [branchless_squared_norms(factor) for _, factor in factors]
            weights = branchless_weights(clipping, clip, squares, [gradients.layers[parameter] for parameter in found])
            weights = [torch.where(kept, weight, 0) for weight in weights]
            sums = [branchless_sum(factor, weight) for (_, factor), weight in zip(factors, weights, strict=True)]
            return [*sums, torch.stack([total.sum() for total in sums]).sum(), weights[0]]

    try:
        graph = make_fx(step)(*state, *batch, keep, clip_norm)
    except RuntimeError as error:
        if "tracing tensor" not in str(error):
            raise
        raise data_dependence_error() from None
    finally:
        gradients.tape.take()
    return TracedSum(graph, state, found)


def data_dependence_error() -> AssumptionError:
    """What to say of a model that looks at its data."""
    return AssumptionError(
        "a compiled step needs a model and a loss that do the same whatever the data are, but an operation here "
        "depends on values of tensors: an if on a tensor, .item(), or a result whose shape is not known beforehand. "
        "Use torch.where and masks instead, or leave compilation off."
    )
