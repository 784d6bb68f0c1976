# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Canaries from public constants: one-hot, random and mislabelled records."""

import math
from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from dperm import checks
from dperm.errors import ParameterError
from dperm.noise.simulation import generator
from dperm.torch.audit.canaries import Canaries

LARGEST = float(torch.finfo(torch.float32).max)
LARGEST_CLASSES = 2**31 - 1
MOST_NUMBERS = 2**33
"""Inputs of more numbers do not fit into the memory of anybody."""


def one_hot(
    count: int, target: Tensor, *, shape: Sequence[int], scale: float = 1.0, seed: int | None = None
) -> Canaries:
    """Canary i has one feature, the i-th, equal to ``scale``: in linear layers their gradients are orthogonal.

    That is the worst case of the guarantee: the other canaries do not disturb, and a large ``scale`` makes gradients as
    long as the clip norm. Under replace_one they need ``alternatives``: make `Canaries` of the same records.

    Parameters
    ----------
    count
        How many; at most as many as there are features.
    target
        The target of each, as one record of the data set has it.
    shape
        Of the input of one record.
    scale
        The feature.
    seed
        Of the coins.
    """
    features = math.prod(_sizes(shape))
    scale = checks.positive("scale", scale, "It is the value of the feature.")
    if scale > LARGEST:
        raise ParameterError(f"scale must be at most {LARGEST:g}, the largest number in single precision, got {scale}.")
    checks.count("count", count, "Each of them needs a feature of its own.", most=features)
    _check_size(count, shape)
    inputs = torch.zeros(count, features)
    inputs[range(count), range(count)] = scale
    return Canaries((inputs.reshape(count, *shape), _repeated(target, count)), seed=seed)


def random_canaries(count: int, classes: int, *, shape: Sequence[int], seed: int | None = None) -> Canaries:
    """Inputs of Gaussian noise with random classes: hard to learn but by heart.

    Parameters
    ----------
    count
        How many.
    classes
        Number of classes; targets are 0, ..., classes - 1.
    shape
        Of the input of one record.
    seed
        Of inputs, classes and coins.
    """
    drawn = generator(seed, "random canaries")
    _check_size(count, shape)
    inputs = drawn.standard_normal((count, *_sizes(shape)), dtype=np.float32)
    targets = drawn.integers(0, checks.count("classes", classes, least=2), size=count)
    return Canaries((torch.from_numpy(inputs), torch.from_numpy(targets)), seed=int(drawn.integers(2**53)))


def mislabelled(inputs: Tensor, labels: Tensor, *, classes: int, seed: int | None = None) -> Canaries:
    """Public examples, each with another class than its own, at random.

    Parameters
    ----------
    inputs, labels
        Public or invented examples, **never** private ones: an audit publishes what it finds out about them.
    classes
        Number of classes; labels are 0, ..., classes - 1.
    seed
        Of classes and coins.
    """
    most = checks.count("classes", classes, least=2, most=LARGEST_CLASSES)
    is_whole = isinstance(labels, Tensor) and not labels.is_floating_point() and labels.dtype is not torch.bool
    if not is_whole or labels.dim() != 1 or not bool(((labels >= 0) & (labels < most)).all()):
        raise ParameterError(f"labels must be whole numbers from 0 to {most - 1}, one for each of inputs.")
    if most - 1 > torch.iinfo(labels.dtype).max:
        raise ParameterError(f"classes must fit into the type of labels, got {most} for {labels.dtype}.")
    drawn = generator(seed, "wrong labels of canaries")
    shifts = torch.from_numpy(drawn.integers(1, most, size=len(labels)))
    wrong = ((labels.long() + shifts) % most).to(labels.dtype)
    return Canaries((inputs, wrong), seed=int(drawn.integers(2**53)))


def _check_size(count: int, shape: Sequence[int]) -> None:
    if checks.count("count", count) * math.prod(_sizes(shape)) > MOST_NUMBERS:
        raise ParameterError(f"count canaries of this shape must be at most {MOST_NUMBERS:,} numbers. Make fewer.")


def _sizes(shape: Sequence[int]) -> tuple[int, ...]:
    if not isinstance(shape, tuple | list):  # torch.Size is a tuple
        raise ParameterError(f"shape must be a tuple, that of the input of one record, got {checks.shown(shape)}.")
    return tuple(checks.count("shape", size, "It is the shape of the input of one record.") for size in shape)


def _repeated(target: Tensor, count: int) -> Tensor:
    if not isinstance(target, Tensor):
        raise ParameterError(f"target must be a tensor, such as torch.tensor(0), got {checks.shown(target)}.")
    return target.expand(count, *target.shape).clone()
