# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Little noise, rates near 0 and 1, epsilon in the hundreds and beyond: e^L overflows, and laws are nearly atoms.

A step's loss then lies within a rounding of 0 or of log(1 - q), except that it is huge if the record was sampled. No
bracket may be inverted, and no upper end below what an attacker achieves who only counts large outputs.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from itertools import pairwise

import mpmath
import numpy as np
import pytest
from scipy.special import gammaln, log_ndtr
from scipy.stats import binom

from dperm.accounting import (
    Gaussian,
    Laplace,
    PerturbedObjective,
    PerturbedSoftmax,
    Poisson,
    WithoutReplacement,
    account,
    basic,
)
from dperm.accounting.composition import Composition
from dperm.accounting.contour import engine as contour
from dperm.accounting.contour import jumps
from dperm.accounting.contour.closing import Tolerance
from dperm.accounting.contour.far import Far, FarEdge
from dperm.accounting.contour.problem import InversionProblem
from dperm.accounting.engines import CROSSED
from dperm.accounting.event import Event
from dperm.accounting.lattice import engine as lattice
from dperm.accounting.lattice.coarse import CoarseLaw
from dperm.accounting.lattice.grid import LossGrid
from dperm.accounting.lattice.upper import raised
from dperm.accounting.laws.gaussian import GaussianLoss
from dperm.accounting.laws.laplace import LaplaceLoss
from dperm.accounting.laws.law import LossLaw
from dperm.accounting.laws.mixture import MixtureKind, MixtureLoss
from dperm.accounting.laws.sampling import base_loss, sampled_loss
from dperm.accounting.laws.subsampled_gaussian import SubsampledGaussianLoss
from dperm.privacy.adjacency import Direction

RATES = [1e-12, 1e-6, 1e-2, 0.5, 0.99, 1 - 1e-9, 1 - 1e-15]
TAILS = [1e-12, 1e-20, 1e-60, 1e-290]
NOISE = [0.01, 0.02, 0.04, 0.0531, 0.1, 0.3]


# ------------------------------------------------------------------------------------ an attacker who counts


def log_mixture(rate: float, plain: float, sampled: float) -> float:
    return float(np.logaddexp(math.log1p(-rate) + plain, math.log(rate) + sampled))


def log_above(event: Event, place: float) -> float:
    """Log P(noise > place)."""
    scale = event.noise_multiplier
    if isinstance(event, Gaussian):
        return float(log_ndtr(-place / scale))
    return -place / scale - math.log(2) if place > 0 else math.log1p(-0.5 * math.exp(place / scale))


def step_events(event: Poisson, adjacency: str) -> Iterator[tuple[float, float]]:
    """(log P, log Q) that one step's output is above, or below, a threshold (T22, T25), from the definition alone."""
    base, q, scale = event.event, event.rate, event.event.noise_multiplier
    grid = np.linspace(-8, 8, 17)
    for place in np.concatenate([np.linspace(-0.5, 2, 26), 1 + scale * grid, scale * grid]):
        above = [log_above(base, float(place) - mean) for mean in (-1.0, 0.0, 1.0)]
        if adjacency == "replace_one":
            yield log_mixture(q, above[1], above[2]), log_mixture(q, above[1], above[0])
            continue
        yield log_mixture(q, above[1], above[2]), above[1]
        below = [log_above(base, mean - float(place)) for mean in (0.0, 1.0)]
        yield below[0], log_mixture(q, below[0], below[1])


def counts(steps: int, chance: float) -> list[int]:
    mean, spread = steps * chance, math.sqrt(steps * chance) + 1
    wanted = [1, 2, 3, 4, 5, 6, 8, 10, *(mean + k * spread for k in range(-3, 7)), steps]
    return sorted({int(k) for k in wanted if 1 <= k <= steps})


def attacks(event: Poisson, steps: int, adjacency: str) -> Iterator[tuple[float, float]]:
    """(P, log Q) that the event happens in at least k steps; Q from above by a union bound (post-processing, T3)."""
    for log_p, log_q in step_events(event, adjacency):
        for k in counts(steps, math.exp(log_p)):
            if k == steps:
                yield math.exp(steps * log_p), steps * log_q
            else:
                ways = gammaln(steps + 1) - gammaln(k + 1) - gammaln(steps - k + 1)
                yield float(binom.sf(k - 1, steps, math.exp(log_p))), min(float(ways) + k * log_q, 0.0)


def attacked_epsilon(event: Poisson, steps: int, adjacency: str, delta: float) -> float:
    """No smaller epsilon holds at delta: P <= e^eps Q + delta."""
    found = [
        math.log(p * (1 - 1e-9) - delta) - log_q
        for p, log_q in attacks(event, steps, adjacency)
        if p * (1 - 1e-9) > delta
    ]
    return max([0.0, *found]) * (1 - 1e-9) - 1e-6


def attacked_delta(event: Poisson, steps: int, adjacency: str, epsilon: float) -> float:
    found = [p - math.exp(min(epsilon + log_q, 5.0)) for p, log_q in attacks(event, steps, adjacency)]
    return max([0.0, *found]) * (1 - 1e-6) - 1e-12


def check(event: Poisson, steps: int, adjacency: str, delta: float) -> tuple[float, float]:
    """All that must hold of one composition; returns its bracket of epsilon."""
    profile = account(event * steps, adjacency)
    answer = profile.epsilon_answer(delta)
    low, high = answer.lower, answer.upper
    assert 0 <= low <= high < math.inf
    assert high >= attacked_epsilon(event, steps, adjacency, delta)
    assert answer.why != CROSSED
    for epsilon in (0.7 * high, 1.2 * high + 0.1):
        other = profile.delta_answer(epsilon)
        assert 0 <= other.lower <= other.upper <= 1 and other.why != CROSSED
        assert other.upper >= attacked_delta(event, steps, adjacency, epsilon)
        assert not (epsilon < low * (1 - 1e-9) and other.upper < delta * (1 - 1e-6))
        assert not (epsilon > high and other.lower > delta * (1 + 1e-9))
    return low, high


# ---------------------------------------------------------------------------------------------- found cases


@pytest.mark.parametrize("noise", [0.04, pytest.param(0.01, marks=pytest.mark.slow)])
def test_rare_samples_with_little_noise_under_replace_one(noise: float) -> None:
    """Half of P, all losses next to 0 on the negative side, was left out of every step: epsilon came out as 0."""
    event = Poisson(Gaussian(noise), 1e-4)
    low, high = check(event, 1000, "replace_one", 1e-5)
    assert high - low <= 1e-3 * high
    # at least four of 1,000 steps are sampled with probability 3.8e-6, three with 1.5e-4: three count
    assert 2.5 / (2 * noise**2) < high < 3.5 / (2 * noise**2) + 10 * math.sqrt(3) / noise


def test_the_smallest_epsilon_that_was_wrong() -> None:
    whole = -math.expm1(100 * math.log1p(-0.01))
    event, delta = Poisson(Gaussian(0.053), 0.01), whole * (1 - 1e-6)
    low, high = account(event * 100, "replace_one").epsilon_bracket(delta)
    assert attacked_epsilon(event, 100, "replace_one", delta) <= high
    assert 84 < low <= high < 86


@pytest.mark.parametrize("epsilon", [300.0, 710.0, 2000.0])
def test_delta_far_below_the_loss_of_one_sampled_step_is_the_chance_of_a_sample(epsilon: float) -> None:
    composition = Composition.of([(SubsampledGaussianLoss(1e-4, 0.01, Direction.REPLACE), 1000)])
    low, high = lattice.delta_bracket(composition, epsilon)
    whole = -math.expm1(1000 * math.log1p(-1e-4))
    assert low <= whole <= high and high - low <= 1e-8


@pytest.mark.slow
def test_more_noise_never_costs_more() -> None:
    ends = [
        account(Poisson(Gaussian(z), 1e-4) * 1000, "replace_one").epsilon_bracket(1e-5)
        for z in (0.03, 0.045, 0.05, 0.06)
    ]
    assert all(less[1] < more[0] for more, less in pairwise(ends))


def test_huge_epsilons_need_no_more_than_the_noise_there_is() -> None:
    """The split's margin was summed up to outputs a million standard deviations away, for minutes."""
    composition = Composition.of([(SubsampledGaussianLoss(1 - 1e-10, 0.07, Direction.REPLACE), 160_000)])
    problem = InversionProblem.of(composition, -14.0, Tolerance())
    assert jumps._upper_tail(problem, 1e9, 0.9) < 1e-12
    assert jumps._upper_tail(problem, 2.5e6, 0.9) == 1.0  # each step's loss is about 200


@pytest.mark.slow
@pytest.mark.parametrize(
    ("event", "adjacency"),
    [
        (Poisson(Laplace(0.01), 1e-6), "add_remove"),
        (Poisson(Gaussian(0.012), 1e-11), "add_remove"),
        (Poisson(Gaussian(0.03), 1 - 1e-13), "add_remove"),
        (Poisson(Gaussian(0.02), 1 - 1e-13), "replace_one"),
    ],
)
def test_other_extremes(event: Poisson, adjacency: str) -> None:
    check(event, 300, adjacency, 1e-9)


# --------------------------------------------------------------------------------------------------- laws


def sampled_laws() -> Iterator[LossLaw]:
    for rate in RATES:
        for noise in NOISE:
            yield from (SubsampledGaussianLoss(rate, noise, direction) for direction in Direction)
            yield from (MixtureLoss(LaplaceLoss(1 / noise), rate, kind) for kind in MixtureKind)
            yield MixtureLoss(GaussianLoss(2 / noise), rate, MixtureKind.SPLICE)


def test_a_support_leaves_out_no_more_than_its_tail_of_what_the_masses_show() -> None:
    for law in sampled_laws():
        atoms = math.fsum(mass for _, mass in law.atoms())
        for tail in TAILS:
            low, high = law.support(tail)
            below, inside, above = law.masses(np.array([-math.inf, low, high, math.inf]))[0]
            assert below <= tail * (1 + 1e-9) and above <= tail * (1 + 1e-9), (law, tail, below, above)
            assert abs(below + inside + above + atoms - 1) < 1e-12, law


@pytest.mark.parametrize("rate", RATES)
@pytest.mark.parametrize("sigma", [0.03, 0.05, 0.2, 1.0])
def test_the_loss_of_replacing_keeps_its_digits_near_0(rate: float, sigma: float) -> None:
    law, x = SubsampledGaussianLoss(rate, sigma, Direction.REPLACE), np.array([-2.0, -0.3, -1e-3, 0.0, 1e-9, 0.2, 1.5])
    with mpmath.workdps(600):
        q, v = mpmath.mpf(rate), mpmath.mpf(sigma) ** 2

        def single(place: float) -> mpmath.mpf:
            return mpmath.log(1 - q + q * mpmath.exp((2 * mpmath.mpf(place) - 1) / (2 * v)))

        truth = [single(place) - single(-place) for place in x]
        for found, exact in zip(law.loss(x), truth, strict=True):
            assert abs(found - exact) <= 1e-12 * abs(exact)


@pytest.mark.parametrize("rate", RATES)
def test_sampled_and_base_losses_near_the_floor(rate: float) -> None:
    """Down to log(1 - q), also for q near 1, each is right to a few roundings of the loss."""
    u = np.array([-800.0, -50.0, -30.0, -5.0, -0.7, -1e-5, 1e-5, 3.0, 500.0, 700.0])
    found, back = sampled_loss(u, rate), base_loss(sampled_loss(u, rate), rate)
    with mpmath.workdps(500):
        q = mpmath.mpf(rate)
        for place, loss, inverse in zip(u, found, back, strict=True):
            exact = mpmath.log(1 - q + q * mpmath.exp(mpmath.mpf(place)))
            again = mpmath.log(1 - q + q * mpmath.exp(mpmath.mpf(inverse)))
            assert abs(loss - exact) <= 1e-15 * (abs(exact) + min(q, 1))
            assert abs(again - loss) <= 2e-15 * (abs(exact) + min(q, 1))


def test_a_log_moment_beyond_the_nodes_is_an_upper_bound() -> None:
    """`contour.chernoff` minimises over tilts at which no node reaches the top."""
    for law in (
        MixtureLoss(GaussianLoss(1.0), 0.1, MixtureKind.SPLICE),
        MixtureLoss(LaplaceLoss(50.0), 1e-3, MixtureKind.REMOVE),
    ):
        low, high = law.support(1e-40)
        borders = np.concatenate([np.linspace(low, high, 20_001), high - np.geomspace(1e-9, 1.0, 4001)[::-1]])
        borders = np.unique(borders)
        with np.errstate(divide="ignore"):
            logs = np.log(law.masses(borders)[0])
        for c in np.array([1.0, 10.0, 1e3, 1e5, 1e7]):
            least = float(np.logaddexp.reduce(c * borders[:-1] + logs))
            assert law.log_mgf_real(np.array([c]))[0] >= least - 1e-8


def test_marked_mass_that_underflows_under_q_still_counts_in_full_above() -> None:
    """P - e^eps Q with Q = 0 in double precision; a floor under Q would take e^eps 1e-300 off the upper end."""
    law = SubsampledGaussianLoss(1e-3, 0.02, Direction.REMOVE)
    far = Far(((FarEdge(law, 0.9, 1e-5), 10),), margin=1.0, slip=0.0)
    low, high = far.bracket(690.0)
    p = -math.expm1(10 * math.log1p(-1e-3 * math.exp(log_ndtr(5.0))))
    assert far.some(under_q=True) == 0.0
    assert low <= p <= high * (1 + 1e-12) and low <= high


# ------------------------------------------------------------------------------------------- the last resort


ACCOUNT = import_module("dperm.accounting.account")  # the name in the package is the function
CROSSING = [((0.0, 0.0), (0.0, 0.0)), ((0.5, 0.4), (0.0, math.inf)), ((0.0, math.inf), (3.0, 2.0))]


@pytest.mark.parametrize(("first", "second"), CROSSING)
def test_engines_that_contradict_a_step_or_themselves_are_not_believed(
    monkeypatch: pytest.MonkeyPatch, first: tuple[float, float], second: tuple[float, float]
) -> None:
    event = Poisson(Gaussian(0.7), 0.1)
    honest = account(event * 20, "add_remove").epsilon_bracket(1e-5)
    for name in ("epsilon_bracket", "delta_bracket"):
        monkeypatch.setattr(contour, name, lambda *_: first)
        monkeypatch.setattr(lattice, name, lambda *_: second)
    for name in ("solve_epsilon", "solve_delta"):  # answers are cached: neither the honest ones nor these may be reused
        monkeypatch.setattr(ACCOUNT, name, getattr(ACCOUNT, name).__wrapped__)
    answer = account(event * 20, "add_remove").epsilon_answer(1e-5)
    assert answer.why == CROSSED
    assert account(event, "add_remove").epsilon_bracket(1e-5)[0] <= answer.lower * (1 + 1e-9) <= honest[0]
    assert honest[1] <= answer.upper <= 20 * account(event, "add_remove").epsilon(1e-5 / 20) * (1 + 1e-9)
    assert account(event * 20, "add_remove").delta_answer(honest[0]).upper >= 1e-5


@dataclass(frozen=True)
class Leaky:
    """A law whose masses lack what lies below 0."""

    law: LossLaw

    def support(self, tail: float) -> tuple[float, float]:
        return 0.0, self.law.support(tail)[1]

    def atoms(self) -> tuple[tuple[float, float], ...]:
        return ()

    def masses(self, borders: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return self.law.masses(np.maximum(borders, 0.0))


def test_mass_that_no_cell_holds_is_sent_to_infinity() -> None:
    law = SubsampledGaussianLoss(0.1, 1.0, Direction.REPLACE)
    below = float(law.masses(np.array([-math.inf, 0.0]))[0][0])
    assert math.isclose(CoarseLaw.of(Leaky(law), 1, 1e-20, math.inf).lost, below, rel_tol=1e-9)
    masses, lost = raised(Leaky(law), LossGrid(0.0, 0.01, 1000, False), 1e-20)
    assert math.isclose(lost, below, rel_tol=1e-9) and math.isclose(float(masses.sum()), 1 - below, rel_tol=1e-9)
    assert CoarseLaw.of(law, 1, 1e-20, math.inf).lost <= 1e-20


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 5.0])
def test_the_steps_own_bounds_enclose_the_composition(epsilon: float) -> None:
    """T3 below and T11 above, also of different steps."""
    steps = [(SubsampledGaussianLoss(0.1, 0.8, Direction.REMOVE), 30), (LaplaceLoss(0.2), 5), (GaussianLoss(0.5), 1)]
    composition = Composition.of(steps)
    inner, outer = lattice.delta_bracket(composition, epsilon), basic.delta_bracket(composition, epsilon)
    assert outer[0] <= inner[0] <= inner[1] <= outer[1]
    delta = inner[1]
    low, high = basic.epsilon_bracket(composition, delta)
    assert low <= epsilon <= high
    assert basic.consistent_delta(composition, epsilon, inner) and basic.consistent_epsilon(
        composition, delta, (0, epsilon)
    )
    assert not basic.consistent_delta(composition, epsilon, (0.0, outer[0] * 0.99))
    assert not basic.consistent_epsilon(composition, delta, (0.0, low * 0.99)) or low == 0


# ---------------------------------------------------------------------------------------------------- scan


def log_uniform(rng: np.random.Generator, low: float, high: float) -> float:
    return float(10 ** rng.uniform(math.log10(low), math.log10(high)))


def random_rate(rng: np.random.Generator) -> float:
    return log_uniform(rng, 1e-12, 1.0) if rng.random() < 0.8 else 1 - log_uniform(rng, 1e-15, 0.5)


def random_case(rng: np.random.Generator) -> tuple[Poisson, int, str, float]:
    noise, steps = log_uniform(rng, 0.01, 1.0), round(log_uniform(rng, 1, 1e6))
    adjacency = ("add_remove", "replace_one")[rng.integers(2)]
    base = Laplace(noise) if adjacency == "add_remove" and rng.random() < 0.4 else Gaussian(noise)
    return Poisson(base, random_rate(rng)), steps, adjacency, log_uniform(rng, 1e-15, 0.3)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(8))
def test_scan_of_sampled_events_against_the_attacker_who_counts(seed: int) -> None:
    rng = np.random.default_rng(20261116 + seed)
    for _ in range(40):
        event, steps, adjacency, delta = random_case(rng)
        check(event, steps, adjacency, delta)


def random_part(rng: np.random.Generator, adjacency: str) -> Event:
    noise, steps = log_uniform(rng, 0.01, 1.0), round(log_uniform(rng, 1, 1e4))
    curvature = log_uniform(rng, 1e-3, 10.0)
    kinds: list[Event] = [
        Poisson(Gaussian(noise), random_rate(rng)),
        Gaussian(noise),
        Laplace(noise),
        PerturbedObjective(noise, curvature, monotone=bool(rng.integers(2))),
        PerturbedSoftmax(noise, curvature, classes=int(rng.integers(3, 9))),
    ]
    if adjacency == "replace_one":
        kinds += [WithoutReplacement(base(noise), random_rate(rng)) for base in (Gaussian, Laplace)]
    return kinds[rng.integers(len(kinds))] * steps


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(8))
def test_scan_of_mixtures_a_composition_costs_no_less_than_its_parts(seed: int) -> None:
    rng = np.random.default_rng(20261200 + seed)
    for _ in range(20):
        adjacency, delta = ("add_remove", "replace_one")[rng.integers(2)], log_uniform(rng, 1e-15, 0.3)
        parts = [random_part(rng, adjacency) for _ in range(2)]
        answer = account(parts[0] + parts[1], adjacency).epsilon_answer(delta)
        assert 0 <= answer.lower <= answer.upper < math.inf and answer.why != CROSSED, parts
        for part in parts:
            single = account(part, adjacency).epsilon_answer(delta)
            assert 0 <= single.lower <= single.upper < math.inf and single.why != CROSSED, part
            assert single.lower <= answer.upper, parts
