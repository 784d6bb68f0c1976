# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""How much is tried."""

from collections.abc import Callable
from dataclasses import dataclass

from dperm import checks
from dperm.noise.simulation import generator


def _silent(share: float) -> None:
    """Tell nobody."""


@dataclass(frozen=True)
class Trials:
    """Fits to made-up tables. They follow from a seed and are NOT PRIVATE: there is nobody in the tables.

    Attributes
    ----------
    repeats
        Tables, each with a fit of its own; fewer where a fit takes long, at least four.
    seed
        Of tables and noise.
    progress
        Told the share that is done.
    """

    repeats: int = 10
    seed: int = 0
    progress: Callable[[float], None] = _silent

    def __post_init__(self) -> None:
        """Check the numbers."""
        object.__setattr__(self, "repeats", checks.count("repeats", self.repeats, least=2, most=10_000))
        object.__setattr__(self, "seed", checks.count("seed", self.seed, least=0))

    @classmethod
    def quick(cls, seed: int = 0) -> "Trials":
        """As few as make sense."""
        return cls(repeats=4, seed=seed)

    def part(self, place: int, parts: int) -> "Trials":
        """The same for one of several parts of a work: it tells its own share."""
        return Trials(self.repeats, self.seed, lambda share: self.progress((place + share) / parts))

    def number(self, what: str, place: int) -> int:
        """A seed of its own for each table or fit."""
        return int(generator(self.seed, purpose=f"planner {what} {place}").integers(2**53))
