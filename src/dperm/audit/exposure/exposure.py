# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""What was found of one secret."""

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import log_ndtr, logsumexp

from dperm import checks
from dperm.audit.exposure.scoring import (
    ROWS,
    Progress,
    Scorer,
    SequenceModel,
    checked_model,
    log_probabilities,
    next_log_probabilities,
    secret_scores,
)
from dperm.audit.exposure.space import SecretSpace
from dperm.audit.intervals import clopper_pearson_lower, clopper_pearson_upper
from dperm.errors import AssumptionError, ParameterError
from dperm.noise.arrays import Floats, Integers

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


NODES = 4001
NEAREST = 1e-12
"""What is left out next to the end of the integral."""


@dataclass(frozen=True)
class SkewNormal:
    """Density (2/s) phi(z) Phi(a z), z = (x - location)/s."""

    shape: float
    location: float
    scale: float

    def log_cdf(self, x: float) -> float:
        """Log of the probability of values up to x.

        The integral of 2 phi(t) Phi(a t) over t = z - e^u, by the trapezoidal rule in u and in logarithms: scipy's own
        is -inf from some 30 deviations on, where well-remembered secrets are.
        """
        z = (x - self.location) / self.scale
        u = np.linspace(math.log(NEAREST), math.log(50.0 + abs(z)), NODES)
        t = z - np.exp(u)
        logs = math.log(2) - t * t / 2 - math.log(2 * math.pi) / 2 + log_ndtr(self.shape * t) + u
        return min(float(logsumexp(logs) + math.log(u[1] - u[0])), 0.0)


def fit_skew_normal(values: Floats) -> tuple[SkewNormal, float]:
    """The law of largest likelihood, and the Kolmogorov-Smirnov p-value of these values under it."""
    from scipy import stats

    shape, location, scale = stats.skewnorm.fit(values)
    p_value = stats.kstest(values, stats.skewnorm(shape, location, scale).cdf).pvalue
    return SkewNormal(float(shape), float(location), float(scale)), float(p_value)


MOST_SECRETS = 10**8
EQUAL = 1e-9
"""Log probabilities this close are equal: the same factors, added in another order."""


def exact_exposure(
    model: Scorer, space: SecretSpace, secret: tuple[int, ...], *, progress: Progress = None
) -> Exposure:
    """``log2 |R| - log2 rank(secret)``, by enumeration (A10)."""
    place = space.place(secret)
    return exposure_among(all_log_probabilities(model, space, progress=progress), place)


def exposure_among(scores: ArrayLike, place: int) -> Exposure:
    """The exposure of the secret at ``place`` among all: of equally likely ones, the middle rank."""
    scores = log_probabilities("scores", scores, dims=1)
    if not len(scores):
        raise ParameterError("scores must hold the log probability of one secret at least, got none.")
    place = checks.count("place", place, least=0, most=len(scores) - 1)
    rank = 1 + count_ahead(scores, float(scores[place]), less=1)
    most = float(np.log2(len(scores)))
    return Exposure(float(most - np.log2(rank)), most, "exact", len(scores), float(scores[place]))


def count_ahead(scores: Floats, score: float, *, less: int = 0) -> float:
    """How many of ``scores`` are likelier than ``score``; equal ones, ``less`` the secret itself, count half."""
    likelier, equal = count_likelier(scores, score)
    return likelier + (equal - less) / 2


def count_likelier(scores: Floats, score: float) -> tuple[int, int]:
    """How many of ``scores`` are likelier than ``score``, and how many equal."""
    likelier = int(np.count_nonzero(scores > score + EQUAL))
    return likelier, int(np.count_nonzero(scores >= score - EQUAL)) - likelier


def all_log_probabilities(model: Scorer, space: SecretSpace, *, progress: Progress = None) -> Floats:
    """The log probability of every secret, in the order of `SecretSpace.place`.

    A model that says what comes next is asked along a tree: contexts are shared, so 10^6 codes of six digits take
    1 + 10 + ... + 10^5 = 111,111 of them. A function that scores whole sequences is asked for each.
    """
    checked_model(model)
    if space.size > MOST_SECRETS:
        raise ParameterError(
            f"space must hold at most {MOST_SECRETS:,} secrets to be enumerated, got {space.size:.3g}. Use "
            f"sampled_exposure or extrapolated_exposure."
        )
    if not isinstance(model, SequenceModel):
        return secret_scores(model, space, np.arange(space.size), progress)
    return _tree(model, space, progress)


def _tree(model: SequenceModel, space: SecretSpace, progress: Progress) -> Floats:
    """Level by level: the scores of all beginnings, and the beginnings."""
    contexts, scores, asked = np.array([space.prefix], dtype=np.int64), np.zeros(1), 0
    for level, choices in enumerate(space.choices, start=1):
        symbols = np.array(choices, dtype=np.int64)
        told = None if progress is None else _told(progress, asked, space.contexts)
        scores = (scores[:, np.newaxis] + _chosen(model, contexts, symbols, told)).ravel()
        asked += len(contexts)
        if level < len(space.choices):
            contexts = _longer(contexts, symbols)
    return scores


def _told(progress: Callable[[float], None], asked: int, total: int) -> Callable[[int], None]:
    """Progress by the contexts of a level, after those of the levels before."""
    return lambda rows: progress((asked + rows) / total)


def _chosen(model: SequenceModel, contexts: Integers, symbols: Integers, told: Callable[[int], None] | None) -> Floats:
    """Log probabilities of the symbols after each context, some contexts at a time."""
    parts = []
    for start in range(0, len(contexts), ROWS):
        some = contexts[start : start + ROWS]
        parts.append(next_log_probabilities(model, some, int(symbols.max()))[:, symbols])
        if told is not None:
            told(start + len(some))
    return np.concatenate(parts)


def _longer(contexts: Integers, symbols: Integers) -> Integers:
    """Every context followed by every symbol."""
    repeated = np.repeat(contexts, len(symbols), axis=0)
    return np.column_stack([repeated, np.tile(symbols, len(contexts))])


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
    bits = float(np.log2(samples) - np.log2(1 + count_ahead(scores, score)))
    interval = _interval(*count_likelier(scores, score), samples, (1 - confidence) / 2)
    clipped = (max(interval[0], 0.0), min(interval[1], space.bits))
    return Exposure(max(bits, 0.0), space.bits, "sampled", samples, score, interval=clipped)


def _interval(likelier: int, equal: int, samples: int, level: float) -> tuple[float, float]:
    """-log2 of the largest share that the sample allows, and of the smallest."""
    high = float(clopper_pearson_upper(likelier + equal, samples, level))
    low = float(clopper_pearson_lower(likelier, samples, level))
    return -float(np.log2(high)), float("inf") if low == 0 else -float(np.log2(low))


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
    law, p_value = fit_skew_normal(-scores)
    bits = -law.log_cdf(-score) / math.log(2)
    return Exposure(bits, space.bits, "extrapolated", samples, score, fit=p_value)
