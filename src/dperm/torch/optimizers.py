# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""The user's optimizer: checks before the charge, a guard against steps by hand, and the step of plain SGD."""

import math
import operator
from collections import OrderedDict
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import deepcopy
from inspect import Parameter, signature
from numbers import Real
from pathlib import Path
from typing import Any, Self

import torch
from torch import Tensor, nn
from torch.optim import LBFGS, SGD, Optimizer, SparseAdam
from torch.optim import optimizer as hooks

from dperm.checks import shown
from dperm.errors import LeakError, ParameterError
from dperm.torch.gradients.precision import plain_arithmetic

LARGEST_TRIAL = 1_000_000
"""Largest number of parameters for a trial step of the optimizer before the charge."""
VARIADIC = (Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD)
CLOSURE = "Use an optimizer whose step() takes no arguments, such as torch.optim.SGD."
OTHERWISE = ("momentum", "weight_decay", "maximize", "differentiable", "fused")
"""Settings of SGD that change its step; `foreach` does not."""
UNKNOWN = (True,) * len(OTHERWISE)
"""Assumed values of missing settings."""


SETTINGS = ("lr", "momentum", "dampening", "weight_decay", "eps", "betas", "alpha", "rho", "lr_decay")
"""Numeric settings of torch's optimizers that have to be finite in the type of the parameters."""


def checked_optimizer(optimizer: object, model: nn.Module) -> Optimizer:
    """Return ``optimizer`` if it holds exactly the trained parameters of the model and can step.

    Models of up to `LARGEST_TRIAL` parameters get a trial step with zero gradients on a copy. Larger models are checked
    by the optimizer's class and settings alone.

    Raises
    ------
    ParameterError
        If the optimizer holds other parameters, needs a closure or sparse gradients, has a setting beyond the range of
        its parameters, or cannot step.
    """
    if not isinstance(optimizer, Optimizer):
        raise ParameterError(
            argument="optimizer",
            rule="must be an optimizer of torch.optim over model.parameters()",
            got=shown(type(optimizer).__name__),
        )
    if isinstance(optimizer, LBFGS):
        raise ParameterError(
            argument="optimizer",
            rule="must not be LBFGS, which re-evaluates the loss; those evaluations are not accounted for",
            remedy=CLOSURE,
        )
    held = {value for group in optimizer.param_groups for value in group["params"] if value.requires_grad}
    trained = {value for value in model.parameters() if value.requires_grad}
    if held != trained:
        raise ParameterError(
            argument="optimizer",
            rule="must hold the trained parameters of the model, all of them and no others",
            remedy="Make it from model.parameters(), and freeze the other parameters with requires_grad_(False).",
        )
    _check_settings(optimizer)
    if type(optimizer) is not SGD and sum(value.numel() for value in model.parameters()) <= LARGEST_TRIAL:
        _try_step(optimizer)
    return optimizer


def _check_settings(optimizer: Optimizer) -> None:
    """Refuse optimizers and settings known to fail in private training.

    Raises
    ------
    ParameterError
        For an optimizer of sparse gradients, a step with a required closure, ``differentiable=True``, and
        ``capturable=True`` with parameters on the CPU.
    """
    if isinstance(optimizer, SparseAdam):
        raise ParameterError(
            argument="optimizer",
            rule="must not be SparseAdam: private gradients are dense",
            remedy="Use torch.optim.Adam.",
        )
    if _requires_closure(type(optimizer)):
        raise ParameterError(
            argument="optimizer",
            rule="must not need a closure, which re-evaluates the loss; those evaluations are not accounted for",
            remedy=CLOSURE,
        )
    for group in optimizer.param_groups:
        if group.get("differentiable"):
            raise ParameterError(
                argument="optimizer", rule="must not have differentiable=True: its steps fail on trained parameters"
            )
        if group.get("capturable") and any(value.device.type == "cpu" for value in group["params"]):
            raise ParameterError(argument="optimizer", rule="must not have capturable=True with parameters on the CPU")
        _check_numbers(group)


def _check_numbers(group: Mapping[str, Any]) -> None:
    """Refuse numeric settings that are not finite, or that overflow in the type of a trained parameter.

    Raises
    ------
    ParameterError
        Such as for ``lr=1e39`` with parameters in float32: torch would fail in the first step, after the charge.
    """
    kinds = {value.dtype for value in group["params"] if value.requires_grad}
    kind = min(kinds, key=lambda one: torch.finfo(one).max, default=torch.float64)
    for name in SETTINGS:
        for number in _numbers(group.get(name)):
            if not abs(number) <= torch.finfo(kind).max:
                raise ParameterError(
                    argument="optimizer",
                    rule=f"must have a finite {name} within the range of its parameters ({kind})",
                    got=repr(number),
                )


def _numbers(setting: object) -> list[float]:
    """Return the numbers in a setting: a number, a tensor, or a tuple of them; others have none."""
    if isinstance(setting, tuple | list):
        return [number for part in setting for number in _numbers(part)]
    if isinstance(setting, Tensor):
        return [float(number) for number in setting.detach().flatten().tolist()]
    if not isinstance(setting, Real):
        return []
    try:
        return [float(setting)]
    except OverflowError:
        return [math.inf]


def _requires_closure(kind: type[Optimizer]) -> bool:
    """Whether ``step`` has a required argument; False if its signature is unknown."""
    try:
        parameters = list(signature(kind.step).parameters.values())[1:]
    except (TypeError, ValueError):
        return False
    return any(value.default is value.empty and value.kind not in VARIADIC for value in parameters)


def _try_step(optimizer: Optimizer) -> None:
    """Take a step with zero gradients on a deep copy of the optimizer and its parameters.

    Hooks, and wrappers of ``step`` made by schedulers, are not called. Optimizers without a working deep copy are
    skipped.

    Raises
    ------
    ParameterError
        If the step raises an error.
    """
    kind, failure = type(optimizer), ""
    own = {name: value for name, value in vars(optimizer).items() if name != "step" and not name.endswith("_hooks")}
    unhooked: dict[str, object] = {name: OrderedDict() for name in vars(optimizer) if name.endswith("_hooks")}
    copied = kind.__new__(kind)
    try:
        copied.__dict__.update(deepcopy(own) | unhooked)
        for group in copied.param_groups:
            for value in group["params"]:
                value.grad = torch.zeros_like(value) if value.requires_grad else None
    except Exception:
        return
    try:
        with torch.random.fork_rng(devices=[]):
            kind.step(copied)
    except Exception as error:
        failure = f"{type(error).__name__}: {error}"
    if failure:
        raise ParameterError(
            argument="optimizer",
            rule="must be able to step with dense gradients and without a closure",
            remedy=f"A trial step with zero gradients, on a copy, raised {failure}",
        )


class StepPermit:
    """Permission for the optimizer to step, granted inside a ``with`` block; its cost is negligible."""

    def __init__(self) -> None:
        self.granted = False

    def __call__(self) -> Self:
        """Return the permit itself, to be entered."""
        return self

    def __enter__(self) -> None:
        """Grant the permission."""
        self.granted = True

    def __exit__(self, *error: object) -> None:
        """Withdraw the permission."""
        self.granted = False


@contextmanager
def private_steps(optimizer: Optimizer) -> Iterator[StepPermit]:
    """Refuse steps of the optimizer, except inside the permit: ``with allowed(): optimizer.step()``."""
    permit = StepPermit()

    def refuse(optimizer: Optimizer, arguments: object, keywords: object) -> None:
        if not permit.granted:
            raise LeakError(
                "optimizer.step() was called by hand in a private training: its gradients have no noise.",
                remedy="Call private.step(losses) instead, which adds the noise and lets the optimizer step.",
            )

    hook = optimizer.register_step_pre_hook(refuse)
    try:
        yield permit
    finally:
        hook.remove()


def clear_others(optimizer: Optimizer, trained: Container[int]) -> None:
    """Delete gradients of parameters whose id is not in ``trained``.

    Optimizers step along every gradient, even along a gradient left in a frozen parameter.
    """
    for group in optimizer.param_groups:
        for value in group["params"]:
            if id(value) not in trained:
                value.grad = None


def plain_step(optimizer: Optimizer, trained: Sequence[Tensor]) -> bool:
    """Take the step theta - lr g if the optimizer is plain SGD over ``trained``; return whether it was taken.

    This skips the overhead of ``Optimizer.step``, which takes half the time of a step of a small model. The step is
    taken only if the result is the same: without momentum, decay, hooks, or a scheduler that counts calls. The hook of
    `private_steps` is the only hook that is not called.
    """
    if type(optimizer) is not SGD or len(optimizer.param_groups) != 1 or not _is_unwatched(optimizer):
        return False
    group = optimizer.param_groups[0]
    held, rate = group["params"], group["lr"]
    if type(rate) is not float or len(held) != len(trained) or any(map(group.get, OTHERWISE, UNKNOWN)):
        return False
    if not all(map(operator.is_, held, trained)):
        return False
    with plain_arithmetic("cpu"):
        for value in trained:
            value.add_(value.grad, alpha=-rate)  # type: ignore[arg-type]  # every trained parameter has a gradient now
    return True


def _original(step: Callable[..., Any]) -> Callable[..., Any]:
    """Return torch's own function, without the wrapper added by the class of an optimizer."""
    return getattr(step, "__wrapped__", step) if getattr(step, "hooked", False) else step


STEP = _original(SGD.step)
IS_TORCHS = STEP.__code__.co_filename.startswith(str(Path(torch.__file__).parent))
"""Whether ``SGD.step`` was torch's own function when this module was imported."""


def _is_unwatched(optimizer: Any) -> bool:
    """Whether a step calls no hook except the hook of `private_steps`, and no scheduler has wrapped the step."""
    return IS_TORCHS and not (
        len(optimizer._optimizer_step_pre_hooks) > 1
        or optimizer._optimizer_step_post_hooks
        or hooks._global_optimizer_pre_hooks
        or hooks._global_optimizer_post_hooks
        or "step" in vars(optimizer)
        or _original(SGD.step) is not STEP
        or torch._C._autograd._profiler_enabled()  # a profile must show the step
    )
