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
    """The guarantee of an (epsilon, delta)-DP mechanism that runs on a secret Poisson sample of its input.

    Theorem T21 [Balle, Barthe & Gaboardi 2018].
        Each record kept independently with probability q: (ln(1 + q (e^eps - 1)), q delta), under add_remove for a
        base that is (eps, delta)-DP under add_remove; under replace_one only for a base that is so under BOTH
        relations. The base must be defined on inputs of every size; one fresh sample per step.

    A base that is DP under add_remove only is not amplified under replace_one: q = .1, sigma = 1 and a base at
    eps = 1 has a true delta of .02295 where the formula says .01269.

    Parameters
    ----------
    base
        The relation, or relations, under which the base is (epsilon, delta)-DP; by default ``adjacency``.
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
    """The guarantee of an (epsilon, delta)-DP mechanism that runs on a secret sample of a fixed public size.

    Theorem T21 [Balle, Barthe & Gaboardi 2018].
        A uniform sample of m out of n records: (ln(1 + q (e^eps - 1)), q delta) for a base that is (eps, delta)-DP
        under replace_one on m records; q = m/n under replace_one, q = m/(n+1) under add_remove, n the smaller size.

    Under add_remove n is private, so ``population`` must be a public lower bound on it. A base that is DP under
    add_remove only does not amplify: n = 3 -> 4, m = 3 has a true delta of .3824 where the formula says .0952.

    Parameters
    ----------
    population
        n under replace_one, a public lower bound on n under add_remove.
    base
        The relation, or relations, under which the base is (epsilon, delta)-DP; by default ``adjacency``.
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
    """The exact delta of ONE Poisson-subsampled Gaussian step under add_remove, in one direction; rounded up.

    Theorem T22 (single step) [Balle et al. 2018; Zhu, Dong & Wang 2022], eps >= 0.
        remove: q delta_GDP(ln(1 + (e^eps - 1)/q); 1/sigma).
        add:    the same with c = 1 - (1-q) e^eps in the place of q, and 0 once c <= 0.

    Proof of the second: q - e^eps p, p = (1-q) N(0) + q N(1), is c N(0) - (c + e^eps - 1) N(1). Steps do not compose
    by these numbers: compose the pair of each direction and take the larger delta at the end, as account() does.
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
    """An upper bound on the delta of ONE Gaussian step on a sample without replacement, under replace_one.

    Theorem T24 (profile) [Balle et al. 2018; Zhu, Dong & Wang 2022, Thm 11], eps >= 0.
        q delta_GDP(ln(1 + (e^eps - 1)/q); 2/sigma): a replaced record moves the clipped sum by 2.

    Rounded up. The bound is valid but not tight, and cannot be composed by itself; T24 has the dominating pair for
    that.
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
