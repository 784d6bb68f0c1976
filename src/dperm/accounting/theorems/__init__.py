# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Textbook theorems as functions, for comparison with the exact values of ``account()``.

=================================================================  ======================================  ========
function                                                           theorem                                 tag
=================================================================  ======================================  ========
basic_composition                                                  basic composition                       T11
advanced_composition, advanced_composition_delta                   advanced composition                    T12, E1
per_step_epsilon                                                   simplified inverse of T12               T12a, E12
optimal_composition_delta, optimal_composition_epsilon             Kairouz, Oh & Viswanath                 T13
heterogeneous_composition_delta, heterogeneous_composition_epsilon Murtagh & Vadhan                        T14, E29
gaussian_loss_tail, gaussian_tail_epsilon, loss_tail_bound         tail of the privacy loss, and converse  T2a, T2b
laplace_scale, laplace_profile                                     Laplace mechanism                       T5
analytic_gaussian_sigma, analytic_gaussian_delta, ..._epsilon      Gaussian mechanism, exact               T6
classical_gaussian_sigma                                           Gaussian mechanism, epsilon < 1         T6a, E2
gaussian_zcdp, zcdp_epsilon                                        concentrated DP                         T18
amplify_poisson, amplify_without_replacement                       amplification by subsampling            T21
poisson_gaussian_delta                                             one Poisson step                        T22
without_replacement_gaussian_delta                                 one step without replacement            T24
shuffled_delta_lower, shuffle_without_amplification                shuffled batches                        T27
planar_objective_delta                                             objective perturbation, replace-one     T41
thresholded_values_delta                                           noisy counts above a threshold          T73
=================================================================  ======================================  ========

Rényi DP (T16, T17, T24a, T26) is in ``dperm.accounting.rdp``. Noise scales, epsilons and deltas are rounded up; lower
bounds, and epsilons to be spent per step, are rounded down. No function in this package reads data.

There is no central-limit ("CLT-GDP") accountant, mu ~ q sqrt(T (e^{1/sigma^2} - 1)) (T19), because this formula is a
limit without an error bound. It underestimates epsilon: 1.618 instead of 1.828 at q = 0.01, sigma = 1, T = 1000 and
delta = 1e-5.
"""

from dperm.accounting.theorems.composition import (
    advanced_composition,
    advanced_composition_delta,
    basic_composition,
    per_step_epsilon,
)
from dperm.accounting.theorems.loss_tail import gaussian_loss_tail, gaussian_tail_epsilon, loss_tail_bound
from dperm.accounting.theorems.mechanisms import (
    analytic_gaussian_delta,
    analytic_gaussian_epsilon,
    analytic_gaussian_sigma,
    classical_gaussian_sigma,
    gaussian_zcdp,
    laplace_profile,
    laplace_scale,
    zcdp_epsilon,
)
from dperm.accounting.theorems.objective import planar_objective_delta
from dperm.accounting.theorems.optimal import (
    heterogeneous_composition_delta,
    heterogeneous_composition_epsilon,
    optimal_composition_delta,
    optimal_composition_epsilon,
)
from dperm.accounting.theorems.shuffling import shuffle_without_amplification, shuffled_delta_lower
from dperm.accounting.theorems.subsampling import (
    amplify_poisson,
    amplify_without_replacement,
    poisson_gaussian_delta,
    without_replacement_gaussian_delta,
)
from dperm.accounting.theorems.thresholded import thresholded_values_delta

__all__ = [
    "advanced_composition",
    "advanced_composition_delta",
    "amplify_poisson",
    "amplify_without_replacement",
    "analytic_gaussian_delta",
    "analytic_gaussian_epsilon",
    "analytic_gaussian_sigma",
    "basic_composition",
    "classical_gaussian_sigma",
    "gaussian_loss_tail",
    "gaussian_tail_epsilon",
    "gaussian_zcdp",
    "heterogeneous_composition_delta",
    "heterogeneous_composition_epsilon",
    "laplace_profile",
    "laplace_scale",
    "loss_tail_bound",
    "optimal_composition_delta",
    "optimal_composition_epsilon",
    "per_step_epsilon",
    "planar_objective_delta",
    "poisson_gaussian_delta",
    "shuffle_without_amplification",
    "shuffled_delta_lower",
    "thresholded_values_delta",
    "without_replacement_gaussian_delta",
    "zcdp_epsilon",
]
