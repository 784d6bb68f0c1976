# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Work of the accountant, counted rather than timed: contours, lattices and transformed points.

benchmarks/accounting_tail.py measures CPU time on 2,000 random cases.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pytest

from dperm.accounting import Gaussian, Laplace, Poisson, WithoutReplacement, account
from dperm.accounting import engines as accounting_engines
from dperm.accounting.contour import plans
from dperm.accounting.event import Event
from dperm.accounting.lattice import engine as lattice_engine
from dperm.accounting.lattice import spectrum
from dperm.errors import DpermWarning
from dperm.privacy import ApproxDP, explain
from dperm.privacy.profile import tradeoff_from_delta
from dperm.report.curve import Curve
from dperm.sklearn import PrivateLinearRegression

SLOW = (
    Poisson(Gaussian(0.324), 1.14e-5) * 1091
    + Poisson(Gaussian(0.435), 0.0113) * 33
    + Poisson(Gaussian(0.26), 0.0002) * 15
)


@dataclass
class Work:
    """Contours made, lattices made, and points transformed."""

    contours: int = 0
    lattices: int = 0
    points: int = 0


@pytest.fixture
def work(monkeypatch: pytest.MonkeyPatch) -> Iterator[Work]:
    counted = Work()
    make_contour, of, rfft = plans.make_contour, lattice_engine.Round.of, spectrum.fft.rfft

    def contour(*arguments: object) -> object:
        counted.contours += 1
        return make_contour(*arguments)  # type: ignore[arg-type]

    def lattice(*arguments: object) -> object:
        counted.lattices += 1
        return of(*arguments)  # type: ignore[arg-type]

    def transform(values: np.ndarray, *arguments: object, **options: object) -> object:
        counted.points += len(values)
        return rfft(values, *arguments, **options)

    monkeypatch.setattr(plans, "make_contour", contour)
    monkeypatch.setattr(lattice_engine.Round, "of", lattice)
    monkeypatch.setattr(spectrum.fft, "rfft", transform)
    for solve in (accounting_engines.solve_epsilon, accounting_engines.solve_delta):
        getattr(solve, "cache_clear", lambda: None)()
    yield counted


def test_three_rare_sampled_gaussians_take_few_points(work: Work) -> None:
    """0.8.0 took 63 CPU seconds: composing one law on its own lattice had no limit."""
    low, high = account(SLOW, "add_remove").epsilon_bracket(2.3e-10)
    assert low <= 20.0155 <= high <= 20.017  # 0.8.0: 20.0154 .. 20.0167
    assert work.points <= 3_000_000


@pytest.mark.parametrize(
    ("event", "adjacency", "most"),
    [
        (Poisson(Laplace(0.5), 0.01) * 500, "replace_one", 40),  # read through add/remove by T4
        (Gaussian(5.0) * 3 + Laplace(8.0) * 20 + Poisson(Gaussian(0.7), 1e-3) * 2000, "add_remove", 30),
        (WithoutReplacement(Gaussian(1.0), 2e-4) * 24, "replace_one", 40),
        (Poisson(Gaussian(1.0), 0.01) * 1000, "add_remove", 20),
    ],
)
def test_an_explanation_takes_few_contours_and_lattices(event: Event, adjacency: str, most: int, work: Work) -> None:
    """0.8.0 solved for delta at 150 to 10,000 epsilons, one after the other."""
    explain(account(event, adjacency))
    assert work.contours + work.lattices <= most


def test_a_statements_curve_takes_few_contours(work: Work) -> None:
    """With the explanation of the same profile: 147 solved deltas in 0.8.0."""
    profile = account(Poisson(Gaussian(1.0), 0.01) * 1000, "add_remove")
    explain(profile)
    Curve.of(profile)
    assert work.contours + work.lattices <= 20


def test_a_plan_for_a_billion_records_and_a_tiny_epsilon_takes_few_points(work: Work) -> None:
    """Epsilon 1e-9 at delta 1e-6 is nearly flat: a contour's 2.6e-6 is enough, lattices have little to add."""
    model = PrivateLinearRegression(
        epsilon=1e-9, delta=1e-6, method="sgd", feature_norm=1.0, label_range=(0, 1), adjacency="replace_one"
    )
    with pytest.warns(DpermWarning, match="above 1/n"):
        model.plan(n=10**9, dim=20)
    assert work.points <= 2_000_000


@pytest.mark.parametrize("adjacency", ["add_remove", "replace_one"])
def test_curves_agree_with_answers(adjacency: str) -> None:
    """Brackets of the curve and of single answers overlap, and tight ones agree."""
    events = [
        Poisson(Gaussian(1.0), 0.01) * 1000,
        Poisson(Gaussian(0.6), 1e-4) * 50 + Gaussian(4.0),
        Laplace(2.0) * 3,
        Poisson(Laplace(0.5), 0.02) * 40,
        SLOW,
    ]
    for event in events:
        profile = account(event, adjacency)
        curve = profile.curve()
        for delta in (1e-9, 1e-5, 1e-2):
            (low, high), (below, above) = profile.epsilon_bracket(delta), curve.epsilon_bracket(delta)
            assert low <= above * (1 + 1e-12) and below <= high * (1 + 1e-12), (event, delta)
            assert above <= high * 1.02 + 1e-9, (event, delta)
        for epsilon in (0.0, 0.3, 2.0, 15.0, 400.0):
            (low, high), (below, above) = profile.delta_bracket(epsilon), curve.delta_bracket(epsilon)
            assert low <= above and below <= high, (event, epsilon)
            assert above <= 1.1 * high or above <= 1e-12, (event, epsilon)


def test_rates_from_a_curve_are_bounds_and_tight() -> None:
    profile = account(Poisson(Gaussian(1.0), 0.01) * 1000, "add_remove")
    for rate in (1e-4, 1e-2, 0.3):
        exact = tradeoff_from_delta(profile.delta, rate)
        assert exact - 1e-3 <= profile.tradeoff(rate) <= exact + 1e-9
    assert explain(ApproxDP(1.0, 1e-6, "add_remove")).epsilons[0][1] == pytest.approx(1.0, rel=1e-4)


def test_a_curve_takes_the_larger_direction() -> None:
    """T22: Laplace noise, rate .7, two steps, epsilon .2183: adding has .27737, removing .24885 (test_account.py)."""
    low, high = account(Poisson(Laplace(1.0), 0.7) * 2, "add_remove").curve().delta_bracket(0.2183)
    assert low <= 0.27738 and high >= 0.27736
