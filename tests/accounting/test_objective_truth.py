# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""The bounds of objective perturbation against the mechanism itself: its output density, integrated (T37, T39-T41).

The minimiser of sum f_i(theta) + (Lambda/2) theta^2 + (a + b) theta, b ~ N(0, sigma^2), has the density
nu(b_D(theta)) |J''(theta)|, where b_D(theta) is the noise that makes theta the minimiser.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest
from scipy.special import expit

from dperm.accounting import PerturbedObjective, account
from dperm.accounting.laws.objective import one_sided_bound, two_sided_bound
from dperm.privacy.adjacency import Adjacency, Direction

NODES, WEIGHTS = np.polynomial.legendre.leggauss(8)
REMOVE, ADD, REPLACE = Direction.REMOVE, Direction.ADD, Direction.REPLACE


@dataclass(frozen=True)
class Loss:
    """A record's loss of theta in one dimension, ||x|| = 1: slope, bend, and where the bend jumps."""

    slope: Callable
    bend: Callable
    lipschitz: float
    smoothness: float
    kinks: tuple = ()


def logistic(label):
    return Loss(lambda u: -label * expit(-label * u), lambda u: expit(u) * expit(-u), 1.0, 0.25)


def huber_hinge(label, width):
    return Loss(
        lambda u: -label * np.clip((1 + width - label * u) / (2 * width), 0.0, 1.0),
        lambda u: np.where(np.abs(1 - label * u) < width, 1 / (2 * width), 0.0),
        1.0,
        1 / (2 * width),
        (label * (1 - width), label * (1 + width)),
    )


def huber_regression(target, most):
    return Loss(
        lambda u: np.clip(u - target, -most, most),
        lambda u: np.where(np.abs(u - target) < most, 1.0, 0.0),
        most,
        1.0,
        (target - most, target + most),
    )


@dataclass(frozen=True)
class Fit:
    """One-dimensional objective perturbation: strength Lambda, noise sigma, a public linear term a."""

    strength: float
    sigma: float
    linear: float = 0.0

    def log_density(self, theta, records):
        noise = -(self.strength * theta + self.linear + sum(one.slope(theta) for one in records))
        bend = self.strength + sum(one.bend(theta) for one in records)
        return -noise * noise / (2 * self.sigma**2) - math.log(self.sigma * math.sqrt(2 * math.pi)) + np.log(bend)

    def delta(self, records, others, epsilon):
        """int (p - e^eps p')_+, panels split at every kink and at every change of sign."""
        pull = abs(self.linear) + sum(one.lipschitz for one in (*records, *others))
        reach = (pull + 10 * self.sigma) / self.strength
        kinks = [place for one in (*records, *others) for place in one.kinks]
        edges = np.unique([*np.linspace(-reach, reach, 300), *np.linspace(-9, 9, 120), *kinks])
        edges = np.unique([*edges, *self._crossings(edges, records, others, epsilon)])
        half = np.diff(edges)[:, None] / 2
        theta, weight = (edges[:-1, None] + half * (1 + NODES)).ravel(), (half * WEIGHTS).ravel()
        with_, without = self.log_density(theta, records), self.log_density(theta, others) + epsilon
        assert float(weight @ np.exp(with_)) == pytest.approx(1, abs=1e-9)
        return float(weight @ np.maximum(np.exp(with_) - np.exp(np.minimum(without, 600.0)), 0.0))

    def _crossings(self, edges, records, others, epsilon):
        def excess(theta):
            return self.log_density(theta, records) - self.log_density(theta, others) - epsilon

        inner = edges + 1e-12 * np.maximum(np.abs(edges), 1.0)
        signs = np.sign(excess(inner))
        at = np.flatnonzero(signs[:-1] * signs[1:] < 0)
        low, high = inner[at], edges[at + 1]
        for _ in range(30):
            middle = (low + high) / 2
            same = np.sign(excess(middle)) == signs[at]
            low, high = np.where(same, middle, low), np.where(same, high, middle)
        return low


@dataclass(frozen=True)
class Pair:
    """A record beside others, and (for a replacement) what takes its place."""

    fit: Fit
    record: Loss
    other: Loss
    rest: tuple = ()

    def event(self, cls, monotone):
        return cls(
            self.fit.sigma / self.record.lipschitz, self.record.smoothness / self.fit.strength, monotone=monotone
        )

    def truth(self, direction, epsilon):
        with_, without = (self.record, *self.rest), self.rest
        data = {REMOVE: (with_, without), ADD: (without, with_), REPLACE: (with_, (self.other, *self.rest))}
        return self.fit.delta(*data[direction], epsilon)

    def losses(self, direction):
        """Losses and their probabilities in some hundred cells."""
        with_, without = (self.record, *self.rest), self.rest
        first, second = (with_, without) if direction is REMOVE else (without, with_)
        reach = (abs(self.fit.linear) + 3 + 8 * self.fit.sigma) / self.fit.strength
        theta = np.linspace(-reach, reach, 20_001)
        density = np.exp(self.fit.log_density(theta, first)) * (theta[1] - theta[0])
        order = np.argsort(loss := self.fit.log_density(theta, first) - self.fit.log_density(theta, second))
        cells = np.array_split(order, 250)
        mass = np.array([density[cell].sum() for cell in cells])
        mean = [float(density[cell] @ loss[cell]) / max(total, 1e-300) for cell, total in zip(cells, mass, strict=True)]
        return np.array(mean), mass


MONOTONE = {
    "logistic-far": Pair(Fit(0.87, 0.78, 8.5), logistic(1), logistic(-1)),
    "logistic-weak": Pair(Fit(0.05, 2.0), logistic(1), logistic(-1)),
    "logistic-crowd": Pair(Fit(1.0, 1.0, 0.5), logistic(1), logistic(-1), (logistic(1), logistic(-1), logistic(-1))),
    "hinge-stiff": Pair(Fit(23.0, 0.54), huber_hinge(1, 0.85), huber_hinge(-1, 0.85)),
    "hinge-sharp": Pair(Fit(2.0, 1.5, 2.0), huber_hinge(1, 0.2), huber_hinge(-1, 0.2), (logistic(-1),)),
    "hinge-bent": Pair(Fit(0.03, 4.0, 0.5), huber_hinge(1, 0.03), huber_hinge(-1, 0.03)),
    "logistic-bent": Pair(Fit(0.011, 4.6, 2.4), logistic(1), logistic(-1)),
    "hinge-turning": Pair(Fit(0.5, 4.0, -0.5), huber_hinge(1, 1.0), huber_hinge(-1, 1.0)),
}
REGRESSION = {
    "huber-wide": Pair(Fit(0.05, 3.0), huber_regression(1.0, 1.0), huber_regression(-1.0, 1.0)),
    "huber-strong": Pair(Fit(0.3, 1.0), huber_regression(1.0, 1.0), huber_regression(-1.0, 1.0)),
    "huber-crowd": Pair(Fit(1.5, 1.0, 1.0), huber_regression(0.5, 0.7), huber_regression(-4.0, 0.7), (logistic(1),)),
    "huber-steep": Pair(Fit(0.083, 0.7), huber_regression(0.0, 4.75), huber_regression(3.0, 4.75)),
    "huber-opposed": Pair(Fit(20.0, 3.0), huber_regression(30.0, 1.0), huber_regression(-30.0, 1.0)),
    "huber-bent": Pair(Fit(0.016, 0.92, 0.3), huber_regression(-4.3, 0.165), huber_regression(4.3, 0.165)),
    "huber-turning": Pair(Fit(0.47, 0.55, 3.7), huber_regression(0.0, 2.0), huber_regression(8.0, 2.0)),
}
PAIRS = {**MONOTONE, **REGRESSION}


def epsilons(pair):
    """Below, at and above the determinant, and around the mean of the loss."""
    c, m = math.log1p(pair.record.smoothness / pair.fit.strength), pair.record.lipschitz / pair.fit.sigma
    around = (0.05, 0.5, 1.0, 3.0, m / 2 + 0.3)
    return sorted({0.0, c / 2, 0.9 * c, c, 2 * m, *(c + m * part for part in around)})


def require_domination(cls, names=tuple(PAIRS), directions=tuple(Direction)):
    """No output density ever has more than the law of its event."""
    for name in names:
        event = PAIRS[name].event(cls, monotone=name in MONOTONE)
        for direction in directions:
            for epsilon in epsilons(PAIRS[name]):
                truth = PAIRS[name].truth(direction, epsilon)
                bound = event.law(direction).delta(epsilon)
                assert truth <= bound * (1 + 1e-9) + 1e-13, (name, direction, epsilon, truth, bound)


@pytest.mark.parametrize("name", PAIRS)
def test_the_law_dominates_the_mechanism_in_every_direction(name):
    """T37, T39, T40, T41: logistic and Huber hinge as monotone losses, Huber regression as one that is not."""
    require_domination(PerturbedObjective, [name])


def ratios(pair, direction, law, least=1e-9):
    return [
        truth / law.delta(epsilon) for epsilon in epsilons(pair) if (truth := pair.truth(direction, epsilon)) > least
    ]


@pytest.mark.parametrize("name", ["logistic-weak", "hinge-stiff", "hinge-turning"])
def test_t40_is_attained_where_the_record_is_only_in_the_second_data_set(name):
    """T37, T40: the determinant helps there, and saturated slopes leave the Gaussian part and nothing else."""
    law = one_sided_bound(0.0, 1 / PAIRS[name].fit.sigma)
    found = ratios(PAIRS[name], ADD, law)
    assert max(found) == pytest.approx(1, abs=2e-3) and max(found) <= 1 + 1e-9


@pytest.mark.parametrize(("name", "least"), [("hinge-stiff", 0.98), ("logistic-far", 0.86)])
def test_t40_with_the_determinant_is_nearly_attained(name, least):
    law = PAIRS[name].event(PerturbedObjective, monotone=True).law(REMOVE)
    assert max(ratios(PAIRS[name], REMOVE, law)) > least


def test_t41_b_is_nearly_attained():
    law = PAIRS["hinge-stiff"].event(PerturbedObjective, monotone=True).law(REPLACE)
    assert max(ratios(PAIRS["hinge-stiff"], REPLACE, law, least=1e-3)) > 0.9


ATTAINED = [("huber-wide", 0.3, 0.07713032865473406), ("huber-strong", 3.0, 0.0030743707388019136)]


@pytest.mark.parametrize(("name", "epsilon", "golden"), ATTAINED)
def test_t39_is_attained_by_huber_regression(name, epsilon, golden):
    """Golden rkw_add_direction_tightness, where the determinant is on the other side: the factor 2 has to stay."""
    pair = REGRESSION[name]
    bound = two_sided_bound(0.0, pair.record.lipschitz / pair.fit.sigma).delta(epsilon)
    assert bound == pytest.approx(golden, rel=1e-9)
    assert pair.truth(ADD, epsilon) == pytest.approx(bound, rel=1e-7)


@pytest.mark.parametrize(("name", "epsilon", "golden"), ATTAINED)
def test_t40_is_false_for_a_loss_that_is_not_monotone(name, epsilon, golden):
    """Taken for monotone, Huber regression leaks almost twice what T40 claims."""
    pair = REGRESSION[name]
    claimed = one_sided_bound(0.0, pair.record.lipschitz / pair.fit.sigma).delta(epsilon)
    assert pair.truth(ADD, epsilon) > 1.99 * claimed


def test_an_event_that_claims_to_be_monotone_and_is_not_understates():
    """So ``monotone=False`` matters for the event itself, determinant and all."""
    pair, epsilon = PAIRS["huber-steep"], 27.2
    truth = pair.truth(ADD, epsilon)
    honest, claimed = (
        account(pair.event(PerturbedObjective, kind), "add_remove").delta(epsilon) for kind in (False, True)
    )
    assert claimed < truth <= honest


@pytest.mark.parametrize("name", ["hinge-stiff", "huber-strong", "hinge-bent"])
def test_two_fits_stay_below_the_composed_event(name):
    """T23: the loss of two fits is a sum of two losses, negative ones included, whose law the event bounds."""
    pair, monotone = PAIRS[name], name in MONOTONE
    profile = account(pair.event(PerturbedObjective, monotone) * 2, "add_remove")
    for direction in (REMOVE, ADD):
        loss, mass = pair.losses(direction)
        pairs, weights = np.add.outer(loss, loss), np.multiply.outer(mass, mass)
        for epsilon in (1.0, 4.0):
            truth = float((weights * -np.expm1(np.minimum(epsilon - pairs, 0.0))).sum())
            assert truth <= profile.delta(epsilon) * (1 + 1e-3) + 1e-9


@dataclass(frozen=True)
class Plane:
    """Two dimensions, two records at an angle: the losses of x'theta and z'theta, on a grid of theta."""

    strength: float
    sigma: float
    angle: float

    def delta(self, record, other, epsilon):
        reach = (record.lipschitz + other.lipschitz + 6 * self.sigma) / self.strength
        axis = np.linspace(-reach, reach, 401)
        theta = np.stack(np.meshgrid(axis, axis, indexing="ij"))
        first = self._log_density(theta, record, (1.0, 0.0))
        second = self._log_density(theta, other, (math.cos(self.angle), math.sin(self.angle)))
        cell = (axis[1] - axis[0]) ** 2
        assert float(np.exp(first).sum()) * cell == pytest.approx(1, abs=2e-3)
        return float(np.maximum(np.exp(first) - np.exp(second + epsilon), 0.0).sum()) * cell

    def _log_density(self, theta, loss, x):
        along = x[0] * theta[0] + x[1] * theta[1]
        slope, bend = loss.slope(along), loss.bend(along)
        noise = [self.strength * theta[i] + slope * x[i] for i in (0, 1)]
        square = noise[0] ** 2 + noise[1] ** 2
        return -square / (2 * self.sigma**2) + np.log(
            self.strength * (self.strength + bend) / (2 * math.pi * self.sigma**2)
        )


@pytest.mark.parametrize("angle", [0.0, 1.0, math.pi / 2, 2.5])
def test_replaced_records_at_every_angle_stay_below_t41(angle):
    """T41: two dimensions, where the difference of the gradients leaves the line."""
    plane, curvature = Plane(1.5, 1.0, angle), 0.25 / 1.5
    for epsilon in (0.2, 1.0, 2.0):
        labelled = plane.delta(logistic(1), logistic(1 if angle > math.pi / 2 else -1), epsilon)
        assert labelled <= PerturbedObjective(1.0, curvature).law(REPLACE).delta(epsilon) * (1 + 1e-3)
        fitted = plane.delta(huber_regression(0.0, 1.0), huber_regression(0.0, 1.0), epsilon)
        assert fitted <= PerturbedObjective(1.0, 1 / 1.5, monotone=False).law(REPLACE).delta(epsilon) * (1 + 1e-3)


@dataclass(frozen=True)
class Crossed:
    """The same in the coordinates u = x'theta and v = z'theta, whose panels split at every kink; no parallel rows."""

    strength: float
    sigma: float
    angle: float

    def delta(self, record, other, epsilon):
        (u, one), (v, two) = self._line(record, other), self._line(other, record)
        u, v, area = u[:, None], v[None, :], one[:, None] * two[None, :] / abs(math.sin(self.angle))
        first, second = self._log_density(u, v, record), self._log_density(v, u, other)
        assert float((area * np.exp(first)).sum()) == pytest.approx(1, abs=1e-4)
        return float((area * np.maximum(np.exp(first) - np.exp(second + epsilon), 0.0)).sum())

    def _line(self, own, other):
        reach = (own.lipschitz + other.lipschitz + 6 * self.sigma) / self.strength
        edges = np.unique([*np.linspace(-reach, reach, 60), *own.kinks])
        half = np.diff(edges)[:, None] / 2
        return (edges[:-1, None] + half * (1 + NODES)).ravel(), (half * WEIGHTS).ravel()

    def _log_density(self, u, v, loss):
        """The noise is strength theta + slope x, with |theta|^2 and the scalar products from u and v."""
        cosine, sine = math.cos(self.angle), math.sin(self.angle)
        slope, bend, across = loss.slope(u), loss.bend(u), (v - cosine * u) / sine
        square = (self.strength * u + slope) ** 2 + (self.strength * across) ** 2
        return -square / (2 * self.sigma**2) + np.log(
            self.strength * (self.strength + bend) / (2 * math.pi * self.sigma**2)
        )


CROSSED = [(1.86, 0.34, 2.53, -4.8, -13.7), (0.3, 1.0, 0.5, 0.0, 0.0), (0.1, 2.0, 1.0, 0.5, -0.5)]


@pytest.mark.parametrize("angle", [0.4, 1.2, math.pi / 2, 2.2, 2.7])
@pytest.mark.parametrize(("strength", "sigma", "most", "first", "second"), CROSSED)
def test_regressions_at_every_angle_stay_below_t41_c(angle, strength, sigma, most, first, second):
    """T41 (c), below, at and above the edge: Huber regressions on rows at an angle."""
    law = PerturbedObjective(sigma / most, 1 / strength, monotone=False).law(REPLACE)
    plane, c, s = Crossed(strength, sigma, angle), math.log1p(1 / strength), 2 * most / sigma
    for epsilon in (0.1 * c, c, law.side.edge, law.side.edge + s):
        truth = plane.delta(huber_regression(first, most), huber_regression(second, most), epsilon)
        assert truth <= law.delta(epsilon) * (1 + 1e-3)


def test_t41_c_is_attained_up_to_the_factor_2_of_its_union():
    """A slope rises along its row, so the difference of two on one line has one sign: half of the bound is reached."""
    pair = Pair(Fit(200.0, 1.0), huber_regression(-2.0, 1.5), huber_regression(6.0, 1.5))
    law = pair.event(PerturbedObjective, monotone=False).law(REPLACE)
    above = [pair.truth(REPLACE, epsilon) / law.delta(epsilon) for epsilon in (law.side.edge, law.side.edge + 3.0)]
    assert 0.48 < max(above) <= 0.5


MUTANTS = {
    "no determinant": ("c, mu = determinant_loss(curvature),", "c, mu = 0.0,", REMOVE, "hinge-bent"),
    "no determinant, two-sided": ("c, mu = determinant_loss(curvature),", "c, mu = 0.0,", REMOVE, "huber-bent"),
    "no determinant, replaced": ("c, mu = determinant_loss(curvature),", "c, mu = 0.0,", REPLACE, "hinge-sharp"),
    "too small a determinant": ("math.log1p(checked", "math.log1p(0.5 * checked", REMOVE, "logistic-bent"),
    "one-sided whatever the loss": (
        "one_sided_bound(c, mu) if monotone else two_sided_bound(c, mu)",
        "one_sided_bound(c, mu)",
        ADD,
        "huber-steep",
    ),
    "half the distance of T41 c": (
        "else corner_bound(c, mu)",
        "else corner_bound(c, mu / 2)",
        REPLACE,
        "huber-opposed",
    ),
    "T40 for a replaced record": ("union_bound(c, mu) if", "one_sided_bound(c, mu) if", REPLACE, "hinge-stiff"),
    "less than one over the noise": ("1 / noise_multiplier\n", "0.95 / noise_multiplier\n", REMOVE, "hinge-stiff"),
}


@pytest.mark.parametrize(("old", "new", "direction", "name"), MUTANTS.values(), ids=MUTANTS)
def test_an_unsafe_bound_is_caught_by_a_density(assert_killed, old, new, direction, name):
    pair = PAIRS[name]
    adjacency = Adjacency.REPLACE_ONE if direction is REPLACE else Adjacency.ADD_REMOVE

    def check(module):
        event = pair.event(PerturbedObjective, name in MONOTONE)
        bound = module.bounding_loss(event.noise_multiplier, event.curvature, adjacency, event.monotone)
        for epsilon in epsilons(pair):
            assert pair.truth(direction, epsilon) <= bound.delta(epsilon) * (1 + 1e-9) + 1e-13

    assert_killed(check, "dperm.accounting.objective_noise", old, new)


PIECES = {
    "one side of T39": ("((2.0, mu),)", "((1.0, mu),)", "two_sided_bound", "huber-wide", ADD),
    "T41 b without its 2": ("(1.0, 2 * mu), (2.0", "(1.0, mu), (2.0", "union_bound", "hinge-stiff", REPLACE),
    "T41 c without its 2": ("most = 2 * mu", "most = mu", "corner_bound", "huber-opposed", REPLACE),
    "half a Gaussian part": ("((1.0, mu),))", "((1.0, mu / 2),))", "one_sided_bound", "hinge-stiff", ADD),
}


@pytest.mark.parametrize(("old", "new", "made", "name", "direction"), PIECES.values(), ids=PIECES)
def test_an_unsafe_law_is_caught_by_a_density(assert_killed, old, new, made, name, direction):
    """The theorems' own functions, above the edge: there they bound one order alone, without c where T37 says so."""
    pair = PAIRS[name]
    c = 0.0 if direction is ADD else math.log1p(pair.record.smoothness / pair.fit.strength)

    def check(module):
        law = getattr(module, made)(c, pair.record.lipschitz / pair.fit.sigma).mirrored()
        for epsilon in (max(epsilon, law.side.edge) for epsilon in epsilons(pair)):
            assert pair.truth(direction, epsilon) <= law.delta(epsilon) * (1 + 1e-9) + 1e-13

    assert_killed(check, "dperm.accounting.laws.objective", old, new)
