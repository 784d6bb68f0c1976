# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""What is checked of data and model before anything is charged."""

from dataclasses import dataclass
from typing import Any, Protocol

import torch
from torch import Tensor, nn
from torch.utils import _pytree as pytree

from dperm.errors import AssumptionError, DataError, ParameterError
from dperm.privacy import Adjacency
from dperm.torch.gradients.sites import Site
from dperm.torch.model_checks.check import check_model
from dperm.torch.options import Options
from dperm.torch.records import Records, records_of
from dperm.torch.sampling import Groups, Single, groups_of

PROBED = 3
"""Rows of the synthetic batch on which a model is checked."""


class Planned(Protocol):
    """What a plan says about records and models."""

    @property
    def n(self) -> int:
        """Public number of records, or of groups."""

    @property
    def adjacency(self) -> Adjacency:
        """Which data sets are neighbours."""

    @property
    def most_records(self) -> int:
        """Public limit on their number."""

    @property
    def most_parameters(self) -> int:
        """Public limit on the number of trained parameters."""

    @property
    def records_per_group(self) -> int | None:
        """With groups, the largest number of records of one that are used."""


@dataclass(frozen=True)
class Ready:
    """Records, how they belong together, inputs of the right shapes without any data in them, and the model's sites."""

    records: Records
    groups: Groups | Single
    inputs: tuple[Any, ...]
    sites: tuple[Site, ...]


def ready(plan: Planned, model: nn.Module, dataset: object, options: Options) -> Ready:
    """The records, if they keep to the plan, and the model, if no example acts on another one's gradient.

    Raises
    ------
    DataError
        If there are too many records, or under replace_one not n; the message says nothing about them.
    AssumptionError
        If the model is too large, or mixes examples.
    """
    _check_size(plan, model)
    records = records_of(dataset, collate=options.collate_fn, workers=options.num_workers)
    groups = _groups(plan, records, options)
    _check_count(plan, groups.count)
    inputs = _probe(options, records)
    return Ready(records, groups, inputs, tuple(check_model(model, inputs, public=options.public_inputs)))


def _probe(options: Options, records: Records) -> tuple[Any, ...]:
    """What the model is checked with: values are kept only if they are said to be public."""
    if options.example_inputs is None:
        return _inputs(records.padding(PROBED))
    return options.example_inputs if options.public_inputs else _blank(options.example_inputs)


def _groups(plan: Planned, records: Records, options: Options) -> Groups | Single:
    most = plan.records_per_group
    if (most is None) != (options.group is None):
        raise ParameterError(
            "group and records_per_group go together: give DPSGD(records_per_group=...) a bound on the records of one "
            "group, and attach(group=...) a key for each record."
        )
    return Single(records.count) if most is None else groups_of(options.group, records.count, most)


def _check_size(plan: Planned, model: nn.Module) -> None:
    trained = sum(value.numel() for value in model.parameters() if value.requires_grad)
    if trained >= plan.most_parameters:  # a noisy count may be added
        raise AssumptionError(
            f"model has {trained:,} trained parameters, and the rounding of noise was bounded for fewer than "
            f"{plan.most_parameters:,}. Freeze a part of it."
        )


def _check_count(plan: Planned, count: int) -> None:
    if count > plan.most_records:
        raise DataError(
            f"dataset holds more than the public limit of {plan.most_records:,} of this plan, for which rounding "
            f"errors were bounded. Declare a larger n."
        )
    if plan.adjacency is Adjacency.REPLACE_ONE and count != plan.n:
        unit = "records" if plan.records_per_group is None else "groups"
        raise DataError(f"n={plan.n} was declared, but the data have a different number of {unit}.")


def _inputs(batch: Any) -> tuple[Any, ...]:
    """What the model is called with: the first element of a batch, or all of it."""
    if isinstance(batch, tuple | list) and batch:
        return (batch[0],)
    if isinstance(batch, Tensor):
        return (batch,)
    raise ParameterError(
        "example_inputs must be given where batches are not tuples whose first element is the input of the model: a "
        "tuple of what the model is called with, of which only shapes and types are used."
    )


def _blank(inputs: tuple[Any, ...]) -> tuple[Any, ...]:
    """Zeros in the place of all tensors, and as many rows as are probed."""

    def rows(value: Tensor) -> Tensor:
        return torch.zeros(PROBED, *value.shape[1:], dtype=value.dtype, device=value.device)

    return pytree.tree_map_only(Tensor, rows, inputs)  # type: ignore[no-any-return]
