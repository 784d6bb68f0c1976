# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Likelihood ratios of additive noise as statistics, with simulated noise for choosing their thresholds.

Simulated coin flips and noise are never used to protect data.
"""

import numpy as np

from dperm.audit.black_box.sample import RunSample, Truths
from dperm.audit.black_box.statistics import FixedThreshold, Score, SimulatedThreshold, Statistic
from dperm.errors import AssumptionError
from dperm.mechanisms.additive import AdditiveMechanism
from dperm.mechanisms.gamma_norm import GammaNormMechanism
from dperm.mechanisms.gaussian import GaussianMechanism
from dperm.mechanisms.laplace import DiscreteLaplaceMechanism, LaplaceMechanism
from dperm.noise.arrays import Floats
from dperm.noise.simulation import generator
from dperm.presentation.spelling import arg

SEED = 0
SIMULATED_RUNS = 100_000
"""Number of simulated runs."""
SLACK = 1e-6
"""Relative margin below the largest ratio, for rounding; too small to be detected by any number of runs."""


def simulated_coins(runs: int = SIMULATED_RUNS) -> Truths:
    """Return alternating coin flips: simulated runs need no randomness here."""
    return np.asarray(np.arange(runs) % 2 == 0)


def simulated_normal(purpose: str, size: tuple[int, int]) -> Floats:
    """Return standard normal numbers, from a fixed seed, so thresholds are a function of the plan alone."""
    return generator(SEED, purpose).standard_normal(size)


def simulated_laplace(purpose: str, size: tuple[int, int]) -> Floats:
    """Return numbers with density proportional to e^-|x|, from a fixed seed."""
    return generator(SEED, purpose).laplace(size=size)


def simulated_gamma_norm(purpose: str, size: tuple[int, int]) -> Floats:
    """Return rows with density proportional to e^-||x||: uniform directions, gamma-distributed lengths."""
    drawn = generator(SEED, purpose)
    directions = drawn.standard_normal(size)
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    return np.asarray(directions * drawn.gamma(size[1], 1.0, (size[0], 1)))


def log_ratio(mechanism: AdditiveMechanism, without: Floats, included: Floats) -> Score:
    """Return the function log p(output | with the record) / p(output | without), for ideal noise."""
    norm = _lengths(mechanism)
    scale = mechanism.scale

    def score(outputs: Floats) -> Floats:
        return np.asarray((norm(outputs - without) - norm(outputs - included)) / scale)

    return score


def additive_statistic(mechanism: AdditiveMechanism, without: Floats, included: Floats, *, share: float) -> Statistic:
    """Return the likelihood ratio of two values with noise, with its decision rule.

    For Gaussian noise, every run gets a guess (the trade-off is Gaussian, T6). For pure-DP noise in one dimension, the
    ratio is maximal outside the interval between the values, so the threshold is known in advance (A4). Otherwise
    simulated runs determine the threshold.
    """
    score, name = log_ratio(mechanism, without, included), "likelihood ratio"
    if isinstance(mechanism, GaussianMechanism):
        return FixedThreshold(name, score, share=share, gaussian=True)
    if mechanism.statistic.dim > 1:
        return SimulatedThreshold(name, score, lambda: _simulated_runs(mechanism, without, included), share)
    largest = float(np.abs(included - without).sum()) / mechanism.scale
    return FixedThreshold(name, score, largest * (1 - SLACK), share)


def _simulated_runs(mechanism: AdditiveMechanism, without: Floats, included: Floats) -> RunSample:
    """Simulate runs with ideal noise around the two values."""
    truths, size, purpose = simulated_coins(), (SIMULATED_RUNS, len(without)), "a rehearsal of added noise"
    ahead = simulated_gamma_norm if isinstance(mechanism, GammaNormMechanism) else simulated_laplace
    noise = mechanism.scale * ahead(purpose, size)
    return RunSample(np.where(truths[:, np.newaxis], included, without) + noise, truths)


def _lengths(mechanism: AdditiveMechanism) -> Score:
    """Return minus the log-density of rows, up to a constant, multiplied by the scale."""
    match mechanism:
        case GaussianMechanism():
            return lambda rows: np.asarray((rows * rows).sum(axis=1) / (2 * mechanism.scale))
        case LaplaceMechanism() | DiscreteLaplaceMechanism():
            return lambda rows: np.asarray(np.abs(rows).sum(axis=1))
        case GammaNormMechanism():
            return lambda rows: np.asarray(np.sqrt((rows * rows).sum(axis=1)))
    raise AssumptionError(
        f"the likelihood ratio is known for Gaussian, Laplace and gamma-norm noise, got {mechanism.name} noise.",
        remedy=f"Pass other {arg('statistics')}, such as projection().",
    )
