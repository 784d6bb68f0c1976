# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Draws of noise that a run leases from its budget: copies of one checkpoint together draw no more than was charged.

A run whose checkpoint others can resume from leases its draws in blocks, each durable in the books before its first
draw. Who resumes takes over: it counts every draw that was leased before, made or not, and a superseded run gets no
further lease. Leases of different runs therefore cover different draws, and all runs together make at most as many
draws as the plan has steps. The superseded run notices at its next lease or at its next check, whichever is first.
"""

import math
from contextlib import suppress
from time import perf_counter

from dperm.accounting.budget import Reservation
from dperm.errors import DpermError, LedgerError

MOST_BLOCKS, FEWEST_BLOCKS = 64, 4
"""A block is between 1/64 and 1/4 of all steps. A crash costs at most one block."""
SHARE = 1 / 200
"""Share of the time of a run that leases may take, where blocks of 1/4 allow it."""
CHECK_SHARE = 1 / 1000
"""Share of the time of a run that checks may take."""


class DrawLease:
    """The lease of one run.

    Attributes
    ----------
    covered
        Draws that the books count as made by this run and those before it; None before the first lease.
    """

    def __init__(self, reservation: Reservation, steps: int) -> None:
        self.covered: int | None = None
        self._reservation, self._steps = reservation, steps
        self._began, self._began_at = 0.0, 0
        self._took = self._checked = self._check_took = 0.0

    def take_over(self, draws: int) -> int:
        """Supersede the run that held the reservation; return the draws that count as made, none of them leased."""
        self.covered = self._reservation.take_over(draws)
        self._note_time(self.covered)
        return self.covered

    def begin(self, draws: int) -> None:
        """Lease the first block, before the first checkpoint is written; nothing if it was leased."""
        if self.covered is None:
            self._extend(draws)

    def before_draw(self, draws: int) -> None:
        """Make sure that one more draw than ``draws`` is leased to this run.

        Raises
        ------
        SupersededError
            If another run took over.
        """
        if self.covered is None:
            return
        if draws >= self.covered:
            self._extend(draws)
        elif perf_counter() - self._checked >= self._check_took / CHECK_SHARE:
            with suppress(LedgerError):  # these draws are leased: a ledger that does not answer stops the next lease
                self.check()

    def check(self) -> None:
        """Raise SupersededError if another run took over."""
        if self.covered is not None:
            began = perf_counter()
            try:
                self._reservation.check_holder()
            finally:
                self._checked = perf_counter()
                self._check_took = self._checked - began

    def give_back(self, draws: int) -> None:
        """Return the draws that were leased and not made, when a run fails; a lost connection costs them."""
        if self.covered is not None and self.covered > draws:
            with suppress(DpermError):  # the error of the run is the one to show
                self._reservation.lease(draws)
                self.covered = draws

    def _extend(self, draws: int) -> None:
        end = min(draws + self._block(draws), self._steps)
        began = perf_counter()
        self._reservation.lease(end)
        self._took = perf_counter() - began
        self.covered = end
        self._note_time(draws)

    def _note_time(self, draws: int) -> None:
        self._began = self._checked = perf_counter()
        self._began_at = draws

    def _block(self, draws: int) -> int:
        """Draws of the next block: so many that a lease takes its share of their time, within the limits."""
        least, most = (max(1, math.ceil(self._steps / blocks)) for blocks in (MOST_BLOCKS, FEWEST_BLOCKS))
        made, passed = draws - self._began_at, perf_counter() - self._began
        if self.covered is None or made <= 0 or passed <= 0:
            return least
        return min(max(least, math.ceil(self._took / SHARE * made / passed)), most)
