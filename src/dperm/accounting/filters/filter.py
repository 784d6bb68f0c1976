# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""What a filter is: a currency that adds up, and a limit on the sum."""

from fractions import Fraction
from typing import Protocol

from dperm.accounting.event import Event
from dperm.accounting.spelling import in_grammar
from dperm.checks import shortened
from dperm.privacy.guarantee import AnyGuarantee

Amounts = tuple[Fraction, ...]
Cost = tuple[float, ...]


class Filter(Protocol):
    """A currency of one or several numbers that add up, and a limit on each."""

    @property
    def names(self) -> tuple[str, ...]:
        """What each number is called."""

    @property
    def capacity(self) -> Amounts:
        """The limit on each number."""

    def cost(self, event: Event) -> Cost:
        """The event's numbers, rounded up; an infinite one refuses it."""

    def within(self, amounts: Amounts) -> AnyGuarantee:
        """The weakest guarantee, in doubles, whose numbers are at most ``amounts``."""


def in_brief(event: Event) -> str:
    """The event for a message, not longer than a line or two."""
    return shortened(in_grammar(event), 160)
