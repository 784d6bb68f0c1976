# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""The certified minimiser: quick methods first, a proven one if they fail, and a certificate in the end.

`minimize` returns theta with ||theta - argmin J|| <= tolerance/Lambda, rounding included, and nothing else: how it got
there, how close it came and how long it took are private. The certificate is a gradient: J is Lambda-strongly convex,
so ||theta - argmin J|| <= ||grad J(theta)||/Lambda (T31). The start is 0 and every step is a function of J alone; since
only the tolerance enters the proofs (T31, T43), any way of meeting it will do.

Order: Newton on a thinned sum of rows, chosen by position; where a hinge is smoothed on a narrow strip only, on wider
ones first; on all rows, with the thinned Hessian as long as it serves; Nesterov's method, whose number of steps is
bounded for every data set; and where doubles are not exact enough to certify what was reached, Newton with gradients in
extended precision.
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

REFINEMENTS = 60
ROUGHLY = 0.01
"""Gradients of softer problems are brought down to this share of one record's."""


def minimize(data: BoundedData, spec: ProblemSpec, tolerance: float, linear: Floats | None = None) -> Floats:
    """Theta with ||theta - argmin J|| <= ``tolerance``/Lambda, certified by its gradient (T31, T43).

    Parameters
    ----------
    data
        Bounded data.
    spec
        The problem, with its regularisation.
    tolerance
        Public bound on the norm of the gradient, in sum scale, fixed by a plan.
    linear
        The linear term of J, as objective perturbation adds it.

    Raises
    ------
    AssumptionError
        If rounding makes the tolerance unreachable; plans rule that out for as many rows as they allow.
    """
    tolerance = checks.positive("tolerance", tolerance)
    if not math.isfinite(spec.loss.curvature):
        raise AssumptionError(f"{spec.loss.name} has a kink: there is no certificate for its minimiser. Smooth it.")
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
    """Where to begin: on a thinned sum of rows, then by way of softer losses, each solved roughly."""
    softened = [replace(objective, spec=replace(objective.spec, loss=loss)) for loss in objective.spec.loss.softer]
    theta = newton.approximate(softened[0] if softened else objective)
    rough = max(tolerance, ROUGHLY * objective.spec.lipschitz)
    for one in softened:
        theta = newton.descend(one, theta, lambda point: point.size <= rough)[0].theta
    return theta


def _refined(objective: Objective, start: Floats, tolerance: float) -> Floats:
    """Newton's method with gradients in extended precision, and a Hessian that is renewed if it does not serve."""
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
        "tolerance is too small for floating point on data of this size: rounding alone may exceed it. The budget was "
        "charged, nothing is released. Give a larger C or tolerance, or fewer rows."
    )


def _error_of(objective: Objective, ulp: float) -> Callable[[Floats], float]:
    """How wrong the gradient at theta can be, by the unit of rounding it is computed with."""
    spec, data, linear = objective.spec, objective.data, _norm(objective.linear)
    return lambda theta: gradient_error(spec, data.rows, _norm(theta), linear, ulp=ulp, height=data.height)


def _norm(vector: Floats) -> float:
    return float(np.linalg.norm(vector)) * (1 + 1e-12)
