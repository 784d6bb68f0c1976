# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Sensitivities, tempering powers and noise scales, on which the guarantees of private learning rest.

One function per theorem. Each function takes only public constants, states its theorem and conditions, and rounds in
the safe direction: sensitivities, noise scales and privacy costs are rounded up, tempering powers (inverse
temperatures) down.

==========================================================  ==================================  ==================
function                                                    quantity                            tag
==========================================================  ==================================  ==================
gradient_sensitivity                                        sum of gradients                    T36a, T45
output_sensitivity                                          exact minimizer                     T30
minimizer_error                                             distance to the minimizer           T31
approximate_minimizer_sensitivity                           approximate minimizer               T43, E33
constant_step_sensitivity, decreasing_step_sensitivity      last iterate of bolt-on SGD         T33, E34
descent_sensitivity                                         last iterate of gradient descent    T34
eigenvalue_sensitivity, moments_sensitivity                 sums of squares and products        T6, T19, T44
gamma_norm_scale, gaussian_scale                            linear term of the objective        T36a, T39-T41, T53a
determinant_charge, determinant_is_free                     Jacobian determinant                T37, T53a, T36b
objective_share, coefficient_noise_mu                       split of epsilon and delta          T43
posterior_mu, posterior_temperature                         posterior sample, GDP               T50
tempered_objective_temperature                              sample of exp(-tau J)               T50, T51
minami_temperature                                          posterior sample, older             T51, E22
bounded_posterior_temperature                               posterior sample, pure              T49
sampler_delta, inexact_mu                                   inexact samplers                    T52, T52a
discovery_threshold                                         threshold of noisy counts           T73, E44
evaluation_histogram_sensitivity, error_sums_sensitivity    counts and sums of an evaluation    T85, T88
log_loss_sensitivity                                        sum of clipped log losses           T89
graded_sums_sensitivity                                     sums of grades of models            T93
==========================================================  ==================================  ==================

Sensitivities of released statistics (counts, sums, means, covariances) are in `dperm.mechanisms.releases`. Costs of
`dperm.methods.FiniteClass` are scaled to [0, 1], so their sensitivity is 1. Bounds on rounding errors are separate: see
`dperm.erm.rounding`.
"""

from dperm.sensitivity.evaluation import (
    error_sums_sensitivity,
    evaluation_histogram_sensitivity,
    log_loss_sensitivity,
)
from dperm.sensitivity.minimizer import (
    approximate_minimizer_sensitivity,
    gradient_sensitivity,
    minimizer_error,
    output_sensitivity,
)
from dperm.sensitivity.objective import (
    coefficient_noise_mu,
    determinant_charge,
    determinant_is_free,
    gamma_norm_scale,
    gaussian_scale,
    objective_share,
    relative_curvature,
    require_determinant_charge,
)
from dperm.sensitivity.posterior import (
    bounded_posterior_temperature,
    inexact_mu,
    minami_temperature,
    posterior_mu,
    posterior_temperature,
    sampler_delta,
    tempered_objective_temperature,
)
from dperm.sensitivity.selection import graded_sums_sensitivity
from dperm.sensitivity.statistics import eigenvalue_sensitivity, moments_sensitivity
from dperm.sensitivity.stopped_descent import (
    Passes,
    constant_step_sensitivity,
    decreasing_step_sensitivity,
    descent_sensitivity,
)
from dperm.sensitivity.thresholds import discovery_threshold

__all__ = [
    "Passes",
    "approximate_minimizer_sensitivity",
    "bounded_posterior_temperature",
    "coefficient_noise_mu",
    "constant_step_sensitivity",
    "decreasing_step_sensitivity",
    "descent_sensitivity",
    "determinant_charge",
    "determinant_is_free",
    "discovery_threshold",
    "eigenvalue_sensitivity",
    "error_sums_sensitivity",
    "evaluation_histogram_sensitivity",
    "gamma_norm_scale",
    "gaussian_scale",
    "graded_sums_sensitivity",
    "gradient_sensitivity",
    "inexact_mu",
    "log_loss_sensitivity",
    "minami_temperature",
    "minimizer_error",
    "moments_sensitivity",
    "objective_share",
    "output_sensitivity",
    "posterior_mu",
    "posterior_temperature",
    "relative_curvature",
    "require_determinant_charge",
    "sampler_delta",
    "tempered_objective_temperature",
]
