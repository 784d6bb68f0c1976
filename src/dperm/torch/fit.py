# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""The common case in one call: plan, attach, train, and return the model with its guarantee."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from torch import Tensor, nn
from torch.optim import Adam, Optimizer

from dperm import checks
from dperm.accounting.budget import Budget
from dperm.checks import shown
from dperm.errors import DataError, DpermError, ParameterError
from dperm.noise.bits import Bits
from dperm.noise.grade import Grade
from dperm.privacy import Adjacency, Release
from dperm.torch.gradients.clipping import Clipping
from dperm.torch.loss_functions import Loss, check_loss, losses_of, per_example
from dperm.torch.plan import DPSGD, PHYSICAL, DPSGDPlan
from dperm.torch.quantile import QuantileClipping
from dperm.torch.records import Collate, Records, records_of
from dperm.torch.single_process import check_single_process

OptimizerMaker = Callable[..., Optimizer]
LEARNING_RATE = 3e-3
"""Of Adam: about how far a coordinate moves in a step, whatever clip norm, batch size and noise are. Fixed after a look
at small networks on synthetic data."""
SHOWN = 20
"""Times that a loss is shown."""
CAUSES = (
    "Check dtype, shape and range of the labels against the loss: CrossEntropyLoss takes class indices of dtype int64, "
    "from 0 to the number of outputs - 1; BCEWithLogitsLoss takes floats in the shape of the outputs. Check too that "
    "all records have one shape. To see the error, write the loop yourself with DPSGD(...).plan(...).attach(...)."
)
"""Usual causes of an error in the model or the loss."""
UNCOVERED = "not covered by the guarantee"


def fit(
    model: nn.Module,
    dataset: Any,
    loss: Loss,
    *,
    epsilon: float,
    delta: float,
    n: int | None = None,
    adjacency: Adjacency | str = Adjacency.ADD_REMOVE,
    batch_size: float | None = None,
    epochs: float | None = None,
    clip_norm: float = 1.0,
    clipping: Clipping | str | QuantileClipping = Clipping.FLAT,
    optimizer: Optimizer | OptimizerMaker | None = None,
    learning_rate: float | None = None,
    grade: Grade | str = Grade.EXACT,
    physical_batch_size: int = PHYSICAL,
    ledger: Budget | None = None,
    progress: bool | None = None,
    show_loss: bool = False,
    example_inputs: tuple[Any, ...] | None = None,
    collate_fn: Collate | None = None,
    num_workers: int = 0,
    request_id: str | None = None,
    bits: Bits | None = None,
) -> Release[nn.Module]:
    """Train ``model`` in place by DP-SGD (T46), and return it with its guarantee.

    Parameters
    ----------
    model
        Any module that `DPSGD` can train.
    dataset
        Pairs (input, target): a map-style data set, or a tuple of two tensors. Not a loader.
    loss
        A function of (outputs, targets) with one loss for each example. The losses of torch, functions and modules, are
        called without their reduction over the batch.
    epsilon, delta, adjacency
        What the whole training may spend.
    n
        Public number of records, perhaps rough. Under add_remove the true one is private, and n must be declared; under
        replace_one it is that of the data set.
    batch_size, epochs
        Expected size of a sample, mean number of times that a record is drawn; what is left out follows from public
        constants (`dperm.methods.sampling`): 1000 steps, at a rate at which sampling costs next to nothing.
    clip_norm, clipping, grade, physical_batch_size
        As for `DPSGD`.
    optimizer
        One over ``model.parameters()``, or a function that makes one of them, such as ``torch.optim.AdamW``. None:
        Adam, because its steps do not depend on the scale of gradients, which clip norm and noise decide about.
    learning_rate
        For an optimizer that is made here; None: its own default, and 3e-3 for Adam.
    ledger
        What the training is charged to.
    progress
        Whether a bar shows the steps; None: on a terminal.
    show_loss
        Whether mean losses are printed now and then. They come from the data without noise, and are **not covered** by
        the guarantee: for your eyes, on data that you may see.
    example_inputs, collate_fn, num_workers, request_id, bits
        As for `DPSGDPlan.attach`.

    Examples
    --------
    >>> import torch
    >>> from dperm.torch import fit
    >>> x = torch.arange(-200.0, 200.0)[:, None] / 100
    >>> release = fit(
    ...     torch.nn.Linear(1, 2), (x, (x[:, 0] > 0).long()), torch.nn.CrossEntropyLoss(),
    ...     epsilon=2.0, delta=1e-5, n=400, epochs=10, progress=False,
    ... )
    >>> release.guarantee.epsilon
    2.0
    """
    check_single_process(model)
    method = DPSGD(
        clip_norm, batch_size, epochs, clipping=clipping, grade=grade, physical_batch_size=physical_batch_size
    )
    records = records_of(dataset, collate=collate_fn, workers=num_workers)
    return train(
        method.plan(public_count(n, Adjacency.of(adjacency), records), epsilon, delta, adjacency),
        model,
        dataset,
        loss,
        optimizer=optimizer,
        learning_rate=learning_rate,
        ledger=ledger,
        progress=progress,
        show_loss=show_loss,
        example_inputs=example_inputs,
        collate_fn=collate_fn,
        num_workers=num_workers,
        request_id=request_id,
        bits=bits,
    )


def train(
    plan: DPSGDPlan,
    model: nn.Module,
    dataset: Any,
    loss: Loss,
    *,
    optimizer: Optimizer | OptimizerMaker | None = None,
    learning_rate: float | None = None,
    ledger: Budget | None = None,
    progress: bool | None = None,
    show_loss: bool = False,
    example_inputs: tuple[Any, ...] | None = None,
    collate_fn: Collate | None = None,
    num_workers: int = 0,
    request_id: str | None = None,
    bits: Bits | None = None,
) -> Release[nn.Module]:
    """Run ``plan`` on ``dataset``; arguments as for `fit`."""
    each, made = per_example(loss), optimizer_of(optimizer, learning_rate, model)
    check_loss(model, each, records_of(dataset, collate=collate_fn, workers=num_workers))
    shows = LossLines(plan.steps) if show_loss else None
    attached = plan.attach(
        model,
        made,
        dataset,
        ledger,
        example_inputs=example_inputs,
        collate_fn=collate_fn,
        num_workers=num_workers,
        progress=False if show_loss and progress is None else progress,
        request_id=request_id,
        bits=bits,
    )
    failure = ""
    try:
        with attached as private:
            for batch in private:
                losses = losses_of(model, each, batch)
                stepped = private.step(losses)
                if shows is not None:
                    shows.see(losses, stepped)
        return private.release
    except (DpermError, MemoryError):
        raise
    except Exception as error:
        failure = type(error).__name__  # what it says may be about a record
    charged = "The charge stays: there are no refunds." if attached.was_charged else "Nothing was charged."
    raise DataError(
        f"the training failed on the data, with an error of type {failure}. Its text is not shown because it may hold "
        f"private values. {charged} {CAUSES}"
    )


def public_count(n: int | None, adjacency: Adjacency, records: Records) -> int:
    """The declared n; under replace_one, if there is none, the number of records."""
    if n is not None:
        return n
    return required_count(None if adjacency is Adjacency.ADD_REMOVE else records.count)


def required_count(n: int | None) -> int:
    """``n``, which is None only where it is private and was not declared."""
    if n is None:
        raise ParameterError(
            'n must be declared under adjacency="add_remove": how many records there are is private there, and '
            "sampling needs a public number. Give a rough one, such as n=60_000; it is never compared with the data."
        )
    return n


def optimizer_of(optimizer: object, learning_rate: float | None, model: nn.Module) -> Optimizer:
    """The optimizer that was given, or made of what was given, over the trained parameters."""
    if learning_rate is not None:
        checks.positive("learning_rate", learning_rate, "It is the step size of the optimizer.")
    if isinstance(optimizer, Optimizer):
        if learning_rate is not None:
            raise ParameterError("learning_rate must be left out where optimizer is one already: it has its own.")
        return optimizer
    trained: Iterable[Tensor] = [value for value in model.parameters() if value.requires_grad]
    if optimizer is None:
        return Adam(trained, lr=LEARNING_RATE if learning_rate is None else learning_rate)
    if not callable(optimizer):
        raise ParameterError(
            f"optimizer must be one of torch.optim, a function that makes one of parameters, or None, got "
            f"{shown(optimizer)}."
        )
    made: Optimizer = optimizer(trained) if learning_rate is None else optimizer(trained, lr=learning_rate)
    return made


@dataclass
class LossLines:
    """Mean losses over some steps, on standard error, each with the words that it is not covered."""

    steps: int
    taken: int = 0
    _sum: float = field(default=0.0, repr=False)
    _rows: int = field(default=0, repr=False)

    def see(self, losses: Tensor, stepped: bool) -> None:
        """Take the losses of a batch, and show what there is if it is time."""
        from rich.console import Console

        self._sum, self._rows = self._sum + float(losses.detach().sum()), self._rows + len(losses)
        self.taken += stepped
        if stepped and self.taken % max(1, self.steps // SHOWN) == 0:
            mean = self._sum / self._rows
            Console(stderr=True, highlight=False).print(
                f"step {self.taken} of {self.steps}: mean loss {mean:.4g} ({UNCOVERED})", soft_wrap=True
            )
            self._sum, self._rows = 0.0, 0
