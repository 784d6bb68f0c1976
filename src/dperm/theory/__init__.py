# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Utility of private learning: bounds on the excess risk, and the number of records needed.

============================================================  ===============================  =============
function                                                      statement                        tag
============================================================  ===============================  =============
last_iterate_bound                                            SGD with steps c/sqrt(t)         T47, E14
dpgd_excess_risk, gradient_empirical_risk                     DP gradient descent, best T      T48
gradient_excess_risk                                          DP gradient descent, population  T48a
output_noise_cost, objective_noise_cost                       cost of noise, every draw        T56, E32
gaussian_norm_bound                                           norm of Gaussian noise           T58, E18, E23
output_empirical_risk, objective_empirical_risk               expected excess empirical risk   T56a
output_excess_risk, objective_excess_risk                     expected excess population risk  T57
output_sample_size, objective_sample_size, ..._closed_form    records needed                   T57, T56a
gradient_sample_size                                          records needed                   T48a, T48
compare_methods, best_method, smallest_sample                 comparison of three methods      T57, T48a
gradient_risk_order, output_risk_order, objective_risk_order  rates, order only                T48, E30
output_sample_order, objective_sample_order                   records needed, order only       T58
gaussian_output_sample_order                                  records needed, order only       T58, E18
finite_class_empirical_gap, finite_class_excess_risk          exponential mechanism            T59, T61, E25
finite_class_sample_size                                      records needed                   T59
packing_sample_size                                           records needed by any pure-DP    T60, E20
median_atom                                                   effect of a kink                 T42
posterior_inflation                                           efficiency of a sample           T49
============================================================  ===============================  =============

No function here sees data, and no guarantee rests on this package: sensitivities, tempering powers and noise scales are
in `dperm.sensitivity`. Bounds and counts are rounded up; results of the class ``OrderOnly`` are not bounds.
``regularization`` is Lambda = 1/C for the sum (not the mean) of the losses (C0.2); risks are per record.
"""

from dperm.deprecation import deprecated_names
from dperm.theory.comparison import MethodBound, SmallestSample, best_method, compare_methods, smallest_sample
from dperm.theory.finite_class import (
    FiniteClassRisk,
    finite_class_empirical_gap,
    finite_class_excess_risk,
    finite_class_sample_size,
    packing_sample_size,
)
from dperm.theory.gradient_descent import (
    dpgd_excess_risk,
    gradient_empirical_risk,
    gradient_excess_risk,
    last_iterate_bound,
)
from dperm.theory.median import MedianAtom, median_atom
from dperm.theory.noise_norm import gaussian_norm_bound, objective_noise_cost, output_noise_cost
from dperm.theory.orders import (
    gaussian_output_sample_order,
    gradient_risk_order,
    objective_risk_order,
    objective_sample_order,
    output_risk_order,
    output_sample_order,
)
from dperm.theory.perturbation import (
    objective_empirical_risk,
    objective_excess_risk,
    output_empirical_risk,
    output_excess_risk,
)
from dperm.theory.posterior import posterior_inflation
from dperm.theory.results import DescentRisk, ExcessRisk, LearningProblem, OrderOnly
from dperm.theory.sample_size import (
    gradient_sample_size,
    objective_sample_size,
    objective_sample_size_closed_form,
    output_sample_size,
)

__all__ = [
    "DescentRisk",
    "ExcessRisk",
    "FiniteClassRisk",
    "LearningProblem",
    "MedianAtom",
    "MethodBound",
    "OrderOnly",
    "SmallestSample",
    "best_method",
    "compare_methods",
    "dpgd_excess_risk",
    "finite_class_empirical_gap",
    "finite_class_excess_risk",
    "finite_class_sample_size",
    "gaussian_norm_bound",
    "gaussian_output_sample_order",
    "gradient_empirical_risk",
    "gradient_excess_risk",
    "gradient_risk_order",
    "gradient_sample_size",
    "last_iterate_bound",
    "median_atom",
    "objective_empirical_risk",
    "objective_excess_risk",
    "objective_noise_cost",
    "objective_risk_order",
    "objective_sample_order",
    "objective_sample_size",
    "objective_sample_size_closed_form",
    "output_empirical_risk",
    "output_excess_risk",
    "output_noise_cost",
    "output_risk_order",
    "output_sample_order",
    "output_sample_size",
    "packing_sample_size",
    "posterior_inflation",
    "smallest_sample",
]

__getattr__ = deprecated_names(
    __name__,
    {
        name: f"dperm.sensitivity:{name}"
        for name in (
            "Passes",
            "bounded_posterior_temperature",
            "constant_step_sensitivity",
            "decreasing_step_sensitivity",
            "descent_sensitivity",
            "inexact_mu",
            "minami_temperature",
            "posterior_mu",
            "posterior_temperature",
            "sampler_delta",
        )
    },
)
