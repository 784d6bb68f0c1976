# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Any training function as an audit subject: run repeatedly on two data sets, optionally in several processes.

A claim covers only neighbouring data sets, so an attack on other data sets refutes nothing. Data sets that can be
compared are therefore checked. Errors report sizes, never values.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dperm import checks
from dperm.audit.black_box.output_statistics import low_bits, projection
from dperm.audit.black_box.processes import run_in_processes
from dperm.audit.black_box.sample import Progress, Truths, report_progress
from dperm.audit.black_box.statistics import Statistic, checked_statistics
from dperm.audit.black_box.training import Trainings, require_success, run_trainings, shape_error
from dperm.audit.claim import checked_claim, checked_profile
from dperm.errors import ParameterError
from dperm.noise.arrays import Floats
from dperm.presentation.spelling import arg
from dperm.privacy import Adjacency
from dperm.privacy.guarantee import AnyGuarantee
from dperm.privacy.profile import PrivacyProfile

Rows = list[NDArray[np.generic]]
"""Columns, or blocks of columns, of a data set; all of the same length."""

NEIGHBOUR_RULES = {
    Adjacency.ADD_REMOVE: "one data set is the other without one of its records",
    Adjacency.REPLACE_ONE: "both data sets have the same number of records and differ in one of them",
}
DEFAULT_STATISTICS: tuple[Statistic, ...] = (projection(share=0.8), low_bits(share=0.2))
MOST_WORKERS = 1024
CHUNKS = 64
"""Number of parts per process, and thus of progress reports."""


def require_neighbours(with_record: object, without_record: object, adjacency: Adjacency) -> None:
    """Raise ``ParameterError`` for comparable data sets that are not neighbours; accept other types unchecked."""
    one, other = rows_of(with_record), rows_of(without_record)
    if one is None or other is None or not _same_layout(one, other):
        return
    try:
        problem = _problem(one, other, adjacency)
    except Exception:  # of entries that cannot be compared
        return
    if problem:
        raise ParameterError(
            argument="with_record",
            rule=(
                f"must be a neighbour of {arg('without_record')} under the claimed adjacency {adjacency.value}: "
                f"{NEIGHBOUR_RULES[adjacency]}"
            ),
            got=problem,
            remedy="A claim does not cover other data sets, and would be refuted wrongly.",
        )


def rows_of(data: object) -> Rows | None:
    """Return the parts of a data set, or None if its records cannot be compared.

    An array or a list is one part. A tuple of arrays or lists of equal length, such as (X, y), has several parts. The
    part of a table (a pandas DataFrame) is its values. A list of two lists is ambiguous and is not compared.
    """
    if isinstance(data, list) and len(data) == 2 and all(hasattr(part, "__len__") for part in data):
        return None
    if (
        isinstance(data, tuple)
        and data
        and all(hasattr(part, "__len__") and not isinstance(part, str) for part in data)
    ):
        parts = [rows_of(list(part) if isinstance(part, tuple) else part) for part in data]
        joined = [one for part in parts if part is not None for one in part]
        return joined if len(joined) == len(data) and len({len(one) for one in joined}) == 1 else None
    if isinstance(data, list | tuple | np.ndarray) or hasattr(data, "iloc"):
        return _as_rows(data)
    return None


def _as_rows(data: object) -> Rows | None:
    """Return the data as one array, or None; never raise, because the error may repeat private values."""
    try:
        found = np.asarray(data)
    except Exception:
        return None
    return [found] if found.ndim else None


def _same_layout(one: Rows, other: Rows) -> bool:
    """Whether records have the same parts and shapes in both data sets."""
    return len(one) == len(other) and all(a.shape[1:] == b.shape[1:] for a, b in zip(one, other, strict=True))


def _problem(one: Rows, other: Rows, adjacency: Adjacency) -> str:
    sizes = sorted([len(one[0]), len(other[0])])
    is_added = adjacency is Adjacency.ADD_REMOVE
    if sizes[1] - sizes[0] != int(is_added):
        return f"{len(one[0])} and {len(other[0])} records"
    if not is_added:
        differing = int(np.count_nonzero(~_same(one, other)))
        return "" if differing <= 1 else f"{differing} records that differ"
    longer, shorter = (one, other) if len(one[0]) > len(other[0]) else (other, one)
    same = _same([part[:-1] for part in longer], shorter)
    place = int(np.argmin(same)) if not same.all() else len(same)
    rest = _same([part[place + 1 :] for part in longer], [part[place:] for part in shorter])
    return "" if rest.all() else "further differences, or another order of the records"


def _same(one: Rows, other: Rows) -> NDArray[np.bool_]:
    """Return a mask of equal records, with NaN equal to NaN."""
    found = np.ones(len(one[0]), dtype=np.bool_)
    for a, b in zip(one, other, strict=True):
        equal = np.asarray((a == b) | ((a != a) & (b != b)), dtype=np.bool_)
        found &= equal.all(axis=tuple(range(1, equal.ndim)))
    return found


@dataclass(frozen=True)
class RepeatedTraining:
    """Audit subject made of a training function and two data sets; build it with `repeated`."""

    trainings: Trainings
    claimed: AnyGuarantee | None
    workers: int = 1
    name: str = "training"
    statistics: tuple[Statistic, ...] = DEFAULT_STATISTICS
    profile: PrivacyProfile | None = None
    facts: Mapping[str, object] = field(default_factory=lambda: MappingProxyType({}))

    def outputs(self, included: Truths, progress: Progress | None = None) -> Floats:
        """Train once for each entry of ``included``, and return one row per run."""
        size = max(1, len(included) // (CHUNKS * self.workers))
        parts = [included[start : start + size] for start in range(0, len(included), size)]
        if self.workers > 1:
            return _joined(run_in_processes(self.trainings, parts, workers=self.workers, progress=progress))
        found = []
        for place, part in enumerate(parts):
            found.append(require_success(run_trainings(self.trainings, part)))
            report_progress(progress, (place + 1) / len(parts))
        return _joined(found)


def repeated(
    train: Callable[[Any], object],
    with_record: object,
    without_record: object,
    *,
    claimed: AnyGuarantee,
    workers: int = 1,
    statistics: Sequence[Statistic] | None = None,
    profile: PrivacyProfile | None = None,
    name: str = "training",
) -> RepeatedTraining:
    """Build an audit subject from any training function, for use as in ``audit(repeated(...), runs=1000)``.

    Parameters
    ----------
    train
        Function that takes a data set and returns the released result: numbers, a `Release`, or a model with ``coef_``
        and ``intercept_``. The function must draw fresh noise in every call.
    with_record, without_record
        Neighbouring data sets, for example two tuples (X, y), passed to ``train`` unchanged. Data sets close to the
        worst case of the method give stronger bounds. `repeated` checks that lists, arrays, tuples (X, y) and tables
        are neighbours under the adjacency of the claim. Other objects are not compared.
    claimed
        Claimed guarantee of ``train``, under an adjacency for which the two data sets are neighbours.
    workers
        Number of processes, from 1 to 1024. Processes are forked where possible; otherwise ``train`` and the data must
        be picklable. Every process needs its own random numbers. The noise of dperm satisfies this requirement, and so
        do the global generators of Python's ``random`` module, numpy and torch. A generator stored in ``train`` would
        be copied to every process, so all processes would draw the same numbers. Create such a generator inside
        ``train``, without a seed, or use one process. With two or more processes, each process first trains 6 times
        only to check for copied random numbers, or 38 times if the first 6 outputs are not all different. If ``train``
        uses both copied and new random numbers, the check does not detect the copies.
    statistics
        Statistics from which the audit guesses whether a run included the record; None uses `projection` and
        `low_bits`.
    profile
        Claimed privacy profile; None uses the profile of ``claimed``.
    name
        Name of the subject for the report.

    Returns
    -------
    RepeatedTraining
        Subject to pass to `audit`.

    Raises
    ------
    ParameterError
        If ``train`` is not callable, if the data sets can be compared but are not neighbours, or if another argument is
        invalid.

    Examples
    --------
    >>> import numpy as np
    >>> from dperm import PureDP
    >>> from dperm.audit.black_box import audit, repeated
    >>> from dperm.mechanisms import LaplaceMechanism
    >>> count = LaplaceMechanism.calibrate(1.0, PureDP(1.0, "add_remove"))
    >>> subject = repeated(lambda rows: count.release(len(rows)).value, [1, 2, 3], [1, 2], claimed=count.goal)
    >>> audit(subject, runs=2000, confidence=0.9999).violation
    False
    """
    if not callable(train):
        raise ParameterError(argument="train", rule="must be a function of the data", got=checks.shown(train))
    checked_profile(profile, checked_claim(claimed))
    require_neighbours(with_record, without_record, claimed.adjacency)
    chosen = DEFAULT_STATISTICS if statistics is None else checked_statistics(statistics)
    workers = checks.count("workers", workers, "It is the number of processes.", most=MOST_WORKERS)
    return RepeatedTraining(
        Trainings(train, with_record, without_record),
        claimed,
        workers=workers,
        name=name,
        statistics=chosen,
        profile=profile,
    )


def _joined(parts: Sequence[Floats]) -> Floats:
    """Concatenate the parts; raise ``DataError`` if runs released different numbers of values."""
    shapes = {part.shape[1:] for part in parts}
    if len(shapes) > 1:
        raise shape_error(shapes)
    return np.concatenate(parts)
