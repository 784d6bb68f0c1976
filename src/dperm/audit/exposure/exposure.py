# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""What was found of one secret."""

import math
from dataclasses import asdict, dataclass

CHANCE = 1 / math.log(2)
"""Mean exposure, in bits, of a secret that the model never saw: -log2 of a uniform number, 1.44."""


@dataclass(frozen=True)
class Exposure:
    """The exposure of a secret, in bits: log2 of the size of its space less log2 of its rank in it (A10).

    The secret of lowest perplexity has rank 1. One that the model never saw has `CHANCE` bits in the mean, and more
    than b bits with probability 2^-b. Candidates that the model holds equally likely share the middle of their ranks,
    so a model that knows nothing shows 1 bit of everything.

    Attributes
    ----------
    bits
        The exposure.
    most
        log2 of the size of the space: the secret can be read off the model.
    method
        "exact", "sampled" or "extrapolated".
    candidates
        How many were scored.
    log_probability
        Natural logarithm of the model's probability of the secret.
    interval
        Where the exposure lies by a sample, at the confidence that was asked for.
    fit
        Kolmogorov-Smirnov p-value of the extrapolated law on the sample it was fitted to; small means do not trust it.
    """

    bits: float
    most: float
    method: str
    candidates: int
    log_probability: float
    interval: tuple[float, float] | None = None
    fit: float | None = None

    def __str__(self) -> str:
        """One sentence."""
        how = f"({self.method}, {self.candidates:,} candidates)"
        return (
            f"Exposure {self.bits:.1f} of {self.most:.1f} bits {how}; a secret never seen has {CHANCE:.1f} on average."
        )

    def as_dict(self) -> dict[str, object]:
        """Plain data, for JSON."""
        return {**asdict(self), "bits_by_chance": CHANCE}
