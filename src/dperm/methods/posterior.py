# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Posterior sampling: release one sample of a tempered posterior (T50-T52)."""

import math
from dataclasses import dataclass
from functools import cached_property, partial
from typing import ClassVar

from dperm import checks
from dperm.accounting.event import Event
from dperm.accounting.events import Approximate, Gaussian
from dperm.checks import shown
from dperm.data.arrays import Floats
from dperm.data.bounded import BoundedData
from dperm.data.targets import LabelKind
from dperm.erm.spec import ProblemSpec
from dperm.errors import AssumptionError, ConversionError, ParameterError
from dperm.mechanisms.calibration import PUSHES, Calibration, covers, noise_event
from dperm.mechanisms.goal import checked_goal, gaussian_mu
from dperm.methods.defaults import Choice, chosen_strength, with_default_regularization
from dperm.methods.plan import Plan
from dperm.methods.rejection import MOST_INEXACT, RejectionSampler, affordable_strength
from dperm.noise.bits import Stream
from dperm.presentation.facts import Fact
from dperm.presentation.spelling import arg, quoted_arg
from dperm.privacy import Adjacency, ApproxDP
from dperm.privacy.guarantee import AnyGuarantee
from dperm.privacy.rounding import lowered
from dperm.sensitivity.minimizer import gradient_sensitivity
from dperm.sensitivity.posterior import (
    inexact_mu,
    minami_temperature,
    posterior_mu,
    posterior_temperature,
    tempered_objective_temperature,
)

THEOREMS = ("T50", "T51")
FAILURE = 1e-3
"""Share of delta for the event that no proposal is accepted."""
USUAL_TRIALS = 10**5
"""Largest number of proposals under a default Lambda."""
ROUNDING = 0.02
"""Largest change of the log-density by rounding, relative to mu; it costs 2.6 times as much (T52a)."""
ROOM = 1.25
"""Under add/remove, allowed rows for each of the declared n."""
TRIALS = "It is the largest number of proposals that the sampler may need."
ROWS = "It is the largest accepted number of rows; the sampler's cap is proved for it."
TIME = (
    "The running time of the sampler depends on the data. An observer of the running time learns something beyond the "
    "guarantee (T52)."
)


@dataclass(frozen=True)
class PosteriorSampling:
    """One exact sample from the density proportional to exp(-tau J), where J is the regularised loss.

    The factor tau is an inverse temperature. A sample with tau = mu^2 Lambda / Delta_g^2 is mu-GDP (T50), because the
    regulariser of tau J is strongly convex with constant tau Lambda. Here Lambda is `ProblemSpec.regularization`, and
    Delta_g is the sensitivity of the sum of gradients. In a direction in which the loss has curvature h, the variance
    of the sample is 1/(tau (h + Lambda)). The loss may be any convex Lipschitz function, including nonsmooth ones.

    Rejection sampling makes the sample exact. The limit on the number of proposals is proved for every data set, and a
    small part of delta covers the probability that the limit is exceeded (`dperm.methods.rejection`). The method is
    practical only for few records or few columns. For other problems, `plan` raises an error. Samplers that rely on
    empirical convergence diagnostics have no guarantee (T52).

    **Side channel.** The number of proposals, and therefore the running time, depends on the data. The guarantee does
    not cover the running time.

    Parameters
    ----------
    theorem
        Theorem that determines tau: "T50" for the formula above, or "T51" for the smaller tau of Minami et al., which
        requires replace-one adjacency and epsilon <= 1.
    most_trials
        Largest number of proposals. If more proposals could be needed, `plan` raises an error.
    most_rows
        Under add/remove, the largest accepted number of rows; the limit on the number of proposals is proved for this
        number. None uses 1.25 times the declared n. Under replace-one, this parameter is ignored, and the limit is
        proved for exactly n rows.

    Examples
    --------
    >>> from dperm import ApproxDP
    >>> from dperm.erm.losses import Logistic
    >>> from dperm.erm.spec import ProblemSpec
    >>> from dperm.methods.posterior import PosteriorSampling
    >>> spec = ProblemSpec(Logistic(), radius=1.0, dim=3, n=200, regularization=1.0)
    >>> plan = PosteriorSampling().plan(spec, ApproxDP(1.0, 1e-5, "add_remove"))
    >>> round(plan.sampler.temperature, 4)  # mu^2 for Lambda = L = 1
    0.0718
    """

    theorem: str = "T50"
    most_trials: int = 10**7
    most_rows: int | None = None

    plans_from_event: ClassVar[bool] = False

    def __post_init__(self) -> None:
        """Check the theorem and both limits."""
        if self.theorem == "T49":
            raise AssumptionError(
                f"{quoted_arg('theorem', 'T49')} is about bounded losses: those of linear models are not "
                f"bounded, and there is no "
                "exact sampler of a posterior over all coefficients for it.",
                remedy=f"Use FiniteClass, or {quoted_arg('theorem', 'T50')}.",
            )
        if self.theorem not in THEOREMS:
            raise ParameterError(
                argument="theorem", rule=f"must be one of {', '.join(THEOREMS)}", got=shown(self.theorem)
            )
        checks.count("most_trials", self.most_trials, TRIALS)
        if self.most_rows is not None:
            checks.count("most_rows", self.most_rows, ROWS)

    def plan(self, spec: ProblemSpec, goal: AnyGuarantee) -> "PosteriorPlan":
        """Return a plan with an inverse temperature tau and a limit on proposals, which together meet ``goal``.

        Parameters
        ----------
        spec
            Public constants of the problem.
        goal
            Target privacy guarantee of the run.

        Returns
        -------
        PosteriorPlan
            The plan.

        Raises
        ------
        AssumptionError
            If a condition of the method's theorem does not hold. The message states a remedy.
        """
        goal = approximate_goal(goal)
        require_convex(spec)
        rows = self._rows(spec, goal.adjacency)
        spec, reasons = with_default_regularization(spec, goal, partial(posterior_regularization, rows=rows))
        sampler = self._sampler(spec, goal, rows)
        reasons.append(
            Fact(
                "noise.posterior",
                "The posterior is tempered to tau = {temperature:.3g} ({theorem}), calibrated to per-record gradients "
                "of norm at most {gradient:.3g} and Lambda = {strength:.3g}. At most {trials} proposals are tried; at "
                "worst, one in {proposals:.3g} is accepted. " + TIME,
                {
                    "temperature": sampler.temperature,
                    "theorem": self.theorem,
                    "gradient": spec.lipschitz,
                    "strength": spec.strength,
                    "trials": sampler.trials,
                    "proposals": 1 / sampler.acceptance,
                },
            )
        )
        return PosteriorPlan(
            spec,
            goal,
            why=tuple(reasons),
            tolerance=sampler.tolerance,
            output_noise=None,
            sampler=sampler,
            theorem=self.theorem,
            row_bound=rows,
        )

    def _rows(self, spec: ProblemSpec, adjacency: Adjacency) -> int:
        """Return N, the public limit on the number of rows."""
        if spec.n is None:
            raise ParameterError(
                argument="n",
                rule=f"must be declared for {quoted_arg('method', 'posterior')}: the largest number of "
                f"proposals is proved for a "
                "public number of records (T52)",
                remedy="A rough public number is enough.",
            )
        if adjacency is Adjacency.REPLACE_ONE:
            return spec.n
        return math.ceil(ROOM * spec.n) if self.most_rows is None else int(self.most_rows)

    def _sampler(self, spec: ProblemSpec, goal: ApproxDP, rows: int) -> RejectionSampler:
        """Return the sampler with the largest certified inverse temperature."""
        mu = gaussian_mu(_kept(goal))
        sampler = self._tempered(spec, goal, rows, mu)
        self._require_feasible(sampler, mu)
        left = mu - (inexact_mu(mu, sampler.inexactness) - mu)
        for ulps in PUSHES:
            sampler = self._tempered(spec, goal, rows, lowered(left, 32 + 4 * ulps))
            if covers(goal, sampler_event(sampler, goal)):
                return sampler
        raise AssumptionError(
            "no temperature near the exact one could be certified.", remedy="Choose a slightly larger goal."
        )

    def _tempered(self, spec: ProblemSpec, goal: ApproxDP, rows: int, mu: float) -> RejectionSampler:
        """Return the sampler at the temperature of the theorem."""
        if self.theorem == "T50":
            t = posterior_temperature(mu, spec.lipschitz, strength=1.0, adjacency=goal.adjacency)
        else:
            kept = _kept(goal)
            t = minami_temperature(
                kept.epsilon, kept.delta, strength=1.0, adjacency=kept.adjacency, lipschitz=spec.lipschitz
            )
        return RejectionSampler(spec, tempered_objective_temperature(t, spec.strength), rows, allowed_failure(goal))

    def _require_feasible(self, sampler: RejectionSampler, mu: float) -> None:
        """Refuse problems with too many possible trials or too large rounding errors."""
        spec = sampler.spec
        if sampler.trials > self.most_trials:
            raise AssumptionError(
                f"no sampler that is exact for every data set is known for {sampler.rows} rows, {spec.dim} "
                f"coefficients and Lambda = {spec.strength:.3g}: {float(sampler.trials):.3g} proposals could be "
                f"needed, more than {arg('most_trials', self.most_trials)} (T52).",
                remedy=_remedies(spec),
            )
        if sampler.inexactness > min(MOST_INEXACT, ROUNDING * mu):
            raise AssumptionError(
                f"rounding errors on {sampler.rows} rows may change the posterior's density by a factor of "
                f"e^{sampler.inexactness:.3g}, too much for this goal (T52a).",
                remedy=f"Use fewer records, or {quoted_arg('method', 'gradient')}.",
            )


@dataclass(frozen=True)
class PosteriorPlan(Plan):
    """Plan of `PosteriorSampling`, with its sampler and the theorem that determines the temperature."""

    sampler: RejectionSampler
    theorem: str

    method: ClassVar[str] = "posterior"
    rows_in_memory: ClassVar[str] = "it evaluates the loss at many points"

    @cached_property
    def event(self) -> Event:
        """Gaussian event of the sample, plus the probability that the limit on proposals is exceeded."""
        return sampler_event(self.sampler, self.goal)

    @property
    def theorems(self) -> tuple[str, ...]:
        """Tags of the theorems on the temperature, the sampler and its rounding errors."""
        clipped = ("T44",) if self.spec.clip else ()
        return tuple(dict.fromkeys((self.theorem, "T50", "T52", "T52a", "T52b", "T10", "T54", *clipped)))

    @property
    def noise(self) -> str:
        """Distribution of the released sample."""
        return (
            f"one sample of the posterior to the power {self.sampler.temperature:.6g}, by exact rejection of Gaussian "
            f"proposals on multiples of 2^{self.sampler.grid.exponent}"
        )

    @property
    def numbers(self) -> dict[str, object]:
        """Public numbers of the sampler."""
        sampler = self.sampler
        return {
            "theorem": self.theorem,
            "temperature": sampler.temperature,
            "convexity": sampler.convexity,
            "mu": sampler_mu(sampler, self.adjacency),
            "tolerance": self.tolerance,
            "proposal_scale": sampler.deviation,
            "proposal_grid": sampler.grid.step,
            "most_trials": sampler.trials,
            "acceptance": sampler.acceptance,
            "failure": sampler.failure,
            "inexactness": sampler.inexactness,
            "largest_coefficient": sampler.limit,
        }

    @property
    def longest(self) -> float:
        """Bound on the norm of the sample, since proposals outside a cube are rejected."""
        return math.sqrt(self.spec.dim) * self.sampler.limit

    def learn(self, data: BoundedData, stream: Stream) -> Floats:
        """Return one sample of the posterior."""
        return self.sampler.sample(data, stream)


def sampler_mu(sampler: RejectionSampler, adjacency: Adjacency) -> float:
    """Return the mu of an accepted sample: T50 with m = 1/sigma^2, and T52a for rounding."""
    spec = sampler.spec
    exact = posterior_mu(sampler.temperature, spec.lipschitz, strength=sampler.convexity, adjacency=adjacency)
    return inexact_mu(exact, sampler.inexactness)


def sampler_event(sampler: RejectionSampler, goal: AnyGuarantee) -> Event:
    """Return a Gaussian event of this mu, plus zeta for the cap (`dperm.methods.rejection`)."""
    mu = sampler_mu(sampler, goal.adjacency)
    sampled = noise_event(Gaussian, Calibration(1.0, sampler.grid, mu), goal.adjacency)
    return sampled + Approximate(0.0, sampler.failure, goal.adjacency)


def approximate_goal(goal: AnyGuarantee) -> ApproxDP:
    """Return ``goal`` if it has delta > 0: T50 is not a pure guarantee, and the cap on the trials costs delta.

    Raises
    ------
    ConversionError
        For any other goal.
    """
    goal = checked_goal(goal)
    if isinstance(goal, ApproxDP) and goal.delta > 0:
        return goal
    raise ConversionError(
        f"{quoted_arg('method', 'posterior')} needs delta > 0, as in ApproxDP(epsilon, delta, adjacency): T50 "
        f"is a Gaussian "
        f"guarantee, and the cap on the sampler's trials costs delta (T52), got goal={shown(goal)}.",
        remedy=f"Set delta > 0. For a pure guarantee use FiniteClass, or {quoted_arg('method', 'objective')} "
        f"with a smooth loss; for "
        f"GDP, ZCDP and RDP {quoted_arg('method', 'gradient')}.",
    )


def require_convex(spec: ProblemSpec) -> None:
    """Refuse a clip whose gradients belong to no convex function: T50 is about convex losses."""
    if spec.outputs > 1 and spec.is_clipped:
        raise AssumptionError(
            f"a posterior needs convex losses (T50), but clipped gradients of the loss {spec.loss.name!r} belong to "
            f"none (T44 is about one score), got {arg('clip', format(spec.clip, '.6g'))} below the longest gradient "
            f"{spec.radius * spec.loss.slope:.6g}.",
            remedy=f"Leave {arg('clip')} out, or use {quoted_arg('method', 'gradient')}.",
        )


def posterior_regularization(spec: ProblemSpec, goal: AnyGuarantee, *, rows: int) -> Choice:
    """Return Lambda for posterior sampling.

    A sample has variance 1/(tau (h + Lambda)) = sigma0^2/(Lambda (h + Lambda)) along curvature h, sigma0 = Delta_g/mu.
    In the model of `dperm.methods.defaults` it costs h/2 times this, at most sigma0^2/(2 Lambda), and the
    regularisation costs at most Lambda t^2/8. Summed over d directions the cost is least at Lambda = 2 sigma0
    sqrt(d)/R0, which is 2 R sigma0 for R0 = sqrt(d)/R. It is never below the limit of the sampler: few trials need a
    posterior not much narrower than its regulariser.
    """
    sigma = gradient_sensitivity(spec, goal.adjacency) / gaussian_mu(goal)
    wanted = 2 * spec.radius * sigma
    needed = -1.05 * math.log(allowed_failure(approximate_goal(goal))) / USUAL_TRIALS
    least = affordable_strength(spec, rows, acceptance=min(needed, 0.5))
    if least > wanted:
        cause = "so that {trials} proposals are enough for every data set of {rows} rows"
        return chosen_strength(least, "sampler", cause, trials=USUAL_TRIALS, rows=rows)
    return chosen_strength(
        wanted, "noise", "for noise of standard deviation {noise:.3g} on the sum of gradients", noise=sigma
    )


def allowed_failure(goal: ApproxDP) -> float:
    """Return zeta, the share of delta for the cap (`dperm.methods.rejection`)."""
    return lowered(FAILURE * goal.delta)


def _kept(goal: ApproxDP) -> ApproxDP:
    """Return the goal without the share of delta for the cap."""
    return ApproxDP(goal.epsilon, lowered((1 - FAILURE) * goal.delta), goal.adjacency)


def _remedies(spec: ProblemSpec) -> str:
    """Return remedies: with a kink the bound depends on the temperature, without one on Lambda."""
    helps = "a smaller C" if math.isfinite(spec.smoothness) else "a smaller epsilon"
    smooth = 'loss="huber_hinge", ' if math.isinf(spec.smoothness) and spec.loss.labels is LabelKind.SIGN else ""
    return (
        f"Use {smooth}{helps}, fewer features or fewer records, or {quoted_arg('method', 'gradient')} or "
        f"{quoted_arg('method', 'sgd')}."
    )
