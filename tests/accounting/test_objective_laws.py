# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""The laws of objective perturbation against the variables they stand for (T39, T40, T41, T53a).

The oracle knows U = c + W as the theorems state it: its tails under P and under Q = e^{-U} P, in 40-digit arithmetic by
completed squares, and once more in double precision by quadrature of the tail alone. The law of an event is that of U
above an edge, its mirror image below, and what is between them: the greatest convex minorant of both profiles.
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
from dperm.accounting.laws.atomic import response_loss
from dperm.accounting.laws.gaussian import GaussianLoss, gaussian_delta
from dperm.accounting.laws.mills import complex_mills, log_with_error
from dperm.accounting.laws.objective import (
    corner_bound,
    one_sided_bound,
    two_sided_bound,
    union_bound,
    vertex_bound,
    vertex_pair_bound,
)
from dperm.privacy.gaussian_profile import mills_ratio

NODES, WEIGHTS = np.polynomial.legendre.leggauss(16)
with mp.workdps(40):
    ROOT_3 = mp.sqrt(3)


@pytest.fixture(scope="module", autouse=True)
def forty_digits():
    with mp.workdps(40):
        yield


def above(z):
    """P(N(0, 1) > z), and the same of a complex z."""
    return mp.erfc(z / mp.sqrt(2)) / 2


def slack(s):
    """T41 (c): how many deviations s above its mean s^2/2 the tail of parallel records is the largest of all angles."""
    return max(1.2 - 0.47 * s, 0.0)


@dataclass(frozen=True)
class Bound:
    """One theorem: how U is made, its tail in doubles, where W starts, and its Gaussian pieces (weight, mu/m)."""

    made: Callable
    tail: Callable
    start: Callable
    pieces: tuple


BOUNDS = {
    "T39": Bound(
        two_sided_bound,
        lambda w, m: np.minimum(2 * ndtr((m * m / 2 - w) / m), 1.0),
        lambda m: m * m / 2,
        ((2, 1),),
    ),
    "T40": Bound(
        one_sided_bound, lambda w, m: np.where(w < 0, 1.0, ndtr((m * m / 2 - w) / m)), lambda m: mp.mpf(0), ((1, 1),)
    ),
    "T41 b": Bound(
        union_bound,
        lambda w, m: np.minimum(ndtr(m - w / (2 * m)) + 2 * ndtr(m / 2 - w / m), 1.0),
        lambda m: mp.mpf(0),
        ((1, 2), (2, 1)),
    ),
    "T41 c": Bound(
        corner_bound,
        lambda w, m: np.where(w < 2 * m * (m + slack(2 * m)), 1.0, np.minimum(2 * ndtr(m - w / (2 * m)), 1.0)),
        lambda m: 2 * m * (m + mp.mpf(slack(2 * float(m)))),
        ((2, 2),),
    ),
    "T53a": Bound(
        lambda c, m: vertex_bound(c, m, 3),
        lambda w, m: np.minimum(3 * ndtr(m / 2 - w / m), 1.0),
        lambda m: mp.mpf(0),
        ((3, 1),),
    ),
    "T53a replaced": Bound(
        lambda c, m: vertex_pair_bound(c, m, 3),
        lambda w, m: np.minimum(
            3 * ndtr(m - w / (2 * m)) + 6 * ndtr(3**0.5 * m / 2 - w / (3**0.5 * m)) + 6 * ndtr(m / 2 - w / m), 1.0
        ),
        lambda m: mp.mpf(0),
        ((3, 2), (6, ROOT_3), (6, 1)),
    ),
}


def halved(falling, low, high):
    """The zero of a falling function."""
    while falling(high) > 0:
        high = 2 * high
    for _ in range(140):
        middle = (low + high) / 2
        low, high = (middle, high) if falling(middle) > 0 else (low, middle)
    return high


@dataclass(frozen=True)
class Case:
    """A law and its oracle."""

    bound: Bound
    mu: float
    determinant: float

    @cached_property
    def law(self):
        return self.bound.made(self.determinant, self.mu).mirrored()

    def beyond(self, w):
        """P(W > w) and E(e^{-U}; W > w) above the start: e^{-Y} turns N(mu^2/2, mu^2) into N(-mu^2/2, mu^2)."""
        m = mp.mpf(self.mu)
        parts = [(weight, factor * m) for weight, factor in self.bound.pieces]
        p = mp.fsum(weight * above(w / mu - mu / 2) for weight, mu in parts)
        q = mp.fsum(weight * above(w / mu + mu / 2) for weight, mu in parts)
        return p, q * mp.exp(-mp.mpf(self.determinant))

    @cached_property
    def start(self):
        """The W where P + Q is 1, or where it jumps across 1 (T40, T41 c)."""
        m = mp.mpf(self.mu)
        least = self.bound.start(m)
        if sum(self.beyond(least)) <= 1:
            return least

        def gap(w):  # P + Q - 1 without the digits that P has in common with 1
            if self.bound.pieces == ((1, 2), (2, 1)):
                lost = above(m - w / (2 * m)) - 2 * above(w / m - m / 2)
            else:
                lost = 1 - self.beyond(w)[0]
            return self.beyond(w)[1] - lost

        return halved(gap, least, least + m)

    @property
    def edge(self):
        return mp.mpf(self.determinant) + self.start

    @cached_property
    def atom(self):
        if self.start != self.bound.start(mp.mpf(self.mu)):
            return mp.mpf(0)
        return (1 - sum(self.beyond(self.start))) / (1 + mp.exp(-self.edge))

    def tails(self, loss):
        """P(L > loss) and Q(L > loss)."""
        if loss >= self.edge:
            return self.beyond(loss - mp.mpf(self.determinant))
        if loss < -self.edge:
            p, q = self.beyond(-loss - mp.mpf(self.determinant))
            return 1 - q, 1 - p
        p, q = self.beyond(self.start)
        return p + self.atom, q + self.atom * mp.exp(-self.edge)

    def delta(self, epsilon):
        p, q = self.tails(mp.mpf(epsilon))
        return p - mp.exp(mp.mpf(epsilon)) * q

    def moment(self, s):
        """E e^{sL} = F(s) + F(-1 - s)."""
        s = mp.mpc(s)
        atoms = self.atom * (mp.exp(s * self.edge) + mp.exp(-(1 + s) * self.edge))
        return self._moment(s) + self._moment(-1 - s) + atoms

    def _moment(self, s):
        """E(e^{sU}; U > edge)."""
        m, c, a = mp.mpf(self.mu), mp.mpf(self.determinant), mp.mpf(self.law.side.start)  # rounded: no error of moments
        total = mp.mpf(0)
        for weight, factor in self.bound.pieces:
            mu = factor * m
            total += weight * mp.exp(s * (s + 1) * mu * mu / 2) * above(a / mu - mu * (s + mp.mpf(1) / 2))
        return mp.exp(s * c) * total

    def integral(self, f, low, top=1e-60):
        """int_low^inf f(w) P(W > w) dw, in double precision."""
        edges = np.linspace(low, self.law.side.reach(top) - self.determinant, 401)
        half = np.diff(edges)[:, None] / 2
        w, weight = (edges[:-1, None] + half * (1 + NODES)).ravel(), (half * WEIGHTS).ravel()
        return complex(weight @ (f(w) * self.bound.tail(w, self.mu)))


SHIFTS = (1e-7, 0.05, 1.7, 60.0)
DETERMINANTS = (0.0, 0.3)
CASES = {
    f"{name}-{mu:g}-{c:g}": Case(bound, mu, c) for name, bound in BOUNDS.items() for mu in SHIFTS for c in DETERMINANTS
}
every_case = pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())


def places(case):
    """Epsilons below, at and above the edge."""
    c, m, edge = case.determinant, case.mu, float(case.edge)
    return (0.0, c / 2, edge / 2, edge * (1 - 1e-9), edge, edge + m, edge + 5 * m, c + 2 * m * m + 20 * m)


@every_case
def test_delta_is_that_of_the_pair_to_the_last_digits(case):
    """T2 above and below the edge."""
    law = case.law
    for epsilon in places(case):
        exact = case.delta(epsilon)
        if exact < mp.mpf("1e-280"):
            continue
        room = abs(case.delta(epsilon * (1 + law.resolution)) - exact)
        assert abs(law.delta(epsilon) - exact) <= SINGLE / 5 * exact + room, (epsilon, float(exact))


@every_case
def test_delta_is_the_integral_of_the_tail_above_the_edge(case):
    """By parts, E(1 - e^{x-W})_+ = int_x e^{x-w} P(W > w) dw."""
    for epsilon in places(case)[4:-1]:
        x = epsilon - case.determinant
        value = case.integral(lambda w, x=x: np.exp(x - w), x).real
        assert case.law.delta(epsilon) == pytest.approx(value, rel=1e-9, abs=1e-15), epsilon


@pytest.mark.parametrize("name", BOUNDS)
@pytest.mark.parametrize(("mu", "c"), [(0.4, 0.0), (0.4, 0.3), (0.9, 0.6)])
def test_the_profile_is_the_greatest_convex_minorant_of_both_orders(name, mu, c):
    """T23 needs all alpha: G above 1, its mirror image below, and the hull of the two by a scan over points."""
    case = Case(BOUNDS[name], mu, c)
    edge = float(case.edge)  # an atom is a kink there
    alpha = np.exp(np.unique([*np.linspace(-4.0, 4.0, 1601), edge, -edge]))
    least = float(BOUNDS[name].start(mp.mpf(mu)))
    if case.beyond(least)[0] > 1:
        least = float(halved(lambda w: case.beyond(w)[0] - 1, mp.mpf(0), mp.mpf(mu)))

    def bound(a):
        """E(1 - a e^{-U})_+ for the law of U itself: all of it below its smallest value."""
        x = math.log(a) - c
        if x >= least:
            return case.law.side.delta(math.log(a))
        return -math.expm1(x - least) + math.exp(x - least) * case.law.side.delta(c + least)

    ceiling = np.array([bound(a) if a >= 1 else 1 - a + a * bound(1 / a) for a in alpha])
    hull = [0]
    for k in range(1, len(alpha)):
        while len(hull) > 1:
            i, j = hull[-2:]
            if (ceiling[j] - ceiling[i]) * (alpha[k] - alpha[j]) < (ceiling[k] - ceiling[j]) * (alpha[j] - alpha[i]):
                break
            hull.pop()
        hull.append(k)
    minorant = np.interp(alpha, alpha[hull], ceiling[hull])
    found = [case.law.delta(math.log(a)) if a >= 1 else 1 - a + a * case.law.delta(-math.log(a)) for a in alpha]
    inside = slice(160, -160)  # the ends of the scan are no ends of the curve
    assert np.array(found)[inside] == pytest.approx(minorant[inside], abs=1e-4)
    assert np.all(np.array(found) <= ceiling + 1e-12)


@every_case
def test_support_leaves_no_more_than_the_tail_and_is_not_idle(case):
    law, room = case.law, mp.mpf("1e-14")
    for tail in (1e-3, 1e-12, 1e-200):
        low, high = law.support(tail)
        assert low == -high and case.tails(mp.mpf(high) * (1 + room))[0] <= tail * (1 + mp.mpf("1e-9"))
        assert case.tails(case.edge + (mp.mpf(high) - case.edge) / 2)[0] > tail
    if case.mu < 10:  # beyond, all mass but 1e-190 is above the edge
        assert law.side.edge == pytest.approx(float(case.edge), rel=1e-12)


@every_case
def test_masses_of_cells_are_those_of_the_variable(case):
    """Narrow and wide cells on both sides; a border is known to its own digits, no better."""
    law, m = case.law, case.mu
    edge = law.side.edge
    half = [edge + m * x for x in (0.0, 1e-3, 0.1, 0.11, 1.0, 1.5, 4.0, 9.0)]
    borders = np.array([*(-x for x in reversed(half)), *half])
    p, q = law.masses(borders)
    for k, (a, b) in enumerate(itertools.pairwise(borders)):
        if k == len(half) - 1:
            assert max(p[k], q[k]) <= 1e-15 * edge / m  # nothing between the edges
            continue
        # outside the edges, where tails are those of the density
        here, there = (case.tails(_outside(case, mp.mpf(float(x)), a > 0)) for x in (a, b))
        blurred = mp.mpf("4e-16") * (float(max(abs(a), abs(b))) + 2 * m * m) / float(b - a)
        far = (1 + 2 * m + (float(max(abs(a), abs(b))) - case.determinant) / m) ** 2  # how steep a density is
        for found, whole in ((p[k], here[0] - there[0]), (q[k], here[1] - there[1])):
            if whole > mp.mpf("1e-280"):
                assert abs(found - whole) <= (mp.mpf("3e-14") + far * blurred) * whole


def _outside(case, loss, positive):
    """A loss moved out to the edge, and just beyond it on the left, where the atom is not."""
    return max(loss, case.edge) if positive else min(loss, -case.edge * (1 + mp.mpf("1e-35")) - mp.mpf("1e-60"))


@every_case
def test_p_and_q_have_mass_one(case):
    law = case.law
    low, high = law.support(1e-18)
    borders = np.unique([*np.linspace(low, high, 1500), *np.linspace(-law.side.edge, law.side.edge, 3)])
    p, q = law.masses(borders)
    atoms = law.atoms()
    assert math.fsum(p) + sum(mass for _, mass in atoms) == pytest.approx(1, abs=1e-12)
    assert math.fsum(q) + sum(mass * math.exp(-loss) for loss, mass in atoms) == pytest.approx(1, abs=1e-12)
    assert p == pytest.approx(q[::-1], rel=1e-9, abs=1e-15)  # the pair is its own mirror image
    assert law.infinity == 0 and law.ceiling == math.inf
    wanted = [float(case.atom)] if atoms else []
    assert [mass for _, mass in atoms[1:]] == pytest.approx(wanted, abs=1e-15)  # T41 c rounds it up


def test_without_a_determinant_the_pair_of_t40_is_the_gaussian_pair():
    """T40, T6: both orders have the Gaussian profile, so nothing else is left, at any epsilon."""
    law, gaussian = one_sided_bound(0.0, 0.8).mirrored(), GaussianLoss(0.8)
    assert law.atoms() == ()
    borders = np.linspace(-4.0, 5.0, 101)
    for found, exact in zip(law.masses(borders), gaussian.masses(borders), strict=True):
        assert found == pytest.approx(exact, rel=1e-13)


MOMENTS = {name: case for name, case in CASES.items() if case.mu in (0.05, 1.7)}
every_moment = pytest.mark.parametrize("case", MOMENTS.values(), ids=MOMENTS.keys())


def tilts(case):
    low, high = case.law.support(1e-12)
    return [(part / (high - low), 1 / (high - low)) for part in (0.5, 3.0, 30.0, 100.0)]


@every_moment
def test_the_moments_are_integrals_of_the_tail(case):
    """By parts, E(e^{sU}; U > edge) = e^{s edge} P(U > edge) + s int e^{s(c + w)} P(W > w) dw; to 1e-9."""
    start, edge = float(case.start), float(case.edge)
    mass, atom = float(case.beyond(case.start)[0]), float(case.atom)

    def side(s):
        inner = case.integral(lambda w: np.exp(s * (case.determinant + w)), start)
        return np.exp(s * edge) * mass + s * inner

    for c, scale in tilts(case)[:3]:
        for s in (c, -c, c + 1j * scale, c + 5j * scale):
            value = side(s) + side(-1 - s) + atom * (np.exp(s * edge) + np.exp(-(1 + s) * edge))
            line = np.array([c + 0j, s])
            found = case.law.log_mgf(line)[0][1] if np.imag(s) else case.law.log_mgf_real(np.array([s]))[0]
            assert np.exp(found) == pytest.approx(value, rel=2e-9)


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
    """Real and complex."""
    for point in (0.0, 1e-8, 0.3, 2.0, 4.999, 5.001, 30.0, 1e4):
        exact = above(mp.mpf(point)) * mp.sqrt(2 * mp.pi) * mp.exp(mp.mpf(point) ** 2 / 2)
        assert abs(mills_ratio(point) - exact) <= 4e-15 * exact
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


@pytest.mark.parametrize("mu", [1e-9, 0.05, 0.5, 3.0])
def test_the_law_of_t41_b_has_the_union_profile_above_its_edge_and_less_below(mu):
    """T41: delta_GDP(x; 2 mu) + 2 delta_GDP(x; mu) from the edge on, by linearity; never more than that."""
    law = union_bound(0.0, mu).mirrored()

    def union(x):
        return gaussian_delta(x, 2 * mu) + 2 * gaussian_delta(x, mu)

    for x in (1.0, 1.5, 4.0):
        assert law.delta(law.side.edge * x) == pytest.approx(union(law.side.edge * x), rel=1e-12)
    for x in (0.0, 0.5, 0.9):
        assert law.delta(law.side.edge * x) < union(law.side.edge * x) * (1 - 1e-4)


@pytest.mark.parametrize("name", BOUNDS)
def test_the_bound_reads_delta_without_its_edge(name):
    """What calibration uses is the profile of the law."""
    for mu, c in ((1e-6, 0.1), (0.3, 0.05), (2.0, 1.5)):
        bound = BOUNDS[name].made(c, mu)
        law = bound.mirrored()
        for epsilon in (0.0, c, law.side.edge, law.side.edge + mu, law.side.edge + 4 * mu):
            assert bound.delta(epsilon) == pytest.approx(law.delta(epsilon), rel=1e-12)


TANGENT = {
    "too low": ("1 + math.exp(-edge))", "1 + math.exp(edge))"),
    "too high": ("-math.expm1(epsilon - edge)", "-math.expm1(epsilon - 2 * edge)"),
}


@pytest.mark.parametrize(("old", "new"), TANGENT.values(), ids=TANGENT)
def test_below_the_edge_the_profile_is_that_of_the_guarantee_at_the_edge(assert_killed, old, new):
    """T14: (edge, delta(edge)) in both orders is dominated by a response; its profile below the edge is the tangent."""

    def check(module):
        for bound in (
            module.one_sided_bound(0.4, 0.3),
            module.two_sided_bound(0.1, 0.5),
            module.corner_bound(0.0, 0.2),
            module.vertex_bound(0.2, 0.4, 5),
            module.vertex_pair_bound(0.2, 0.4, 5),
        ):
            law = bound.mirrored()
            edge = law.side.edge
            response = response_loss(edge, law.delta(edge))
            for part in (0.0, 0.3, 0.99):
                assert abs(law.delta(part * edge) - response.delta(part * edge)) <= 1e-12

    assert_killed(check, "dperm.accounting.laws.objective", old, new)
