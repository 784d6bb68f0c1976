# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Plans of DP-SGD: rate, steps and noise of a private training run, from public numbers alone (T46)."""

import warnings
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
from dperm.errors import DpermWarning, ParameterError
from dperm.mechanisms.calibration import covers
from dperm.mechanisms.mechanism import noise_at
from dperm.mechanisms.run import ReleaseFacts
from dperm.methods.noise_warning import CLASSES, delta_warning, sampled_noise_ratio
from dperm.methods.plan import row_limit
from dperm.methods.sampled_noise import FAMILY
from dperm.methods.sampling import SampledSteps, SamplingRequest
from dperm.noise.bits import Bits
from dperm.noise.grade import Grade
from dperm.presentation.notebook import plan_card
from dperm.presentation.spelling import arg
from dperm.privacy import Adjacency, ApproxDP
from dperm.privacy.guarantee import guarantee_as_dict
from dperm.torch.checkpoint import plan_of_run
from dperm.torch.gradients.clipping import LONGEST_CLIP, SHORTEST_CLIP, Clipping
from dperm.torch.noise import StepNoise, step_noise
from dperm.torch.options import Options
from dperm.torch.quantile import QuantileClipping
from dperm.torch.records import Collate
from dperm.torch.session import PrivateTraining

MOST_PARAMETERS = 2**28
"""Largest number of trained parameters in the bound for rounding of noise."""
PHYSICAL = 512
CLIP = "It bounds the norm of an example's gradient."
N = "It is the number of records (of groups, with records_per_group); under add_remove declare a rough public one."
GROUP = "It is the largest number of records used from one group."
VERSIONS = {"torch": str(torch.__version__)}
PUBLIC = ("the architecture and initial values of the model", "the shape and type of a record", "all hyper-parameters")


@dataclass(frozen=True)
class DPSGD:
    """DP-SGD (T46): Poisson samples, clipped per-example gradients, Gaussian noise, and any optimizer.

    Parameters
    ----------
    clip_norm
        Clipping norm C of an example's gradient; longer gradients are scaled down to norm C.
    batch_size, rate
        Expected number of records in a batch (a Poisson sample), or sampling probability of each record, in (0, 1].
        Pass at most one of the two; the default follows from public numbers (`dperm.methods.sampling`).
    epochs, steps
        Expected number of batches that contain a given record, or number of batches. Pass at most one of the two; the
        default follows from public numbers.
    clipping
        "flat" bounds the norm of the whole gradient. "per_layer" bounds the norm of each layer by C divided by the
        square root of the number of layers. "normalized" scales every gradient to a norm of about C, so C only scales
        the learning rate. A `QuantileClipping` adapts C privately to a quantile of the norms.
    grade
        "exact" draws the noise exactly on a grid, and its guarantee includes rounding errors. "fast" draws the noise in
        single precision and sums in the model's own precision; its guarantee is proved only for ideal arithmetic,
        without rounding.
    physical_batch_size
        Largest number of records in one forward pass. It affects memory and time, not privacy.
    records_per_group
        Largest number of records used from one group, such as the records of one person. If it is given, the guarantee
        protects all records of a group together. Then n is the number of groups, sampling draws whole groups, and
        `DPSGDPlan.attach` requires ``group``.

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
        """Check the ranges of all parameters."""
        checks.between("clip_norm", self.clip_norm, SHORTEST_CLIP, LONGEST_CLIP, CLIP)
        checks.count("physical_batch_size", self.physical_batch_size, "Records at a time.", most=2**20)
        if self.records_per_group is not None:
            checks.count("records_per_group", self.records_per_group, GROUP, most=2**20)
        if not isinstance(self.clipping, QuantileClipping):
            Clipping.of(self.clipping)
        Grade.of(self.grade)
        self.samples  # noqa: B018  # checks sizes and rates

    @property
    def samples(self) -> SamplingRequest:
        """Requested sampling settings: batch size or rate, and epochs or steps."""
        return SamplingRequest(self.batch_size, self.rate, self.epochs, self.steps)

    def plan(
        self, n: int, epsilon: float, delta: float, adjacency: Adjacency | str = Adjacency.ADD_REMOVE
    ) -> "DPSGDPlan":
        """Return a plan for a training run that satisfies (epsilon, delta)-DP, computed from public numbers alone.

        *Guarantees.* The accountant certifies that the composition of all steps satisfies (epsilon, delta)-DP.

        Parameters
        ----------
        n
            Number of records, or of groups if ``records_per_group`` is given. Under replace_one, this is the size of
            the data set. Under add_remove, the true number is private; declare a public number, which may be
            approximate. The declared number determines the rate and the steps. Data sets with more than max(16 n, 2^20)
            records (or groups) are refused.
        epsilon, delta
            Privacy-loss bounds for all steps together, delta > 0.
        adjacency
            Adjacency relation, "add_remove" or "replace_one".

        Returns
        -------
        DPSGDPlan
            The plan.

        Raises
        ------
        ParameterError
            If an argument is out of range.
        AssumptionError
            If no amount of noise can meet the goal.

        Warns
        -----
        DpermWarning
            If delta is above 1/n, or if the noise outweighs the gradients of n records.
        """
        goal = ApproxDP(epsilon, checks.positive("delta", delta, "DP-SGD has no pure guarantee."), adjacency)
        count = checks.count("n", n, N)
        rate, steps = self.samples.planned(goal, count)
        planned = SampledSteps(rate, steps, float(self.records_per_group or 1), MOST_PARAMETERS, row_limit(count))
        noise = step_noise(Grade.of(self.grade), planned, goal, self.physical_batch_size)
        plan = DPSGDPlan(self, goal, n=count, rate=rate, steps=steps, noise=noise)
        for warning in (delta_warning(goal, count), plan._noise_warning):
            if warning is not None:
                warnings.warn(warning, stacklevel=2)
        return plan


@dataclass(frozen=True)
class DPSGDPlan:
    """Plan of DP-SGD, made from public numbers alone; ``print(plan)`` shows it, and `attach` starts a training run.

    Attributes
    ----------
    method
        Parameters of the method.
    goal
        Guarantee of the whole run; it also holds if the run stops before its last step.
    n, rate, steps
        Public number of records (or groups), sampling probability of each record (or group), and number of steps.
    noise
        Noise of each step, in units of the clipping norm.
    """

    method: DPSGD
    goal: ApproxDP
    n: int
    rate: float
    steps: int
    noise: StepNoise

    def __post_init__(self) -> None:
        """Refuse numbers that do not match the event, which ``dataclasses.replace`` could produce."""
        sums = self.noise.sums
        planned = (sums.rate, sums.steps, sums.lipschitz, self.noise.adjacency)
        if planned != (self.rate, self.steps, float(self.method.records_per_group or 1), self.goal.adjacency):
            raise ParameterError(
                "rate, steps, records_per_group and adjacency of a plan must be those of its noise.",
                remedy="Make another plan with DPSGD(...).plan(...).",
            )

    @property
    def adjacency(self) -> Adjacency:
        """Adjacency relation of the guarantee."""
        return self.goal.adjacency

    @property
    def event(self) -> Event:
        """Privacy event of all planned steps, the input of the accountant."""
        return self.noise.event

    @property
    def _noise_multiplier(self) -> float:
        """Standard deviation of the noise in units of the largest contribution of one record or group."""
        return self.noise.scale / (self.method.records_per_group or 1)

    @property
    def _noise_warning(self) -> DpermWarning | None:
        """Warning for noise that outweighs the gradients of n records, with the threshold of classifiers, or None."""
        if sampled_noise_ratio(self._noise_multiplier, self.rate, self.steps, self.n) < CLASSES:
            return None
        return DpermWarning(
            f"the noise for {self.goal} outweighs the gradients of {arg('n', self.n)} {self._units}: expect a model "
            "hardly better than a guess.",
            remedy=f"Use a larger epsilon, more {self._units}, or a larger {arg('batch_size')}.",
        )

    @property
    def _units(self) -> str:
        return "groups" if self.method.records_per_group else "records"

    @property
    def expected_batch_size(self) -> float:
        """Divisor of the noisy sum of each step: ``rate`` times ``n``, times ``records_per_group`` if given."""
        return self.rate * self.n * (self.method.records_per_group or 1)

    @property
    def records_per_group(self) -> int | None:
        """Largest number of records used from one group; None without groups."""
        return self.method.records_per_group

    @property
    def most_records(self) -> int:
        """Public limit on the number of records (or groups), used to bound the rounding errors."""
        return row_limit(self.n)

    @property
    def most_parameters(self) -> int:
        """Public limit on the number of trained parameters, used to bound the rounding error of the noise."""
        return MOST_PARAMETERS

    @property
    def clipping(self) -> Clipping:
        """Kind of clipping; flat for quantile clipping."""
        given = self.method.clipping
        return Clipping.FLAT if isinstance(given, QuantileClipping) else Clipping.of(given)

    @property
    def quantile(self) -> QuantileClipping | None:
        """Quantile clipping, or None for a fixed clipping norm."""
        return self.method.clipping if isinstance(self.method.clipping, QuantileClipping) else None

    @cached_property
    def facts(self) -> ReleaseFacts:
        """Facts known before the run, to be stored in the release record."""
        if not covers(self.goal, self.event):
            raise ParameterError(
                argument="goal",
                rule="must be covered by the noise of the plan",
                remedy="Make another plan for another goal.",
            )
        return ReleaseFacts(
            goal=self.goal,
            event=self.event,
            noise=noise_at(
                f"on the sum of the clipped gradients in each of {self.steps} steps", self.noise.words, FAMILY
            ),
            theorems=("T46", "T44", "T3", *self.noise.theorems),
            grade=self.noise.grade,
            public=self.describe(),
            versions=VERSIONS,
        )

    @property
    def _unit(self) -> dict[str, object]:
        """Unit of privacy to store in the release record; None if the unit is one record."""
        most = self.method.records_per_group
        return {} if most is None else {"unit": "group", "records_per_group": most}

    def describe(self) -> dict[str, object]:
        """Return the public numbers of the plan, as stored in the record of a run."""
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
        """Return the steps, clipping and noise of the plan, one line each."""
        most = self.method.records_per_group
        group = f"a group weighs up to {most} clipping norms, so the noise multiplier is {self._noise_multiplier:.6g};"
        measure = "standard deviation {:.6g} clipping norms" if most else "noise multiplier {:.6g}"
        noise = measure.format(self.noise.scale)
        lines = [
            f"DP-SGD for {self.goal}:",
            f"- {self.steps} steps, each on a Poisson sample at rate {self.rate:.6g} (on average "
            f"{self.rate * self.n:.6g} of n = {self.n} {self._units});",
            f"- gradients clipped to norm {self.method.clip_norm:.6g} ({self.describe()['clipping']}), Gaussian noise "
            f"with {noise} added to their sum, grade {self.noise.grade.value};",
            *([f"- {group}"] if most else []),
            f"- the noisy sum is divided by {self.expected_batch_size:.6g}, whatever the actual sample size.",
        ]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        """Return goal, steps, clipping, noise and public numbers for notebooks."""
        steps = [line.removeprefix("- ") for line in str(self).splitlines()[1:]]
        return plan_card(
            "DP-SGD plan",
            guarantee_as_dict(self.goal),
            (),
            steps,
            self.describe(),
            unit="group" if self.method.records_per_group else "record",
        )

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
        """Return a training run of ``model`` on ``dataset``, for use in a ``with`` block.

        This method charges nothing. Entering the block checks the budget, the model and the data. The first step
        charges the budget for the whole plan.

        Parameters
        ----------
        model
            Any module. The model is not wrapped; it gets hooks, which are removed at the end of the block.
        optimizer
            Any optimizer of ``torch.optim`` over all trained parameters of the model, except optimizers that require a
            closure (LBFGS) or sparse gradients (SparseAdam).
        dataset
            A map-style data set, or a tuple of tensors, but **not** a loader: dperm draws the batches.
        ledger
            Budget to charge; None charges nothing. It is checked when the block is entered, and charged in the first
            step.
        group
            Group keys, one for each record in the order of the data set, for plans with ``records_per_group``. Records
            with equal keys form a group.
        example_inputs
            Tuple of the model's arguments, with the examples in the first dimension. Only shapes and types are used.
            None uses the first element of a batch as the only argument.
        public_inputs
            Whether ``example_inputs`` are public or invented examples whose values may be used. This is meant for
            models that cannot run on synthetic values. **Never** set this for private examples.
        collate_fn, num_workers
            See ``torch.utils.data.DataLoader``.
        progress
            Whether to show a progress bar; None shows one only on a terminal.
        request_id
            Identifier of the charge. The budget charges each identifier only once; None uses a new identifier.
        resume
            Path of the checkpoint to resume from, written by `PrivateTraining.save`.
        rehearsal
            Whether to rehearse the loop. A rehearsal passes trial batches to the loop, and tests whether one record
            affects the losses or gradients of others. Switch rehearsals off only if an error message recommends it, for
            example because the loop draws random numbers from a library other than torch.
        bits
            Source of randomness; None uses the operating system. ``NotPrivateBits(seed)`` makes the run reproducible
            and NOT PRIVATE.

        Returns
        -------
        PrivateTraining
            Training run, to be used as a context manager.

        Raises
        ------
        ParameterError
            If an argument is invalid, the optimizer is not supported, or training is distributed over several
            processes.
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
        """Describe the privacy loss of a plan with only ``draws`` steps; this is not a guarantee for the current run.

        Parameters
        ----------
        draws
            Number of steps, at most the planned number.

        Returns
        -------
        str
            Sentences with epsilon after these steps and the guarantee of the plan.
        """
        spent = account(self.noise.event_of(draws), self.adjacency).epsilon(self.goal.delta) if draws else 0.0
        return (
            f"After {draws} of {self.steps} planned steps, epsilon is {spent:.4g} at delta={self.goal.delta:g}. This "
            f"is NOT a guarantee, because the decision to stop may depend on the data. The guarantee is {self.goal}."
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
