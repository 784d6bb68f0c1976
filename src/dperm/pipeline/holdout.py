# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Training records and evaluation records, chosen by secret coin flips (T71)."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dperm.noise.bits import Stream
from dperm.noise.poisson import sampled_rows

HOLDOUT = 0.1
"""Default probability with which a record is an evaluation record (T90)."""
MOST_HOLDOUT = 0.5
"""Largest probability with which a record is an evaluation record."""
HOLDOUT_RULE = "It is the probability with which a record is held out for the metrics; 0 trains on all records."


@dataclass(frozen=True)
class RecordSplit:
    """Places of the training records and of the evaluation records. They are secret.

    Attributes
    ----------
    training, evaluation
        Places in ascending order; every record is in one of both.
    """

    training: NDArray[np.int64]
    evaluation: NDArray[np.int64]

    @classmethod
    def by_coins(cls, count: int, *, holdout: float, stream: Stream) -> "RecordSplit":
        """Return a split by one coin flip for each record.

        Parameters
        ----------
        count
            Number of records.
        holdout
            Probability with which a record is an evaluation record; 0 makes all records training records.
        stream
            Random bits, which nobody else reads.

        Notes
        -----
        **Guarantees.** The coin flips are independent of each other and of the contents of the records (T71). A record
        that is added or removed changes the part of no other record. A split with exact sizes would not have this
        property (E42).
        """
        places = np.arange(count, dtype=np.int64)
        if not holdout:
            return cls(places, places[:0])
        chosen = sampled_rows(holdout, count, stream)
        return cls(np.setdiff1d(places, chosen, assume_unique=True), chosen)

    @classmethod
    def of_size(cls, count: int, *, evaluation: int, stream: Stream) -> "RecordSplit":
        """Return a random split with a public number of evaluation records, for replace-one alone.

        Parameters
        ----------
        count
            Number of records; it is public.
        evaluation
            Number of evaluation records.
        stream
            Random bits, which nobody else reads.

        Notes
        -----
        **Guarantees.** The places of the evaluation records do not depend on any record, so a replaced record stays in
        its part (T93). Under add/remove, this split is not covered (E42).
        """
        order = np.argsort(stream.words(count), kind="stable").astype(np.int64)
        return cls(np.sort(order[evaluation:]), np.sort(order[:evaluation]))
