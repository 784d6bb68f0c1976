# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Every check of every lesson fails once its findings are doctored, by little: each could have come out otherwise.

`CHECKS` has each check by a part of its sentence, with the ways in which findings are changed so that it is just not
true; where a check calls a function instead, that is exchanged.
"""

import importlib
import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest
from quick_lessons import quick_run

from dperm.privacy.adjacency import Direction
from dperm.reproduce import LESSONS
from dperm.reproduce.error_curves import ALGORITHMS
from dperm.reproduce.lessons import (
    composition,
    dependence_on_epsilon,
    excess_risk,
    excess_risk_over_dimension,
    fourier_accountant,
    group_privacy,
    laplace_mean,
    learning_curves,
    median,
    packing,
    per_example_clipping,
    regularization,
    sample_size,
    sensitivity,
    table_of_errors,
)
from dperm.reproduce.perturbed_logistic import JMLR, OURS, OUTPUT, PRINTED, SHARP, STANDARD
from dperm.reproduce.spheres import SETS
from dperm.theory import posterior_inflation

Doctor = Callable[..., Iterator[tuple]]
"""From the arguments of `_checks` to others, for each of which the check has to fail."""


@dataclass(frozen=True)
class Doctored:
    """A check, by a part of its sentence; its doctors; and functions and properties to exchange, by their names."""

    sentence: str
    doctors: tuple[Doctor, ...]
    exchanged: dict[str, Callable]


def check(sentence: str, *doctors: Doctor, **exchanged: Callable) -> Doctored:
    """``exchanged`` has functions of the old value; two underscores stand for a dot."""
    return Doctored(sentence, doctors, {name.replace("__", "."): new for name, new in exchanged.items()})


def but(one, **values):
    """A copy of a finding of which fields, properties or methods have these values."""
    copy = object.__new__(type(type(one).__name__, (type(one),), values))
    copy.__dict__.update(vars(one) | values)
    return copy


def cell(place: int, value: Callable) -> Callable:
    """The change of one number of a row."""
    return lambda row: (*row[:place], value(row), *row[place + 1 :])


def anywhere(change: Callable, where: Callable = lambda one: True) -> Doctor:
    """One finding is changed, each in its turn."""

    def doctor(found, *rest):
        for place, one in enumerate(found):
            if where(one):
                yield type(found)([*found[:place], change(one), *found[place + 1 :]]), *rest

    return doctor


def everywhere(change: Callable, where: Callable = lambda one: True) -> Doctor:
    """All of them at once."""

    def doctor(found, *rest):
        yield [change(one) if where(one) else one for one in found], *rest

    return doctor


def after(change: Callable, where: Callable = lambda before, one: True) -> Doctor:
    """One finding is changed, with a view to the one before it."""

    def doctor(found, *rest):
        for place, (before, one) in enumerate(pairwise(found), 1):
            if where(before, one):
                yield [*found[:place], change(before, one), *found[place + 1 :]], *rest

    return doctor


def at_end(change: Callable, end: int = -1) -> Doctor:
    """The last finding is changed, or the first."""
    return lambda found, *rest: anywhere(change, lambda one: one is found[end])(found, *rest)


def powers(change: Callable, right: float, by: float, where: Callable = lambda one: True) -> list[Doctor]:
    """All findings get another power; ``change`` takes a finding and the power."""
    return [everywhere(lambda one, power=right + way * by: change(one, power), where) for way in (-1, 1)]


# --- findings of the shapes that occur more than once ---


def item(field: str, key: str, value: Callable) -> Callable:
    """The change of one number that a finding has by its key."""
    return lambda one: but(one, **{field: {**getattr(one, field), key: value(one)}})


def erring(algorithm: str, value: Callable) -> Callable:
    """The change of the mean error of an algorithm."""
    return item("errors", algorithm, lambda point: np.full(3, value(point)))


def as_much(one: str, other: str, more: float = 0.0) -> Callable:
    """An algorithm errs as much as another, and a little more."""
    return erring(one, lambda point: point.mean(other) + more)


def no_better_with_half(field: str) -> Callable:
    """Objective perturbation errs as much as Algorithm 1 does with twice the number in this field of the task."""

    def doctor(points, where=lambda one: True):
        for place, (one, two) in enumerate(pairwise(points)):
            if getattr(two.task, field) == 2 * getattr(one.task, field) and where(one):
                yield ([*points[:place], erring(OURS, lambda _, two=two: two.mean(OUTPUT))(one), *points[place + 1 :]],)

    return doctor


def sloped(lesson, method: str, by: float) -> list[Doctor]:
    """A measured power is off by so much, to each side."""
    return [
        lambda found, slopes, way=way: iter([(found, {**slopes, method: lesson.RATES[method] + way * by})])
        for way in (-1, 1)
    ]


def apart(one: str, other: str, by: float) -> list[Doctor]:
    """The powers of two methods differ by more or by less than ``by``."""
    return [
        lambda found, slopes, way=way: iter([(found, {**slopes, one: slopes[other] + by + way * 0.041})])
        for way in (-1, 1)
    ]


def rates(lesson, verb: str, one: str, other: str, by: float) -> list[Doctored]:
    """What both lessons on the excess risk check of the powers."""
    return [
        *(check(f"excess of {excess_risk.SPOKEN[m]} {verb}", *sloped(lesson, m, 0.151)) for m in lesson.RATES),
        check("The exponents of output perturbation", *sloped(lesson, "output", 0.041), *sloped(lesson, "kink", 0.041)),
        check("These exponents differ by", *apart(one, other, by)),
    ]


# --- what single lessons need ---


def growing_slowly(found, slopes):
    leads = [item("measured", "output", lambda at, i=i: at.measured["objective"] * (1 + i / 10)) for i in range(5)]
    yield [lead(at) for lead, at in zip(leads, found, strict=True)], slopes


def factor(value: float) -> Callable:
    return lambda one: but(one, mechanism=value * one.minimizer)


def rising_factor(place: int) -> Doctor:
    """The mechanism's factor rises by a little more than chance, with one more n than there is."""

    def doctor(found):
        cases = [[one for one in found if one.case == case] for case in ("agnostic", "realizable")]
        first, second = ([*some, but(some[-1], n=4 * some[-1].n)] for some in cases)
        before = first[place - 1].mechanism / first[place - 1].minimizer
        first[place] = factor(before + 0.021)(first[place])
        yield ([*first, *second],)

    return doctor


def is_case(case: str) -> Callable:
    return lambda one: one.case == case


def of_sampled(one) -> bool:
    return one.problem is fourier_accountant.SAMPLED


def moments_alike(one):
    fair = fourier_accountant.SAMPLED.renyi
    return but(one, above=lambda epsilon: 0.0999 if epsilon == fair else epsilon - one.problem.exact)


def other_direction(one):
    circle = one.problem.circle(one.bins, dots=True, direction=Direction.ADD)
    return but(one, dots=circle.epsilon(fourier_accountant.DELTA))


def only(pair: tuple[float, float], value: Callable) -> Callable:
    """A property of Gaussian noise that is another at one epsilon and delta."""
    return lambda old: property(lambda one: value(one) if (one.epsilon, one.delta) == pair else old.fget(one))


def shifted_failures(share: float) -> Doctor:
    return lambda failures: iter([({**failures, delta: share * end},) for delta, end in failures.items()])


def released(by: int) -> Doctor:
    """The share of right releases is further from what is computed than chance allows."""

    def doctor(found, _, releases):
        exact = packing.success(packing.FEW_THRESHOLDS, packing.records_needed(packing.FEW_THRESHOLDS))
        yield found, exact + by * (4 * math.sqrt(exact * (1 - exact) / releases) + 1e-4), releases

    return doctor


def inflated(by: int) -> Doctor:
    def doctor(found, repeats):
        share = 1 + by * 1.01 * 5 * math.sqrt(4 / repeats)
        yield from anywhere(lambda at: but(at, inflation=share * posterior_inflation(at.bounded)))(found, repeats)

    return doctor


def least_at(end: int, field: str, method: str) -> Doctor:
    return at_end(item(field, method, lambda at: 0.0), end)


def three_times(end: int, method: str) -> Doctor:
    def doctor(found, advised):
        lowest = min(at.measured[method] for at in found)
        yield from at_end(item("measured", method, lambda at: 3 * lowest), end)(found, advised)

    return doctor


def badly_advised(method: str) -> Doctor:
    return lambda found, advised: iter(
        [(found, {**advised, method: 2.001 * min(at.measured[method] for at in found)})],
    )


def as_objective(field: str) -> Doctor:
    """The curve of output perturbation is that of objective perturbation."""
    return everywhere(item(field, "output", lambda at: getattr(at, field)["objective"]))


def needing(method: str, field: str, value: Callable) -> Callable:
    return item("needs", method, lambda at: but(at.needs[method], **{field: value(at)}))


def of_method(at, method: str, field: str) -> float:
    return getattr(at.needs[method], field)


def noisy_smooth_median(one):
    left = min(case.atom(one.sigma) for case in median.CASES if not case.width)
    return but(one, case=but(one.case, delta=lambda sigma: 1.01e-6 * left))


def of_table(name: str, algorithm: str, value: Callable) -> Doctor:
    """Other errors of an algorithm on a set, from those of all algorithms there."""
    return lambda found: iter([({**found, name: {**found[name], algorithm: value(found[name])}},)])


def mean_as(one: str, other: str, more: float = 0.0) -> list[Doctor]:
    """On either set."""
    return [of_table(name, one, lambda errors: np.full(3, errors[other].mean() + more)) for name in SETS]


def mean_off_print() -> Iterator[Doctor]:
    for algorithm, printed in table_of_errors.PRINTED_TABLE.items():
        off = 0.0101 if algorithm == STANDARD else 0.0801
        for name, (mean, _) in printed.items():
            for way in (-1, 1):
                yield of_table(name, algorithm, lambda errors, to=mean + way * off: np.full(3, to))


def with_spread(algorithm: str, value: float) -> Doctor:
    return of_table("noise 0.2", algorithm, lambda errors: errors[algorithm].mean() + value * np.array([-1.0, 0, 1]))


def at_noise(multiplier: float) -> Callable:
    return lambda one: one.multiplier == multiplier


def simulated(one) -> bool:
    return len(one.gains) > 0


def of_mean(n: int, epsilon: float) -> Callable:
    return lambda one: (one.n, one.epsilon) == (n, epsilon)


CHECKS: dict[str, list[Doctored]] = {
    "amplification": [
        check("A biased coin attains", coin_loss=lambda old: lambda e, q: old(e, q) * (1 + 2e-9 * ((e, q) == (4, 1)))),
        check("2 q epsilon is a valid bound up to", largest_epsilon_for_twice=lambda old: lambda: 1.01 * old()),
        check("2 q epsilon is a valid bound up to", largest_epsilon_for_twice=lambda old: lambda: 0.98 * old()),
        check("At epsilon = 4", amplified=lambda old: lambda epsilon, rate: 47.99 * rate),
        check("A base mechanism that is DP only for added", replaced_base=lambda old: lambda: (0.1499, 0.1)),
    ],
    "batch_size": [
        check("With division by q n", anywhere(cell(2, lambda row: 1.001 * row[1]))),
        check("With division by the actual sample size", anywhere(cell(3, lambda row: row[1]))),
        check("At epsilon = 1", anywhere(cell(4, lambda row: 1e4), lambda row: row[0] == 1)),
    ],
    "composition": [
        check(
            "the smallest proved bound",
            anywhere(lambda one: but(one, basic=0.999 * one.optimal)),
            anywhere(lambda one: but(one, advanced=0.999 * one.optimal)),
        ),
        check(
            "Up to T = 30 basic composition",
            anywhere(
                lambda one: but(one, basic=1.00101 * one.optimal), lambda one: one.epsilon == 1 and one.count <= 30
            ),
        ),
        check(
            "Advanced composition of epsilon = 0.1 grows",
            *powers(lambda one, power: but(one, advanced=one.count**power), 0.5, 0.151, lambda one: one.epsilon == 0.1),
        ),
        check("the misprinted formula gives", at_end(lambda one: but(one, printed=one.optimal))),
        check("randomized response has", at_end(lambda one: but(one, true_delta=0.98))),
        check(
            "the misprinted formula is too small for",
            everywhere(lambda one: but(one, true_delta=composition.SLACK if one.epsilon == 1 else 1.0)),
        ),
        check(
            "Gaussian mechanisms with the same",
            anywhere(lambda one: but(one, gaussian=one.optimal), lambda one: one.count > 1),
        ),
    ],
    "dependence_on_epsilon": [
        check(
            "fall monotonically as epsilon grows",
            *(everywhere(erring(name, lambda p: 0.3), lambda p, s=s: p.name == s) for name in ALGORITHMS for s in SETS),
            *(
                after(
                    lambda a, b, name=name: erring(name, lambda p: a.mean(name) + 1e-6)(b),
                    lambda a, b: a.name == b.name,
                )
                for name in ALGORITHMS
            ),
        ),
        check(
            "smaller error than Algorithm 1 at every epsilon",
            *(anywhere(as_much(m, OUTPUT)) for m in (PRINTED, JMLR, OURS)),
        ),
        check(
            "standard LR has the smallest error",
            *(
                anywhere(as_much(one, other), lambda point: point.task.epsilon <= 0.4)
                for one, other in pairwise((STANDARD, OURS, JMLR, OUTPUT))
            ),
        ),
        check("with twice the epsilon has a larger error", no_better_with_half("epsilon")),
        check(
            "The determinant costs more than 0.01",
            anywhere(as_much(OURS, PRINTED, 0.0099), lambda p: p.task.epsilon <= 0.9 * dependence_on_epsilon.FREE),
            anywhere(as_much(OURS, PRINTED, 0.0051), lambda p: p.task.epsilon > dependence_on_epsilon.FREE),
        ),
        check(
            "privacy costs less than 0.01",
            *(anywhere(as_much(m, STANDARD, 0.0101), lambda p: p.task.epsilon == 3.2) for m in (OUTPUT, JMLR, OURS)),
        ),
    ],
    "dpgd_noise": [
        check("The slide's noise suffices", anywhere(lambda one: but(one, spent=0.50001))),
        check("at least 10 times", anywhere(lambda one: but(one, slide=10 * one.exact))),
        check(
            "For T = 100 the slide's noise is",
            anywhere(lambda one: but(one, slide=17.99 * one.exact), lambda one: one.steps == 100),
        ),
        check("derivation as printed suffices", anywhere(lambda one: but(one, true_epsilon=lambda noise: 0.50001))),
        check("planned noise of dperm's DP-GD grows", planned=lambda old: lambda steps: steps**0.5105),
        check("planned noise of dperm's DP-GD grows", planned=lambda old: lambda steps: steps**0.4895),
        check("The DP-GD plan of dperm has noise of", planned=lambda old: lambda steps: 1.0011 * old(steps)),
        check("The DP-GD plan of dperm has noise of", planned=lambda old: lambda steps: 0.9989 * old(steps)),
    ],
    "dpsgd_accounting": [
        check(
            "the smallest epsilon in every setting",
            anywhere(cell(4, lambda row: 0.999 * row[6])),
            anywhere(cell(5, lambda row: 0.999 * row[6])),
        ),
        check("agree to a millionth", anywhere(cell(7, lambda row: (1 - 2.1e-6) * row[6]))),
        check("never exceeds", anywhere(cell(4, lambda row: (1 + 2e-9) * row[3]))),
        check("at least 5 times", anywhere(cell(4, lambda row: 4.99 * row[6]), lambda row: row[2] >= 100)),
        check(
            "With noise multiplier 1 and 1000 steps",
            anywhere(cell(4, lambda row: 99.9 * row[6]), lambda row: (row[0], row[2]) == (1, 1000)),
            anywhere(cell(5, lambda row: 1.301 * row[6]), lambda row: (row[0], row[2]) == (1, 1000)),
        ),
    ],
    "excess_risk": [
        *rates(excess_risk, "falls", "kink", "output", 1 / 6),
        check(
            "above its bound",
            *(
                anywhere(item("measured", method, lambda at, method=method: 1.001 * at.bounds[method]))
                for method in excess_risk.BOUNDED
            ),
        ),
        check(
            "below that of output perturbation at every n",
            *(anywhere(item("measured", m, lambda at: at.measured["output"])) for m in ("objective", "gradient")),
        ),
        check(
            "The ratio of output to objective",
            after(lambda before, at: but(at, measured=before.measured)),
            growing_slowly,
        ),
    ],
    "excess_risk_over_dimension": [
        *rates(excess_risk_over_dimension, "grows", "output", "kink", 1 / 12),
        check(
            "above its bound",
            *(
                anywhere(item("risks", m, lambda at, m=m: (1.001 * at.risks[m][1], at.risks[m][1])))
                for m in excess_risk.BOUNDED
            ),
        ),
        check("On the linear model", anywhere(lambda at: but(at, linear_cost=1.0))),
    ],
    "finite_class": [
        check(
            "in the agnostic case; theory",
            *powers(lambda one, power: but(one, minimizer=one.n**power), -0.5, 0.151, is_case("agnostic")),
        ),
        check(
            "^The excess of ERM .* realizable case; theory",
            *powers(lambda one, power: but(one, minimizer=one.n**power), -1, 0.151, is_case("realizable")),
        ),
        check(
            "^The excess of the mechanism falls",
            *powers(lambda one, power: but(one, mechanism=one.n**power), -1, 0.151, is_case("realizable")),
        ),
        check(
            "falls from each n to the next",
            anywhere(factor(1.3), lambda one: (one.case, one.n) == ("agnostic", 400)),
            anywhere(factor(1.101), lambda one: (one.case, one.n) == ("agnostic", 25_600)),
            anywhere(factor(0.899), lambda one: (one.case, one.n) == ("agnostic", 25_600)),
            rising_factor(1),
            rising_factor(3),
        ),
        check(
            "In the realizable case, the ratio",
            *(anywhere(factor(share / -math.expm1(-0.1)), is_case("realizable")) for share in (0.799, 1.201)),
        ),
        check(
            "No excess is above its bound",
            anywhere(lambda one: but(one, mechanism=1.001 * one.bound)),
            anywhere(lambda one: but(one, minimizer=1.001 * one.minimizer_bound)),
        ),
        check("Without constants", anywhere(lambda one: but(one, mechanism=one.printed), is_case("realizable"))),
    ],
    "fourier_accountant": [
        check(
            "discretizations give upper bounds",
            anywhere(lambda one: but(one, rounded=(1 - 1.1e-6) * one.problem.exact)),
            anywhere(lambda one: but(one, dots=(1 - 1.1e-6) * one.problem.exact)),
            _slope=lambda old: lambda *_: -1.0,
        ),
        check(
            "The error of rounding up",
            *powers(lambda one, power: but(one, rounded=one.problem.exact + one.bins**power), -1, 0.151, of_sampled),
        ),
        check(
            "The error of splitting losses between",
            *powers(lambda one, power: but(one, dots=one.problem.exact + one.bins**power), -2, 0.151, of_sampled),
        ),
        check("do not improve the tail condition", anywhere(lambda one: but(one, tail=1.0499 * one.problem.exact))),
        check("Finer bins do not improve R", at_end(moments_alike)),
        check("The other direction", at_end(other_direction), _slope=lambda old: lambda *_: -1.0),
        check(
            "The other direction",
            ComposedSteps__circle=lambda old: lambda *_, **__: SimpleNamespace(epsilon=lambda delta: 0.0),
        ),
    ],
    "gaussian_noise": [
        check(
            "where the textbook formula is proved",
            GaussianScales__true_delta=only((0.99, 1e-8), lambda one: 1.001 * one.delta),
        ),
        check("the textbook formula gives up to", GaussianScales__ratio=lambda old: property(lambda one: 1.5)),
        check("At epsilon = 10", GaussianScales__true_delta=only((10.0, 1e-5), lambda one: 2 * one.delta)),
        check("The formula fails for", shifted_failures(1.0011), shifted_failures(0.9989)),
    ],
    "group_privacy": [
        check("The formula is valid", anywhere(lambda one: but(one, exact=(1 + 2e-9) * one.formula.delta))),
        check(
            "The overestimate of the formula grows",
            at_end(lambda one: but(one, exact=one.formula.delta / 1e9), 0),
            everywhere(lambda one: but(one, exact=one.formula.delta / (1 + 9 * (one.k - 1) / 23))),
        ),
        check(
            "The exact delta also",
            anywhere(lambda one: but(one, exact=one.k * group_privacy.DELTA), lambda one: one.k > 1),
        ),
        check(
            "At a fixed delta",
            anywhere(lambda one: but(one, epsilons=(one.k / 2, 99.0)), lambda one: one.k > 1),
            anywhere(lambda one: but(one, epsilons=(99.0, one.k / 2)), lambda one: one.k > 1),
        ),
        check("Laplace noise attains", laplace_group=lambda old: lambda k: 0.0 if k == 24 else old(k)),
    ],
    "laplace_mean": [
        check(
            "within its interval",
            anywhere(lambda one: but(one, interval=(1.001 * one.scale, 1.0))),
            anywhere(lambda one: but(one, interval=(0.0, 0.999 * one.scale))),
        ),
        check(
            "The mean error falls like 1/n",
            *(
                doctor
                for epsilon in laplace_mean.EPSILONS
                for doctor in powers(
                    lambda one, power: but(one, error=one.n**power),
                    -1,
                    0.151,
                    lambda one, epsilon=epsilon: one.epsilon == epsilon,
                )
            ),
        ),
        check(
            "roughly 0.001",
            *(
                anywhere(lambda one, error=error: but(one, error=error), of_mean(10_000, 0.1))
                for error in (6.99e-4, 13.01e-4)
            ),
        ),
        check(
            "below the sampling error",
            *(
                anywhere(lambda one: but(one, sampling=laplace_mean._deviation(one.public)), of_mean(n, 0.1))
                for n in (100, 10_000)
            ),
        ),
        check("If n is private", anywhere(lambda one: but(one, private=1.25 * one.public), of_mean(10_000, 0.1))),
        check("If records may be added", delta_if_n_sets_the_scale=lambda old: lambda n, epsilon: 0.01),
    ],
    "learning_curves": [
        check(
            "standard LR has a smaller error",
            *(
                anywhere(as_much(one, other, more), lambda point: point.task.n >= 1000)
                for one, other, more in ((STANDARD, OURS, 0.0), (OURS, JMLR, 1e-9), (JMLR, OUTPUT, 0.0))
            ),
        ),
        check(
            "^For n >= 1000, Algorithm 1",
            lambda points: no_better_with_half("n")(points, lambda point: point.task.n >= 1000),
        ),
        check(
            "^At n = 500",
            anywhere(as_much(JMLR, OUTPUT), lambda point: point.task.n == 500),
            lambda points: no_better_with_half("n")(points, lambda point: point.task.n == 500),
        ),
        check("At every n, dperm's", anywhere(as_much(OURS, OUTPUT))),
        check(
            "The determinant costs",
            anywhere(as_much(OURS, PRINTED, 0.0199), lambda p: p.task.strength <= learning_curves.FREE / 2),
            anywhere(as_much(OURS, PRINTED, 0.0051), lambda p: p.task.strength > learning_curves.FREE),
        ),
    ],
    "median": [
        check(
            "agrees with theory",
            *(
                anywhere(change, lambda one: not one.case.width)
                for change in (
                    lambda one: but(one, interval=(1.001 * one.case.atom(one.sigma), 1.0)),
                    lambda one: but(one, interval=(0.0, 0.999 * one.case.atom(one.sigma))),
                )
            ),
        ),
        check("The neighbouring data set without", anywhere(lambda one: but(one, neighbour=1))),
        check(
            "Strong convexity does not help",
            everywhere(lambda one: but(one, interval=(0.2, 1.0)), lambda one: one.case.strength and not one.case.width),
        ),
        check("is never a record", anywhere(lambda one: but(one, hits=1), lambda one: one.case.width)),
        check("With noise of", at_end(noisy_smooth_median)),
    ],
    "packing": [
        check("never needs fewer", anywhere(lambda at: but(at, needed=math.ceil(at.bound) - 1))),
        check(
            "The need and the bound grow in proportion",
            *powers(lambda at, rate: but(at, bound=rate * math.log(at.thresholds - 1)), 1, 0.011),
            *powers(lambda at, rate: but(at, needed=rate * math.log(at.thresholds - 1)), 4, 0.151),
        ),
        check(
            "The mechanism needs four times",
            anywhere(lambda at: but(at, needed=4 * at.bound + 2.0001)),
            anywhere(lambda at: but(at, needed=4 * at.bound - 0.0001)),
        ),
        check("Real releases", released(-1), released(1)),
        check(
            "the success of the mechanism falls",
            after(lambda before, at: but(at, success=before.success)),
            at_end(lambda at: but(at, success=1e-4)),
        ),
        check(
            "never exceeds the largest possible success",
            anywhere(lambda at: but(at, success=1.001 * packing.most_success(at.thresholds, 40))),
        ),
    ],
    "per_example_clipping": [
        check("Without clipping", *powers(lambda one, power: but(one, plain=one.size**power), 2, 0.151)),
        check("With clipping, the effect", anywhere(lambda one: but(one, bounded=1 + 2e-9))),
        check("The effect of a large record", at_end(lambda one: but(one, bounded=1 - 2e-9))),
        check(
            "With a record of size", at_end(lambda one: but(one, epsilons=(100 * per_example_clipping.claimed(), 0.1)))
        ),
        check(
            "With clipping, the claim holds",
            anywhere(lambda one: but(one, epsilons=(9e9, (1 + 2e-9) * per_example_clipping.claimed()))),
        ),
    ],
    "posterior": [
        check("The power tau of T50", anywhere(lambda at: but(at, replaced=at.minami), lambda at: at.epsilon <= 1)),
        check(
            "At the power of T51", anywhere(lambda at: but(at, minami_epsilon=at.epsilon), lambda at: at.epsilon <= 1)
        ),
        check("The simulated variance", inflated(-1), inflated(1)),
    ],
    "printed_algorithm_2": [
        check("At w = 0", _at_zero=lambda old: lambda one: old(one) + 2e-9 * ((one.strength, one.epsilon) == (1, 1))),
        check("At w = 0", _at_zero=lambda old: lambda one: old(one) - 2e-9),
        check(
            "^For n lambda <= 0.1",
            anywhere(lambda one: but(one, pair=one.epsilon), lambda one: one.strength <= 0.1),
            anywhere(lambda one: but(one, delta=0.004), lambda one: one.strength <= 0.1),
        ),
        check(
            "is twelve times the claim",
            anywhere(lambda one: but(one, pair=1.2), lambda one: (one.strength, one.epsilon) == (0.1, 0.1)),
        ),
        check(
            "never exceed their claims",
            anywhere(lambda one: but(one, jmlr=1.001 * one.epsilon)),
            anywhere(lambda one: but(one, ours=1.001 * one.epsilon)),
        ),
    ],
    "regularization": [
        check(
            "above its bound",
            *(anywhere(item("measured", m, lambda at, m=m: 1.001 * at.bounds[m])) for m in regularization.METHODS),
        ),
        check(
            "interior minimum",
            *(
                least_at(end, field, method)
                for end in (0, -1)
                for field in ("measured", "bounds")
                for method in regularization.METHODS
            ),
        ),
        check("three times the minimum", *(three_times(end, m) for end in (0, -1) for m in regularization.METHODS)),
        check("at most twice the minimum", *(badly_advised(method) for method in regularization.METHODS)),
        check("needs more regularization", as_objective("measured"), as_objective("bounds")),
    ],
    "sample_size": [
        check(
            "needs fewer records than output",
            *(
                anywhere(needing("objective", what, lambda at, what=what: of_method(at, "output", what)))
                for what in ("proved", "simulated")
            ),
        ),
        check(
            "never needs more records",
            *(
                anywhere(needing(method, "simulated", lambda at, method=method: of_method(at, method, "proved") + 1))
                for method in sample_size.METHODS
            ),
        ),
        check(
            "in proportion to d",
            *(
                doctor
                for method in sample_size.METHODS
                for what in ("proved", "order")
                for doctor in powers(
                    lambda at, power, method=method, what=what: needing(method, what, lambda at: at.dim**power)(at),
                    1,
                    0.151,
                )
            ),
        ),
        check(
            "The order of Theorem 5",
            anywhere(needing("output", "order", lambda at: of_method(at, "objective", "order"))),
        ),
    ],
    "sensitivity": [
        check(
            "No neighbours move",
            *(
                anywhere(lambda at, what=what: but(at, **{what: at.bound + 2.1 * sensitivity.TOLERANCE / at.strength}))
                for what in ("made", "drawn")
            ),
        ),
        check("three quarters", everywhere(lambda at: but(at, made=0.7499 * at.bound))),
        check("less than a fifth", anywhere(lambda at: but(at, drawn=at.made / 5), lambda at: at.strength <= 30)),
        check(
            "A free intercept moves",
            everywhere(lambda at: but(at, free=0.9999 * math.sqrt(2) * at.bound)),
            everywhere(lambda at: but(at, free=9.0 if at.strength == 3 else 0.0)),
        ),
        check("An intercept with a penalty", last_record_moves=lambda old: {1e-2: 1.0, 1e-4: 4.0, 1e-6: 8.0}.get),
        check("An intercept with a penalty", last_record_moves=lambda old: {1e-2: 1.0, 1e-4: 5.0, 1e-6: 8.0}.get),
    ],
    "shuffling": [
        check("exceeds that of Poisson accounting", anywhere(lambda one: but(one, least=one.poisson))),
        check(
            "The factor is at least 70",
            at_end(lambda one: but(one, least=69.99 * one.poisson), 0),
            after(lambda before, one: but(one, least=0.999 * before.least / before.poisson * one.poisson)),
        ),
        check("At noise multiplier 0.4", anywhere(lambda one: but(one, least=9999 * one.poisson), at_noise(0.4))),
        check(
            "agrees with the two bounds",
            anywhere(lambda one: but(one, simulated=(0.5, 0.0, 0.999 * one.least)), simulated),
            anywhere(lambda one: but(one, simulated=(0.5, 1.001 * one.most, 1.0)), simulated),
        ),
        check("The simulation alone", anywhere(lambda one: but(one, simulated=(0.5, one.poisson, 1.0)), simulated)),
        check("without amplification", anywhere(lambda one: but(one, least=1.001 * one.most))),
    ],
    "table_of_errors": [
        check(
            "The sensitivity method has a larger error",
            *(doctor for m in (PRINTED, JMLR, SHARP, OURS) for to in (OUTPUT, STANDARD) for doctor in mean_as(m, to)),
        ),
        check("The means are within", *mean_off_print()),
        check(
            "The standard deviations",
            with_spread(PRINTED, 0.0737),
            with_spread(STANDARD, 0.01106),
        ),
        check(
            "Where T36b holds",
            *mean_as(OURS, PRINTED, 0.0021),
            *mean_as(OURS, PRINTED, -0.0021),
            *mean_as(SHARP, OURS),
            *mean_as(SHARP, JMLR),
        ),
        check("The published correction", *mean_as(JMLR, PRINTED, 0.0501)),
    ],
}


CASES = [(name, doctored) for name, checks in CHECKS.items() for doctored in checks]


def module_of(name: str):
    return importlib.import_module(f"dperm.reproduce.lessons.{name}")


def findings(name: str) -> tuple:
    """The arguments that a quick run of the lesson gives to its checks."""
    return quick_run(name).findings


@cache
def untouched(name: str) -> tuple:
    return module_of(name)._checks(*findings(name))


def places(name: str, sentence: str) -> list[int]:
    return [place for place, one in enumerate(untouched(name)) if re.search(sentence, one.statement)]


def exchange(patch: pytest.MonkeyPatch, module, exchanged: dict[str, Callable]) -> None:
    for path, new in exchanged.items():
        *owners, name = path.split(".")
        owner = getattr(module, owners[0]) if owners else module
        patch.setattr(owner, name, new(vars(owner)[name]))


@pytest.mark.parametrize("lesson", LESSONS, ids=lambda lesson: lesson.name)
def test_every_check_holds_and_is_among_those_that_are_doctored(lesson):
    assert [one.statement for one in untouched(lesson.name) if not one.holds] == []
    meant = [places(lesson.name, doctored.sentence) for doctored in CHECKS[lesson.name]]
    assert all(len(one) == 1 for one in meant), "a sentence has to mean one check"
    assert {place for (place,) in meant} == set(range(len(untouched(lesson.name))))


@pytest.mark.parametrize(("name", "doctored"), CASES, ids=[f"{name}: {one.sentence}" for name, one in CASES])
def test_a_check_fails_where_its_findings_are_doctored(name, doctored, monkeypatch):
    module, arguments, (place,) = module_of(name), findings(name), places(name, doctored.sentence)
    changed = [list(doctor(*arguments)) for doctor in doctored.doctors] or [[arguments]]
    assert all(changed), "a doctor has changed nothing"
    exchange(monkeypatch, module, doctored.exchanged)
    for one in (one for some in changed for one in some):
        assert not module._checks(*one)[place].holds
