# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""From a sensitivity and a loss to a noise scale, a grid and an event.

The grid follows from the scale that would do without rounding, (Delta + 2 tau) / loss; rounding raises the sensitivity
to Delta' = Delta + d^(1/p) g + 2 tau (`dperm.noise.grid`), and the scale is Delta' / loss, rounded up.
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
from dperm.errors import AssumptionError, BudgetError, ParameterError
from dperm.mechanisms.goal import quotient_down, quotient_up
from dperm.noise.grid import SCALES, Grid, Norm, grid_for, sensitivity_on_grid
from dperm.noise.integer_noise import LARGEST_SCALE
from dperm.privacy import Adjacency, ApproxDP, PureDP
from dperm.privacy.guarantee import AnyGuarantee
from dperm.privacy.rounding import raised, round_up

SENSITIVITY = "It is the largest change of the value between neighbours under the goal's adjacency."
DIM = "It is the number of entries of the value that is released."
ERROR = "It bounds the error of the computed value, in the sensitivity's norm, for every data set."
MOST_DIM = 2**31
PUSHES = (0, 4, 16, 64, 256, 2**12, 2**20)
"""By how many units of rounding a scale is raised, one after the other, until its event is certified."""


@dataclass(frozen=True)
class Statistic:
    """The public facts of a value that noise is added to."""

    sensitivity: float
    dim: int
    norm: Norm
    numerical_error: float

    def __post_init__(self) -> None:
        """Check them under the names that users know."""
        set_field = object.__setattr__
        set_field(self, "sensitivity", sensitivity_up("sensitivity", self.sensitivity))
        set_field(self, "dim", checks.count("dim", self.dim, DIM, most=MOST_DIM))
        set_field(self, "numerical_error", error_up("numerical_error", self.numerical_error))

    def on(self, grid: Grid) -> float:
        """Delta', the sensitivity of the value once it is rounded to ``grid`` (T10b)."""
        return sensitivity_on_grid(
            self.sensitivity, grid, dim=self.dim, norm=self.norm, numerical_error=self.numerical_error
        )


def sensitivity_up(name: str, value: object) -> float:
    """A sensitivity as a double that is not below what was given: fractions and large integers are rounded up."""
    return _at_least(checks.positive(name, value, SENSITIVITY), value)


def error_up(name: str, value: object) -> float:
    """A bound on an error, likewise."""
    return _at_least(checks.nonnegative(name, value, ERROR), value)


def _at_least(number: float, given: Any) -> float:
    return number if number >= given else math.nextafter(number, math.inf)


@dataclass(frozen=True)
class Calibration:
    """A noise scale with its grid, and the sensitivity that it was calibrated to."""

    scale: float
    grid: Grid
    sensitivity: float

    @property
    def steps(self) -> float:
        """The scale in steps of the grid, exactly."""
        return self.scale / self.grid.step


def calibration(statistic: Statistic, loss: float, *, spread: float = 1.0) -> Calibration:
    """Noise of scale Delta' / loss, where loss is mu for Gaussian noise (T6), epsilon for the pure laws (T5, T7).

    ``spread`` is the deviation of one coordinate in scales: the grid follows from that.
    """
    blurred = round_up(Fraction(statistic.sensitivity) + 2 * Fraction(statistic.numerical_error))
    wanted = quotient_up(blurred, loss) if math.isfinite(blurred) else math.inf
    if not SCALES[0] <= wanted * spread <= SCALES[1]:
        raise ParameterError(
            f"sensitivity and goal ask for noise of scale {wanted:.3g}, which floating point cannot hold with room to "
            f"spare: supported are {SCALES[0]:.0e} to {SCALES[1]:.0e}. Rescale the value and its sensitivity."
        )
    grid = grid_for(wanted * spread, sensitivity=blurred, dim=statistic.dim, norm=statistic.norm)
    moved = statistic.on(grid)
    found = Calibration(quotient_up(moved, loss), grid, moved)
    if found.steps * spread > LARGEST_SCALE:
        raise ParameterError(
            f"goal asks for so much noise on dim={statistic.dim} entries that rounding outweighs the sensitivity. Give "
            f"a larger epsilon, mu or rho."
        )
    return found


def pushed(start: Calibration, certified: "Certificate") -> Calibration:
    """The first of a few scales, growing by units of rounding, whose event is certified to meet the goal."""
    for ulps in PUSHES:
        found = Calibration(raised(start.scale, ulps) if ulps else start.scale, start.grid, start.sensitivity)
        if certified(found):
            return found
    raise AssumptionError("no noise scale near the exact one could be certified. Ask for a goal a little larger.")


@dataclass(frozen=True)
class Certificate:
    """Whether a budget of exactly the goal covers one release, by the accountant's own numbers."""

    goal: AnyGuarantee
    kind: type[Gaussian] | type[Laplace]

    def __call__(self, found: Calibration) -> bool:
        """Ask the budget."""
        return covers(self.goal, noise_event(self.kind, found, self.goal.adjacency))


def covers(goal: AnyGuarantee, event: Event) -> bool:
    """Whether the event, alone, costs a budget no more than ``goal``, and its reported epsilon and delta are no larger.

    Each of the two would do for the guarantee. They are upper ends of two brackets, and may differ in the last digits.
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
    """The event of noise ``found.scale`` on a value of sensitivity ``found.sensitivity`` under ``adjacency``.

    A noise multiplier is relative to one record added or removed. A replace-one sensitivity counts as two of those, and
    says nothing about add/remove: hence `ReplaceOneOnly`. Rounded down, which costs privacy, never claims it.
    """
    if adjacency is Adjacency.ADD_REMOVE:
        return kind(_multiplier(found.scale, found.sensitivity))
    return ReplaceOneOnly(kind(_multiplier(2 * found.scale, found.sensitivity)))


def _multiplier(scale: float, sensitivity: float) -> float:
    multiplier = quotient_down(scale, sensitivity)
    low, high = MULTIPLIERS
    if not low <= multiplier <= high:
        raise ParameterError(
            f"goal asks for noise of {multiplier:.3g} times the sensitivity of one record; supported are {low:g} to "
            f"{high:g} times. Give a {'smaller' if multiplier < low else 'larger'} epsilon, mu or rho."
        )
    return multiplier
