# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Output perturbation: minimise, then add noise to the coefficients (T29-T32)."""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, cast

from dperm.accounting.event import Event
from dperm.data.arrays import Floats
from dperm.data.bounded import BoundedData
from dperm.erm.loss import Loss
from dperm.erm.minimize import minimize
from dperm.erm.rounding import minimizer_norm_bound
from dperm.erm.spec import ProblemSpec
from dperm.errors import AssumptionError
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
from dperm.methods.declared_event import declared_noise, noise_share, refuse_noise, require_goal_covers
from dperm.methods.defaults import output_regularization, with_default_regularization
from dperm.methods.plan import Plan, noise_norm, solver_tolerance
from dperm.noise.bits import Stream
from dperm.presentation.facts import Fact
from dperm.privacy.guarantee import AnyGuarantee
from dperm.sensitivity.minimizer import minimizer_error, output_sensitivity


@dataclass(frozen=True)
class OutputPerturbation:
    """Minimiser of the regularised problem plus noise calibrated to its sensitivity (T30, T31, T32).

    The sensitivity is L/Lambda under add_remove and 2L/Lambda under replace_one. Here L bounds the norm of the gradient
    of one record (`ProblemSpec.lipschitz`), and Lambda is `ProblemSpec.regularization`.

    Parameters
    ----------
    noise
        Distribution of the noise: "gaussian", "gamma_norm", "laplace" or "auto". For a pure goal, "auto" chooses
        gamma-norm noise, or Laplace noise for more than 2^20 coefficients. For other goals, "auto" chooses Gaussian or
        gamma-norm noise, whichever is smaller.

    Examples
    --------
    >>> from dperm import PureDP
    >>> from dperm.erm.losses import Logistic
    >>> from dperm.erm.spec import ProblemSpec
    >>> from dperm.methods import OutputPerturbation
    >>> spec = ProblemSpec(Logistic(), radius=1.0, dim=5, n=10_000, regularization=100.0)
    >>> plan = OutputPerturbation().plan(spec, PureDP(1.0, "replace_one"))
    >>> round(plan.output_noise.scale, 6)  # 2L / (Lambda epsilon), plus a fraction 1e-6 for the solver's tolerance
    0.02
    """

    noise: str = "auto"

    plans_from_event: ClassVar[bool] = True

    def __post_init__(self) -> None:
        """Check the name of the noise distribution."""
        checked_noise(self.noise, NOISES)

    def plan(self, spec: ProblemSpec, goal: AnyGuarantee) -> "OutputPlan":
        """Return a plan with noise calibrated to the sensitivity of the minimiser and to the error of the solver.

        Parameters
        ----------
        spec
            Public constants of the problem.
        goal
            Target privacy guarantee of the run.

        Returns
        -------
        OutputPlan
            The plan.

        Raises
        ------
        AssumptionError
            If a condition of the method's theorem does not hold. The message states a remedy.
        """
        goal = checked_goal(goal)
        require_smooth(spec)
        spec, reasons = with_default_regularization(spec, goal, output_regularization)
        tolerance = solver_tolerance(spec, adjacency=goal.adjacency)
        mechanism = self._mechanism(spec, goal, minimizer_error(spec, tolerance))
        reasons.append(noise_reason(output_sensitivity(spec, goal.adjacency), mechanism))
        if not is_pure(goal) and noise_law(self.noise, spec, goal) != "gaussian" and self.noise == "auto":
            reasons.append(PURE_NOISE_IS_SMALLER)
        return OutputPlan(spec, goal, why=tuple(reasons), tolerance=tolerance, output_noise=mechanism)

    def declare_event(
        self, goal: AnyGuarantee, loss: Loss, *, clip: float | None = None, n: int | None = None
    ) -> Event:
        """Return the accounting event of a plan for ``goal``, before the number of features is known (T70).

        The event is a single Gaussian event. It depends on ``goal`` only.

        Parameters
        ----------
        goal
            Guarantee of the training run alone, without other stages. It must not be pure, because the noise is
            Gaussian.
        loss
            Loss of the problem; not used.
        clip
            Clipping norm divided by the bound on the norm of a row; not used.
        n
            Public number of records; not used.

        Returns
        -------
        Event
            A Gaussian event.
        """
        refuse_noise(self.noise, "output")
        return declared_noise(goal)

    def plan_from_event(self, spec: ProblemSpec, event: Event, goal: AnyGuarantee) -> "OutputPlan":
        """Return a plan with exactly the declared event, once the problem is known (T70).

        The regularization strength of ``spec`` may have any positive value. The noise on the coefficients has at least
        the event's noise multiplier, relative to the sensitivity of the minimiser of ``spec`` (T30).

        Parameters
        ----------
        spec
            Constants of the problem; they may depend on earlier releases.
        event
            Result of `declare_event`.
        goal
            Goal that was passed to `declare_event`: the guarantee of the training run alone.

        Returns
        -------
        OutputPlan
            The plan.

        Raises
        ------
        ParameterError
            If ``event`` is not an event of this method, or its privacy loss exceeds ``goal``.
        """
        refuse_noise(self.noise, "output")
        share, goal = noise_share(event, goal), require_goal_covers(goal, event)
        require_smooth(spec)
        spec, reasons = with_default_regularization(spec, goal, output_regularization)
        tolerance = solver_tolerance(spec)
        moved, error = output_sensitivity(spec, goal.adjacency), minimizer_error(spec, tolerance)
        mechanism = coefficient_noise("gaussian", share, dim=spec.dim, sensitivity=moved, numerical_error=error)
        why = (*reasons, noise_reason(moved, mechanism))
        return OutputPlan(spec, goal, why=why, tolerance=tolerance, output_noise=mechanism, declared=event)

    def _mechanism(self, spec: ProblemSpec, goal: AnyGuarantee, error: float) -> AdditiveMechanism:
        """Return the calibrated noise; ``error`` bounds the distance to the exact minimiser (T31)."""
        moved = output_sensitivity(spec, goal.adjacency)
        law = noise_law(self.noise, spec, goal)
        return coefficient_noise(law, goal, dim=spec.dim, sensitivity=moved, numerical_error=error)


@dataclass(frozen=True)
class OutputPlan(Plan):
    """Plan of `OutputPerturbation`. The only noise is ``output_noise``."""

    method: ClassVar[str] = "output"

    @property
    def mechanism(self) -> AdditiveMechanism:
        """Noise added to the coefficients."""
        return cast(AdditiveMechanism, self.output_noise)

    @cached_property
    def event(self) -> Event:
        """Event of the noise on the coefficients."""
        return self.stated_event(self.mechanism.event)

    @property
    def theorems(self) -> tuple[str, ...]:
        """Tags of the theorems on the sensitivity, the tolerance and the noise."""
        clipped = (*("T44",) * bool(self.spec.clip), *("T70",) * (self.declared is not None))
        return ("T29", "T30", "T31", "T32", "T54", *clipped, *self.mechanism.facts.theorems)

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
        """Tolerance of the solver and public numbers of the noise."""
        return {"tolerance": self.tolerance, "output_noise": dict(self.mechanism.facts.public)}

    @property
    def longest(self) -> float:
        """Bound on the norm of the minimiser for the allowed number of rows, plus the norm of the noise."""
        return minimizer_norm_bound(self.spec, self.most_rows) + noise_norm(self.mechanism, self.spec.dim)

    def learn(self, data: BoundedData, stream: Stream) -> Floats:
        """Return the certified minimiser plus noise."""
        theta = minimize(data, self.spec, cast(float, self.tolerance))
        return self.mechanism.noisy(theta, stream)


def noise_reason(sensitivity: float, mechanism: AdditiveMechanism) -> Fact:
    """Return the sensitivity of the minimiser and the noise for it as a reason of the plan."""
    return Fact(
        "noise.output",
        "One record moves the minimizer by at most {sensitivity:.3g} (T30), so {noise} of standard "
        f"deviation {{deviation:.3g}} is added to each coefficient.{explain_noise(mechanism)}",
        {
            "sensitivity": sensitivity,
            "law": mechanism.name,
            "noise": mechanism.law.family,
            "deviation": mechanism.standard_deviation,
        },
    )


def require_smooth(spec: ProblemSpec) -> None:
    """Refuse a kink: T30 would allow it, but no solver certifies its minimiser by a small gradient (T31)."""
    if not math.isfinite(spec.smoothness):
        raise AssumptionError(
            f"output perturbation here needs a smooth loss, got {spec.loss.name!r}: a small gradient certifies the "
            f"distance to the minimiser (T31), and at a kink no gradient is small.",
            remedy=smooth_alternatives(spec.loss),
        )
    require_gradient_of_loss(spec, "output")
