# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""T59, T61: the exponential mechanism over a finite class, against exact laws and golden numbers; E25 is too small."""

import itertools
import math
from fractions import Fraction

import mpmath as mp
import numpy as np
import pytest
from scipy.special import logsumexp

from dperm import PureDP
from dperm.errors import DpermError, ParameterError
from dperm.mechanisms.releases import Threshold
from dperm.theory import finite_class_empirical_gap, finite_class_excess_risk, finite_class_sample_size

REPLACE, ADD = {"adjacency": "replace_one"}, {"adjacency": "add_remove"}
GOLDEN = {"epsilon": 0.5, "beta": 0.05}


def law(losses, rate):
    """The exponential mechanism's probabilities for sums of losses (T8)."""
    return np.exp(-rate * losses - logsumexp(-rate * losses))


def test_the_golden_numbers():  # expmech_finite
    gap = finite_class_empirical_gap(1000, 5000, **GOLDEN, **REPLACE)
    risk = finite_class_excess_risk(1000, 5000, **GOLDEN, **REPLACE)
    assert gap == pytest.approx(0.007922790042028902, rel=1e-12)
    assert risk.deviation == pytest.approx(0.03360027070375478, rel=1e-12)
    assert risk.bound == pytest.approx(0.07567784919398642, rel=1e-12)
    assert risk.bound == pytest.approx(2 * risk.deviation + risk.selection, rel=1e-12)


@pytest.mark.parametrize(("relation", "factor"), [(REPLACE, 2), (ADD, 1)])
def test_the_empirical_gap_is_that_of_a_threshold_on_a_grid(relation, factor):  # T61: against the release itself
    n, points, epsilon, beta = 5000, 1000, 0.5, 0.05
    gap = finite_class_empirical_gap(points, n, epsilon=epsilon, beta=beta, **relation)
    assert gap == pytest.approx(factor * (math.log(points) + math.log(1 / beta)) / (n * epsilon), rel=1e-12)
    threshold = Threshold(PureDP(epsilon, **relation), bounds=(0.0, 1.0))
    gap = finite_class_empirical_gap(threshold.candidates, n, epsilon=epsilon, beta=beta, **relation)
    assert gap == pytest.approx(threshold.error_bound(beta) / n, rel=1e-12)


def test_under_add_remove_the_mechanism_costs_half():
    one, other = (finite_class_excess_risk(1000, 5000, **GOLDEN, **relation) for relation in (REPLACE, ADD))
    assert one.selection == pytest.approx(2 * other.selection, rel=1e-12)
    assert one.deviation == other.deviation


@pytest.mark.parametrize(("adjacency", "rate"), [("replace_one", 0.4), ("add_remove", 0.8)])
@pytest.mark.parametrize("beta", [0.3, 0.02])
def test_the_empirical_gap_holds_for_every_small_profile_of_losses(adjacency, rate, beta):
    """T59, T8: P(excess > gap) <= beta, by enumeration of the sums of losses of all hypotheses."""
    n, hypotheses = 20, 4
    gap = n * finite_class_empirical_gap(hypotheses, n, epsilon=0.8, beta=beta, adjacency=adjacency)
    for losses in itertools.product(range(0, n + 1, 2), repeat=hypotheses - 1):
        sums = np.array([0.0, *losses])
        assert law(sums, rate)[sums > gap].sum() <= beta


@pytest.mark.parametrize("hypotheses", [100, 10_000])
@pytest.mark.parametrize("beta", [0.1, 1e-3])
def test_the_empirical_gap_is_nearly_attained(hypotheses, beta):
    """One good hypothesis, all others worse by just under the gap: one of those is chosen with more than 0.9 beta."""
    n, rate = 1000, 0.25
    gap = n * finite_class_empirical_gap(hypotheses, n, epsilon=0.5, beta=beta, **REPLACE)
    sums = np.full(hypotheses, gap * (1 - 1e-9))
    sums[0] = 0.0
    assert 0.9 * beta <= law(sums, rate)[1:].sum() <= beta * (1 + 1e-6)
    assert law(0.5 * sums, rate)[1:].sum() > 2 * beta  # half of the gap, the factor 2 dropped, fails


def exact_failure(n, risks, rate, bound):
    """P(risk of the choice > bound + least risk), two hypotheses with independent 0-1 losses: all pairs of counts."""
    counts = np.arange(n + 1)
    choose = np.array([math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1) for k in counts])
    pmf = [
        np.exp(choose + counts * math.log(p) + (n - counts) * math.log1p(-p)) if p > 0 else (counts == 0) * 1.0
        for p in risks
    ]
    worse = 1 / (1 + np.exp(rate * (counts[None, :] - counts[:, None])))  # P(the second is chosen)
    return float((pmf[0][:, None] * pmf[1][None, :] * worse).sum()) if risks[1] - risks[0] > bound else 0.0


@pytest.mark.parametrize("realizable", [False, True])
@pytest.mark.parametrize("n", [30, 200])
def test_the_excess_risk_holds_for_pairs_of_hypotheses(n, realizable):
    """T59 by exact binomial laws: whatever the two risks, the bound fails with probability at most beta."""
    worst = 0.0
    for epsilon, beta in itertools.product((0.3, 2.0), (0.05, 0.4)):
        bound = finite_class_excess_risk(2, n, epsilon=epsilon, beta=beta, realizable=realizable, **REPLACE).bound
        for best, second in itertools.product((0.0,) if realizable else (0.0, 0.1, 0.4), np.linspace(0.01, 0.99, 50)):
            failure = exact_failure(n, (best, second), epsilon / 2, bound)
            assert failure <= beta
            worst = max(worst, failure)
    assert worst > 0  # the bound is reached somewhere: the check can fail


def test_in_the_realizable_case_a_fraction_of_the_bound_fails():
    """Two-sided: many hypotheses at a quarter of the bound, one of which is chosen more often than not."""
    n, hypotheses, beta = 2000, 10_000, 0.05
    risk = finite_class_excess_risk(hypotheses, n, epsilon=1.0, beta=beta, realizable=True, **REPLACE)
    assert risk.bound <= 2 * (risk.deviation + risk.selection) * (1 + 1e-12)
    rng = np.random.default_rng(59)
    sums = rng.binomial(n, risk.bound / 4, hypotheses).astype(float)
    sums[0] = 0.0
    assert law(sums, 0.5)[1:].sum() > 5 * beta


def test_the_realizable_bound_is_the_root_of_its_inequality():
    """R - sqrt(2 R D) = G at the bound; n times it is constant: the order is ln(H/beta)/n, not its root."""
    for n in (10**4, 10**8):
        risk = finite_class_excess_risk(1000, n, **GOLDEN, realizable=True, **REPLACE)
        assert risk.bound - math.sqrt(2 * risk.bound * risk.deviation) == pytest.approx(risk.selection, rel=1e-9)
        assert risk.bound * n == pytest.approx(84.773, rel=1e-4)
        assert risk.bound < finite_class_excess_risk(1000, n, **GOLDEN, **REPLACE).bound


@pytest.mark.parametrize("realizable", [False, True])
@pytest.mark.parametrize("relation", [REPLACE, ADD])
def test_the_sample_size_is_the_smallest(realizable, relation):
    public = {**GOLDEN, **relation, "realizable": realizable}
    for excess in (0.3, 0.07567784919398642 * (1 + 1e-9)):
        n = finite_class_sample_size(1000, excess, **public)
        assert finite_class_excess_risk(1000, n, **public).bound <= excess
        assert finite_class_excess_risk(1000, n - 1, **public).bound > excess
    if not realizable and relation is REPLACE:
        assert n == 5000


def test_bounds_are_rounded_up_and_never_above_one():
    with mp.workdps(40):
        for hypotheses, n, epsilon, beta in [(3, 7, 0.1, 0.5), (10**6, 10**5, 3.0, 1e-9), (1000, 5000, 0.5, 0.05)]:
            size = mp.log(mp.mpf(4 * hypotheses) / mp.mpf(beta))
            half = mp.log(mp.mpf(2 * hypotheses) / mp.mpf(beta))
            exact = 2 * mp.sqrt(size / (2 * n)) + 2 * half / (n * mp.mpf(epsilon))
            risk = finite_class_excess_risk(hypotheses, n, epsilon=epsilon, beta=beta, **REPLACE)
            assert min(exact, 1) <= risk.bound <= min(exact, 1) * (1 + mp.mpf(10) ** -13)
    assert finite_class_excess_risk(1000, 1, **GOLDEN, **REPLACE).bound == 1.0


def test_a_rate_of_the_table_without_its_factor_two_is_too_small():  # E25
    """The table's log(H/beta)/(n eps) for the mechanism: exceeded with far more than beta."""
    n, hypotheses = 1000, 10_000
    printed = math.log(hypotheses / 0.05) / (n * 0.5)
    sums = np.full(hypotheses, n * printed * (1 + 1e-9))
    sums[0] = 0.0
    assert law(sums, 0.25)[1:].sum() > 0.9


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("hypotheses", {"hypotheses": 0}),
        ("hypotheses", {"hypotheses": 2.5}),
        ("n", {"n": 0}),
        ("epsilon", {"epsilon": 0.0}),
        ("epsilon", {"epsilon": math.inf}),
        ("beta", {"beta": 0.0}),
        ("beta", {"beta": 1.0}),
        ("beta", {"beta": "0.1"}),
        ("adjacency", {"adjacency": "both"}),
        ("realizable", {"realizable": 1}),
    ],
)
def test_a_wrong_argument_is_refused_by_its_name(name, change):
    arguments = {"hypotheses": 10, "n": 10, **GOLDEN, **REPLACE, **change}
    with pytest.raises(DpermError, match=f"^{name} "):
        finite_class_excess_risk(**arguments)


def test_an_excess_that_no_number_of_records_reaches_is_refused():
    with pytest.raises(ParameterError, match="excess must be reachable"):
        finite_class_sample_size(10, 1e-20, **GOLDEN, **REPLACE)
    with pytest.raises(ParameterError, match=r"^excess "):
        finite_class_sample_size(10, 0.0, **GOLDEN, **REPLACE)


def covers_the_law(module):
    n, hypotheses, beta = 1000, 10_000, 0.05
    for adjacency, rate in (("replace_one", 0.25), ("add_remove", 0.5)):
        risk = module.finite_class_excess_risk(hypotheses, n, epsilon=0.5, beta=beta, adjacency=adjacency)
        sums = np.full(hypotheses, n * risk.selection * (1 + 1e-9))
        sums[0] = 0.0
        assert law(sums, rate)[1:].sum() <= beta / 2 * (1 + 1e-6)
        assert Fraction(risk.bound) >= 2 * Fraction(risk.deviation) + Fraction(risk.selection)
        assert 2 * hypotheses * math.exp(-2 * n * risk.deviation**2) <= beta / 2 * (1 + 1e-9)  # Hoeffding


MUTANTS = {
    "the factor 2 is dropped": ("else epsilon / 2", "else epsilon"),
    "beta is spent twice": ("epsilon=epsilon, beta=beta / 2, adjacency", "epsilon=epsilon, beta=beta, adjacency"),
    "one side of the deviation": ("total = 2 * deviation + selection", "total = deviation + selection"),
    "a union over half the events": ("beta / 4", "beta / 2"),
}


@pytest.mark.parametrize("name", MUTANTS)
def test_unsafe_mutants_die(name, assert_killed):
    old, new = MUTANTS[name]
    assert_killed(covers_the_law, "dperm.theory.finite_class", old, new)
