# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""T48, T48a, T56a, T57: simulated excess risk of logistic models is below the bounds over a grid.

It is far below most of them; a bound that is too small is found out in ``test_bounds_tight`` and ``test_bounds_exact``.
Records are drawn from finitely many atoms with labels by a logistic model of norm R0, so the population's risk is exact
and its minimiser is the reference. Noise is calibrated here, by the theorems of privacy, not by the calculators.
"""

import itertools
import math

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.special import expit

from dperm.noise.simulation import generator
from dperm.privacy.gaussian_profile import delta_bracket, mu_for
from dperm.theory import (
    LearningProblem,
    gradient_empirical_risk,
    gradient_excess_risk,
    objective_empirical_risk,
    objective_excess_risk,
    output_empirical_risk,
    output_excess_risk,
)

CURVATURE = 0.25
CALCULATORS = {
    ("output", "population"): output_excess_risk,
    ("output", "empirical"): output_empirical_risk,
    ("objective", "population"): objective_excess_risk,
    ("objective", "empirical"): objective_empirical_risk,
    ("gradient", "population"): gradient_excess_risk,
    ("gradient", "empirical"): gradient_empirical_risk,
}
GUARANTEES = [(delta, adjacency) for delta in (0.0, 1e-5) for adjacency in ("replace_one", "add_remove")]
CASES = [
    (method, risk, *guarantee)
    for (method, risk), guarantee in itertools.product(CALCULATORS, GUARANTEES)
    if method != "gradient" or guarantee[0] > 0
]


def assert_below(excess, bound):
    """The mean is not above the bound by more than four standard errors."""
    assert excess.mean() - 4 * excess.std() / math.sqrt(len(excess)) <= bound


class Population:
    """Rows of norm 1 times their labels, with probabilities; ``best`` minimises the risk."""

    def __init__(self, dim, norm, seed=0):
        self.coins = generator(seed, purpose=f"bounds hold {dim} {norm}")
        rows = self.coins.normal(size=(3 * dim + 4, dim))
        rows /= np.linalg.norm(rows, axis=1)[:, np.newaxis]
        self.best = rows[0] * norm
        chance = expit(rows @ self.best) / len(rows)
        self.rows, self.chances = np.vstack([rows, -rows]), np.append(chance, 1 / len(rows) - chance)

    def risk(self, thetas, weights=None):
        """Of every row of ``thetas``; with weights, the mean loss of the records that they count."""
        weights = self.chances if weights is None else weights / weights.sum(axis=1)[:, np.newaxis]
        return (weights * np.logaddexp(0, -thetas @ self.rows.T)).sum(axis=1)

    def slope(self, thetas, counts):
        """The gradients of the sums of losses."""
        return -(counts * expit(-thetas @ self.rows.T)) @ self.rows

    def curvature(self, thetas, counts):
        scores = thetas @ self.rows.T
        squares = (self.rows[:, :, np.newaxis] * self.rows[:, np.newaxis, :]).reshape(len(self.rows), -1)
        dim = self.rows.shape[1]
        return ((counts * expit(scores) * expit(-scores)) @ squares).reshape(-1, dim, dim)

    def minimizer(self, counts, strength, linear):
        """Of the regularised sums plus ``linear``: Newton's method, steps halved until the objectives fall."""

        def value(thetas):
            sums = (counts * np.logaddexp(0, -thetas @ self.rows.T)).sum(axis=1)
            return sums + (strength / 2 * thetas**2 + linear * thetas).sum(axis=1)

        thetas = -linear / (strength + CURVATURE * counts.sum(axis=1)[0])
        for _ in range(200):
            gradient = self.slope(thetas, counts) + strength * thetas + linear
            if np.abs(gradient).max() <= 1e-7 * strength + 1e-9:
                return thetas
            hessian = self.curvature(thetas, counts) + strength * np.eye(thetas.shape[1])
            move = np.linalg.solve(hessian, gradient[:, :, np.newaxis])[:, :, 0]
            start, fall = value(thetas), (gradient * move).sum(axis=1)
            start = start + 1e-9 + 1e-12 * np.abs(start)  # what rounding may add
            size = np.ones(len(thetas))
            while np.any(rising := value(thetas - size[:, np.newaxis] * move) > start - size * fall / 10):
                size[rising] /= 2
            thetas = thetas - size[:, np.newaxis] * move
        raise AssertionError("not solved")

    def reference(self, counts, norm):
        """Points of the ball with little empirical risk, by accelerated projected descent."""
        thetas = ahead = np.tile(self.best, (len(counts), 1))
        for step in range(1, 81):
            gone = ahead - self.slope(ahead, counts) / (CURVATURE * counts.sum(axis=1)[:, np.newaxis])
            last, thetas = thetas, projected(gone, norm)
            ahead = thetas + (step - 1) / (step + 2) * (thetas - last)
        return thetas


def projected(thetas, norm):
    return thetas / np.maximum(1, np.linalg.norm(thetas, axis=1) / norm)[:, np.newaxis]


def noise(coins, shape, delta, scale):
    """Gamma-norm noise for delta = 0 (T7), Gaussian otherwise (T6)."""
    normal = coins.normal(size=shape)
    if delta > 0:
        return scale * normal
    lengths = coins.gamma(shape[1], scale, size=(shape[0], 1))
    return normal / np.linalg.norm(normal, axis=1)[:, np.newaxis] * lengths


def moved(adjacency):
    return 2 if adjacency == "replace_one" else 1


def output_scale(strength, *, epsilon, delta, adjacency):  # T30 with T7 or T6
    return moved(adjacency) / strength / (epsilon if delta == 0 else mu_for(epsilon, delta))


def objective_scale(strength, *, epsilon, delta, adjacency):  # T36a; T40 and T41(b)
    left = epsilon - math.log1p(CURVATURE / strength)
    if delta == 0 or adjacency == "add_remove":
        return moved(adjacency) / left if delta == 0 else 1 / mu_for(left, delta)

    def missed(sigma):
        return delta_bracket(left, 2 / sigma)[1] + 2 * delta_bracket(left, 1 / sigma)[1] - delta

    sigma = 1 / mu_for(left, delta)
    return brentq(missed, sigma, 10 * sigma)


def gradient_scale(n, steps, *, epsilon, delta, adjacency):  # T45
    return moved(adjacency) * math.sqrt(steps) / (n * mu_for(epsilon, delta))


def perturbed(method, population, counts, found, guarantee):
    """What the mechanism releases on every data set, at the Lambda or T of the bound ``found``."""
    shape, coins = (len(counts), population.rows.shape[1]), population.coins
    if method == "gradient":
        return descended(population, counts, found.steps, guarantee)
    scale = {"output": output_scale, "objective": objective_scale}[method](found.regularization, **guarantee)
    drawn = noise(coins, shape, guarantee["delta"], scale)
    if method == "objective":
        return population.minimizer(counts, found.regularization, drawn)
    return population.minimizer(counts, found.regularization, np.zeros(shape)) + drawn


def descended(population, counts, steps, guarantee):
    """The last iterate with steps c/sqrt(t), c = D/G, in the ball of radius R0 (T47)."""
    n, dim, norm = counts.sum(axis=1)[0], population.rows.shape[1], np.linalg.norm(population.best)
    sigma = gradient_scale(n, steps, **guarantee)
    thetas, scale = np.zeros((len(counts), dim)), 2 * norm / math.sqrt(1 + dim * sigma**2)
    for t in range(1, steps + 1):
        gradient = population.slope(thetas, counts) / n + sigma * population.coins.normal(size=thetas.shape)
        thetas = projected(thetas - scale / math.sqrt(t) * gradient, norm)
    return thetas


def share(method, risk, n, dim, *, guarantee, free=None, norm=2.0, runs=200):
    """Check one setting, and give the share of the bound that the mean excess is."""
    population = Population(dim, norm)
    problem = LearningProblem(dim, reference_norm=float(np.linalg.norm(population.best)) * (1 + 1e-12))
    found = CALCULATORS[method, risk](problem, n, **guarantee, **(free or {}))
    counts = population.coins.multinomial(n, population.chances, size=runs).astype(float)
    released = perturbed(method, population, counts, found, guarantee)
    if risk == "population":
        excess = population.risk(released) - population.risk(population.best[np.newaxis])
    else:
        excess = population.risk(released, counts) - population.risk(population.reference(counts, norm), counts)
    assert_below(excess, found.bound)
    return excess.mean() / found.bound


@pytest.mark.parametrize(("method", "risk", "delta", "adjacency"), CASES)
def test_no_excess_is_above_the_bound(method, risk, delta, adjacency):  # T57, T56a, T48a, T48
    shares = []
    for n, dim, epsilon in itertools.product((200, 2000), (2, 10), (0.3, 2.0)):
        free = {"steps": 60 if n == 200 else 400} if method == "gradient" else {}
        guarantee = {"epsilon": epsilon, "delta": delta, "adjacency": adjacency}
        shares.append(share(method, risk, n, dim, guarantee=guarantee, free=free, runs=100))
    assert max(shares) > {"output": 0.15, "objective": 0.12, "gradient": 0.005}[method]  # noise was there


@pytest.mark.slow
@pytest.mark.parametrize(("method", "risk", "delta", "adjacency"), CASES)
@pytest.mark.parametrize("norm", [0.5, 6.0])
def test_no_excess_is_above_the_bound_on_a_larger_grid(method, risk, delta, adjacency, norm):  # T57, T56a, T48a, T48
    for n, dim, epsilon in itertools.product((30, 1000, 30_000), (1, 5, 20), (0.1, 1.0, 8.0)):
        guarantee = {"epsilon": epsilon, "delta": delta, "adjacency": adjacency}
        for free in varied(method, n, dim, risk, norm, guarantee):
            share(method, risk, n, dim, guarantee=guarantee, free=free, norm=norm, runs=100)


def varied(method, n, dim, risk, norm, guarantee):
    """The best choice and others: the bounds hold for every Lambda that leaves epsilon, and for every T."""
    if method == "gradient":
        return [{"steps": steps} for steps in (1, 30, 600)]
    best = CALCULATORS[method, risk](LearningProblem(dim, reference_norm=norm), n, **guarantee).regularization
    least = 1.01 * CURVATURE / math.expm1(guarantee["epsilon"])
    return [{"regularization": max(factor * best, least)} for factor in (0.1, 1.0, 10.0)]
