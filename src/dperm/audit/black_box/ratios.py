# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Likelihood ratios of additive noise, and their statistics."""

import numpy as np

from dperm.audit.black_box.foreseen import Foreseen
from dperm.audit.black_box.rehearsed import REHEARSED, coins_ahead, laplace_ahead, lengths_ahead
from dperm.audit.black_box.sample import Sample
from dperm.audit.black_box.statistics import Fixed, Score, Statistic
from dperm.errors import AssumptionError
from dperm.mechanisms.additive import AdditiveMechanism
from dperm.mechanisms.gamma_norm import GammaNormMechanism
from dperm.mechanisms.gaussian import GaussianMechanism
from dperm.mechanisms.laplace import DiscreteLaplaceMechanism, LaplaceMechanism
from dperm.noise.arrays import Floats

SLACK = 1e-6
"""Relative margin below the largest ratio, for rounding; too small to be detected by any number of runs."""


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
    simulated runs determine it.
    """
    score, name = log_ratio(mechanism, without, included), "likelihood ratio"
    if isinstance(mechanism, GaussianMechanism):
        return Fixed(name, score, share=share, gaussian=True)
    if mechanism.statistic.dim > 1:
        return Foreseen(name, score, lambda: _rehearsal(mechanism, without, included), share)
    largest = float(np.abs(included - without).sum()) / mechanism.scale
    return Fixed(name, score, largest * (1 - SLACK), share)


def _rehearsal(mechanism: AdditiveMechanism, without: Floats, included: Floats) -> Sample:
    """Simulate runs with ideal noise around the two values."""
    truths, size, purpose = coins_ahead(), (REHEARSED, len(without)), "a rehearsal of added noise"
    ahead = lengths_ahead if isinstance(mechanism, GammaNormMechanism) else laplace_ahead
    noise = mechanism.scale * ahead(purpose, size)
    return Sample(np.where(truths[:, np.newaxis], included, without) + noise, truths)


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
        f"the likelihood ratio is known for Gaussian, Laplace and gamma-norm noise, got {mechanism.name} noise. Give "
        f"statistics of your own, such as projection()."
    )
