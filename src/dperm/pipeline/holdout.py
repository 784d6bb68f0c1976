# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Training records and evaluation records, chosen by secret coin flips (T71)."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dperm.noise.bits import Stream
from dperm.noise.keyed import DrawNumbers, KeyedSampler

HOLDOUT = 0.1
"""Default probability with which a record is an evaluation record (T90)."""
MOST_HOLDOUT = 0.5
"""Largest probability with which a record is an evaluation record."""
HOLDOUT_RULE = "It is the probability with which a record is held out for the metrics; 0 trains on all records."


@dataclass(frozen=True)
class RecordCoins:
    """Secret coin flips of all records, by a key (T71, T207). Any part of a table flips the coins of its own rows.

    Attributes
    ----------
    sampler
        Sampler with the secret key of one draw.
    draw
        Number of the draw.
    holdout
        Probability with which a record is an evaluation record.

    Notes
    -----
    **Guarantees.** The coin of a record is a function of the key and of the number of its row, so a split does not
    depend on the cuts into row groups.
    """

    sampler: KeyedSampler
    draw: int
    holdout: float

    @classmethod
    def of(cls, count: int, *, holdout: float, stream: Stream) -> "RecordCoins":
        """Return the coins of ``count`` records, with a key from ``stream``."""
        draws = DrawNumbers(stream, rows=count)
        return cls(draws.sampler, draws.number, holdout)

    def evaluation(self, start: int, stop: int) -> NDArray[np.int64]:
        """Return the numbers of the evaluation records from ``start`` up to ``stop``, in ascending order."""
        return self.sampler.sample(self.holdout, self.draw, start, stop)

    def training(self, start: int, stop: int) -> NDArray[np.int64]:
        """Return the numbers of the other records from ``start`` up to ``stop``, in ascending order."""
        others = np.arange(start, stop, dtype=np.int64)
        return np.setdiff1d(others, self.evaluation(start, stop), assume_unique=True)


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
        chosen = RecordCoins.of(count, holdout=holdout, stream=stream).evaluation(0, count)
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
