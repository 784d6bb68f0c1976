# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Mechanisms: noise calibrated to a sensitivity, and the basic releases of private learning."""

from dperm.mechanisms.exponential import ExponentialMechanism as ExponentialMechanism
from dperm.mechanisms.gamma_norm import GammaNormMechanism as GammaNormMechanism
from dperm.mechanisms.gaussian import GaussianMechanism as GaussianMechanism
from dperm.mechanisms.gaussian_mixture import GaussianMixtureMechanism as GaussianMixtureMechanism
from dperm.mechanisms.laplace import DiscreteLaplaceMechanism as DiscreteLaplaceMechanism
from dperm.mechanisms.laplace import LaplaceMechanism as LaplaceMechanism
from dperm.mechanisms.mechanism import Mechanism as Mechanism
from dperm.mechanisms.randomized_response import RandomizedResponseMechanism as RandomizedResponseMechanism
from dperm.mechanisms.selection import draw_runs as draw_runs
