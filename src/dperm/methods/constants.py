# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Public constants that several methods use, each as a named function."""

import math
from fractions import Fraction

from dperm.checks import shown
from dperm.data.targets import LabelKind
from dperm.erm.loss import Loss
from dperm.erm.spec import ProblemSpec
from dperm.errors import AssumptionError, ConversionError, ParameterError
from dperm.mechanisms.goal import checked_goal
from dperm.privacy import Adjacency, ApproxDP, PureDP
from dperm.privacy.guarantee import AnyGuarantee
from dperm.privacy.rounding import round_up

PURE_IS_LESS = (
    "With so few coefficients pure noise is less than Gaussian noise: the guarantee holds with delta = 0 too."
)


def checked_noise(noise: object, known: tuple[str, ...]) -> str:
    """The name of a law of noise, if it is ``known``."""
    if noise not in known:
        raise ParameterError(f"noise must be one of {', '.join(known)}, got {shown(noise)}.")
    return str(noise)


def problem_facts(spec: ProblemSpec) -> dict[str, object]:
    """The constants of the problem, as they stand in a record."""
    return {
        "loss": spec.loss.name,
        **{f"loss_{name}": value for name, value in vars(spec.loss).items()},
        "regularization": spec.regularization,
        "clip": spec.clip,
        "weight": spec.weight,
        "lipschitz": None if spec.clip is None and math.isinf(spec.loss.slope) else spec.lipschitz,
        "smoothness": spec.smoothness if math.isfinite(spec.smoothness) else None,
        "radius": spec.radius,
        "dim": spec.dim,
        "n": spec.n,
    }


def require_gradient_of_loss(spec: ProblemSpec, method: str) -> None:
    """Refuse a clip under which gradients are those of no convex function: then there is nothing to minimise (T44)."""
    if spec.outputs > 1 and spec.is_clipped:
        raise AssumptionError(
            f"{method} perturbation minimises a convex function, and clipped gradients of the loss {spec.loss.name!r} "
            f"belong to none (T44 is about one score), got clip={spec.clip:.6g} below the longest gradient "
            f'{spec.radius * spec.loss.slope:.6g}. Leave out clip, or use method="gradient" or method="sgd".'
        )


def without_kink(loss: Loss) -> str:
    """What there is for a kinked loss instead of a method that needs a smooth one."""
    descent = 'method="gradient" or method="sgd", which need delta > 0 and a public n'
    if loss.labels is LabelKind.SIGN:
        return f'Use the smooth loss="huber_hinge", or {descent}.'
    return f"No smooth loss learns a quantile: use {descent}."


def gradient_sensitivity(spec: ProblemSpec, adjacency: Adjacency) -> float:
    """How far one record moves the sum of the gradients at any theta, Delta_g (T36a, T45).

    Each gradient is at most L long: L for a record added or removed, 2L for one replaced.
    """
    return spec.lipschitz if adjacency is Adjacency.ADD_REMOVE else 2 * spec.lipschitz


def output_sensitivity(spec: ProblemSpec, adjacency: Adjacency) -> float:
    """Bound on ||theta(D) - theta(D')||_2 for the exact minimisers of neighbours, rounded up.

    Theorem T30 [Chaudhuri, Monteleoni & Sarwate 2011, Cor 8; sum scale].
        If each loss is convex and L-Lipschitz and the regulariser is (Lambda/2) ||theta||^2 on every coefficient, the
        minimisers differ by at most 2L/Lambda for a record replaced, L/Lambda for one added or removed.

    The intercept is a coefficient like the others (T54, T55), so L is that of rows with their constant. The constants
    are attained by linear losses and approached by logistic ones: nothing smaller is valid. What the solver's
    tolerance adds (T31) is not in here: it is the numerical error of the mechanism.
    """
    return round_up(Fraction(gradient_sensitivity(spec, adjacency)) / Fraction(spec.strength))


def is_pure(goal: AnyGuarantee) -> bool:
    """Whether the goal leaves no delta."""
    return isinstance(goal, PureDP) or (isinstance(goal, ApproxDP) and goal.delta == 0)


def epsilon_and_delta(goal: AnyGuarantee, method: str) -> tuple[float, float]:
    """The two numbers of a PureDP or ApproxDP goal, which are all that ``method`` can be calibrated to."""
    goal = checked_goal(goal)
    if isinstance(goal, PureDP):
        return goal.epsilon, 0.0
    if isinstance(goal, ApproxDP):
        return goal.epsilon, goal.delta
    raise ConversionError(
        f"{method} perturbation is calibrated to PureDP(epsilon, adjacency) or ApproxDP(epsilon, delta, adjacency), "
        f'got goal={goal!r}. For {type(goal).__name__} goals use method="gradient" or method="output".'
    )
