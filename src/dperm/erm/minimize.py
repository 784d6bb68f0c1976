# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Certified minimiser: a model of a sample, corrected by exact passes, with a certificate at the end.

`minimize` returns theta with ||theta - argmin J|| <= tolerance/Lambda, rounding included, and nothing else: path,
accuracy and running time are private. The certificate is a gradient: J is Lambda-strongly convex, so ||theta - argmin
J|| <= ||grad J(theta)||/Lambda (T31). Every step is a function of J and of the row numbers alone. Only the tolerance
enters the proofs (T31, T43), so any way of meeting it is valid, and only the gradient needs to be exact (T205).

The order of the methods:

- Newton on a sample of the rows, which the driver holds in memory; a small table is its own sample. A hinge smoothed on
  a narrow strip is first smoothed on wider ones.
- The *corrected model*: the loss of the sample plus the linear and the quadratic function that give it the gradient and
  the second derivatives of all rows at the last point. Its minimum is the next point. The model is wrong only in its
  third derivatives, so two passes with second derivatives suffice where the sample is large. Newton steps with the
  last second derivatives follow. Passes before the last ones compute gradients with fewer digits, which are never part
  of a certificate.
- Newton on all rows, if the model does not shorten the gradient.
- Nesterov's method, whose number of steps is bounded for every data set.
- Newton on coefficients with more digits than doubles, where rounding the coefficients moves the gradient by more than
  the tolerance: theta is released, and the certificate is that of theta plus a rest of at most its last digits.

Libraries of linear algebra run with one thread here, so that results do not depend on the number of threads.
"""

import math
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace

import numpy as np

from dperm import checks
from dperm.data.arrays import Floats
from dperm.data.blas_threads import single_threaded_blas
from dperm.data.bounded import BoundedData
from dperm.erm import nesterov, newton
from dperm.erm.newton import Iterate
from dperm.erm.objective import Objective
from dperm.erm.rounding import ULP, gradient_error, minimizer_norm_bound
from dperm.erm.spec import ProblemSpec
from dperm.erm.table_objective import EXACT, FIRST, MIDDLE, Digits, TableObjective, rough_error
from dperm.errors import AssumptionError
from dperm.presentation.spelling import arg

ROUGHLY = 0.01
"""Norm of the gradient at which softer problems stop, relative to one record's."""
MOST_CORRECTIONS = 60
GRAIN = 16
"""Units of rounding in coefficients that are still: twice the stillness of `dperm.erm.newton`."""
REFINEMENTS = 60
FEW_BITS, MANY_BITS = 6, 14
"""Digits of second derivatives. A product of rows of few bits costs half as much (T201)."""
MOST_CURVED = 3
"""Largest number of passes with second derivatives; the third one only where two do not suffice."""
CURVED = 0.25
"""Share of records with a second derivative above 0, below which steps need the model: it knows where losses bend."""
SMOOTH = 0.99
"""Share of records with a second derivative above 0, from which on more digits and third derivatives save a pass. Where
many slopes are limited, records that cross a limit during a step decide how good it is, and a sample cannot tell which
do."""
CLOSE = 0.05
"""Share of the gradient's norm left by a correction, below which Newton steps follow."""
SAMPLED = 0.1
"""Norm of the model's gradient at the start, in units of the standard error of a sampled gradient for the longest
gradients of records."""
EXPECTED = 4.0
"""Norm of the first gradient of all rows, in units of that of the model's gradient."""
ROOM = 4.0
"""Least norm of a gradient of few digits, in units of the error of these digits."""
USEFUL = 0.5
"""Share of the gradient's norm that a correction may leave."""
INNER = 2e-4
"""Norm of the model's gradient at which a correction is solved, relative to the present gradient."""


def minimize(data: BoundedData, spec: ProblemSpec, tolerance: float, linear: Floats | None = None) -> Floats:
    """Return theta within distance ``tolerance``/Lambda of the minimiser of J, certified by the gradient (T31, T43).

    J is the sum of the losses plus (Lambda/2) ||theta||^2 and the linear term. At the returned theta, the norm of the
    gradient of J is at most ``tolerance``, rounding errors included. The distance follows, since J is Lambda-strongly
    convex. If rounding theta to doubles moves the gradient by more than that, the certificate is for coefficients that
    round to theta, and it covers their distance from theta.

    Parameters
    ----------
    data
        Bounded data, in memory or in row groups.
    spec
        Learning problem with its loss and its regularisation strength Lambda.
    tolerance
        Public bound on the norm of the gradient of J, positive and fixed by a plan. J is a sum, not a mean.
    linear
        Coefficients of the linear term, as added by objective perturbation; None for no linear term.

    Returns
    -------
    ndarray
        Coefficients theta.

    Raises
    ------
    ParameterError
        If the tolerance is not positive.
    AssumptionError
        If the loss has a kink, or if rounding makes the tolerance unreachable. Plans exclude both cases, up to their
        largest number of rows.

    Notes
    -----
    *Guarantees.* The result is the same, to the last bit, for every cut of the rows into row groups and for every
    engine, on machines with one build of numpy and one kind of processor (T203).
    """
    tolerance = checks.positive("tolerance", tolerance)
    if not math.isfinite(spec.loss.curvature):
        raise AssumptionError(
            f"{spec.loss.name} has a kink: there is no certificate for its minimiser.", remedy="Use a smooth loss."
        )
    with single_threaded_blas():
        problem = Problem.of(data, spec, np.zeros(spec.dim) if linear is None else linear)
        return problem.minimizer(tolerance)


@dataclass(frozen=True)
class Problem:
    """Objective of all rows, and the model of a sample.

    Attributes
    ----------
    objective
        Objective in exact passes.
    model
        Objective of the sample, scaled up to all rows.
    """

    objective: TableObjective
    model: Objective

    @classmethod
    def of(cls, data: BoundedData, spec: ProblemSpec, linear: Floats) -> "Problem":
        """Return the problem with its sample."""
        sample = data.sample(spec.width)
        objective = TableObjective(data, spec, linear)
        return cls(objective, Objective(sample, spec, linear, scale=data.rows / max(sample.rows, 1)))

    @property
    def is_whole(self) -> bool:
        """Whether the sample has all rows."""
        return self.model.data.rows == self.objective.data.rows

    def minimizer(self, tolerance: float) -> Floats:
        """Return the certified minimiser."""

        def certified(point: Iterate) -> bool:
            return _norm(point.gradient) + self.error(point.theta) <= tolerance

        def enough(point: Iterate) -> bool:
            return certified(point) or _norm(point.gradient) <= tolerance / 4

        def exhausted(point: Iterate) -> bool:
            least = max(2 * self.error(point.theta), self.grain(point.theta))
            return certified(point) or (_norm(point.gradient) <= least and not self._is_far(point.theta))

        is_curved = newton.is_factored(self.model) and not self.is_whole
        point = (self._curved if is_curved else self._corrected)(self._start(tolerance), certified, tolerance)
        if not certified(point):
            point, done = newton.descend(self.objective, point.theta, enough)
            if self._is_far(point.theta):  # doubles near it are coarse, and no minimiser is there
                point, done = newton.descend(self.objective, np.zeros(len(point.theta)), enough)
            if not done and not exhausted(point):
                point, _ = nesterov.descend(self.objective, point.theta, exhausted, tolerance)
        return point.theta if certified(point) else self._refined(point.theta, tolerance)

    def _refined(self, theta: Floats, tolerance: float) -> Floats:
        """Return coefficients certified together with a rest of at most their last digits (T31).

        Let J have a gradient of norm g at theta + rest. Then theta is within g/Lambda + ||rest|| of the minimiser.
        """
        objective, whole, rest = self.objective, theta, np.zeros(len(theta))
        best, share, move = math.inf, 1.0, rest
        for _ in range(REFINEMENTS):
            gradient = objective.gradient(whole, rest)
            size = _norm(gradient)
            if size + self.error(whole) + objective.spec.strength * _norm(rest) <= tolerance:
                return whole
            if size < best:
                if not size <= USEFUL * best < math.inf:
                    direction = newton.direction_at(self.model if self.is_whole else objective, whole)
                best, share, start, move = size, 1.0, (whole, rest), direction(gradient)
            else:
                share /= 4
            whole, rest = _two_parts(start[0], start[1] + share * move)
        raise AssumptionError(
            f"{arg('tolerance')} is too small for floating point on data of this size: rounding alone may exceed it. "
            "The budget was charged, and nothing is released.",
            remedy=f"Use a larger {arg('C')} or {arg('tolerance')}, or fewer rows.",
        )

    def error(self, theta: Floats) -> float:
        """Return a bound on the error of the computed gradient at ``theta`` (T202)."""
        objective = self.objective
        return gradient_error(objective.spec, objective.data.rows, _norm(theta), _norm(objective.linear))

    def grain(self, theta: Floats) -> float:
        """Return a bound on the change of the gradient by the last digits of ``theta``, at which descents end."""
        spec = self.objective.spec
        return GRAIN * ULP * (self.objective.data.rows * spec.smoothness + spec.strength) * _norm(theta)

    def _start(self, tolerance: float) -> Iterate:
        """Return a minimiser of the model, found by way of softer losses, each solved roughly."""
        spec = self.model.spec
        softened = [replace(self.model, spec=replace(spec, loss=loss)) for loss in spec.loss.softer]
        theta = newton.thinned_minimizer(softened[0] if softened else self.model)
        rough = max(tolerance, ROUGHLY * spec.lipschitz)
        for one in softened:
            theta = newton.descend(one, theta, lambda point: point.size <= rough)[0].theta
        goal = tolerance / 4 if self.is_whole else max(tolerance, self._sampling_error())
        return newton.descend(self.model, theta, lambda point: point.size <= goal)[0]

    def _corrected(self, start: Iterate, certified: Callable[[Iterate], bool], tolerance: float) -> Iterate:
        """Return the best point of the corrected models: a certified one, or the last that shortened the gradient."""
        best, modelled = Iterate(self.objective, start.theta), start
        for place in range(MOST_CORRECTIONS):
            point = Iterate(self.objective, modelled.theta)
            if certified(point):
                return point
            if place and not point.size <= USEFUL * best.size:
                return best if best.size <= point.size else point
            best, modelled = point, Iterate(self.model, self._next(point, modelled, tolerance))
        return best

    def _curved(self, start: Iterate, certified: Callable[[Iterate], bool], tolerance: float) -> Iterate:
        """Return the same for models with the second derivatives of all rows, from two passes or three.

        The minimum of a model is the next point. Once it shortens the gradient well, Newton steps with the last second
        derivatives suffice.
        """
        theta, modelled, left = start.theta, start, MOST_CURVED
        curved: Iterate | None = None
        share, straight = 0.0, None
        best, size, ratio = Iterate(self.objective, theta), math.inf, math.inf
        digits = self._digits(theta, EXPECTED * self._sampling_error(), tolerance, coarsest=FIRST)
        for place in range(MOST_CORRECTIONS):
            if left and (place < 2 or ratio > CLOSE):
                like = modelled.hessian if curved is None else curved.hessian
                left, bits = left - 1, MANY_BITS if share > SMOOTH or left == 1 else FEW_BITS
                found = self.objective.gradient_and_hessian(theta, like, bits=bits, digits=digits)
                point, share = Iterate(self.objective, theta, found.gradient, found.hessian), found.curved
                is_new = True
            else:
                point = Iterate(self.objective, theta, self.objective.gradient(theta, digits=digits))
                is_new = False
            if digits is EXACT and certified(point):
                return point
            if digits is not EXACT and not tolerance < point.size <= USEFUL * size:
                digits = EXACT
                continue
            if not point.size <= USEFUL * size:
                if straight is None:
                    return best
                theta, straight = self._next(straight, modelled, tolerance, curved), None
                continue
            if is_new:
                curved, modelled = point, Iterate(self.model, theta) if place else start
            ratio = point.size / size if math.isfinite(size) else math.inf
            best, size, straight = Iterate(self.objective, theta), point.size, None
            if curved is None or ratio > CLOSE or share < CURVED:
                theta = self._next(point, modelled, tolerance, curved)
            else:
                straight = point
                bends = share > SMOOTH and size * ratio > tolerance
                theta = self._bent_step(point, curved) if bends else theta + curved.direction(point.gradient)
            digits = self._digits(theta, size * min(ratio, CLOSE), tolerance, coarsest=MIDDLE)
        return best

    def _bent_step(self, point: Iterate, curved: Iterate) -> Floats:
        """Return the end of a Newton step with the Hessian at ``curved``, after one correction for its change.

        The model tells how the gradient at the end of the step differs from a linear function of the step.
        """
        model, step = self.model, curved.direction(point.gradient)
        straight = model.gradient(point.theta) + model.hessian_product(model.bends(curved.theta), step)
        end = point.theta + step
        return np.asarray(end + curved.direction(model.gradient(end) - straight))

    def _digits(self, theta: Floats, expected: float, tolerance: float, *, coarsest: Digits) -> Digits:
        """Return the fewest digits for a gradient of about the norm ``expected``; all of them near the tolerance."""
        error = self.objective.data.rows * rough_error(self.objective.spec, _norm(theta), coarsest)
        if expected >= max(2 * tolerance, ROOM * error):
            return coarsest
        return self._digits(theta, expected, tolerance, coarsest=MIDDLE) if coarsest is FIRST else EXACT

    def _sampling_error(self) -> float:
        """Return the norm at which the gradient of the model is small beside its distance from that of all rows."""
        return SAMPLED * self.model.spec.lipschitz * math.sqrt(self.objective.data.rows * self.model.scale)

    def _next(self, point: Iterate, modelled: Iterate, tolerance: float, curved: Iterate | None = None) -> Floats:
        """Return the minimiser of the model with the gradient of all rows at ``point``.

        The model also has the second derivatives of all rows at the point ``curved``, if there is one; ``modelled`` is
        the model there, and otherwise at ``point``. Away from ``curved`` this quadratic correction may be more negative
        than the model is curved. If such a model has no minimiser within the bound on all minimisers, the correction is
        left out.
        """
        here = modelled if modelled.theta is point.theta else Iterate(self.model, point.theta)
        shift = point.gradient - here.gradient
        goal = max(INNER * point.size, tolerance / 20)

        def solved(found: Iterate) -> bool:
            return found.size <= goal

        if curved is not None:
            quadratic = curved.hessian - modelled.hessian
            linear = self.model.linear + shift - quadratic @ point.theta
            corrected = replace(self.model, linear=linear, quadratic=quadratic)
            direction = curved.direction if curved.theta is point.theta else None
            with suppress(AssumptionError):
                found, _ = newton.descend(
                    corrected,
                    point.theta,
                    lambda at: self._is_far(at.theta) or solved(at),
                    gradient=point.gradient,
                    direction=direction,
                )
                if not self._is_far(found.theta):
                    return found.theta
        corrected = replace(self.model, linear=self.model.linear + shift)
        return newton.descend(corrected, point.theta, solved, gradient=point.gradient)[0].theta

    def _is_far(self, theta: Floats) -> bool:
        """Return whether ``theta`` is beyond twice the bound on minimisers."""
        spec, rows = self.objective.spec, self.objective.data.rows
        return _norm(theta) > 2 * minimizer_norm_bound(spec, rows, _norm(self.objective.linear))


def _two_parts(first: Floats, second: Floats) -> tuple[Floats, Floats]:
    """Return the rounded sum of two vectors and its error, exactly (Knuth 1969)."""
    whole = first + second
    part = whole - first
    return whole, (first - (whole - part)) + (second - part)


def _norm(vector: Floats) -> float:
    """Return the norm of a vector, rounded up."""
    return float(np.linalg.norm(vector)) * (1 + 1e-12 + len(vector) * ULP)
