# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Uses of bare parameters, observed on synthetic inputs. Only recognized uses are lifted.

The model runs twice, with 3 and with 5 examples. A tensor with 3 rows and then 5 has one row per example; a tensor of
constant size does not. Each torch function that uses a trained parameter outside a layer with a rule is also applied to
copies of the parameter, and both results are compared.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode
from torch.utils._pytree import tree_flatten, tree_leaves, tree_unflatten

from dperm.torch.gradients.lifting import (
    ALONE,
    BATCHED,
    CONSTANT,
    MIXED,
    NO_GRADIENT,
    PARAMETER,
    REPEATS,
    SHARED,
    SPREAD,
    LiftScript,
    LiftStep,
    agrees,
    apply_lifted,
    is_gradless,
    is_in_place,
    out_of_place,
)
from dperm.torch.gradients.recompute import BatchedArguments, argument_names
from dperm.torch.gradients.sites import ParameterUses


def batched_arguments(calls: Iterable[tuple[list[str], list[Any], list[Any]]]) -> dict[str, bool | None]:
    """Return for each argument name whether it has one row per example; None if only in some calls.

    Parameters
    ----------
    calls
        Pairs of calls with two batch sizes: the names, and for each argument whether its length equals the batch size,
        or None if it is not a tensor. The second size excludes equality by chance.
    """
    found: dict[str, bool | None] = {}
    for names, first, second in calls:
        for name, one, two in zip(names, first, second, strict=False):
            if one is not None and two is not None:
                rows = bool(one and two)
                found[name] = rows if found.get(name, rows) is rows else None
    return found


def has_batch_length(leaf: Any, examples: int) -> bool | None:
    """Return whether a leaf has the length of the batch; None for scalars and for values that are not tensors."""
    if not isinstance(leaf, Tensor) or leaf.dim() == 0:
        return None
    return len(leaf) == examples


@dataclass
class ModuleCall:
    """One call of a module.

    Attributes
    ----------
    module, above
        The module, and the modules around its call, nearest first.
    batched, whole
        For each flattened argument, whether it has one row per example; and whether all outputs with gradient do.
    names, rows
        Names of the arguments, and for each whether it has one row per example, or None without a tensor.
    steps, bare_parameters
        Functions of bare parameters, and these parameters by id.
    why
        Obstacle to lifting; empty if there is none.
    """

    module: nn.Module
    above: tuple[nn.Module, ...]
    batched: tuple[bool, ...]
    whole: bool = False
    names: list[str] = field(default_factory=list)
    rows: list[bool | None] = field(default_factory=list)
    steps: list[LiftStep] = field(default_factory=list)
    bare_parameters: dict[int, nn.Parameter] = field(default_factory=dict)
    why: str = ""


class UseRecorder(TorchFunctionMode):
    """Torch function mode that records one run of a model with a known number of examples."""

    def __init__(self, model: nn.Module, examples: int, is_opaque: Callable[[nn.Module], bool]) -> None:
        super().__init__()
        self.examples, self.is_opaque = examples, is_opaque
        self.frames: list[ModuleCall] = []
        self.closed: list[ModuleCall] = []
        self._model = model
        self._parameters = {id(p): p for p in model.parameters() if p.requires_grad}
        self._stack: list[ModuleCall | None] = []
        self._lifts: dict[int, tuple[Tensor, Tensor, ModuleCall]] = {}

    def run(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Run the model and return its outputs. Calls are stored in ``frames``, or in ``closed`` for opaque modules."""
        hooks: list[Any] = []
        for module in self._model.modules():
            hooks.append(module.register_forward_pre_hook(self._before, prepend=True, with_kwargs=True))
            hooks.append(module.register_forward_hook(self._after, always_call=True))
        try:
            with self:
                return self._model(*args, **kwargs)
        finally:
            for hook in hooks:
                hook.remove()

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        """Apply a torch function, and record it if it uses a bare parameter."""
        frame = self._stack[-1] if self._stack else None
        if frame is None or is_gradless(func):
            return func(*args, **(kwargs or {}))
        leaves, spec = tree_flatten((args, kwargs or {}))
        if not any(self._tracked(leaf) for leaf in leaves):
            return func(*args, **(kwargs or {}))
        return self._note_step(frame, func, leaves, spec)

    def _note_step(self, frame: ModuleCall, func: Callable[..., Any], leaves: list[Any], spec: Any) -> Any:
        self._note(frame, leaves)
        roles = tuple(self._role(leaf) for leaf in leaves)
        before = [
            leaf.clone() if is_in_place(func) and role == BATCHED else leaf
            for leaf, role in zip(leaves, roles, strict=True)
        ]
        args, kwargs = tree_unflatten(leaves, spec)
        result = func(*args, **kwargs)
        found = [leaf for leaf in tree_leaves(result) if isinstance(leaf, Tensor) and leaf.requires_grad]
        if not found and not is_in_place(func):
            frame.steps.append(LiftStep(func, roles, NO_GRADIENT))
            return result
        step = LiftStep(func, roles, self._kind(func, roles, found))
        frame.steps.append(step)
        frame.why = frame.why or self._obstacle(step, leaves, kwargs) or self._tried(frame, step, before, spec, result)
        return result

    def _note(self, frame: ModuleCall, leaves: list[Any]) -> None:
        """Record the bare parameters, and mark tensors made by another module as obstacles."""
        for leaf in leaves:
            if id(leaf) in self._parameters:
                frame.bare_parameters[id(leaf)] = self._parameters[id(leaf)]
            elif id(leaf) in self._lifts and self._lifts[id(leaf)][2] is not frame:
                self._lifts[id(leaf)][2].why = frame.why = "a function of parameters is used outside the module"

    def _tried(self, frame: ModuleCall, step: LiftStep, leaves: list[Any], spec: Any, result: Any) -> str:
        """Apply the step to lifts and compare; return the obstacle, or an empty string."""
        lifts = [self._lift(frame, leaf) for leaf, role in zip(leaves, step.roles, strict=True) if role == PARAMETER]
        name = getattr(step.function, "__name__", "a function")
        try:
            with torch.no_grad():
                values = apply_lifted(step, [_detached(leaf) for leaf in leaves], spec, lifts)
                if step.kind == ALONE:
                    for value, lift in zip(tree_leaves(result), tree_leaves(values), strict=True):
                        self._lifts[id(value)] = (value, lift, frame)
                    values = torch.utils._pytree.tree_map(lambda lift: lift[0], values)
                if agrees(values, result):
                    return ""
        except Exception:  # vmap may raise any exception
            return f"{name} cannot be applied to one example alone"
        return f"{name} mixes the examples, or does not have them first"

    def _obstacle(self, step: LiftStep, leaves: list[Any], kwargs: dict[str, Any]) -> str:
        name = getattr(step.function, "__name__", "a function")
        if kwargs.get("out") is not None or (is_in_place(step.function) and out_of_place(step.function) is None):
            return f"{name} works in place"
        if is_in_place(step.function) and step.roles[0] != BATCHED:
            return f"{name} changes a parameter in place"
        if any(role == SHARED and leaf.requires_grad for leaf, role in zip(leaves, step.roles, strict=True)):
            return f"{name} uses a tensor with gradient that belongs to no example"
        return ""

    def _kind(self, func: Callable[..., Any], roles: tuple[str, ...], found: list[Tensor]) -> str:
        if BATCHED in roles:
            return MIXED
        return SPREAD if func in REPEATS and all(self._is_batched(value) for value in found) else ALONE

    def _role(self, leaf: Any) -> str:
        if not isinstance(leaf, Tensor):
            return CONSTANT
        if self._tracked(leaf):
            return PARAMETER
        return BATCHED if self._is_batched(leaf) else SHARED

    def _is_batched(self, leaf: Any) -> bool:
        if not isinstance(leaf, Tensor) or isinstance(leaf, nn.Parameter):
            return False
        return leaf.dim() > 0 and len(leaf) == self.examples

    def _tracked(self, leaf: Any) -> bool:
        return isinstance(leaf, Tensor) and (id(leaf) in self._parameters or id(leaf) in self._lifts)

    def _lift(self, frame: ModuleCall, tensor: Tensor) -> Tensor:
        if id(tensor) in self._lifts:
            return self._lifts[id(tensor)][1]
        return tensor.detach().expand(self.examples, *tensor.shape)

    def _before(self, module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        leaves = tree_leaves((args, kwargs))
        frame = self._stack[-1] if self._stack else None
        if frame is not None and any(self._tracked(leaf) for leaf in leaves):
            self._note(frame, leaves)
            frame.why = "a parameter is passed to another layer"
        if self._stack and frame is None:
            self._stack.append(None)
            return
        above = tuple(one.module for one in reversed(self._stack) if one is not None)
        call = ModuleCall(
            module, above, tuple(self._is_batched(leaf) for leaf in leaves), names=argument_names((args, kwargs))
        )
        call.rows = [has_batch_length(leaf, self.examples) for leaf in leaves]
        if self.is_opaque(module):
            self.closed.append(call)
            self._stack.append(None)
        else:
            self._stack.append(call)

    def _after(self, module: nn.Module, args: tuple[Any, ...], output: Any) -> None:
        frame = self._stack.pop()
        if frame is None:
            return
        leaves = [leaf for leaf in tree_leaves(output) if isinstance(leaf, Tensor)]
        frame.whole = all(self._is_batched(leaf) for leaf in leaves if leaf.requires_grad)
        if any(self._tracked(leaf) for leaf in leaves):
            self._note(frame, leaves)
            frame.why = "it returns a parameter, or a function of parameters alone"
        self.frames.append(frame)


def _detached(leaf: Any) -> Any:
    return leaf.detach() if isinstance(leaf, Tensor) else leaf


SIZES = (3, 5)
"""Examples in the two runs."""
Make = Callable[[int], tuple[tuple[Any, ...], dict[str, Any]]]
"""Function from a number of examples to model arguments."""


def probe_parameter_uses(model: nn.Module, make: Make, is_opaque: Callable[[nn.Module], bool]) -> ParameterUses:
    """Return the uses of bare parameters, from runs with arguments of ``make``. Opaque modules are not inspected."""
    runs, closed = [], []
    for examples in SIZES:
        recorder = UseRecorder(model, examples, is_opaque)
        args, kwargs = make(examples)
        recorder.run(args, kwargs)
        runs.append(_by_module(recorder.frames))
        closed.append(_by_module(recorder.closed))
    return _parameter_uses(model, runs, {**_rows(closed), **_rows(runs)})


def _by_module(frames: Iterable[ModuleCall]) -> dict[nn.Module, list[ModuleCall]]:
    found: dict[nn.Module, list[ModuleCall]] = {}
    for frame in frames:
        found.setdefault(frame.module, []).append(frame)
    return found


def _parameter_uses(
    model: nn.Module, runs: Sequence[dict[nn.Module, list[ModuleCall]]], rows: dict[nn.Module, BatchedArguments]
) -> ParameterUses:
    frames = {module: [call for run in runs for call in run.get(module, ())] for module in {**runs[0], **runs[1]}}
    scripts: dict[nn.Module, LiftScript] = {}
    recomputed: dict[nn.Module, str] = {}
    for module, calls in frames.items():
        bare_parameters = {key: parameter for call in calls for key, parameter in call.bare_parameters.items()}
        if not bare_parameters:
            continue
        script, why = _script(calls, tuple(bare_parameters.values()))
        if script is not None:
            scripts[module] = script
        else:
            for call in calls:
                recomputed.setdefault(_host(model, call, frames, bare_parameters), why)
    keys = frozenset(key for calls in frames.values() for call in calls for key in call.bare_parameters)
    return ParameterUses({m: s for m, s in scripts.items() if m not in recomputed}, recomputed, rows, keys)


def _script(calls: Sequence[ModuleCall], parameters: tuple[nn.Parameter, ...]) -> tuple[LiftScript | None, str]:
    """Return the script that all calls follow, or None and the reason."""
    why = next((call.why for call in calls if call.why), "")
    if why:
        return None, why
    if any(call.steps != calls[0].steps for call in calls):
        return None, "it uses its parameters in different ways"
    places = [place for place in range(min(len(c.batched) for c in calls)) if all(c.batched[place] for c in calls)]
    if not places:
        return None, "none of its arguments has the examples first"
    return LiftScript(parameters, tuple(calls[0].steps), places[0]), ""


def _host(
    model: nn.Module, call: ModuleCall, frames: dict[nn.Module, list[ModuleCall]], bare_parameters: Iterable[int]
) -> nn.Module:
    """Return the nearest module for a second run. It holds the parameters, and has rows in inputs and outputs."""
    wanted = set(bare_parameters)
    for module in (call.module, *call.above):
        fits = all(any(one.batched) and one.whole for one in frames[module])
        if fits and wanted <= {id(parameter) for parameter in module.parameters()}:
            return module
    return model


def _rows(runs: Sequence[dict[nn.Module, list[ModuleCall]]]) -> dict[nn.Module, BatchedArguments]:
    """Return for each module the arguments with one row per example."""
    return {
        module: batched_arguments(
            (one.names, one.rows, two.rows) for one, two in zip(calls, runs[1].get(module, ()), strict=False)
        )
        for module, calls in runs[0].items()
    }
