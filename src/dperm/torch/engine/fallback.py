# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Modules without a rule: every example's gradient by vmap of the module's own vector-Jacobian product.

The module runs once more, with one example at a time and all of them at once, and its children with it. Where torch
cannot run it under vmap, a loop over the examples does the same. A module that returns several tensors has one entry on
the tape for each of them: gradients are linear in those at the outputs.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils._pytree import TreeSpec, tree_flatten, tree_unflatten

from dperm.errors import AssumptionError
from dperm.torch.engine.places import Rows, names_of
from dperm.torch.engine.precision import Precision
from dperm.torch.engine.recompute import Recompute, in_words
from dperm.torch.engine.tape import Tape


@dataclass
class Manner:
    """How a module is run again.

    Attributes
    ----------
    rows
        Which arguments have a row for each example, if probes have shown it; without them there may be one such
        argument only.
    looped
        Whether vmap has failed.
    """

    rows: Rows | None = None
    looped: bool = False


@dataclass
class _Visit:
    """One call of the module: its arguments as they came, and the versions of its buffers."""

    leaves: list[Any]
    names: list[str]
    spec: TreeSpec
    buffers: list[tuple[str, Tensor, int]]


@dataclass
class _Watch:
    """Hooks that note the calls of one module, and let nothing below it be noted."""

    name: str
    manner: Manner
    tape: Tape
    visits: list[_Visit | None] = field(default_factory=list)

    def before(self, module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Keep the arguments: copies, for the module or what comes after it may overwrite them."""
        self.visits.append(None)
        self.tape.paused += 1
        if self.tape.paused == 1 and torch.is_grad_enabled():
            leaves, spec = tree_flatten((args, kwargs))
            kept = [leaf.detach().clone() if isinstance(leaf, Tensor) else leaf for leaf in leaves]
            self.visits[-1] = _Visit(kept, names_of((args, kwargs)), spec, _buffers(module))

    def after(self, module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], output: Any) -> Any:
        """Note the call, once for each of the outputs."""
        visit = self.visits.pop()
        self.tape.paused -= 1
        if visit is None or output is None:
            return None
        _check_buffers(self.name, module, visit.buffers)
        results, spec = tree_flatten(output)
        places = [i for i, value in enumerate(results) if isinstance(value, Tensor) and value.requires_grad]
        if not places and not all(isinstance(value, Tensor | int | float | str | None) for value in results):
            raise AssumptionError(
                f"{in_words(self.name)} returns an object in which tensors cannot be found. Return tensors, in tuples, "
                f"lists or dicts."
            )
        examples = self._examples([results[place] for place in places])
        for place in places:
            # A gradient must arrive from outside the module only, and survive operations in place on views of it.
            if len(places) > 1 or results[place]._is_view():
                results[place] = results[place].clone()
            self._record(module, visit, results[place], place, examples)
        return tree_unflatten(results, spec)

    def _record(self, module: nn.Module, visit: _Visit, output: Tensor, place: int, examples: int) -> None:
        at = [i for i, leaf in enumerate(visit.leaves) if isinstance(leaf, Tensor)]
        tensors = tuple(visit.leaves[i] for i in at)
        batched = tuple(self._has_rows(visit.names[i], visit.leaves[i], examples) for i in at)
        if self.manner.rows is None and sum(batched) > 1:
            raise _unknown(self.name)
        constants = tuple(None if isinstance(leaf, Tensor) else leaf for leaf in visit.leaves)
        dtypes = tuple(tensor.dtype for tensor in tensors)
        rule = Recompute(
            self.name,
            self.tape,
            self.manner,
            constants,
            visit.spec,
            tuple(at),
            batched,
            dtypes,
            output.dtype,
            place,
            Precision.now(output.device.type),
        )
        self.tape.record(rule, module, tensors, output)

    def _has_rows(self, name: str, tensor: Tensor, examples: int) -> bool:
        """Whether an argument has a row for each example, as probes have seen it."""
        fits = tensor.dim() > 0 and len(tensor) == examples
        known = self.manner.rows
        if known is None or tensor.dim() == 0:
            return fits
        if name not in known or (fits and known[name] is None):
            raise _unknown(self.name)
        return fits and bool(known[name])

    def _examples(self, outputs: list[Tensor]) -> int:
        """How many examples the outputs hold."""
        sizes = {len(output) if output.dim() else -1 for output in outputs}
        if -1 in sizes or len(sizes) > 1:
            raise AssumptionError(
                f"the outputs of {in_words(self.name)} must have the examples as their first dimension, each of them, "
                f"so that every example has its own gradient. Return one row for each example."
            )
        return next(iter(sizes), 0)


def vmap_site(name: str, module: nn.Module, manner: Manner) -> Callable[[Tape], Callable[[], None]]:
    """What notes the uses of ``module`` on a tape."""

    def install(tape: Tape) -> Callable[[], None]:
        watch = _Watch(name, manner, tape)
        # The arguments are kept as they are before other hooks, which the second run meets again.
        first = module.register_forward_pre_hook(watch.before, prepend=True, with_kwargs=True)
        last = module.register_forward_hook(watch.after, with_kwargs=True, always_call=True)

        def undo() -> None:
            first.remove()
            last.remove()

        return undo

    return install


def _unknown(name: str) -> AssumptionError:
    return AssumptionError(
        f"{in_words(name)} is called with tensors of which it is not known whether they have a row for each example. "
        f"Give example_inputs (for check_model: inputs) with all arguments that the model is called with, in the same "
        f"way, by place or by keyword."
    )


def _buffers(module: nn.Module) -> list[tuple[str, Tensor, int]]:
    return [(name, buffer, buffer._version) for name, buffer in module.named_buffers()]


def _check_buffers(name: str, module: nn.Module, before: list[tuple[str, Tensor, int]]) -> None:
    """Refuse a module that has changed a buffer: it could not be run again, and the buffer mixes the examples."""
    for (buffer, value, version), (_, now, later) in zip(before, _buffers(module), strict=False):
        if now is not value or later != version:
            full = f"{name}.{buffer}" if name else buffer
            raise AssumptionError(
                f"the buffer {full!r} was changed by the forward pass, so it holds private data of all examples "
                f"without noise. Use a layer without running statistics, or put it into eval mode."
            )
