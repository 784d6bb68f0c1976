# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Loss functions of (outputs, targets) with one loss for each example: only such losses can be clipped (T46)."""

import copy
import inspect
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from dperm.checks import shown
from dperm.errors import DpermError, ParameterError
from dperm.torch.model_checks.model_state import preserve_state
from dperm.torch.records import Batch, Records

Loss = Callable[..., Any]
PerExample = Callable[[Any, Any], Tensor]
REDUCTIONS = ("mean", "sum", "batchmean")
ONE_EACH = (
    "loss must give one loss for each example, shape (batch,): a mean or a sum over the batch cannot be clipped. Give "
    'a loss with reduction="none", such as functools.partial(torch.nn.functional.cross_entropy, reduction="none"), and '
    "for several losses of an example their mean: losses.flatten(1).mean(1)."
)


def per_example(loss: object) -> PerExample:
    """``loss``, or the same without its reduction over the batch, where that can be told from its ``reduction``.

    That is so of the losses of torch, as modules and as functions. Where an example has several losses, they are
    reduced as they would have been: by a mean or a sum.
    """
    if not callable(loss):
        raise ParameterError(f"loss must be a function of (outputs, targets), got {shown(loss)}.")
    if isinstance(loss, nn.Module):
        _refuse_parameters(loss)
        return _of_module(loss)
    try:
        given = inspect.signature(loss).parameters.get("reduction")
    except (TypeError, ValueError):
        return loss
    if given is None or given.default not in REDUCTIONS:
        return loss
    reduce, function = _rows(given.default), loss
    return lambda outputs, targets: reduce(function(outputs, targets, reduction="none"))


def losses_of(model: nn.Module, loss: PerExample, batch: Batch) -> Tensor:
    """The losses of a batch (inputs, targets)."""
    if not isinstance(batch, tuple | list) or len(batch) != 2:
        raise ParameterError(
            "a record of dataset must be a pair (input, target). For others write the loop yourself: "
            "DPSGD(...).plan(...).attach(...)."
        )
    return loss(model(batch[0]), batch[1])


def check_loss(model: nn.Module, loss: PerExample, records: Records) -> None:
    """Refuse a loss that is not one number for each example: tried out on zeros, before anything is charged."""
    batch = records.padding(2)
    with preserve_state(model), torch.no_grad():
        try:
            found = losses_of(model, loss, batch)
        except DpermError:
            raise
        except Exception:  # zeros may be no inputs or targets that it can take: then records will show
            return
    if not isinstance(found, Tensor) or found.shape != (2,):
        raise ParameterError(ONE_EACH)


def _of_module(loss: nn.Module) -> PerExample:
    reduction = getattr(loss, "reduction", None)
    if reduction not in REDUCTIONS:
        return loss
    plain, reduce = copy.deepcopy(loss), _rows(str(reduction))
    plain.__dict__["reduction"] = "none"
    return lambda outputs, targets: reduce(plain(outputs, targets))


def _rows(reduction: str) -> Callable[[Tensor], Tensor]:
    """What makes one loss of those of an example."""

    def reduced(losses: Tensor) -> Tensor:
        if losses.dim() < 2:
            return losses
        return losses.flatten(1).mean(1) if reduction == "mean" else losses.flatten(1).sum(1)

    return reduced


def _refuse_parameters(loss: nn.Module) -> None:
    if any(value.requires_grad for value in loss.parameters()):
        raise ParameterError(
            "loss must not have parameters that are trained: their gradients would not be private. Make it part of the "
            "model."
        )
