# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Graph of a clipped sum: one trace of the per-example gradients, norms, weights and sums of a batch.

A traced graph cannot branch on data, so clipping is *branchless*: norms, weights and sums cover all cases at once. The
results are those of `dperm.torch.gradients.clipping` except for gradients that are not finite. Their weight is 0; if a
product with 0 is not 0, the sum is not finite either, and the caller detects it.
"""

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
    """Return the squared norm of each example's gradient, without branches on data.

    Precision and lower limits are the same as for the norms of the factors (T46b).
    """
    match factor:
        case TableRows():
            return in_double(_squared_rows, factor.grads, factor.indices)
        case TiedTable():
            return factor.squared_norms(branchless_squared_norms)
    return factor.squared_norms()


def branchless_sum(factor: GradientFactor, weights: Tensor) -> Tensor:
    """Return the weighted sum. Stored gradients use no matrix product, so the compiler can fuse the operation."""
    if isinstance(factor, Dense):
        return (factor.values * weights.reshape(-1, *[1] * (factor.values.dim() - 1))).sum(0)
    return factor.weighted(weights)


def branchless_weights(
    clipping: Clipping, clip_norm: Tensor, squares: Sequence[Tensor], layers: list[int]
) -> list[Tensor]:
    """Return the weight of each example for each parameter, given the layer number of each parameter.

    Notes
    -----
    *Guarantees.* The weighted gradient of each example has norm at most 1 + 2^-11 over all layers (T46b).

    *Edge cases.* A squared norm that is infinite, NaN or at least 2^126 gives weight 0 in all layers. A zero gradient
    gives weight 1/C, with normalized clipping 100/C.
    """
    total = _added(squares)
    finite = total < LONGEST_SQUARE  # false for NaN
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
    """Return squared norms of sums over equal indices. Each of k positions with one index counts 1/k."""
    same = (indices[:, :, None] == indices[:, None, :]).to(grads.dtype)
    totals = torch.bmm(same, grads)
    return floor_norms((totals.square().sum(2) / same.sum(2)).sum(1), spread_of_rows(grads))


def _added(parts: Sequence[Tensor]) -> Tensor:
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    return total


Loss = Callable[..., Tensor]
"""Function from model output and targets to one loss per example."""


@dataclass(frozen=True)
class TracedSum:
    """Graph of a clipped sum, with its inputs and outputs.

    Attributes
    ----------
    graph
        Inputs: ``state``, the parts of a batch, the mask of included examples, and the clipping norm. Outputs: the sums
        of ``parameters``, their total (finite if all are), and the weights of the first parameter.
    state
        All parameters and buffers; each call reads their values.
    parameters
        Trained parameters used by the losses.
    """

    graph: GraphModule
    state: list[Tensor]
    parameters: list[nn.Parameter]

    @property
    def is_random(self) -> bool:
        """Whether the graph draws random numbers, for example for dropout."""
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
    """Return the trace of a clipped sum for batches of these shapes."""
    model = gradients.model
    state: list[Tensor] = [*model.parameters(), *model.buffers()]
    found: list[nn.Parameter] = []

    def step(*inputs: Tensor) -> list[Tensor]:
        *rest, kept, clip = inputs  # the trace recognizes the state tensors of the model
        first, *targets = rest[len(state) :]
        factors = gradients.factors(loss(model(first), *targets))
        found[:] = [parameter for parameter, _ in factors]
        if not factors:
            raise ParameterError(
                argument="losses",
                rule="must depend on a trained parameter",
                remedy="Run the model inside the with block, with parameters that require gradients.",
            )
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
    """Return the error for a model whose operations depend on values of tensors."""
    return AssumptionError(
        "a compiled step needs the same operations for all data, but an operation of this model or loss depends on "
        "values of tensors: an if on a tensor, .item(), or a result of unknown shape.",
        remedy="Use torch.where and masks instead, or leave compilation off.",
    )
