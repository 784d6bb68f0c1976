# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Training by DP-SVRG: noisy gradients of all records at snapshots, noisy clipped differences in steps (T46)."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from dperm.accounting.budget import Budget
from dperm.mechanisms.run import prepare_release
from dperm.noise.bits import Bits, Stream
from dperm.privacy import Release
from dperm.torch.adam import tell_noise
from dperm.torch.gradients.clipping import Clipping
from dperm.torch.gradients.embedding_factors import unite
from dperm.torch.gradients.per_example import PerExampleGradients, Sums, sum_weighted, weigh
from dperm.torch.loss_functions import Loss, PerExample, check_loss, losses_of, per_example
from dperm.torch.model_checks.check import check_losses
from dperm.torch.noise import StepNoise
from dperm.torch.optimizers import checked_optimizer, clear_others, private_steps
from dperm.torch.options import Options
from dperm.torch.progress import check_progress, step_progress
from dperm.torch.records import Batch
from dperm.torch.rehearsal import Rehearsal
from dperm.torch.released_model import model_digest, model_facts, warn_of_divergence
from dperm.torch.sampling import Sampler
from dperm.torch.single_process import check_single_process
from dperm.torch.training_data import TrainingData, training_data

if TYPE_CHECKING:
    from dperm.torch.svrg import DPSVRGPlan


REHEARSED = 32
"""Largest number of records of a rehearsal."""


def train(
    plan: "DPSVRGPlan",
    model: nn.Module,
    optimizer: Optimizer,
    dataset: object,
    loss: Loss,
    *,
    budget: Budget | None,
    options: Options,
    after_step: Callable[[int], None] | None,
    bits: Bits | None,
) -> Release[nn.Module]:
    """Run ``plan`` in the order of every release: check, charge, draw noise, commit.

    *Guarantees.* The released model satisfies the plan's goal. All checks precede the charge.
    """
    check_single_process(model)
    each, stepped = per_example(loss), checked_optimizer(optimizer, model)

    def checked() -> TrainingData:
        data = training_data(plan, model, dataset, options)
        check_loss(model, each, data.records)
        if options.rehearsal:
            _rehearse(plan, model, each, data)
        return data

    facts = plan.with_public(model_facts(model))
    with check_progress(options.progress):
        beginning = prepare_release(facts, checked, budget=budget, bits=bits)
    with (
        beginning.charged(request_id=options.request_id) as run,
        PerExampleGradients(model, sites=run.value.sites) as gradients,
        private_steps(stepped) as allowed,
        step_progress(plan.steps, options.progress) as progress,
    ):
        descent = NoisyDirections(plan, gradients, each, run.value, run.stream)
        for step, direction in enumerate(descent.directions()):
            clear_others(stepped, {id(parameter) for parameter in descent.parameters})
            for parameter, grad in zip(descent.parameters, direction, strict=True):
                parameter.grad = grad.to(parameter)
            tell_noise(stepped, *plan.deviations)
            with allowed():
                stepped.step()
            progress.advance()
            if after_step is not None:
                after_step(step + 1)
        release = run.released(model, model_digest)
    warn_of_divergence(model, beginning.value.inputs)
    return release


def _rehearse(plan: "DPSVRGPlan", model: nn.Module, loss: PerExample, data: TrainingData) -> None:
    """Refuse a loss that mixes records, tested on the first records of the data set."""
    named = [(name, value) for name, value in model.named_parameters() if value.requires_grad]
    rows = min(data.records.count, plan.method.physical_batch_size, REHEARSED)
    batch = next(iter(data.records.batches(iter([np.arange(rows, dtype=np.int64)]))))
    with PerExampleGradients(model, sites=data.sites) as gradients:
        rehearsal = Rehearsal(gradients, named, plan.method.clip_norm)
        if rehearsal.is_due(0, batch, rows):
            with rehearsal.quiet():
                for changed, _ in rehearsal.batches(batch, rows, 0):
                    rehearsal.note(losses_of(model, loss, changed))


class NoisyDirections:
    """Noisy directions of a run, one for each step; no other code reads the records after the charge."""

    def __init__(
        self, plan: "DPSVRGPlan", gradients: PerExampleGradients, loss: PerExample, data: TrainingData, stream: Stream
    ) -> None:
        self.plan, self.gradients, self.loss, self.data, self.stream = plan, gradients, loss, data, stream
        self.parameters = [value for value in gradients.model.parameters() if value.requires_grad]
        self._checked = False

    def directions(self) -> Iterator[list[Tensor]]:
        """Yield the direction of each step; the caller updates the parameters in between."""
        plan, method = self.plan, self.plan.method
        sampler = Sampler(self.data.records, self.data.groups, plan.rate, method.physical_batch_size, self.stream)
        done, sums, anchor = 0, self._zeros(), self._values()
        full = self._snapshot()
        for part in sampler.batches(plan.steps):
            if part.rows:
                self._add(sums, self.difference(part.batch, anchor))
            if not part.last:
                continue
            inner = self._noisy(plan.noise, sums, method.clip_norm / (plan.rate * plan.n))
            yield [here + there for here, there in zip(inner, full, strict=True)]
            done, sums = done + 1, self._zeros()
            if done % plan.interval == 0 and done < plan.steps:
                anchor, full = self._values(), self._snapshot()

    def difference(self, batch: Batch, anchor: Sequence[Tensor]) -> Sums:
        """Return the sum of clipped gradient differences between the current parameters and ``anchor``.

        The result is in units of the clipping norm. The factors of both points are treated as factors of one parameter
        that is used twice, with losses times -1 at the anchor. So each example has one vector, one norm and one weight.
        Norms of differences may cancel, so everything is in double precision.
        """
        with torch.random.fork_rng():  # the same dropout masks at both points
            here = dict(self.gradients.factors(self._losses(batch), double=True))
        with moved(self.parameters, anchor):
            there = dict(self.gradients.factors(-self._losses(batch), double=True))
        with torch.no_grad():
            both = [
                (value, unite([found[value] for found in (here, there) if value in found]))
                for value in self.parameters
                if value in here or value in there
            ]
            norm = self.plan.method.clip_norm
            return dict(sum_weighted(weigh(both, {}, clip_norm=norm, clipping=Clipping.FLAT, double=True)))

    def _snapshot(self) -> list[Tensor]:
        """Noisy mean of the clipped gradients of all records at the current parameters."""
        plan, method, sums = self.plan, self.plan.method, self._zeros()
        places = np.arange(self.data.records.count, dtype=np.int64)
        size = method.physical_batch_size
        for batch in self.data.records.batches(places[at : at + size] for at in range(0, len(places), size)):
            losses = self._losses(batch)
            self._add(sums, self.gradients.clipped_sum(losses, clip_norm=method.snapshot_clip_norm, double=True))
        return self._noisy(plan.snapshot_noise, sums, method.snapshot_clip_norm / plan.n)

    def _losses(self, batch: Batch) -> Tensor:
        self.gradients.forget()
        losses = losses_of(self.gradients.model, self.loss, batch)
        self._checked = self._checked or check_losses(losses, self.gradients)
        return losses

    def _noisy(self, noise: StepNoise, sums: Sums, factor: float) -> list[Tensor]:
        noisy = noise.add([sums[value] for value in self.parameters], self.stream)
        return [total * factor for total in noisy]

    def _zeros(self) -> Sums:
        return {value: torch.zeros_like(value, dtype=torch.float64) for value in self.parameters}

    def _values(self) -> list[Tensor]:
        return [value.detach().clone() for value in self.parameters]

    @staticmethod
    def _add(sums: Sums, more: Sums) -> None:
        for parameter, total in more.items():
            sums[parameter] += total


@contextmanager
def moved(parameters: Sequence[nn.Parameter], values: Sequence[Tensor]) -> Iterator[Any]:
    """Let the parameters hold ``values`` inside the block, without copying."""
    held = [parameter.data for parameter in parameters]
    try:
        for parameter, value in zip(parameters, values, strict=True):
            parameter.data = value
        yield
    finally:
        for parameter, own in zip(parameters, held, strict=True):
            parameter.data = own
