# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Refusal of distributed training: one charge pays for one model that is trained in one process.

Under torchrun every rank would draw its own samples and its own noise, and end with a model of its own. Each of these
models claims the whole guarantee, while all of them together spend it once for each rank.
"""

import os
import sys
from typing import Any

from torch import distributed, nn
from torch.nn.parallel import DistributedDataParallel

from dperm.errors import ParameterError

REMEDY = (
    "Train in one process: start the script with python instead of torchrun, and pass the plain model. Training in "
    "several processes is not supported yet."
)


def check_single_process(model: object) -> None:
    """Check that the training runs in one process, with a model that is neither wrapped nor sharded.

    The size of the process group counts if there is one. Otherwise the environment variable WORLD_SIZE counts, which
    torchrun sets before a script calls ``init_process_group``.

    Raises
    ------
    ParameterError
        With a world size above 1, a model that holds ``DistributedDataParallel`` or FSDP modules, or parameters and
        buffers that are DTensors.
    """
    _check_world_size()
    if isinstance(model, nn.Module):
        _check_model(model)


def _check_world_size() -> None:
    if distributed.is_available() and distributed.is_initialized():
        size = distributed.get_world_size()
        if size > 1:
            raise ParameterError(
                f"torch.distributed must have world size 1, and its process group has {size}: every process would "
                f"train a model of its own on one charge. {REMEDY}"
            )
        return
    declared = os.environ.get("WORLD_SIZE", "").strip()
    if declared.isdecimal() and int(declared) > 1:
        raise ParameterError(
            f"the environment variable WORLD_SIZE must be 1 or unset, got {declared}: this process is one of several, "
            f"as under torchrun, and every one of them would train a model of its own on one charge. {REMEDY} If the "
            f"processes are unrelated, each with a charge of its own, unset WORLD_SIZE."
        )


def _check_model(model: nn.Module) -> None:
    for name, module in model.named_modules():
        kind = _wrapper(module)
        if kind is not None:
            where = f"holds a {kind} module ({name!r})" if name else f"is a {kind} module"
            raise ParameterError(f"model must be a plain module of one process, and it {where}. {REMEDY}")
    tensor = _loaded("torch.distributed.tensor", "DTensor")
    if tensor is None:
        return
    for named in (model.named_parameters(), model.named_buffers()):
        for name, value in named:
            if isinstance(value, tensor) or isinstance(value.data, tensor):
                raise ParameterError(
                    f"model must hold plain tensors, and {name!r} is a DTensor, spread over processes. {REMEDY}"
                )


def _wrapper(module: nn.Module) -> str | None:
    """The kind of a module that spreads a training over processes."""
    if isinstance(module, DistributedDataParallel):
        return "DistributedDataParallel"
    for name in ("FSDPModule", "FullyShardedDataParallel"):
        kind = _loaded("torch.distributed.fsdp", name)
        if kind is not None and isinstance(module, kind):
            return name
    return None


def _loaded(module: str, name: str) -> Any:
    """A class of a module that is imported already: where it is not, no object of the class can exist."""
    return getattr(sys.modules.get(module), name, None)
