# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Objective perturbation with Gaussian noise: its event, and how much noise it needs (T37, T39-T41, T43a)."""

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dperm import checks
from dperm.accounting import closed, rdp
from dperm.accounting.closed import Single
from dperm.accounting.composition import Composition
from dperm.accounting.event import Json, Orders, SingleEvent
from dperm.accounting.events import MULTIPLIERS
from dperm.accounting.laws.objective import GaussianPiecesLoss, one_sided_loss, replaced_loss, two_sided_loss
from dperm.accounting.laws.rayleigh import RayleighLoss
from dperm.checks import shown
from dperm.errors import AssumptionError, ParameterError
from dperm.privacy.adjacency import Adjacency, Direction
from dperm.privacy.gaussian_profile import mu_for
from dperm.privacy.rounding import lowered, raised

MULTIPLIER = "Give the standard deviation of the noise over the Lipschitz constant L of one record's loss."
CURVATURE = "Give beta/Lambda, the smoothness of one record's loss over the strength of the regularization."
LARGEST_CURVATURE = 1e100
MONOTONE = "It says that the slope of every record's loss has one sign, as for logistic and hinge types."
MARGIN = 1e-10
"""By how much less than delta the noise is calibrated to: the accountant's own allowance is 1e-11."""
PUSHES = (0.0, 1e-11, 1e-10, 1e-9, 1e-8, 1e-7, 1e-6)

ObjectiveLoss = GaussianPiecesLoss | RayleighLoss


@dataclass(frozen=True)
class PerturbedObjective(SingleEvent):
    """The exact minimiser of sum_i f(x_i'theta, y_i) + r(theta) + (Lambda/2) ||theta||^2 + b'theta, b ~ N(0, sigma^2).

    Each record's loss is convex, L-Lipschitz and beta-smooth in theta and depends on one linear function of it, so that
    its Hessian has rank one; r is convex and public; Lambda > 0 (T42). ``noise_multiplier`` is sigma/L, ``curvature``
    beta/Lambda. ``monotone``: the slope f' of a record has the same sign at every theta (T40); false for regression.

    Under add/remove the privacy loss is bounded by T40, or by T39 if the losses are not monotone, with
    c = log(1 + beta/Lambda) for the determinant when the record is in the first data set and 0 when it is not (T37);
    under replace-one by T41, where c counts once. A solver that stops early needs a second event (T43).

    Examples
    --------
    >>> from dperm.accounting import PerturbedObjective, account
    >>> fit = PerturbedObjective(noise_multiplier=5.0, curvature=0.025)
    >>> account(fit, adjacency="add_remove").delta(epsilon=1.0)
    3.33594...e-08
    """

    noise_multiplier: float
    curvature: float
    monotone: bool = True
    kind: ClassVar[str] = "perturbed_objective"

    def __post_init__(self) -> None:
        """Check and accept numpy scalars."""
        noise = checks.between("noise_multiplier", self.noise_multiplier, *MULTIPLIERS, MULTIPLIER)
        bend = checks.between("curvature", self.curvature, 0.0, LARGEST_CURVATURE, CURVATURE)
        object.__setattr__(self, "noise_multiplier", noise)
        object.__setattr__(self, "curvature", bend)
        object.__setattr__(self, "monotone", _truth("monotone", self.monotone))

    def law(self, direction: Direction) -> ObjectiveLoss:
        """T39, T40, T41."""
        return _law(1 / self.noise_multiplier, self.curvature, direction, self.monotone)

    def rdp(self, orders: Orders, adjacency: Adjacency) -> Orders:
        """The moments of the bounding loss (T39, T40, T41)."""
        return rdp.moment_rdp(orders, self.law(adjacency.directions[0]))

    def tags(self, adjacency: Adjacency) -> tuple[str, ...]:
        """T37, and the theorem of the bounding loss."""
        if adjacency is Adjacency.REPLACE_ONE:
            return ("T37", "T41")
        return ("T37", "T40") if self.monotone else ("T37", "T39")

    def fields(self) -> Json:
        """All three parameters."""
        return {"noise_multiplier": self.noise_multiplier, "curvature": self.curvature, "monotone": self.monotone}


def determinant_loss(curvature: float) -> float:
    """The c = log(1 + curvature) that the Jacobian of the noise may add to the privacy loss, rounded up.

    Theorem T37. With a Hessian of rank one and eigenvalue at most beta,
        det(H + Lambda I + the record's) / det(H + Lambda I) <= 1 + beta/Lambda.
    """
    return raised(math.log1p(checks.between("curvature", curvature, 0.0, LARGEST_CURVATURE, CURVATURE)), 2)


def objective_delta(
    epsilon: float, noise_multiplier: float, curvature: float, adjacency: Adjacency | str, monotone: bool = True
) -> float:
    """Upper bound on delta(epsilon) of one `PerturbedObjective`: T40 or T39 (add_remove), T41 (replace_one).

    The same number as that of `account`, without an engine; at most 1, and never 0, as the loss is unbounded.
    """
    epsilon = checks.nonnegative("epsilon", epsilon)
    event = PerturbedObjective(noise_multiplier, curvature, monotone)
    law = event.law(Adjacency.of(adjacency).directions[0])
    return max(Single(law).bracket(epsilon)[1], math.ulp(0.0))


def objective_noise_multiplier(
    epsilon: float, delta: float, curvature: float, adjacency: Adjacency | str, monotone: bool = True
) -> float:
    """The smallest sigma/L, rounded up, at which one `PerturbedObjective` is (epsilon, delta)-DP by the accountant.

    Theorem T43a. Under add_remove, monotone: sigma/L = 1/mu(epsilon - c, delta) with mu of T6, the exact inverse of
    T40; otherwise the root of T39 or T41, which grow with L/sigma. Checked at the very value that is returned.

    Raises
    ------
    AssumptionError
        If c = log(1 + curvature) leaves nothing of epsilon for the noise.
    """
    epsilon, delta = checks.positive("epsilon", epsilon), checks.positive_delta("delta", delta)
    direction, one_sided = Adjacency.of(adjacency).directions[0], _truth("monotone", monotone)
    left = lowered(epsilon - determinant_loss(curvature), 2)
    if left <= 0:
        raise _no_room(epsilon, curvature)
    family = _Family(epsilon, delta, curvature, direction, one_sided)
    least = raised(1 / mu_for(left, delta * (1 - MARGIN)), 4)
    start = least if one_sided and direction is Direction.REMOVE else family.root(least)
    return family.pushed(start)


@dataclass(frozen=True)
class _Family:
    """The event as a function of its noise, and the target."""

    epsilon: float
    delta: float
    curvature: float
    direction: Direction
    monotone: bool

    def law(self, noise_multiplier: float) -> ObjectiveLoss:
        """The bounding loss."""
        return _law(1 / noise_multiplier, self.curvature, self.direction, self.monotone)

    def pushed(self, start: float) -> float:
        """The first noise multiplier from ``start`` on, in small steps, that the accountant covers."""
        for push in PUSHES:
            if self.covered(start * (1 + push)):
                return start * (1 + push)
        raise AssumptionError("no noise near the exact one could be certified. Ask for a slightly larger epsilon.")

    def covered(self, noise_multiplier: float) -> bool:
        """Whether the accountant's epsilon at delta is at most epsilon."""
        alone = Composition(((self.law(noise_multiplier), 1),))
        found = closed.epsilon_bracket(alone, self.delta)
        return found is not None and found[1] <= self.epsilon

    def root(self, least: float) -> float:
        """Where log delta meets its target, in log noise, by the Illinois method from ``least`` noise upwards."""
        low = high = math.log(least)
        above = below = self._excess(low)
        if below <= 0:
            return least
        while below > 0:
            low, above, high = high, below, high + 0.7
            below = self._excess(high)
        side = 0
        for _ in range(60):
            middle = (low * below - high * above) / (below - above) if math.isfinite(below) else (low + high) / 2
            value = self._excess(middle)
            if abs(value) <= 1e-13:
                return math.exp(middle)
            if not low < middle < high:
                break
            if value > 0:  # an end that stays twice loses half its weight
                low, above, below, side = middle, value, below / 2 if side > 0 else below, 1
            else:
                high, below, above, side = middle, value, above / 2 if side < 0 else above, -1
        return math.exp(high)

    def _excess(self, log_noise: float) -> float:
        value = self.law(math.exp(log_noise)).delta(self.epsilon)
        return math.log(value / self.delta) + MARGIN if value > 0 else -math.inf


def _law(mu: float, curvature: float, direction: Direction, monotone: bool) -> ObjectiveLoss:
    """The bounding loss at L/sigma = ``mu``; c = 0 where only the second data set holds the record (T37)."""
    c = 0.0 if direction is Direction.ADD else determinant_loss(curvature)
    if direction is Direction.REPLACE:
        return replaced_loss(c, mu) if monotone else RayleighLoss(c, 2 * mu)
    return one_sided_loss(c, mu) if monotone else two_sided_loss(c, mu)


def _truth(name: str, value: object) -> bool:
    if not isinstance(value, bool | np.bool_):
        raise ParameterError(f"{name} must be True or False, got {shown(value)}. {MONOTONE}")
    return bool(value)


def _no_room(epsilon: float, curvature: float) -> AssumptionError:
    room = math.expm1(min(epsilon, 700.0))
    return AssumptionError(
        f"objective perturbation with epsilon={epsilon:g} needs curvature = beta/Lambda < e^epsilon - 1 = {room:.6g}, "
        f"got {curvature:g}: the determinant alone costs log(1 + curvature) = {math.log1p(curvature):.6g} (T37, T43a). "
        f"Raise the regularization above the smallest admissible Lambda = beta/(e^epsilon - 1), which is "
        f"{curvature / room:.6g} times the present one, or give a larger epsilon."
    )
