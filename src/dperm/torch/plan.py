# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""What a private training run will do, decided before any data are read (T46)."""

from dataclasses import dataclass, field, replace
from functools import cached_property
from os import PathLike
from typing import Any

import torch
from torch import nn
from torch.optim import Optimizer

from dperm import checks
from dperm.accounting import account
from dperm.accounting.budget import Budget
from dperm.accounting.event import Event
from dperm.errors import ParameterError
from dperm.mechanisms.calibration import covers
from dperm.mechanisms.run import ReleaseFacts
from dperm.methods.plan import row_limit
from dperm.methods.sampling import SampledSteps, SamplingRequest
from dperm.noise.bits import Bits
from dperm.noise.grade import Grade
from dperm.privacy import Adjacency, ApproxDP
from dperm.torch.checkpoint import plan_of_run
from dperm.torch.gradients.clipping import LONGEST_CLIP, SHORTEST_CLIP, Clipping
from dperm.torch.noise import StepNoise, step_noise
from dperm.torch.options import Options
from dperm.torch.quantile import QuantileClipping
from dperm.torch.records import Collate
from dperm.torch.session import PrivateTraining

MOST_PARAMETERS = 2**28
"""Parameters of a model for which the rounding of noise is planned."""
PHYSICAL = 512
CLIP = "It bounds the norm of an example's gradient."
N = "It is the number of records (of groups, with records_per_group); under add_remove declare a rough public one."
GROUP = "It is the largest number of records of one group that are used."
VERSIONS = {"torch": str(torch.__version__)}
PUBLIC = ("the architecture and initial values of the model", "the shape and type of a record", "all hyper-parameters")


@dataclass(frozen=True)
class DPSGD:
    """DP-SGD (T46): Poisson samples, clipped per-example gradients, Gaussian noise, and any optimizer on the result.

    Parameters
    ----------
    clip_norm
        C, the largest norm of an example's gradient; longer ones are scaled down.
    batch_size, rate
        Expected size of a sample, or the probability that a record is in it; give one of them.
    epochs, steps
        Mean number of times that a record is drawn, or the number of samples; give one of them.
    clipping
        "flat": the norm of the whole gradient is bounded; "per_layer": that of every layer, at C over the root of their
        number; "normalized": every gradient is scaled to norm about C, so that C only scales the learning rate; or a
        `QuantileClipping`, which adapts C to a quantile of the norms, privately.
    grade
        "exact", or "fast" for noise and sums in the model's own precision: then the guarantee is the one of ideal
        arithmetic.
    physical_batch_size
        Records that go through the model at a time: it decides about memory and time, and nothing else.
    records_per_group
        With it, the guarantee is for all records of a group (a person): `attach` needs ``group``, each group adds at
        most so many records, and n counts groups.

    Examples
    --------
    >>> from dperm.torch import DPSGD
    >>> plan = DPSGD(clip_norm=1.0, batch_size=256, epochs=2).plan(n=60_000, epsilon=3.0, delta=1e-5)
    >>> plan.steps
    469
    """

    clip_norm: float = 1.0
    batch_size: float | None = None
    epochs: float | None = None
    rate: float | None = field(default=None, kw_only=True)
    steps: int | None = field(default=None, kw_only=True)
    clipping: Clipping | str | QuantileClipping = field(default=Clipping.FLAT, kw_only=True)
    grade: Grade | str = field(default=Grade.EXACT, kw_only=True)
    physical_batch_size: int = field(default=PHYSICAL, kw_only=True)
    records_per_group: int | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        """Check everything that was given."""
        checks.between("clip_norm", self.clip_norm, SHORTEST_CLIP, LONGEST_CLIP, CLIP)
        checks.count("physical_batch_size", self.physical_batch_size, "Records at a time.", most=2**20)
        if self.records_per_group is not None:
            checks.count("records_per_group", self.records_per_group, GROUP, most=2**20)
        if not isinstance(self.clipping, QuantileClipping):
            Clipping.of(self.clipping)
        Grade.of(self.grade)
        self.samples  # noqa: B018  # checks what was asked for

    @property
    def samples(self) -> SamplingRequest:
        """What was asked for of the samples."""
        return SamplingRequest(self.batch_size, self.rate, self.epochs, self.steps)

    def plan(
        self, n: int, epsilon: float, delta: float, adjacency: Adjacency | str = Adjacency.ADD_REMOVE
    ) -> "DPSGDPlan":
        """Rate, steps and noise with which the whole run meets (epsilon, delta), from public numbers alone.

        Parameters
        ----------
        n
            Number of records. Under replace_one it is that of the data set; under add_remove that is private, and a
            declared one, perhaps rough, is used: it decides about rate and steps, and is never compared with the data.
        epsilon, delta
            What all steps together may spend, delta > 0.
        adjacency
            Which data sets are neighbours: "add_remove" or "replace_one".

        Raises
        ------
        AssumptionError
            If no noise is enough.
        """
        goal = ApproxDP(epsilon, checks.positive("delta", delta, "DP-SGD has no pure guarantee."), adjacency)
        count = checks.count("n", n, N)
        rate, steps = self.samples.planned(goal, count)
        planned = SampledSteps(rate, steps, float(self.records_per_group or 1), MOST_PARAMETERS, row_limit(count))
        noise = step_noise(Grade.of(self.grade), planned, goal, self.physical_batch_size)
        return DPSGDPlan(self, goal, count, rate, steps, noise)


@dataclass(frozen=True)
class DPSGDPlan:
    """Everything that is decided before data are read; printing it shows it. `attach` runs it.

    Attributes
    ----------
    method
        What was asked for.
    goal
        The guarantee of the whole run, also if it is stopped before its last step.
    n, rate, steps
        Public number of records, probability of each in a sample, number of samples.
    noise
        What is added in each step, in units of the clip norm.
    """

    method: DPSGD
    goal: ApproxDP
    n: int
    rate: float
    steps: int
    noise: StepNoise

    def __post_init__(self) -> None:
        """Refuse numbers that are not those of the event, as ``dataclasses.replace`` would make them."""
        sums = self.noise.sums
        planned = (sums.rate, sums.steps, sums.lipschitz, self.noise.adjacency)
        if planned != (self.rate, self.steps, float(self.method.records_per_group or 1), self.goal.adjacency):
            raise ParameterError(
                "rate, steps, records_per_group and adjacency of a plan must be those that its noise was made for. "
                "Make another plan with DPSGD(...).plan(...)."
            )

    @property
    def adjacency(self) -> Adjacency:
        """Which data sets are neighbours."""
        return self.goal.adjacency

    @property
    def event(self) -> Event:
        """What the run spends."""
        return self.noise.event

    @property
    def expected_batch_size(self) -> float:
        """What the noisy sum of each step is divided by: q n, times the records of a group."""
        return self.rate * self.n * (self.method.records_per_group or 1)

    @property
    def records_per_group(self) -> int | None:
        """With groups, the largest number of records of one that are used."""
        return self.method.records_per_group

    @property
    def most_records(self) -> int:
        """Public limit on the number of records (of groups): rounding errors are bounded for so many."""
        return row_limit(self.n)

    @property
    def most_parameters(self) -> int:
        """Public limit on the number of trained parameters: the rounding of noise is bounded for so many."""
        return MOST_PARAMETERS

    @property
    def clipping(self) -> Clipping:
        """Which norm is bounded."""
        given = self.method.clipping
        return Clipping.FLAT if isinstance(given, QuantileClipping) else Clipping.of(given)

    @property
    def quantile(self) -> QuantileClipping | None:
        """How the clip norm adapts, if it does."""
        return self.method.clipping if isinstance(self.method.clipping, QuantileClipping) else None

    @cached_property
    def facts(self) -> ReleaseFacts:
        """What is known of a run beforehand."""
        if not covers(self.goal, self.event):
            raise ParameterError("goal must be what the noise of a plan was made for. Plan again for another goal.")
        return ReleaseFacts(
            goal=self.goal,
            event=self.event,
            noise=f"on the sum of clipped gradients of each of {self.steps} Poisson samples: {self.noise.words}",
            theorems=("T46", "T44", "T3", *self.noise.theorems),
            grade=self.noise.grade,
            public=self.describe(),
            versions=VERSIONS,
        )

    @property
    def _unit(self) -> dict[str, object]:
        """What neighbours differ in, if it is not a record."""
        most = self.method.records_per_group
        return {} if most is None else {"unit": "group", "records_per_group": most}

    def describe(self) -> dict[str, object]:
        """The public numbers of the plan, as they will stand in the record of a run."""
        return {
            "method": "dp-sgd",
            "n": self.n,
            "rate": self.rate,
            "steps": self.steps,
            "batch_size": self.rate * self.n,
            "clip_norm": self.method.clip_norm,
            "clipping": "quantile" if self.quantile else self.clipping.value,
            **({} if self.quantile is None else {"quantile": self.quantile.numbers}),
            **self._unit,
            "physical_batch_size": self.method.physical_batch_size,
            "most_rows": self.most_records,
            "step_noise": self.noise.numbers,
            "assumed_public": list(PUBLIC),
        }

    def __str__(self) -> str:
        """What will be done, a line each."""
        unit = "groups" if self.method.records_per_group else "records"
        lines = [
            f"DP-SGD for {self.goal}:",
            f"- {self.steps} steps, each on a Poisson sample of {self.rate * self.n:.6g} of n={self.n} {unit} in the "
            f"mean (rate {self.rate:.6g});",
            f"- gradients clipped at {self.method.clip_norm:.6g} ({self.describe()['clipping']}), noise of "
            f"{self.noise.scale:.6g} clip norms on their sum, grade {self.noise.grade.value};",
            f"- the noisy sum is divided by {self.expected_batch_size:.6g}, whatever the sample holds.",
        ]
        return "\n".join(lines)

    def attach(
        self,
        model: nn.Module,
        optimizer: Optimizer,
        dataset: Any,
        ledger: Budget | None = None,
        *,
        group: Any = None,
        example_inputs: tuple[Any, ...] | None = None,
        public_inputs: bool = False,
        collate_fn: Collate | None = None,
        num_workers: int = 0,
        progress: bool | None = None,
        request_id: str | None = None,
        resume: str | PathLike[str] | None = None,
        rehearsal: bool = True,
        bits: Bits | None = None,
    ) -> PrivateTraining:
        """The training of ``model`` on ``dataset``, to be used in a ``with`` block.

        Parameters
        ----------
        model
            Any module; it is not wrapped, and its hooks are removed when the block is left.
        optimizer
            Any optimizer of ``torch.optim`` over the trained parameters of the model, except those that need closures.
        dataset
            A map-style data set, or a tuple of tensors. **Not** a loader: the batches are drawn here.
        ledger
            What the run is charged to: checked when the block is entered, charged in the first step.
        group
            A key for each record, for plans with ``records_per_group``.
        example_inputs
            A tuple of what the model is called with, of which shapes and types alone are used; None: the first element
            of a batch.
        public_inputs
            Whether ``example_inputs`` are public or invented examples, on which the model is tried as they are: for
            models that do not run on made-up values. **Never** for private examples.
        collate_fn, num_workers
            As for ``torch.utils.data.DataLoader``.
        progress
            Whether a bar shows the steps; None: on a terminal.
        request_id
            Makes the charge idempotent.
        resume
            The checkpoint to go on from, written by `PrivateTraining.save`.
        rehearsal
            Whether the loop is tried now and then: a batch comes as it is, and in another order without its first
            record, and the losses of the others must not move. Switch it off only if the loop draws random numbers that
            torch does not know.
        bits
            Where randomness comes from; ``NotPrivateBits(seed)`` makes the run reproducible and NOT PRIVATE.
        """
        options = Options(
            group=group,
            example_inputs=example_inputs,
            public_inputs=public_inputs,
            collate_fn=collate_fn,
            num_workers=num_workers,
            progress=progress,
            request_id=request_id,
            resume=resume,
            rehearsal=rehearsal,
        )
        plan = self if resume is None else plan_of_run(self, resume)
        return PrivateTraining(plan, model, optimizer, dataset, budget=ledger, options=options, bits=bits)

    def so_far(self, draws: int) -> str:
        """What ``draws`` steps would have spent, had their number been planned, in words. It is no guarantee."""
        spent = account(self.noise.event_of(draws), self.adjacency).epsilon(self.goal.delta) if draws else 0.0
        return (
            f"epsilon so far {spent:.4g} at delta={self.goal.delta:g}, after {draws} of {self.steps} steps. NOT a "
            f"guarantee: the number of steps was not fixed beforehand. The guarantee is {self.goal}."
        )

    def with_public(self, facts: dict[str, object]) -> ReleaseFacts:
        """The facts, and what is known of the model."""
        return replace(self.facts, public={**self.facts.public, **facts})
