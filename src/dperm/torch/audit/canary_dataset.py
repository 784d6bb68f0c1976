# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Data sets with canaries after the records, and checks of plans for them."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import TensorDataset

from dperm.errors import ParameterError
from dperm.privacy import Adjacency
from dperm.torch.audit.arguments import of_type
from dperm.torch.audit.canaries import TrainingCanaries, check_alike
from dperm.torch.plan import DPSGDPlan
from dperm.torch.records import records_of


def with_canaries(dataset: Any, canaries: TrainingCanaries) -> Any:
    """Return the data set followed by the included canaries and the alternatives of left-out canaries.

    Without alternatives (under add_remove), only the included canaries are appended.

    Parameters
    ----------
    dataset
        Pairs (input, target): a map-style data set, or a tuple of two tensors, as for `DPSGDPlan.attach`.
    canaries
        Canaries with the shapes and types of the data set's records.

    Returns
    -------
    Any
        The combined data set: a tuple of two tensors if ``dataset`` is a tuple or a ``TensorDataset``, and a map-style
        data set otherwise.

    Raises
    ------
    ParameterError
        If ``dataset`` is a loader, holds empty tensors or does not hold pairs, or if its records differ from the
        canaries in shape or type.
    DataError
        If a map-style data set is empty, or tensors differ in length.
    """
    records_of(dataset)  # refuses loaders and streams
    of_type("canaries", canaries, TrainingCanaries)
    if not len(dataset[0] if isinstance(dataset, tuple) else dataset):
        raise ParameterError(argument="dataset", rule="must hold at least one record beside the canaries", got="none")
    if type(dataset) is TensorDataset:
        dataset = dataset.tensors
    if isinstance(dataset, tuple):
        _check_pair(dataset)
        _check_shapes(canaries, tuple(part[0] for part in dataset))
        inputs, targets = (torch.cat([part, added]) for part, added in zip(dataset, canaries.inserted(), strict=True))
        return inputs, targets
    first = dataset[0]
    _check_pair(first)
    _check_shapes(canaries, first)
    return CanaryDataset(dataset, canaries.inserted(), len(dataset), first)


@dataclass(frozen=True)
class CanaryDataset:
    """Map-style data set with canaries after its ``size`` records, in the types of the record ``like``."""

    dataset: Any
    canaries: tuple[Tensor, Tensor]
    size: int
    like: Any

    def __len__(self) -> int:
        """Return the number of records and included canaries."""
        return self.size + len(self.canaries[0])

    def __getitem__(self, place: int) -> Any:
        """Return the record or canary at this position."""
        if place < self.size:
            return self.dataset[place]
        rows = (part[place - self.size] for part in self.canaries)
        return tuple(_typed(row, part) for row, part in zip(rows, self.like, strict=True))


def check_plan(plan: DPSGDPlan, canaries: TrainingCanaries, dataset: Any) -> None:
    """Refuse a plan for another number of records, another adjacency, or groups.

    The canaries count. Under replace_one the plan's n must be the number of records and canaries together. Under
    add_remove the size of the data is private and is not used, but n must exceed the number of canaries.
    """
    of_type("plan", plan, DPSGDPlan, remedy="Make one with DPSGD(...).plan(...).")
    of_type("canaries", canaries, TrainingCanaries)
    records_of(dataset)
    if plan.records_per_group is not None:
        raise ParameterError(
            argument="plan", rule="must not have records_per_group: each coin of the audit moves a single record"
        )
    if plan.adjacency is Adjacency.ADD_REMOVE:
        _check_added(plan, canaries)
    else:
        _check_replaced(plan, canaries, len(dataset[0]) if isinstance(dataset, tuple) else len(dataset))


def _check_added(plan: DPSGDPlan, canaries: TrainingCanaries) -> None:
    if canaries.alternatives is not None:
        raise ParameterError(
            argument="canaries",
            rule="must have no alternatives under add_remove: replacing one record is two steps of that relation",
        )
    if plan.n <= len(canaries):
        raise ParameterError(
            argument="plan",
            rule=f"must be made for the data together with the canaries: n={plan.n} is not more than the "
            f"{len(canaries)} canaries",
            remedy="Plan with n = records + canaries.",
        )


def _check_replaced(plan: DPSGDPlan, canaries: TrainingCanaries, records: int) -> None:
    if canaries.alternatives is None:
        raise ParameterError(
            argument="canaries",
            rule="must have alternatives under replace_one: each left-out canary is replaced by one",
            remedy="Use TrainingCanaries(records, alternatives=...).",
        )
    if plan.n != records + len(canaries):
        raise ParameterError(
            argument="plan",
            rule=f"must be made for the data together with the canaries: n={plan.n} is not {records} + {len(canaries)}",
            remedy=f"Plan with n={records + len(canaries)}.",
        )


def _check_pair(record: object) -> None:
    if not isinstance(record, tuple | list) or len(record) != 2:
        raise ParameterError(argument="dataset", rule="must hold pairs (input, target) for an audit with canaries")


def _check_shapes(canaries: TrainingCanaries, first: Any) -> None:
    inputs, targets = canaries.records
    expected = (_row(first[0], inputs), _row(first[1], targets))
    check_alike("canaries", (inputs[0], targets[0]), expected, of="dataset")


def _row(part: object, like: Tensor) -> Tensor:
    """Part of the data set's first record as a tensor; Python numbers get the precision of ``like``."""
    if isinstance(part, Tensor):
        return part
    if isinstance(part, np.ndarray | np.generic | int | float):
        found = torch.as_tensor(part)
        is_same_kind = found.is_floating_point() == like.is_floating_point()
        return found.to(like.dtype) if isinstance(part, int | float) and is_same_kind else found
    raise ParameterError(
        argument="dataset",
        rule="must hold tensors, arrays or numbers for an audit with canaries",
        got=type(part).__name__,
    )


def _typed(row: Tensor, like: object) -> object:
    """Row of a canary in the data set's type, so both fit into one batch."""
    if isinstance(like, Tensor):
        return row
    if isinstance(like, np.ndarray | np.generic):
        return row.numpy()
    return row.item()
