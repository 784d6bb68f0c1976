# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Canaries: records inserted by the auditor; a fair coin flip decides whether each is in the training data (A6).

Canaries are not private: they are made of public constants and describe no person. The auditor's computations on them
are post-processing (T3) of the released model, so a finding may be published with the model. The training data keep the
guarantee of the plan: a canary is one more record.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor

from dperm import checks
from dperm.audit.coins import Canaries as Coins
from dperm.audit.coins import Truths
from dperm.audit.coins import coins as flipped
from dperm.errors import ParameterError
from dperm.noise.simulation import generator

Pairs = tuple[Tensor, Tensor]
LARGEST = float(torch.finfo(torch.float32).max)
LARGEST_CLASSES = 2**31 - 1
MOST_NUMBERS = 2**33
"""Largest number of entries of all inputs together, to limit memory."""
LEAST = 40
"""Smallest number of canaries: with fewer, too few guesses remain to refute anything."""


@dataclass(frozen=True, eq=False)
class TrainingCanaries:
    """Canaries for a PyTorch training run, each included in the data by an independent fair coin flip.

    A canary is an artificial or public record, inserted by an auditor to test a privacy guarantee.

    Parameters
    ----------
    records
        Pair (inputs, targets) of tensors with one canary per row, at least 40 in all. A row must have the shape and
        type of a record of the data set.
    alternatives
        Replacement records, one per canary, for plans under replace_one. The i-th alternative replaces the i-th canary
        if this canary is left out. Under add_remove, pass None: canaries that are left out are not replaced.
    seed
        Seed of the coin flips; None draws a seed from the operating system. The flips themselves cannot be passed,
        because no bound is valid for dependent flips, such as a selection of exactly half of the canaries.

    Attributes
    ----------
    coins
        Coin flips of the canaries, as a `dperm.audit.coins.Canaries` object; `included` holds them as an array.
    """

    records: Pairs
    alternatives: Pairs | None = field(default=None, kw_only=True)
    seed: int | None = field(default=None, kw_only=True)
    coins: Coins = field(init=False, repr=False)

    def __post_init__(self) -> None:
        """Check the records, and draw the coin flips."""
        _check_pair("records", self.records)
        if self.alternatives is not None:
            _check_pair("alternatives", self.alternatives)
            check_alike("alternatives", self.alternatives, self.records)
            if all(torch.equal(one, other) for one, other in zip(self.records, self.alternatives, strict=True)):
                raise ParameterError(
                    argument="alternatives", rule="must differ from records: equal records reveal nothing"
                )
        object.__setattr__(self, "coins", flipped(len(self), self.seed))

    @property
    def included(self) -> Truths:
        """Boolean array; canary i is in the data if ``included[i]`` is True."""
        return self.coins.included

    def __len__(self) -> int:
        """Return the number of all canaries, included or not."""
        return len(self.records[0])

    def inserted(self) -> Pairs:
        """Return the records to add to the training data, as a pair (inputs, targets).

        These are the included canaries and, if there are alternatives, the alternatives of all other canaries.
        """
        chosen = torch.from_numpy(self.included.copy())
        if self.alternatives is None:
            return self.records[0][chosen], self.records[1][chosen]
        inputs, targets = (
            _either(chosen, one, other) for one, other in zip(self.records, self.alternatives, strict=True)
        )
        return inputs, targets


def check_alike(name: str, given: Pairs, expected: Pairs, *, of: str = "records") -> None:
    """Refuse inputs or targets whose shapes or types differ from ``expected``, taken from the argument ``of``."""
    for part, one, other in zip(("inputs", "targets"), given, expected, strict=True):
        if one.shape != other.shape or one.dtype is not other.dtype:
            raise ParameterError(
                argument=name,
                rule=f"must have {part} like those of {of}: shape {tuple(other.shape)} and {other.dtype}",
                got=f"{tuple(one.shape)} and {one.dtype}",
            )


def _check_pair(name: str, pair: object) -> None:
    if not isinstance(pair, tuple) or len(pair) != 2 or not all(isinstance(part, Tensor) for part in pair):
        raise ParameterError(
            argument=name,
            rule="must be a pair (inputs, targets) of tensors with a canary in each row",
            got=checks.shown(pair),
        )
    inputs, targets = pair
    if not inputs.dim() or not targets.dim() or len(inputs) != len(targets):
        raise ParameterError(argument=name, rule="must be a pair (inputs, targets) with as many inputs as targets")
    if len(inputs) < LEAST:
        raise ParameterError(
            argument=name,
            rule=f"must hold at least {LEAST} canaries",
            got=str(len(inputs)),
            remedy="With fewer, too few guesses remain to refute anything. A thousand is a good number.",
        )
    if inputs.is_complex() or targets.is_complex():
        raise ParameterError(argument=name, rule="must be real numbers", got="complex ones")
    if not all(bool(part.isfinite().all()) for part in pair):
        raise ParameterError(
            argument=name, rule="must be finite: a row with NaN or infinity adds nothing to a private training"
        )


def _either(chosen: Tensor, one: Tensor, other: Tensor) -> Tensor:
    return torch.where(chosen.reshape(-1, *[1] * (one.dim() - 1)), one, other)


def one_hot(
    count: int, target: Tensor, *, shape: Sequence[int], scale: float = 1.0, seed: int | None = None
) -> TrainingCanaries:
    """Return canaries with one nonzero feature each, feature i for canary i.

    If the first layer of the model is linear, the gradients of its weights are orthogonal for different canaries, so
    the canaries do not interfere with each other. With a large ``scale``, their gradients reach the clipping norm. Such
    canaries are easy to detect, so the audit is powerful. Under replace_one, build `TrainingCanaries` yourself from
    these records and pass ``alternatives``.

    Parameters
    ----------
    count
        Number of canaries, at least 40 and at most the number of features.
    target
        Target of all canaries, in the type and shape of one target of the data set.
    shape
        Shape of the input of one record.
    scale
        Value of the nonzero feature, positive.
    seed
        Seed of the coin flips that decide which canaries are included; None draws a seed from the operating system.

    Returns
    -------
    TrainingCanaries
        The canaries.

    Raises
    ------
    ParameterError
        If there are more canaries than features, or an argument is invalid.
    """
    features = math.prod(_sizes(shape))
    scale = checks.positive("scale", scale, "It is the value of the feature.")
    if scale > LARGEST:
        raise ParameterError(
            argument="scale",
            rule=f"must be at most {LARGEST:g}, the largest number in single precision",
            got=str(scale),
        )
    checks.count("count", count, "Each canary needs its own feature.", most=features)
    _check_size(count, shape)
    inputs = torch.zeros(count, features)
    inputs[range(count), range(count)] = scale
    return TrainingCanaries((inputs.reshape(count, *shape), _repeated(target, count)), seed=seed)


def random_canaries(count: int, classes: int, *, shape: Sequence[int], seed: int | None = None) -> TrainingCanaries:
    """Return canaries with Gaussian inputs and random classes; a model can only memorize such records.

    Parameters
    ----------
    count
        Number of canaries, at least 40.
    classes
        Number of classes, at least 2; targets are 0, ..., classes - 1.
    shape
        Shape of the input of one record.
    seed
        Seed of the inputs, the classes and the coin flips; None draws a seed from the operating system.

    Returns
    -------
    TrainingCanaries
        The canaries.

    Raises
    ------
    ParameterError
        If an argument is out of range.
    """
    drawn = generator(seed, "random canaries")
    _check_size(count, shape)
    inputs = drawn.standard_normal((count, *_sizes(shape)), dtype=np.float32)
    targets = drawn.integers(0, checks.count("classes", classes, least=2), size=count)
    return TrainingCanaries((torch.from_numpy(inputs), torch.from_numpy(targets)), seed=int(drawn.integers(2**53)))


def mislabelled_canaries(inputs: Tensor, labels: Tensor, *, classes: int, seed: int | None = None) -> TrainingCanaries:
    """Return canaries made from public examples, each with a random wrong class.

    Parameters
    ----------
    inputs, labels
        Public or invented examples, at least 40: a tensor with one input per row, and a tensor with their class labels.
        **Never** use private examples, because the findings of an audit are published.
    classes
        Number of classes, at least 2; labels are 0, ..., classes - 1.
    seed
        Seed of the classes and the coin flips; None draws a seed from the operating system.

    Returns
    -------
    TrainingCanaries
        The canaries.

    Raises
    ------
    ParameterError
        If the examples or the number of classes are invalid.
    """
    most = checks.count("classes", classes, least=2, most=LARGEST_CLASSES)
    is_whole = isinstance(labels, Tensor) and not labels.is_floating_point() and labels.dtype is not torch.bool
    if not is_whole or labels.dim() != 1 or not bool(((labels >= 0) & (labels < most)).all()):
        raise ParameterError(
            argument="labels", rule=f"must be whole numbers from 0 to {most - 1}, one for each of inputs"
        )
    if most - 1 > torch.iinfo(labels.dtype).max:
        raise ParameterError(
            argument="classes", rule="must fit into the type of labels", got=f"{most} for {labels.dtype}"
        )
    drawn = generator(seed, "wrong labels of canaries")
    shifts = torch.from_numpy(drawn.integers(1, most, size=len(labels)))
    wrong = ((labels.long() + shifts) % most).to(labels.dtype)
    return TrainingCanaries((inputs, wrong), seed=int(drawn.integers(2**53)))


def _check_size(count: int, shape: Sequence[int]) -> None:
    if checks.count("count", count) * math.prod(_sizes(shape)) > MOST_NUMBERS:
        raise ParameterError(
            f"count canaries of this shape must have at most {MOST_NUMBERS:,} entries.", remedy="Make fewer."
        )


def _sizes(shape: Sequence[int]) -> tuple[int, ...]:
    if not isinstance(shape, tuple | list):  # torch.Size is a tuple
        raise ParameterError(
            argument="shape", rule="must be a tuple, the shape of the input of one record", got=checks.shown(shape)
        )
    return tuple(checks.count("shape", size, "It is the shape of the input of one record.") for size in shape)


def _repeated(target: Tensor, count: int) -> Tensor:
    if not isinstance(target, Tensor):
        raise ParameterError(
            argument="target", rule="must be a tensor, such as torch.tensor(0)", got=checks.shown(target)
        )
    return target.expand(count, *target.shape).clone()
