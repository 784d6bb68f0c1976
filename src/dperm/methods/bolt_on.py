# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Bolt-on privacy: stochastic gradient descent without noise, then noise added once to the last iterate (T33, T34).

An update with a batch B of the records is theta <- theta - eta (sum_B g_i / b + gamma theta), for the mean objective.
Here eta is the step size, g_i is the gradient of record i, gamma = Lambda / n, and b is the batch size, also for the
smaller last batch of a pass.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar, cast

import numpy as np
from numpy.typing import NDArray

from dperm import checks
from dperm.accounting.event import Event
from dperm.checks import shown
from dperm.data.arrays import Floats
from dperm.data.bounded import BoundedData
from dperm.erm.gradient import batch_gradient, loss_gradient
from dperm.erm.rounding import HIGHER_ORDERS, ULP, gradient_error
from dperm.erm.spec import ProblemSpec
from dperm.errors import AdjacencyError, AssumptionError, ParameterError
from dperm.mechanisms.additive import AdditiveMechanism
from dperm.mechanisms.goal import checked_goal
from dperm.methods.coefficient_noise import (
    NOISES,
    PURE_NOISE_IS_SMALLER,
    checked_noise,
    coefficient_noise,
    explain_noise,
    noise_law,
)
from dperm.methods.conditions import is_pure, require_gradient_of_loss, smooth_alternatives
from dperm.methods.defaults import output_regularization, prefers_gamma_norm, with_default_regularization
from dperm.methods.plan import Plan, noise_norm
from dperm.noise.bits import Stream
from dperm.presentation.facts import Fact
from dperm.presentation.spelling import arg, quoted_arg
from dperm.privacy import Adjacency
from dperm.privacy.guarantee import AnyGuarantee
from dperm.sensitivity.stopped_descent import (
    Passes,
    constant_step_sensitivity,
    decreasing_step_sensitivity,
    descent_sensitivity,
)

Places = NDArray[np.int64]
UPDATE = 12
"""Units of rounding in an update, relative to eta (L + gamma ||theta||): sums, products and the step size itself."""
FULL = "full"
PASSES = 20
FULL_STEPS = 300
MOST_PASSES = 10**6
PASSES_ARE = "It is the number of visits to every record."
BATCH = 'It is the number of records of an update; "full" is all of them.'
STEP_SIZE = "It multiplies the gradient of the mean objective."


@dataclass(frozen=True)
class StoppedDescent:
    """Public settings of a descent stopped after a fixed number of updates.

    Attributes
    ----------
    run
        Records, passes and batch; a pass over one batch of all records is a step of gradient descent.
    lipschitz
        L of the data loss (T33).
    data_smoothness
        Beta of the data loss.
    strong_convexity
        gamma = Lambda / n; 0 without regularisation.
    step_size
        Constant; None for min(1/beta, 1/(gamma t)) at update t.
    """

    run: Passes
    lipschitz: float
    data_smoothness: float
    strong_convexity: float
    step_size: float | None

    @property
    def smoothness(self) -> float:
        """Beta of the objective with its regulariser, rounded up."""
        return (self.data_smoothness + self.strong_convexity) * (1 + 2.0**-50)

    @property
    def is_full(self) -> bool:
        """Whether each update uses all records."""
        return self.run.batch == self.run.records

    @property
    def updates(self) -> int:
        """Number T of updates in all passes."""
        return self.run.passes * self.run.updates

    @property
    def numbers(self) -> dict[str, object]:
        """Settings as stored in a record."""
        return {
            "passes": self.run.passes,
            "batch_size": self.run.batch,
            "step_size": self.step_size,
            "strong_convexity": self.strong_convexity,
            "objective_smoothness": self.smoothness,
        }

    def step(self, update: int) -> float:
        """Return the step size at update 1, 2, ..."""
        if self.step_size is not None:
            return self.step_size
        return min(1 / self.smoothness, 1 / (self.strong_convexity * update))

    @property
    def horizon(self) -> float:
        """Bound on the sum of all step sizes: T eta, or for decreasing steps at most T/beta and (1 + log T)/gamma."""
        count = self.updates
        if self.step_size is not None:
            return count * self.step_size
        return min(count / self.smoothness, (1 + math.log(count)) / self.strong_convexity)


def sensitivity(descent: StoppedDescent, adjacency: Adjacency) -> float:
    """Return the sensitivity of the last iterate for a replaced record: T33, or T34 for full gradient descent.

    Raises
    ------
    AdjacencyError
        Under add/remove.
    AssumptionError
        If the step size is too large for the theorem.
    """
    if descent.step_size is None:
        return decreasing_step_sensitivity(
            descent.run,
            strong_convexity=descent.strong_convexity,
            adjacency=adjacency,
            lipschitz=descent.lipschitz,
        )
    if descent.is_full:
        return descent_sensitivity(
            descent.run.records,
            descent.run.passes,
            step_size=descent.step_size,
            smoothness=descent.smoothness,
            adjacency=adjacency,
            lipschitz=descent.lipschitz,
            strong_convexity=descent.strong_convexity,
        )
    return constant_step_sensitivity(
        descent.run,
        step_size=descent.step_size,
        smoothness=descent.smoothness,
        adjacency=adjacency,
        lipschitz=descent.lipschitz,
        strong_convexity=descent.strong_convexity,
    )


def longest_iterate(descent: StoppedDescent) -> float:
    """Return a bound on ||theta|| of every iterate in exact arithmetic: L times the sum of the steps, at most L/gamma.

    An update is (1 - eta gamma) theta minus eta times a vector of norm at most L, a sum of at most b gradients over b.
    """
    most = descent.lipschitz * descent.horizon
    if descent.strong_convexity > 0:
        most = min(most, descent.lipschitz / descent.strong_convexity)
    return most * (1 + 2.0**-40)


def rounding_error(descent: StoppedDescent, spec: ProblemSpec) -> float:
    """Return a bound on ||computed - exact|| of the last iterate, for every data set and every order of its records.

    Updates do not expand distances (T33), so the errors of all updates at most add up. At ||theta|| <= l an update with
    step eta has an error of eta e(l)/b, e the error of a batch's gradient (`gradient_error`), plus 12u eta (L + gamma
    l) and 2u l for its own operations. The 12 units include the rounding of the step.

    Iterates are at most l0 long in exact arithmetic. If the sum at l = 2 l0 is at most l0, no computed iterate is
    longer than 2 l0, by induction, and the sum is the bound.

    Raises
    ------
    AssumptionError
        If the sum is larger: then there are too many updates for doubles.
    """
    length, batch = 2 * longest_iterate(descent), descent.run.batch
    each = gradient_error(replace(spec, regularization=None), batch, length) / batch
    each += UPDATE * ULP * (descent.lipschitz + descent.strong_convexity * length)
    total = HIGHER_ORDERS * (descent.horizon * each + 2 * ULP * descent.updates * length)
    if 2 * total > length:
        raise AssumptionError(
            f"{arg('passes')} and {arg('batch_size')} give {descent.updates} updates with Lambda = "
            f"{spec.regularization}, too "
            f"many for a bound on their rounding errors.",
            remedy=f"Choose fewer {arg('passes')}, a larger {arg('batch_size')} or a smaller {arg('C')}.",
        )
    return total


def last_iterate(
    descent: StoppedDescent, gradient: Callable[[Floats, Places | None], Floats], dim: int, stream: Stream
) -> Floats:
    """Descend from 0 and return the last iterate.

    ``gradient`` returns the sum over the records at some places, or over all records for None.
    """
    theta = np.zeros(dim)
    for update, places in enumerate(_batches(descent, stream), start=1):
        slope = gradient(theta, places) / descent.run.batch + descent.strong_convexity * theta
        theta = theta - descent.step(update) * slope
    return theta


def _batches(descent: StoppedDescent, stream: Stream) -> Iterator[Places | None]:
    run = descent.run
    for _ in range(run.passes):
        if descent.is_full:
            yield None
            continue
        order = random_order(run.records, stream)
        yield from (order[start : start + run.batch] for start in range(0, run.records, run.batch))


def random_order(count: int, stream: Stream) -> Places:
    """Return a random order of 0, ..., count - 1, independent of the data.

    It sorts random words, so it is uniform except for ties of probability count^2 / 2^65. No guarantee rests on this:
    the theorems hold for every fixed order, so for a random one, and the order may be public.
    """
    return np.argsort(stream.words(count), kind="stable")


@dataclass(frozen=True)
class BoltOn:
    """Permutation SGD with noise added once, to the last iterate (T33), under replace_one only.

    SGD makes passes over the records in random order. With decreasing step sizes, the noise is calibrated to the
    sensitivity 2L/Lambda, as in output perturbation. With a constant step size, the noise is calibrated to the
    sensitivity for this step size (T33, T34). The released point need not be near a minimiser, so the method needs no
    certificate of a minimiser.

    Here L bounds the norm of the gradient of one record (`ProblemSpec.lipschitz`), Lambda is
    `ProblemSpec.regularization`, n is the number of records, and beta is the smoothness of the mean objective. If a
    parameter is None, its default is computed from public constants.

    Parameters
    ----------
    passes
        Number k of passes over the records, by default 20. With ``batch_size="full"``, number T of steps of gradient
        descent, by default 300.
    batch_size
        Batch size b, or "full" for gradient descent on all records (T34).
    step_size
        Constant step size for the gradient of the mean objective, at most 1/beta. If Lambda is not given, the step size
        may be up to 2/beta; early stopping then replaces regularisation. By default, the step size at update t = 1, 2,
        ... is min(1/beta, 1/(gamma t)), where gamma = Lambda/n. With ``batch_size="full"``, the default is 1/beta.
    noise
        "gaussian", "gamma_norm", "laplace" or "auto". "auto" chooses Gaussian or gamma-norm noise, depending on which
        of them meets the goal with less noise.

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

    plans_from_event: ClassVar[bool] = False

    def __post_init__(self) -> None:
        """Check the ranges of all given settings."""
        if self.passes is not None:
            checks.count("passes", self.passes, PASSES_ARE, most=MOST_PASSES)
        if isinstance(self.batch_size, str) and self.batch_size != FULL:
            raise ParameterError(
                argument="batch_size", rule='must be a whole number or "full"', got=shown(self.batch_size)
            )
        if self.batch_size is not None and self.batch_size != FULL:
            checks.count("batch_size", self.batch_size, BATCH)
        if self.step_size is not None:
            checks.between("step_size", self.step_size, 1e-100, 1e100, STEP_SIZE)
        checked_noise(self.noise, NOISES)

    def plan(self, spec: ProblemSpec, goal: AnyGuarantee) -> "BoltOnPlan":
        """Return a plan with noise calibrated to the sensitivity of the last iterate plus its rounding error.

        Parameters
        ----------
        spec
            Public constants of the problem.
        goal
            Guarantee to meet.

        Returns
        -------
        BoltOnPlan
            Plan that meets ``goal``.

        Raises
        ------
        AssumptionError
            If a condition of the method's theorem does not hold. The message states a remedy.
        AdjacencyError
            If the goal is under add_remove.
        ParameterError
            If ``spec.n`` is None, or a setting is out of range.
        """
        goal = checked_goal(goal)
        records = _public_n(spec, goal)
        _require_smooth(spec)
        reasons: list[Fact] = []
        if self.step_size is None:
            spec, reasons = with_default_regularization(spec, goal, output_regularization)
        descent = self._descent(spec, records)
        mechanism = self._mechanism(spec, goal, descent)
        reasons.append(
            Fact(
                "noise.bolt_on",
                "{passes} passes over {@n:{n}} records in batches of size {batch}. One record moves the last iterate "
                "by at most {sensitivity:.3g} (T33, T34), so {noise} of standard deviation {deviation:.3g} is added "
                f"to each coefficient.{explain_noise(mechanism)}",
                {
                    "passes": descent.run.passes,
                    "batch": descent.run.batch,
                    "n": records,
                    "sensitivity": mechanism.sensitivity,
                    "law": mechanism.name,
                    "noise": mechanism.law.family,
                    "deviation": mechanism.standard_deviation,
                },
            )
        )
        if not is_pure(goal) and self.noise == "auto" and prefers_gamma_norm(spec, goal):
            reasons.append(PURE_NOISE_IS_SMALLER)
        return BoltOnPlan(spec, goal, why=tuple(reasons), tolerance=None, output_noise=mechanism, descent=descent)

    def _descent(self, spec: ProblemSpec, records: int) -> StoppedDescent:
        """Return the settings of the descent, with defaults where nothing is given."""
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
        """Return the noise calibrated to sensitivity and rounding error."""
        moved, error = sensitivity(descent, goal.adjacency), rounding_error(descent, spec)
        law = noise_law(self.noise, spec, goal)
        return coefficient_noise(law, goal, dim=spec.dim, sensitivity=moved, numerical_error=error)


@dataclass(frozen=True)
class BoltOnPlan(Plan):
    """Plan of `BoltOn`. Its only noise is ``output_noise``, and ``descent`` has the settings of the run."""

    descent: StoppedDescent

    method: ClassVar[str] = "bolt_on"
    rows_in_memory: ClassVar[str] = "it updates the coefficients record by record in a random order"

    @property
    def mechanism(self) -> AdditiveMechanism:
        """Noise added to the last iterate."""
        return cast(AdditiveMechanism, self.output_noise)

    @cached_property
    def event(self) -> Event:
        """Event of the noise on the coefficients."""
        return self.mechanism.event

    @property
    def theorems(self) -> tuple[str, ...]:
        """Tags for the sensitivity and the noise."""
        proved = "T34" if self.descent.is_full and self.descent.step_size is not None else "T33"
        clipped = ("T44",) if self.spec.clip else ()
        return (proved, "T54", *clipped, *self.mechanism.facts.theorems)

    @property
    def noise(self) -> str:
        """Distribution of the noise on the coefficients."""
        return self.mechanism.law.words_at("on the coefficients")

    @property
    def noise_family(self) -> str:
        """Description of the noise without its rounding grid."""
        return f"{self.mechanism.law.family} on the coefficients"

    @property
    def numbers(self) -> dict[str, object]:
        """Settings of the descent and public numbers of the noise."""
        return {**self.descent.numbers, "output_noise": dict(self.mechanism.facts.public)}

    @property
    def longest(self) -> float:
        """Bound on the last iterate, rounding included (`rounding_error`), plus its noise."""
        return 2 * longest_iterate(self.descent) + noise_norm(self.mechanism, self.spec.dim)

    def learn(self, data: BoundedData, stream: Stream) -> Floats:
        """Return the last iterate plus noise."""
        return self.mechanism.noisy(self.stopped(data, stream), stream)

    def stopped(self, data: BoundedData, stream: Stream) -> Floats:
        """Return the last iterate, which is **not private**; ``stream`` draws the order of the records."""

        def gradient(theta: Floats, places: Places | None) -> Floats:
            if places is None:
                return loss_gradient(data, self.spec, theta)
            return batch_gradient(data, self.spec, theta, places)

        return last_iterate(self.descent, gradient, self.spec.dim, stream)


def default_batch(spec: ProblemSpec, records: int, passes: int) -> int:
    """Return the default batch size: the root of n, or less if k passes would give too few updates.

    Steps 1/(gamma t) need t well above the condition number beta/gamma = n beta / Lambda to settle, so there are at
    least ten updates for each unit of beta/gamma.
    """
    settled = passes * spec.strength / (10 * spec.smoothness) if spec.regularization else math.inf
    return max(1, min(math.isqrt(records), int(min(settled, records))))


def _public_n(spec: ProblemSpec, goal: AnyGuarantee) -> int:
    if goal.adjacency is not Adjacency.REPLACE_ONE:
        raise AdjacencyError(
            f"{quoted_arg('method', 'bolt_on')} is proved for {quoted_arg('adjacency', 'replace_one')} (T33, "
            f'T34), got "add_remove": the number of '
            "records sets the batches and must be public.",
            remedy=f"Use {quoted_arg('adjacency', 'replace_one')}, or {quoted_arg('method', 'gradient')} or "
            f"{quoted_arg('method', 'objective')}.",
        )
    if spec.n is None:
        raise ParameterError(
            argument="n",
            rule=f"must be declared for {quoted_arg('method', 'bolt_on')}: it sets the batches and the steps (T33)",
        )
    return spec.n


def _require_smooth(spec: ProblemSpec) -> None:
    if not math.isfinite(spec.smoothness):
        raise AssumptionError(
            f"{quoted_arg('method', 'bolt_on')} needs a smooth loss, got {spec.loss.name!r}: at a kink steps "
            f"push neighbours apart "
            f"(T33).",
            remedy=smooth_alternatives(spec.loss),
        )
    require_gradient_of_loss(spec, "bolt-on")
