# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""The matrix as a table."""

from collections.abc import Sequence

from dperm.audit.bugs.matrix import Row

COLUMNS = ("bug", "what is wrong", "claimed", "measured", "caught by", "alarms of the correct version", "its measured")


def table(rows: Sequence[Row]) -> list[dict[str, str]]:
    """A plain row of words for each bug, by the names of the columns."""
    return [dict(zip(COLUMNS, _cells(row), strict=True)) for row in rows]


def _cells(row: Row) -> tuple[str, ...]:
    bound = row.finding.bound
    at = f" at delta {bound.delta:g}" if bound.delta > 0 else ""
    claimed = f"{row.finding.claimed_epsilon(bound.delta):.3g}{at}"
    caught = row.statistic if row.caught else "NOT CAUGHT"
    largest = max(finding.bound.epsilon for finding in row.correct)
    alarms = f"{row.alarms} of {row.repeats}"
    return row.name, row.wrong, claimed, f">= {bound.epsilon:.3g}", caught, alarms, f">= {largest:.3g}"
