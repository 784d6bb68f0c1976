# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Power of an audit: with too few runs, even correct guesses alone cannot refute a claim."""

from collections.abc import Collection
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dperm.audit import Finding

NO_GUESS = "no guess was made"
"""Method of a bound whose statistic made no guess."""
IDLE = (
    "this audit could not have refuted the claim: the only statistics with enough power made no guess in {} runs. Use "
    "more runs."
)
MOST = 10**9
"""Largest number of runs that is considered."""


def with_power(finding: "Finding", subject: Any) -> "Finding":
    """Return the finding, with a fact if it could not have refuted the claim."""
    from dataclasses import replace

    from dperm.report.audits import POWERLESS

    reason = powerless(finding, subject)
    return replace(finding, facts={**finding.facts, POWERLESS: reason}) if reason else finding


def powerless(finding: "Finding", subject: Any) -> str:
    """Return the reason why the audit could not have refuted the claim; empty if it could."""
    runs = int(finding.facts["runs"])  # type: ignore[call-overload]  # of every black box
    if _refutes(finding, subject, runs):
        idle = {name for name, bound in finding.bounds.items() if bound.method.startswith(NO_GUESS)}
        return IDLE.format(runs) if idle and not _refutes(finding, subject, runs, without=idle) else ""
    least = _fewest(finding, subject, runs)
    rest = f"at least {least} runs are needed" if least else "no number of runs is enough"
    return (
        f"this audit could not have refuted the claim: with {runs} runs, even correct guesses alone cannot show an "
        f"epsilon above the claimed one; {rest}."
    )


def _refutes(finding: "Finding", subject: Any, runs: int, without: Collection[str] = ()) -> bool:
    """Return whether ``runs`` correct guesses would refute the claim by any statistic (A4)."""
    shares = {one.name: one.share for one in subject.statistics}
    parts = [(one, (1 - finding.confidence) * one.share / sum(shares.values())) for one in subject.statistics]
    kept = [(one, alpha) for one, alpha in parts if one.name not in without]
    return any(_most(finding, one.tested(runs), alpha, getattr(one, "gaussian", False)) for one, alpha in kept)


def _most(finding: "Finding", guesses: int, alpha: float, gaussian: bool) -> bool:
    from dperm.audit.black_box.guess_bounds import GuessCounts, bound_from_counts, gaussian_bound_from_counts

    delta, counts = finding.bound.delta, GuessCounts(guesses, guesses, guesses)
    bound = (gaussian_bound_from_counts if gaussian else bound_from_counts)(counts, delta=delta, alpha=alpha)
    return bound.epsilon > finding.claimed_epsilon(delta)


def _fewest(finding: "Finding", subject: Any, runs: int) -> int:
    """Return the smallest sufficient number of runs, by bisection; 0 if 10^9 are not enough."""
    low, high = runs, runs
    while not _refutes(finding, subject, high):
        low, high = high, 2 * high
        if high > MOST:
            return 0
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if _refutes(finding, subject, middle) else (middle, high)
    return high
