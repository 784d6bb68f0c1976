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
    checks.count("count", count, "Each of them needs a feature of its own.", most=features)
    inputs = torch.zeros(count, features)
    inputs[range(count), range(count)] = checks.positive("scale", scale, "It is the value of the feature.")
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
    drawn = generator(seed)
    checks.count("count", count)
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
    most = checks.count("classes", classes, least=2)
    if labels.dim() != 1 or labels.is_floating_point() or not bool(((labels >= 0) & (labels < most)).all()):
        raise ParameterError(f"labels must be whole numbers from 0 to {most - 1}, one for each of inputs.")
    drawn = generator(seed)
    shifts = torch.from_numpy(drawn.integers(1, most, size=len(labels))).to(labels.dtype)
    return Canaries((inputs, (labels + shifts) % most), seed=int(drawn.integers(2**53)))


def _sizes(shape: Sequence[int]) -> tuple[int, ...]:
    return tuple(checks.count("shape", size, "It is the shape of the input of one record.") for size in shape)


def _repeated(target: Tensor, count: int) -> Tensor:
    if not isinstance(target, Tensor):
        raise ParameterError(f"target must be a tensor, such as torch.tensor(0), got {checks.shown(target)}.")
    return target.expand(count, *target.shape).clone()
