# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""One round of refinement: both sides of the profile, on lattices planned for a wanted width."""

from dataclasses import dataclass

from dperm.accounting.lattice.borders import steep_window
from dperm.accounting.lattice.coarse import Coarse, CoarseLaw
from dperm.accounting.lattice.collapse import Collapsed, Window
from dperm.accounting.lattice.plan import Plan, Target, plan_of
from dperm.accounting.lattice.readout import Readout
from dperm.accounting.lattice.rounding import UNDERFLOW
from dperm.accounting.lattice.sides import Factor, lower_factors, readout_of, upper_factors

FIXED_POINT_ROUNDS = 8
LONG = 2**17  # points of both sides


@dataclass(frozen=True)
class Round:
    """An upper and a lower profile.

    ``exhausted``: finer lattices were wanted than are allowed; ``steep``: the laws that were collapsed for the lower
    side, or None if the plain laws did better.
    """

    upper: Readout
    lower: Readout
    exhausted: bool
    steep: tuple[bool, ...] | None

    @classmethod
    def of(cls, coarse: Coarse, target: Target, width: float, steep: tuple[bool, ...] | None = None) -> "Round":
        """Both sides, each off by about half of ``width`` (in eps); laws that an earlier round found ``steep``."""
        above = plan_of(coarse, target, width / 2, upper=True)
        below, factors, collapsed = _lower_side(coarse, target, width, steep)
        upper, lower = readout_of(upper_factors(above), above), readout_of(factors, below)
        return cls(upper, lower, above.exhausted or below.exhausted, collapsed)

    @property
    def long(self) -> bool:
        """Whether another round on finer lattices would be slow."""
        return len(self.upper.circle.weights) + len(self.lower.circle.weights) > LONG


def _lower_side(
    coarse: Coarse, target: Target, width: float, steep: tuple[bool, ...] | None
) -> tuple[Plan, list[Factor], tuple[bool, ...] | None]:
    """The cheaper of the plain laws and the collapsed ones; straight to the latter if an earlier round chose them."""
    plan = plan_of(coarse, target, width / 2, upper=False)
    if steep is not None:
        plan = _collapsed_plan(coarse, plan, steep, width / 2)
        return plan, lower_factors(plan)[0], steep
    factors, costs = lower_factors(plan)
    found = tuple(cost > width / (4 * len(costs)) for cost in costs)
    if any(found):
        second = _collapsed_plan(coarse, plan, found, width / 2)
        others, other_costs = lower_factors(second)
        if sum(other_costs) < sum(costs):
            return second, others, found
    return plan, factors, None


def _collapsed_plan(coarse: Coarse, plan: Plan, steep: tuple[bool, ...], width: float) -> Plan:
    """A plan whose steep laws are collapsed where they are steepest.

    The window depends on the spacing, and the spacing (which has to fit the atoms) on the window: a fixed point.
    """
    for _ in range(FIXED_POINT_ROUNDS):
        steps = [law.spacing * law.shape.pair for law in plan.laws]
        laws = zip(coarse.laws, steps, steep, strict=True)
        collapsed = Coarse(tuple(_collapsed(law, step) if chosen else law for law, step, chosen in laws))
        plan = plan_of(collapsed, plan.target, width, upper=False)
        if all(abs(law.spacing - step) <= 1e-5 * step for law, step in zip(plan.laws, steps, strict=True)):
            break
    return plan


def _collapsed(law: CoarseLaw, step: float) -> CoarseLaw:
    low, high = steep_window(law.law, law.centre(), step)
    window = Window.of(law.law, low, high)
    if not (low < high and window.p > UNDERFLOW and window.q > UNDERFLOW):
        return law
    return CoarseLaw.of(Collapsed(window), law.count, law.tail, law.high, window)
