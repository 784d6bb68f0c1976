# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Two filters for an ApproxDP limit: the sum of epsilon_i (T11), and the sum of epsilon_i^2 (T14a).

Each filter divides a delta among a number of events declared in advance, and charges each event at its share.
"""

import math
from dataclasses import dataclass
from fractions import Fraction

from dperm.accounting.account import account
from dperm.accounting.event import Event
from dperm.accounting.filters import costs
from dperm.accounting.filters.filter import Amounts, Cost, in_brief
from dperm.accounting.filters.limits import largest_rho, root
from dperm.errors import BudgetError, ConversionError
from dperm.privacy.adjacency import Adjacency
from dperm.privacy.guarantee import ApproxDP
from dperm.privacy.rounding import round_down, round_up


@dataclass(frozen=True)
class ApproxFilter:
    """Filter sum of epsilon_i <= epsilon and sum of delta_i <= delta (T11), with equal delta_i for all events.

    The share delta_i = delta/blocks is fixed in advance, rounded down. An event costs its exact epsilon at this share,
    or the sum of its steps' own guarantees (T11), if smaller.
    """

    limit: ApproxDP
    blocks: int

    names = ("epsilon", "delta")

    @property
    def share(self) -> float:
        """Delta charged for every event, rounded down."""
        return round_down(Fraction(self.limit.delta) / self.blocks)

    @property
    def capacity(self) -> Amounts:
        """Epsilon and delta of the limit."""
        return Fraction(self.limit.epsilon), Fraction(self.limit.delta)

    def cost(self, event: Event) -> Cost:
        """Return the event's cost (epsilon_i, delta_i), rounded up."""
        share = self.share
        epsilon = _epsilon(event, self.limit.adjacency, share)
        if math.isinf(epsilon):
            raise _no_epsilon(event, share, f"delta/blocks of {self.limit} and blocks={self.blocks}")
        return epsilon, share

    def within(self, amounts: Amounts) -> ApproxDP:
        """Return the amounts as an ApproxDP guarantee, rounded down."""
        return ApproxDP(round_down(amounts[0]), round_down(amounts[1]), self.limit.adjacency)


@dataclass(frozen=True)
class AdvancedFilter:
    """Filter sum of epsilon_i^2 <= S and sum of delta_i <= delta/2 (T14a), with equal delta_i for all events.

    Theorem T14a [Whitehouse, Ramdas, Rogers & Wu 2023].
        However the events were chosen, all of them together are S/2-zCDP, up to events of probability sum of delta_i.
    S/2 is the largest rho that T17 converts to epsilon at the slack, the other half of delta. An event costs the square
    of its epsilon at its share, computed as in `ApproxFilter`. An event that is zCDP with a smaller 2 rho costs 2 rho,
    which is mu^2 for a Gaussian.
    """

    limit: ApproxDP
    blocks: int

    names = ("epsilon_squared", "delta")

    @property
    def slack(self) -> float:
        """Half of delta spent on adding squares: the delta at which S/2-zCDP becomes epsilon."""
        return round_down(Fraction(self.limit.delta) / 2)

    @property
    def share(self) -> float:
        """Delta charged for every event, rounded down."""
        return round_down(self._shared / self.blocks)

    @property
    def capacity(self) -> Amounts:
        """S, and the half of delta shared by the events."""
        return 2 * Fraction(largest_rho(self.limit.epsilon, self.slack)), self._shared

    def cost(self, event: Event) -> Cost:
        """Return the event's cost (epsilon_i^2 or 2 rho_i, delta_i), rounded up."""
        share = self.share
        epsilon = _epsilon(event, self.limit.adjacency, share)
        square = math.inf if math.isinf(epsilon) else round_up(Fraction(epsilon) ** 2)
        square = min(square, self._twice_rho(event))
        if math.isinf(square):
            raise _no_epsilon(event, share, f"delta/2/blocks of {self.limit} and blocks={self.blocks}")
        return square, share

    def within(self, amounts: Amounts) -> ApproxDP:
        """Return the largest guarantee for one more event: the root of the remaining S, and the remaining delta."""
        return ApproxDP(root(amounts[0]), round_down(amounts[1]), self.limit.adjacency)

    @property
    def _shared(self) -> Fraction:
        return Fraction(self.limit.delta) - Fraction(self.slack)

    def _twice_rho(self, event: Event) -> float:
        """Return 2 rho by T18 inside the event, without a delta; infinite if a step is not zCDP."""
        try:
            parts = [count * costs.rho(one, self.limit.adjacency) for one, count in event.singles()]
        except ConversionError:
            return math.inf
        return round_up(2 * sum(parts, Fraction(0)))


def _epsilon(event: Event, adjacency: Adjacency, share: float) -> float:
    """Return the event's epsilon at its share of delta, rounded up; infinite if it has none."""
    epsilon = _sum_of_claims(event, adjacency, share)
    if share > 0:  # at delta = 0 the claims are exact
        epsilon = min(epsilon, account(event, adjacency).epsilon(share))
    return epsilon


def _sum_of_claims(event: Event, adjacency: Adjacency, share: float) -> float:
    """Return T11's epsilon inside the event.

    The sum is exact, so rounding does not refuse an event that uses up the limit exactly.
    """
    epsilon, delta = Fraction(0), Fraction(0)
    for single, count in event.singles():
        own = costs.claim(single, adjacency)
        if own is None:
            return math.inf
        epsilon, delta = epsilon + count * own.epsilon, delta + count * own.delta
    return round_up(epsilon) if delta <= Fraction(share) else math.inf


def _no_epsilon(event: Event, share: float, origin: str) -> BudgetError:
    return BudgetError(
        f"{in_brief(event)} has no finite epsilon at delta={share!r}, which is {origin}. Nothing was charged. Open the "
        "budget with a larger delta or fewer blocks."
    )
