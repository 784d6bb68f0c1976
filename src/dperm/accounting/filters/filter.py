# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Filter protocol: additive costs, and a limit on their sums."""

from fractions import Fraction
from typing import Protocol

from dperm.accounting.event import Event
from dperm.accounting.spelling import in_grammar
from dperm.checks import shortened
from dperm.privacy.guarantee import AnyGuarantee

Amounts = tuple[Fraction, ...]
Cost = tuple[float, ...]


class Filter(Protocol):
    """Protocol for a privacy filter: one or several additive costs, with a limit on the sum of each."""

    @property
    def names(self) -> tuple[str, ...]:
        """Name of each cost, such as "epsilon"."""

    @property
    def capacity(self) -> Amounts:
        """Limit on the sum of each cost."""

    def cost(self, event: Event) -> Cost:
        """Return the costs of an event, rounded up. An event with an infinite cost is refused.

        Parameters
        ----------
        event
            Accounting event.

        Returns
        -------
        tuple of float
            One cost for each of ``names``.
        """

    def within(self, amounts: Amounts) -> AnyGuarantee:
        """Return the weakest guarantee whose costs are at most ``amounts``, in double precision.

        Parameters
        ----------
        amounts
            Available amount of each cost.

        Returns
        -------
        PureDP, ApproxDP, ZCDP, GDP or RDP
            The guarantee.
        """


def in_brief(event: Event) -> str:
    """Return the event as text for a message, at most about 160 characters."""
    return shortened(in_grammar(event), 160)
