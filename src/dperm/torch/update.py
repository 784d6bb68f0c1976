# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""From clipped sums to a step of the optimizer: accumulate, add noise once, divide by a public number, step (T46)."""

from collections import OrderedDict
from collections.abc import Callable, Container, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from copy import deepcopy
from functools import partial
from inspect import Parameter, signature
from types import TracebackType
from typing import TYPE_CHECKING, Self

import torch
from torch import Tensor, nn
from torch.optim import LBFGS, SGD, Optimizer, SparseAdam

from dperm.checks import shown
from dperm.errors import AssumptionError, LeakError, ParameterError
from dperm.noise.bits import Stream
from dperm.torch.adam import AdamBC, tell_noise
from dperm.torch.at_once import UNKNOWN, at_once
from dperm.torch.engine.gradients import Unclipped
from dperm.torch.plain_sgd import plain_step

if TYPE_CHECKING:
    from dperm.torch.plan import DPSGDPlan


Draw = Callable[[Stream, float], list[Tensor]]
LARGEST_TRIAL = 1_000_000
"""Largest number of parameters for which an optimizer is tried on a copy before the charge."""
VARIADIC = (Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD)


class Update:
    """The sums of the sample that is under way, and what is made of them.

    Attributes
    ----------
    draws
        Times that noise was drawn: never more than the plan's steps.
    clip_norm
        That of the next step.
    parameters
        What is trained.
    observer
        What looks at the weights of examples: where the clip norm adapts, it counts those that are not shortened.
    """

    def __init__(self, plan: "DPSGDPlan", optimizer: Optimizer, model: nn.Module, stream: Stream) -> None:
        self.plan, self.optimizer, self.stream = plan, optimizer, stream
        self.draws, self.clip_norm = 0, float(plan.method.clip_norm)
        self.parameters = [value for value in model.parameters() if value.requires_grad]
        self._expected, self._scale = plan.expected_batch_size, plan.noise.scale  # asked for once
        self._tells = isinstance(optimizer, AdamBC)
        self._places = {id(value): place for place, value in enumerate(self.parameters)}
        self._sums: list[Tensor | None] = [None] * len(self.parameters)
        self._partial = False
        self._short: Tensor | None = None
        self.observer: Callable[[Tensor], None] | None = None if plan.quantile is None else self._count
        self._at_once = at_once(plan.noise, self.parameters) if plan.quantile is None else None

    def __enter__(self) -> Self:
        """Refuse steps of the optimizer that are not private."""
        self._guard = ExitStack()
        self._allowed = self._guard.enter_context(private_steps(self.optimizer))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Let the optimizer go."""
        self._guard.close()

    @property
    def is_partial(self) -> bool:
        """Whether a part of a sample was added, and not yet the last one."""
        return self._partial

    def draw_of(self, found: Unclipped) -> Draw | None:
        """How to make the noisy gradients of a sample at once, of which this is all; None if that cannot be done."""
        if self._at_once is None or self._partial:
            return None
        return partial(self._at_once, found)

    def forget(self) -> None:
        """Begin a sample anew."""
        self._sums, self._short, self._partial = [None] * len(self.parameters), None, False

    def add(self, sums: Iterable[tuple[nn.Parameter, Tensor]]) -> None:
        """Add the clipped gradients of a micro-batch."""
        self._partial = True
        for parameter, total in sums:
            place = self._places.get(id(parameter))
            if place is None:
                raise AssumptionError(UNKNOWN)
            held = self._sums[place]
            self._sums[place] = total if held is None else held.add_(total)

    def finish(self, draw: Draw | None = None) -> None:
        """Noise on the sum of the sample, and a step of the optimizer along the result.

        ``draw`` makes the noisy gradients in another way, from a stream and the number that the sum is multiplied by.
        """
        if self.draws >= self.plan.steps:
            raise ParameterError("all planned steps were taken. Plan more steps for a longer training.")
        self.draws += 1
        factor = self.clip_norm / self._expected  # of this step, also where the clip norm adapts now
        gradients = self._gradients(factor) if draw is None else draw(self.stream, factor)
        if self._tells:
            tell_noise(self.optimizer, self._scale * factor)
        for parameter, grad in zip(self.parameters, gradients, strict=True):
            parameter.grad = grad if grad.dtype is parameter.dtype else grad.to(parameter.dtype)
        if draw is None or self._partial:
            self.forget()
        if not plain_step(self.optimizer, self.parameters):
            clear_others(self.optimizer, self._places)
            with self._allowed():
                self.optimizer.step()

    def _gradients(self, factor: float) -> list[Tensor]:
        """The noisy sums times ``factor``."""
        pairs = zip(self.parameters, self._sums, strict=True)
        sums = [torch.zeros_like(value, dtype=self._dtype(value)) if held is None else held for value, held in pairs]
        noisy = self._noisy(sums)
        torch._foreach_mul_(noisy, factor)
        return noisy

    def _noisy(self, sums: list[Tensor]) -> list[Tensor]:
        quantile = self.plan.quantile
        if quantile is None:
            return self.plan.noise.add(sums, self.stream)
        shares = [total * quantile.gradient_share for total in sums]
        short = torch.zeros((1,), dtype=sums[0].dtype) if self._short is None else self._short
        *noisy, count = self.plan.noise.add([*shares, short * quantile.count_share], self.stream)
        self.clip_norm = quantile.adapted(self.clip_norm, float(count), self.plan.expected_batch_size)
        return noisy

    def _count(self, weights: Tensor) -> None:
        """Examples that are not shortened count 1, the others -1, and those of weight 0 nothing."""
        signs = torch.where(weights * self.clip_norm >= 1 - 1e-6, 1.0, -1.0).to(weights.dtype)
        count = torch.where(weights > 0, signs, 0).sum().reshape(1)
        self._short = count if self._short is None else self._short + count

    def _dtype(self, value: Tensor) -> torch.dtype:
        return torch.float64 if self.plan.noise.double else value.dtype


class Permit:
    """Whether the optimizer may step now; a context that costs next to nothing."""

    def __init__(self) -> None:
        self.given = False

    def __call__(self) -> Self:
        """To be entered."""
        return self

    def __enter__(self) -> None:
        """It may."""
        self.given = True

    def __exit__(self, *error: object) -> None:
        """It may no longer."""
        self.given = False


@contextmanager
def private_steps(optimizer: Optimizer) -> Iterator[Permit]:
    """Refuse steps of the optimizer, but in blocks of what is yielded: ``with allowed(): optimizer.step()``."""
    permit = Permit()

    def refuse(optimizer: Optimizer, arguments: object, keywords: object) -> None:
        if not permit.given:
            raise LeakError(
                "optimizer.step() was called by hand in a private training: its gradients have no noise. Call "
                "private.step(losses) instead, which adds the noise and lets the optimizer step."
            )

    hook = optimizer.register_step_pre_hook(refuse)
    try:
        yield permit
    finally:
        hook.remove()


def clear_others(optimizer: Optimizer, trained: Container[int]) -> None:
    """Forget gradients of parameters whose id is not in ``trained``.

    Optimizers step along every gradient they find, also one that was left in a frozen parameter.
    """
    for group in optimizer.param_groups:
        for value in group["params"]:
            if id(value) not in trained:
                value.grad = None


def checked_optimizer(optimizer: object, model: nn.Module) -> Optimizer:
    """``optimizer``, if it trains the trained parameters of the model and nothing else, and is able to step."""
    if not isinstance(optimizer, Optimizer):
        raise ParameterError(
            f"optimizer must be one of torch.optim over model.parameters(), got {shown(type(optimizer).__name__)}."
        )
    if isinstance(optimizer, LBFGS):
        raise ParameterError("optimizer must not be LBFGS: it asks for losses again and again, each of them unpaid.")
    held = {value for group in optimizer.param_groups for value in group["params"] if value.requires_grad}
    trained = {value for value in model.parameters() if value.requires_grad}
    if held != trained:
        raise ParameterError(
            "optimizer must hold the trained parameters of the model, all of them and no others. Make it from "
            "model.parameters(), and freeze what is not trained with requires_grad_(False)."
        )
    _check_settings(optimizer)
    if type(optimizer) is not SGD and sum(value.numel() for value in model.parameters()) <= LARGEST_TRIAL:
        _try_step(optimizer)
    return optimizer


def _check_settings(optimizer: Optimizer) -> None:
    """Refuse optimizers and settings that are known to fail in a private training.

    Raises
    ------
    ParameterError
        For an optimizer of sparse gradients, a step that requires a closure, ``differentiable=True``, and
        ``capturable=True`` with parameters on the CPU.
    """
    if isinstance(optimizer, SparseAdam):
        raise ParameterError("optimizer must not be SparseAdam: private gradients are dense. Use torch.optim.Adam.")
    _, *rest = signature(type(optimizer).step).parameters.values()
    if any(value.default is value.empty and value.kind not in VARIADIC for value in rest):
        raise ParameterError(
            "optimizer must not need a closure in step(): it evaluates the loss again, and these evaluations are not "
            "accounted for. Use an optimizer whose step() takes no arguments, such as torch.optim.SGD."
        )
    for group in optimizer.param_groups:
        if group.get("differentiable"):
            raise ParameterError("optimizer must not have differentiable=True: its steps fail on trained parameters.")
        if group.get("capturable") and any(value.device.type == "cpu" for value in group["params"]):
            raise ParameterError("optimizer must not have capturable=True with parameters on the CPU. Leave it out.")


def _try_step(optimizer: Optimizer) -> None:
    """Step with zero gradients on a deep copy of an optimizer and its parameters, to see that it can step.

    Hooks, and functions that a scheduler put around ``step``, are not called. An optimizer that cannot be copied is not
    tried.

    Raises
    ------
    ParameterError
        If the step raises an error.
    """
    kind, failure = type(optimizer), ""
    own = {name: value for name, value in vars(optimizer).items() if name != "step" and not name.endswith("_hooks")}
    hooks: dict[str, object] = {name: OrderedDict() for name in vars(optimizer) if name.endswith("_hooks")}
    copied = kind.__new__(kind)
    try:
        copied.__dict__.update(deepcopy(own) | hooks)
    except Exception:
        return
    for group in copied.param_groups:
        for value in group["params"]:
            value.grad = torch.zeros_like(value) if value.requires_grad else None
    try:
        with torch.random.fork_rng(devices=[]):
            kind.step(copied)
    except Exception as error:
        failure = f"{type(error).__name__}: {error}"
    if failure:
        raise ParameterError(
            f"optimizer must be able to step with dense gradients and without a closure. A trial step on a copy, with "
            f"gradients of 0, raised {failure}."
        )
