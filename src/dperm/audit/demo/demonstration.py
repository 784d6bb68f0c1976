# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Complete demonstration: all three attacks, with and without noise."""

from collections.abc import Callable

from dperm.audit.demo.differencing import differencing
from dperm.audit.demo.membership import membership
from dperm.audit.demo.planted_secrets import planted_secrets
from dperm.audit.demo.result import DemoResult
from dperm.presentation.facts import Fact
from dperm.privacy import ApproxDP, PureDP

EPSILON, DELTA = 1.0, 1e-6
GUARANTEE = Fact(
    "demo.guarantee",
    "each model with noise by itself: epsilon = {epsilon:g} for one record added or removed, with delta = {delta:g} "
    "for the text (a record is a line) and delta = 0 for the others",
    {"epsilon": EPSILON, "delta": DELTA},
)
RECORDS_DONE, MEMBERS_DONE = 0.02, 0.08
"""Shares of the running time at the end of differencing and of membership inference."""
Progress = Callable[[float], None] | None


def run(*, seed: int | None = None, progress: Progress = None) -> DemoResult:
    """Run differencing, exposure and membership inference, with and without noise, in a few seconds on one core.

    Parameters
    ----------
    seed
        Seed of the synthetic data and of the attacker's coin flips, never of the noise.
    progress
        Callback that receives the completed fraction of the work, in [0, 1].

    Returns
    -------
    DemoResult
        Result of each attack, and the guarantee of the models with noise.
    """
    pure, approximate = PureDP(EPSILON, "add_remove"), ApproxDP(EPSILON, DELTA, "add_remove")
    records = differencing(pure, seed)
    members = membership(pure, seed, _within(progress, RECORDS_DONE, MEMBERS_DONE))
    secrets = planted_secrets(approximate, seed, _within(progress, MEMBERS_DONE, 1.0))
    return DemoResult((records, secrets, members), GUARANTEE)


def _within(progress: Progress, start: float, stop: float) -> Progress:
    """Return a callback for a part between two shares of the total progress."""
    return None if progress is None else lambda share: progress(start + share * (stop - start))
