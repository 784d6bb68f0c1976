# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Bare parameters: each example uses its own copy, and the gradient of the copy is the example's gradient.

A *bare* parameter is used directly in a forward pass, outside a layer with a rule. Its *lift* is a tensor with one copy
for each example. While the module runs, each torch function that uses a bare parameter is replaced by the same function
of the copies, applied to one example's row at a time under vmap. A function of parameters alone returns a lift again.

Probes on synthetic inputs determine these functions and their batched arguments
(`dperm.torch.model_checks.parameter_uses`). The module must follow the resulting script in every run; nothing is
guessed.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn
from torch.func import vmap
from torch.nn import functional
from torch.overrides import TorchFunctionMode
from torch.utils._pytree import TreeSpec, tree_flatten, tree_leaves, tree_unflatten

from dperm.errors import AssumptionError
from dperm.torch.gradients.factors import outer
from dperm.torch.gradients.layers import describe_layer
from dperm.torch.gradients.rules.linear import matrix_uses
from dperm.torch.gradients.tape import Tape, Uses

PARAMETER, BATCHED, SHARED, CONSTANT = "parameter", "batched", "shared", "constant"
"""Roles of arguments: with a lift, with one row per example, shared by all examples without gradient, no tensor."""
ALONE, SPREAD, MIXED, NO_GRADIENT = "alone", "spread", "mixed", "no gradient"
"""Kinds of steps: parameters alone; parameters repeated for each example; parameters and batch rows; no gradient."""
REPEATS = (Tensor.expand, Tensor.repeat, Tensor.broadcast_to, torch.broadcast_to)
"""Functions that repeat their input once for each example."""
MATMULS = (torch.matmul, Tensor.matmul, Tensor.__matmul__, torch.mm, Tensor.mm)
"""Matrix products with a direct rule."""
TRANSPOSES = (Tensor.t, torch.t, Tensor.T.__get__, Tensor.mT.__get__)  # type: ignore[attr-defined]
"""Transposes of a matrix, recognized by `Lifting`."""
GRADLESS = frozenset({"detach", "size", "dim", "numel", "stride", "zeros_like", "ones_like", "empty_like", "full_like"})
"""Names of functions without gradient."""
GRADLESS_GETTERS = frozenset(
    {"shape", "dtype", "device", "ndim", "requires_grad", "is_leaf", "grad", "grad_fn", "data", "layout", "_version"}
    | {"names", "is_cuda", "is_sparse", "is_nested", "is_quantized", "is_meta", "is_mkldnn", "is_mps", "is_cpu"}
)
"""Names of tensor attributes without gradient."""


@dataclass(frozen=True)
class LiftStep:
    """A torch function, the roles of its flattened arguments, and its kind."""

    function: Callable[..., Any]
    roles: tuple[str, ...]
    kind: str

    @property
    def linear(self) -> bool:
        """Whether the step is x W' + b with parameters W and b."""
        leading = self.roles[:2] == (BATCHED, PARAMETER)
        return self.function is functional.linear and leading and BATCHED not in self.roles[2:]

    @property
    def matmul(self) -> bool:
        """Whether the step is x W with a parameter W."""
        return self.function in MATMULS and self.roles == (BATCHED, PARAMETER)


def apply_lifted(step: LiftStep, leaves: Sequence[Any], spec: TreeSpec, lifts: Sequence[Tensor]) -> Any:
    """Return the results of ``step`` with the lifts in place of the parameters.

    Steps of kind ALONE return lifts. Steps of other kinds return the ordinary results of the function.
    """
    places = [i for i, role in enumerate(step.roles) if role in (PARAMETER, BATCHED)]
    batched = [step.roles[i] == BATCHED for i in places]
    remaining = iter(lifts)
    values = [leaves[i] if own else next(remaining) for i, own in zip(places, batched, strict=True)]
    constants = _for_one(leaves) if step.kind == SPREAD else list(leaves)
    function = out_of_place(step.function) or step.function
    shape: list[TreeSpec] = []

    def alone(*parts: Tensor) -> tuple[Tensor, ...]:
        own = list(constants)
        for place, part, row in zip(places, parts, batched, strict=True):
            own[place] = part.unsqueeze(0) if row else part
        args, kwargs = tree_unflatten(own, spec)
        found, structure = torch.utils._pytree.tree_flatten(function(*args, **kwargs))
        shape.append(structure)
        return tuple(found) if step.kind == ALONE else tuple(part.squeeze(0) for part in found)

    return tree_unflatten(list(vmap(alone)(*values)), shape[0] if shape else spec)


def out_of_place(function: Callable[..., Any]) -> Callable[..., Any] | None:
    """Return the out-of-place version of an in-place function; None for all other functions."""
    name = getattr(function, "__name__", "")
    if name.startswith("__i") and hasattr(Tensor, f"__r{name[3:]}"):
        return getattr(Tensor, f"__{name[3:]}", None)
    if name.endswith("_") and not name.endswith("__"):
        return getattr(Tensor, name[:-1], None)
    return None


def is_in_place(function: Callable[..., Any]) -> bool:
    """Return whether a function works in place, judged by its name."""
    name = getattr(function, "__name__", "")
    return (
        name == "__setitem__" or (name.endswith("_") and not name.endswith("__")) or out_of_place(function) is not None
    )


def agrees(found: Any, expected: Any) -> bool:
    """Return whether two results are equal up to the rounding of sums of a few thousand terms."""
    pairs = list(zip(tree_leaves(found), tree_leaves(expected), strict=True))
    return all(_close(one, other) for one, other in pairs)


def _close(found: Tensor, expected: Tensor) -> bool:
    if found.shape != expected.shape or found.dtype != expected.dtype:
        return False
    if not found.is_floating_point():
        return torch.equal(found, expected)
    scale = float(expected.abs().nan_to_num(0, 0, 0).max()) if expected.numel() else 0.0
    close = 2.0**12 * torch.finfo(found.dtype).eps * scale
    return torch.allclose(found, expected, rtol=0, atol=close, equal_nan=True)


def _for_one(leaves: Sequence[Any]) -> list[Any]:
    """Return the arguments of a repetition for one example: 1 in place of the first size, the number of examples."""
    found, first = list(leaves), True
    for place, leaf in enumerate(leaves):
        if first and isinstance(leaf, int) and not isinstance(leaf, bool):
            found[place], first = 1, False
    return found


def is_gradless(function: Callable[..., Any]) -> bool:
    """Return whether a function never has a gradient, judged by its name: sizes and the like."""
    name = getattr(function, "__name__", "")
    if name == "__get__":
        return getattr(getattr(function, "__self__", None), "__name__", "") in GRADLESS_GETTERS
    return name in GRADLESS or name in {"__len__", "is_floating_point", "is_complex", "element_size", "data_ptr"}


@dataclass(frozen=True)
class LiftScript:
    """Uses of bare parameters by a module: the steps of a call, and the position of an argument with the examples."""

    parameters: tuple[nn.Parameter, ...]
    steps: tuple[LiftStep, ...]
    place: int


@dataclass(frozen=True)
class _Linear:
    """Rule of y = x W' + b."""

    weight: nn.Parameter
    bias: nn.Parameter | None

    def __call__(self, module: nn.Module, inputs: tuple[Tensor, ...], grad: Tensor) -> Uses:
        return matrix_uses(self.weight, self.bias, inputs[0], grad)


@dataclass(frozen=True)
class _Product:
    """Rule of y = x W: the gradient of W is sum_t a_t g_t'."""

    weight: nn.Parameter

    def __call__(self, module: nn.Module, inputs: tuple[Tensor, ...], grad: Tensor) -> Uses:
        return [(self.weight, outer(grad, inputs[0], self.weight.shape))]


class Lifting(TorchFunctionMode):
    """Torch function mode that follows a script during one call of a module."""

    def __init__(self, name: str, module: nn.Module, script: LiftScript, *, tape: Tape, examples: int) -> None:
        super().__init__()
        self.name, self.module, self.script, self.tape, self.examples = name, module, script, tape, examples
        self.shielded = 0
        self._parameters = {id(parameter): parameter for parameter in script.parameters}
        self._lifts: dict[int, tuple[Tensor, Tensor]] = {}  # keeps the tensors alive, so that their ids stay unique
        self._transposed: dict[int, nn.Parameter] = {}
        self._at = 0

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        """Apply a torch function, to copies if it uses a bare parameter."""
        if self.shielded or not (self._meets(args) or (kwargs and self._meets(kwargs.values()))):
            return func(*args, **(kwargs or {}))
        leaves, spec = tree_flatten((args, kwargs or {}))
        met = [self._meets((leaf,)) for leaf in leaves]
        step = self._next(func, met)
        if step is None or step.kind == NO_GRADIENT:
            return func(*args, **(kwargs or {}))
        direct = self._direct(step, leaves)
        if direct is not None:
            result = func(*args, **(kwargs or {}))
            self.tape.record(direct, self.module, (leaves[0],), result)
            return result
        lifts = [self._lift(leaf) for leaf, own in zip(leaves, met, strict=True) if own]
        if step.kind == ALONE:
            return self._alone(step, leaves, spec, lifts)
        if is_in_place(func):  # the gradient may need the overwritten values
            return leaves[0].copy_(apply_lifted(step, [leaves[0].clone(), *leaves[1:]], spec, lifts))
        return apply_lifted(step, leaves, spec, lifts)

    def _meets(self, values: Iterable[Any]) -> bool:
        """Return whether a bare parameter, or a function of one, is among the values."""
        for value in values:
            if id(value) in self._parameters or id(value) in self._lifts:
                return True
            if isinstance(value, tuple | list | dict) and self._meets(tree_leaves(value)):
                return True
        return False

    def _next(self, function: Callable[..., Any], met: list[bool]) -> LiftStep | None:
        """Return the next step of the script for this function; None for functions without gradient."""
        if is_gradless(function):
            return None
        steps = self.script.steps
        step = steps[self._at] if self._at < len(steps) else None
        if step is None or step.function != function or [role == PARAMETER for role in step.roles] != met:
            raise AssumptionError(
                f"{describe_layer(self.name)} uses its parameters in another way than during the check.",
                remedy="Use the same operations for all inputs in its forward pass, and check the model in the mode of "
                "training.",
            )
        self._at += 1
        return step

    def _direct(self, step: LiftStep, leaves: list[Any]) -> _Linear | _Product | None:
        """Return the rule of a product with a parameter itself; it needs no copies."""
        weight = self._parameters.get(id(leaves[1])) if len(leaves) > 1 else None
        if step.linear and weight is not None and leaves[0].dim() > 1:
            bias = leaves[2] if len(leaves) > 2 else None
            if len(leaves) < 4 and (bias is None or step.roles[2] != PARAMETER or id(bias) in self._parameters):
                return _Linear(weight, bias if isinstance(bias, nn.Parameter) else None)
        if step.matmul and leaves[0].dim() > 1 and leaves[1].dim() == 2:
            transposed = self._transposed.get(id(leaves[1]))
            if transposed is not None:
                return _Linear(transposed, None)
            return None if weight is None else _Product(weight)
        return None

    def _alone(self, step: LiftStep, leaves: list[Any], spec: Any, lifts: list[Tensor]) -> Any:
        """Return the result of a function of parameters alone, and store its lift."""
        args, kwargs = torch.utils._pytree.tree_unflatten(leaves, spec)
        result = step.function(*args, **kwargs)
        for value, lift in zip(tree_leaves(result), tree_leaves(apply_lifted(step, leaves, spec, lifts)), strict=True):
            self._lifts[id(value)] = (value, lift)
            if step.function in TRANSPOSES and id(leaves[0]) in self._parameters and value.dim() == 2:
                self._transposed[id(value)] = self._parameters[id(leaves[0])]
        return result

    def _lift(self, tensor: Tensor) -> Tensor:
        """Return one copy of the parameter per example; all uses in a call share the copies."""
        if id(tensor) not in self._lifts:
            lift = tensor.detach().expand(self.examples, *tensor.shape).requires_grad_()
            self.tape.lift(self._parameters[id(tensor)], lift)
            self._lifts[id(tensor)] = (tensor, lift)
        return self._lifts[id(tensor)][1]


@dataclass
class _Watch:
    """Hooks that follow a script in every recorded call of a module."""

    name: str
    script: LiftScript
    tape: Tape
    calls: list[Lifting | None] = field(default_factory=list)

    def before(self, module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Start following the script in this call."""
        self.calls.append(None)
        if torch.is_grad_enabled() and not self.tape.paused:
            examples = len(tree_leaves((args, kwargs))[self.script.place])
            call = Lifting(self.name, module, self.script, tape=self.tape, examples=examples)
            call.__enter__()  # type: ignore[no-untyped-call]
            self.calls[-1] = call

    def after(self, module: nn.Module, args: tuple[Any, ...], output: Any) -> None:
        """Stop following the script in this call."""
        call = self.calls.pop()
        if call is not None:
            call.__exit__(None, None, None)  # type: ignore[no-untyped-call]

    def shield(self, *_: Any) -> None:
        """Suspend the script while a layer with its own method runs."""
        if self.calls and self.calls[-1] is not None:
            self.calls[-1].shielded += 1

    def unshield(self, *_: Any) -> None:
        """Resume the script after such a layer."""
        if self.calls and self.calls[-1] is not None:
            self.calls[-1].shielded -= 1


def lifted_site(
    name: str, module: nn.Module, script: LiftScript, others: Iterable[nn.Module]
) -> Callable[[Tape], Callable[[], None]]:
    """Return a function that installs the hooks for a script on a tape.

    The modules in ``others`` have their own methods for parameters of the script.
    """
    apart = [other for other in others if other is not module]

    def install(tape: Tape) -> Callable[[], None]:
        watch = _Watch(name, script, tape)
        hooks = [module.register_forward_pre_hook(watch.before, with_kwargs=True)]
        hooks.append(module.register_forward_hook(watch.after, prepend=True, always_call=True))
        for other in apart:
            hooks.append(other.register_forward_pre_hook(watch.shield, prepend=True))
            hooks.append(other.register_forward_hook(watch.unshield, always_call=True))

        def undo() -> None:
            for hook in hooks:
                hook.remove()

        return undo

    return install
