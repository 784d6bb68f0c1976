# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Tape of a forward pass: parameter uses with their inputs and the location of their output gradients."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any, Protocol

import torch
from torch import Tensor, nn
from torch.autograd.graph import GradientEdge, Node, _engine_run_backward, get_gradient_edge
from torch.autograd.variable import Variable

from dperm.errors import AssumptionError, ParameterError
from dperm.torch.gradients.embedding_factors import unite
from dperm.torch.gradients.factors import Dense, GradientFactor

Uses = Iterable[tuple[nn.Parameter, GradientFactor]]
_VERSION = attrgetter("_version")
PARTS = (
    "a layer was used several times with different numbers of rows since the last step. Every forward pass must use "
    "all rows of the batch. To save memory set physical_batch_size, and evaluate under torch.no_grad()."
)


class LayerRule(Protocol):
    """Rule of one kind of layer: maps inputs and output gradient to the gradients of its parameters."""

    def __call__(self, module: nn.Module, inputs: tuple[Tensor, ...], grad: Tensor) -> Uses:
        """Return the per-example gradients of all trained parameters (``requires_grad``), examples first."""


@dataclass(slots=True)
class TapeEntry:
    """One use of a layer. The output gradient arrives at ``edge``, possibly in another ``shape``."""

    rule: LayerRule
    module: nn.Module
    inputs: tuple[Tensor, ...]
    edge: GradientEdge | Tensor
    versions: tuple[int, ...]
    shape: torch.Size | None = None

    def checked_inputs(self, *, double: bool) -> tuple[Tensor, ...]:
        """Return the inputs in single precision or better.

        Raises
        ------
        AssumptionError
            If an operation has overwritten an input in place.
        """
        for value, version in zip(self.inputs, self.versions, strict=True):
            if value._version != version:
                raise AssumptionError(
                    f"the input of a {type(self.module).__name__} was overwritten in place after its use, so its "
                    f"gradient is lost.",
                    remedy="Use the out-of-place operation there.",
                )
        if double or any([value.dtype is not torch.float32 for value in self.inputs]):
            return tuple(map(_double if double else _single, self.inputs))
        return self.inputs


@dataclass(slots=True)
class Tape:
    """Entries of the forward passes since the last step.

    ``paused`` counts nested pauses; nothing is recorded while it is positive.
    """

    entries: list[TapeEntry] = field(default_factory=list)
    paused: int = 0

    def record(self, rule: LayerRule, module: nn.Module, inputs: tuple[Tensor, ...], output: Tensor) -> None:
        """Record one use of a layer, with result ``output``. Forward passes without gradients are ignored."""
        if output.requires_grad and torch.is_grad_enabled() and not self.paused:
            kept = tuple(map(Tensor.detach, inputs))
            versions = tuple(map(_VERSION, kept))
            base = _whole_base(output) if output._is_view() else None
            if base is None:
                self.entries.append(TapeEntry(rule, module, kept, _edge(output), versions))
            else:
                self.entries.append(
                    TapeEntry(rule, module, inputs=kept, edge=_edge(base), versions=versions, shape=output.shape)
                )

    def lift(self, parameter: nn.Parameter, expanded: Tensor) -> None:
        """Record that the forward pass used ``expanded`` in place of a parameter.

        ``expanded`` is a leaf tensor whose first axis is the examples.
        """
        self.entries.append(TapeEntry(_Lifted(parameter), nn.Module(), (), expanded, ()))

    def graph_above(self, losses: Tensor) -> list[Node]:
        """Return the nodes of the graph between ``losses`` and the recorded layers, excluding the layers."""
        layers = {entry.edge.node for entry in self.entries if isinstance(entry.edge, GradientEdge)}
        found: list[Node] = []
        waiting, seen = [losses.grad_fn], set(layers)
        while waiting:
            node = waiting.pop()
            if node is not None and node not in seen:
                seen.add(node)
                found.append(node)
                waiting.extend(following for following, _ in node.next_functions)
        return found

    def take(self) -> list[TapeEntry]:
        """Return the entries and clear the tape."""
        entries, self.entries = self.entries, []
        return entries


@dataclass(frozen=True)
class _Lifted:
    """Rule of a lifted parameter: the gradient at an example's copy is the example's gradient."""

    parameter: nn.Parameter

    def __call__(self, module: nn.Module, inputs: tuple[Tensor, ...], grad: Tensor) -> Uses:
        return [(self.parameter, Dense(grad.reshape(grad.shape[0], *self.parameter.shape)))]


def _edge(output: Tensor) -> GradientEdge:
    """Return the gradient edge of a result. Faster than ``get_gradient_edge`` for ordinary nodes."""
    node = output.grad_fn
    if node is None or isinstance(node, torch._C._FunctionBase):
        return get_gradient_edge(output)
    return GradientEdge(node, output.output_nr)


def collect_factors(
    entries: list[TapeEntry], losses: Tensor, *, double: bool
) -> list[tuple[nn.Parameter, GradientFactor]]:
    """Return the factors of all parameters that the losses depend on, from one backward pass through the activations.

    Call it under ``torch.no_grad()``: no rule is differentiated.
    """
    if not entries:
        return []
    edges: Any = [entry.edge for entry in entries]
    grads = list(_backward(losses, edges))
    found: dict[int, tuple[nn.Parameter, GradientFactor]] = {}
    several: dict[int, list[GradientFactor]] = {}
    entries.reverse()
    grads.reverse()
    while entries:  # popped, to free the memory of tensors not needed by a factor
        entry, grad = entries.pop(), grads.pop()
        if grad is not None:
            values = entry.checked_inputs(double=double)
            given = grad if entry.shape is None else grad.reshape(entry.shape)
            if double or given.dtype is not torch.float32:
                given = _double(given) if double else _single(given)
            for parameter, factor in entry.rule(entry.module, values, given):
                key = id(parameter)
                if key in found:
                    several.setdefault(key, [found[key][1]]).append(factor)
                else:
                    found[key] = parameter, factor
    for key, factors in several.items():
        found[key] = found[key][0], _unite_uses(factors)
    return list(found.values())


def _unite_uses(factors: list[GradientFactor]) -> GradientFactor:
    """Return the united gradients of all uses of a parameter. Refuse uses with different numbers of examples."""
    try:
        return unite(factors)
    except RuntimeError as error:
        if "size" not in str(error).lower():
            raise
        raise AssumptionError(PARTS) from None


def _backward(losses: Tensor, edges: list[Any]) -> tuple[Tensor | None, ...]:
    """Return the gradients of the summed losses at the edges; None where the losses do not depend on an edge.

    The function skips the argument checks of ``torch.autograd.grad``, a tenth of the step for a small model. On the CPU
    the calling thread runs the pass, without the preparation for other devices.
    """
    run = Variable._execution_engine.run_backward if losses.is_cpu else _engine_run_backward
    try:
        found: tuple[Tensor | None, ...] = run(
            (losses,), (torch.ones_like(losses),), False, False, tuple(edges), True, accumulate_grad=False
        )
        return found
    except RuntimeError as error:
        refuse_second_backward(error)
        raise


def refuse_second_backward(error: RuntimeError) -> None:
    """Raise a `ParameterError` with a remedy if ``error`` reports a second backward pass through the graph."""
    if "second time" in str(error):
        raise ParameterError(
            argument="losses",
            rule="must come from a graph without an earlier backward pass",
            remedy="Do not call backward() yourself: step does it for each example. Run a new forward pass for every "
            "step.",
        ) from None


def _double(value: Tensor) -> Tensor:
    return value.double() if value.is_floating_point() else value


def _single(value: Tensor) -> Tensor:
    """Convert half precision, as left by autocast, to single precision. Norms need it."""
    if value.dtype is torch.float32:
        return value
    return value.float() if value.dtype in (torch.float16, torch.bfloat16) else value


def _whole_base(view: Tensor) -> Tensor | None:
    """Return the base of a view with another shape, such as the output of a linear layer on sequences.

    An in-place operation on a view gives it a new edge, so no gradient arrives at the old edge. The edge of the base
    stays.
    """
    base = view._base
    if base is None or base.numel() != view.numel() or not (base.is_contiguous() and view.is_contiguous()):
        return None
    return base if base.requires_grad else None
