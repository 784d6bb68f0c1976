# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Sufficient statistics: least squares from noisy sums of x x' and y x (AdaSSP, Wang 2018; T6, T19)."""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import ClassVar

import numpy as np

from dperm.accounting.event import Event
from dperm.data.arrays import Floats
from dperm.data.bounded import BoundedData
from dperm.data.targets import LabelKind
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
from dperm.methods.adaptive_ridge import FAILURE, AdaptiveRidge
from dperm.methods.constants import is_pure
from dperm.methods.plan import Plan, noise_norm, row_limit
from dperm.noise.bits import Stream
from dperm.noise.grid import Norm, root_up
from dperm.privacy import GDP, Adjacency
from dperm.privacy.guarantee import AnyGuarantee
from dperm.privacy.rounding import lowered, round_up

MOST_DIM = 2**12
EIGENVALUE_SHARE = 1 / 16
"""Of mu^2, for the least eigenvalue."""


@dataclass(frozen=True)
class SufficientStatistics:
    """Ridge regression from noisy sums of x x' and y x (AdaSSP). For the squared loss, whose clip it does not need.

    Rows and labels are bounded, so the sums have a sensitivity although residuals have none: nothing is clipped. Two
    releases with Gaussian noise: the least eigenvalue of the sum of x x', then both sums in one vector. The rest is
    post-processing (T3): a ridge as large as the noise makes necessary, less what the eigenvalue makes superfluous, and
    the solution of a linear system. n need not be public.

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

    def plan(self, spec: ProblemSpec, goal: AnyGuarantee) -> "SufficientPlan":
        """Noise for both releases so that together they meet ``goal``."""
        goal = checked_goal(goal)
        _refuse(spec, goal)
        spec = spec.clipped(None)
        eigenvalue, sums = calibrated(spec, goal)
        ridge = ridge_of(spec, eigenvalue, sums)
        why = (
            f"Noise of standard deviation {sums.scale:.3g} is added to the sum of squares, and of "
            f"{sums.scale / spec.radius:.3g} to the sum of labels times rows; the ridge is {ridge.largest:.3g} less "
            f"what a noisy least eigenvalue allows to leave out, plus Lambda = {ridge.strength:.3g}."
        )
        return SufficientPlan(spec, goal, (why,), None, None, eigenvalue, sums)


@dataclass(frozen=True)
class SufficientPlan(Plan):
    """A plan of `SufficientStatistics`: the noise of the least eigenvalue, and that of the sums."""

    eigenvalue: GaussianMechanism
    sums: GaussianMechanism

    method: ClassVar[str] = "sufficient"

    @cached_property
    def event(self) -> Event:
        """Two Gaussians."""
        return self.eigenvalue.event + self.sums.event

    @property
    def theorems(self) -> tuple[str, ...]:
        """Bounded rows, noise, composition, post-processing."""
        return ("T6", "T19", "T44", "T54", "T3", *self.sums.facts.theorems)

    @property
    def noise(self) -> str:
        """On both releases."""
        return f"on the least eigenvalue, then on the sums of squares and of labels times rows: {self.sums.law.words}"

    @property
    def numbers(self) -> dict[str, object]:
        """Those of both noises, and of the ridge."""
        return {
            "eigenvalue_noise": dict(self.eigenvalue.facts.public),
            "sums_noise": dict(self.sums.facts.public),
            "off_diagonal_weight": float(WEIGHT),
            "largest_ridge": self.ridge.largest,
            "ridge_failure": FAILURE,
        }

    @cached_property
    def ridge(self) -> AdaptiveRidge:
        """What is made of the releases."""
        return ridge_of(self.spec, self.eigenvalue, self.sums)

    @property
    def longest(self) -> float:
        """The longest noisy sum of y x over the least divisor, ``ridge.largest`` + Lambda."""
        spec = self.spec
        noise = noise_norm(self.sums, spec.dim) / spec.radius
        return (self.most_rows * spec.weight * spec.radius + noise) / (self.ridge.largest + self.ridge.strength)

    def learn(self, data: BoundedData, stream: Stream) -> Floats:
        """Both releases, then the fit; data are touched in ``moments`` only."""
        found = moments(data, self.spec)
        least = self.eigenvalue.noisy(np.array([least_eigenvalue(found.gram)]), stream)
        noisy = unpacked(self.sums.noisy(packed(found, self.spec.radius), stream), self.spec.radius, self.spec.dim)
        return self.ridge.coefficients(noisy.gram, noisy.cross, float(least[0]))


def eigenvalue_sensitivity(spec: ProblemSpec) -> float:
    """How far one record moves the least eigenvalue of M = sum w x x', under either adjacency: w R^2, rounded up.

    Eigenvalues grow with the matrix, by at most the norm of what is added (Weyl): w x x' adds between 0 and w R^2. For
    a record replaced, first one is removed and then one added, and the two changes have opposite signs.
    """
    return round_up(Fraction(spec.weight) * Fraction(spec.radius) ** 2)


def sums_sensitivity(spec: ProblemSpec, adjacency: Adjacency) -> float:
    """How far one record moves the vector (M, R v), M = sum w x x' in Frobenius norm and v = sum w y x, rounded up.

    Add/remove: ||w x x'||_F^2 + R^2 ||w y x||^2 <= 2 w^2 R^4, since |y| <= 1: sqrt(2) w R^2. Replace-one: 3/sqrt(2) w
    R^2. Proof: with the extended row z = sqrt(w) (x, R y / sqrt(2)) the vector is part of z z', whose last column
    counts twice in a Frobenius norm; ||z||^2 <= w (R^2 + R^2/2); and ||z z' - t t'||_F^2 = |z|^4 + |t|^4 - 2 (z't)^2
    <= 2 (3/2)^2 w^2 R^4. Both are attained: the second by rows of length R at an angle of 60 degrees with labels 1 and
    -1. Two releases of M and v apart would need more noise on one of them under replace-one, and the same under
    add/remove.

    What is released is (M_ii, W M_ij for i < j, R v), W = 181/128 < sqrt(2): no longer than that.
    """
    square = Fraction(spec.weight) * Fraction(spec.radius) ** 2
    root = Fraction(root_up(2, Norm.L2))
    return round_up(square * root * (1 if adjacency is Adjacency.ADD_REMOVE else Fraction(3, 2)))


def sums_error(spec: ProblemSpec, rows: int) -> float:
    """Bound on the error of the computed vector (M, R v), in L2: those of both sums, and of the weights."""
    return gram_error(spec, rows) + spec.radius * cross_error(spec, rows) + 4 * ULP * largest_gram(spec, rows)


def packed(found: Moments, radius: float) -> Floats:
    """The vector (M_ii, W M_ij for i < j, R v)."""
    row, column = np.triu_indices(len(found.gram))
    weights = np.where(row == column, 1.0, float(WEIGHT))
    return np.concatenate([weights * found.gram[row, column], radius * found.cross])


def unpacked(vector: Floats, radius: float, dim: int) -> Moments:
    """The symmetric matrix and the sum of y x, from that vector."""
    row, column = np.triu_indices(dim)
    upper = vector[: len(row)] / np.where(row == column, 1.0, float(WEIGHT))
    gram = np.empty((dim, dim))
    gram[row, column] = gram[column, row] = upper
    return Moments(gram, vector[len(row) :] / radius)


def calibrated(spec: ProblemSpec, goal: AnyGuarantee) -> tuple[GaussianMechanism, GaussianMechanism]:
    """The noise of the least eigenvalue, mu/4, and of the sums, sqrt(15)/4 mu: together mu-GDP (T19), meeting ``goal``.

    Rounding of what is computed adds twice its bound to a sensitivity; the accountant has the last word.
    """
    mu, rows = gaussian_mu(goal), row_limit(spec.n)
    shares = (mu * math.sqrt(EIGENVALUE_SHARE), mu * math.sqrt(1 - EIGENVALUE_SHARE))
    for ulps in PUSHES:
        first, second = (GDP(lowered(share, 8 + 4 * ulps), goal.adjacency) for share in shares)
        eigenvalue = GaussianMechanism.calibrate(
            eigenvalue_sensitivity(spec), first, numerical_error=eigenvalue_error(spec, rows)
        )
        sums = GaussianMechanism.calibrate(
            sums_sensitivity(spec, goal.adjacency),
            second,
            dim=spec.dim * (spec.dim + 3) // 2,
            numerical_error=sums_error(spec, rows),
        )
        if covers(goal, eigenvalue.event + sums.event):
            return eigenvalue, sums
    raise AssumptionError("no noise scale near the exact one could be certified. Ask for a goal a little larger.")


def ridge_of(spec: ProblemSpec, eigenvalue: GaussianMechanism, sums: GaussianMechanism) -> AdaptiveRidge:
    """The ridge for this noise."""
    return AdaptiveRidge(spec.dim, sums.scale, eigenvalue.scale, spec.regularization or 0.0)


def _refuse(spec: ProblemSpec, goal: AnyGuarantee) -> None:
    if not isinstance(spec.loss, Squared):
        others = ("gradient", "sgd") if math.isinf(spec.smoothness) else ("objective", "gradient")
        squared = ", or PrivateLinearRegression" if spec.loss.labels is LabelKind.NUMBER else ""
        raise AssumptionError(
            f'method="sufficient" is for the squared loss, the one that sums of squares determine, got the loss '
            f'{spec.loss.name!r}. Use method="{others[0]}" or method="{others[1]}" for it{squared}.'
        )
    if is_pure(goal):
        raise ConversionError(
            f'method="sufficient" adds Gaussian noise, which never has a pure guarantee (T6), got goal={goal!r}. Give '
            f'delta > 0, or use method="objective" or method="output".'
        )
    if spec.dim > MOST_DIM:
        raise ParameterError(
            f'dim must be at most {MOST_DIM} for method="sufficient", which releases a matrix of dim x dim numbers, '
            f'got {spec.dim}. Use method="gradient".'
        )
