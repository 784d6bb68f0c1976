# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Modules without a rule: per-example gradients from a second run of the module under vmap.

The second run computes a vector-Jacobian product for one example at a time, vectorized over all examples, including the
children of the module. Where torch cannot vectorize the module, a loop over the examples replaces vmap. A module with
several outputs has one tape entry per output, because gradients are linear in the output gradients.
"""

import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn
from torch.func import functional_call, vjp, vmap
from torch.utils._pytree import TreeSpec, keystr, tree_flatten, tree_flatten_with_path, tree_leaves, tree_unflatten

from dperm.errors import AssumptionError
from dperm.torch.gradients.factors import Dense
from dperm.torch.gradients.layers import describe_layer
from dperm.torch.gradients.precision import AutocastState
from dperm.torch.gradients.tape import Tape, Uses

BatchedArguments = Mapping[str, bool | None]
"""For each argument name, whether the argument has one row per example; None if only in some calls.

Probes determine this; a length alone does not: a mask of shape (T, T) shared by all examples has as many rows as a
batch of T examples.
"""


def argument_names(arguments: tuple[tuple[Any, ...], dict[str, Any]]) -> list[str]:
    """Return a name for each leaf of the arguments, made of its position."""
    try:
        return [keystr(path) for path, _ in tree_flatten_with_path(arguments)[0]]
    except ValueError:  # a structure without names of its own
        return [str(number) for number in range(len(tree_leaves(arguments)))]


@dataclass
class RecomputeMode:
    """Options for the second run of a module.

    Attributes
    ----------
    rows
        Arguments with one row per example, as determined by probes. Without probes, only one such argument is
        supported.
    looped
        Whether vmap has failed.
    """

    rows: BatchedArguments | None = None
    looped: bool = False


Values = dict[str, Tensor]
"""Tensors by parameter name."""


@dataclass(frozen=True)
class RecomputeRule:
    """Rule of one call of a module, for one of its outputs.

    Attributes
    ----------
    constants, spec, places
        The flattened arguments without tensors, their structure, and the positions of the tensors.
    batched
        For each tensor, whether it has one row per example; the others are shared by all examples.
    dtypes, dtype
        Types of the tensors and of the output. The module runs in its own precision, even if sums use double precision.
    output
        Position of the output among all outputs.
    precision
        Autocast state of the first run.
    """

    name: str
    tape: Tape
    mode: RecomputeMode
    constants: tuple[Any, ...]
    spec: TreeSpec
    places: tuple[int, ...]
    batched: tuple[bool, ...]
    dtypes: tuple[torch.dtype, ...]
    dtype: torch.dtype
    output: int
    precision: AutocastState

    def __call__(self, module: nn.Module, inputs: tuple[Tensor, ...], grad: Tensor) -> Uses:
        """Return the gradients of all trained parameters of the module and its children."""
        tensors = tuple(value.to(dtype) for value, dtype in zip(inputs, self.dtypes, strict=True))
        trained = {name: parameter for name, parameter in module.named_parameters() if parameter.requires_grad}
        values = {name: parameter.detach() for name, parameter in trained.items()}
        with _unnoticed(module, self.tape), _without_chance(self.name):
            found = self._gradients(module, values, tensors, grad.to(self.dtype))
        return [(trained[name], Dense(value.to(grad.dtype))) for name, value in found.items()]

    def _gradients(self, module: nn.Module, values: Values, tensors: tuple[Tensor, ...], grad: Tensor) -> Values:
        if not self.mode.looped:
            try:
                return self._mapped(module, values, tensors, grad)
            except Exception as error:
                if "random" in str(error):
                    raise _random(self.name) from None
                self.mode.looped = True
        try:
            return self._looped(module, values, tensors, grad)
        except Exception:
            raise AssumptionError(
                f"{describe_layer(self.name)} cannot run with one example alone, so it has no per-example gradients.",
                remedy="Write its forward pass for batches of any size, examples first.",
            ) from None

    def _mapped(self, module: nn.Module, values: Values, tensors: tuple[Tensor, ...], grad: Tensor) -> Values:
        """Compute the gradients of all examples at once, under vmap."""

        def gradients(parts: tuple[Tensor, ...], upstream: Tensor) -> Values:
            pairs = zip(parts, self.batched, strict=True)
            # Copies, because an in-place operation would overwrite the input of a second output.
            alone = [part.unsqueeze(0).clone() if batched else part.clone() for part, batched in pairs]
            (found,) = vjp(lambda changed: self._result(module, changed, alone).squeeze(0), values)[1](upstream)
            return found  # type: ignore[no-any-return]

        dims = tuple(0 if batched else None for batched in self.batched)
        return vmap(gradients, in_dims=(dims, 0))(tensors, grad)

    def _looped(self, module: nn.Module, values: Values, tensors: tuple[Tensor, ...], grad: Tensor) -> Values:
        """Compute the gradients of one example after the other."""
        rows = []
        for row in range(len(grad)):
            pairs = zip(tensors, self.batched, strict=True)
            alone = [part[row : row + 1].clone() if batched else part.clone() for part, batched in pairs]
            with torch.enable_grad():
                own = {name: value.clone().requires_grad_() for name, value in values.items()}
                result = self._result(module, own, alone)
                found = _grads(result, list(own.values()), grad[row : row + 1])
            rows.append(found)
        return {
            name: torch.stack([row[i] for row in rows]) if rows else value.new_zeros((0, *value.shape))
            for i, (name, value) in enumerate(values.items())
        }

    def _result(self, module: nn.Module, values: Values, tensors: list[Tensor]) -> Tensor:
        """Return the output of the module for these parameter values."""
        leaves = list(self.constants)
        for place, tensor in zip(self.places, tensors, strict=True):
            leaves[place] = tensor
        args, kwargs = tree_unflatten(leaves, self.spec)
        with self.precision.again():
            results = tree_leaves(functional_call(module, values, args, kwargs))
        return results[self.output]  # type: ignore[no-any-return]


def _grads(result: Tensor, values: list[Tensor], upstream: Tensor) -> list[Tensor]:
    if not result.requires_grad:
        return [torch.zeros_like(value) for value in values]
    found = torch.autograd.grad(result, values, upstream, allow_unused=True)
    return [torch.zeros_like(v) if g is None else g for v, g in zip(values, found, strict=True)]


@contextmanager
def _unnoticed(module: nn.Module, tape: Tape) -> Iterator[None]:
    """Pause the tape during a second run, and remove tensors left on the modules by it."""
    kept = [(vars(inner), dict(vars(inner))) for inner in module.modules()]
    tape.paused += 1
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="There is a performance drop")  # `describe` reports slow layers
            yield
    finally:
        tape.paused -= 1
        for now, before in kept:
            for key in [key for key, value in now.items() if isinstance(value, Tensor) and key not in before]:
                del now[key]
            now.update({key: value for key, value in before.items() if value is None or isinstance(value, Tensor)})


@contextmanager
def _without_chance(name: str) -> Iterator[None]:
    """Refuse a second run that draws random numbers, because they would differ from the first run."""
    before = _states()
    try:
        yield
    finally:
        after = _states()
        moved = any(not torch.equal(a, b) for a, b in zip(before, after, strict=True))
        if moved:
            _restore(before)
    if moved:
        raise _random(name)


def _states() -> list[Tensor]:
    cuda = torch.cuda.get_rng_state_all() if torch.cuda.is_initialized() else []
    return [torch.get_rng_state(), *cuda]


def _restore(states: list[Tensor]) -> None:
    torch.set_rng_state(states[0])
    if len(states) > 1:
        torch.cuda.set_rng_state_all(states[1:])


def _random(name: str) -> AssumptionError:
    return AssumptionError(
        f"{describe_layer(name)} has no rule and is run twice, but its forward pass is random, so the two runs differ.",
        remedy="Write dropout as nn.Dropout modules and put the ones inside it into eval mode (or p=0), or apply "
        "dropout outside of this layer. If it looks up positions once for all examples, as pos(torch.arange(T)), use "
        "pos(torch.arange(T).expand(len(x), T)): then it has a rule.",
    )


@dataclass
class _Visit:
    """One call of the module: its original arguments and the versions of its buffers."""

    leaves: list[Any]
    names: list[str]
    spec: TreeSpec
    buffers: list[tuple[str, Tensor, int]]


@dataclass
class _Watch:
    """Hooks to record the calls of one module and to pause recording inside it."""

    name: str
    mode: RecomputeMode
    tape: Tape
    visits: list[_Visit | None] = field(default_factory=list)

    def before(self, module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Copy the arguments, because the module or later operations may overwrite them."""
        self.visits.append(None)
        self.tape.paused += 1
        if self.tape.paused == 1 and torch.is_grad_enabled():
            leaves, spec = tree_flatten((args, kwargs))
            kept = [leaf.detach().clone() if isinstance(leaf, Tensor) else leaf for leaf in leaves]
            self.visits[-1] = _Visit(kept, argument_names((args, kwargs)), spec, _buffers(module))

    def after(self, module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], output: Any) -> Any:
        """Record the call, once for each output."""
        visit = self.visits.pop()
        self.tape.paused -= 1
        if visit is None or output is None:
            return None
        _check_buffers(self.name, module, visit.buffers)
        results, spec = tree_flatten(output)
        places = [i for i, value in enumerate(results) if isinstance(value, Tensor) and value.requires_grad]
        if not places and not all(isinstance(value, Tensor | int | float | str | None) for value in results):
            raise AssumptionError(
                f"{describe_layer(self.name)} returns an object without accessible tensors.",
                remedy="Return tensors, in tuples, lists or dicts.",
            )
        examples = self._examples([results[place] for place in places])
        for place in places:
            # The gradient must come from outside the module only, and survive in-place operations on views.
            if len(places) > 1 or results[place]._is_view():
                results[place] = results[place].clone()
            self._record(module, visit, output=results[place], place=place, examples=examples)
        return tree_unflatten(results, spec)

    def _record(self, module: nn.Module, visit: _Visit, *, output: Tensor, place: int, examples: int) -> None:
        at = [i for i, leaf in enumerate(visit.leaves) if isinstance(leaf, Tensor)]
        tensors = tuple(visit.leaves[i] for i in at)
        batched = tuple(self._has_rows(visit.names[i], visit.leaves[i], examples) for i in at)
        if self.mode.rows is None and sum(batched) > 1:
            raise _unknown(self.name)
        constants = tuple(None if isinstance(leaf, Tensor) else leaf for leaf in visit.leaves)
        dtypes = tuple(tensor.dtype for tensor in tensors)
        rule = RecomputeRule(
            name=self.name,
            tape=self.tape,
            mode=self.mode,
            constants=constants,
            spec=visit.spec,
            places=tuple(at),
            batched=batched,
            dtypes=dtypes,
            dtype=output.dtype,
            output=place,
            precision=AutocastState.now(output.device.type),
        )
        self.tape.record(rule, module, tensors, output)

    def _has_rows(self, name: str, tensor: Tensor, examples: int) -> bool:
        """Return whether an argument has one row per example, as determined by probes."""
        fits = tensor.dim() > 0 and len(tensor) == examples
        known = self.mode.rows
        if known is None or tensor.dim() == 0:
            return fits
        if name not in known or (fits and known[name] is None):
            raise _unknown(self.name)
        return fits and bool(known[name])

    def _examples(self, outputs: list[Tensor]) -> int:
        """Return the number of examples in the outputs."""
        sizes = {len(output) if output.dim() else -1 for output in outputs}
        if -1 in sizes or len(sizes) > 1:
            raise AssumptionError(
                f"each output of {describe_layer(self.name)} must have the examples as its first dimension, so that "
                f"every example has its own gradient.",
                remedy="Return one row for each example.",
            )
        return next(iter(sizes), 0)


def vmap_site(name: str, module: nn.Module, mode: RecomputeMode) -> Callable[[Tape], Callable[[], None]]:
    """Return a function that installs the hooks of ``module`` for a tape.

    The installer returns a function that removes the hooks.
    """

    def install(tape: Tape) -> Callable[[], None]:
        watch = _Watch(name, mode, tape)
        # Copy the arguments before other hooks run: the second run calls these hooks again.
        first = module.register_forward_pre_hook(watch.before, prepend=True, with_kwargs=True)
        last = module.register_forward_hook(watch.after, with_kwargs=True, always_call=True)

        def undo() -> None:
            first.remove()
            last.remove()

        return undo

    return install


def _unknown(name: str) -> AssumptionError:
    return AssumptionError(
        f"it is unknown whether the tensors passed to {describe_layer(name)} have a row for each example.",
        remedy="Give example_inputs (for check_model: inputs) with all arguments of the model, passed in the same way, "
        "by position or by keyword.",
    )


def _buffers(module: nn.Module) -> list[tuple[str, Tensor, int]]:
    return [(name, buffer, buffer._version) for name, buffer in module.named_buffers()]


def _check_buffers(name: str, module: nn.Module, before: list[tuple[str, Tensor, int]]) -> None:
    """Refuse a module that has changed a buffer: a second run would differ, and the buffer mixes the examples."""
    for (buffer, value, version), (_, now, later) in zip(before, _buffers(module), strict=False):
        if now is not value or later != version:
            full = f"{name}.{buffer}" if name else buffer
            raise AssumptionError(
                f"the forward pass changes the buffer {full!r}, so it would hold private data without noise.",
                remedy="Use a layer without running statistics, or put it into eval mode.",
            )
