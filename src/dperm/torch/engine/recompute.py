# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""A module run again with one example at a time: the rule of layers that have none of their own."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol

import torch
from torch import Tensor, nn
from torch.func import functional_call, vjp, vmap
from torch.utils._pytree import TreeSpec, tree_leaves, tree_unflatten

from dperm.errors import AssumptionError
from dperm.torch.engine.factors import Dense
from dperm.torch.engine.precision import Precision
from dperm.torch.engine.tape import Tape, Uses

Values = dict[str, Tensor]


class Loopable(Protocol):
    """Remembers that vmap has failed."""

    looped: bool


@dataclass(frozen=True)
class Recompute:
    """The rule of one call of a module, for one of its outputs.

    Attributes
    ----------
    constants, spec, places
        The flattened arguments without tensors, their structure, and where the tensors belong.
    batched
        For each of the tensors whether it has a row for each example; others are the same for all of them.
    dtypes, dtype
        Of the tensors and of the output: the module runs in its own precision, also where sums are in double.
    output
        Place of the output among all.
    precision
        The autocast under which the module has run.
    """

    name: str
    tape: Tape
    manner: Loopable
    constants: tuple[Any, ...]
    spec: TreeSpec
    places: tuple[int, ...]
    batched: tuple[bool, ...]
    dtypes: tuple[torch.dtype, ...]
    dtype: torch.dtype
    output: int
    precision: Precision

    def __call__(self, module: nn.Module, inputs: tuple[Tensor, ...], grad: Tensor) -> Uses:
        """The gradients of all trained parameters of the module and of its children."""
        tensors = tuple(value.to(dtype) for value, dtype in zip(inputs, self.dtypes, strict=True))
        trained = {name: parameter for name, parameter in module.named_parameters() if parameter.requires_grad}
        values = {name: parameter.detach() for name, parameter in trained.items()}
        with _unnoticed(module, self.tape), _without_chance(self.name):
            found = self._gradients(module, values, tensors, grad.to(self.dtype))
        return [(trained[name], Dense(value.to(grad.dtype))) for name, value in found.items()]

    def _gradients(self, module: nn.Module, values: Values, tensors: tuple[Tensor, ...], grad: Tensor) -> Values:
        if not self.manner.looped:
            try:
                return self._mapped(module, values, tensors, grad)
            except Exception as error:
                if "random" in str(error):
                    raise _random(self.name) from None
                self.manner.looped = True
        try:
            return self._looped(module, values, tensors, grad)
        except Exception:
            raise AssumptionError(
                f"{in_words(self.name)} cannot run with one example alone, so that its per-example gradients cannot "
                f"be found. Write its forward pass for batches of any size, examples first."
            ) from None

    def _mapped(self, module: nn.Module, values: Values, tensors: tuple[Tensor, ...], grad: Tensor) -> Values:
        """All examples at once."""

        def gradients(parts: tuple[Tensor, ...], upstream: Tensor) -> Values:
            pairs = zip(parts, self.batched, strict=True)
            # Copies: a module that works in place would overwrite what a second output needs.
            alone = [part.unsqueeze(0).clone() if batched else part.clone() for part, batched in pairs]
            (found,) = vjp(lambda changed: self._result(module, changed, alone).squeeze(0), values)[1](upstream)
            return found  # type: ignore[no-any-return]

        dims = tuple(0 if batched else None for batched in self.batched)
        return vmap(gradients, in_dims=(dims, 0))(tensors, grad)

    def _looped(self, module: nn.Module, values: Values, tensors: tuple[Tensor, ...], grad: Tensor) -> Values:
        """One example after the other."""
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
        """The output of the module with these values of its parameters."""
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
    """Nothing of a second run is noted, and tensors that it leaves on modules are taken away again."""
    kept = [(vars(inner), dict(vars(inner))) for inner in module.modules()]
    tape.paused += 1
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="There is a performance drop")  # `describe` says what is slow.
            yield
    finally:
        tape.paused -= 1
        for now, before in kept:
            for key in [key for key, value in now.items() if isinstance(value, Tensor) and key not in before]:
                del now[key]
            now.update({key: value for key, value in before.items() if value is None or isinstance(value, Tensor)})


@contextmanager
def _without_chance(name: str) -> Iterator[None]:
    """A second run that draws random numbers draws others than the first."""
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
        f"{in_words(name)} has no rule and is run twice, but its forward pass is random, so that both runs differ. "
        f"Write dropout as nn.Dropout modules and put those inside it into eval mode (or p=0), or apply dropout "
        f"outside of this layer. If it looks up positions once for all examples, as pos(torch.arange(T)), use "
        f"pos(torch.arange(T).expand(len(x), T)): then it has a rule."
    )


def in_words(name: str) -> str:
    """The layer of that name, or the model."""
    return f"layer {name!r}" if name else "the model"
