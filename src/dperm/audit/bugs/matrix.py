# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""The bug matrix: every bug is caught, and the correct version of each raises no alarm."""

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


@dataclass(frozen=True)
class Row:
    """One bug of the matrix.

    Attributes
    ----------
    name
        The bug, in a few words.
    wrong
        What is wrong, in a sentence.
    finding
        The audit of the wrong version.
    correct
        The audits of the correct version.
    """

    name: str
    wrong: str
    finding: Finding
    correct: tuple[Finding, ...]

    @property
    def caught(self) -> bool:
        """Whether the wrong version was refuted."""
        return self.finding.violation

    @property
    def statistic(self) -> str:
        """What caught it, or came nearest."""
        return self.finding.strongest

    @property
    def alarms(self) -> int:
        """How often the correct version was refuted."""
        return sum(finding.violation for finding in self.correct)

    @property
    def repeats(self) -> int:
        """How often it was audited."""
        return len(self.correct)


def matrix(
    *,
    runs: int = RUNS,
    repeats: int = 20,
    seed: int | None = None,
    bugs: Sequence[Bug] = BUGS,
    progress: Callable[[float], None] | None = None,
) -> tuple[Row, ...]:
    """Audit the wrong version of each bug once and the correct version ``repeats`` times, at 99.998 % confidence each.

    Parameters
    ----------
    runs
        Of each training in one audit; bugs that are harder to see take a multiple.
    repeats
        Audits of each correct version.
    seed
        None takes one from the operating system.
    bugs
        Which of them.
    progress
        Is told the share that is done.
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
    """At least one, and nothing else."""
    found = tuple(bugs) if isinstance(bugs, Sequence) else ()
    if not found or not all(isinstance(bug, Bug) for bug in found):
        raise ParameterError(f"bugs must be at least one bug of dperm.audit.bugs.BUGS, got {checks.shown(bugs)}.")
    return found


def false_alarm_probability(rows: Sequence[Row]) -> float:
    """Bound on the probability that any of the correct versions raises an alarm: the sum of the levels (A5)."""
    return sum(1 - finding.confidence for row in rows for finding in row.correct)


COLUMNS = ("bug", "what is wrong", "claimed", "measured", "caught by", "alarms of the correct version", "its measured")


def table(rows: Sequence[Row]) -> list[dict[str, str]]:
    """A plain row of words for each bug, by the names of the columns."""
    return [dict(zip(COLUMNS, _cells(row), strict=True)) for row in rows]


def _cells(row: Row) -> tuple[str, ...]:
    bound = row.finding.bound
    at = f" at delta {bound.delta:g}" if bound.delta > 0 else ""
    claimed = f"{claimed_digits(row.finding.claimed_epsilon(bound.delta))}{at}"
    caught = row.statistic if row.caught else "NOT CAUGHT"
    largest = max(finding.bound.epsilon for finding in row.correct)
    alarms = f"{row.alarms} of {row.repeats}"
    measured, at_most = (f">= {measured_digits(epsilon)}" for epsilon in (bound.epsilon, largest))
    return row.name, row.wrong, claimed, measured, caught, alarms, at_most
