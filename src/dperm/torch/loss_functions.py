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
from dperm.torch.records import Batch, RecordSource

Loss = Callable[..., Any]
PerExample = Callable[[Any, Any], Tensor]
REDUCTIONS = ("mean", "sum", "batchmean")
SEVERAL = (
    "Outputs of shape (n, 1) and targets of shape (n,) broadcast to all pairs of rows: give both the same shape, for "
    "example model(x).squeeze(1). If each row has several losses, take their mean: losses.flatten(1).mean(1)."
)
"""Remedies for losses with more than one dimension, the same for every shape: sizes of samples are private."""
ONE_EACH = (
    'A mean or a sum over the batch cannot be clipped. Pass a loss with reduction="none", such as '
    f'functools.partial(torch.nn.functional.cross_entropy, reduction="none"). {SEVERAL}'
)


def per_example(loss: object) -> PerExample:
    """Return ``loss`` without its reduction over the batch, if ``loss`` has a ``reduction``.

    This covers the loss modules and loss functions of torch. Several losses of one example are still reduced, by a mean
    or a sum. Other functions are returned unchanged; `check_loss` checks the shape of their result.

    Raises
    ------
    ParameterError
        If ``loss`` is not callable, or has trained parameters.
    """
    if not callable(loss):
        raise ParameterError(argument="loss", rule="must be a function of (outputs, targets)", got=shown(loss))
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
    """Return the losses of a batch (inputs, targets), one for each example."""
    if not isinstance(batch, tuple | list) or len(batch) != 2:
        raise ParameterError(
            argument="dataset",
            rule="must hold pairs (input, target)",
            remedy="For other records write the loop yourself: DPSGD(...).plan(...).attach(...).",
        )
    return loss(model(batch[0]), batch[1])


def check_loss(model: nn.Module, loss: PerExample, records: RecordSource) -> None:
    """Refuse a loss without one number for each example, before the charge.

    The loss is tried on two rows of zeros. If the model or the loss raises an error for these rows, the check passes:
    the records may still work.
    """
    batch = records.padding(2)
    with preserve_state(model), torch.no_grad():
        try:
            found = losses_of(model, loss, batch)
        except DpermError:
            raise
        except Exception:  # zeros may be invalid inputs or targets
            return
    if not isinstance(found, Tensor) or found.shape != (2,):
        raise ParameterError(
            argument="loss", rule="must return one loss for each example, shape (batch,)", remedy=ONE_EACH
        )


def check_loss_shape(losses: object, rows: int) -> None:
    """Refuse losses without one entry for each of ``rows`` rows.

    Raises
    ------
    ParameterError
        If the shape is wrong. The message does not show the number of losses or rows, because this number is the size
        of a sample.
    """
    if not isinstance(losses, Tensor):
        got, remedy = shown(type(losses).__name__), "Pass the tensor itself."
    elif losses.shape == (rows,):
        return
    elif losses.dim() == 0:
        got, remedy = "one number", 'A mean or a sum over the batch cannot be clipped: use reduction="none".'
    elif losses.dim() == 1:
        got, remedy = "another number of them", "Compute them from all rows of the batch handed out by the loop."
    elif losses.dim() == 2 and losses.shape[1] == 1:
        got, remedy = "a column", "Use losses.squeeze(1)."
    else:
        got = f"{losses.dim()} dimensions"
        remedy = SEVERAL
    raise ParameterError(
        argument="losses",
        rule="must hold one loss for each row of the batch, in one dimension",
        got=got,
        remedy=remedy,
    )


def _of_module(loss: nn.Module) -> PerExample:
    reduction = getattr(loss, "reduction", None)
    if reduction not in REDUCTIONS:
        return loss
    plain, reduce = copy.deepcopy(loss), _rows(str(reduction))
    plain.__dict__["reduction"] = "none"
    return lambda outputs, targets: reduce(plain(outputs, targets))


def _rows(reduction: str) -> Callable[[Tensor], Tensor]:
    """Return the function that reduces several losses of an example to one loss."""

    def reduced(losses: Tensor) -> Tensor:
        if losses.dim() < 2:
            return losses
        return losses.flatten(1).mean(1) if reduction == "mean" else losses.flatten(1).sum(1)

    return reduced


def _refuse_parameters(loss: nn.Module) -> None:
    if any(value.requires_grad for value in loss.parameters()):
        raise ParameterError(
            argument="loss",
            rule="must not have trained parameters: their gradients would not be private",
            remedy="Make them part of the model.",
        )
