# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Canaries: the auditor's own records, each of which a fair coin puts into the training data or leaves out (A6).

Nothing of them is private: they are made of public constants, and belong to nobody. What the auditor computes from them
is post-processing (T3) of what the training releases, so that a finding may be published with the model. Beside them
the training data keep the guarantee of the plan: a canary is one more record.
"""

from dataclasses import dataclass, field

import torch
from torch import Tensor

from dperm import checks
from dperm.audit.coins import Canaries as Coins
from dperm.audit.coins import Truths
from dperm.audit.coins import coins as flipped
from dperm.errors import ParameterError

Pairs = tuple[Tensor, Tensor]
LEAST = 40
"""Canaries of an audit: of fewer, too few are guessed to refute anything."""


@dataclass(frozen=True, eq=False)
class Canaries:
    """Records that are in the training data or not, by an independent fair coin each.

    Parameters
    ----------
    records
        Pair (inputs, targets) of tensors with a canary in each row, in the shapes and types of the data set's records.
    alternatives
        As many records, of which the i-th takes the place of the i-th canary where that is left out: for plans under
        replace_one, whose data sets are all of one size. None: a canary that is left out is not replaced, for plans
        under add_remove.
    seed
        Of the coins; None: from the operating system. The coins themselves cannot be given: if they depend on each
        other, as in a random half of exactly m/2 canaries, no bound is valid.

    Attributes
    ----------
    coins
        Which of them are in the data.
    """

    records: Pairs
    alternatives: Pairs | None = field(default=None, kw_only=True)
    seed: int | None = field(default=None, kw_only=True)
    coins: Coins = field(init=False, repr=False)

    def __post_init__(self) -> None:
        """Check the records, and flip the coins."""
        _check_pair("records", self.records)
        if self.alternatives is not None:
            _check_pair("alternatives", self.alternatives)
            check_alike("alternatives", self.alternatives, self.records)
            if all(torch.equal(one, other) for one, other in zip(self.records, self.alternatives, strict=True)):
                raise ParameterError("alternatives must differ from records: the same records show nothing.")
        object.__setattr__(self, "coins", flipped(len(self), self.seed))

    @property
    def included(self) -> Truths:
        """Canary i is in the data iff ``included[i]``."""
        return self.coins.included

    def __len__(self) -> int:
        """How many there are, in the data or not."""
        return len(self.records[0])

    def inserted(self) -> Pairs:
        """What is put into the training data: canaries that are in, and alternatives of those that are not."""
        chosen = torch.from_numpy(self.included.copy())
        if self.alternatives is None:
            return self.records[0][chosen], self.records[1][chosen]
        inputs, targets = (
            _either(chosen, one, other) for one, other in zip(self.records, self.alternatives, strict=True)
        )
        return inputs, targets


def check_alike(name: str, given: Pairs, expected: Pairs, *, of: str = "records") -> None:
    """Refuse inputs or targets of another shape or type than the ``expected`` ones, those of the argument ``of``."""
    for part, one, other in zip(("inputs", "targets"), given, expected, strict=True):
        if one.shape != other.shape or one.dtype is not other.dtype:
            raise ParameterError(
                f"{name} must have {part} like those of {of}: shape {tuple(other.shape)} and {other.dtype}, got "
                f"{tuple(one.shape)} and {one.dtype}."
            )


def _check_pair(name: str, pair: object) -> None:
    if not isinstance(pair, tuple) or len(pair) != 2 or not all(isinstance(part, Tensor) for part in pair):
        raise ParameterError(
            f"{name} must be a pair (inputs, targets) of tensors with a canary in each row, got {checks.shown(pair)}."
        )
    inputs, targets = pair
    if not inputs.dim() or not targets.dim() or len(inputs) != len(targets):
        raise ParameterError(f"{name} must be a pair (inputs, targets) with as many inputs as targets.")
    if len(inputs) < LEAST:
        raise ParameterError(
            f"{name} must hold at least {LEAST} canaries, got {len(inputs)}: of fewer, too few are guessed to refute "
            f"anything. A thousand is a good number."
        )
    if inputs.is_complex() or targets.is_complex():
        raise ParameterError(f"{name} must be real numbers, got complex ones.")
    if not all(bool(part.isfinite().all()) for part in pair):
        raise ParameterError(f"{name} must be finite: a row with NaN or infinity adds nothing to a private training.")


def _either(chosen: Tensor, one: Tensor, other: Tensor) -> Tensor:
    return torch.where(chosen.reshape(-1, *[1] * (one.dim() - 1)), one, other)
