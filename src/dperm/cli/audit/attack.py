# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Attacks on a plan of dperm: black box, and exact where the distribution of the output is known."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dperm import checks
from dperm.errors import AssumptionError, ParameterError

if TYPE_CHECKING:
    from dperm.audit import Finding
    from dperm.methods.plan import Plan
    from dperm.noise.bits import Bits

AT_ONCE, ONE_BY_ONE = 100_000, 200
"""Default numbers of runs: drawn all at once, or each a training run."""
BLACK_BOX = 0.8
"""Share of the progress bar for the black box."""


@dataclass(frozen=True)
class Attack:
    """Effort and randomness of an attack.

    Attributes
    ----------
    runs
        Number of runs of the black box; None for the default.
    confidence
        Confidence level of the black-box bounds; exact bounds are certain.
    seed
        Seed of coins and noise; None takes both from the operating system.
    workers
        Number of processes for plans that train a model in every run.
    """

    runs: int | None
    confidence: float
    seed: int | None
    workers: int

    def findings(self, plan: "Plan", progress: Callable[[float], None]) -> "list[Finding]":
        """Run all applicable attacks on the plan."""
        from dperm.audit.black_box import audit, of_plan
        from dperm.audit.black_box.repeated_training import RepeatedTraining
        from dperm.cli.audit.power import with_power
        from dperm.cli.running import note

        if self.seed is not None:
            checks.count("seed", self.seed, least=0)
        if self.seed is not None and self.workers > 1:
            raise ParameterError("--seed needs --workers 1: the processes would draw the same numbers.")
        subject = of_plan(plan, bits=self._bits(), workers=self.workers)
        runs = self._runs(subject)
        if isinstance(subject, RepeatedTraining):
            note(_duration_note(subject, runs, self.workers))
        found = audit(
            subject,
            runs=runs,
            confidence=self.confidence,
            seed=None if self.seed is None else 2 * self.seed + 1,
            progress=lambda share: progress(BLACK_BOX * share),
        )
        found = with_power(found, subject)
        exactly = _exact(plan, lambda share: progress(BLACK_BOX + (1 - BLACK_BOX) * share))
        return [found] if exactly is None else [found, exactly]

    def _bits(self) -> "Bits | None":
        """Return the source of the noise, seeded differently from the coins; None without a seed."""
        from dperm.noise.simulation import NotPrivateBits

        return None if self.seed is None else NotPrivateBits(2 * self.seed)

    def _runs(self, subject: Any) -> int:
        from dperm.audit.black_box.repeated_training import RepeatedTraining

        if self.runs is not None:
            return self.runs
        return ONE_BY_ONE if isinstance(subject, RepeatedTraining) else AT_ONCE


def _duration_note(subject: Any, runs: int, workers: int) -> str:
    """Return a note on the expected duration, estimated from one run."""
    import time

    import numpy as np

    began = time.monotonic()
    subject.trainings.train(subject.trainings.with_record)
    seconds = runs * (time.monotonic() - began) / workers
    long = f"{seconds / 60:.0f} minutes" if seconds > 100 else f"{max(1, np.ceil(seconds)):.0f} s"
    return (
        f"{runs} training runs, one at a time: about {long}. Bounds from so few runs are weak. For networks, "
        "dperm.torch.audit.audit_training audits one training run with many canaries; output and objective "
        "perturbation are audited exactly."
    )


def _exact(plan: "Plan", progress: Callable[[float], None]) -> "Finding | None":
    """Return the exact finding for output and objective perturbation; None for other plans."""
    from dperm.audit import exact
    from dperm.methods.objective import ObjectivePlan
    from dperm.methods.output import OutputPlan

    try:
        if isinstance(plan, OutputPlan):
            return exact.output(plan, progress=progress)
        if isinstance(plan, ObjectivePlan):
            return exact.objective(plan, progress=progress)
    except AssumptionError:  # a loss without a known law
        return None
    return None
