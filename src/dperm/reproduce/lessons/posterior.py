# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Posterior sampling: power of the likelihood and loss of efficiency (T49-T51, E21, E22).

tau is the power of the likelihood, an inverse temperature. The efficiency of one sample is simulated for the mean of
coin flips with a uniform prior on probabilities in [e^-B, 1 - e^-B], where |log p| <= B. The tempered posterior is a
truncated Beta distribution, which is sampled exactly.
"""

import math
from dataclasses import dataclass

import numpy as np

from dperm.data.arrays import Floats
from dperm.noise.simulation import generator
from dperm.privacy.gaussian_profile import epsilon_bracket, mu_for
from dperm.report.pictures import Curve, Picture
from dperm.reproduce.lesson import Cell, Check, Effort, Lesson, LessonTable, Outcome
from dperm.sensitivity import (
    bounded_posterior_temperature,
    minami_temperature,
    posterior_mu,
    posterior_temperature,
)
from dperm.theory import posterior_inflation

DELTA, BOUND = 1e-5, 2.0
EPSILONS, QUICK_EPSILONS = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0), (0.5, 1.0, 2.0)
FLIPS, HEADS = 100_000, 0.4
REPEATS, QUICK_REPEATS = 100_000, 20_000


@dataclass(frozen=True)
class LikelihoodPowers:
    """Powers tau of the likelihood (inverse temperatures) at one epsilon.

    Attributes
    ----------
    bounded
        Power of T49, pure, for |log p| <= B.
    minami
        Power of T51 for m = L = 1 and epsilon <= 1; nan for larger epsilon.
    minami_epsilon
        True epsilon of a sample at this power, at delta.
    replaced, added
        Powers of T50 for m = L = 1 under replace-one and add/remove.
    inflation
        Simulated variance of a sample at the power ``bounded``, divided by the variance of the mean.
    """

    epsilon: float
    bounded: float
    minami: float
    minami_epsilon: float
    replaced: float
    added: float
    inflation: float


def run(effort: Effort) -> Outcome:
    """Evaluate the formulas, and simulate the efficiency of a sample."""
    epsilons, repeats = (QUICK_EPSILONS, QUICK_REPEATS) if effort.quick else (EPSILONS, REPEATS)
    found = []
    for place, epsilon in enumerate(epsilons):
        found.append(_at(epsilon, repeats, effort.seed))
        effort.progress((place + 1) / len(epsilons))
    parameters: dict[str, Cell] = {
        "delta": DELTA,
        "B": BOUND,
        "m and L": 1.0,
        "simulation": f"{repeats} data sets of {FLIPS} coin flips, heads with probability {HEADS}",
        "seed": effort.seed,
    }
    return Outcome(parameters, _table(found), _picture(found), _checks(found, repeats), _sentence(found))


def _at(epsilon: float, repeats: int, seed: int) -> LikelihoodPowers:
    bounded = bounded_posterior_temperature(BOUND, epsilon, adjacency="replace_one")
    mu = mu_for(epsilon, DELTA)
    return LikelihoodPowers(
        epsilon,
        bounded,
        *minami(epsilon),
        posterior_temperature(mu, strength=1.0, adjacency="replace_one"),
        posterior_temperature(mu, strength=1.0, adjacency="add_remove"),
        simulated_inflation(bounded, repeats, seed),
    )


def minami(epsilon: float) -> tuple[float, float]:
    """Return the power of T51 and its true epsilon by T50 at the same delta; nan where T51 does not hold."""
    if epsilon > 1:
        return math.nan, math.nan
    tau = minami_temperature(epsilon, DELTA, strength=1.0, adjacency="replace_one")
    return tau, epsilon_bracket(posterior_mu(tau, strength=1.0, adjacency="replace_one"), DELTA)[1]


def simulated_inflation(temperature: float, repeats: int, seed: int) -> float:
    """Return the mean square of sample - HEADS, divided by the mean square for the mean of the flips."""
    coins = generator(seed, purpose=f"posterior of coin flips at {temperature!r}")
    heads = coins.binomial(FLIPS, HEADS, repeats)
    sample = coins.beta(temperature * heads + 1, temperature * (FLIPS - heads) + 1)
    within = sample[np.minimum(sample, 1 - sample) >= math.exp(-BOUND)]
    return _square(within - HEADS) / _square(heads / FLIPS - HEADS)


def _square(values: Floats) -> float:
    return float(np.mean(values * values))


def _table(found: list[LikelihoodPowers]) -> LessonTable:
    columns = (
        "epsilon",
        f"T49, |log p| <= {BOUND:g}, pure",
        "T51 (Minami)",
        "its true epsilon",
        "T50, replace-one",
        "T50, add/remove",
        "inflation 1 + 4B/epsilon",
        "simulated",
    )
    rows = tuple(
        (
            at.epsilon,
            at.bounded,
            *(value if math.isfinite(value) else "none" for value in (at.minami, at.minami_epsilon)),
            at.replaced,
            at.added,
            posterior_inflation(at.bounded),
            at.inflation,
        )
        for at in found
    )
    return LessonTable(columns, rows)


def _picture(found: list[LikelihoodPowers]) -> Picture:
    x = tuple(at.epsilon for at in found)
    curves = (
        Curve("T50, add/remove", x, tuple(at.added for at in found), "proved"),
        Curve(f"T49, |log p| <= {BOUND:g}, pure", x, tuple(at.bounded for at in found), "proved"),
        Curve("T50, replace-one", x, tuple(at.replaced for at in found), "proved"),
        Curve("T51 (Minami), replace-one", x, tuple(at.minami for at in found), "published"),
    )
    title = "The power of the likelihood at which one sample is private"
    return Picture(title, "epsilon", "power tau (inverse temperature)", curves, x_log=True, y_log=True)


def _checks(found: list[LikelihoodPowers], repeats: int) -> tuple[Check, ...]:
    older = [at for at in found if at.epsilon <= 1]
    slack = 5 * math.sqrt(4 / repeats)  # each mean square is off by a share sqrt(2/repeats), about
    return (
        Check(
            "The power tau of T50 is above that of T51 wherever T51 applies.",
            all(a.replaced > a.minami for a in older),
        ),
        Check(
            "At the power of T51, the true epsilon of a sample is below the requested epsilon.",
            all(a.minami_epsilon < a.epsilon for a in older),
        ),
        Check(
            "The simulated variance is 1 + 4B/epsilon times that of the mean.",
            all(abs(at.inflation / posterior_inflation(at.bounded) - 1) < slack for at in found),
        ),
    )


def _sentence(found: list[LikelihoodPowers]) -> str:
    one = next(at for at in found if at.epsilon == 1)
    return (
        f"For epsilon = 1 and delta = {DELTA:g} the power of the likelihood may be {one.replaced:.4f} (T50). Minami et "
        f"al. allow {one.minami:.4f}, where the true epsilon is {one.minami_epsilon:.4f}. With |log p| <= {BOUND:g} "
        f"and delta = 0 the power is {one.bounded:g}, and the variance of a sample is {one.inflation:.2f} times that "
        "of the mean."
    )


LESSON = Lesson(
    name="posterior",
    title="One sample of a tempered posterior",
    source="Wang",
    claim=(
        "The lecture claims that posterior sampling is private if log-likelihoods are bounded, at the cost of a factor "
        "1 + 4B/epsilon in efficiency (T49). It is also private for a strongly log-concave prior and Lipschitz losses, "
        "with tau of order epsilon sqrt(m)/(L sqrt(log(1/delta))) (T51). Two corrections: the density is exp(+tau sum "
        "log p - r), not -tau (E21), and the losses must also be convex (E22). T50 gives the exact tau. tau is an "
        "inverse temperature: a smaller tau gives a flatter posterior."
    ),
    tags=("T49", "T50", "T51", "E21", "E22"),
    run=run,
)
