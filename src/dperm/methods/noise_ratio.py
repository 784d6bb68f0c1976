# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Whether the noise of a plan outweighs what n records can say, from public constants alone; the text of the warning.

No guarantee rests on it. The model is a table whose directions have variances in proportion to 1/j, as in the planner's
trials. Then a row shares its direction with n/D of the records, D = .6 (1 + ln d)^2, and the sum of their gradients,
at most n L/D long, competes with noise of deviation sigma0 in that direction. Thresholds and error rates are empirical:
benchmarks/noise_warning.py measures them.
"""

import math

from dperm.data.targets import LabelKind
from dperm.erm.spec import ProblemSpec
from dperm.methods.constants import is_pure
from dperm.methods.plan import Plan
from dperm.methods.rules import noise_scale
from dperm.methods.sufficient import SufficientPlan

CLASSES, NUMBERS = 2.0, 0.4
"""Ratios of noise to signal from which on models of classes and of numbers were hardly better than a constant."""
NARROW_LABELS = 0.05
"""Standard deviation of skewed labels, as a share of their range, that sufficient statistics should learn."""
_NOISE_ON_COEFFICIENTS = ("output", "bolt_on")


def effective_directions(columns: int) -> float:
    """D = (sum v_j)^2 / sum v_j^2, about .6 (1 + ln d)^2, for d directions with variances v_j = 1/j."""
    return 0.6 * (1 + math.log(columns)) ** 2


def noise_ratio(plan: Plan, spec: ProblemSpec, n: int) -> float:
    """The noise in a prediction relative to the signal of n records: D sigma / (n L), plus noise on coefficients.

    Sigma is the least noise on a sum of gradients (`noise_scale`), or that of sufficient statistics on the sum of
    labels times rows, which grows with the range of the labels instead of a clip. For numbers L is at most w R/4:
    labels in [-1, 1] are some quarter away from the first predictions. K classes share the records, hence a factor K/2.
    Noise of deviation s on every coefficient moves a prediction by up to R s, which no curvature of the loss dampens:
    it counts with R s / 4 for classes and 2 R s for numbers.
    """
    numbers = spec.loss.labels is LabelKind.NUMBER
    signal = min(spec.lipschitz, spec.weight * spec.radius / 4) if numbers else spec.lipschitz
    sigma = plan.sums.scale / spec.radius if isinstance(plan, SufficientPlan) else noise_scale(spec, plan.goal)
    classes = spec.outputs / 2 if spec.outputs > 1 else 1.0
    ratio = classes * effective_directions(spec.width) * sigma / (n * signal)
    if plan.method in _NOISE_ON_COEFFICIENTS and plan.output_noise is not None:
        ratio += spec.radius * plan.output_noise.standard_deviation * (2.0 if numbers else 0.25)
    return ratio


def least_label_deviation(plan: SufficientPlan, n: int) -> float:
    """The standard deviation, as a share of the range, below which sufficient statistics do not learn skewed labels.

    The ridge grows with the range of the labels, whatever part of it they fill. Where their mean is near an end of the
    range, the ridge moves every prediction by b = 2 ridge/(n w R^2) of half the range or more. That is as much as a
    model gains where the deviation is below 12 b of the range; the factor is empirical.
    """
    ridge = plan.ridge.largest + plan.ridge.strength
    return min(0.5, 12 * 2 * ridge / (n * plan.spec.weight * plan.spec.radius**2))


def noise_warning(plan: Plan, spec: ProblemSpec) -> str | None:
    """The warning of a plan whose noise outweighs the records, or None.

    Parameters
    ----------
    plan
        The plan.
    spec
        Public constants of the problem, clipped as the plan's method clips by default.
    """
    n = plan.spec.n
    if n is None or plan.method == "finite":
        return None
    numbers = spec.loss.labels is LabelKind.NUMBER
    if noise_ratio(plan, spec, n) >= (NUMBERS if numbers else CLASSES):
        poor = "a constant, or worse" if numbers else "a guess"
        return (
            f"the noise that {plan.goal} asks for outweighs what {n} records with {plan.spec.dim} coefficients can "
            f"say: expect predictions hardly better than {poor}. Give a larger epsilon, "
            f"{'a delta > 0, ' if is_pure(plan.goal) else ''}more records, or fewer features."
        )
    return _about_skewed_labels(plan, n) if isinstance(plan, SufficientPlan) else None


def _about_skewed_labels(plan: SufficientPlan, n: int) -> str | None:
    share = least_label_deviation(plan, n)
    if share < NARROW_LABELS:
        return None
    return (
        f'the noise of method="sufficient" grows with label_range: with {n} records, {plan.spec.dim} coefficients and '
        f"{plan.goal} it outweighs skewed labels, those whose mean is near an end of the range, if their standard "
        f"deviation is below about {share:.0%} of it. Expect predictions no better than a constant for them. Use "
        f'method="objective", or give a narrower public label_range, a larger epsilon or more records.'
    )
