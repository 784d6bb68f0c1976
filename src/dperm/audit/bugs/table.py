# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""The matrix as a table."""

from collections.abc import Sequence

from dperm.audit.bugs.matrix import Row
from dperm.audit.finding import claimed_digits, measured_digits

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
