# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Plans of DP-SVRG: steps along differences of gradients, around noisy gradients of all records (T46).

At a *snapshot* v the clipped gradients of all records are summed, and noise is added: the first query. Each step then
draws a Poisson sample, and sums the clipped differences clip(grad l_i(w) - grad l_i(v), C), one vector for each record:
the second query. The step is taken along the sum of both, each divided by its public expected size. Near the snapshot
differences are short, so C and the noise may be far smaller than for gradients. The event covers both queries.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from torch import nn
from torch.optim import Optimizer

from dperm import checks
from dperm.accounting.budget import Budget
from dperm.accounting.event import Event
from dperm.mechanisms.mechanism import noise_at
from dperm.mechanisms.run import ReleaseFacts
from dperm.methods.plan import row_limit
from dperm.methods.sampled_noise import FAMILY, JointSums
from dperm.methods.sampling import SampledSteps, SamplingRequest, record_mu
from dperm.noise.bits import Bits
from dperm.noise.grade import Grade
from dperm.presentation.notebook import plan_card
from dperm.privacy import Adjacency, ApproxDP, Release
from dperm.privacy.guarantee import guarantee_as_dict
from dperm.torch.loss_functions import Loss
from dperm.torch.noise import StepNoise, joint_step_noise, sums_of
from dperm.torch.options import Options
from dperm.torch.plan import MOST_PARAMETERS, PHYSICAL, PUBLIC, VERSIONS, N
from dperm.torch.records import Collate
from dperm.torch.svrg_training import train

LENGTH = "It bounds the norm of one record's contribution."
SNAPSHOTS = "It is the number of gradients over all records."
LEAST = 0.8
"""Approximate noise multiplier z above which a sampled step costs about q^2 / z^2."""
NOISE = "It is the ratio of the noise multipliers of snapshots and steps."


@dataclass(frozen=True)
class DPSVRG:
    """Variance-reduced DP-SGD (T46), with noisy full gradients at snapshots and noisy clipped differences in between.

    A snapshot is a copy of the parameters, at which the clipped gradients of all records are summed. Each step uses
    the noisy mean gradient of the snapshot plus a noisy mean of clipped gradient differences over a Poisson sample.

    Parameters
    ----------
    clip_norm
        Clipping norm C of the difference between an example's gradient at the current parameters and its gradient at
        the latest snapshot.
    snapshot_clip_norm
        Clipping norm of an example's gradient at a snapshot.
    batch_size, rate, epochs, steps
        See `DPSGD`.
    snapshots
        Largest number of snapshots, at equal intervals.
    snapshot_noise
        Ratio of the noise multiplier of snapshots to that of steps. None uses the ratio with approximately the smallest
        total noise variance.
    grade, physical_batch_size
        See `DPSGD`. Gradients are summed in double precision in both grades.

    Examples
    --------
    >>> from dperm.torch import DPSVRG
    >>> plan = DPSVRG(0.1, 1.0, batch_size=100, epochs=10, snapshots=5).plan(n=10_000, epsilon=2.0, delta=1e-5)
    >>> plan.steps, plan.snapshots
    (1000, 5)
    """

    clip_norm: float = 0.1
    snapshot_clip_norm: float = 1.0
    batch_size: float | None = None
    epochs: float | None = None
    snapshots: int = 10
    rate: float | None = field(default=None, kw_only=True)
    steps: int | None = field(default=None, kw_only=True)
    snapshot_noise: float | None = field(default=None, kw_only=True)
    grade: Grade | str = field(default=Grade.EXACT, kw_only=True)
    physical_batch_size: int = field(default=PHYSICAL, kw_only=True)

    def __post_init__(self) -> None:
        """Check the ranges of all parameters."""
        checks.between("clip_norm", self.clip_norm, 1e-12, 1e12, LENGTH)
        checks.between("snapshot_clip_norm", self.snapshot_clip_norm, 1e-12, 1e12, LENGTH)
        checks.count("snapshots", self.snapshots, SNAPSHOTS, most=2**20)
        checks.count("physical_batch_size", self.physical_batch_size, "Records at a time.", most=2**20)
        if self.snapshot_noise is not None:
            checks.between("snapshot_noise", self.snapshot_noise, 1e-3, 1e6, NOISE)
        Grade.of(self.grade)
        self.samples  # noqa: B018  # checks sizes and rates

    @property
    def samples(self) -> SamplingRequest:
        """Requested sampling settings: batch size or rate, and epochs or steps."""
        return SamplingRequest(self.batch_size, self.rate, self.epochs, self.steps)

    def plan(
        self, n: int, epsilon: float, delta: float, adjacency: Adjacency | str = Adjacency.ADD_REMOVE
    ) -> "DPSVRGPlan":
        """Return a plan for a training run that satisfies (epsilon, delta)-DP, computed from public numbers alone.

        Parameters
        ----------
        n
            Public number of records; see `DPSGD.plan`.
        epsilon, delta
            Privacy-loss bounds for all steps and snapshots together, delta > 0.
        adjacency
            Adjacency relation, "add_remove" or "replace_one".

        Returns
        -------
        DPSVRGPlan
            The plan.

        Raises
        ------
        ParameterError
            If an argument is out of range.
        AssumptionError
            If no amount of noise can meet the goal.
        """
        goal = ApproxDP(epsilon, checks.positive("delta", delta, "DP-SVRG has no pure guarantee."), adjacency)
        count = checks.count("n", n, N)
        rate, steps = self.samples.planned(goal, count)
        interval = math.ceil(steps / self.snapshots)
        ratio = self.snapshot_noise or self._ratio(rate, steps, interval, goal)
        rows = most_records(count, goal.adjacency)
        inner = sums_of(SampledSteps(rate, steps, 1.0, MOST_PARAMETERS, rows), goal, self.physical_batch_size)
        full = sums_of(
            SampledSteps(1.0, math.ceil(steps / interval), 1.0, MOST_PARAMETERS, rows), goal, self.physical_batch_size
        )
        noises = joint_step_noise(Grade.of(self.grade), [JointSums(inner), JointSums(full, ratio)], goal)
        return DPSVRGPlan(self, goal, count, rate, steps, interval, *noises)

    def _ratio(self, rate: float, steps: int, interval: int, goal: ApproxDP) -> float:
        """Return the ratio sqrt(C / (C' m)) / q for m steps per snapshot; the noise of a snapshot counts m times.

        The ratio minimizes the product of variance, (C' z' m)^2 S + (C z / q)^2 T, and cost, S / z'^2 + T q^2 / z^2.
        This cost of steps holds only if z is not far below 1: with z' of about sqrt(2 S) / mu, z is kept above `LEAST`.
        """
        wanted = math.sqrt(self.clip_norm / (self.snapshot_clip_norm * interval)) / rate
        largest = math.sqrt(2 * steps / interval) / (record_mu(goal) * LEAST)
        return min(max(wanted, 1e-3), largest)


def most_records(n: int, adjacency: Adjacency) -> int:
    """Return the public limit on the number of records: n if it is public, otherwise more than an approximate n."""
    return n if adjacency is Adjacency.REPLACE_ONE else row_limit(n)


@dataclass(frozen=True)
class DPSVRGPlan:
    """Plan of DP-SVRG, made from public numbers alone; ``print(plan)`` shows it, and `run` trains with it.

    Attributes
    ----------
    method
        Parameters of the method.
    goal
        Guarantee of the whole run.
    n, rate, steps
        Public number of records, sampling probability of each record, and number of steps.
    interval
        Number of steps from one snapshot to the next.
    noise, snapshot_noise
        Noise on the sum of each step and on the sum of each snapshot, in units of the respective clipping norm.
    """

    method: DPSVRG
    goal: ApproxDP
    n: int
    rate: float
    steps: int
    interval: int
    noise: StepNoise
    snapshot_noise: StepNoise

    records_per_group = None
    most_parameters = MOST_PARAMETERS

    @property
    def adjacency(self) -> Adjacency:
        """Adjacency relation of the guarantee."""
        return self.goal.adjacency

    @property
    def snapshots(self) -> int:
        """Number of snapshots: one before the first step, and one after every ``interval`` steps, except at the end."""
        return math.ceil(self.steps / self.interval)

    @property
    def event(self) -> Event:
        """Privacy event of the run, the composition of all steps and snapshots."""
        return self.noise.event + self.snapshot_noise.event

    @property
    def most_records(self) -> int:
        """Public limit on the number of records, used to bound the rounding errors."""
        return most_records(self.n, self.adjacency)

    @property
    def deviations(self) -> tuple[float, float]:
        """Standard deviations of the two noise terms in each coordinate of a step: from the sample and the snapshot."""
        method = self.method
        return (
            self.noise.scale * method.clip_norm / (self.rate * self.n),
            self.snapshot_noise.scale * method.snapshot_clip_norm / self.n,
        )

    @cached_property
    def facts(self) -> ReleaseFacts:
        """Facts known before the run, to be stored in the release record."""
        return ReleaseFacts(
            goal=self.goal,
            event=self.event,
            noise=noise_at(
                f"on the sum of the clipped differences in each of {self.steps} steps and on the sum of the clipped "
                f"gradients of all records at each of {self.snapshots} snapshots",
                self.noise.words,
                FAMILY,
            ),
            theorems=tuple(dict.fromkeys(("T46", "T44", "T3", *self.noise.theorems, *self.snapshot_noise.theorems))),
            grade=self.noise.grade,
            public=self.describe(),
            versions=VERSIONS,
        )

    def with_public(self, facts: dict[str, object]) -> ReleaseFacts:
        """Return the plan's facts for the release record, extended by public facts about the model.

        Parameters
        ----------
        facts
            Public facts about the model.

        Returns
        -------
        ReleaseFacts
            Facts to store in the release record.
        """
        return replace(self.facts, public={**self.facts.public, **facts})

    def describe(self) -> dict[str, object]:
        """Return the public numbers of the plan, as stored in the record of a run."""
        return {
            "method": "dp-svrg",
            "n": self.n,
            "rate": self.rate,
            "steps": self.steps,
            "batch_size": self.rate * self.n,
            "snapshots": self.snapshots,
            "clip_norm": self.method.clip_norm,
            "snapshot_clip_norm": self.method.snapshot_clip_norm,
            "physical_batch_size": self.method.physical_batch_size,
            "most_rows": self.most_records,
            "step_noise": self.noise.numbers,
            "snapshot_noise": self.snapshot_noise.numbers,
            "assumed_public": list(PUBLIC),
        }

    def __str__(self) -> str:
        """Return the steps, clipping and noise of the plan, one line each."""
        method = self.method
        lines = [
            f"DP-SVRG for {self.goal}:",
            f"- {self.snapshots} snapshots of the gradient of all records, each gradient clipped to norm "
            f"{method.snapshot_clip_norm:.6g}, Gaussian noise with noise multiplier {self.snapshot_noise.scale:.6g} "
            f"added to their sum;",
            f"- {self.steps} steps, each on a Poisson sample at rate {self.rate:.6g} (on average "
            f"{self.rate * self.n:.6g} of n = {self.n} records), differences clipped to norm {method.clip_norm:.6g}, "
            f"Gaussian noise with noise multiplier {self.noise.scale:.6g} added to their sum;",
            f"- grade {self.noise.grade.value}; the sums are divided by n and by the expected size of a sample.",
        ]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        """Return goal, steps, clipping, noise and public numbers for notebooks."""
        steps = [line.removeprefix("- ") for line in str(self).splitlines()[1:]]
        return plan_card("DP-SVRG plan", guarantee_as_dict(self.goal), (), steps, self.describe())

    def run(
        self,
        model: nn.Module,
        optimizer: Optimizer,
        dataset: Any,
        loss: Loss,
        ledger: Budget | None = None,
        *,
        example_inputs: tuple[Any, ...] | None = None,
        collate_fn: Collate | None = None,
        num_workers: int = 0,
        progress: bool | None = None,
        request_id: str | None = None,
        after_step: Callable[[int], None] | None = None,
        bits: Bits | None = None,
    ) -> Release[nn.Module]:
        """Train ``model`` in place, and return it with its guarantee.

        The method checks its arguments, charges the budget, trains the model, and commits the charge. Failures after
        the charge are not refunded.

        Parameters
        ----------
        model, optimizer
            See `DPSGDPlan.attach`; plain SGD is recommended.
        dataset
            Pairs (input, target): a map-style data set, or a tuple of two tensors.
        loss
            Function that takes (outputs, targets) and returns one loss for each example. For each batch, the loss is
            evaluated at the current parameters and at those of the snapshot, so custom training loops are not
            supported.
        ledger
            Budget to charge; None charges nothing.
        example_inputs, collate_fn, num_workers, progress, request_id, bits
            See `DPSGDPlan.attach`.
        after_step
            Callback that receives the number of completed steps after each step, for example to step a scheduler.

        Returns
        -------
        Release[nn.Module]
            The trained model with its guarantee, profile, event and record.
        """
        options = Options(
            example_inputs=example_inputs,
            collate_fn=collate_fn,
            num_workers=num_workers,
            progress=progress,
            request_id=request_id,
        )
        return train(
            self, model, optimizer, dataset, loss, budget=ledger, options=options, after_step=after_step, bits=bits
        )
