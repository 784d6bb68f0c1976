# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""The contour engine against closed forms, against itself on other lines, and against 45-digit numbers (T22, T25)."""

import math

import mpmath
import numpy as np
import pytest

from dperm.accounting import Gaussian, Poisson, account
from dperm.accounting.composition import Composition
from dperm.accounting.contour import engine, plans
from dperm.accounting.contour.closing import NotClosedError, Tolerance
from dperm.accounting.contour.far import Far, FarEdge
from dperm.accounting.contour.plans import Certified
from dperm.accounting.laws.subsampled_gaussian import SubsampledGaussianLoss
from dperm.privacy.adjacency import Direction

ACCURACY = 1e-11  # of the closed forms


def lines(composition: Composition, delta: float) -> dict[str, Certified]:
    """Every plan that closes."""
    made = {}
    log_delta = math.log(delta)
    for width in (0.12, 0.05):
        try:
            made[f"plain {width}"] = plans.plain_line(composition, None, log_delta, width, plans.scaled(Tolerance(), 3))
        except NotClosedError:
            continue
    try:
        made["split"] = plans.split_line(composition, None, log_delta, plans.scaled(plans.LOOSE, 3))
    except NotClosedError:
        pass
    return made


def random_law(rng: np.random.Generator) -> tuple[SubsampledGaussianLoss, float]:
    rate, sigma = 10 ** rng.uniform(-5, -0.05), 10 ** rng.uniform(math.log10(0.2), 2.5)
    direction = list(Direction)[rng.integers(3)]
    return SubsampledGaussianLoss(float(rate), float(sigma), direction), float(10 ** rng.uniform(-18, -1))


def test_one_step_brackets_hold_the_closed_form() -> None:
    """T22, T25: every line, forced upon a composition of one step, brackets the known profile."""
    rng, tried = np.random.default_rng(7), 0
    for _ in range(120):
        law, delta = random_law(rng)
        if law.delta(0.0) <= delta * 1.0001:
            continue
        for name, line in lines(Composition.of([(law, 1)]), delta).items():
            if name == "split" and law.direction is Direction.ADD:
                continue
            root = plans.newton(line, delta)
            low, high = engine._ends(line, root, delta)
            assert low == 0 or law.delta(low) * (1 + ACCURACY) >= delta, (name, law, delta)
            assert law.delta(high) * (1 - ACCURACY) <= delta, (name, law, delta)
            for epsilon in (0.7 * root, root, 1.2 * root):
                below, above = line.bracket(max(epsilon, 0.0))
                truth = law.delta(max(epsilon, 0.0))
                assert below <= truth * (1 + ACCURACY)
                assert above >= truth * (1 - ACCURACY)
            tried += 1
    assert tried > 100


def test_different_lines_through_one_composition_overlap() -> None:
    rng, compared = np.random.default_rng(11), 0
    for _ in range(40):
        law, delta = random_law(rng)
        composition = Composition.of([(law, round(10 ** rng.uniform(0.4, 4)))])
        brackets = []
        for name, line in lines(composition, delta).items():
            if name == "split" and law.direction is Direction.ADD:
                continue
            try:
                brackets.append(engine._ends(line, plans.newton(line, delta), delta))
            except NotClosedError:
                continue
        for first in brackets:
            for second in brackets:
                assert first[0] <= second[1], (law, delta, brackets)
        compared += len(brackets) > 1
    assert compared >= 20


def two_step_delta(law: SubsampledGaussianLoss, epsilon: float) -> float:
    """delta of two removal steps: E_P over the first of the closed profile of the second, 30 digits (T22)."""
    with mpmath.workdps(30):
        q, s = mpmath.mpf(law.rate), mpmath.mpf(law.sigma)

        def single(alpha: mpmath.mpf) -> mpmath.mpf:
            if alpha <= 1 - q:
                return 1 - alpha
            u, mu = mpmath.log(1 + (alpha - 1) / q), 1 / s
            return q * (mpmath.ncdf(mu / 2 - u / mu) - mpmath.exp(u) * mpmath.ncdf(-mu / 2 - u / mu))

        def integrand(x: mpmath.mpf) -> mpmath.mpf:
            ratio = 1 - q + q * mpmath.exp((2 * x - 1) / (2 * s * s))
            return mpmath.npdf(x, 0, s) * ratio * single(mpmath.exp(epsilon) / ratio)

        # the kink where the first loss alone reaches epsilon - log(1 - q)
        kink = mpmath.mpf("0.5") + s * s * mpmath.log((mpmath.exp(epsilon) / (1 - q) - 1 + q) / q)
        points = sorted([mpmath.mpf(k) * s for k in range(-12, 15, 2)] + [kink])
        return float(mpmath.quad(integrand, points))


@pytest.mark.parametrize(
    ("rate", "sigma", "delta"),
    [(5.61e-5, 0.748, 2.9e-9), (1.77e-5, 3.57, 5.4e-18), (0.0101, 0.316, 2e-11), (0.05, 1.0, 1e-5)],
)
def test_two_steps_agree_with_direct_integration(rate: float, sigma: float, delta: float) -> None:
    """Near-atoms included: with q T << 1 almost surely nothing is sampled."""
    law = SubsampledGaussianLoss(rate, sigma, Direction.REMOVE)
    low, high = engine.epsilon_bracket(Composition.of([(law, 2)]), delta)
    assert high - low <= 1e-6 * high
    assert two_step_delta(law, low * (1 - 1e-9)) >= delta * (1 - 1e-9)
    assert two_step_delta(law, high * (1 + 1e-9)) <= delta * (1 + 1e-9)


@pytest.mark.parametrize(
    ("rate", "sigma", "steps", "delta", "adjacency", "truth"),
    [
        (0.004332, 0.5494, 1688, 3.765e-10, "add_remove", 11.239633349486),
        (0.008217, 0.5845, 7783, 9.659e-10, "add_remove", 25.174140772175),
        (0.08701, 1.321, 1829, 1.471e-10, "replace_one", 50.452444185667),
    ],
)
def test_three_cases_in_which_dp_accounting_reports_less_than_the_truth(
    rate: float, sigma: float, steps: int, delta: float, adjacency: str, truth: float
) -> None:
    """Truth: 45-digit mpmath inversion without any cut. dp-accounting 0.6.0: 11.239401, 25.1741324, 50.452260."""
    from dp_accounting import dp_event, privacy_accountant
    from dp_accounting.pld import pld_privacy_accountant

    low, high = account(Poisson(Gaussian(sigma), rate) * steps, adjacency).epsilon_bracket(delta)
    assert low <= truth + 1e-11
    assert high >= truth - 1e-11
    assert high - low <= 1e-8 * high
    relation = {"add_remove": "ADD_OR_REMOVE_ONE", "replace_one": "REPLACE_ONE"}[adjacency]
    peer = pld_privacy_accountant.PLDAccountant(privacy_accountant.NeighboringRelation[relation])
    peer.compose(dp_event.PoissonSampledDpEvent(rate, dp_event.GaussianDpEvent(sigma)), steps)
    assert peer.get_epsilon(delta) < low


@pytest.mark.parametrize("direction", [Direction.REMOVE, Direction.REPLACE])
def test_the_marked_part_of_one_step_is_bracketed(direction: Direction) -> None:
    """far.py: E_P[(1 - e^{eps-L})_+ chi] against a fine sum, with and without a useful remainder."""
    law = SubsampledGaussianLoss(0.01, 1.1, direction)
    mark = FarEdge(law, 4.0, 0.05)
    x = np.linspace(-12, 20, 400_001)
    loss = law.loss(x)
    density = 0.99 * np.exp(-x * x / 2.42) + 0.01 * np.exp(-((x - 1) ** 2) / 2.42)
    density /= math.sqrt(2 * math.pi) * 1.1
    from scipy.special import ndtr

    chi = ndtr((x - 4.0) / 0.05)
    for epsilon in (0.005, 0.05, 0.2):
        truth = float(np.sum(density * chi * np.maximum(-np.expm1(epsilon - loss), 0)) * (x[1] - x[0]))
        slip = 0.0 if direction is Direction.REMOVE else 1e-12
        low, high = Far(((mark, 1),), margin=0.01, slip=slip).bracket(epsilon)
        assert low <= truth * (1 + 1e-7)
        assert high >= truth * (1 - 1e-7)


def test_epsilon_is_zero_when_delta_covers_the_total_variation() -> None:
    profile = account(Poisson(Gaussian(50.0), 1e-3) * 3, "add_remove")
    assert profile.epsilon_bracket(0.1) == (0.0, 0.0)
    assert profile.epsilon_bracket(1e-9)[0] > 0
