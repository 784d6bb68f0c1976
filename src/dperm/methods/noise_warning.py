# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Warning for plans whose noise outweighs the signal of n records, from public constants alone.

No guarantee rests on it. The model is a table whose directions have variances in proportion to 1/j, as in the planner's
trials. There a row shares its direction with n/D of the records, D = .6 (1 + ln d)^2. The sum of their gradients, at
most n L/D long, competes with noise of deviation sigma0 in this direction. Thresholds and error rates are empirical:
benchmarks/noise_warning.py measures them.
"""

import math

from dperm.data.targets import LabelKind
from dperm.erm.spec import ProblemSpec
from dperm.errors import DpermWarning
from dperm.methods.conditions import is_pure
from dperm.methods.defaults import reference_noise
from dperm.methods.plan import Plan
from dperm.methods.sufficient import SufficientPlan
from dperm.presentation.spelling import arg, quoted_arg
from dperm.privacy import ApproxDP
from dperm.privacy.guarantee import AnyGuarantee

CLASSES, NUMBERS = 2.0, 0.4
"""Smallest ratios of noise to signal at which classifiers and regressions were hardly better than a constant."""
NARROW_LABELS = 0.05
"""Smallest standard deviation of skewed labels, as a share of their range, expected to be learnt."""
_NOISE_ON_COEFFICIENTS = ("output", "bolt_on")


def effective_directions(columns: int) -> float:
    """Return D = (sum v_j)^2 / sum v_j^2, about .6 (1 + ln d)^2, for d directions with variances v_j = 1/j."""
    return 0.6 * (1 + math.log(columns)) ** 2


def noise_ratio(plan: Plan, spec: ProblemSpec, n: int) -> float:
    """Return the noise in a prediction relative to the signal of n records: D sigma / (n L) plus coefficient noise.

    Sigma is the least noise on a sum of gradients (`reference_noise`). For sufficient statistics it is the noise on the
    sum of labels times rows, which grows with the label range instead of a clip. For numbers L is at most w R/4: labels
    in [-1, 1] are about a quarter away from the first predictions. K classes share the records, hence a factor K/2.

    Noise of deviation s on every coefficient moves a prediction by up to R s, and no curvature of the loss dampens it.
    It counts with R s / 4 for classes and 2 R s for numbers.
    """
    numbers = spec.loss.labels is LabelKind.NUMBER
    signal = min(spec.lipschitz, spec.weight * spec.radius / 4) if numbers else spec.lipschitz
    sigma = plan.sums.scale / spec.radius if isinstance(plan, SufficientPlan) else reference_noise(spec, plan.goal)
    classes = spec.outputs / 2 if spec.outputs > 1 else 1.0
    ratio = classes * effective_directions(spec.width) * sigma / (n * signal)
    if plan.method in _NOISE_ON_COEFFICIENTS and plan.output_noise is not None:
        ratio += spec.radius * plan.output_noise.standard_deviation * (2.0 if numbers else 0.25)
    return ratio


def least_label_deviation(plan: SufficientPlan, n: int) -> float:
    """Return the standard deviation of skewed labels, as a share of the range, below which sufficient statistics fail.

    The ridge grows with the range of the labels, however little of the range they fill. Where their mean is near an end
    of the range, the ridge moves every prediction by b = 2 ridge/(n w R^2) of half the range or more. A model gains no
    more than this where the deviation is below 12 b of the range; the factor is empirical.
    """
    ridge = plan.ridge.largest + plan.ridge.strength
    return min(0.5, 12 * 2 * ridge / (n * plan.spec.weight * plan.spec.radius**2))


def delta_warning(goal: AnyGuarantee, n: int | None) -> DpermWarning | None:
    """Return the warning for a delta above 1/n, or None; n is a public number of records or groups."""
    if not isinstance(goal, ApproxDP) or n is None or goal.delta <= 1 / n:
        return None
    return DpermWarning(
        f"{arg('delta', format(goal.delta, 'g'))} is above 1/n for {arg('n', n)}: publishing one record "
        f"chosen at random would meet this guarantee.",
        remedy="Choose a delta well below 1/n.",
    )


def sampled_noise_ratio(multiplier: float, rate: float, steps: int, n: int) -> float:
    """Return the noise of all DP-SGD steps relative to their gradients in one direction: D sigma / (sqrt(T) q n).

    The noise of T steps, each of deviation sigma, sums to sqrt(T) sigma. The gradients of q n records in each step, of
    norm 1 at most, sum to at most T q n. The size of the model is not known yet, so D is that of one direction, its
    least value. With q = 1 the ratio is that of `noise_ratio` for gradients in one direction.
    """
    return effective_directions(1) * multiplier / (math.sqrt(steps) * rate * n)


def noise_warning(plan: Plan, spec: ProblemSpec) -> DpermWarning | None:
    """Return the warning for a plan whose noise outweighs the records, or None.

    Parameters
    ----------
    plan
        Plan to judge.
    spec
        Public constants of the problem, clipped as the plan's method clips by default.
    """
    n = plan.spec.n
    if n is None or plan.method == "finite":
        return None
    numbers = spec.loss.labels is LabelKind.NUMBER
    if noise_ratio(plan, spec, n) >= (NUMBERS if numbers else CLASSES):
        poor = "a constant, or worse" if numbers else "a guess"
        return DpermWarning(
            f"the noise for {plan.goal} outweighs the signal of {n} records with {plan.spec.dim} coefficients: expect "
            f"predictions hardly better than {poor}.",
            remedy=f"Use a larger epsilon, {'a delta > 0, ' if is_pure(plan.goal) else ''}more records, or fewer "
            "features.",
        )
    return _about_skewed_labels(plan, n) if isinstance(plan, SufficientPlan) else None


def _about_skewed_labels(plan: SufficientPlan, n: int) -> DpermWarning | None:
    share = least_label_deviation(plan, n)
    if share < NARROW_LABELS:
        return None
    return DpermWarning(
        f"the noise of {quoted_arg('method', 'sufficient')} grows with {arg('label_range')}. With {n} records, "
        f"{plan.spec.dim} "
        f"coefficients and {plan.goal}, it outweighs skewed targets: targets with a mean near an end of the range and "
        f"a standard deviation below about {100 * share:.0f} % of it. Expect predictions no better than a constant for "
        f"them.",
        remedy=f"Use {quoted_arg('method', 'objective')}, a narrower public {arg('label_range')}, a larger "
        f"epsilon or more records.",
    )
