# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Exposure beyond what a sample can show: a law fitted to the perplexities of random candidates."""

import math

import numpy as np

from dperm import checks
from dperm.audit.exposure.exact import EQUAL
from dperm.audit.exposure.exposure import Exposure
from dperm.audit.exposure.sampled import SAMPLES
from dperm.audit.exposure.scoring import Progress, Scorer, secret_scores
from dperm.audit.exposure.skew_normal import fitted
from dperm.audit.exposure.space import SecretSpace
from dperm.errors import AssumptionError


def extrapolated_exposure(
    model: Scorer,
    space: SecretSpace,
    secret: tuple[int, ...],
    *,
    samples: int = 2000,
    seed: int | None = None,
    progress: Progress = None,
) -> Exposure:
    """-log2 F(log-perplexity of the secret), F a skew-normal law fitted to random candidates (A10).

    It can exceed ``log2 |R|``. ``Exposure.fit`` is the p-value of the Kolmogorov-Smirnov distance of the law from the
    sample; the law was fitted to it, so a small value condemns the fit and a large one does not prove it.
    """
    samples = checks.count("samples", samples, SAMPLES, least=100)
    score = float(secret_scores(model, space, np.array([space.place(secret)]))[0])
    scores = secret_scores(model, space, space.draw(samples, seed), progress)
    if not np.isfinite(scores).all() or np.ptp(scores) <= EQUAL:
        raise AssumptionError(
            "extrapolated exposure fits a continuous law to the candidates' log probabilities, but the model gives "
            "them all the same, or gives some probability 0. Use exact_exposure or sampled_exposure."
        )
    law, p_value = fitted(-scores)
    bits = -law.log_cdf(-score) / math.log(2)
    return Exposure(bits, space.bits, "extrapolated", samples, score, fit=p_value)
