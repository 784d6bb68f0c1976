# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""What a training run is told beside model, optimizer and data: groups, inputs, loading, progress."""

from dataclasses import dataclass
from os import PathLike
from typing import Any

from dperm import checks
from dperm.checks import shown
from dperm.errors import ParameterError
from dperm.torch.records import Collate

WORKERS = "It is the number of processes that read records."


@dataclass(frozen=True)
class Options:
    """Keywords of `attach`.

    Attributes
    ----------
    group
        A key for each record, in the order of the data set; for plans with ``records_per_group``.
    example_inputs
        A tuple of tensors with which the model can be called, of two or more rows: only their shapes and types are
        used, unless they are public. None: the first element of a batch.
    collate_fn, num_workers
        As for ``torch.utils.data.DataLoader``.
    progress
        Whether a bar shows the steps; None: if the terminal is one.
    request_id
        Makes the charge idempotent.
    resume
        The checkpoint to go on from.
    rehearsal
        Whether the loop is tried on batches that differ in one record.
    public_inputs
        Whether ``example_inputs`` are public or invented, and the model is tried on them as they are.
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
        """Check what can be checked without data."""
        checks.count("num_workers", self.num_workers, WORKERS, least=0, most=1024)
        if self.collate_fn is not None and not callable(self.collate_fn):
            raise ParameterError(f"collate_fn must be a function or None, got {shown(self.collate_fn)}.")
        if self.example_inputs is not None and not isinstance(self.example_inputs, tuple):
            raise ParameterError(
                f"example_inputs must be a tuple of what the model is called with, got "
                f"{shown(type(self.example_inputs).__name__)}. Write (x,) for one tensor."
            )
        if self.public_inputs and self.example_inputs is None:
            raise ParameterError(
                "public_inputs=True says that example_inputs are public, but there are none. Give public or invented "
                "examples, never private ones, as example_inputs."
            )
