# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Optimal composition of (epsilon, delta) mechanisms: homogeneous (T13) and heterogeneous (T14).

Every (eps, delta)-DP mechanism is dominated by a variant of randomized response. Its privacy loss is +infinity with
probability delta, +eps with probability (1-delta) e^eps/(1+e^eps), and -eps with probability (1-delta)/(1+e^eps). The
composition of these variants is the worst case, so no smaller delta follows from the parameters alone. If the
mechanisms themselves are known, account() gives smaller values.
"""

from collections import Counter
from collections.abc import Iterable

from dperm import checks
from dperm.accounting.theorems._atoms import LossAtoms, combined, response_atoms
from dperm.accounting.theorems._rounding import checked_pairs, down
from dperm.accounting.theorems.composition import infinite_mass
from dperm.checks import shown
from dperm.errors import AssumptionError


def optimal_composition_delta(epsilon: float, delta: float, *, count: int, total_epsilon: float) -> float:
    """Return the delta of optimal composition at ``total_epsilon``, for mechanisms with equal epsilons and deltas.

    It is the smallest delta that holds for every composition of ``count`` (epsilon, delta)-DP mechanisms.

    Theorem T13 [Kairouz, Oh & Viswanath 2015, Thm 3.3, written for every eps_g >= 0].
        The smallest delta at eps_g = ``total_epsilon`` is
        1 - (1-delta)^k (1 - sum_{l=0}^k C(k,l) (e^{(k-l) eps} - e^{eps_g + l eps})_+ / (1 + e^eps)^k),
        where (x)_+ = max(x, 0).

    No term of the sum is negative, so no digits are lost to cancellation. For a million mechanisms, the relative error
    of each term is about 1e-11.

    Parameters
    ----------
    epsilon
        Epsilon of each mechanism, at least 0.
    delta
        Delta of each mechanism, in [0, 1).
    count
        Number k of mechanisms, at least 1.
    total_epsilon
        Epsilon of the composition, at least 0.

    Returns
    -------
    float
        Delta of the composition at ``total_epsilon``, rounded up.

    Raises
    ------
    AssumptionError
        If ``count`` exceeds 2^21 - 1. `account` gives lower and upper bounds on this delta.
    ParameterError
        If an argument is out of range.

    Examples
    --------
    >>> round(optimal_composition_delta(0.5, 1e-3, count=4, total_epsilon=1.0), 7)
    0.0985101
    """
    atoms, infinite = _homogeneous(epsilon, delta, count)
    return _delta(atoms, infinite, total_epsilon)


def optimal_composition_epsilon(epsilon: float, delta: float, *, count: int, total_delta: float) -> float:
    """Return the epsilon of optimal composition at ``total_delta``, for mechanisms with equal epsilons and deltas.

    It is the smallest epsilon that holds for every composition of ``count`` (epsilon, delta)-DP mechanisms. The
    function inverts ``optimal_composition_delta`` (T13). In the worst case, the privacy loss takes finitely many
    values. For an epsilon between two adjacent values, the inverse has a closed form.

    Parameters
    ----------
    epsilon
        Epsilon of each mechanism, at least 0.
    delta
        Delta of each mechanism, in [0, 1).
    count
        Number of mechanisms, at least 1.
    total_delta
        Delta of the composition, in [0, 1).

    Returns
    -------
    float
        Epsilon of the composition, rounded up.

    Raises
    ------
    AssumptionError
        If total_delta < 1 - (1-delta)^count, since no epsilon attains such a small delta, or if ``count``
        exceeds 2^21 - 1.
    ParameterError
        If an argument is out of range.

    Examples
    --------
    >>> round(optimal_composition_epsilon(1.0, 0.0, count=1000, total_delta=1e-6), 4)
    591.0797
    """
    atoms, infinite = _homogeneous(epsilon, delta, count)
    return _epsilon(atoms, infinite, total_delta)


def heterogeneous_composition_delta(
    epsilons: Iterable[float], deltas: Iterable[float], *, total_epsilon: float
) -> float:
    """Return the delta of optimal composition at ``total_epsilon``, for mechanisms with different epsilons and deltas.

    It is the smallest delta that holds for every composition of mechanisms that are (eps_i, delta_i)-DP.

    Theorem T14 [Murtagh & Vadhan 2016, Thm 1.5].
        The smallest delta at eps_g = ``total_epsilon`` is
        1 - prod(1-delta_i) (1 - sum_S (e^{sum_S eps_i} - e^{eps_g + sum_{not S} eps_i})_+ / prod(1+e^{eps_i})),
        where (x)_+ = max(x, 0), and S ranges over all subsets of the mechanisms.

    Erratum E29 (see docs/errata.md): the lecture of Razaviyayn refers to Kairouz et al. for this case, but their
    heterogeneous bound is not optimal. The optimal bound is #P-hard to compute. If the j-th distinct epsilon occurs k_j
    times, the privacy loss has at most prod(k_j + 1) different finite values, and this product must be at most 2^21.
    About twenty different epsilons, or two million equal epsilons, are therefore feasible.

    Parameters
    ----------
    epsilons
        Epsilon of each mechanism, at least 0.
    deltas
        Delta of each mechanism, in [0, 1); as many values as ``epsilons``.
    total_epsilon
        Epsilon of the composition, at least 0.

    Returns
    -------
    float
        Delta of the composition at ``total_epsilon``, rounded up.

    Raises
    ------
    AssumptionError
        If the product prod(k_j + 1) exceeds 2^21. `account` gives lower and upper bounds on this delta.
    ParameterError
        If an argument is out of range.
    """
    atoms, infinite = _heterogeneous(epsilons, deltas)
    return _delta(atoms, infinite, total_epsilon)


def heterogeneous_composition_epsilon(
    epsilons: Iterable[float], deltas: Iterable[float], *, total_delta: float
) -> float:
    """Return the epsilon of optimal composition at ``total_delta``, for mechanisms with different epsilons and deltas.

    It is the smallest epsilon that holds for every composition of mechanisms that are (eps_i, delta_i)-DP (T14).

    Parameters
    ----------
    epsilons
        Epsilon of each mechanism, at least 0.
    deltas
        Delta of each mechanism, in [0, 1); as many values as ``epsilons``.
    total_delta
        Delta of the composition, in [0, 1).

    Returns
    -------
    float
        Epsilon of the composition, rounded up.

    Raises
    ------
    AssumptionError
        If total_delta < 1 - prod(1-delta_i), since no epsilon attains such a small delta, or if the product
        prod(k_j + 1) of `heterogeneous_composition_delta` exceeds 2^21.
    ParameterError
        If an argument is out of range.
    """
    atoms, infinite = _heterogeneous(epsilons, deltas)
    return _epsilon(atoms, infinite, total_delta)


def _homogeneous(epsilon: float, delta: float, count: int) -> tuple[LossAtoms | None, float]:
    epsilon, delta = checks.nonnegative("epsilon", epsilon), checks.small_delta("delta", delta)
    count = checks.count("count", count)
    return response_atoms({epsilon: count}) if epsilon > 0 else None, infinite_mass([(delta, count)])


def _heterogeneous(epsilons: Iterable[float], deltas: Iterable[float]) -> tuple[LossAtoms | None, float]:
    pairs = checked_pairs(epsilons, deltas)
    counts = Counter(epsilon for epsilon, _ in pairs if epsilon > 0)
    return response_atoms(counts) if counts else None, infinite_mass((delta, 1) for _, delta in pairs)


def _delta(atoms: LossAtoms | None, infinite: float, total_epsilon: float) -> float:
    total_epsilon = checks.nonnegative("total_epsilon", total_epsilon)
    return combined(infinite, atoms.delta(total_epsilon) if atoms else 0.0)


def _epsilon(atoms: LossAtoms | None, infinite: float, total_delta: float) -> float:
    total_delta = checks.small_delta("total_delta", total_delta)
    if total_delta < infinite:
        raise AssumptionError(
            f"total_delta must be at least 1 - prod(1 - delta_i) = {infinite!r}, which no epsilon removes, "
            f"got {shown(total_delta)}."
        )
    if atoms is None:
        return 0.0
    if infinite == 0.0:
        return atoms.epsilon(total_delta)
    # delta_g = infinite + (1 - infinite) finite, solved for the finite part; down: ``combined`` rounds up again
    return atoms.epsilon(down(max(down(total_delta) - infinite, 0.0) / (1 - infinite)))
