# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Likelihood ratios of additive noise, and the statistic that goes with each."""

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
"""Below the largest ratio, relatively: for rounding, and far below what any number of runs can tell."""


def log_ratio(mechanism: AdditiveMechanism, without: Floats, included: Floats) -> Score:
    """The logarithm of p(output | with the record) / p(output | without), of ideal noise around the two values."""
    norm = _lengths(mechanism)
    scale = mechanism.scale

    def score(outputs: Floats) -> Floats:
        return np.asarray((norm(outputs - without) - norm(outputs - included)) / scale)

    return score


def additive_statistic(mechanism: AdditiveMechanism, without: Floats, included: Floats, *, share: float) -> Statistic:
    """The likelihood ratio of two values with noise, and its rule.

    Gaussian noise: every run is guessed (the trade-off is Gaussian, T6). Pure noise in one dimension: outside of the
    interval between the values the ratio is as large as it gets, so the threshold is known in advance (A4). Else it is
    chosen on simulated runs.
    """
    score, name = log_ratio(mechanism, without, included), "likelihood ratio"
    if isinstance(mechanism, GaussianMechanism):
        return Fixed(name, score, share=share, gaussian=True)
    if mechanism.statistic.dim > 1:
        return Foreseen(name, score, lambda: _rehearsal(mechanism, without, included), share)
    largest = float(np.abs(included - without).sum()) / mechanism.scale
    return Fixed(name, score, largest * (1 - SLACK), share)


def _rehearsal(mechanism: AdditiveMechanism, without: Floats, included: Floats) -> Sample:
    """Ideal noise around the two values."""
    truths, size, purpose = coins_ahead(), (REHEARSED, len(without)), "a rehearsal of added noise"
    ahead = lengths_ahead if isinstance(mechanism, GammaNormMechanism) else laplace_ahead
    noise = mechanism.scale * ahead(purpose, size)
    return Sample(np.where(truths[:, np.newaxis], included, without) + noise, truths)


def _lengths(mechanism: AdditiveMechanism) -> Score:
    """Minus the logarithm of the density of rows in units of the scale, up to a constant; times the scale."""
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
