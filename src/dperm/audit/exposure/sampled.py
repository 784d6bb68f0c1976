# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Exposure by a sample of the space, with an interval."""

import numpy as np

from dperm import checks
from dperm.audit.exposure.exact import ahead, compared
from dperm.audit.exposure.exposure import Exposure
from dperm.audit.exposure.scoring import Progress, Scorer, secret_scores
from dperm.audit.exposure.space import SecretSpace
from dperm.audit.intervals import clopper_pearson_lower, clopper_pearson_upper

SAMPLES = "It is the number of random candidates that the secret is compared with."


def sampled_exposure(
    model: Scorer,
    space: SecretSpace,
    secret: tuple[int, ...],
    *,
    samples: int = 10_000,
    confidence: float = 0.95,
    seed: int | None = None,
    progress: Progress = None,
) -> Exposure:
    """log2 S - log2(1 + how many of S random candidates are likelier than the secret) (A10).

    Never more than log2 S. The interval is Clopper and Pearson's for the share of candidates ahead of the secret, in
    bits: its lower end counts equally likely ones as ahead, its upper end does not.
    """
    samples = checks.count("samples", samples, SAMPLES, least=100)
    confidence = checks.positive_delta("confidence", confidence)
    score = float(secret_scores(model, space, np.array([space.place(secret)]))[0])
    scores = secret_scores(model, space, space.draw(samples, seed), progress)
    bits = float(np.log2(samples) - np.log2(1 + ahead(scores, score)))
    interval = _interval(*compared(scores, score), samples, (1 - confidence) / 2)
    clipped = (max(interval[0], 0.0), min(interval[1], space.bits))
    return Exposure(max(bits, 0.0), space.bits, "sampled", samples, score, interval=clipped)


def _interval(likelier: int, equal: int, samples: int, level: float) -> tuple[float, float]:
    """-log2 of the largest share that the sample allows, and of the smallest."""
    high = float(clopper_pearson_upper(likelier + equal, samples, level))
    low = float(clopper_pearson_lower(likelier, samples, level))
    return -float(np.log2(high)), float("inf") if low == 0 else -float(np.log2(low))
