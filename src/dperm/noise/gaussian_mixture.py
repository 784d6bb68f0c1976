# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Gamma-norm noise (T7) as a finite mixture of Gaussians with exact sampling, and the guarantee of the mixture.

The target is the density proportional to e^-r, r = ||x||_2, in units of b = sensitivity / epsilon. An integer table
selects an atom, then every coordinate is Gaussian with deviation s_j b. A finite mixture has Gaussian tails. It is
close to the target only on the radii G = [r0, r1] and is therefore **not pure**: the release is (epsilon', delta')-DP
with the numbers of `mixture_guarantee`. docs/theory/gaussian-mixture.md has the proofs.
"""

import math
from bisect import bisect_right
from dataclasses import dataclass
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal, localcontext
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import accumulate

import numpy as np
from scipy.special import lambertw

from dperm import checks
from dperm.errors import AssumptionError
from dperm.noise.arrays import Floats
from dperm.noise.bits import Stream, integer
from dperm.noise.mixture_atoms import MixtureAtoms, atoms_between
from dperm.privacy.rounding import raised, round_up

WEIGHT_BITS = 128
LARGEST_DIM = 10**9
TAIL = 2.0**-81
"""Upper bound on the target's mass below r0, and on its mass above r1."""
SAFETY = 1 + 1e-6
"""Allowance for the rounding of exponents d (x - 1 - log x) up to d = 1e9: 4 * 1e9 * 2^-53 < 4.5e-7."""
VACUOUS = 700.0
"""Largest epsilon whose exponential is computed; beyond, the reported delta is 1."""


@dataclass(frozen=True, eq=False)
class GaussianMixture:
    """Mixture of centred Gaussians in R^dim, in units of the scale b of the target e^(-||x||/b).

    Attributes
    ----------
    dim : int
        Dimension.
    deviations : array of float
        Standard deviations of the atoms, ascending, with at most 26 significant bits. So ``deviation * b`` is exact in
        floating point for every b of at most 27 bits, as the proof requires.
    weights : tuple of int
        Weights of the atoms in units of 2^-128; their sum is exactly 2^128.
    radii : tuple of float
        The radii (r0, r1) of G.
    eta : float
        Upper bound on |log q/p| on G, for the target p and the mixture q before its weights were rounded.
    outside, target_outside : float
        Upper bounds on the masses of q and of p outside G.
    tau : float
        Upper bound on the total variation between q and the mixture with integer weights.
    """

    dim: int
    deviations: Floats
    weights: tuple[int, ...]
    radii: tuple[float, float]
    eta: float
    outside: float
    target_outside: float
    tau: float

    @cached_property
    def cumulative(self) -> tuple[int, ...]:
        """Partial sums of the weights, in units of 2^-128."""
        return tuple(accumulate(self.weights))


def gaussian_mixture(dim: int) -> GaussianMixture:
    """Return the mixture for gamma-norm noise in ``dim`` dimensions (T7), at most 10^9; cached."""
    return _mixture(checks.count("dim", dim, most=LARGEST_DIM))


def mixture_guarantee(epsilon: float, mixture: GaussianMixture) -> tuple[float, float]:
    """Return (epsilon', delta') of mixture noise whose target alone is pure ``epsilon``-DP (T7).

    Parameters
    ----------
    epsilon
        Epsilon of the target distribution.
    mixture
        The mixture, from `gaussian_mixture`.

    Notes
    -----
    **Guarantees.** Both numbers are rounded up (T7, T10e). On G the densities differ by a factor within e^(+-eta) in
    each direction, and everything outside G counts as delta: epsilon' = epsilon + 2 eta, delta' = Q(G^c) + e^(epsilon +
    eta) P(G^c) + (1 + e^epsilon') tau. The integer weights enter by tau and not by eta, since their relative error is
    not small for the lightest atoms.
    """
    epsilon = checks.nonnegative("epsilon", epsilon)
    larger = round_up(Fraction(epsilon) + 2 * Fraction(mixture.eta))
    if larger > VACUOUS:
        return larger, 1.0
    missed = mixture.outside + math.exp(epsilon + mixture.eta) * mixture.target_outside
    total = missed + (1 + math.exp(larger)) * mixture.tau
    return larger, min(1.0, raised(total, 16 + 2 * larger))


def mixture_epsilon(goal_epsilon: float, goal_delta: float, mixture: GaussianMixture) -> float:
    """Return the largest ``epsilon`` of the target for which `mixture_guarantee` is within the goal, rounded down (T7).

    Raises
    ------
    AssumptionError
        If no epsilon > 0 of the target meets the goal.
    """
    goal_epsilon = checks.positive("goal_epsilon", goal_epsilon)
    goal_delta = checks.positive_delta("goal_delta", goal_delta)

    def fits(epsilon: float) -> bool:
        found, delta = mixture_guarantee(epsilon, mixture)
        return found <= goal_epsilon and delta <= goal_delta

    low, high = 0.0, goal_epsilon
    while low < (middle := low + (high - low) / 2) < high:
        low, high = (middle, high) if fits(middle) else (low, middle)
    if low == 0:
        raise _unreachable(goal_epsilon, goal_delta, mixture)
    return low


def choose_deviation(mixture: GaussianMixture, stream: Stream) -> float:
    """Draw the deviation of an atom, in units of b, exactly with the integer weights; it is independent of data."""
    ticket = integer(stream, WEIGHT_BITS)
    return float(mixture.deviations[bisect_right(mixture.cumulative, ticket)])


def _unreachable(goal_epsilon: float, goal_delta: float, mixture: GaussianMixture) -> AssumptionError:
    epsilon, delta = mixture_guarantee(0.0, mixture)
    name, goal, least = ("goal_epsilon", goal_epsilon, epsilon)
    if goal_epsilon > epsilon:
        name, goal, least = ("goal_delta", goal_delta, delta)
    return AssumptionError(
        argument=name,
        rule=f"must exceed {least:.3g} for a Gaussian mixture in {mixture.dim} dimensions, whatever the noise (T7)",
        got=f"{goal:g}",
        remedy="Give a larger value, or use exactly pure noise.",
    )


@lru_cache(maxsize=64)
def _mixture(dim: int) -> GaussianMixture:
    radii = _radii(dim)
    atoms = atoms_between(*radii)
    weights = _weights(dim, atoms)
    tau = (len(weights) + 1) * 2.0**-WEIGHT_BITS
    target_outside = raised(SAFETY * float(np.sum(_tail(dim, np.array(radii) / dim))))
    outside = raised(SAFETY * (_outside(dim, atoms.deviations, weights, radii) + tau))
    # Both densities are divided by their integrals, which differ by the error on G and by the masses outside.
    eta = math.log1p(atoms.error) - math.log1p(-atoms.error) + 2 * max(outside, target_outside)
    atoms.deviations.setflags(write=False)
    return GaussianMixture(
        dim,
        atoms.deviations,
        weights=weights,
        radii=radii,
        eta=raised(eta),
        outside=outside,
        target_outside=target_outside,
        tau=tau,
    )


def _radii(dim: int) -> tuple[float, float]:
    """Return the radii at which Chernoff's bound for the radius, a Gamma(dim) variable (T7), equals `TAIL`."""
    point = -math.exp(-1 + math.log(TAIL) / dim)
    return float(-dim * lambertw(point, 0).real), float(-dim * lambertw(point, -1).real)


def _tail(shape: float, ratio: Floats) -> Floats:
    """Return Chernoff's bound on the probability of Gamma(shape) beyond ratio * shape, away from its mean."""
    return np.asarray(np.exp(-shape * (ratio - 1 - np.log(ratio))))


def _outside(dim: int, deviations: Floats, weights: tuple[int, ...], radii: tuple[float, float]) -> float:
    """Return the mixture's mass outside the radii, 1 where the mean is outside: ||x||^2 / (2 s^2) is Gamma(dim/2)."""
    shares = np.array([weight / 2**WEIGHT_BITS for weight in weights])
    below, above = ((radius / deviations) ** 2 / dim for radius in radii)
    tails = _tail(dim / 2, np.minimum(below, 1.0)) + _tail(dim / 2, np.maximum(above, 1.0))
    return float(shares @ tails)


def _weights(dim: int, atoms: MixtureAtoms) -> tuple[int, ...]:
    """Return integers in proportion to a_j s_j^(dim+1) e^(-s_j^2/2), rounded down; the heaviest atom gets the rest.

    A Gaussian kernel e^(-r^2 / 2 s^2) integrates to (2 pi s^2)^(dim/2). Steps and deviations are exact inputs here.
    With 60 digits, the arithmetic error is negligible beside the rounding to integers, which moves a mass below len *
    2^-128.
    """
    with localcontext(Context(prec=60, Emax=MAX_EMAX, Emin=MIN_EMIN)):
        deviations = [Decimal(deviation) for deviation in atoms.deviations.tolist()]
        powers = [s ** (dim + 1) * (-s * s / 2).exp() for s in deviations]
        masses = [Decimal(a) * power for a, power in zip(atoms.steps.tolist(), powers, strict=True)]
        total = sum(masses)
        weights = [int(mass / total * 2**WEIGHT_BITS) for mass in masses]
    weights[weights.index(max(weights))] += 2**WEIGHT_BITS - sum(weights)
    return tuple(weights)
