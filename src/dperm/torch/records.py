# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Where the records of a batch come from: tensors, or a map-style data set through PyTorch's loader."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor
from torch.utils import _pytree as pytree
from torch.utils.data import DataLoader, IterableDataset, TensorDataset, default_collate

from dperm.checks import shown
from dperm.errors import DataError, ParameterError
from dperm.noise.arrays import Integers
from dperm.noise.bits import SystemBits

Batch = Any
Collate = Callable[[list[Any]], Batch]


class Records(Protocol):
    """The records, by position."""

    @property
    def count(self) -> int:
        """How many there are. Private under add/remove."""

    def padding(self, rows: int) -> Batch:
        """A batch of ``rows`` rows of zeros, in the shapes and types of a record."""

    def batches(self, positions: Iterator[Integers]) -> Iterator[Batch]:
        """The batch of each list of positions; none of them is empty."""


@dataclass(frozen=True)
class TensorRecords:
    """Records that are the rows of tensors."""

    tensors: tuple[Tensor, ...]

    @property
    def count(self) -> int:
        """How many there are."""
        return len(self.tensors[0])

    def padding(self, rows: int) -> Batch:
        """Zeros."""
        return [values.new_zeros(rows, *values.shape[1:]) for values in self.tensors]

    def batches(self, positions: Iterator[Integers]) -> Iterator[Batch]:
        """Rows of the tensors."""
        for places in positions:
            rows = torch.from_numpy(places)
            yield [values[rows] for values in self.tensors]


@dataclass(frozen=True)
class LoadedRecords:
    """Records of a map-style data set, put together by ``collate``, read by ``workers`` processes."""

    dataset: Any
    collate: Collate
    workers: int

    @property
    def count(self) -> int:
        """How many there are."""
        return len(self.dataset)

    def padding(self, rows: int) -> Batch:
        """Zeros in the place of all tensors of the first record."""
        batch = self.collate([self.dataset[0]] * rows)
        return pytree.tree_map_only(Tensor, torch.zeros_like, batch)

    def batches(self, positions: Iterator[Integers]) -> Iterator[Batch]:
        """Through a loader whose batches are ours; it runs ahead of training, which shows nothing."""
        lists: Any = (places.tolist() for places in positions)
        yield from DataLoader(
            self.dataset, batch_sampler=lists, collate_fn=self.collate, num_workers=self.workers, generator=_unused()
        )


def records_of(dataset: object, *, collate: Collate | None = None, workers: int = 0) -> Records:
    """The records of what a user calls a data set.

    Raises
    ------
    ParameterError
        If it is a loader, whose batches would not be Poisson samples, or a stream.
    """
    if isinstance(dataset, DataLoader):
        raise ParameterError(
            "dataset must be the data set itself, got a DataLoader. Shuffled or fixed batches are not Poisson samples, "
            "and have other, weaker guarantees (T27): dperm draws the batches. Give loader.dataset, with "
            "collate_fn=loader.collate_fn and num_workers=loader.num_workers if you need them."
        )
    if isinstance(dataset, TensorDataset):
        dataset = dataset.tensors if type(dataset) is TensorDataset else dataset
    if isinstance(dataset, list) and dataset and all(isinstance(part, Tensor) for part in dataset):
        raise ParameterError(
            "dataset must not be a list of tensors: are they the records, or columns? Give a tuple of tensors with the "
            "records in their first dimension, or a TensorDataset of one tensor, torch.stack(dataset)."
        )
    if isinstance(dataset, tuple) and any(isinstance(part, np.ndarray) for part in dataset):
        raise ParameterError("dataset must be a tuple of tensors, got arrays. Use torch.from_numpy for each of them.")
    if isinstance(dataset, tuple) and dataset and all(isinstance(part, Tensor) for part in dataset):
        return _of_tensors(tuple(dataset)) if collate is None else _loaded(TensorDataset(*dataset), collate, workers)
    if isinstance(dataset, IterableDataset) or not all(hasattr(dataset, name) for name in ("__getitem__", "__len__")):
        raise ParameterError(
            f"dataset must be a map-style data set (with __len__ and __getitem__), or a tuple of tensors of equal "
            f"length, got {shown(type(dataset).__name__)}. A stream cannot be sampled: read it into memory first."
        )
    return _loaded(dataset, collate or default_collate, workers)


def _loaded(dataset: Any, collate: Collate, workers: int) -> Records:
    if not len(dataset):
        raise DataError("dataset must hold at least one record, whose shape is taken as public.")
    return LoadedRecords(dataset, collate, workers)


def _of_tensors(tensors: tuple[Tensor, ...]) -> Records:
    if any(values.dim() == 0 or len(values) != len(tensors[0]) for values in tensors):
        raise DataError("the tensors of dataset must all have the records in their first dimension, in equal number.")
    return TensorRecords(tuple(values.detach() for values in tensors))


def _unused() -> torch.Generator:
    """A generator for the seeds of the loader's workers, so that torch's own is not moved; another one each time."""
    return torch.Generator().manual_seed(int(SystemBits().stream().words(1)[0] >> np.uint64(1)))
