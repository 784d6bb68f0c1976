# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Scores of canaries: how much of each one a training shows, in its steps and in the model at its end."""

from collections.abc import Iterator

import numpy as np
import torch
from torch import Tensor, nn

from dperm.errors import ParameterError
from dperm.torch.audit.arguments import attempted, of_type, trainable
from dperm.torch.audit.canaries import Canaries, Pairs
from dperm.torch.audit.evidence import Floats, Products, evidence
from dperm.torch.audit.gradients import Shadow, flat_clipped
from dperm.torch.loss_functions import Loss, per_example
from dperm.torch.plan import DPSGDPlan
from dperm.torch.session import PrivateTraining


class Watch:
    """Follows the canaries through a training: ``if private.step(losses): watch.see(private)``.

    It reads the parameters and the noisy gradients of each step alone, which is what the guarantee of DP-SGD covers
    (T46); the batches it does not see.

    Parameters
    ----------
    plan
        What is run.
    model
        The model, before it is attached.
    canaries
        Those in the data set, put there by `joined`.
    loss
        As for `dperm.torch.fit`.

    Attributes
    ----------
    plan, canaries
        What was given.
    steps_seen
        Steps that were taken in.
    """

    def __init__(self, plan: DPSGDPlan, model: nn.Module, *, canaries: Canaries, loss: Loss) -> None:
        self.plan, self.canaries = of_type("plan", plan, DPSGDPlan), of_type("canaries", canaries, Canaries)
        self.steps_seen, self._model = 0, trainable(model)
        self._shadow = Shadow.of(model, per_example(loss))
        self._trained = {name: value for name, value in model.named_parameters() if value.requires_grad}
        self._values, self._clip_norm = self._current(), float(plan.method.clip_norm)
        self._first = attempted(self._losses, "model and loss must take the canaries' inputs and targets.")
        self._evidence = np.zeros(len(canaries))

    def see(self, private: PrivateTraining) -> None:
        """Take in a step, right after ``private.step`` returned True and before gradients are set to zero."""
        of_type("private", private, PrivateTraining)
        sides = self._products(self._noisy_sum())
        told = [self._told(Products.joined(side)) for side in zip(*sides, strict=True)]
        self._evidence += told[0] if len(told) == 1 else told[0] - told[1]
        self._values, self._clip_norm = self._current(), private.clip_norm
        self.steps_seen += 1

    @property
    def white_box(self) -> Floats:
        """For each canary the sum over all steps of what their noisy gradients say for its being in."""
        return self._evidence.copy()

    @property
    def black_box(self) -> Floats:
        """For each canary how far its loss fell from the first to the present model: more than its alternative's."""
        return self._first - self._losses()

    def _told(self, products: Products) -> Floats:
        rate = self.plan.rate
        return evidence(products.centred(rate), rate=rate, scale=self.plan.noise.scale)

    def _products(self, noisy: Tensor) -> Iterator[list[Products]]:
        """For some canaries at a time the products of their gradients, and those of their alternatives'."""
        own = self._rows(self.canaries.records)
        if self.canaries.alternatives is None:
            for rows in own:
                yield [Products.of(rows, noisy, None)]
            return
        for rows, others in zip(own, self._rows(self.canaries.alternatives), strict=True):
            yield [Products.of(rows, noisy, others), Products.of(others, noisy, rows)]

    def _rows(self, records: Pairs) -> Iterator[Tensor]:
        """Clipped gradients at the parameters before the step, as they stand in the sum."""
        for gradients in self._shadow.gradients(self._values, records):
            yield flat_clipped(gradients, self._clip_norm, self.plan.clipping)

    def _noisy_sum(self) -> Tensor:
        """What the step divided by the expected size of a sample, in units of the clip norm."""
        grads = [value.grad for value in self._trained.values()]
        if any(grad is None for grad in grads):
            raise ParameterError(
                "watch.see must be called right after private.step returned True: there are no gradients. Set them to "
                "zero later, or not at all."
            )
        flat = torch.cat([grad.detach().reshape(-1) for grad in grads if grad is not None])
        return flat * (self.plan.expected_batch_size / self._clip_norm)

    def _current(self) -> dict[str, Tensor]:
        return {name: value.detach().clone() for name, value in self._trained.items()}

    def _losses(self) -> Floats:
        """Losses of the canaries, minus those of their alternatives, at the present parameters."""
        values, alternatives = self._current(), self.canaries.alternatives
        found: Floats = self._shadow.losses(values, self.canaries.records).numpy()
        return found if alternatives is None else found - self._shadow.losses(values, alternatives).numpy()
