# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""The certified minimiser: quick methods first, a proven one if they fail, and a certificate in the end.

`minimize` returns theta with ||grad J(theta)|| <= tolerance, rounding included, and nothing else: how it got there, how
close it came and how long it took are private. J is Lambda-strongly convex, so ||theta - argmin J|| <= tolerance/Lambda
(T31). The start is 0 and every step is a function of J alone; since only the tolerance enters the proofs (T31, T43),
any way of meeting it will do.

Order: Newton on a thinned sum of rows, chosen by position; Newton on all of them, with the thinned Hessian as long as
it serves; Nesterov's method, whose number of steps is bounded for every data set.
"""

import math

import numpy as np

from dperm import checks
from dperm.data.arrays import Floats
from dperm.data.bounded import BoundedData
from dperm.erm import nesterov, newton
from dperm.erm.newton import Certified
from dperm.erm.objective import Objective
from dperm.erm.rounding import gradient_error
from dperm.erm.spec import ProblemSpec
from dperm.errors import AssumptionError


def minimize(data: BoundedData, spec: ProblemSpec, tolerance: float, linear: Floats | None = None) -> Floats:
    """Theta with ||grad J(theta) + linear|| <= ``tolerance``, certified (T31, T43).

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
    certified = _certificate(objective, tolerance)
    theta, found = newton.descend(objective, newton.approximate(objective), certified)
    if not found:
        theta, found = nesterov.descend(objective, theta, certified, tolerance)
    if not found:
        raise AssumptionError(
            "tolerance is too small for floating point on data of this size: rounding alone may exceed it. The budget "
            "was charged, nothing is released. Give a larger C or tolerance, or fewer rows."
        )
    return theta


def _certificate(objective: Objective, tolerance: float) -> Certified:
    """Whether the gradient, as computed at theta, is below the tolerance by more than it can be wrong."""
    length_of_linear = float(np.linalg.norm(objective.linear))

    def certified(theta: Floats, gradient: Floats) -> bool:
        length = float(np.linalg.norm(theta)) * (1 + 1e-12)
        error = gradient_error(objective.spec, objective.data.rows, length, length_of_linear)
        return float(np.linalg.norm(gradient)) * (1 + 1e-12) + error <= tolerance

    return certified
