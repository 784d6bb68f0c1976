# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Certified minimiser: fast methods first, a method with a proved rate if they fail, and a certificate at the end.

`minimize` returns theta with ||theta - argmin J|| <= tolerance/Lambda, rounding included, and nothing else: path,
accuracy and running time are private. The certificate is a gradient: J is Lambda-strongly convex, so ||theta - argmin
J|| <= ||grad J(theta)||/Lambda (T31). The start is 0 and every step is a function of J alone. Only the tolerance enters
the proofs (T31, T43), so any way of meeting it is valid.

The order of the methods:

- Newton on a thinned sum of rows, chosen by position. A hinge smoothed on a narrow strip is first smoothed on wider
  ones.
- Newton on all rows, with the thinned Hessian as long as it works.
- Nesterov's method, whose number of steps is bounded for every data set.
- Newton with gradients in extended precision, where doubles cannot certify the point.
"""

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from dperm import checks
from dperm.data.arrays import Floats
from dperm.data.bounded import BoundedData
from dperm.erm import extended_precision, nesterov, newton
from dperm.erm.newton import Iterate, direction_at
from dperm.erm.objective import Objective
from dperm.erm.rounding import ULP, gradient_error
from dperm.erm.spec import ProblemSpec
from dperm.errors import AssumptionError
from dperm.presentation.spelling import arg

REFINEMENTS = 60
ROUGHLY = 0.01
"""Norm of the gradient at which softer problems stop, relative to one record's."""


def minimize(data: BoundedData, spec: ProblemSpec, tolerance: float, linear: Floats | None = None) -> Floats:
    """Return theta with ||theta - argmin J|| <= ``tolerance``/Lambda, certified by its gradient (T31, T43).

    Parameters
    ----------
    data
        Bounded data.
    spec
        Problem with its regularisation.
    tolerance
        Public bound on the norm of the gradient, in sum scale, fixed by a plan.
    linear
        Linear term of J, as added by objective perturbation; None for 0.

    Returns
    -------
    ndarray
        Coefficients theta.

    Raises
    ------
    ParameterError
        If the tolerance is not positive.
    AssumptionError
        If the loss has a kink, or if rounding makes the tolerance unreachable; plans rule both out for the allowed
        number of rows.
    """
    tolerance = checks.positive("tolerance", tolerance)
    if not math.isfinite(spec.loss.curvature):
        raise AssumptionError(
            f"{spec.loss.name} has a kink: there is no certificate for its minimiser.", remedy="Use a smooth loss."
        )
    objective = Objective(data, spec, np.zeros(spec.dim) if linear is None else linear)
    error = _error_of(objective, ULP)

    def certified(point: Iterate) -> bool:
        return _norm(point.gradient) + error(point.theta) <= tolerance

    def enough(point: Iterate) -> bool:
        return certified(point) or _norm(point.gradient) <= tolerance / 4

    def exhausted(point: Iterate) -> bool:
        return certified(point) or _norm(point.gradient) <= 2 * error(point.theta)

    point, done = newton.descend(objective, _start(objective, tolerance), enough)
    if not done and not exhausted(point):
        point, _ = nesterov.descend(objective, point.theta, exhausted, tolerance)
    return point.theta if certified(point) else _refined(objective, point.theta, tolerance)


def _start(objective: Objective, tolerance: float) -> Floats:
    """Return a start: the minimiser of a thinned sum of rows, improved on softer losses, each solved roughly."""
    softened = [replace(objective, spec=replace(objective.spec, loss=loss)) for loss in objective.spec.loss.softer]
    theta = newton.thinned_minimizer(softened[0] if softened else objective)
    rough = max(tolerance, ROUGHLY * objective.spec.lipschitz)
    for one in softened:
        theta = newton.descend(one, theta, lambda point: point.size <= rough)[0].theta
    return theta


def _refined(objective: Objective, start: Floats, tolerance: float) -> Floats:
    """Run Newton's method with gradients in extended precision, renewing the Hessian when progress is slow."""
    error = _error_of(objective, extended_precision.ULP)
    theta, before = start.astype(np.longdouble), math.inf
    for _ in range(REFINEMENTS):
        gradient = extended_precision.gradient(objective, theta).astype(np.float64)
        rounded, size = theta.astype(np.float64), _norm(gradient)
        rounding = objective.spec.strength * 2 * ULP * _norm(rounded)
        if size + error(rounded) + rounding <= tolerance:
            return rounded
        if not size <= before / 2 < math.inf:
            direction = direction_at(objective, rounded)
        theta, before = theta + direction(gradient), size
    raise AssumptionError(
        f"{arg('tolerance')} is too small for floating point on data of this size: rounding alone may exceed "
        f"it. The budget "
        "was charged, and nothing is released.",
        remedy=f"Use a larger {arg('C')} or {arg('tolerance')}, or fewer rows.",
    )


def _error_of(objective: Objective, ulp: float) -> Callable[[Floats], float]:
    """Return a bound on the error of the gradient at theta, for a unit of rounding."""
    spec, data, linear = objective.spec, objective.data, _norm(objective.linear)
    return lambda theta: gradient_error(spec, data.rows, _norm(theta), linear, ulp=ulp, height=data.height)


def _norm(vector: Floats) -> float:
    return float(np.linalg.norm(vector)) * (1 + 1e-12)
