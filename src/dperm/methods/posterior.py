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
from dperm.methods.constants import gradient_sensitivity
from dperm.methods.plan import Plan
from dperm.methods.rejection import MOST_INEXACT, RejectionSampler, affordable_strength
from dperm.methods.rules import Choice, regularized
from dperm.noise.bits import Stream
from dperm.privacy import Adjacency, ApproxDP
from dperm.privacy.guarantee import AnyGuarantee
from dperm.privacy.rounding import lowered
from dperm.theory.posterior import inexact_mu, minami_temperature, posterior_mu, posterior_temperature

THEOREMS = ("T50", "T51")
FAILURE = 1e-3
"""Of delta, what covers that no proposal is accepted."""
USUAL_TRIALS = 10**5
"""Where Lambda is chosen by rule, it is large enough for so many proposals at most."""
ROUNDING = 0.02
"""Rounding may change the logarithm of the density by this much of mu: it costs 2.6 times as much (T52a)."""
ROOM = 1.25
"""Under add/remove, rows that are allowed for each of the declared n."""
TRIALS = "It is the number of proposals that the sampler may need at worst."
ROWS = "It is the largest number of rows that are accepted; the sampler's cap is proved for as many."
TIME = (
    "How long the sampler takes depends on the data: whoever may see the running time learns something about them "
    "that is not in the guarantee (T52)."
)


@dataclass(frozen=True)
class PosteriorSampling:
    """One exact sample of exp(-tau J), J the regularised loss; along curvature h its variance is 1/(tau (h + Lambda)).

    With tau = mu^2 Lambda / Delta_g^2, Delta_g the most that one record moves the sum of gradients, it is mu-GDP (T50):
    the regulariser of tau J is tau Lambda-strongly convex. Any convex Lipschitz loss will do, with a kink too. The
    sampler is exact, by rejection, with a cap on its trials that holds for every data set and is paid for in delta
    (`dperm.methods.rejection`): that is practical for few records or few columns only, and refused elsewhere. Samplers
    that are said to have converged have no guarantee (T52).

    **Side channel.** The number of trials, so the running time, depends on the data. It is in no guarantee.

    Parameters
    ----------
    theorem
        "T50" for the exact temperature, "T51" for the smaller one of Minami and others, under replace-one.
    most_trials
        Refuse to plan if more proposals could be needed.
    most_rows
        Under add/remove, the number of rows for which the cap is proved; a quarter more than the declared n if left
        out. Under replace-one it is n.

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

    def __post_init__(self) -> None:
        """Check what was given."""
        if self.theorem == "T49":
            raise AssumptionError(
                'theorem="T49" is about bounded losses: those of linear models are not bounded, and no exact sampler '
                "of a posterior over all coefficients is offered for it. Use FiniteClass, or theorem='T50'."
            )
        if self.theorem not in THEOREMS:
            raise ParameterError(f"theorem must be one of {', '.join(THEOREMS)}, got {shown(self.theorem)}.")
        checks.count("most_trials", self.most_trials, TRIALS)
        if self.most_rows is not None:
            checks.count("most_rows", self.most_rows, ROWS)

    def plan(self, spec: ProblemSpec, goal: AnyGuarantee) -> "PosteriorPlan":
        """A temperature, and a sampler with a cap on its trials, that together meet ``goal``."""
        goal = approximate_goal(goal)
        require_convex(spec)
        rows = self._rows(spec, goal.adjacency)
        spec, reasons = regularized(spec, goal, partial(posterior_regularization, rows=rows))
        sampler = self._sampler(spec, goal, rows)
        reasons.append(
            f"The posterior is tempered to tau = {sampler.temperature:.3g} ({self.theorem}), for gradients of at most "
            f"{spec.lipschitz:.3g} and Lambda = {spec.strength:.3g}; at most {sampler.trials} proposals are tried, for "
            f"one in {1 / sampler.acceptance:.3g} is accepted at worst. {TIME}"
        )
        return PosteriorPlan(spec, goal, tuple(reasons), sampler.tolerance, None, sampler, self.theorem, row_bound=rows)

    def _rows(self, spec: ProblemSpec, adjacency: Adjacency) -> int:
        """N, which has to be public."""
        if spec.n is None:
            raise ParameterError(
                'n must be given for method="posterior": how many proposals the sampler needs at worst is proved for a '
                "number of records, which is not taken from the data (T52). Declare a public n, a rough one will do."
            )
        if adjacency is Adjacency.REPLACE_ONE:
            return spec.n
        return math.ceil(ROOM * spec.n) if self.most_rows is None else int(self.most_rows)

    def _sampler(self, spec: ProblemSpec, goal: ApproxDP, rows: int) -> RejectionSampler:
        """The sampler with the highest temperature whose event is certified."""
        mu = gaussian_mu(_kept(goal))
        sampler = self._tempered(spec, goal, rows, mu)
        self._require_feasible(sampler, mu)
        left = mu - (inexact_mu(mu, sampler.inexactness) - mu)
        for ulps in PUSHES:
            sampler = self._tempered(spec, goal, rows, lowered(left, 32 + 4 * ulps))
            if covers(goal, sampler_event(sampler, goal)):
                return sampler
        raise AssumptionError("no temperature near the exact one could be certified. Ask for a goal a little larger.")

    def _tempered(self, spec: ProblemSpec, goal: ApproxDP, rows: int, mu: float) -> RejectionSampler:
        """At the temperature of the theorem: tau = t sqrt(m) with m = tau Lambda is t^2 Lambda."""
        if self.theorem == "T50":
            t = posterior_temperature(mu, spec.lipschitz, strength=1.0, adjacency=goal.adjacency)
        else:
            kept = _kept(goal)
            t = minami_temperature(
                kept.epsilon, kept.delta, strength=1.0, adjacency=kept.adjacency, lipschitz=spec.lipschitz
            )
        return RejectionSampler(spec, lowered(t * t * spec.strength), rows, allowed_failure(goal))

    def _require_feasible(self, sampler: RejectionSampler, mu: float) -> None:
        """Refuse what the sampler may not get done, or not exactly enough."""
        spec = sampler.spec
        if sampler.trials > self.most_trials:
            raise AssumptionError(
                f"no sampler that is exact for every data set is known for {sampler.rows} rows, {spec.dim} "
                f"coefficients and Lambda = {spec.strength:.3g}: {float(sampler.trials):.3g} proposals could be "
                f"needed, and most_trials={self.most_trials} are allowed (T52). {_remedies(spec)}"
            )
        if sampler.inexactness > min(MOST_INEXACT, ROUNDING * mu):
            raise AssumptionError(
                f"rounding errors on {sampler.rows} rows may change the posterior's density by a factor "
                f"e^{sampler.inexactness:.3g}, too much for this goal (T52a). Give fewer records, or use "
                f'method="gradient".'
            )


@dataclass(frozen=True)
class PosteriorPlan(Plan):
    """A plan of `PosteriorSampling`."""

    sampler: RejectionSampler
    theorem: str

    method: ClassVar[str] = "posterior"

    @cached_property
    def event(self) -> Event:
        """A Gaussian, and that no proposal is accepted."""
        return sampler_event(self.sampler, self.goal)

    @property
    def theorems(self) -> tuple[str, ...]:
        """The temperature, the sampler, its rounding."""
        clipped = ("T44",) if self.spec.clip else ()
        return tuple(dict.fromkeys((self.theorem, "T50", "T52", "T52a", "T52b", "T10", "T54", *clipped)))

    @property
    def noise(self) -> str:
        """What is random."""
        return (
            f"one sample of the posterior to the power {self.sampler.temperature:.6g}, by exact rejection of Gaussian "
            f"proposals on the grid 2^{self.sampler.grid.exponent}"
        )

    @property
    def numbers(self) -> dict[str, object]:
        """The sampler's."""
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
        """Accepted proposals lie in a cube."""
        return math.sqrt(self.spec.dim) * self.sampler.limit

    def learn(self, data: BoundedData, stream: Stream) -> Floats:
        """The sample."""
        return self.sampler.sample(data, stream)


def sampler_mu(sampler: RejectionSampler, adjacency: Adjacency) -> float:
    """The mu of what the sampler accepts: T50 with m = 1/sigma^2, and T52a for rounding."""
    spec = sampler.spec
    exact = posterior_mu(sampler.temperature, spec.lipschitz, strength=sampler.convexity, adjacency=adjacency)
    return inexact_mu(exact, sampler.inexactness)


def sampler_event(sampler: RejectionSampler, goal: AnyGuarantee) -> Event:
    """A Gaussian of that mu, and zeta for the cap (`dperm.methods.rejection`)."""
    mu = sampler_mu(sampler, goal.adjacency)
    sampled = noise_event(Gaussian, Calibration(1.0, sampler.grid, mu), goal.adjacency)
    return sampled + Approximate(0.0, sampler.failure, goal.adjacency)


def approximate_goal(goal: AnyGuarantee) -> ApproxDP:
    """``goal``, if it leaves a delta: T50 is no pure guarantee, and the cap on the trials is paid for in delta."""
    goal = checked_goal(goal)
    if isinstance(goal, ApproxDP) and goal.delta > 0:
        return goal
    raise ConversionError(
        f'method="posterior" needs delta > 0: T50 is a Gaussian guarantee, and the sampler\'s cap on its trials needs '
        f"a delta of its own (T52); it has ApproxDP(epsilon, delta, adjacency), got goal={shown(goal)}. Give "
        f'delta > 0. For a pure guarantee use FiniteClass, or method="objective" with a smooth loss; for GDP, ZCDP and '
        f'RDP method="gradient".'
    )


def require_convex(spec: ProblemSpec) -> None:
    """Refuse a clip under which gradients are those of no convex function: T50 is about convex losses."""
    if spec.outputs > 1 and spec.is_clipped:
        raise AssumptionError(
            f"a posterior needs convex losses (T50), and clipped gradients of the loss {spec.loss.name!r} belong to "
            f"none (T44 is about one score), got clip={spec.clip:.6g} below the longest gradient "
            f'{spec.radius * spec.loss.slope:.6g}. Leave out clip, or use method="gradient".'
        )


def posterior_regularization(spec: ProblemSpec, goal: AnyGuarantee, *, rows: int) -> Choice:
    """Lambda for posterior sampling.

    A sample varies by 1/(tau (h + Lambda)) = sigma0^2/(Lambda (h + Lambda)) along curvature h, sigma0 = Delta_g/mu. In
    the model of `dperm.methods.rules` this costs h/2 times it, sigma0^2/(2 Lambda) at most, and the regularisation
    Lambda t^2/8 at most. Summed over d directions the two are least at Lambda = 2 sigma0 sqrt(d)/R0, with
    R0 = sqrt(d)/R at 2 R sigma0. Never less than the sampler can bear: few trials need a posterior that is not much
    narrower than its regulariser.
    """
    sigma = gradient_sensitivity(spec, goal.adjacency) / gaussian_mu(goal)
    wanted = 2 * spec.radius * sigma
    needed = -1.05 * math.log(allowed_failure(approximate_goal(goal))) / USUAL_TRIALS
    least = affordable_strength(spec, rows, acceptance=min(needed, 0.5))
    value = min(max(wanted, least, 1e-30), 1e30)
    reason = (
        f"so that {USUAL_TRIALS} proposals are enough for every data set of {rows} rows"
        if least > wanted
        else f"from noise of deviation {sigma:.3g} on the sum of gradients"
    )
    return Choice(value, f"Lambda = {value:.3g} (C = {1 / value:.3g}) was chosen {reason}.")


def allowed_failure(goal: ApproxDP) -> float:
    """Zeta, the share of delta that covers the cap (`dperm.methods.rejection`)."""
    return lowered(FAILURE * goal.delta)


def _kept(goal: ApproxDP) -> ApproxDP:
    """The goal without what covers the cap."""
    return ApproxDP(goal.epsilon, lowered((1 - FAILURE) * goal.delta), goal.adjacency)


def _remedies(spec: ProblemSpec) -> str:
    """With a kink the bound hardly depends on Lambda, but on the temperature; without one it is the other way round."""
    helps = "a smaller C" if math.isfinite(spec.smoothness) else "a smaller epsilon"
    smooth = 'loss="huber_hinge", ' if math.isinf(spec.smoothness) and spec.loss.labels is LabelKind.SIGN else ""
    return f'Give {smooth}{helps}, fewer features or fewer records, or use method="gradient" or method="sgd".'
