# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""A run of DP-SVRG: snapshots of all records, steps along clipped differences, noise on both (T46)."""

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
from dperm.torch.digest import model_digest
from dperm.torch.divergence import warn_of_divergence
from dperm.torch.gradients.clipping import Clipping
from dperm.torch.gradients.embedding_factors import unite
from dperm.torch.gradients.per_example import PerExampleGradients, Sums, sum_weighted, weigh
from dperm.torch.loss_functions import Loss, PerExample, check_loss, losses_of, per_example
from dperm.torch.model_checks.check import check_losses
from dperm.torch.model_facts import model_facts
from dperm.torch.noise import StepNoise
from dperm.torch.options import Options
from dperm.torch.progress import check_progress, step_progress
from dperm.torch.readiness import Ready, ready
from dperm.torch.records import Batch
from dperm.torch.rehearsal import Rehearsal
from dperm.torch.sampling import Sampler
from dperm.torch.single_process import check_single_process
from dperm.torch.update import checked_optimizer, clear_others, private_steps

if TYPE_CHECKING:
    from dperm.torch.svrg import DPSVRGPlan


REHEARSED = 32
"""Records of a rehearsal, at most."""


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
    """Run ``plan`` in the order of every release: check, charge, draw, commit."""
    check_single_process(model)
    each, stepped = per_example(loss), checked_optimizer(optimizer, model)

    def checked() -> Ready:
        data = ready(plan, model, dataset, options)
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
        descent = Descent(plan, gradients, each, run.value, run.stream)
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


def _rehearse(plan: "DPSVRGPlan", model: nn.Module, loss: PerExample, data: Ready) -> None:
    """Refuse a loss in which records act on each other, on the first records of the data set."""
    named = [(name, value) for name, value in model.named_parameters() if value.requires_grad]
    rows = min(data.records.count, plan.method.physical_batch_size, REHEARSED)
    batch = next(iter(data.records.batches(iter([np.arange(rows, dtype=np.int64)]))))
    with PerExampleGradients(model, sites=data.sites) as gradients:
        rehearsal = Rehearsal(gradients, named, plan.method.clip_norm)
        if rehearsal.is_due(0, batch, rows):
            with rehearsal.quiet():
                for changed, _ in rehearsal.batches(batch, rows, 0):
                    rehearsal.note(losses_of(model, loss, changed))


class Descent:
    """The noisy directions of a run, one after the other: data are touched here only."""

    def __init__(
        self, plan: "DPSVRGPlan", gradients: PerExampleGradients, loss: PerExample, data: Ready, stream: Stream
    ) -> None:
        self.plan, self.gradients, self.loss, self.data, self.stream = plan, gradients, loss, data, stream
        self.parameters = [value for value in gradients.model.parameters() if value.requires_grad]
        self._checked = False

    def directions(self) -> Iterator[list[Tensor]]:
        """One for each step; the caller moves the parameters in between."""
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
        """The sum of the clipped differences of the gradients here and at ``anchor``, in units of the clip norm.

        The factors of both points, those of the anchor from losses times -1, are those of one parameter that is used
        twice: so each example has one vector, one norm and one weight. All of it is in double precision, for norms of
        differences may cancel.
        """
        with torch.random.fork_rng():  # dropout drops the same at both points
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
        """The noisy mean of the clipped gradients of all records, here."""
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
    """The parameters hold ``values`` for a while; nothing is copied."""
    held = [parameter.data for parameter in parameters]
    try:
        for parameter, value in zip(parameters, values, strict=True):
            parameter.data = value
        yield
    finally:
        for parameter, own in zip(parameters, held, strict=True):
            parameter.data = own
