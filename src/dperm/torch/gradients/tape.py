# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""What a forward pass leaves behind: uses of parameters, with their inputs and where their gradients will arrive."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any, Protocol

import torch
from torch import Tensor, nn
from torch.autograd.graph import GradientEdge, _engine_run_backward, get_gradient_edge
from torch.autograd.variable import Variable

from dperm.errors import AssumptionError, ParameterError
from dperm.torch.gradients.embedding_factors import unite
from dperm.torch.gradients.factors import Dense, GradientFactor

Uses = Iterable[tuple[nn.Parameter, GradientFactor]]
_VERSION = attrgetter("_version")
PARTS = (
    "a layer was used several times with different numbers of rows since the last step. Every forward pass has to see "
    "all rows of the batch: for memory use physical_batch_size, and evaluate under torch.no_grad()."
)


class LayerRule(Protocol):
    """The mathematics of one kind of layer: from inputs and the gradient at the output to gradients of parameters."""

    def __call__(self, module: nn.Module, inputs: tuple[Tensor, ...], grad: Tensor) -> Uses:
        """The per-example gradients of the parameters that are trained (``requires_grad``), examples first."""


@dataclass(slots=True)
class TapeEntry:
    """One use of a layer: ``edge`` is where the gradient at its output arrives, maybe in another ``shape``."""

    rule: LayerRule
    module: nn.Module
    inputs: tuple[Tensor, ...]
    edge: GradientEdge | Tensor
    versions: tuple[int, ...]
    shape: torch.Size | None = None

    def checked_inputs(self, *, double: bool) -> tuple[Tensor, ...]:
        """The inputs in single precision or better, if nothing has overwritten them since."""
        for value, version in zip(self.inputs, self.versions, strict=True):
            if value._version != version:
                raise AssumptionError(
                    f"the input of a {type(self.module).__name__} was overwritten in place after it was used, so its "
                    f"gradient is lost. Use the operation that is not in place there."
                )
        if double or any([value.dtype is not torch.float32 for value in self.inputs]):
            return tuple(map(_double if double else _single, self.inputs))
        return self.inputs


@dataclass(slots=True)
class Tape:
    """The entries of the forward passes since the last step; nothing is noted while ``paused``, counted by depth."""

    entries: list[TapeEntry] = field(default_factory=list)
    paused: int = 0

    def record(self, rule: LayerRule, module: nn.Module, inputs: tuple[Tensor, ...], output: Tensor) -> None:
        """Note a use whose result is ``output``. Passes without gradient are no part of training."""
        if output.requires_grad and torch.is_grad_enabled() and not self.paused:
            kept = tuple(map(Tensor.detach, inputs))
            versions = tuple(map(_VERSION, kept))
            base = _whole_base(output) if output._is_view() else None
            if base is None:
                self.entries.append(TapeEntry(rule, module, kept, _edge(output), versions))
            else:
                self.entries.append(TapeEntry(rule, module, kept, _edge(base), versions, output.shape))

    def lift(self, parameter: nn.Parameter, expanded: Tensor) -> None:
        """Note that ``expanded``, a leaf with the examples first, stands for ``parameter`` in the forward pass."""
        self.entries.append(TapeEntry(_Lifted(parameter), nn.Module(), (), expanded, ()))

    def take(self) -> list[TapeEntry]:
        """The entries, which the tape forgets."""
        entries, self.entries = self.entries, []
        return entries


@dataclass(frozen=True)
class _Lifted:
    """The gradient at a copy for every example is the example's gradient of the parameter."""

    parameter: nn.Parameter

    def __call__(self, module: nn.Module, inputs: tuple[Tensor, ...], grad: Tensor) -> Uses:
        return [(self.parameter, Dense(grad.reshape(grad.shape[0], *self.parameter.shape)))]


def _edge(output: Tensor) -> GradientEdge:
    """Where the gradient at a result arrives: that of ``get_gradient_edge``, which does more for other nodes."""
    node = output.grad_fn
    if node is None or isinstance(node, torch._C._FunctionBase):
        return get_gradient_edge(output)
    return GradientEdge(node, output.output_nr)


def collect_factors(
    entries: list[TapeEntry], losses: Tensor, *, double: bool
) -> list[tuple[nn.Parameter, GradientFactor]]:
    """The factors of all parameters that the losses depend on: one backward pass, through activations only.

    To be called under ``torch.no_grad()``: no rule has to be differentiated.
    """
    if not entries:
        return []
    edges: Any = [entry.edge for entry in entries]
    grads = list(_backward(losses, edges))
    found: dict[int, tuple[nn.Parameter, GradientFactor]] = {}
    several: dict[int, list[GradientFactor]] = {}
    entries.reverse()
    grads.reverse()
    while entries:  # popped, so that memory is freed that a factor does not need
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
    """The gradients of all uses of a parameter, each of which has to see all examples."""
    try:
        return unite(factors)
    except RuntimeError as error:
        if "size" not in str(error).lower():
            raise
        raise AssumptionError(PARTS) from None


def _backward(losses: Tensor, edges: list[Any]) -> tuple[Tensor | None, ...]:
    """The gradients of the sum of the losses at the edges; None where it does not depend on one.

    It is what ``torch.autograd.grad`` calls after checks of its arguments, which for a small model take a tenth of the
    step. On the CPU the pass is made by the calling thread, and needs nothing that is kept for others.
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
    """Say in our words that a graph is gone, if this is what ``error`` says."""
    if "second time" in str(error):
        raise ParameterError(
            "losses must be given before their graph is used up, but a backward pass has been through it. Do not call "
            "backward() yourself: step does it, for each example; and take every step with a forward pass of its own."
        ) from None


def _double(value: Tensor) -> Tensor:
    return value.double() if value.is_floating_point() else value


def _single(value: Tensor) -> Tensor:
    """Half precision, which autocast leaves behind, is too coarse for norms."""
    if value.dtype is torch.float32:
        return value
    return value.float() if value.dtype in (torch.float16, torch.bfloat16) else value


def _whole_base(view: Tensor) -> Tensor | None:
    """The tensor that ``view`` is another shape of, as of a linear layer with bias for sequences.

    What works in place on a view gives it another edge, so that no gradient arrives at the first one; its base has one
    that stays.
    """
    base = view._base
    if base is None or base.numel() != view.numel() or not (base.is_contiguous() and view.is_contiguous()):
        return None
    return base if base.requires_grad else None
