# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Exposure of a secret: exact by enumeration, estimated from a sample, or extrapolated by a fitted distribution."""

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
from dperm.presentation.facts import Fact

CHANCE = 1 / math.log(2)
"""Mean exposure, in bits, of a secret outside the training data: the mean of -log2 U for uniform U, about 1.44."""
NODES = 4001
NEAREST = 1e-12
"""Distance to the end of the integral that is left out."""
MOST_SECRETS = 10**8
EQUAL = 1e-9
"""Tolerance for equal log probabilities: the same factors may be added in another order."""
SAMPLES = "It is the number of random candidates that the secret is compared with."


@dataclass(frozen=True)
class Exposure:
    """Exposure of a secret in bits: log2 of the size of its space minus log2 of its rank (A10).

    The candidates are all secrets of the space. They are ranked by their probability under the model, with rank 1 for
    the most probable one. The exposure of a secret outside the training data is about 1.44 bits on average (`CHANCE`),
    and exceeds b bits with probability about 2^-b. Equally likely candidates all receive their mean rank. If all
    candidates are equally likely, every secret in a large space therefore has an exposure of about 1 bit.

    Attributes
    ----------
    bits
        The exposure, in bits.
    most
        Largest possible exact exposure: log2 of the size of the space.
    method
        "exact", "sampled" or "extrapolated".
    candidates
        Number of scored candidates.
    log_probability
        Natural logarithm of the model's probability of the secret.
    interval
        Confidence interval of a sampled exposure, in bits; None for the other methods.
    fit
        For an extrapolated exposure, the Kolmogorov-Smirnov p-value of the fitted distribution, computed on the sample
        to which it was fitted. A small value indicates a poor fit. None for the other methods.
    """

    bits: float
    most: float
    method: str
    candidates: int
    log_probability: float
    interval: tuple[float, float] | None = None
    fit: float | None = None

    def __str__(self) -> str:
        """Return `summary` as a sentence."""
        return str(self.summary)

    @property
    def summary(self) -> Fact:
        """Sentence with the exposure, its maximum, and the mean exposure of a secret outside the training data."""
        template = (
            "Exposure {bits:.1f} of {most:.1f} bits ({method}, {candidates:,} candidates); a secret never seen has "
            "{chance:.1f} on average."
        )
        return Fact("exposure.summary", template, {**asdict(self), "chance": CHANCE})

    def as_dict(self) -> dict[str, object]:
        """Return the fields as JSON-serialisable data, with the mean exposure of a secret outside the training data."""
        return {**asdict(self), "bits_by_chance": CHANCE}


@dataclass(frozen=True)
class SkewNormal:
    """Skew-normal distribution with density (2/s) phi(z) Phi(a z), z = (x - location)/s, and a stable log CDF."""

    shape: float
    location: float
    scale: float

    def log_cdf(self, x: float) -> float:
        """Return the log probability of values up to x.

        The trapezoidal rule in u integrates 2 phi(t) Phi(a t) over t = z - e^u, in logarithms. scipy's function returns
        -inf beyond about 30 standard deviations, the range of memorized secrets.
        """
        z = (x - self.location) / self.scale
        u = np.linspace(math.log(NEAREST), math.log(50.0 + abs(z)), NODES)
        t = z - np.exp(u)
        logs = math.log(2) - t * t / 2 - math.log(2 * math.pi) / 2 + log_ndtr(self.shape * t) + u
        return min(float(logsumexp(logs) + math.log(u[1] - u[0])), 0.0)


def fit_skew_normal(values: Floats) -> tuple[SkewNormal, float]:
    """Return the maximum-likelihood skew-normal distribution, and the Kolmogorov-Smirnov p-value of the values."""
    from scipy import stats

    shape, location, scale = stats.skewnorm.fit(values)
    p_value = stats.kstest(values, stats.skewnorm(shape, location, scale).cdf).pvalue
    return SkewNormal(float(shape), float(location), float(scale)), float(p_value)


def exact_exposure(
    model: Scorer, space: SecretSpace, secret: tuple[int, ...], *, progress: Progress = None
) -> Exposure:
    """Return the exact exposure of a secret, by scoring all secrets of its space (A10).

    The exposure is ``log2 |R| - log2 rank(secret)``, where ``|R|`` is the number of secrets in the space.

    Parameters
    ----------
    model
        `SequenceModel`, or function that maps whole sequences, one per row, to their log probabilities.
    space
        Space of the secret, with at most 10^8 secrets.
    secret
        Symbols of the secret, without the prefix of the space.
    progress
        Callback that receives the completed fraction of the work, in (0, 1].

    Returns
    -------
    Exposure
        The exact exposure.
    """
    place = space.place(secret)
    return exposure_among(all_log_probabilities(model, space, progress=progress), place)


def exposure_among(scores: ArrayLike, place: int) -> Exposure:
    """Return the exposure of one secret, given the log probabilities of all secrets.

    Equally likely secrets all receive their mean rank.

    Parameters
    ----------
    scores
        Log probability of every secret.
    place
        Index of the secret in ``scores``.

    Returns
    -------
    Exposure
        The exact exposure.

    Raises
    ------
    ParameterError
        If ``scores`` is empty, or ``place`` is out of range.
    """
    scores = log_probabilities("scores", scores, dims=1)
    if not len(scores):
        raise ParameterError(
            argument="scores", rule="must contain the log probability of at least one secret", got="none"
        )
    place = checks.count("place", place, least=0, most=len(scores) - 1)
    rank = 1 + count_ahead(scores, float(scores[place]), less=1)
    most = float(np.log2(len(scores)))
    return Exposure(float(most - np.log2(rank)), most, "exact", len(scores), float(scores[place]))


def count_ahead(scores: Floats, score: float, *, less: int = 0) -> float:
    """Return the number of scores above ``score``; equal scores, except ``less`` of them, count one half."""
    likelier, equal = count_likelier(scores, score)
    return likelier + (equal - less) / 2


def count_likelier(scores: Floats, score: float) -> tuple[int, int]:
    """Return the number of scores above ``score``, and the number of equal scores."""
    likelier = int(np.count_nonzero(scores > score + EQUAL))
    return likelier, int(np.count_nonzero(scores >= score - EQUAL)) - likelier


def all_log_probabilities(model: Scorer, space: SecretSpace, *, progress: Progress = None) -> Floats:
    """Return the natural log probability of every secret, ordered by the indices of `SecretSpace.place`.

    A `SequenceModel` evaluates each context once for all secrets that begin with it. For example, the 10^6 codes of six
    digits need 1 + 10 + ... + 10^5 = 111,111 contexts. A function evaluates each whole sequence separately.

    Parameters
    ----------
    model
        `SequenceModel`, or function that maps whole sequences, one per row, to their log probabilities.
    space
        Space with at most 10^8 secrets.
    progress
        Callback that receives the completed fraction of the work, in (0, 1].

    Returns
    -------
    ndarray
        One log probability per secret.

    Raises
    ------
    ParameterError
        If the space has more than 10^8 secrets.
    """
    checked_model(model)
    if space.size > MOST_SECRETS:
        raise ParameterError(
            argument="space",
            rule=f"must have at most {MOST_SECRETS:,} secrets for enumeration",
            got=f"{space.size:.3g}",
            remedy="Use sampled_exposure or extrapolated_exposure.",
        )
    if not isinstance(model, SequenceModel):
        return secret_scores(model, space, np.arange(space.size), progress)
    return _tree(model, space, progress)


def _tree(model: SequenceModel, space: SecretSpace, progress: Progress) -> Floats:
    """Score all beginnings of secrets level by level."""
    contexts, scores, scored = np.array([space.prefix], dtype=np.int64), np.zeros(1), 0
    for level, choices in enumerate(space.choices, start=1):
        symbols = np.array(choices, dtype=np.int64)
        level_progress = None if progress is None else _level_progress(progress, scored, space.contexts)
        scores = (scores[:, np.newaxis] + _symbol_scores(model, contexts, symbols, level_progress)).ravel()
        scored += len(contexts)
        if level < len(space.choices):
            contexts = _longer(contexts, symbols)
    return scores


def _level_progress(progress: Callable[[float], None], scored: int, total: int) -> Callable[[int], None]:
    """Return a progress callback for one level, after the contexts of the levels before."""
    return lambda rows: progress((scored + rows) / total)


def _symbol_scores(
    model: SequenceModel, contexts: Integers, symbols: Integers, level_progress: Callable[[int], None] | None
) -> Floats:
    """Return log probabilities of the symbols after each context, in blocks of contexts."""
    parts = []
    for start in range(0, len(contexts), ROWS):
        some = contexts[start : start + ROWS]
        parts.append(next_log_probabilities(model, some, int(symbols.max()))[:, symbols])
        if level_progress is not None:
            level_progress(start + len(some))
    return np.concatenate(parts)


def _longer(contexts: Integers, symbols: Integers) -> Integers:
    """Return every context followed by every symbol."""
    repeated = np.repeat(contexts, len(symbols), axis=0)
    return np.column_stack([repeated, np.tile(symbols, len(contexts))])


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
    """Return an estimate of the exposure from S random candidates (A10).

    The estimate is log2 S - log2(1 + k), or 0 if this is negative. Here k is the number of candidates that are more
    likely than the secret, and equally likely candidates count one half. The estimate cannot exceed log2 S. The
    interval is the Clopper-Pearson interval for the share of more likely candidates in the space, converted to bits.
    Its lower end counts equally likely candidates as more likely, and its upper end counts them as less likely.

    Parameters
    ----------
    model
        `SequenceModel`, or function that maps whole sequences, one per row, to their log probabilities.
    space
        Space of the secret.
    secret
        Symbols of the secret, without the prefix of the space.
    samples
        Number S of random candidates, at least 100.
    confidence
        Confidence level of the interval, in (0, 1).
    seed
        Seed of the random candidates; None draws a seed from the operating system.
    progress
        Callback that receives the completed fraction of the work, in (0, 1].

    Returns
    -------
    Exposure
        The estimate with its interval.

    Raises
    ------
    ParameterError
        If an argument is out of range.
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
    """Return -log2 of the largest and of the smallest share of likelier candidates compatible with the sample."""
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
    """Return the exposure extrapolated from a skew-normal distribution fitted to random candidates (A10).

    The distribution is fitted to the log-perplexities of the candidates, which are the negative logarithms of their
    probabilities. The exposure is -log2 F(log-perplexity of the secret), where F is the fitted cumulative distribution
    function. The result can exceed ``Exposure.most``. ``Exposure.fit`` is the p-value of a Kolmogorov-Smirnov test of
    the fit on the same candidates. A small value indicates a poor fit, but a large value does not prove a good fit.

    Parameters
    ----------
    model
        `SequenceModel`, or function that maps whole sequences, one per row, to their log probabilities.
    space
        Space of the secret.
    secret
        Symbols of the secret, without the prefix of the space.
    samples
        Number of random candidates, at least 100.
    seed
        Seed of the random candidates; None draws a seed from the operating system.
    progress
        Callback that receives the completed fraction of the work, in (0, 1].

    Returns
    -------
    Exposure
        The extrapolated exposure.

    Raises
    ------
    AssumptionError
        If all candidates have the same log probability, or some have probability 0.
    ParameterError
        If an argument is out of range.
    """
    samples = checks.count("samples", samples, SAMPLES, least=100)
    score = float(secret_scores(model, space, np.array([space.place(secret)]))[0])
    scores = secret_scores(model, space, space.draw(samples, seed), progress)
    if not np.isfinite(scores).all() or np.ptp(scores) <= EQUAL:
        raise AssumptionError(
            (
                "extrapolated exposure fits a continuous distribution to the candidates' log probabilities, but "
                "these are all equal, or some are -inf."
            ),
            remedy="Use exact_exposure or sampled_exposure.",
        )
    law, p_value = fit_skew_normal(-scores)
    bits = -law.log_cdf(-score) / math.log(2)
    return Exposure(bits, space.bits, "extrapolated", samples, score, fit=p_value)
