# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Records, groups and model of a training run, checked before the charge."""

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
from dperm.torch.records import RecordSource, records_of
from dperm.torch.sampling import Groups, SingletonGroups, groups_of

PROBED = 3
"""Number of rows of the synthetic batch in the check of a model."""


class DataPlan(Protocol):
    """Public limits of a plan on records and models."""

    @property
    def n(self) -> int:
        """Public number of records, or of groups."""

    @property
    def adjacency(self) -> Adjacency:
        """Adjacency relation of the guarantee."""

    @property
    def most_records(self) -> int:
        """Public limit on the number of records, or of groups."""

    @property
    def most_parameters(self) -> int:
        """Public limit on the number of trained parameters."""

    @property
    def records_per_group(self) -> int | None:
        """Largest number of records used from one group; None without groups."""


@dataclass(frozen=True)
class TrainingData:
    """Checked inputs of a training run.

    Attributes
    ----------
    records, groups
        The private records, and their partition into groups.
    inputs
        Inputs of the right shapes for the model, without any data in them.
    sites
        Uses of parameters in the model, found by its check.
    """

    records: RecordSource
    groups: Groups | SingletonGroups
    inputs: tuple[Any, ...]
    sites: tuple[Site, ...]


def training_data(plan: DataPlan, model: nn.Module, dataset: object, options: Options) -> TrainingData:
    """Return the checked records and groups of a data set, and the sites of the checked model.

    Raises
    ------
    DataError
        If there are too many records, or under replace_one not exactly n. The message reveals nothing about the
        records.
    AssumptionError
        If the model is too large, or one example acts on the gradient of another.
    """
    _check_size(plan, model)
    records = records_of(dataset, collate=options.collate_fn, workers=options.num_workers)
    groups = _groups(plan, records, options)
    _check_count(plan, groups.count)
    inputs = _probe(options, records)
    return TrainingData(records, groups, inputs, tuple(check_model(model, inputs, public=options.public_inputs)))


def _probe(options: Options, records: RecordSource) -> tuple[Any, ...]:
    """Inputs for the check of the model; values are kept only if they are declared public."""
    if options.example_inputs is None:
        return _inputs(records.padding(PROBED))
    return options.example_inputs if options.public_inputs else _blank(options.example_inputs)


def _groups(plan: DataPlan, records: RecordSource, options: Options) -> Groups | SingletonGroups:
    most = plan.records_per_group
    if (most is None) != (options.group is None):
        raise ParameterError(
            "group and records_per_group must be given together.",
            remedy="Pass a bound on the records of one group to DPSGD(records_per_group=...), and a key for each "
            "record to attach(group=...).",
        )
    return SingletonGroups(records.count) if most is None else groups_of(options.group, records.count, most)


def _check_size(plan: DataPlan, model: nn.Module) -> None:
    trained = sum(value.numel() for value in model.parameters() if value.requires_grad)
    if trained >= plan.most_parameters:  # a noisy count may be added
        raise AssumptionError(
            argument="model",
            rule=f"must have fewer than {plan.most_parameters:,} trained parameters, the bound for rounding of noise",
            got=f"{trained:,}",
            remedy="Freeze a part of the model.",
        )


def _check_count(plan: DataPlan, count: int) -> None:
    if count > plan.most_records:
        raise DataError(
            argument="dataset",
            rule=f"must not exceed the public limit of {plan.most_records:,} of this plan, for bounds on rounding",
            remedy="Declare a larger n.",
        )
    if plan.adjacency is Adjacency.REPLACE_ONE and count != plan.n:
        unit = "records" if plan.records_per_group is None else "groups"
        raise DataError(f"n={plan.n} was declared, but the data have a different number of {unit}.")


def _inputs(batch: Any) -> tuple[Any, ...]:
    """Inputs of the model: the first element of a batch, or all of it."""
    if isinstance(batch, tuple | list) and batch:
        return (batch[0],)
    if isinstance(batch, Tensor):
        return (batch,)
    raise ParameterError(
        argument="example_inputs",
        rule="must be given, because the first element of a batch is not the input of the model",
        remedy="Pass a tuple of the model's arguments; only shapes and types are used.",
    )


def _blank(inputs: tuple[Any, ...]) -> tuple[Any, ...]:
    """Replace all tensors with `PROBED` rows of zeros."""

    def rows(value: Tensor) -> Tensor:
        return torch.zeros(PROBED, *value.shape[1:], dtype=value.dtype, device=value.device)

    return pytree.tree_map_only(Tensor, rows, inputs)  # type: ignore[no-any-return]
