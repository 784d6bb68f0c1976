# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""The graph of a private sum: one trace of what the engine does for a batch."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.fx import GraphModule
from torch.fx.experimental.proxy_tensor import make_fx

from dperm.errors import AssumptionError, ParameterError
from dperm.torch.compiled.branchless import clipping_weights, squared_norms, weighted
from dperm.torch.engine.clipping import Clipping
from dperm.torch.engine.gradients import PerExampleGradients

Loss = Callable[..., Tensor]


@dataclass(frozen=True)
class Trace:
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
    held: list[Tensor]
    parameters: list[nn.Parameter]

    @property
    def is_random(self) -> bool:
        """Whether numbers are drawn in it, as by dropout."""
        targets: list[Any] = [node.target for node in self.graph.graph.nodes if node.op == "call_function"]
        return any(torch.Tag.nondeterministic_seeded in getattr(target, "tags", ()) for target in targets)


def traced(
    gradients: PerExampleGradients,
    loss: Loss,
    batch: Sequence[Tensor],
    *,
    keep: Tensor,
    clip_norm: Tensor,
    clipping: Clipping,
) -> Trace:
    """The trace of a sum for batches of these shapes."""
    model = gradients.model
    held: list[Tensor] = [*model.parameters(), *model.buffers()]
    found: list[nn.Parameter] = []

    def step(*inputs: Tensor) -> list[Tensor]:
        *rest, kept, clip = inputs  # what is held is the model's own, which the trace knows again
        first, *targets = rest[len(held) :]
        factors = gradients.factors(loss(model(first), *targets))
        found[:] = [parameter for parameter, _ in factors]
        if not factors:
            raise ParameterError("nothing is trained: the losses do not depend on a parameter inside the with block.")
        with torch.no_grad():
            squares = [squared_norms(factor) for _, factor in factors]
            weights = clipping_weights(clipping, clip, squares, [gradients.layers[parameter] for parameter in found])
            weights = [torch.where(kept, weight, 0) for weight in weights]
            sums = [weighted(factor, weight) for (_, factor), weight in zip(factors, weights, strict=True)]
            return [*sums, torch.stack([total.sum() for total in sums]).sum(), weights[0]]

    try:
        graph = make_fx(step)(*held, *batch, keep, clip_norm)
    except RuntimeError as error:
        if "tracing tensor" not in str(error):
            raise
        raise data_dependent() from None
    finally:
        gradients.tape.taken()
    return Trace(graph, held, found)


def data_dependent() -> AssumptionError:
    """What to say of a model that looks at its data."""
    return AssumptionError(
        "a compiled step needs a model and a loss that do the same whatever the data are, but an operation here "
        "depends on values of tensors: an if on a tensor, .item(), or a result whose shape is not known beforehand. "
        "Use torch.where and masks instead, or leave compilation off."
    )
