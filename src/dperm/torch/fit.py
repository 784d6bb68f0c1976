# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Private training in one call: plan, attach, train, and return the model with its guarantee."""

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
from dperm.presentation.spelling import arg
from dperm.privacy import Adjacency, Release
from dperm.torch.gradients.clipping import Clipping
from dperm.torch.loss_functions import Loss, check_loss, losses_of, per_example
from dperm.torch.plan import DPSGD, PHYSICAL, DPSGDPlan
from dperm.torch.quantile import QuantileClipping
from dperm.torch.records import Collate, RecordSource, records_of
from dperm.torch.single_process import check_single_process

OptimizerMaker = Callable[..., Optimizer]
LEARNING_RATE = 3e-3
"""Learning rate of Adam, chosen on small networks and synthetic data.

A coordinate changes by about this much in one step, independent of clipping norm, batch size and noise.
"""
SHOWN = 20
"""Number of losses shown in a training run."""
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

    *Guarantees.* The returned model satisfies (epsilon, delta)-differential privacy under ``adjacency``. Model, loss
    and data are checked before the charge; failures after the charge are not refunded.

    Parameters
    ----------
    model
        Any module accepted by `DPSGDPlan.attach`.
    dataset
        Pairs (input, target): a map-style data set, or a tuple of two tensors. A loader is not accepted.
    loss
        Function that takes (outputs, targets) and returns one loss for each example. Loss functions and loss modules of
        torch are called without their reduction over the batch.
    epsilon, delta
        Privacy-loss bounds of the whole training run, with delta > 0.
    n
        Public number of records. Under add_remove, the true number is private, and ``n`` must be declared; it may be
        approximate. Under replace_one, ``n`` must equal the size of the data set, which is the default.
    adjacency
        Adjacency relation, "add_remove" or "replace_one".
    batch_size, epochs
        Expected number of records in a batch (a Poisson sample), and expected number of batches that contain a given
        record. Defaults follow from public numbers (`dperm.methods.sampling`). If both are None, the training run takes
        1000 steps, at a sampling rate that costs little accuracy.
    clip_norm, clipping, grade, physical_batch_size
        See `DPSGD`.
    optimizer
        Optimizer over ``model.parameters()``, or a function from parameters to an optimizer, such as
        ``torch.optim.AdamW``. None uses Adam, whose step sizes do not depend on the scale of the gradients.
    learning_rate
        Learning rate of an optimizer created by this function. None uses 3e-3 if ``optimizer`` is None, and the
        optimizer's own default otherwise.
    ledger
        Budget to charge; None charges nothing.
    progress
        Whether to show a progress bar; None shows one only on a terminal.
    show_loss
        Whether to print mean losses during training. These losses are computed from the data without noise, and the
        guarantee does **not cover** them. They are meant only for people with access to the data.
    example_inputs, collate_fn, num_workers, request_id, bits
        See `DPSGDPlan.attach`.

    Returns
    -------
    Release[nn.Module]
        The trained model with its guarantee, profile, event and record.

    Raises
    ------
    ParameterError
        If an argument is out of range.
    AssumptionError
        If the model or the loss mixes examples, or no amount of noise can give the guarantee.
    DataError
        If the training run fails on the data. The message shows no private value.

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
    """Train ``model`` with ``plan`` on ``dataset``; arguments as for `fit`."""
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
        failure = type(error).__name__  # its text may reveal a record
    charged = "The charge is not refunded." if attached.was_charged else "Nothing was charged."
    raise DataError(
        f"the training failed on the data, with an error of type {failure}. Its text is not shown because it may hold "
        f"private values. {charged}",
        remedy=CAUSES,
    )


def public_count(n: int | None, adjacency: Adjacency, records: RecordSource) -> int:
    """Return the declared n, or under replace_one the number of records."""
    if n is not None:
        return n
    return required_count(None if adjacency is Adjacency.ADD_REMOVE else records.count)


def required_count(n: int | None) -> int:
    """Return ``n``, or raise ParameterError if it is None: private and not declared."""
    if n is None:
        private = arg("adjacency", '"add_remove"')
        raise ParameterError(
            argument="n",
            rule=f"must be declared under {private}: the true number of records is private, and sampling needs a "
            f"public one",
            remedy=f"Pass a rough number, such as {arg('n', '60_000')}; it is never compared with the data.",
        )
    return n


def optimizer_of(optimizer: object, learning_rate: float | None, model: nn.Module) -> Optimizer:
    """Return the given optimizer, or a new optimizer over the trained parameters; None creates Adam."""
    if learning_rate is not None:
        checks.positive("learning_rate", learning_rate, "It is the step size of the optimizer.")
    if isinstance(optimizer, Optimizer):
        if learning_rate is not None:
            raise ParameterError(
                argument="learning_rate",
                rule=f"must be left out if {arg('optimizer')} is an optimizer: it has its own learning rate",
            )
        return optimizer
    trained: Iterable[Tensor] = [value for value in model.parameters() if value.requires_grad]
    if optimizer is None:
        return Adam(trained, lr=LEARNING_RATE if learning_rate is None else learning_rate)
    if not callable(optimizer):
        raise ParameterError(
            argument="optimizer",
            rule="must be an optimizer of torch.optim, a function from parameters to one, or None",
            got=shown(optimizer),
        )
    made: Optimizer = optimizer(trained) if learning_rate is None else optimizer(trained, lr=learning_rate)
    return made


@dataclass
class LossLines:
    """Printer of mean losses on standard error, each marked as not covered by the guarantee."""

    steps: int
    taken: int = 0
    _sum: float = field(default=0.0, repr=False)
    _rows: int = field(default=0, repr=False)

    def see(self, losses: Tensor, stepped: bool) -> None:
        """Add the losses of a batch, and print their mean every 1/`SHOWN` of the steps."""
        from rich.console import Console

        self._sum, self._rows = self._sum + float(losses.detach().sum()), self._rows + len(losses)
        self.taken += stepped
        if stepped and self.taken % max(1, self.steps // SHOWN) == 0:
            mean = self._sum / self._rows
            Console(stderr=True, highlight=False).print(
                f"step {self.taken} of {self.steps}: mean loss {mean:.4g} ({UNCOVERED})", soft_wrap=True
            )
            self._sum, self._rows = 0.0, 0
