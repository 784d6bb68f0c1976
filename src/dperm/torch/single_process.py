# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Refusal of distributed training: one charge pays for one model, trained in one process.

Under torchrun every rank would draw its own samples and its own noise, and end with a model of its own. Each of these
models claims the whole guarantee, but together they spend the budget once per rank.
"""

import math
import os
import sys
import warnings
import weakref
from typing import Any

from torch import distributed, nn
from torch.nn.parallel import DistributedDataParallel

from dperm.checks import shown
from dperm.errors import DpermWarning, ParameterError

REMEDY = (
    "Train in one process: start the script with python instead of torchrun, and pass the plain model. Training in "
    "several processes is not supported yet."
)

TASKS = ("SLURM_NTASKS", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE")
"""Environment variables of Slurm, Open MPI and MPICH with the number of tasks."""
_warned: "weakref.WeakValueDictionary[int, nn.Module]" = weakref.WeakValueDictionary()
"""Models with a warning about several tasks, by their id: a training checks its model several times."""


def check_single_process(model: object, *, warn: bool = True) -> None:
    """Check that the training runs in one process, and that the model is neither wrapped nor sharded.

    The size of the process group counts if there is one. Otherwise the environment variable WORLD_SIZE counts; torchrun
    sets it before a script calls ``init_process_group``. If neither is set, several tasks of Slurm or MPI cause a
    warning, one for each model.

    Parameters
    ----------
    model
        Model to train, or a function that makes one.
    warn
        Whether to warn of several tasks. Pass False if a copy of the model is trained, and checked again.

    Raises
    ------
    ParameterError
        For a world size above 1, a non-numeric WORLD_SIZE, ``DistributedDataParallel`` or FSDP modules in the model,
        and DTensors among parameters or buffers.
    """
    is_declared = _check_world_size()
    if isinstance(model, nn.Module):
        _check_model(model)
    if warn and not is_declared and _warned.get(id(model)) is not model:
        if _warn_of_tasks() and isinstance(model, nn.Module):
            _warned[id(model)] = model


def _check_world_size() -> bool:
    """Check the declared number of processes; return whether a process group or WORLD_SIZE declares one."""
    if distributed.is_available() and distributed.is_initialized():
        size = distributed.get_world_size()
        if size > 1:
            raise ParameterError(
                f"torch.distributed must have world size 1, got {size}: every process would train a model of its own "
                f"on one charge.",
                remedy=REMEDY,
            )
        return True
    declared = os.environ.get("WORLD_SIZE", "").strip()
    if declared and not _number(declared) <= 1:
        raise ParameterError(
            f"the environment variable WORLD_SIZE must be 1 or unset, got {shown(declared)}: this process is one of "
            f"several, as under torchrun, and each of them would train a model of its own on one charge.",
            remedy=f"{REMEDY} If the processes are unrelated, each with a charge of its own, unset WORLD_SIZE.",
        )
    return bool(declared)


def _warn_of_tasks() -> bool:
    """Warn if a launcher started several tasks, and return whether it did.

    Several tasks are not refused, because one of them may train alone.
    """
    for name in TASKS:
        if _number(os.environ.get(name, "")) > 1:
            warnings.warn(
                f"the environment variable {name} is above 1: a launcher may have started several processes. If each "
                f"of them trains on one charge, the models together spend more than the guarantee says. Train in one "
                f"of the processes only, and set WORLD_SIZE=1 there to turn this warning off.",
                DpermWarning,
                stacklevel=3,  # the caller of check_single_process
            )
            return True
    return False


def _number(text: str) -> float:
    """Number in the value of an environment variable; NaN if there is none."""
    try:
        return float(text)
    except ValueError:
        return math.nan


def _check_model(model: nn.Module) -> None:
    for name, module in model.named_modules():
        kind = _wrapper(module)
        if kind is not None:
            where = f"holds a {kind} module ({name!r})" if name else f"is a {kind} module"
            raise ParameterError(f"model must be a plain module of one process, but it {where}.", remedy=REMEDY)
    tensor = _loaded("torch.distributed.tensor", "DTensor")
    if tensor is None:
        return
    for named in (model.named_parameters(), model.named_buffers()):
        for name, value in named:
            if isinstance(value, tensor) or isinstance(value.data, tensor):
                raise ParameterError(
                    f"model must hold plain tensors, but {name!r} is a DTensor, spread over processes.", remedy=REMEDY
                )


def _wrapper(module: nn.Module) -> str | None:
    """Name of the wrapper for distributed training, or None for an ordinary module."""
    if isinstance(module, DistributedDataParallel):
        return "DistributedDataParallel"
    for name in ("FSDPModule", "FullyShardedDataParallel"):
        kind = _loaded("torch.distributed.fsdp", name)
        if kind is not None and isinstance(module, kind):
            return name
    return None


def _loaded(module: str, name: str) -> Any:
    """Class of an imported module, or None; before the import no object of the class can exist."""
    return getattr(sys.modules.get(module), name, None)
