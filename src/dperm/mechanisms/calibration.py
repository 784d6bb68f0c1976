# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Calibration of noise: from a sensitivity and a privacy loss to a noise scale, a grid and an event.

The scale without rounding, (Delta + 2 tau) / loss, determines the grid. Rounding raises the sensitivity to
Delta' = Delta + d^(1/p) g + 2 tau (`dperm.noise.grid`). The final scale is Delta' / loss, rounded up.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from dperm import checks
from dperm.accounting import MemoryBudget, account
from dperm.accounting.event import Event
from dperm.accounting.events import MULTIPLIERS, Gaussian, Laplace
from dperm.accounting.replace_only import ReplaceOneOnly
from dperm.errors import EXTREME, AssumptionError, BudgetError, ParameterError
from dperm.mechanisms.goal import quotient_down, quotient_up
from dperm.noise.grid import SCALES, Grid, Norm, grid_for, sensitivity_on_grid
from dperm.noise.integer_noise import LARGEST_SCALE
from dperm.presentation.spelling import arg
from dperm.privacy import Adjacency, ApproxDP, PureDP
from dperm.privacy.guarantee import AnyGuarantee
from dperm.privacy.rounding import raised, round_up

SENSITIVITY = "Give the largest change of the value between neighbours under the goal's adjacency."
DIM = "Give the number of entries of the released value."
ERROR = "Give a bound on the error of the computed value, in the sensitivity's norm, for every data set."
MOST_DIM = 2**31
PUSHES = (0, 4, 16, 64, 256, 2**12, 2**20)
"""Increments of a scale, in units of rounding, tried in order until the accountant certifies its event."""


@dataclass(frozen=True)
class ValueSensitivity:
    """Sensitivity, dimension, norm and numerical error of a value; public constants."""

    sensitivity: float
    dim: int
    norm: Norm
    numerical_error: float

    def __post_init__(self) -> None:
        """Check the constants under their public argument names."""
        set_field = object.__setattr__
        set_field(self, "sensitivity", sensitivity_up("sensitivity", self.sensitivity))
        set_field(self, "dim", checks.count("dim", self.dim, DIM, most=MOST_DIM))
        set_field(self, "numerical_error", error_up("numerical_error", self.numerical_error))

    def on(self, grid: Grid) -> float:
        """Return Delta', the sensitivity of the value rounded to ``grid`` (T10b)."""
        return sensitivity_on_grid(
            self.sensitivity, grid, dim=self.dim, norm=self.norm, numerical_error=self.numerical_error
        )


def sensitivity_up(name: str, value: object) -> float:
    """Return a sensitivity > 0 as a double, rounding fractions and large integers up."""
    return _at_least(checks.positive(name, value, SENSITIVITY), value)


def error_up(name: str, value: object) -> float:
    """Return an error bound >= 0 as a double, rounding fractions and large integers up."""
    return _at_least(checks.nonnegative(name, value, ERROR), value)


def _at_least(number: float, given: Any) -> float:
    return number if number >= given else math.nextafter(number, math.inf)


@dataclass(frozen=True)
class Calibration:
    """Noise scale, its grid, and the sensitivity on the grid."""

    scale: float
    grid: Grid
    sensitivity: float

    @property
    def steps(self) -> float:
        """Scale in steps of the grid, exactly."""
        return self.scale / self.grid.step


def calibration(statistic: ValueSensitivity, loss: float, *, spread: float = 1.0) -> Calibration:
    """Return noise of scale Delta' / loss; the loss is mu for Gaussian noise (T6), epsilon for pure noise (T5, T7).

    Parameters
    ----------
    statistic
        Sensitivity of the value.
    loss
        Privacy loss of one release, mu or epsilon.
    spread
        Standard deviation of one coordinate, divided by the scale; it determines the grid.

    Raises
    ------
    ParameterError
        If the scale exceeds the range of floating point, or rounding outweighs the sensitivity.

    Notes
    -----
    **Guarantees.** The scale is at least Delta' / loss in exact arithmetic (T10b).
    """
    blurred = round_up(Fraction(statistic.sensitivity) + 2 * Fraction(statistic.numerical_error))
    wanted = quotient_up(blurred, loss) if math.isfinite(blurred) else math.inf
    if not SCALES[0] <= wanted * spread <= SCALES[1]:
        raise ParameterError(
            f"{arg('sensitivity')} and {arg('goal')} require noise of scale {wanted:.3g}, outside of the supported "
            f"range {SCALES[0]:.0e} to {SCALES[1]:.0e} of floating point.",
            remedy="Rescale the value and its sensitivity.",
            code=EXTREME,
        )
    grid = grid_for(wanted * spread, sensitivity=blurred, dim=statistic.dim, norm=statistic.norm)
    moved = statistic.on(grid)
    found = Calibration(quotient_up(moved, loss), grid, moved)
    if found.steps * spread > LARGEST_SCALE:
        raise ParameterError(
            f"{arg('goal')} requires so much noise on {arg('dim', statistic.dim)} entries that rounding outweighs the "
            f"sensitivity.",
            remedy="Give a larger epsilon, mu or rho.",
        )
    return found


def raise_until_certified(start: Calibration, certified: "Certificate") -> Calibration:
    """Return the first of a few slightly larger scales for which the accountant certifies the goal."""
    for ulps in PUSHES:
        found = Calibration(raised(start.scale, ulps) if ulps else start.scale, start.grid, start.sensitivity)
        if certified(found):
            return found
    raise AssumptionError(
        "no noise scale near the exact one could be certified.",
        remedy="Give a goal with a slightly larger epsilon or mu.",
    )


@dataclass(frozen=True)
class Certificate:
    """Test whether a budget of exactly the goal covers one release, by the accountant's own numbers."""

    goal: AnyGuarantee
    kind: type[Gaussian] | type[Laplace]

    def __call__(self, found: Calibration) -> bool:
        """Return whether a budget of the goal covers the calibrated noise."""
        return covers(self.goal, noise_event(self.kind, found, self.goal.adjacency))


def covers(goal: AnyGuarantee, event: Event) -> bool:
    """Return whether one event costs no more than ``goal``, with reported epsilon and delta no larger.

    Either condition implies the guarantee. The numbers are upper ends of two brackets and may differ in the last
    digits.
    """
    try:
        MemoryBudget(goal, blocks=1 if isinstance(goal, ApproxDP) else None).check(event)
    except BudgetError:
        return False
    match goal:
        case PureDP():
            return account(event, goal.adjacency).epsilon(0.0) <= goal.epsilon
        case ApproxDP():
            profile = account(event, goal.adjacency)
            return profile.epsilon(goal.delta) <= goal.epsilon and profile.delta(goal.epsilon) <= goal.delta
    return True


def noise_event(kind: type[Gaussian] | type[Laplace], found: Calibration, adjacency: Adjacency) -> Event:
    """Return the event of noise ``found.scale`` on a value of sensitivity ``found.sensitivity`` under ``adjacency``.

    A noise multiplier refers to one record added or removed. A replace-one sensitivity counts twice and implies nothing
    about add/remove, hence `ReplaceOneOnly`. The multiplier is rounded down, so the accounted loss is never too small.
    """
    if adjacency is Adjacency.ADD_REMOVE:
        return kind(_multiplier(found.scale, found.sensitivity))
    return ReplaceOneOnly(kind(_multiplier(2 * found.scale, found.sensitivity)))


def _multiplier(scale: float, sensitivity: float) -> float:
    multiplier = quotient_down(scale, sensitivity)
    low, high = MULTIPLIERS
    if not low <= multiplier <= high:
        raise ParameterError(
            f"{arg('goal')} requires noise of {multiplier:.3g} times the sensitivity of one record; supported are "
            f"{low:g} to {high:g} times.",
            remedy=f"Give a {'smaller' if multiplier < low else 'larger'} epsilon, mu or rho.",
        )
    return multiplier
