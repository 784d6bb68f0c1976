# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Bug matrix: one audit of each buggy version, several audits of each correct version, and a table of the results."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from dperm import checks
from dperm.audit.bugs.bug import Bug
from dperm.audit.bugs.dp_sgd import FIXED_BATCHES, REAL_BATCH_SIZE
from dperm.audit.bugs.early_stopping import DATA_DEPENDENT_STOP
from dperm.audit.bugs.floating_point import RAW_FLOATS
from dperm.audit.bugs.full_batch_descent import (
    LESS_NOISE,
    LITTLE_LESS_NOISE,
    REUSED_NOISE,
    UNCLIPPED_BIAS,
    WRONG_ADJACENCY,
)
from dperm.audit.bugs.objective_perturbation import MISSING_DETERMINANT, WARM_START
from dperm.audit.finding import Finding, claimed_digits, measured_digits
from dperm.errors import ParameterError
from dperm.noise.simulation import generator
from dperm.presentation.facts import Fact

BUGS: tuple[Bug, ...] = (
    LESS_NOISE,
    LITTLE_LESS_NOISE,
    WRONG_ADJACENCY,
    UNCLIPPED_BIAS,
    FIXED_BATCHES,
    REUSED_NOISE,
    RAW_FLOATS,
    WARM_START,
    MISSING_DETERMINANT,
    REAL_BATCH_SIZE,
    DATA_DEPENDENT_STOP,
)
RUNS = 100_000
FEWEST_RUNS = 1_000
COLUMNS = ("bug", "what is wrong", "claimed", "measured", "caught by", "alarms of the correct version", "its measured")


@dataclass(frozen=True)
class Row:
    """Results of the audits for one bug.

    Attributes
    ----------
    name
        Short name of the bug.
    wrong
        One-sentence description of the bug.
    finding
        Finding of the audit of the buggy version.
    correct
        Findings of the audits of the correct version.
    """

    name: str
    wrong: str
    finding: Finding
    correct: tuple[Finding, ...]

    @property
    def caught(self) -> bool:
        """Whether the audit refuted the claim of the buggy version."""
        return self.finding.violation

    @property
    def statistic(self) -> str:
        """Name of the statistic with the strongest evidence against the claim of the buggy version."""
        return self.finding.strongest

    @property
    def alarms(self) -> int:
        """Number of false alarms: audits that refuted the claim of the correct version."""
        return sum(finding.violation for finding in self.correct)

    @property
    def repeats(self) -> int:
        """Number of audits of the correct version."""
        return len(self.correct)

    @property
    def verdict(self) -> Fact:
        """`Fact` whose text is the name of the statistic that detected the bug, or "NOT CAUGHT"."""
        bound = self.finding.bound
        epsilons = {"claimed_epsilon": self.finding.claimed_epsilon(bound.delta), "measured_epsilon": bound.epsilon}
        values = {"bug": self.name, "statistic": self.statistic, **epsilons}
        return Fact("bugs.caught", "{statistic}", values) if self.caught else Fact("bugs.missed", "NOT CAUGHT", values)


def matrix(
    *,
    runs: int = RUNS,
    repeats: int = 20,
    seed: int | None = None,
    bugs: Sequence[Bug] = BUGS,
    progress: Callable[[float], None] | None = None,
) -> tuple[Row, ...]:
    """Audit each buggy version once and each correct version ``repeats`` times, each at 99.998 % confidence or more.

    Parameters
    ----------
    runs
        Number of runs of one audit, at least 1,000. A `SimulatedBug` multiplies this number by its ``effort``; an
        `ExactBug` ignores the number.
    repeats
        Number of audits of each correct version.
    seed
        Seed of the coin flips and the noise; None draws a seed from the operating system.
    bugs
        Bugs to audit; by default all bugs in ``BUGS``.
    progress
        Callback that receives the completed fraction of the work, in (0, 1].

    Returns
    -------
    tuple of Row
        Results of the audits, one row per bug, in the order of ``bugs``.

    Raises
    ------
    ParameterError
        If ``runs`` is below 1,000, ``repeats`` is not a positive integer, or ``bugs`` is empty or contains an object
        that is not a bug.
    """
    runs, repeats = checks.count("runs", runs, least=FEWEST_RUNS), checks.count("repeats", repeats)
    bugs = _checked(bugs)
    seeds = generator(seed).integers(2**50, size=(len(bugs), repeats + 1)).tolist()
    rows = []
    for place, (bug, own) in enumerate(zip(bugs, seeds, strict=True)):
        finding = bug.finding(buggy=True, runs=runs, seed=own[0])
        correct = []
        for repeat, one in enumerate(own[1:]):
            correct.append(bug.finding(buggy=False, runs=runs, seed=one))
            if progress is not None:
                progress((place + (repeat + 1) / repeats) / len(bugs))
        rows.append(Row(bug.name, bug.wrong, finding, tuple(correct)))
    return tuple(rows)


def _checked(bugs: object) -> tuple[Bug, ...]:
    """Return the bugs; raise ``ParameterError`` for none, or for other objects."""
    found = tuple(bugs) if isinstance(bugs, Sequence) else ()
    if not found or not all(isinstance(bug, Bug) for bug in found):
        raise ParameterError(
            argument="bugs", rule="must be at least one bug of dperm.audit.bugs.BUGS", got=checks.shown(bugs)
        )
    return found


def false_alarm_probability(rows: Sequence[Row]) -> float:
    """Return an upper bound on the probability of at least one false alarm, by the union bound over all audits (A5).

    Parameters
    ----------
    rows
        Results of `matrix`.

    Returns
    -------
    float
        Sum of 1 - confidence over the audits of the correct versions.
    """
    return sum(1 - finding.confidence for row in rows for finding in row.correct)


def table(rows: Sequence[Row]) -> list[dict[str, str]]:
    """Return the results as a table of text cells.

    Parameters
    ----------
    rows
        Results of `matrix`.

    Returns
    -------
    list of dict
        One dictionary for each bug, with the column headings as keys.
    """
    return [dict(zip(COLUMNS, _cells(row), strict=True)) for row in rows]


def _cells(row: Row) -> tuple[str, ...]:
    bound = row.finding.bound
    at = f" at delta {bound.delta:g}" if bound.delta > 0 else ""
    claimed = f"{claimed_digits(row.finding.claimed_epsilon(bound.delta))}{at}"
    largest = max(finding.bound.epsilon for finding in row.correct)
    alarms = f"{row.alarms} of {row.repeats}"
    measured, at_most = (f">= {measured_digits(epsilon)}" for epsilon in (bound.epsilon, largest))
    return row.name, row.wrong, claimed, measured, str(row.verdict), alarms, at_most
