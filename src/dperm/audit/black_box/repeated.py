# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Any training as a subject: run again and again on two data sets, in several processes if wanted."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import numpy as np

from dperm import checks
from dperm.audit.black_box.adjacent import require_neighbours
from dperm.audit.black_box.chosen import checked_statistics
from dperm.audit.black_box.looks import low_bits, projection
from dperm.audit.black_box.processes import in_processes
from dperm.audit.black_box.sample import Progress, Truths, told
from dperm.audit.black_box.statistics import Statistic
from dperm.audit.black_box.training import Trainings, different, succeeded, trained
from dperm.audit.claim import checked_claim, checked_curve
from dperm.errors import ParameterError
from dperm.noise.arrays import Floats
from dperm.privacy.guarantee import AnyGuarantee
from dperm.privacy.profile import PrivacyProfile

USUAL: tuple[Statistic, ...] = (projection(share=0.8), low_bits(share=0.2))
MOST_WORKERS = 1024
CHUNKS = 64
"""Parts of the runs for each process, and so of the progress."""


@dataclass(frozen=True)
class Repeated:
    """A training and two data sets; see `repeated`."""

    trainings: Trainings
    claimed: AnyGuarantee | None
    workers: int = 1
    name: str = "training"
    statistics: tuple[Statistic, ...] = USUAL
    profile: PrivacyProfile | None = None
    facts: Mapping[str, object] = field(default_factory=lambda: MappingProxyType({}))

    def outputs(self, included: Truths, progress: Progress | None = None) -> Floats:
        """One training for each run."""
        size = max(1, len(included) // (CHUNKS * self.workers))
        parts = [included[start : start + size] for start in range(0, len(included), size)]
        if self.workers > 1:
            return _joined(in_processes(self.trainings, parts, workers=self.workers, progress=progress))
        found = []
        for place, part in enumerate(parts):
            found.append(succeeded(trained(self.trainings, part)))
            told(progress, (place + 1) / len(parts))
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
) -> Repeated:
    """A subject from any function that trains: ``audit(repeated(...), runs=1000)``.

    Parameters
    ----------
    train
        ``train(data)`` returns what is released: numbers, a `Release`, or a model with ``coef_`` and ``intercept_``. It
        must draw its noise anew in every call: whatever does not change from call to call is no noise.
    with_record, without_record
        Neighbouring data sets, handed to ``train`` as they are: (X, y), say. The worse they are for the method, the
        more is shown. Lists, arrays, (X, y) and tables that are no neighbours under the claim's adjacency are refused;
        what cannot be compared is taken as it is.
    claimed
        The guarantee that ``train`` is said to have, under an adjacency that makes the two neighbours.
    workers
        Number of processes. They are forked where the system can: then ``train`` need not be picklable; elsewhere it
        and the data have to be. Every process must have random numbers of its own. Noise of dperm, and the global
        generators of random, numpy and torch, see to it; a generator that ``train`` holds would be copied: make it
        inside, without a seed, or use one process. Each process begins with 6 to 38 trainings that do not count, and
        copies are refused. Who mixes copied with fresh numbers is not found out.
    statistics
        What to look at; by default the best direction, and the lowest bits.
    profile
        The whole curve that is claimed, where it is known.
    name
        For the report.

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
        raise ParameterError(f"train must be a function of the data, got {checks.shown(train)}.")
    checked_curve(profile, checked_claim(claimed))
    require_neighbours(with_record, without_record, claimed.adjacency)
    chosen = USUAL if statistics is None else checked_statistics(statistics)
    workers = checks.count("workers", workers, "It is the number of processes.", most=MOST_WORKERS)
    return Repeated(Trainings(train, with_record, without_record), claimed, workers, name, chosen, profile)


def _joined(parts: Sequence[Floats]) -> Floats:
    """All runs, if all released as many numbers."""
    shapes = {part.shape[1:] for part in parts}
    if len(shapes) > 1:
        raise different(shapes)
    return np.concatenate(parts)
