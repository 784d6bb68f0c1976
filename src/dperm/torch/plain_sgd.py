# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""The step of plain SGD, theta - lr g, without what ``Optimizer.step`` does around it: for a small model half the time.

Only where nobody could tell: no momentum, no decay, no hooks, no scheduler that counts calls. Everything else steps as
torch does.
"""

import operator
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.optim import SGD, Optimizer
from torch.optim import optimizer as hooks

from dperm.torch.gradients.precision import plain_arithmetic

OTHERWISE = ("momentum", "weight_decay", "maximize", "differentiable", "fused")
"""Settings that make a step another one; `foreach` does not."""
UNKNOWN = (True,) * len(OTHERWISE)
"""What is not there may be anything."""


def plain_step(optimizer: Optimizer, trained: Sequence[Tensor]) -> bool:
    """Take the step of an optimizer that holds ``trained`` in this order, if it is plain SGD; whether it was taken.

    The only hook that is not called is the one that refuses steps by hand.
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
    """A function of torch without what an optimizer's class puts around it, as the first one is made."""
    return getattr(step, "__wrapped__", step) if getattr(step, "hooked", False) else step


STEP = _original(SGD.step)
IS_TORCHS = STEP.__code__.co_filename.startswith(str(Path(torch.__file__).parent))
"""Whether nobody had put another function in its place before this module was imported."""


def _is_unwatched(optimizer: Any) -> bool:
    """Whether nothing but our own hook is called around a step, and no scheduler has wrapped it."""
    return IS_TORCHS and not (
        len(optimizer._optimizer_step_pre_hooks) > 1
        or optimizer._optimizer_step_post_hooks
        or hooks._global_optimizer_pre_hooks
        or hooks._global_optimizer_post_hooks
        or "step" in vars(optimizer)
        or _original(SGD.step) is not STEP
        or torch._C._autograd._profiler_enabled()  # who looks wants to see the step
    )
