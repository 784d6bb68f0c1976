# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Run options: groups, example inputs, loading, progress, resumption and rehearsals."""

from dataclasses import dataclass
from os import PathLike
from typing import Any

from dperm import checks
from dperm.checks import shown
from dperm.errors import ParameterError
from dperm.presentation.spelling import arg
from dperm.torch.records import Collate

WORKERS = "It is the number of processes for reading records."


@dataclass(frozen=True, kw_only=True)
class Options:
    """Keyword arguments of `DPSGDPlan.attach`.

    Attributes
    ----------
    group
        Key of the group of each record, in the order of the data set; for plans with ``records_per_group``.
    example_inputs
        Tuple of the model's arguments, with two or more rows. Only shapes and types are used, unless ``public_inputs``
        is True. None uses the first element of a batch.
    collate_fn, num_workers
        See ``torch.utils.data.DataLoader``.
    progress
        Whether to show a progress bar; None shows one only on a terminal.
    request_id
        Identifier of the charge; the same identifier is charged once.
    resume
        Path of the checkpoint to resume from.
    rehearsal
        Whether the loop is rehearsed on trial batches.
    public_inputs
        Whether ``example_inputs`` are public or invented, and their values may be used.
    """

    group: Any = None
    example_inputs: tuple[Any, ...] | None = None
    collate_fn: Collate | None = None
    num_workers: int = 0
    progress: bool | None = None
    request_id: str | None = None
    resume: str | PathLike[str] | None = None
    rehearsal: bool = True
    public_inputs: bool = False

    def __post_init__(self) -> None:
        """Check the options without reading data."""
        checks.count("num_workers", self.num_workers, WORKERS, least=0, most=1024)
        if self.collate_fn is not None and not callable(self.collate_fn):
            raise ParameterError(argument="collate_fn", rule="must be a function or None", got=shown(self.collate_fn))
        if self.example_inputs is not None and not isinstance(self.example_inputs, tuple):
            raise ParameterError(
                argument="example_inputs",
                rule="must be a tuple of the model's arguments",
                got=shown(type(self.example_inputs).__name__),
                remedy="Write (x,) for one tensor.",
            )
        if self.public_inputs and self.example_inputs is None:
            raise ParameterError(
                f"{arg('public_inputs', True)} declares {arg('example_inputs')} public, but none are given.",
                remedy=f"Pass public or invented examples, never private ones, as {arg('example_inputs')}.",
            )
