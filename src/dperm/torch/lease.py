# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Leases of noise draws from the budget: copies of one checkpoint together draw no more than was charged.

Once a run has a checkpoint, it leases its draws in blocks. Each block is durable in the ledger before its first draw. A
resumed run takes over: it counts every leased draw as made, and the superseded run gets no further lease. So leases of
different runs cover different draws, and all runs together draw at most as often as the plan has steps. The superseded
run notices at its next lease or check, whichever is first.
"""

import math
from contextlib import suppress
from time import perf_counter

from dperm.accounting.budget import Reservation
from dperm.errors import DpermError, LedgerError

MOST_BLOCKS, FEWEST_BLOCKS = 64, 4
"""A block covers between 1/64 and 1/4 of all steps. A crash loses at most one block."""
SHARE = 1 / 200
"""Largest share of leases in the time of a run, unless blocks of 1/4 are still too small."""
CHECK_SHARE = 1 / 1000
"""Largest share of checks in the time of a run."""


class DrawLease:
    """Leased draws of one run.

    *Guarantees.* No draw happens outside a durable lease once the run has one, and the ledger counts each leased
    draw once.

    Attributes
    ----------
    covered
        Number of draws counted in the ledger for this run and earlier runs; None before the first lease.
    """

    def __init__(self, reservation: Reservation, steps: int) -> None:
        self.covered: int | None = None
        self._reservation, self._steps = reservation, steps
        self._began, self._began_at = 0.0, 0
        self._took = self._checked = self._check_took = 0.0

    def take_over(self, draws: int) -> int:
        """Supersede the previous holder of the reservation; return the number of draws that count as made."""
        self.covered = self._reservation.take_over(draws)
        self._note_time(self.covered)
        return self.covered

    def begin(self, draws: int) -> None:
        """Lease the first block, before the first checkpoint is written; later calls have no effect."""
        if self.covered is None:
            self._extend(draws)

    def before_draw(self, draws: int) -> None:
        """Ensure that one more draw than ``draws`` is leased to this run.

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
            with suppress(LedgerError):  # these draws are leased already; without the ledger the next lease fails
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
        """Return unused leased draws to the ledger when a run fails; they are lost if the ledger cannot be reached."""
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
        """Number of draws in the next block: leases then take `SHARE` of the time, within the limits."""
        least, most = (max(1, math.ceil(self._steps / blocks)) for blocks in (MOST_BLOCKS, FEWEST_BLOCKS))
        made, passed = draws - self._began_at, perf_counter() - self._began
        if self.covered is None or made <= 0 or passed <= 0:
            return least
        return min(max(least, math.ceil(self._took / SHARE * made / passed)), most)
