# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Reference numbers: certified brackets of epsilon (T6, T13, T22, T25, T28), and golden values of single statements.

Sources: closed forms; an earlier, independent implementation of the contour with 45-digit mpmath checks; lattice
results at both ends. dp-accounting 0.6.0 agrees up to its discretisation, except where tests say so.
"""

import pytest

from dperm.accounting import Approximate, Gaussian, Laplace, Poisson, WithoutReplacement, account
from dperm.accounting.event import Event

GOLDEN = [
    pytest.param(Gaussian(1.0), "add_remove", 1e-05, 4.37717809564, 4.37717809572, id="g01_gauss_s1_T1"),
    pytest.param(Gaussian(5.0) * 100, "add_remove", 1e-05, 9.99725614633, 9.99725614653, id="g02_gauss_s5_T100"),
    pytest.param(Gaussian(50.0) * 10000, "add_remove", 1e-06, 10.9971512141, 10.9971512143, id="g03_gauss_s50_T10000"),
    pytest.param(Gaussian(1.0), "add_remove", 1e-12, 7.23849442011, 7.23849442025, id="g05_gauss_s1_T1_d1e-12"),
    pytest.param(Laplace(1.0), "add_remove", 1e-05, 0.999979999899, 0.999979999901, id="l01_lap_b1_T1"),
    pytest.param(Laplace(10.0) * 100, "add_remove", 1e-05, 4.22034723, 4.22034738, id="l02_lap_b10_T100"),
    pytest.param(
        Poisson(Gaussian(1.0), 0.01) * 1000, "add_remove", 1e-05, 1.828236666, 1.828236668, id="s01_q.01_s1_T1000"
    ),
    pytest.param(
        Poisson(Gaussian(0.6), 0.001) * 100000, "add_remove", 1e-06, 6.960843882, 6.960843886, id="s03_q1e-3_s.6_T1e5"
    ),
    pytest.param(
        Poisson(Gaussian(0.8), 0.0001) * 1000000, "add_remove", 1e-08, 1.00176938, 1.0017695, id="s04_q1e-4_s.8_T1e6"
    ),
    pytest.param(
        Poisson(Gaussian(0.3), 0.01) * 1000,
        "add_remove",
        1e-05,
        69.81571071253,
        69.81571071339,
        id="s05_q.01_s.3_T1000_large",
    ),
    pytest.param(
        Poisson(Gaussian(4.0), 0.0001) * 1000,
        "add_remove",
        1e-06,
        0.002154853478737,
        0.002154853479053,
        id="s07_q1e-4_s4_T1000_tinyeps",
    ),
    pytest.param(Poisson(Gaussian(1.0), 0.01), "add_remove", 1e-06, 0.3639478393, 0.3639478401, id="s08_q.01_s1_T1"),
    pytest.param(
        Poisson(Gaussian(10.0), 1.0) * 1000, "add_remove", 1e-05, 17.8565868299, 17.8565868303, id="s09_q1_s10_T1000"
    ),
    pytest.param(
        Poisson(Gaussian(4.0), 0.00033) * 10000,
        "add_remove",
        1.1e-18,
        0.06721361410515,
        0.06721361410777,
        id="s11_q3.3e-4_s4_T1e4_d1e-18_prv17",
    ),
    pytest.param(
        Gaussian(2.0) * 10 + Laplace(10.0) * 50 + Poisson(Gaussian(1.0), 0.01) * 1000,
        "add_remove",
        1e-05,
        8.64759635,
        8.64759636,
        id="h01_gauss+lap+sgauss",
    ),
    pytest.param(
        Approximate(0.1, 1e-08, "add_remove") * 100,
        "add_remove",
        1e-05,
        4.32963671358,
        4.32963671445,
        id="k01_eps.1_d1e-8_k100",
    ),
    pytest.param(
        Approximate(0.1, 0.0, "add_remove") * 1000,
        "add_remove",
        1e-06,
        19.3446714461,
        19.3446714499,
        id="k02_eps.1_k1000",
    ),
    pytest.param(Gaussian(1.0) * 10, "replace_one", 1e-05, 46.2112101908, 46.2112101917, id="r01_gauss_s1_T10_replace"),
    pytest.param(
        Poisson(Gaussian(1.0), 0.01) * 1000,
        "replace_one",
        1e-05,
        2.843440258,
        2.84344026,
        id="r02_q.01_s1_T1000_replace",
    ),
    pytest.param(
        Poisson(Laplace(1.0), 0.1) * 100, "add_remove", 1e-05, 4.152300791566, 4.152300791592, id="x01_slap_q.1_b1_T100"
    ),
    pytest.param(
        Poisson(Gaussian(2.387), 0.006224) * 2060,
        "add_remove",
        6.383e-09,
        0.64326647752999,
        0.6432664775391719,
        id="rnd00",
    ),
    pytest.param(
        Poisson(Gaussian(2.054), 0.003226) * 5345,
        "add_remove",
        4.266e-07,
        0.5225889221526668,
        0.522588922174126,
        id="rnd01",
    ),
    pytest.param(
        Poisson(Gaussian(3.558), 0.001388) * 29700,
        "add_remove",
        5.173e-08,
        0.31083469950485476,
        0.3108346995638265,
        id="rnd02",
    ),
    pytest.param(
        Poisson(Gaussian(1.985), 0.001785) * 33,
        "replace_one",
        1.871e-05,
        0.026667937149759943,
        0.026667937149962958,
        id="rnd03",
    ),
    pytest.param(
        Poisson(Gaussian(3.001), 0.006892) * 7727 + Poisson(Gaussian(0.9326), 0.02246) * 9577 + Gaussian(18.77) * 12,
        "add_remove",
        1.831e-07,
        21.544687436528804,
        21.544687438061374,
        id="rnd04",
    ),
    pytest.param(
        Gaussian(9.146) * 6 + Laplace(11.09) * 83 + Poisson(Gaussian(0.9818), 0.004737) * 876,
        "add_remove",
        5.84e-08,
        4.589877548267697,
        4.5898775482929235,
        id="rnd05",
    ),
    pytest.param(
        Poisson(Gaussian(1.64), 0.002802) * 212,
        "add_remove",
        4.24e-06,
        0.09822987329867726,
        0.09822987330409508,
        id="rnd06",
    ),
    pytest.param(
        Poisson(Gaussian(2.246), 0.002809) * 7239,
        "add_remove",
        2.745e-05,
        0.3584155715637314,
        0.35841557159711845,
        id="rnd07",
    ),
    pytest.param(
        Poisson(Gaussian(0.5494), 0.004332) * 1688,
        "add_remove",
        3.765e-10,
        11.239633349406576,
        11.239633349536643,
        id="rnd08",
    ),
    pytest.param(
        Poisson(Gaussian(1.448), 0.003154) * 27,
        "replace_one",
        4.94e-08,
        0.11434022817294119,
        0.11434023231509559,
        id="rnd09",
    ),
]
ATOMS = ("l0", "k0", "x01")


@pytest.mark.parametrize(("event", "adjacency", "delta", "low", "high"), GOLDEN)
def test_brackets_meet_the_golden_ones_and_are_narrow(
    event: Event, adjacency: str, delta: float, low: float, high: float, request: pytest.FixtureRequest
) -> None:
    lower, upper = account(event, adjacency).epsilon_bracket(delta)
    assert lower <= high
    assert upper >= low
    atoms = any(f"[{prefix}" in request.node.name for prefix in ATOMS)
    assert upper - lower <= (1e-5 if atoms else 1e-6) * upper


@pytest.mark.parametrize(("event", "adjacency", "delta", "low", "high"), GOLDEN)
def test_delta_at_the_golden_epsilon_is_the_golden_delta(
    event: Event, adjacency: str, delta: float, low: float, high: float
) -> None:
    profile = account(event, adjacency)
    assert profile.delta_bracket(high * (1 + 1e-9))[0] <= delta
    assert profile.delta_bracket(low * (1 - 1e-9))[1] >= delta


def test_one_sampled_step_in_both_directions() -> None:
    """T22, golden psg_single (quadrature): remove .0184719, add 7.5267e-6."""
    from dperm.accounting.laws.subsampled_gaussian import SubsampledGaussianLoss
    from dperm.privacy.adjacency import Direction

    remove = SubsampledGaussianLoss(0.1, 1.0, Direction.REMOVE).delta(0.1)
    add = SubsampledGaussianLoss(0.1, 1.0, Direction.ADD).delta(0.1)
    assert remove == pytest.approx(0.01847193068806207, rel=1e-9)
    assert add == pytest.approx(7.526744981031049e-06, rel=1e-6)


def test_adding_can_be_worse_than_removing_for_laplace_noise() -> None:
    """T22: Laplace b=1, q=.7, T=2, eps=.2183: add .27737 > remove .24885; the code composes both."""
    low, high = account(Poisson(Laplace(1.0), 0.7) * 2, "add_remove").delta_bracket(0.2183)
    assert low == pytest.approx(0.27737, abs=5e-6)
    assert high == pytest.approx(0.27737, abs=5e-6)


def test_sampling_without_replacement_composes_by_the_splice() -> None:
    """T24, golden wor_pld: q=.1, m0=1 (noise multiplier 2), T=10."""
    profile = account(WithoutReplacement(Gaussian(2.0), 0.1) * 10, "replace_one")
    assert profile.delta(1.0) == pytest.approx(0.0090047182, rel=1e-5)
    assert profile.delta(2.0) == pytest.approx(0.00029104311, rel=1e-5)
    assert profile.epsilon(1e-5) == pytest.approx(2.92525889, rel=1e-6)
    single = account(WithoutReplacement(Gaussian(2.0), 0.1), "replace_one")
    assert single.delta(0.5) == pytest.approx(0.0020325369203403566, rel=1e-9)


def test_replacing_a_record_has_twice_the_sensitivity() -> None:
    """T6, T25: golden r01; dp-accounting's RDP accountant reports the add/remove value 19.05 here."""
    assert account(Gaussian(1.0) * 10, "replace_one").epsilon(1e-5) == pytest.approx(46.21121019, rel=1e-9)
    assert account(Gaussian(2.0) * 10, "replace_one").epsilon(1e-5) == account(
        Gaussian(1.0) * 10, "add_remove"
    ).epsilon(1e-5)


@pytest.mark.parametrize(
    ("rate", "sigma", "steps", "tight", "delta_at_one"),
    [
        (0.01, 1.0, 1000, 1.8282436461219649, 0.0026124968063568625),
        (0.1, 2.0, 100, 2.3374001924370993, 0.011497877567278157),
    ],
)
def test_composed_steps_agree_with_another_discretisation(
    rate: float, sigma: float, steps: int, tight: float, delta_at_one: float
) -> None:
    """T22, golden pld_poisson (dp-accounting 0.6.0, connect-the-dots, interval 1e-4): pessimistic by up to 1e-5."""
    profile = account(Poisson(Gaussian(sigma), rate) * steps, "add_remove")
    assert tight * (1 - 1e-5) <= profile.epsilon(1e-5) <= tight
    assert delta_at_one * (1 - 1e-4) <= profile.delta(1.0) <= delta_at_one
