# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""The laws of objective perturbation against the variables they stand for (T39, T40, T41).

Two oracles. One knows the tail S(w) = P(W > w) of the loss without its determinant, as the theorems state it, and
integrates: by parts, delta(eps) = int_x e^{x-w} S(w) dw with x = eps - c, and E e^{sW} = e^{s start} + s int e^{sw} S.
The other has the same integrals in 40-digit arithmetic, by completed squares, for the last digits.
"""

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import mpmath as mp
import numpy as np
import pytest
from scipy.special import ndtr

from dperm.accounting.closed import SINGLE
from dperm.accounting.laws.gaussian import gaussian_delta
from dperm.accounting.laws.mills import complex_mills, first_mills, log_with_error, mills
from dperm.accounting.laws.objective import one_sided_loss, replaced_loss, two_sided_loss
from dperm.accounting.laws.rayleigh import RayleighLoss

NODES, WEIGHTS = np.polynomial.legendre.leggauss(16)


@pytest.fixture(scope="module", autouse=True)
def forty_digits():
    with mp.workdps(40):
        yield


def above(z):
    """P(N(0, 1) > z), and the same of a complex z."""
    return mp.erfc(z / mp.sqrt(2)) / 2


@dataclass(frozen=True)
class Bound:
    """One theorem: how its law is made, the tail of W above its start, and the Gaussian pieces (weight, mu/m) of it."""

    made: Callable
    tail: Callable
    pieces: tuple


BOUNDS = {
    "T39": Bound(two_sided_loss, lambda w, m: np.minimum(2 * ndtr((m * m / 2 - w) / m), 1.0), ((2, 1),)),
    "T40": Bound(one_sided_loss, lambda w, m: np.where(w < 0, 1.0, ndtr((m * m / 2 - w) / m)), ((1, 1),)),
    "T41 a": Bound(
        lambda c, m: RayleighLoss(c, 2 * m),
        lambda w, m: np.exp(-(np.maximum((w - 2 * m * m) / (2 * m), 0.0) ** 2) / 2),
        (),
    ),
    "T41 b": Bound(
        replaced_loss,
        lambda w, m: np.minimum(ndtr(m - w / (2 * m)) + 2 * ndtr(m / 2 - w / m), 1.0),
        ((1, 2), (2, 1)),
    ),
}


@dataclass(frozen=True)
class Case:
    """A law and its oracles."""

    bound: Bound
    mu: float
    determinant: float

    @cached_property
    def law(self):
        return self.bound.made(self.determinant, self.mu)

    @cached_property
    def start(self):
        """The smallest W: known, or (T41 b) where the union bound reaches 1."""
        m = mp.mpf(self.mu)
        if len(self.bound.pieces) != 2:
            return {"T39": m * m / 2, "T40": mp.mpf(0)}[self.name] if self.bound.pieces else 2 * m * m
        low, high = mp.mpf(0), 2 * m * m + m
        for _ in range(140):
            middle = (low + high) / 2
            low, high = (middle, high) if 2 * above(middle / m - m / 2) > above(m - middle / (2 * m)) else (low, middle)
        return high

    @property
    def name(self):
        return next(name for name, bound in BOUNDS.items() if bound is self.bound)

    def _beyond(self, w):
        """P(W > w) and E(e^{-W}; W > w) for w >= start: e^{-Y} turns N(mu^2/2, mu^2) into N(-mu^2/2, mu^2)."""
        m = mp.mpf(self.mu)
        if not self.bound.pieces:
            r, v = (w - 2 * m * m) / (2 * m), (w - 2 * m * m) / (2 * m) + 2 * m
            return mp.exp(-r * r / 2), mp.exp(-v * v / 2) - 2 * m * mp.sqrt(2 * mp.pi) * above(v)
        parts = [(weight, factor * m) for weight, factor in self.bound.pieces]
        return (
            mp.fsum(weight * above(w / mu - mu / 2) for weight, mu in parts),
            mp.fsum(weight * above(w / mu + mu / 2) for weight, mu in parts),
        )

    def beyond(self, w):
        """P(W > w) and E(e^{-W}; W > w); the atom is what the start's own tail leaves of 1."""
        if w >= self.start:
            return self._beyond(w)
        p, q = self._beyond(self.start)
        return mp.mpf(1), q + (1 - p) * mp.exp(-self.start)

    def delta(self, epsilon):
        x = mp.mpf(epsilon) - mp.mpf(self.determinant)
        p, q = self.beyond(x)
        return p - mp.exp(x) * q

    def moment(self, s):
        """E e^{sU}."""
        m, c, s = mp.mpf(self.mu), mp.mpf(self.determinant), mp.mpc(s)
        if not self.bound.pieces:
            z = 2 * m * s
            return mp.exp(s * (c + 2 * m * m)) * (1 + z * mp.sqrt(2 * mp.pi) * mp.exp(z * z / 2) * above(-z))
        a = mp.mpf(self.law.start)  # rounded: that is no error of the moments
        total = (1 - self._beyond(self.start)[0]) * mp.exp(s * a) if self.name == "T40" else mp.mpf(0)
        for weight, factor in self.bound.pieces:
            mu = factor * m
            total += weight * mp.exp(s * (s + 1) * mu * mu / 2) * above(a / mu - mu * (s + mp.mpf(1) / 2))
        return mp.exp(s * c) * total

    def panels(self, low, high, count=400):
        edges = np.linspace(low, high, count + 1)
        half = np.diff(edges)[:, None] / 2
        return (edges[:-1, None] + half * (1 + NODES)).ravel(), (half * WEIGHTS).ravel()

    def integral(self, s, low, tail=1e-60):
        """int_low^inf e^{sw} S(w) dw, in double precision."""
        w, weight = self.panels(low, float(self.law.support(tail)[1]) - self.determinant)
        return complex(weight @ (np.exp(s * w) * self.bound.tail(w, self.mu)))


SHIFTS = (1e-7, 0.05, 1.7, 60.0)
DETERMINANTS = (0.0, 0.3)
CASES = {
    f"{name}-{mu:g}-{c:g}": Case(bound, mu, c) for name, bound in BOUNDS.items() for mu in SHIFTS for c in DETERMINANTS
}
every_case = pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())


def places(case):
    """Epsilons below, at and above the smallest loss."""
    c, m, start = case.determinant, case.mu, float(case.start)
    return (0.0, c / 2, c, c + start / 2, c + start, c + start + m, c + start + 5 * m, c + 2 * m * m + 20 * m)


@every_case
def test_delta_is_that_of_the_bounding_variable_to_the_last_digits(case):
    """T2 for the law of U, also below its smallest value, where all mass counts."""
    law = case.law
    for epsilon in places(case):
        exact = case.delta(epsilon)
        if exact < mp.mpf("1e-280"):
            continue
        room = abs(case.delta(epsilon * (1 + law.resolution)) - exact)
        assert abs(law.delta(epsilon) - exact) <= SINGLE / 5 * exact + room, (epsilon, float(exact))


@every_case
def test_delta_is_the_integral_of_the_tail(case):
    for epsilon in places(case)[:-1]:
        x = epsilon - case.determinant
        edge = max(x, float(case.start))
        w, weight = case.panels(edge, float(case.law.support(1e-60)[1]) - case.determinant)
        value = -math.expm1(x - edge) + float(weight @ (np.exp(x - w) * case.bound.tail(w, case.mu)))
        assert case.law.delta(epsilon) == pytest.approx(value, rel=1e-9, abs=1e-15), epsilon


@every_case
def test_support_leaves_no_more_than_the_tail_and_is_not_idle(case):
    c, law, room = mp.mpf(case.determinant), case.law, mp.mpf("1e-14")
    for tail in (1e-3, 1e-12, 1e-200):
        low, high = law.support(tail)
        assert case.beyond(mp.mpf(high) * (1 + room) - c)[0] <= tail * (1 + mp.mpf("1e-9"))
        assert abs(mp.mpf(low) - c - case.start) <= 10 * room * (c + case.start + room)
        assert case.beyond(case.start + (mp.mpf(high) - c - case.start) / 2)[0] > tail


@every_case
def test_masses_of_cells_are_those_of_the_variable(case):
    """Narrow and wide cells, near the start and far out; a border is known to its own digits, no better."""
    law, c, m = case.law, mp.mpf(case.determinant), case.mu
    low = float(case.start)
    borders = np.array([case.determinant + low + m * x for x in (0.0, 1e-3, 0.1, 0.11, 1.0, 1.5, 4.0, 9.0)])
    p, q = law.masses(borders)
    exact = [case.beyond(max(mp.mpf(float(border)) - c, case.start)) for border in borders]
    for k, (here, there) in enumerate(itertools.pairwise(exact)):
        width = float(borders[k + 1] - borders[k])
        blurred = mp.mpf("4e-16") * (float(borders[k + 1]) + 2 * m * m) / width
        far = (1 + 2 * m + (float(borders[k + 1]) - case.determinant) / m) ** 2  # slope of a logarithm of a density
        for found, whole in ((p[k], here[0] - there[0]), (q[k], mp.exp(-c) * (here[1] - there[1]))):
            if whole > mp.mpf("1e-280"):
                assert abs(found - whole) <= (mp.mpf("3e-14") + far * blurred) * whole


@every_case
def test_p_has_mass_one_and_q_at_most_one(case):
    """E e^{-U} <= 1: what is missing of Q sits at loss -infinity."""
    law = case.law
    low, high = law.support(1e-18)
    borders = np.linspace(low, high, 2000)
    p, q = law.masses(borders)
    assert math.fsum(p) + sum(mass for _, mass in law.atoms()) == pytest.approx(1, abs=1e-12)
    total = math.fsum(q) + sum(mass * math.exp(-loss) for loss, mass in law.atoms())
    assert total == pytest.approx(1 - law.delta(0.0), abs=1e-12) and total <= 1
    blurred = 1 + 1e-9 + 4e-15 * abs(high) / (borders[1] - borders[0])
    assert np.all(q <= p * np.exp(-borders[:-1]) * blurred + 1e-300)
    assert law.infinity == 0 and law.ceiling == math.inf


MOMENTS = {name: case for name, case in CASES.items() if case.mu in (0.05, 1.7)}
every_moment = pytest.mark.parametrize("case", MOMENTS.values(), ids=MOMENTS.keys())


def tilts(case):
    low, high = case.law.support(1e-12)
    return [(part / (high - low), 1 / (high - low)) for part in (0.5, 3.0, 30.0, 100.0)]


@every_moment
def test_the_moments_are_integrals_of_the_tail(case):
    """At real points, also left of 0, to the search accuracy of 1e-9; and on the first part of a line."""
    start = float(case.start)
    for c, scale in tilts(case)[:3]:
        for s in (c, -c, c + 1j * scale, c + 5j * scale):
            value = np.exp(s * start) + s * case.integral(s, start)
            found = (
                case.law.log_mgf(np.array([c + 0j, s]))[0][1] if np.imag(s) else case.law.log_mgf_real(np.array([s]))
            )
            assert np.exp(found - s * case.determinant) == pytest.approx(value, rel=2e-9)


@every_moment
def test_the_moment_generating_function_is_within_its_own_error(case):
    for c, scale in tilts(case):
        s = c + 1j * scale * np.array([0.0, 0.3, 1.0, 3.0, 7.0, 20.0, 60.0, 200.0, 900.0])
        found, error = case.law.log_mgf(s)
        for point, value, wrong in zip(s, found, error, strict=True):
            claimed = mp.exp(mp.mpc(complex(value)))
            assert abs(claimed - case.moment(point)) <= mp.mpf(float(wrong)) * abs(claimed) * mp.mpf("1.01")
        assert error[0] <= 1e-10  # the bound is honest, and not idle
        assert case.law.size(c, 900 * scale) < 100


@every_moment
def test_the_modulus_bounds_everything_further_out(case):
    law = case.law
    for c, scale in tilts(case):
        at_rest = float(law.log_mgf_real(np.array([c]))[0])
        t = scale * np.geomspace(0.05, 3000.0, 60)
        values, errors = law.log_mgf(c + 1j * np.concatenate([[0.0], t]))
        sizes = np.exp(values.real - at_rest) * (1 - np.minimum(errors, 1.0))
        bounds = np.array([law.modulus(c, float(point)) for point in t])
        assert np.all(np.diff(bounds) <= 1e-12)
        assert np.all(sizes[1:] <= bounds * (1 + 1e-7) + 1e-12)
        floor = sum(mass * math.exp(c * loss - at_rest) for loss, mass in law.atoms())
        assert bounds[-1] <= floor * (1 + 1e-6) + 0.05  # it does fall


def test_mills_ratios_have_full_accuracy():
    """Real, complex, and the first moment 1 - x M(x), which cancels for large x."""
    x = np.array([0.0, 1e-8, 0.3, 2.0, 4.999, 5.0, 5.001, 30.0, 1e4])
    for point, ratio, first in zip(x, mills(x), first_mills(x), strict=True):
        exact = above(mp.mpf(point)) * mp.sqrt(2 * mp.pi) * mp.exp(mp.mpf(point) ** 2 / 2)
        assert abs(ratio - exact) <= 4e-15 * exact
        assert abs(first - (1 - mp.mpf(point) * exact)) <= 2e-14 * (1 - mp.mpf(point) * exact)
    z = np.array([0.1 + 3j, 2 - 5j, 1e-9 + 40j, 20 + 1j])
    for point, ratio in zip(z, complex_mills(z), strict=True):
        exact = above(mp.mpc(complex(point))) * mp.sqrt(2 * mp.pi) * mp.exp(mp.mpc(complex(point)) ** 2 / 2)
        assert abs(mp.mpc(complex(ratio)) - exact) <= 1e-12 * abs(exact)
        assert abs(ratio) <= 2 / abs(point)


def test_a_sum_hidden_by_its_error_is_replaced_by_something_larger():
    """A logarithm of 1e-20 +- 1e-15 would claim too much: the value moves, and the error covers both."""
    total, error = np.array([1e-20 + 0j, -3e-15 + 0j, 0.5 + 0j]), np.full(3, 1e-15)
    value, relative = log_with_error(np.zeros(3, complex), total, error)
    for k in range(3):
        size = abs(np.exp(value[k]))
        assert abs(total[k] - np.exp(value[k])) + error[k] <= size * math.expm1(relative[k])
    assert relative[2] < 1e-14


@pytest.mark.parametrize("mu", [1e-9, 0.05, 0.5, 3.0, 40.0])
def test_the_law_of_t41_b_has_the_union_profile_above_its_start_and_less_below(mu):
    """T41: delta_GDP(x; 2 mu) + 2 delta_GDP(x; mu) is the law's own delta from its start on, by linearity."""
    law = replaced_loss(0.0, mu)

    def union(x):
        return gaussian_delta(x, 2 * mu) + 2 * gaussian_delta(x, mu)

    for x in (1.0, 1.5, 4.0):
        assert law.delta(law.start * x) == pytest.approx(union(law.start * x), rel=1e-12)
    for x in (0.0, 0.5, 0.9):
        assert law.delta(law.start * x) < union(law.start * x) * (1 - 1e-4) or union(law.start * x) == 1
