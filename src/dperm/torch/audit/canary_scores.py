# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Scores of canaries: evidence for membership in the steps of a training run (white box) or in the final model."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
import torch
from torch import Tensor, nn

from dperm.data.arrays import Floats
from dperm.errors import ParameterError
from dperm.torch.audit.arguments import attempted, of_type, trainable
from dperm.torch.audit.canaries import Pairs, TrainingCanaries
from dperm.torch.audit.canary_gradients import ShadowModel, flat_clipped
from dperm.torch.loss_functions import Loss, per_example
from dperm.torch.plan import DPSGDPlan
from dperm.torch.session import PrivateTraining


@dataclass(frozen=True)
class Products:
    """Inner products of a step, with an entry for each canary, in units of the clipping norm.

    Attributes
    ----------
    noisy
        Products of the canaries' clipped gradients with the noisy sum.
    squares
        Squared norms of the canaries' clipped gradients.
    cross
        Products of the canaries' gradients with the gradients of their alternatives; 0 without alternatives.
    """

    noisy: Floats
    squares: Floats
    cross: Floats

    @classmethod
    def of(cls, rows: Tensor, noisy: Tensor, others: Tensor | None) -> Self:
        """Return the products from clipped gradients, one row per canary, and the gradients of their alternatives."""
        rows, noisy = rows.double(), noisy.double()
        cross = rows.new_zeros(len(rows)) if others is None else (rows * others.double()).sum(1)
        return cls((rows @ noisy).numpy(), rows.square().sum(1).numpy(), cross.numpy())

    @classmethod
    def joined(cls, parts: Sequence[Self]) -> Self:
        """Return the products of all canaries, joined from parts."""
        return cls(*(np.concatenate([getattr(part, name) for part in parts]) for name in ("noisy", "squares", "cross")))

    def centred(self, rate: float) -> Self:
        """Return the products without the common contribution of the data to all canaries.

        A canary's gradient g is in the sum with probability q/2, and so is the gradient a of its alternative. The mean
        of <sum, g> is then q (<g, g> + <a, g>) / 2, and the rest of the mean comes from the data.
        """
        expected = rate * (self.squares + self.cross).mean() / 2
        return type(self)(self.noisy - self.noisy.mean() + expected, self.squares, self.cross)


def evidence(products: Products, *, rate: float, scale: float) -> Floats:
    """Return the log-likelihood ratio of each canary between "in the data" and "out", from one step.

    If the gradients of other canaries are orthogonal to the canary's gradient g, the noisy sum along g is N(0, s^2) for
    a canary that is out. For a canary that is in, the sum is shifted by <g, g> with probability q, the rate of the
    Poisson samples. The ratio is 1 - q + q exp((<sum, g> - <g, g> / 2) / s^2). By Neyman and Pearson no score is more
    powerful. For q = 1, its sum over all steps orders canaries like the inner products of Steinke, Nasr & Jagielski
    (2023).
    """
    exponents = (products.noisy - products.squares / 2) / scale**2
    rest = math.log1p(-rate) if rate < 1 else -math.inf
    with np.errstate(invalid="ignore"):  # NaN after divergence is refused at the end
        found: Floats = np.logaddexp(rest, math.log(rate) + exponents)
    return found


class Watch:
    """Observer of a training run with canaries, used as ``if private.step(losses): watch.see(private)``.

    In each step, the observer reads only the parameters and the noisy gradients, which the guarantee of DP-SGD covers
    (T46). It never reads the batches.

    Parameters
    ----------
    plan
        Plan of the training run.
    model
        Model to train. Create the observer before `DPSGDPlan.attach` is called for this model.
    canaries
        Canaries passed to `with_canaries`.
    loss
        See `dperm.torch.fit`.

    Attributes
    ----------
    plan, canaries
        Arguments of the constructor.
    steps_seen
        Number of observed steps.
    """

    def __init__(self, plan: DPSGDPlan, model: nn.Module, *, canaries: TrainingCanaries, loss: Loss) -> None:
        self.plan, self.canaries = of_type("plan", plan, DPSGDPlan), of_type("canaries", canaries, TrainingCanaries)
        self.steps_seen, self._model = 0, trainable(model)
        self._shadow = ShadowModel.of(model, per_example(loss))
        self._trained = {name: value for name, value in model.named_parameters() if value.requires_grad}
        self._values, self._clip_norm = self._current(), float(plan.method.clip_norm)
        self._first = attempted(self._losses, "model and loss must take the canaries' inputs and targets.")
        self._evidence = np.zeros(len(canaries))

    def see(self, private: PrivateTraining) -> None:
        """Observe a step, right after ``private.step`` has returned True and before gradients are set to zero.

        Parameters
        ----------
        private
            The training run.

        Raises
        ------
        ParameterError
            If the parameters have no gradients.
        """
        of_type("private", private, PrivateTraining)
        sides = self._products(self._noisy_sum())
        found = [self._evidence_of(Products.joined(side)) for side in zip(*sides, strict=True)]
        self._evidence += found[0] if len(found) == 1 else found[0] - found[1]
        self._values, self._clip_norm = self._current(), private.clip_norm
        self.steps_seen += 1

    @property
    def white_box(self) -> Floats:
        """Log-likelihood ratio of each canary for membership in the data, summed over all observed steps."""
        return self._evidence.copy()

    @property
    def black_box(self) -> Floats:
        """Decrease of each canary's loss since this observer was created, minus that of its alternative (if any)."""
        return self._first - self._losses()

    def _evidence_of(self, products: Products) -> Floats:
        rate = self.plan.rate
        return evidence(products.centred(rate), rate=rate, scale=self.plan.noise.scale)

    def _products(self, noisy: Tensor) -> Iterator[list[Products]]:
        """Yield the products of some canaries at a time, and of their alternatives."""
        own = self._rows(self.canaries.records)
        if self.canaries.alternatives is None:
            for rows in own:
                yield [Products.of(rows, noisy, None)]
            return
        for rows, others in zip(own, self._rows(self.canaries.alternatives), strict=True):
            yield [Products.of(rows, noisy, others), Products.of(others, noisy, rows)]

    def _rows(self, records: Pairs) -> Iterator[Tensor]:
        """Yield clipped gradients at the parameters before the step, as they enter the sum."""
        for gradients in self._shadow.gradients(self._values, records):
            yield flat_clipped(gradients, self._clip_norm, self.plan.clipping)

    def _noisy_sum(self) -> Tensor:
        """Noisy sum of the step, before its division by the expected sample size, in units of the clipping norm."""
        grads = [value.grad for value in self._trained.values()]
        if any(grad is None for grad in grads):
            raise ParameterError(
                "watch.see must be called right after private.step returned True: there are no gradients.",
                remedy="Set gradients to zero later, or not at all.",
            )
        flat = torch.cat([grad.detach().reshape(-1) for grad in grads if grad is not None])
        return flat * (self.plan.expected_batch_size / self._clip_norm)

    def _current(self) -> dict[str, Tensor]:
        return {name: value.detach().clone() for name, value in self._trained.items()}

    def _losses(self) -> Floats:
        """Losses of the canaries at the current parameters, minus the losses of their alternatives."""
        values, alternatives = self._current(), self.canaries.alternatives
        found: Floats = self._shadow.losses(values, self.canaries.records).numpy()
        return found if alternatives is None else found - self._shadow.losses(values, alternatives).numpy()
