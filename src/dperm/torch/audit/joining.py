# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""A data set with canaries at its end, and whether a plan was made for it."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import TensorDataset

from dperm.errors import ParameterError
from dperm.privacy import Adjacency
from dperm.torch.audit.arguments import of_type
from dperm.torch.audit.canaries import Canaries, check_alike
from dperm.torch.plan import DPSGDPlan
from dperm.torch.records import records_of


def joined(dataset: Any, canaries: Canaries) -> Any:
    """The data set, and after it the canaries that are in.

    Parameters
    ----------
    dataset
        Pairs (input, target): a map-style data set, or a tuple of two tensors, as for `DPSGDPlan.attach`.
    canaries
        Of the same shapes and types.
    """
    records_of(dataset)  # refuses loaders and streams
    of_type("canaries", canaries, Canaries)
    if not len(dataset[0] if isinstance(dataset, tuple) else dataset):
        raise ParameterError("dataset must hold one record at least beside the canaries, got none.")
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
    return Joined(dataset, canaries.inserted(), len(dataset), first)


@dataclass(frozen=True)
class Joined:
    """A map-style data set with canaries after its ``size`` records, in the types of the record ``like``."""

    dataset: Any
    canaries: tuple[Tensor, Tensor]
    size: int
    like: Any

    def __len__(self) -> int:
        """With the canaries that are in."""
        return self.size + len(self.canaries[0])

    def __getitem__(self, place: int) -> Any:
        """The record at this place."""
        if place < self.size:
            return self.dataset[place]
        rows = (part[place - self.size] for part in self.canaries)
        return tuple(_typed(row, part) for row, part in zip(rows, self.like, strict=True))


def check_plan(plan: DPSGDPlan, canaries: Canaries, dataset: Any) -> None:
    """Refuse a plan that was made for another number of records, another adjacency, or groups.

    The canaries count: under replace_one the plan's n is that of data set and canaries together. Under add_remove the
    size of the data is private and is not looked at, but n has room for the canaries.
    """
    of_type("plan", plan, DPSGDPlan, remedy="Make one with DPSGD(...).plan(...).")
    of_type("canaries", canaries, Canaries)
    records_of(dataset)
    if plan.records_per_group is not None:
        raise ParameterError("plan must not have records_per_group: each coin of the audit moves a single record.")
    if plan.adjacency is Adjacency.ADD_REMOVE:
        _check_added(plan, canaries)
    else:
        _check_replaced(plan, canaries, len(dataset[0]) if isinstance(dataset, tuple) else len(dataset))


def _check_added(plan: DPSGDPlan, canaries: Canaries) -> None:
    if canaries.alternatives is not None:
        raise ParameterError(
            "canaries must have no alternatives under add_remove: to replace one record is two steps of that relation."
        )
    if plan.n <= len(canaries):
        raise ParameterError(
            f"plan must be made for the data together with the canaries: n={plan.n} is not more than the "
            f"{len(canaries)} canaries. Plan with n = records + canaries."
        )


def _check_replaced(plan: DPSGDPlan, canaries: Canaries, records: int) -> None:
    if canaries.alternatives is None:
        raise ParameterError(
            "canaries must have alternatives under replace_one: a record that takes the place of each canary that is "
            "left out. Give Canaries(records, alternatives=...)."
        )
    if plan.n != records + len(canaries):
        raise ParameterError(
            f"plan must be made for the data together with the canaries: n={plan.n} is not {records} + "
            f"{len(canaries)}. Plan with n={records + len(canaries)}."
        )


def _check_pair(record: object) -> None:
    if not isinstance(record, tuple | list) or len(record) != 2:
        raise ParameterError("dataset must hold pairs (input, target) to be audited with canaries.")


def _check_shapes(canaries: Canaries, first: Any) -> None:
    inputs, targets = canaries.records
    expected = (_row(first[0], inputs), _row(first[1], targets))
    check_alike("canaries", (inputs[0], targets[0]), expected, of="dataset")


def _row(part: object, like: Tensor) -> Tensor:
    """A part of the data set's first record as a tensor; numbers of Python take the precision of ``like``."""
    if isinstance(part, Tensor):
        return part
    if isinstance(part, np.ndarray | np.generic | int | float):
        found = torch.as_tensor(part)
        is_same_kind = found.is_floating_point() == like.is_floating_point()
        return found.to(like.dtype) if isinstance(part, int | float) and is_same_kind else found
    raise ParameterError(
        f"dataset must hold tensors, arrays or numbers to be audited with canaries, got {type(part).__name__}."
    )


def _typed(row: Tensor, like: object) -> object:
    """A row of a canary in the type that the data set has for it, so that both can be put into one batch."""
    if isinstance(like, Tensor):
        return row
    if isinstance(like, np.ndarray | np.generic):
        return row.numpy()
    return row.item()
