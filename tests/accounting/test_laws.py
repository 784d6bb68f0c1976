# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Every privacy loss against its own pair of output laws, in 60-digit arithmetic.

The oracle knows outputs, not losses: noise, shift, sampling rate. A loss is above L on a half line of outputs, so
delta(eps) = P(L > eps) - e^eps Q(L > eps) (T2) is a difference of noise tails, and the digits it loses are there.
"""

import math
from dataclasses import dataclass

import mpmath as mp
import numpy as np
import pytest

from dperm.accounting.closed import SINGLE
from dperm.accounting.laws.atomic import AtomicLoss, randomized_response_loss, response_loss
from dperm.accounting.laws.gaussian import GaussianLoss
from dperm.accounting.laws.laplace import LaplaceLoss
from dperm.accounting.laws.mixture import MixtureKind, MixtureLoss
from dperm.accounting.laws.subsampled_gaussian import SubsampledGaussianLoss
from dperm.privacy.adjacency import Direction

RATES = [1e-5, 1e-3, 0.1, 0.5, 0.99]
SCALES = [0.2, 0.5, 1.0, 3.0, 1e4]
EPSILONS = [0.0, 1e-9, 1e-4, 0.01, 0.1, 0.5, 1.0, 3.0, 10.0, 40.0]
LEAST = mp.mpf("1e-280")


@pytest.fixture(scope="module", autouse=True)
def sixty_digits():
    with mp.workdps(60):
        yield


@dataclass(frozen=True)
class Normal:
    """N(0, scale^2)."""

    scale: float

    def above(self, x):
        return mp.erfc(x / (mp.mpf(self.scale) * mp.sqrt(2))) / 2

    def place(self, ratio, shift):
        """Where the likelihood ratio of a shift has this logarithm."""
        return mp.mpf(self.scale) ** 2 * ratio / shift + mp.mpf(shift) / 2


@dataclass(frozen=True)
class DoubleExponential:
    """Laplace noise."""

    scale: float

    def above(self, x):
        half = mp.exp(-abs(x) / mp.mpf(self.scale)) / 2
        return half if x > 0 else 1 - half

    def place(self, ratio, shift):
        top = shift / mp.mpf(self.scale)
        if abs(ratio) > top or ratio == top:
            return mp.inf if ratio > 0 else -mp.inf
        return (mp.mpf(self.scale) * ratio + shift) / 2


@dataclass(frozen=True)
class Mechanism:
    """Noise on a sum to which the record gives ``shift`` if it is sampled (T22; unsampled at rate 1: T5, T6)."""

    noise: object
    shift: float
    rate: float = 1.0

    def above(self, loss, add=False):
        """P and Q of the outputs with a larger loss: with the record against without it, or (add) the reverse."""
        q = mp.mpf(self.rate)
        likelihood = (mp.expm1(-loss if add else loss) + q) / q  # of the shift
        x = self.noise.place(mp.log(likelihood), self.shift) if likelihood > 0 else -mp.inf
        if add:
            with_, without = self.noise.above(self.shift - x), self.noise.above(-x)
            return without, (1 - q) * without + q * with_
        with_, without = self.noise.above(x - self.shift), self.noise.above(x)
        return (1 - q) * without + q * with_, without

    def delta(self, epsilon, add=False):
        p, q = self.above(mp.mpf(epsilon), add)
        return p - mp.exp(mp.mpf(epsilon)) * q


@dataclass(frozen=True)
class Replaced:
    """T25's pair: the record gives +1 or -1 if it is sampled, Gaussian noise."""

    noise: Normal
    rate: float

    def above(self, loss):
        """z = e^{x/v} solves k z^2 - (e^L - 1)(1 - q) z - e^L k = 0, k = q e^{-1/(2v)}."""
        q, v, e = mp.mpf(self.rate), mp.mpf(self.noise.scale) ** 2, mp.exp(loss)
        k, b = q * mp.exp(-1 / (2 * v)), (e - 1) * (1 - q)
        z = (b + mp.sqrt(b * b + 4 * e * k * k)) / (2 * k)
        x = v * mp.log(z)
        centre = (1 - q) * self.noise.above(x)
        return centre + q * self.noise.above(x - 1), centre + q * self.noise.above(x + 1)

    def delta(self, epsilon):
        p, q = self.above(mp.mpf(epsilon))
        return p - mp.exp(mp.mpf(epsilon)) * q


def noises(scale):
    return [(Normal(scale), GaussianLoss), (DoubleExponential(scale), LaplaceLoss)]


def cases():
    """(name, law, oracle of P and Q above a loss, oracle of delta) over the whole grid of parameters."""
    for scale in SCALES:
        for noise, law in noises(scale):
            for shift in (1, 2):
                plain = Mechanism(noise, shift)
                yield f"{law.__name__}-{scale:g}-{shift}", law(shift / scale), plain.above, plain.delta
        for rate in RATES:
            yield from sampled_cases(scale, rate)


def sampled_cases(scale, rate):
    name = f"{scale:g}-{rate:g}"
    replaced = Replaced(Normal(scale), rate)
    law = SubsampledGaussianLoss(rate, scale, Direction.REPLACE)
    yield f"sampled-REPLACE-{name}", law, replaced.above, replaced.delta
    for noise, base in noises(scale):
        single, double = Mechanism(noise, 1, rate), Mechanism(noise, 2, rate)
        for kind, add in ((MixtureKind.REMOVE, False), (MixtureKind.ADD, True)):
            above, delta = both(single, add)
            yield f"{base.__name__}-{kind.name}-{name}", MixtureLoss(base(1 / scale), rate, kind), above, delta
            if base is GaussianLoss:
                law = SubsampledGaussianLoss(rate, scale, Direction[kind.name])
                yield f"sampled-{kind.name}-{name}", law, above, delta
        # T24: at eps >= 0 the splice has the profile of the mixture against its own base
        yield (
            f"{base.__name__}-SPLICE-{name}",
            MixtureLoss(base(2 / scale), rate, MixtureKind.SPLICE),
            *both(double, False),
        )


def both(mechanism, add):
    return (lambda loss: mechanism.above(loss, add)), (lambda epsilon: mechanism.delta(epsilon, add))


CASES = {name: rest for name, *rest in cases()}
every_case = pytest.mark.parametrize(("law", "above", "delta"), CASES.values(), ids=CASES.keys())


def epsilons_of(law):
    top = law.support(1e-250)[1]
    return sorted({*EPSILONS, *(top * part for part in (0.02, 0.1, 0.3, 0.6, 0.9, 0.95, 0.999))})


@every_case
def test_delta_is_the_hockey_stick_of_the_pair(law, above, delta):
    """T2, T5, T6, T22, T24, T25. Near the largest loss delta is a difference of eps's own digits: 2^-49 is theirs."""
    for epsilon in epsilons_of(law):
        exact = delta(epsilon)
        if exact < LEAST:
            continue
        ill = abs(delta(epsilon * (1 - 2.0**-49)) - exact) if epsilon > 0.99 * law.ceiling else 0
        accuracy = SINGLE if exact > mp.mpf("1e-100") else 1e-11
        assert abs(law.delta(epsilon) - exact) <= accuracy * exact + ill, (epsilon, float(exact))


@every_case
def test_support_leaves_no_more_than_the_tail_on_either_side(law, above, delta):
    for tail in (0.3, 1e-3, 1e-12, 1e-100):
        low, high = law.support(tail)
        room = mp.mpf("1e-14")  # of the atoms' own places
        assert above(high + room * abs(mp.mpf(high)))[0] <= tail * (1 + mp.mpf("1e-10"))
        if "SPLICE" not in str(law):
            assert 1 - above(low - room * abs(mp.mpf(low)))[0] <= tail * (1 + mp.mpf("1e-10"))


@every_case
def test_the_ceiling_is_the_largest_loss(law, above, delta):
    if math.isinf(law.ceiling):
        assert above(mp.mpf(law.support(1e-300)[1]))[0] > 0
        return
    assert law.delta(law.ceiling * (1 + 1e-14)) == 0.0
    assert above(mp.mpf(law.ceiling) * (1 + mp.mpf("1e-14")))[0] <= mp.mpf("1e-50")
    inside = mp.mpf(law.ceiling) * (1 - mp.mpf("1e-14") - 2 * mp.mpf(law.resolution))  # it is rounded up by that much
    assert above(inside)[0] > 0 or isinstance(law, SubsampledGaussianLoss)


def borders_of(law, *points):
    """Fine where P is, and down to where even Q has nothing."""
    low, high = law.support(1e-20)
    inside = [point for point in points if low < point < high]
    return np.array(sorted({law.support(1e-300)[0], *np.linspace(low, high, 401), *inside}))


def atoms_above(law, epsilon):
    """P- and Q-mass of the atoms above epsilon."""
    found = [(mass, mass * math.exp(-loss)) for loss, mass in law.atoms() if loss > epsilon]
    return math.fsum(p for p, _ in found), math.fsum(q for _, q in found)


@every_case
def test_masses_and_atoms_make_two_probability_laws(law, above, delta):
    """E_P 1 = 1, and E_P e^{-L} = Q's total = 1; no cell's likelihood ratio leaves its borders."""
    borders = borders_of(law)
    p, q = law.masses(borders)
    at_p, at_q = atoms_above(law, -math.inf)
    assert math.fsum(p) + at_p == pytest.approx(1, abs=1e-12)
    assert math.fsum(q) + at_q == pytest.approx(1, abs=1e-9 if at_q == 0 else 1e-12)
    assert np.all(p >= 0) and np.all(q >= 0)
    noise = 1e-15 * (1 + np.maximum(p, q))
    assert np.all(p <= np.exp(np.minimum(borders[1:], 600)) * (q + noise) + noise)
    assert np.all(q <= np.exp(np.minimum(-borders[:-1], 600)) * (p + noise) + noise)


@every_case
def test_cells_above_epsilon_add_up_to_delta(law, above, delta):
    """T2 read off the masses is the closed form; merged into one cell it is less (T3)."""
    for epsilon in epsilons_of(law)[:-1]:
        borders = borders_of(law, epsilon)
        p, q = (mass[borders[:-1] >= epsilon] for mass in law.masses(borders))
        at_p, at_q = atoms_above(law, epsilon)
        total_p, total_q = math.fsum(p) + at_p, math.fsum(q) + at_q
        value = total_p - math.exp(epsilon) * total_q
        room = 1e-12 * total_p + 1e-18 * math.exp(min(epsilon, 300.0)) + 2e-20
        assert value == pytest.approx(law.delta(epsilon), rel=1e-10, abs=room), epsilon
        assert max(math.fsum(p) - math.exp(epsilon) * math.fsum(q), 0.0) <= law.delta(epsilon) * (1 + 1e-10) + room


SYMMETRIC = {name: case[0] for name, case in CASES.items() if not any(kind in name for kind in ("REMOVE", "ADD"))}


@pytest.mark.parametrize("law", SYMMETRIC.values(), ids=SYMMETRIC.keys())
def test_a_symmetric_pair_is_its_own_mirror_image(law):
    """P(L in B) = Q(-L in B), hence delta(-e) = 1 - e^{-e}(1 - delta(e)): the side of T23 that eps >= 0 never shows."""
    e = law.support(1e-3)[1] / 3
    borders = borders_of(law, e, -e)
    borders = np.unique(np.concatenate([borders, -borders]))
    p, q = law.masses(borders)
    assert p == pytest.approx(q[::-1], rel=1e-9, abs=1e-15)
    mirrored = sorted((-a, w * math.exp(-a)) for a, w in law.atoms())
    assert np.ravel(sorted(law.atoms())) == pytest.approx(np.ravel(mirrored), rel=1e-12)
    at_p, at_q = atoms_above(law, -e)
    above = borders[:-1] >= -e
    value = math.fsum(p[above]) + at_p - math.exp(-e) * (math.fsum(q[above]) + at_q)
    assert value == pytest.approx(1 - math.exp(-e) * (1 - law.delta(e)), abs=1e-12)


STRENGTHS = (1e-8, 0.3, 2.0, 30.0)
ATOMIC = [
    *((f"response-{e:g}-{d:g}", response_loss(e, d), e, d, 2) for e in STRENGTHS for d in (0.0, 1e-9, 0.4)),
    *((f"{k}-ary-{e:g}", randomized_response_loss(e, k), e, 0.0, k) for e in STRENGTHS for k in (2, 3, 50)),
]


@pytest.mark.parametrize(("law", "epsilon", "delta", "k"), [case[1:] for case in ATOMIC], ids=[c[0] for c in ATOMIC])
def test_atoms_are_the_answers_of_randomised_response(law, epsilon, delta, k):
    """T9, T13, T14: all k answers of two records, listed, with probability delta of giving everything away."""
    e, d = mp.mpf(epsilon), mp.mpf(delta)
    keep, other = mp.exp(e) / (mp.exp(e) + k - 1), 1 / (mp.exp(e) + k - 1)
    answers = [(keep, other), (other, keep), *[(other, other)] * (k - 2)]
    assert law.infinity == delta and law.ceiling == epsilon and law.support(1e-9) == (-epsilon, epsilon)
    assert math.fsum(law.weights) == pytest.approx(1, abs=1e-15)
    assert math.fsum(w * math.exp(-a) for a, w in law.atoms()) == pytest.approx(1, rel=1e-14)
    for at in (0.0, epsilon / 7, epsilon * 0.999, epsilon, 2 * epsilon):
        exact = d + (1 - d) * mp.fsum(max(p - mp.exp(mp.mpf(at)) * q, 0) for p, q in answers)
        assert abs(law.delta(at) - exact) <= SINGLE * exact


def legendre(low, high, panels):
    x, w = np.polynomial.legendre.leggauss(20)
    edges = np.linspace(low, high, panels + 1)
    half = np.diff(edges)[:, None] / 2
    return (edges[:-1, None] + half * (1 + x)).ravel(), (half * w).ravel()


def outputs(law, base, above):
    """A base pair at unit noise: weights under Q and log likelihood ratios (``above``: only those > 0)."""
    if isinstance(base, GaussianLoss):
        end = base.mu / 2 + base.support(law.tail)[1] / base.mu  # the tail that the law leaves to the engine
        x, w = legendre(base.mu / 2, end, 300)
        return w * np.exp(-(x**2) / 2) / math.sqrt(2 * math.pi), base.mu * (x - base.mu / 2)
    x, w = legendre(base.top / 2 if above else 0.0, base.top, 60)
    ends = [(0.5 * math.exp(-base.top), base.top), (0.5, -base.top)][: 1 if above else 2]
    return np.append(w * np.exp(-x) / 2, [m for m, _ in ends]), np.append(2 * x - base.top, [r for _, r in ends])


def moments(law, s):
    """E_P e^{sL} summed over outputs, and the rounding of this sum."""
    base, rate, kind = (
        (law, 1.0, MixtureKind.REMOVE) if isinstance(law, LaplaceLoss) else (law.base, law.rate, law.kind)
    )
    weight, ratio = outputs(law, base, above=kind is MixtureKind.SPLICE)
    loss = np.log1p(rate * np.expm1(ratio)) if rate < 1 else ratio
    up = np.exp(np.multiply.outer(s + 1, loss)) @ weight
    down = np.exp(np.multiply.outer(-s, loss)) @ weight
    middle = (1 - rate) * (1 - 2 * float(weight.sum()))  # T24's atom
    rounding = 4e-16 * (16 + float(np.abs(s + 1).max() * np.abs(loss).max()))
    return {MixtureKind.REMOVE: up, MixtureKind.ADD: down, MixtureKind.SPLICE: up + down + middle}[kind], rounding


CLOSED = [
    *((f"laplace-{top:g}", LaplaceLoss(top)) for top in (1e-4, 0.5, 5.0, 100.0)),
    *(
        (f"laplace-{top:g}-{kind.name}-{rate:g}", MixtureLoss(LaplaceLoss(top), rate, kind))
        for rate in (1e-3, 0.3, 0.99)
        for kind in MixtureKind
        for top in (1e-4, 0.5, 5.0)
    ),
    *(
        (f"gaussian-{mu:g}-SPLICE-{rate:g}", MixtureLoss(GaussianLoss(mu), rate, MixtureKind.SPLICE))
        for mu, rate in ((1.0, 0.1), (0.2, 0.9), (4.0, 0.01), (1e-3, 0.5))
    ),
]
every_closed = pytest.mark.parametrize("law", [case[1] for case in CLOSED], ids=[case[0] for case in CLOSED])


def lines(law):
    """Real parts c of vertical lines and the scale of t, from flat to steep on the law's own spread."""
    low, high = law.support(1e-12)
    return [(part / (high - low), 1 / (high - low)) for part in (0.5, 3.0, 30.0, 100.0)]


@every_closed
def test_the_moment_generating_function_is_within_its_own_error(law):
    for c, scale in lines(law):
        s = c + 1j * scale * 0.8 * np.arange(60)
        found, error = law.log_mgf(s)
        exact, rounding = moments(law, s)
        size = np.abs(exact)
        assert np.all(np.abs(np.exp(found) - exact) <= 1.01 * error * size + rounding * size[0])
        assert np.all(error * size < 1e-11 * size[0])
        real = float(law.log_mgf_real(np.array([c]))[0])
        assert real == pytest.approx(math.log(exact[0].real), abs=1e-9 * (1 + law.support(1e-12)[1]))


@every_closed
def test_the_modulus_bounds_the_line_beyond_t(law):
    for c, scale in lines(law):
        for t in scale * np.array([0.3, 3.0, 40.0]):
            height = law.log_mgf(c + 1j * t / 20 * np.arange(300))[0].real
            assert math.exp(height[20:].max() - height[0]) <= law.modulus(c, t) * (1 + 1e-12)


def test_the_modulus_of_laplace_bounds_even_where_only_the_atoms_are_left():
    law, c, t = LaplaceLoss(100.0), 1.0, 1e9
    height = law.log_mgf(c + 1j * t * np.arange(2000))[0].real
    assert math.exp(height[1:].max() - height[0]) <= law.modulus(c, t) * (1 + 1e-12)


@pytest.mark.parametrize("law", [case[1] for case in ATOMIC], ids=[case[0] for case in ATOMIC])
def test_the_moments_of_atoms_are_their_sum(law):
    s = 0.7 + 1j * 1.7 * np.arange(30)
    found, error = law.log_mgf(s)
    for at, value, room in zip(s, np.exp(found), error, strict=True):
        exact = mp.fsum(mp.mpf(w) * mp.exp(mp.mpc(at) * mp.mpf(a)) for a, w in law.atoms())
        assert abs(mp.mpc(value) / exact - 1) <= room + 1e-15
    assert law.modulus(0.7, 1e3) == 1.0


def test_equal_laws_are_equal_keys():
    laws = [case[0] for case in CASES.values()] + [case[1] for case in CLOSED]
    assert len({*laws, *laws}) == len(set(laws))
    assert AtomicLoss((0.0,), (1.0,)) == AtomicLoss((0.0,), (1.0,))
