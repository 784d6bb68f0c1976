# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Trials: the inputs and parameter values used to test a model.

A model whose last layer is zero, or whose branches are scaled by zero, hides its earlier layers. A model that sorts by
length does not sort equal lengths. So there are two trials: the current parameters on inputs of one size, and other
parameters of a fixed pattern on rows of different sizes. A model that cannot run in the second trial is not refused for
this reason.
"""

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from torch import Tensor, nn
from torch.utils._pytree import tree_leaves

from dperm.torch.model_checks.model_state import reseed
from dperm.torch.model_checks.synthetic_inputs import Examples, pattern

RANGES = ((1, 4), (1, 3), (1, 2), (0, 2), (0, 1), (1, 1))
"""Smallest integer and number of integers, tried in this order: different lengths first, then indices."""
LARGEST = 5
"""Examples in the run for testing whether a trial is possible."""


@dataclass(frozen=True)
class Trial:
    """Examples for the model, and parameter values for the run.

    Attributes
    ----------
    examples, others
        The batch, and replacements for one of its rows.
    values
        Values of all parameters; empty for the current values.
    """

    examples: Examples
    others: tuple[Examples, ...] = ()
    values: tuple[Tensor, ...] = ()

    @property
    def replaces_parameters(self) -> bool:
        """Whether the trial uses other parameter values than the model."""
        return bool(self.values)

    @contextmanager
    def applied_to(self, model: nn.Module) -> Iterator[None]:
        """Give the model the parameter values of the trial inside the block."""
        if not self.replaces_parameters:
            yield
            return
        kept = [(parameter, parameter.data) for parameter in model.parameters()]
        try:
            for (parameter, _), values in zip(kept, self.values, strict=True):
                parameter.data = values
            yield
        finally:
            for parameter, values in kept:
                parameter.data = values


def trials(model: nn.Module, examples: Examples) -> Sequence[Trial]:
    """Return the trials of a model for ``examples``. Use only inside `preserve_state`."""
    varied = _varied(model, examples)
    first = Trial(examples, () if varied is None else (varied,))
    values = tuple(_trial_values(parameter, number) for number, parameter in enumerate(model.parameters()))
    possible = [Trial(examples if varied is None else varied, (examples,), values)]
    if varied is not None:
        possible += [Trial(examples, (varied,), values), Trial(varied, (examples,))]
    second = next((trial for trial in possible if _runs(model, trial)), None)
    return [first] if second is None else [first, second]


def _varied(model: nn.Module, examples: Examples) -> Examples | None:
    """Return rows of different sizes on which the model runs, or None."""
    if examples.public:
        return None
    tried = (Examples(examples.inputs, integers=count, lowest=low, varied=True) for low, count in RANGES)
    return next((one for one in tried if _runs(model, Trial(one))), None)


def _runs(model: nn.Module, trial: Trial) -> bool:
    """Return whether the model runs in a trial and returns a finite value."""
    try:
        with trial.applied_to(model):
            reseed()
            args, kwargs = trial.examples.batch(LARGEST)
            found = [leaf for leaf in tree_leaves(model(*args, **kwargs)) if isinstance(leaf, Tensor)]
        return all(bool(leaf.isfinite().any()) for leaf in found if leaf.requires_grad)
    except Exception:  # a forward pass may raise any exception
        return False


def _trial_values(parameter: nn.Parameter, number: int) -> Tensor:
    """Return values in place of a parameter: matrices preserve the scale of activations, and vectors have no zero."""
    if not parameter.is_floating_point():
        return parameter.data
    values = pattern(tuple(parameter.shape), parameter, shift=number + 1)
    if parameter.dim() < 2:
        return 0.75 + 0.25 * values
    return values.mul_(math.sqrt(3 * len(parameter) / max(parameter.numel(), 1)))
