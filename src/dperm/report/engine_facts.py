# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Facts about a table that an engine read in row groups.

Numbers of row groups, rows, passes and repeated tasks, and times, are in no statement: they may depend on the data.
"""

from collections.abc import Mapping

from dperm.privacy.record import Record

ENGINE = "engine"
"""Key in records for the engine that read a table in row groups: its name, and its version if it has one."""
LOCAL = ("serial", "threads")
"""Engines of one process."""
SOLVED = ("objective", "output")
"""Methods with a solver that uses second derivatives."""
ROW_GROUPS = (
    'The records were read in row groups by the engine "{}". Sums over the records are computed exactly, in integer '
    "arithmetic (T201). They depend neither on the division into row groups, nor on the order of the groups, nor on "
    "whether the computation for a group was repeated. A single process drew all noise, and drew it only once."
)
WORKERS = 'All workers of the engine "{}" belong to the party that computes the release.'
CURVATURE = "The solver computed second derivatives on a sample of the records; these derivatives are not released."


def engine_security(record: Record) -> tuple[str, ...]:
    """Return sentences on the sums over row groups and on the noise; empty for data in memory."""
    name = _engine(record)
    return (ROW_GROUPS.format(name),) if name else ()


def engine_trust(record: Record) -> tuple[str, ...]:
    """Return the sentence on the workers of a cluster; empty without one."""
    name = _engine(record)
    return (WORKERS.format(name),) if name and name not in LOCAL else ()


def engine_scope(record: Record) -> tuple[str, ...]:
    """Return the sentence on the second derivatives of a sample; empty for data in memory and other methods."""
    return (CURVATURE,) if _engine(record) and record.public.get("method") in SOLVED else ()


def _engine(record: Record) -> str:
    """Return the name and the version of the engine as text; empty for data in memory."""
    found = record.public.get(ENGINE)
    if not isinstance(found, Mapping):
        return ""
    return " ".join(str(found[key]) for key in ("name", "version") if key in found)
