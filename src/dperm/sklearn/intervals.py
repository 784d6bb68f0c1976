# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Confidence intervals for the noise added to the coefficients, in the user's units."""

from collections.abc import Mapping

import numpy as np
from scipy.optimize import minimize_scalar

from dperm import checks
from dperm.checks import shown
from dperm.data.arrays import Floats
from dperm.errors import AssumptionError
from dperm.presentation.spelling import arg
from dperm.report.run_facts import PREPARATION
from dperm.sklearn.fit_result import FitResult
from dperm.sklearn.units import Units

ON_COEFFICIENTS = ("output", "bolt_on")
"""Methods with all of their noise added to the coefficients."""
_LEVEL = "It is the probability that an interval holds, such as 0.95."


def noise_interval(fitted: FitResult, level: float) -> tuple[Floats, Floats]:
    """Return intervals (low, high) for the coefficients without noise, the intercept last.

    Parameters
    ----------
    fitted
        Result of a private fit.
    level
        Probability in (0, 1), over the noise, with which each interval holds.

    Returns
    -------
    low, high
        Ends of the intervals; one row for each score if there are several.

    Raises
    ------
    AssumptionError
        If the method does not add its noise to the coefficients.
    """
    probability = 1 - checks.positive_delta("level", level, _LEVEL)
    method, noise = fitted.public["method"], fitted.public.get("output_noise")
    if method not in ON_COEFFICIENTS or not isinstance(noise, Mapping):
        raise _no_interval(fitted.public)
    widths = half_widths(fitted.units, noise, probability)
    estimates = np.column_stack([fitted.coef, fitted.intercept])[:, : len(widths)]
    estimate = estimates[0] if len(estimates) == 1 else estimates
    return estimate - widths, estimate + widths


def half_widths(units: Units, noise: Mapping[str, object], probability: float) -> Floats:
    """Return bounds that the noise of each of the user's coefficients exceeds with at most ``probability``."""
    one = _one_coordinate(noise, probability)
    if not units.intercept:
        return units.scales * one
    return np.append(units.scales * one, _combined(noise, units.combination, probability, one))


def _one_coordinate(noise: Mapping[str, object], probability: float) -> float:
    """Return the bound for one coordinate of the bounded space (T5, T6, T7)."""
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
    """Return the bound for a linear combination of coordinates.

    Gaussian and gamma-norm noise are rotation invariant: the bound is the length of the combination times the bound of
    one coordinate. For several coordinates of Laplace noise it is a Chernoff bound.
    """
    used = combination[combination != 0]
    if noise["mechanism"] != "laplace" or len(used) == 1:
        return float(np.linalg.norm(used)) * one
    return laplace_combination_bound(np.abs(used) * float(str(noise["noise_scale"])), probability)


def laplace_combination_bound(scales: Floats, probability: float) -> float:
    """Return t with P(|sum_j L_j| > t) <= probability for independent Laplace noises of these scales b_j.

    Chernoff bound: E e^(s L) = 1/(1 - s^2 b^2), so P(|sum| > t) <= 2 e^(-s t) prod_j 1/(1 - s^2 b_j^2) for
    0 < s < 1/max b. It is solved for t at the best s.
    """
    largest = float(scales.max())

    def bound(share: float) -> float:
        squares = (share * scales / largest) ** 2
        return float((np.log(2 / probability) - np.log1p(-squares).sum()) * largest / share)

    best = minimize_scalar(bound, bounds=(1e-6, 1 - 1e-9), method="bounded")
    return bound(float(best.x))


def _no_interval(public: Mapping[str, object]) -> AssumptionError:
    """Return the error for a fit whose noise has no known effect on the coefficients, with a fit that has one."""
    method, loss = str(public["method"]), str(public.get("loss"))
    if method == "none":
        return AssumptionError(
            f"there is no noise interval: {arg('epsilon', 'inf')} adds no noise.",
            remedy="The coefficients are the solution itself.",
        )
    reason = _REASONS.get(method, "its noise is not added to the coefficients")
    output = arg("method", '"output"')
    if PREPARATION in public:
        estimator = str(public["estimator"])
        remedy = f"Fit a pipeline of PrivateTableEncoder and {estimator} with {output}. {_ENCODED}"
    elif loss == "pinball":
        remedy = f"No method with a known law learns a quantile. PrivateHuberRegressor with {output} has intervals."
    elif loss == "hinge":
        smooth = arg("loss", '"huber_hinge"')
        remedy = f"Fit with {smooth} and {output}, whose noise has a known law."
    else:
        remedy = f"Fit with {output}, whose noise has a known law."
    return AssumptionError(
        f"the law of the noise on the coefficients is not known for method={shown(method)}: {reason}.", remedy=remedy
    )


_REASONS = {
    "objective": "objective perturbation adds its noise to the objective, and the effect on the coefficients depends "
    "on the data",
    "gradient": "gradient perturbation adds noise in every step, and the remaining noise depends on the data",
    "sgd": "DP-SGD adds noise in every step, and the remaining noise depends on the data",
    "posterior": "posterior sampling draws the coefficients, and their spread depends on the data",
    "sufficient": "noise is added to sums of products, and the effect on the coefficients depends on the data",
}
_ENCODED = "Its intervals are those of the encoded columns."
