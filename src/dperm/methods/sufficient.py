# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Sufficient statistics: least squares from noisy sums of x x' and y x (AdaSSP, Wang 2018; T6, T19).

**Ridge.** The fit is post-processing (T3). The noise E on the matrix M = sum x x' is symmetric with entries of
deviation sigma on the diagonal and sigma / w, w = 181/128, off it. Up to w^2 < 2, which changes nothing below by more
than 2e-5, it is an isotropic Gaussian in the space of symmetric matrices. Its norm has mean at most sqrt(2d) sigma
(Sudakov and Fernique) and is a 1-Lipschitz function of the noise, so ||E|| <= sigma (sqrt(2d) + sqrt(2 log(1/rho)))
with probability 1 - rho.

Wang's ridge is sqrt(d log(2 d^2/rho)) sigma less a lower bound on the least eigenvalue, which keeps noisy M + ridge
positive. Here negative eigenvalues, which are noise, are cut off in any case, and half of the sharper bound did better.
On seven synthetic problems (d = 10 to 100) at epsilon = .3, 1 and 5, R^2 was higher in 16 of 21 cases, by .05 in the
median up to epsilon = 1, and lower in one, by .01.
"""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
from scipy.special import ndtri

from dperm.accounting.event import Composed, Event
from dperm.data.arrays import Floats
from dperm.data.bounded import BoundedData
from dperm.data.targets import LabelKind
from dperm.erm.loss import Loss
from dperm.erm.moments import (
    Moments,
    cross_error,
    eigenvalue_error,
    gram_error,
    largest_gram,
    least_eigenvalue,
    moments,
)
from dperm.erm.residual_losses import Squared
from dperm.erm.rounding import ULP
from dperm.erm.spec import ProblemSpec
from dperm.errors import AssumptionError, ConversionError, ParameterError
from dperm.mechanisms.calibration import PUSHES, covers
from dperm.mechanisms.gaussian import GaussianMechanism
from dperm.mechanisms.goal import checked_goal, gaussian_mu
from dperm.mechanisms.releases.sensitivities import WEIGHT
from dperm.methods.conditions import is_pure
from dperm.methods.declared_event import (
    assumed_problem,
    declared_noise,
    event_of_another_kind,
    noise_share,
    require_goal_covers,
)
from dperm.methods.plan import Plan, noise_norm, row_limit
from dperm.noise.bits import Stream
from dperm.presentation.facts import Fact
from dperm.presentation.spelling import quoted_arg
from dperm.privacy import GDP
from dperm.privacy.guarantee import AnyGuarantee
from dperm.privacy.rounding import lowered
from dperm.sensitivity.statistics import eigenvalue_sensitivity, moments_sensitivity

FAILURE = 0.05
"""rho, the largest probability that one of the two bounds on the noise fails."""
SHARE = 0.5
"""Ridge as a share of the bound on ||E||."""


@dataclass(frozen=True)
class AdaptiveRidge:
    """Strength of the ridge for a noisy least-squares problem (AdaSSP, Wang 2018).

    Attributes
    ----------
    dim
        d, the number of coefficients.
    scale
        sigma, the deviation of the noise on the diagonal of M.
    eigenvalue_scale
        Deviation of the noise on the least eigenvalue of M.
    strength
        Lambda of the user, always added.
    """

    dim: int
    scale: float
    eigenvalue_scale: float
    strength: float

    @property
    def noise_norm(self) -> float:
        """Norm sigma (sqrt(2d) + sqrt(2 log(2/rho))), exceeded by ||E|| with probability at most rho/2."""
        return self.scale * (math.sqrt(2 * self.dim) + math.sqrt(2 * math.log(2 / FAILURE)))

    @property
    def largest(self) -> float:
        """Ridge without knowledge of the least eigenvalue."""
        return SHARE * self.noise_norm

    def certain(self, noisy_eigenvalue: float) -> float:
        """Return a lower bound on the least eigenvalue of M with probability 1 - rho/2; at least 0."""
        return max(0.0, noisy_eigenvalue - float(ndtri(1 - FAILURE / 2)) * self.eigenvalue_scale)

    def coefficients(self, noisy_gram: Floats, noisy_cross: Floats, noisy_eigenvalue: float) -> Floats:
        """Return (M~ + (lambda + Lambda) I)^-1 times the noisy sum of y x.

        lambda is max(0, ``largest`` - ``certain``). M~ is the noisy matrix with every eigenvalue below ``certain``
        raised to it, since M has none there. So no divisor is below ``largest`` + Lambda.
        """
        least = self.certain(noisy_eigenvalue)
        added = max(0.0, self.largest - least) + self.strength
        values, vectors = np.linalg.eigh(noisy_gram)
        return np.asarray(vectors @ ((vectors.T @ noisy_cross) / (np.maximum(values, least) + added)))


MOST_DIM = 2**12
EIGENVALUE_SHARE = 1 / 16
"""Share of mu^2 for the least eigenvalue."""
SHARES = (math.sqrt(EIGENVALUE_SHARE), math.sqrt(1 - EIGENVALUE_SHARE))
"""Shares of mu for the least eigenvalue and for the sums."""


@dataclass(frozen=True)
class SufficientStatistics:
    """Ridge regression from noisy sums of x x' and y x (AdaSSP), for the squared loss without clipping.

    The sums are taken over the rows x and their targets y, and x' is the transpose of x. Rows and targets are bounded,
    so the sums have a finite sensitivity, and no gradients need to be clipped. Two statistics are released with
    Gaussian noise: the smallest eigenvalue of the sum of x x', and a vector with the entries of both sums. The
    remaining steps are post-processing (T3): a ridge penalty is computed from the noise scale and the noisy eigenvalue,
    and a linear system is solved. The number of records need not be public.

    Examples
    --------
    >>> from dperm import ApproxDP
    >>> from dperm.erm.residual_losses import Squared
    >>> from dperm.erm.spec import ProblemSpec
    >>> from dperm.methods.sufficient import SufficientStatistics
    >>> spec = ProblemSpec(Squared(), radius=1.0, dim=10)
    >>> plan = SufficientStatistics().plan(spec, ApproxDP(1.0, 1e-5, "add_remove"))
    >>> round(plan.sums.scale, 2), round(plan.eigenvalue.scale, 2)
    (5.45, 14.92)
    """

    plans_from_event: ClassVar[bool] = True

    def plan(self, spec: ProblemSpec, goal: AnyGuarantee) -> "SufficientPlan":
        """Return a plan with noise on the eigenvalue and on the sums, such that both releases together meet ``goal``.

        Parameters
        ----------
        spec
            Public constants of the problem.
        goal
            Target privacy guarantee of the run.

        Returns
        -------
        SufficientPlan
            The plan.

        Raises
        ------
        AssumptionError
            If a condition of the method's theorem does not hold. The message states a remedy.
        """
        goal = checked_goal(goal)
        _refuse(spec, goal)
        spec = spec.clipped(None)
        eigenvalue, sums = calibrate_releases(spec, goal)
        why = (noise_reason(spec, eigenvalue, sums),)
        return SufficientPlan(spec, goal, why=why, tolerance=None, output_noise=None, eigenvalue=eigenvalue, sums=sums)

    def declare_event(
        self, goal: AnyGuarantee, loss: Loss, *, clip: float | None = None, n: int | None = None
    ) -> Event:
        """Return the accounting event of a plan for ``goal``, before the number of features is known (T70).

        The event composes a Gaussian event for the smallest eigenvalue and a Gaussian event for the sums.

        Parameters
        ----------
        goal
            Guarantee of the training run alone, without other stages. It must not be pure, because the noise is
            Gaussian.
        loss
            Loss of the problem; it must be the squared loss.
        clip
            Clipping norm divided by the bound on the norm of a row; not used.
        n
            Public number of records; not used.

        Returns
        -------
        Event
            Composition of two Gaussian events.
        """
        goal = checked_goal(goal)
        _refuse(assumed_problem(loss, clip=clip, n=n), goal)
        return declared_noise(goal, SHARES)

    def plan_from_event(self, spec: ProblemSpec, event: Event, goal: AnyGuarantee) -> "SufficientPlan":
        """Return a plan with exactly the declared event, once the problem is known (T70).

        The noise multipliers of the two releases are at least those of the event.

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
        SufficientPlan
            The plan.

        Raises
        ------
        ParameterError
            If ``event`` is not an event of this method, or its privacy loss exceeds ``goal``.
        """
        match event:
            case Composed(events=(first, second)):
                shares = noise_share(first, goal), noise_share(second, goal)
            case _:
                raise event_of_another_kind(event, "sufficient statistics")
        goal = require_goal_covers(goal, event)
        _refuse(spec, goal)
        spec = spec.clipped(None)
        eigenvalue, sums = release_mechanisms(spec, *shares)
        why = (noise_reason(spec, eigenvalue, sums),)
        return SufficientPlan(
            spec, goal, why=why, tolerance=None, output_noise=None, eigenvalue=eigenvalue, sums=sums, declared=event
        )


@dataclass(frozen=True)
class SufficientPlan(Plan):
    """Plan of `SufficientStatistics`, with the noise on the smallest eigenvalue and on the sums."""

    eigenvalue: GaussianMechanism
    sums: GaussianMechanism

    method: ClassVar[str] = "sufficient"

    @cached_property
    def event(self) -> Event:
        """Composition of the two Gaussian releases."""
        return self.stated_event(self.eigenvalue.event + self.sums.event)

    @property
    def theorems(self) -> tuple[str, ...]:
        """Tags of the theorems on bounded rows, noise, composition and post-processing."""
        declared = ("T70",) * (self.declared is not None)
        return ("T6", "T19", "T44", "T54", "T3", *declared, *self.sums.facts.theorems)

    @property
    def noise(self) -> str:
        """Distribution of the noise on both releases."""
        return self.sums.law.words_at("on the least eigenvalue, and on the sums of squares and of targets times rows")

    @property
    def numbers(self) -> dict[str, object]:
        """Public numbers of both noises and of the ridge."""
        return {
            "eigenvalue_noise": dict(self.eigenvalue.facts.public),
            "sums_noise": dict(self.sums.facts.public),
            "off_diagonal_weight": float(WEIGHT),
            "largest_ridge": self.ridge.largest,
            "ridge_failure": FAILURE,
        }

    @cached_property
    def ridge(self) -> AdaptiveRidge:
        """Ridge computed from the releases."""
        return ridge_for(self.spec, self.eigenvalue, self.sums)

    @property
    def longest(self) -> float:
        """Bound on the norm of the noisy sum of y x, divided by the smallest divisor, ``ridge.largest`` + Lambda."""
        spec = self.spec
        noise = noise_norm(self.sums, spec.dim) / spec.radius
        return (self.most_rows * spec.weight * spec.radius + noise) / (self.ridge.largest + self.ridge.strength)

    def learn(self, data: BoundedData, stream: Stream) -> Floats:
        """Draw both releases, then solve for the coefficients; only ``moments`` reads the data."""
        found = moments(data, self.spec)
        least = self.eigenvalue.noisy(np.array([least_eigenvalue(found.gram)]), stream)
        noisy = unpack_moments(
            self.sums.noisy(pack_moments(found, self.spec.radius), stream), self.spec.radius, self.spec.dim
        )
        return self.ridge.coefficients(noisy.gram, noisy.cross, float(least[0]))


def sums_error(spec: ProblemSpec, rows: int) -> float:
    """Return a bound on the error of the computed vector (M, R v) in L2: both sums and the weights."""
    return gram_error(spec, rows) + spec.radius * cross_error(spec, rows) + 4 * ULP * largest_gram(spec, rows)


def pack_moments(found: Moments, radius: float) -> Floats:
    """Return the vector (M_ii, W M_ij for i < j, R v)."""
    row, column = np.triu_indices(len(found.gram))
    weights = np.where(row == column, 1.0, float(WEIGHT))
    return np.concatenate([weights * found.gram[row, column], radius * found.cross])


def unpack_moments(vector: Floats, radius: float, dim: int) -> Moments:
    """Return the symmetric matrix and the sum of y x from a vector of `pack_moments`."""
    row, column = np.triu_indices(dim)
    upper = vector[: len(row)] / np.where(row == column, 1.0, float(WEIGHT))
    gram = np.empty((dim, dim))
    gram[row, column] = gram[column, row] = upper
    return Moments(gram, vector[len(row) :] / radius)


def release_mechanisms(spec: ProblemSpec, first: GDP, second: GDP) -> tuple[GaussianMechanism, GaussianMechanism]:
    """Return the noise of the least eigenvalue for ``first``, and of the sums for ``second``."""
    rows = row_limit(spec.n)
    eigenvalue = GaussianMechanism.calibrate(
        eigenvalue_sensitivity(spec), first, numerical_error=eigenvalue_error(spec, rows)
    )
    sums = GaussianMechanism.calibrate(
        moments_sensitivity(spec, second.adjacency),
        second,
        dim=spec.dim * (spec.dim + 3) // 2,
        numerical_error=sums_error(spec, rows),
    )
    return eigenvalue, sums


def calibrate_releases(spec: ProblemSpec, goal: AnyGuarantee) -> tuple[GaussianMechanism, GaussianMechanism]:
    """Return the noise of the least eigenvalue, mu/4, and of the sums, sqrt(15)/4 mu: together mu-GDP (T19).

    Rounding of the computed numbers adds twice its bound to a sensitivity. The accountant certifies the result.
    """
    mu = gaussian_mu(goal)
    for ulps in PUSHES:
        first, second = (GDP(lowered(mu * share, 8 + 4 * ulps), goal.adjacency) for share in SHARES)
        eigenvalue, sums = release_mechanisms(spec, first, second)
        if covers(goal, eigenvalue.event + sums.event):
            return eigenvalue, sums
    raise AssumptionError(
        "no noise scale near the exact one could be certified.", remedy="Choose a slightly larger goal."
    )


def noise_reason(spec: ProblemSpec, eigenvalue: GaussianMechanism, sums: GaussianMechanism) -> Fact:
    """Return the noise of both releases and the ridge as a reason of the plan."""
    ridge = ridge_for(spec, eigenvalue, sums)
    return Fact(
        "noise.sufficient",
        "Noise of standard deviation {squares:.3g} is added to the sum of squares, and noise of standard deviation "
        "{products:.3g} to the sum of labels times rows. The ridge is Lambda = {strength:.3g} plus a term of at most "
        "{ridge:.3g}, which is smaller if the noisy least eigenvalue is large.",
        {
            "squares": sums.scale,
            "products": sums.scale / spec.radius,
            "ridge": ridge.largest,
            "strength": ridge.strength,
        },
    )


def ridge_for(spec: ProblemSpec, eigenvalue: GaussianMechanism, sums: GaussianMechanism) -> AdaptiveRidge:
    """Return the ridge for this noise."""
    return AdaptiveRidge(spec.dim, sums.scale, eigenvalue.scale, spec.regularization or 0.0)


def _refuse(spec: ProblemSpec, goal: AnyGuarantee) -> None:
    if not isinstance(spec.loss, Squared):
        others = ("gradient", "sgd") if math.isinf(spec.smoothness) else ("objective", "gradient")
        squared = ", or PrivateLinearRegression" if spec.loss.labels is LabelKind.NUMBER else ""
        raise AssumptionError(
            f"{quoted_arg('method', 'sufficient')} is for the squared loss, determined by sums of squares, got "
            f"the loss "
            f"{spec.loss.name!r}.",
            remedy=f"Use {quoted_arg('method', others[0])} or {quoted_arg('method', others[1])} for it{squared}.",
        )
    if is_pure(goal):
        raise ConversionError(
            f"{quoted_arg('method', 'sufficient')} adds Gaussian noise, which never has a pure guarantee (T6), "
            f"got goal={goal!r}.",
            remedy=f"Set delta > 0, or use {quoted_arg('method', 'objective')} or {quoted_arg('method', 'output')}.",
        )
    if spec.dim > MOST_DIM:
        raise ParameterError(
            argument="dim",
            rule=f"must be at most {MOST_DIM} for {quoted_arg('method', 'sufficient')}: it releases dim x dim numbers",
            got=str(spec.dim),
            remedy=f"Use {quoted_arg('method', 'gradient')}.",
        )
