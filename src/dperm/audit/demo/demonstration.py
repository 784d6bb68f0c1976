# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""All parts of the demonstration."""

from collections.abc import Callable

from dperm.audit.demo.differencing import differencing
from dperm.audit.demo.membership import membership
from dperm.audit.demo.planted_secrets import planted_secrets
from dperm.audit.demo.result import DemoResult
from dperm.privacy import ApproxDP, PureDP

EPSILON, DELTA = 1.0, 1e-6
GUARANTEE = (
    f"each model with noise by itself: epsilon = {EPSILON:g} for one record added or removed, with delta = {DELTA:g} "
    f"for the text (a record is a line) and delta = 0 for the others"
)
RECORDS_DONE, MEMBERS_DONE = 0.02, 0.08
"""Shares of the time after which differencing is done, and then membership."""
Progress = Callable[[float], None] | None


def run(*, seed: int | None = None, progress: Progress = None) -> DemoResult:
    """Differencing, exposure and membership, without and with noise; some seconds on one core.

    Parameters
    ----------
    seed
        For the made-up data and the attacker's coins; never for the noise, which nobody can repeat.
    progress
        Told the share that is done.
    """
    pure, approximate = PureDP(EPSILON, "add_remove"), ApproxDP(EPSILON, DELTA, "add_remove")
    records = differencing(pure, seed)
    members = membership(pure, seed, _within(progress, RECORDS_DONE, MEMBERS_DONE))
    secrets = planted_secrets(approximate, seed, _within(progress, MEMBERS_DONE, 1.0))
    return DemoResult((records, secrets, members), GUARANTEE)


def _within(progress: Progress, start: float, stop: float) -> Progress:
    """The progress of a part that begins and ends at these shares of the whole."""
    return None if progress is None else lambda share: progress(start + share * (stop - start))
