# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Amplification by subsampling of (epsilon, delta) guarantees (T21), and one subsampled Gaussian step (T22, T24)."""

import math
from collections.abc import Iterable

from dperm import checks
from dperm.accounting.theorems._rounding import quotient, up, up_delta
from dperm.checks import shown
from dperm.errors import AdjacencyError, ParameterError
from dperm.privacy.adjacency import Adjacency, Direction
from dperm.privacy.gaussian_profile import delta_bracket
from dperm.privacy.rounding import ULP

Relations = Adjacency | str | Iterable[Adjacency | str]


def amplify_poisson(
    epsilon: float, delta: float, *, rate: float, adjacency: Adjacency | str, base: Relations | None = None
) -> tuple[float, float]:
    """Return the (epsilon, delta) guarantee of a base mechanism that runs on a secret Poisson sample of the data.

    Theorem T21 [Balle, Barthe & Gaboardi 2018].
        Let each record be included in the sample independently with probability q, and let the base mechanism be
        (eps, delta)-DP under add_remove. Then the sampled mechanism is (ln(1 + q (e^eps - 1)), q delta)-DP under
        add_remove. Under replace_one, this formula holds if the base mechanism is (eps, delta)-DP under BOTH relations.
        The base mechanism must be defined on inputs of every size, and each step must draw a fresh sample.

    Under replace_one, the formula does not hold if the base mechanism is (eps, delta)-DP only under add_remove.
    Example: let the base mechanism be Gaussian with noise multiplier 1, eps = 1 and q = 0.1. At the epsilon of the
    formula, 0.1586, the sampled mechanism has a delta of 0.02295 under replace_one, whereas the formula gives 0.01269.

    Parameters
    ----------
    epsilon
        Epsilon of the base mechanism, at least 0.
    delta
        Delta of the base mechanism, in [0, 1).
    rate
        Sampling rate q, in (0, 1].
    adjacency
        Neighbouring relation of the returned guarantee, "add_remove" or "replace_one".
    base
        Neighbouring relation or relations under which the base mechanism is (epsilon, delta)-DP. None means only
        ``adjacency``. If ``adjacency`` is "replace_one", the base mechanism must satisfy both relations; pass both.

    Returns
    -------
    tuple[float, float]
        Epsilon and delta of the sampled mechanism, rounded up.

    Raises
    ------
    ParameterError
        If an argument is out of range.
    AdjacencyError
        If the theorem does not cover the base mechanism under ``adjacency``.
    """
    rate = checks.rate("rate", rate)
    adjacency = Adjacency.of(adjacency)
    needed = {Adjacency.ADD_REMOVE} if adjacency is Adjacency.ADD_REMOVE else set(Adjacency)
    _require(needed, _relations(base, adjacency), f"Poisson sampling under {adjacency.value}")
    return _amplified(epsilon, delta, rate)


def amplify_without_replacement(
    epsilon: float,
    delta: float,
    *,
    sample_size: int,
    population: int,
    adjacency: Adjacency | str,
    base: Relations | None = None,
) -> tuple[float, float]:
    """Return the (epsilon, delta) guarantee of a base mechanism that runs on a secret sample of fixed, public size.

    Theorem T21 [Balle, Barthe & Gaboardi 2018].
        Let the sample consist of m out of n records, drawn uniformly without replacement, and let the base mechanism be
        (eps, delta)-DP under replace_one on m records. Then the sampled mechanism is
        (ln(1 + q (e^eps - 1)), q delta)-DP, with q = m/n under replace_one and q = m/(n+1) under add_remove, where n is
        the size of the smaller data set.

    Under add_remove, n is private, so ``population`` must be a public lower bound on n. The formula does not hold if
    the base mechanism is (eps, delta)-DP only under add_remove. Example: let the base mechanism be Gaussian with noise
    multiplier 1, eps = 1 and m = 3, and let the neighbouring data sets have 3 and 4 records. At the epsilon of the
    formula, 0.8280, the true delta is 0.3824, whereas the formula gives 0.0952.

    Parameters
    ----------
    epsilon
        Epsilon of the base mechanism, at least 0.
    delta
        Delta of the base mechanism, in [0, 1).
    sample_size
        Number m of records in the sample, at most ``population``.
    population
        Under replace_one, the number n of records; under add_remove, a public lower bound on n.
    adjacency
        Neighbouring relation of the returned guarantee, "add_remove" or "replace_one".
    base
        Neighbouring relation or relations under which the base mechanism is (epsilon, delta)-DP. They must include
        "replace_one". None means only ``adjacency``.

    Returns
    -------
    tuple[float, float]
        Epsilon and delta of the sampled mechanism, rounded up.

    Raises
    ------
    ParameterError
        If an argument is out of range.
    AdjacencyError
        If the theorem does not cover the base mechanism under ``adjacency``.
    """
    size, population = checks.count("sample_size", sample_size), checks.count("population", population)
    adjacency = Adjacency.of(adjacency)
    if size > population:
        raise ParameterError(f"sample_size must be at most population = {population}, got {shown(sample_size)}.")
    name = f"sampling without replacement under {adjacency.value}"
    _require({Adjacency.REPLACE_ONE}, _relations(base, adjacency), name)
    records = population if adjacency is Adjacency.REPLACE_ONE else population + 1
    rate = quotient(size, records)
    return _amplified(epsilon, delta, rate)


def poisson_gaussian_delta(
    epsilon: float, noise_multiplier: float, *, rate: float, direction: Direction | str
) -> float:
    """Return the exact delta of ONE Gaussian step on a Poisson sample, under add_remove and in one direction.

    Theorem T22 (single step) [Balle et al. 2018; Zhu, Dong & Wang 2022], for eps >= 0.
        remove: q delta_GDP(ln(1 + (e^eps - 1)/q); 1/sigma).
        add:    c delta_GDP(ln(1 + (e^eps - 1)/c); 1/sigma) with c = 1 - (1-q) e^eps, and 0 if c <= 0.

    Here delta_GDP(eps; mu) is the delta of Gaussian noise with standard deviation 1/mu and sensitivity 1 (T6). Proof of
    the second formula: let N_0 and N_1 be the densities of the output without and with the record in the sample, and
    let p = (1-q) N_0 + q N_1. Then N_0 - e^eps p = c N_0 - (c + e^eps - 1) N_1.

    The deltas of several steps cannot be combined into the delta of their composition. `account` composes the
    dominating pairs of all steps separately for each direction, and then takes the larger delta.

    Parameters
    ----------
    epsilon
        Epsilon, at least 0.
    noise_multiplier
        Noise multiplier sigma, relative to the sensitivity for one record added or removed.
    rate
        Sampling rate q, in (0, 1].
    direction
        Direction of the neighbouring pair, "add" or "remove".

    Returns
    -------
    float
        Delta, rounded up.

    Raises
    ------
    ParameterError
        If an argument is out of range.
    AdjacencyError
        If ``direction`` is neither "add" nor "remove".
    """
    epsilon, sigma = checks.nonnegative("epsilon", epsilon), checks.positive("noise_multiplier", noise_multiplier)
    rate, mu = checks.rate("rate", rate), quotient(1.0, sigma)
    weight = rate if _direction(direction) is Direction.REMOVE else _addition_weight(epsilon, rate)
    return _subsampled(epsilon, mu, weight) if weight > 0 else 0.0


def _direction(direction: Direction | str) -> Direction:
    if direction in (Direction.REMOVE, Direction.REMOVE.value):
        return Direction.REMOVE
    if direction in (Direction.ADD, Direction.ADD.value):
        return Direction.ADD
    raise AdjacencyError(f'direction must be "remove" or "add", the two orders of add_remove, got {shown(direction)}.')


def _addition_weight(epsilon: float, rate: float) -> float:
    """1 - (1-q) e^eps, rounded up: delta grows with it."""
    if rate == 1:
        return 1.0
    # the sum cancels near the end of the support; 8 units of epsilon cover its error
    return min(-math.expm1(min(epsilon + math.log1p(-rate) - 8 * ULP * epsilon, 0.0)), rate)


def without_replacement_gaussian_delta(epsilon: float, noise_multiplier: float, *, rate: float) -> float:
    """Return an upper bound on the delta of ONE Gaussian step on a sample without replacement, under replace_one.

    Theorem T24 (profile) [Balle et al. 2018; Zhu, Dong & Wang 2022, Thm 11], for eps >= 0.
        delta(eps) <= q delta_GDP(ln(1 + (e^eps - 1)/q); 2/sigma).

    Here delta_GDP(eps; mu) is the delta of Gaussian noise with standard deviation 1/mu and sensitivity 1 (T6). The
    formula has mu = 2/sigma, since replacing one record changes the clipped sum by up to twice the clipping norm. The
    bound is valid but not tight. The deltas of several steps cannot be combined into the delta of their composition.
    `account` composes the dominating pairs of T24 instead.

    Parameters
    ----------
    epsilon
        Epsilon, at least 0.
    noise_multiplier
        Noise multiplier sigma, relative to the sensitivity for one record added or removed.
    rate
        Sampling rate q, in (0, 1].

    Returns
    -------
    float
        Upper bound on delta, rounded up.

    Raises
    ------
    ParameterError
        If an argument is out of range.
    """
    epsilon, sigma = checks.nonnegative("epsilon", epsilon), checks.positive("noise_multiplier", noise_multiplier)
    return _subsampled(epsilon, quotient(2.0, sigma), checks.rate("rate", rate))


def _subsampled(epsilon: float, mu: float, weight: float) -> float:
    """The product w delta_GDP(ln(1 + (e^eps - 1)/w); mu), which grows with the weight w."""
    if weight == 1:
        return delta_bracket(epsilon, mu)[1]
    ratio = math.expm1(epsilon) / weight if epsilon < 700 else math.inf
    if ratio < math.inf:
        inner = math.log1p(ratio)
    else:  # beyond 1e308 the 1 does not count
        inner = epsilon + math.log(-math.expm1(-epsilon)) - math.log(weight)
    # delta falls with the inner epsilon, so its rounding error is taken off
    return up_delta(weight * delta_bracket(inner * (1 - 16 * ULP), mu)[1])


def _relations(base: Relations | None, adjacency: Adjacency) -> set[Adjacency]:
    if base is None:
        return {adjacency}
    if isinstance(base, str | Adjacency) or not isinstance(base, Iterable):
        return {Adjacency.of(base)}
    return {Adjacency.of(relation) for relation in base}


def _require(needed: set[Adjacency], given: set[Adjacency], what: str) -> None:
    missing = sorted(relation.value for relation in needed - given)
    if missing:
        raise AdjacencyError(
            f"{what} amplifies only a base mechanism that is itself DP under {' and '.join(missing)} (T21); base "
            f"declares {' and '.join(sorted(relation.value for relation in given))}. If the base satisfies the same "
            "(epsilon, delta) there too, say so with base=."
        )


def _amplified(epsilon: float, delta: float, rate: float) -> tuple[float, float]:
    epsilon, delta = checks.nonnegative("epsilon", epsilon), checks.small_delta("delta", delta)
    if rate == 1 or epsilon == 0:
        return epsilon, delta if rate == 1 or delta == 0 else up_delta(rate * delta)
    if epsilon < 700:
        amplified = up(math.log1p(rate * math.expm1(epsilon)))
    else:  # ln(q e^eps + 1 - q), where e^eps would overflow
        log_rate = math.log(rate)
        log_total = epsilon + log_rate + math.log1p((1 - rate) * math.exp(-epsilon - log_rate))
        amplified = up(log_total + 4 * ULP * epsilon)
    return min(amplified, epsilon), up_delta(rate * delta) if delta > 0 else 0.0
