# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""How far noise that was added to the coefficients has moved them, in the user's units."""

from collections.abc import Mapping

import numpy as np
from scipy.optimize import minimize_scalar

from dperm import checks
from dperm.data.arrays import Floats
from dperm.errors import AssumptionError
from dperm.sklearn.fit_result import FitResult
from dperm.sklearn.units import Units

ON_COEFFICIENTS = ("output", "bolt_on")
"""Methods that add all of their noise to the coefficients."""
_LEVEL = "It is the probability that an interval holds, such as 0.95."


def noise_interval(fitted: FitResult, level: float) -> tuple[Floats, Floats]:
    """(low, high) of each coefficient, the intercept last, each holding with probability ``level`` over the noise.

    With several scores they have a row for each.
    """
    probability = 1 - checks.positive_delta("level", level, _LEVEL)
    method, noise = fitted.public["method"], fitted.public.get("output_noise")
    if method not in ON_COEFFICIENTS or not isinstance(noise, Mapping):
        raise AssumptionError(_refusal(str(method)))
    widths = half_widths(fitted.units, noise, probability)
    estimates = np.column_stack([fitted.coef, fitted.intercept])[:, : len(widths)]
    estimate = estimates[0] if len(estimates) == 1 else estimates
    return estimate - widths, estimate + widths


def half_widths(units: Units, noise: Mapping[str, object], probability: float) -> Floats:
    """What the noise of each of the user's coefficients exceeds with at most this probability."""
    one = _one_coordinate(noise, probability)
    if not units.intercept:
        return units.scales * one
    return np.append(units.scales * one, _combined(noise, units.combination, probability, one))


def _one_coordinate(noise: Mapping[str, object], probability: float) -> float:
    """The bound for one coordinate of the bounded space (T5, T6, T7)."""
    from dperm.mechanisms import accuracy

    scale, dim = float(str(noise["noise_scale"])), int(str(noise["dim"]))
    match noise["mechanism"]:
        case "gaussian":
            return accuracy.gaussian_bound(scale, probability)
        case "gamma norm":
            return accuracy.gamma_norm_bound(scale, dim, probability)
        case "laplace":
            return accuracy.laplace_bound(scale, probability)
    raise AssumptionError(f"no interval is known for noise of the law {noise['mechanism']!r}.")


def _combined(noise: Mapping[str, object], combination: Floats, probability: float, one: float) -> float:
    """The bound for a linear combination of coordinates.

    Gaussian and gamma-norm noise look the same in all directions: the length of the combination times the bound of one
    coordinate. Laplace noise does not: a Chernoff bound, if there is more than one coordinate in it.
    """
    used = combination[combination != 0]
    if noise["mechanism"] != "laplace" or len(used) == 1:
        return float(np.linalg.norm(used)) * one
    return laplace_combination_bound(np.abs(used) * float(str(noise["noise_scale"])), probability)


def laplace_combination_bound(scales: Floats, probability: float) -> float:
    """A t with P(|sum_j L_j| > t) <= probability for independent Laplace noises of these scales b_j.

    Chernoff: E e^(s L) = 1/(1 - s^2 b^2), so P(|sum| > t) <= 2 e^(-s t) prod_j 1/(1 - s^2 b_j^2) for 0 < s < 1/max b;
    solved for t, at the best s.
    """
    largest = float(scales.max())

    def bound(share: float) -> float:
        squares = (share * scales / largest) ** 2
        return float((np.log(2 / probability) - np.log1p(-squares).sum()) * largest / share)

    best = minimize_scalar(bound, bounds=(1e-6, 1 - 1e-9), method="bounded")
    return bound(float(best.x))


def _refusal(method: str) -> str:
    reasons = {
        "objective": "objective perturbation adds its noise to the objective, and what that does to the coefficients "
        "depends on the data",
        "gradient": "gradient perturbation adds noise in every step, and what is left of it in the end depends on the "
        "data",
        "sgd": "DP-SGD adds noise in every step, and what is left of it in the end depends on the data",
        "posterior": "posterior sampling draws the coefficients, and how far they spread depends on the data",
        "sufficient": "noise is added to sums of products, and what that does to the coefficients depends on the data",
        "none": "epsilon=inf adds no noise",
    }
    reason = reasons.get(method, "its noise is not added to the coefficients")
    return f'no interval is given: {reason}. Fit with method="output", whose noise has a known law.'
