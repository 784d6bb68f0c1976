# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Sources of records by position: tensors, or a map-style data set read through PyTorch's loader."""

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


class RecordSource(Protocol):
    """Private records, accessed by position."""

    @property
    def count(self) -> int:
        """Number of records; private under add/remove."""

    def padding(self, rows: int) -> Batch:
        """Return a batch of ``rows`` rows of zeros, in the shapes and types of a record."""

    def batches(self, positions: Iterator[Integers]) -> Iterator[Batch]:
        """Yield the batch of each list of positions; no list may be empty."""


@dataclass(frozen=True)
class TensorRecords:
    """Records in the rows of tensors."""

    tensors: tuple[Tensor, ...]

    @property
    def count(self) -> int:
        """Number of records; private under add/remove."""
        return len(self.tensors[0])

    def padding(self, rows: int) -> Batch:
        """Return a list of zero tensors with ``rows`` rows."""
        return [values.new_zeros(rows, *values.shape[1:]) for values in self.tensors]

    def batches(self, positions: Iterator[Integers]) -> Iterator[Batch]:
        """Yield a list of tensors for each list of positions."""
        for places in positions:
            rows = torch.from_numpy(places)
            yield [values[rows] for values in self.tensors]


@dataclass(frozen=True)
class LoadedRecords:
    """Records of a map-style data set, read by ``workers`` processes and joined into batches by ``collate``."""

    dataset: Any
    collate: Collate
    workers: int

    @property
    def count(self) -> int:
        """Number of records; private under add/remove."""
        return len(self.dataset)

    def padding(self, rows: int) -> Batch:
        """Return ``rows`` copies of the first record, with zeros in all tensors."""
        batch = self.collate([self.dataset[0]] * rows)
        return pytree.tree_map_only(Tensor, torch.zeros_like, batch)

    def batches(self, positions: Iterator[Integers]) -> Iterator[Batch]:
        """Yield batches from a loader with these positions. The loader reads ahead, which reveals nothing."""
        lists: Any = (places.tolist() for places in positions)
        yield from DataLoader(
            self.dataset, batch_sampler=lists, collate_fn=self.collate, num_workers=self.workers, generator=_unused()
        )


def records_of(dataset: object, *, collate: Collate | None = None, workers: int = 0) -> RecordSource:
    """Return the source of records for a data set.

    Parameters
    ----------
    dataset
        A tuple of tensors with the records in their first dimension, a `TensorDataset`, or a map-style data set.
    collate
        Function from a list of records to a batch; None uses PyTorch's default.
    workers
        Number of processes of the loader; 0 reads in this process.

    Raises
    ------
    ParameterError
        If ``dataset`` is a loader (its batches would not be Poisson samples), a stream, a list or an array.
    DataError
        If the data set is empty, or its tensors differ in length.
    """
    if isinstance(dataset, DataLoader):
        raise ParameterError(
            argument="dataset",
            rule="must be the data set itself",
            got="a DataLoader",
            remedy="Shuffled or fixed batches are not Poisson samples, and have other, weaker guarantees (T27): dperm "
            "draws the batches. Pass loader.dataset, with collate_fn=loader.collate_fn and "
            "num_workers=loader.num_workers if you need them.",
        )
    if isinstance(dataset, TensorDataset):
        dataset = dataset.tensors if type(dataset) is TensorDataset else dataset
    if isinstance(dataset, list) and dataset and all(isinstance(part, Tensor) for part in dataset):
        raise ParameterError(
            argument="dataset",
            rule="must not be a list of tensors: they could be records or columns",
            remedy="Pass a tuple of tensors with the records in their first dimension, or a TensorDataset of one "
            "tensor, torch.stack(dataset).",
        )
    if isinstance(dataset, tuple) and any(isinstance(part, np.ndarray) for part in dataset):
        raise ParameterError(
            argument="dataset",
            rule="must be a tuple of tensors",
            got="arrays",
            remedy="Use torch.from_numpy for each of them.",
        )
    if isinstance(dataset, tuple) and dataset and all(isinstance(part, Tensor) for part in dataset):
        return _of_tensors(tuple(dataset)) if collate is None else _loaded(TensorDataset(*dataset), collate, workers)
    if isinstance(dataset, IterableDataset) or not all(hasattr(dataset, name) for name in ("__getitem__", "__len__")):
        raise ParameterError(
            argument="dataset",
            rule="must be a map-style data set (with __len__ and __getitem__), or a tuple of tensors of equal length",
            got=shown(type(dataset).__name__),
            remedy="A stream cannot be sampled: read it into memory first.",
        )
    return _loaded(dataset, collate or default_collate, workers)


def _loaded(dataset: Any, collate: Collate, workers: int) -> RecordSource:
    if not len(dataset):
        raise DataError(
            argument="dataset",
            rule="must hold at least one record",
            remedy="The shape of the first record is taken as public.",
        )
    return LoadedRecords(dataset, collate, workers)


def _of_tensors(tensors: tuple[Tensor, ...]) -> RecordSource:
    if any(values.dim() == 0 or len(values) != len(tensors[0]) for values in tensors):
        raise DataError(argument="dataset", rule="must hold tensors with equally many records in their first dimension")
    return TensorRecords(tuple(values.detach() for values in tensors))


def _unused() -> torch.Generator:
    """Return a fresh generator for the seeds of the loader's workers; torch's own generator stays unchanged."""
    return torch.Generator().manual_seed(int(SystemBits().stream().words(1)[0] >> np.uint64(1)))
