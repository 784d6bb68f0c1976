# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Bolt-on privacy: stochastic gradient descent without noise, and noise once on its last iterate (T33, T34)."""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, cast

from dperm import checks
from dperm.accounting.event import Event
from dperm.checks import shown
from dperm.data.arrays import Floats
from dperm.data.bounded import BoundedData
from dperm.erm.gradient import batch_gradient, loss_gradient
from dperm.erm.spec import ProblemSpec
from dperm.errors import AdjacencyError, AssumptionError, ParameterError
from dperm.mechanisms.additive import AdditiveMechanism
from dperm.mechanisms.goal import checked_goal
from dperm.methods.coefficient_noise import NOISES, coefficient_noise, law_of
from dperm.methods.constants import (
    PURE_NOISE_IS_SMALLER,
    checked_noise,
    is_pure,
    require_gradient_of_loss,
    without_kink,
)
from dperm.methods.plan import Plan, noise_norm
from dperm.methods.rules import output_regularization, prefers_gamma_norm, regularized
from dperm.methods.stopped_descent import (
    Places,
    StoppedDescent,
    last_iterate,
    longest_iterate,
    rounding_error,
    sensitivity,
)
from dperm.noise.bits import Stream
from dperm.presentation.facts import Fact
from dperm.privacy import Adjacency
from dperm.privacy.guarantee import AnyGuarantee
from dperm.sensitivity.stopped_descent import Passes

FULL = "full"
PASSES = 20
FULL_STEPS = 300
MOST_PASSES = 10**6
PASSES_ARE = "It is how often every record is visited."
BATCH = 'It is the number of records of an update; "full" is all of them.'
STEP_SIZE = "It multiplies the gradient of the mean objective."


@dataclass(frozen=True)
class BoltOn:
    """SGD in passes over the records in random order, its last iterate perturbed once (T33). Under replace_one only.

    The noise is that of output perturbation, 2L/Lambda, and no minimiser has to be certified: what is released need not
    be near one. What is left open follows from public constants.

    Parameters
    ----------
    passes
        Number of passes k; with ``batch_size="full"`` of steps T.
    batch_size
        b, or "full" for gradient descent on all records (T34).
    step_size
        A constant step for the gradient of the mean objective, at most 1/beta; up to 2/beta where Lambda is not given:
        then there is no regularisation, and stopping early takes its place. If left out, steps are
        min(1/beta, 1/(gamma t)) at update t, gamma = Lambda/n, or 1/beta with ``batch_size="full"``.
    noise
        "gaussian", "gamma_norm" or "laplace"; "auto" is whichever of the first two is smaller and meets the goal.

    Examples
    --------
    >>> from dperm import PureDP
    >>> from dperm.erm.losses import Logistic
    >>> from dperm.erm.spec import ProblemSpec
    >>> from dperm.methods.bolt_on import BoltOn
    >>> spec = ProblemSpec(Logistic(), radius=1.0, dim=5, n=10_000, regularization=100.0)
    >>> plan = BoltOn(passes=10, batch_size=50).plan(spec, PureDP(1.0, "replace_one"))
    >>> round(plan.mechanism.scale, 6)  # 2L / (Lambda epsilon), for every batch size
    0.02
    """

    passes: int | None = None
    batch_size: int | str | None = None
    step_size: float | None = None
    noise: str = "auto"

    def __post_init__(self) -> None:
        """Check what was given."""
        if self.passes is not None:
            checks.count("passes", self.passes, PASSES_ARE, most=MOST_PASSES)
        if isinstance(self.batch_size, str) and self.batch_size != FULL:
            raise ParameterError(f'batch_size must be a whole number or "full", got {shown(self.batch_size)}.')
        if self.batch_size is not None and self.batch_size != FULL:
            checks.count("batch_size", self.batch_size, BATCH)
        if self.step_size is not None:
            checks.between("step_size", self.step_size, 1e-100, 1e100, STEP_SIZE)
        checked_noise(self.noise, NOISES)

    def plan(self, spec: ProblemSpec, goal: AnyGuarantee) -> "BoltOnPlan":
        """Noise to the sensitivity of the last iterate plus what rounding adds."""
        goal = checked_goal(goal)
        records = _public_n(spec, goal)
        _require_smooth(spec)
        reasons: list[Fact] = []
        if self.step_size is None:
            spec, reasons = regularized(spec, goal, output_regularization)
        descent = self._descent(spec, records)
        mechanism = self._mechanism(spec, goal, descent)
        reasons.append(
            Fact(
                "noise.bolt_on",
                "{passes} passes with {batch} of {@n:{n}} records in an update. One record moves the last iterate by "
                "at most {sensitivity:.3g} (T33, T34), so {law} noise of standard deviation {deviation:.3g} is added "
                "to each coefficient.",
                {
                    "passes": descent.run.passes,
                    "batch": descent.run.batch,
                    "n": records,
                    "sensitivity": mechanism.sensitivity,
                    "law": mechanism.name,
                    "deviation": mechanism.standard_deviation,
                },
            )
        )
        if not is_pure(goal) and self.noise == "auto" and prefers_gamma_norm(spec, goal):
            reasons.append(PURE_NOISE_IS_SMALLER)
        return BoltOnPlan(spec, goal, tuple(reasons), None, mechanism, descent)

    def _descent(self, spec: ProblemSpec, records: int) -> StoppedDescent:
        """What was given, and the default elsewhere."""
        gamma, full = (spec.regularization or 0.0) / records, self.batch_size == FULL
        passes = self.passes or (FULL_STEPS if full else PASSES)
        run = Passes(records, passes, records if full else self._batch(spec, records, passes), same_divisor=True)
        found = StoppedDescent(run, spec.lipschitz, spec.smoothness, gamma, self.step_size)
        if full and self.step_size is None:
            return StoppedDescent(run, spec.lipschitz, spec.smoothness, gamma, 1 / found.smoothness)
        return found

    def _batch(self, spec: ProblemSpec, records: int, passes: int) -> int:
        if self.batch_size is None:
            return default_batch(spec, records, passes)
        return checks.count("batch_size", self.batch_size, BATCH, most=records)

    def _mechanism(self, spec: ProblemSpec, goal: AnyGuarantee, descent: StoppedDescent) -> AdditiveMechanism:
        """The noise, calibrated."""
        moved, error = sensitivity(descent, goal.adjacency), rounding_error(descent, spec)
        law = law_of(self.noise, spec, goal)
        return coefficient_noise(law, goal, dim=spec.dim, sensitivity=moved, numerical_error=error)


@dataclass(frozen=True)
class BoltOnPlan(Plan):
    """A plan of `BoltOn`; ``output_noise`` is all its noise."""

    descent: StoppedDescent

    method: ClassVar[str] = "bolt_on"

    @property
    def mechanism(self) -> AdditiveMechanism:
        """The noise."""
        return cast(AdditiveMechanism, self.output_noise)

    @cached_property
    def event(self) -> Event:
        """That of the noise."""
        return self.mechanism.event

    @property
    def theorems(self) -> tuple[str, ...]:
        """The sensitivity and the noise."""
        proved = "T34" if self.descent.is_full and self.descent.step_size is not None else "T33"
        clipped = ("T44",) if self.spec.clip else ()
        return (proved, "T54", *clipped, *self.mechanism.facts.theorems)

    @property
    def noise(self) -> str:
        """Added to the coefficients."""
        return f"on the coefficients: {self.mechanism.law.words}"

    @property
    def numbers(self) -> dict[str, object]:
        """The descent's, and those of the noise."""
        return {**self.descent.numbers, "output_noise": dict(self.mechanism.facts.public)}

    @property
    def longest(self) -> float:
        """The last iterate, rounding included (`rounding_error`), and its noise."""
        return 2 * longest_iterate(self.descent) + noise_norm(self.mechanism, self.spec.dim)

    def learn(self, data: BoundedData, stream: Stream) -> Floats:
        """The last iterate plus noise."""
        return self.mechanism.noisy(self.stopped(data, stream), stream)

    def stopped(self, data: BoundedData, stream: Stream) -> Floats:
        """The last iterate, which is **not private**; ``stream`` draws the order of the records."""

        def gradient(theta: Floats, places: Places | None) -> Floats:
            if places is None:
                return loss_gradient(data, self.spec, theta)
            return batch_gradient(data, self.spec, theta, places)

        return last_iterate(self.descent, gradient, self.spec.dim, stream)


def default_batch(spec: ProblemSpec, records: int, passes: int) -> int:
    """The root of n, or less where k passes would have fewer than ten updates for each unit of beta/gamma.

    Steps 1/(gamma t) need t well above the condition number beta/gamma = n beta / Lambda to settle.
    """
    settled = passes * spec.strength / (10 * spec.smoothness) if spec.regularization else math.inf
    return max(1, min(math.isqrt(records), int(min(settled, records))))


def _public_n(spec: ProblemSpec, goal: AnyGuarantee) -> int:
    if goal.adjacency is not Adjacency.REPLACE_ONE:
        raise AdjacencyError(
            'method="bolt_on" is proved for adjacency="replace_one" (T33, T34), got "add_remove": the number of '
            'records sets the batches and has to be public. Use adjacency="replace_one", or method="gradient" or '
            'method="objective".'
        )
    if spec.n is None:
        raise ParameterError('n must be given for method="bolt_on": it sets the batches and the steps (T33).')
    return spec.n


def _require_smooth(spec: ProblemSpec) -> None:
    if not math.isfinite(spec.smoothness):
        raise AssumptionError(
            f'method="bolt_on" needs a smooth loss, got {spec.loss.name!r}: at a kink steps push neighbours apart '
            f"(T33). {without_kink(spec.loss)}"
        )
    require_gradient_of_loss(spec, "bolt-on")
