# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""T48, T48a, T56a, T57: runs that come near the bounds, so near that a bound which is too small is found out.

One coefficient and losses with a kink, rounded off: there the minimiser, and what it costs, are known exactly. Noise is
calibrated here, by the theorems of privacy, not by the calculators.
"""

import math

import numpy as np
import pytest

from dperm.noise.simulation import generator
from dperm.privacy.gaussian_profile import mu_for
from dperm.theory import LearningProblem, objective_empirical_risk

NEXT_TO_NOTHING = 1e-6
SILENT = 1e9
NOISELESS = {"epsilon": SILENT, "delta": 1e-5, "adjacency": "replace_one"}
LOUD = {"epsilon": 1e-3, "delta": 1e-9, "adjacency": "replace_one"}


def assert_below(excess, bound):
    """The mean is not above the bound by more than four standard errors."""
    assert np.mean(excess) - 4 * np.std(excess) / math.sqrt(np.size(excess)) <= bound


def kinked(theta, slope, curvature):
    """The loss slope |theta|, rounded off around 0 with this curvature."""
    inside = np.abs(theta) <= slope / curvature
    return np.where(inside, curvature / 2 * theta**2, slope * np.abs(theta) - slope**2 / (2 * curvature))


def settled(pull, lam, *, slope, curvature):
    """The minimiser of kinked(theta) + pull theta + (lam/2) theta^2."""
    beyond = (np.abs(pull) - slope) / lam
    return -np.sign(pull) * np.where(beyond > slope / curvature, beyond, np.abs(pull) / (curvature + lam))


def laplace(count, scale):
    """Gamma-norm noise in one dimension (T7)."""
    return generator(56, purpose="tight").laplace(0, scale, size=count)


def test_the_minimiser_is_one():
    grid = np.linspace(-3, 3, 60_001)
    for pull in (0.0, 0.1, 0.35, 0.41, -0.5, -2.0):
        value = kinked(grid, 0.3, 2.0) + pull * grid + 0.7 / 2 * grid**2
        assert settled(pull, 0.7, slope=0.3, curvature=2.0) == pytest.approx(grid[value.argmin()], abs=1e-4)


def bias_is_enough(module, weights="EMPIRICAL"):
    """Equal records with a kink at R0 and the slope lambda R0/2: the minimiser stops halfway, at (lambda/4) R0^2."""
    n, lam, norm, goal = 10_000, 0.3, 2.0, module.Goal.of(SILENT, 0.0, "replace_one")
    shape = {"slope": lam * norm / 2, "curvature": 1000 * lam}
    problem = LearningProblem(1, shape["slope"], shape["curvature"], norm)
    bound = module.RegularizedRisk(problem, n, goal, getattr(module, weights)).output(n * lam).bound
    excess = kinked(settled(lam * norm, lam, **shape), **shape)
    assert (0.98 if weights == "EMPIRICAL" else 0.49) * bound <= excess <= bound


def stability_is_enough(module):
    """Slopes of random sign, and a kink at the reference 0 which pulls the minimiser back: a tenth of the bound."""
    n, lam, signs, goal = 2500, 0.01, generator(57, purpose="signs"), module.Goal.of(SILENT, 0.0, "replace_one")
    shape = {"slope": 0.6 / math.sqrt(n), "curvature": 100 * lam}
    chased = (1 - shape["slope"]) * (2 * signs.binomial(n, 0.5, size=50_000) / n - 1)
    problem = LearningProblem(1, 1.0, shape["curvature"], NEXT_TO_NOTHING)
    bound = module.RegularizedRisk(problem, n, goal, module.POPULATION).output(n * lam).bound
    excess = kinked(settled(chased, lam, **shape), **shape)  # the signs have mean 0: the kink is the risk
    assert_below(excess, bound)
    assert excess.mean() > 0.09 * bound


def output_noise_is_enough(module):
    """Equal records whose curvature is everywhere c: the noise costs exactly (c/2) E eta^2."""
    n, strength, c, norm, epsilon = 1000, 100.0, 0.1, 0.5, 0.02
    goal = module.Goal.of(epsilon, 0.0, "replace_one")
    released = c * norm / (c + strength / n) + laplace(100_000, 2 / (strength * epsilon))
    excess = kinked(released - norm, 1.0, c)
    for weights in (module.EMPIRICAL, module.POPULATION):
        bound = module.RegularizedRisk(LearningProblem(1, 1.0, c, norm), n, goal, weights).output(strength).bound
        assert_below(excess, bound)
        assert excess.mean() > 0.75 * bound


def linear_noise(n, strength, epsilon, curvature):
    """What equal records with a kink at 0 pay for objective perturbation: 2/e of E b^2/(4 lambda n^2)."""
    scale = 2 / (epsilon - math.log1p(curvature / strength))  # T36a
    shape = {"slope": scale / n, "curvature": curvature}
    return kinked(settled(laplace(200_000, scale) / n, strength / n, **shape), **shape)


def objective_noise_is_enough(module, weights="EMPIRICAL"):
    """So many records, and so small an epsilon, that neither the sample nor the determinant matters."""
    n, strength, epsilon, c = 10**8, 1e4, 2e-5, 0.01
    goal, problem = module.Goal.of(epsilon, 0.0, "replace_one"), LearningProblem(1, 1.0, c, NEXT_TO_NOTHING)
    bound = module.RegularizedRisk(problem, n, goal, getattr(module, weights)).objective(strength).bound
    excess = linear_noise(n, strength, epsilon, c)
    assert_below(excess, bound)
    assert excess.mean() > (0.7 if weights == "EMPIRICAL" else 0.34) * bound


NARROW = {"n": 1000, "strength": 0.1 / math.expm1(0.09), "epsilon": 0.1, "curvature": 0.1}
"""A Lambda near c/(e^eps - 1): the determinant takes nine tenths of epsilon."""


def determinant_is_enough(module):
    """The noise is that of a tenth of epsilon, and costs a hundred times as much."""
    problem = LearningProblem(1, 1.0, NARROW["curvature"], NEXT_TO_NOTHING)
    goal = module.Goal.of(NARROW["epsilon"], 0.0, "replace_one")
    left = module.epsilon_left(problem, NARROW["strength"], goal, unclipped_logistic=False)
    bound = module.objective_noise_square(problem, goal, left) / (4 * NARROW["strength"] * NARROW["n"])
    assert_below(linear_noise(**NARROW), bound * (1 + 1e-9))


def test_the_determinant_is_in_the_bound():  # T56a, T36a
    problem = LearningProblem(1, 1.0, NARROW["curvature"], NEXT_TO_NOTHING)
    goal = {"epsilon": NARROW["epsilon"], "adjacency": "replace_one"}
    bound = objective_empirical_risk(problem, NARROW["n"], regularization=NARROW["strength"], **goal).bound
    excess = linear_noise(**NARROW)
    assert_below(excess, bound)
    assert excess.mean() > 0.7 * bound


def unit_descent(slope, sigma, *, steps, start=(0.0, 0.0)):
    """Last iterates of noisy descent in the unit ball, losses of slope 1, steps c/sqrt(t) with c = D/G (T47)."""
    coins, thetas = generator(48, purpose="tight"), np.tile(start, (1000, 1))
    scale = 2 / math.sqrt(1 + len(start) * sigma**2)
    for t in range(1, steps + 1):
        thetas = thetas - scale / math.sqrt(t) * (slope(thetas) + sigma * coins.normal(size=thetas.shape))
        thetas /= np.maximum(1, np.linalg.norm(thetas, axis=1))[:, np.newaxis]
    return thetas


def gradient_scale(n, steps, *, epsilon, delta, adjacency):  # T45
    return (2 if adjacency == "replace_one" else 1) * math.sqrt(steps) / (n * mu_for(epsilon, delta))


def noisy_descent_is_enough(module):
    """Loss -w_1, and so much noise that the last of many iterates points anywhere: half of the bound, which is L D."""
    released = unit_descent(lambda w: np.array([-1.0, 0.0]), gradient_scale(10, 4000, **LOUD), steps=4000)
    bound = module.dpgd_excess_risk(10, 2, diameter=2.0, steps=4000, **LOUD).bound
    assert_below(1 - released[:, 0], bound)
    assert (1 - released[:, 0]).mean() > 0.45 * bound


def descent_is_enough(module):
    """Loss ||w||, around whose kink the last iterate moves: 0.03 of the bound, which is that far from tight."""
    guarantee = {"epsilon": 1.0, "delta": 1e-5, "adjacency": "replace_one"}
    sigma = gradient_scale(1000, 1000, **guarantee)
    released = unit_descent(
        lambda w: w / np.maximum(np.linalg.norm(w, axis=1), 1e-12)[:, np.newaxis], sigma, steps=1000
    )
    bound = module.dpgd_excess_risk(1000, 2, diameter=2.0, steps=1000, **guarantee).bound
    assert_below(np.linalg.norm(released, axis=1), bound)


def diameter_is_enough(module):
    """Loss -w, one noisy step from the far end of the ball: two thirds of 2 L R0, the bound of every point."""
    released = unit_descent(lambda w: -np.ones_like(w), gradient_scale(10, 1, **LOUD), steps=1, start=(-1.0,))
    bound = module.gradient_empirical_risk(LearningProblem(1), 10, steps=1, **LOUD).bound
    assert_below(1 - released[:, 0], bound)
    assert (1 - released[:, 0]).mean() > 0.64 * bound


def sampling_is_enough(module):
    """Slopes of random sign and a kink at 0: where the signs win, descent ends on the wrong side of the ball.

    With 10^14 steps and next to no noise it is where the empirical risk is least. A sixth of 2 L R0/sqrt(n).
    """
    n, steps, signs = 10_000, 10**14, generator(48, purpose="signs")
    kink = 0.75 / math.sqrt(n)
    chased = (1 - kink) * np.abs(2 * signs.binomial(n, 0.5, size=20_000) / n - 1)
    found = module.gradient_excess_risk(LearningProblem(1), n, steps=steps, **NOISELESS)
    assert_below(np.where(chased > kink, kink, 0.0), found.bound)
    assert kink * (chased > kink).mean() > 0.16 * found.bound


@pytest.mark.parametrize(
    ("check", "module", "old", "new"),
    [
        (bias_is_enough, "perturbation", "EMPIRICAL = TermFactors(bias=0.25", "EMPIRICAL = TermFactors(bias=0.24"),
        (
            lambda m: bias_is_enough(m, "POPULATION"),
            "perturbation",
            "POPULATION = TermFactors(bias=0.5",
            "POPULATION = TermFactors(bias=0.24",
        ),
        (stability_is_enough, "perturbation", "stability=2.0", "stability=0.15"),
        (output_noise_is_enough, "perturbation", "smoothness / 2 * square", "smoothness / 3 * square"),
        (objective_noise_is_enough, "perturbation", "stability=0.0, noise=0.25", "stability=0.0, noise=0.17"),
        (
            lambda m: objective_noise_is_enough(m, "POPULATION"),
            "perturbation",
            "bias=0.5, stability=2.0, noise=0.5",
            "bias=0.1, stability=0.5, noise=0.1",
        ),
        (determinant_is_enough, "noise_norm", "charge = raised(math.log1p", "charge = 0.95 * raised(math.log1p"),
        (noisy_descent_is_enough, "gradient_descent", "raised(slope * width, 2)", "raised(slope * width / 3, 2)"),
        (
            noisy_descent_is_enough,
            "gradient_descent",
            "spread = math.sqrt(1 + dim * per_step * per_step * steps)",
            "spread = 1.0",
        ),
        (
            descent_is_enough,
            "gradient_descent",
            "raised(2 * width * slope * spread",
            "raised(width / 25 * slope * spread",
        ),
        (diameter_is_enough, "gradient_descent", "bound=2 * half.bound", "bound=half.bound"),
        (
            sampling_is_enough,
            "gradient_descent",
            "raised(whole / math.sqrt(n), 8)",
            "raised(whole / math.sqrt(n), 8) / 8",
        ),
    ],
    ids=[
        "bias, empirical",
        "bias, population",
        "stability",
        "output noise",
        "objective noise, empirical",
        "objective noise, population",
        "determinant",
        "any point",
        "noise of descent",
        "descent",
        "diameter",
        "sampling",
    ],
)
def test_a_bound_that_is_too_small_is_found_out(assert_killed, check, module, old, new):  # T56a, T57, T48, T48a
    assert_killed(check, f"dperm.theory.{module}", old, new)
