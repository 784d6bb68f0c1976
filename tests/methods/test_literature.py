# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Published calibrations against their golden numbers: T35, T36, T38, T45."""

import pytest

from dperm.accounting.objective import objective_delta, objective_noise_multiplier
from dperm.errors import AdjacencyError, AssumptionError, ParameterError
from dperm.methods import constants, published
from dperm.methods.literature import (
    dpgd_sigma,
    dpgd_slide_sigma,
    jmlr11,
    kifer_smith_thakurta,
    nips08_algorithm_2,
)
from dperm.privacy.gaussian_profile import epsilon_bracket
from dperm.sensitivity import output_sensitivity


@pytest.mark.parametrize(
    ("lam", "epsilon", "left", "added"),
    [
        (0.01, 0.1, 0.05, 9.865520827908068),
        (1.0, 1.0, 0.5537128973715805, 0.0),
        (1.0, 0.1, 0.05, 8.875520827908067),
    ],
)
def test_jmlr11(lam, epsilon, left, added):
    """T36, golden jmlr11_*: n = 1, c = 1/4."""
    assert jmlr11(1, lam, epsilon, 0.25) == (pytest.approx(left, rel=1e-12), pytest.approx(added, rel=1e-12))


def test_kifer_smith_thakurta():
    """T38, golden kst: epsilon = 1, delta = 1e-5, beta = 1/4, L = 1; replace-one doubles L."""
    strength, sigma = kifer_smith_thakurta(1.0, 1e-5, lipschitz=1.0, smoothness=0.25)
    assert strength == 0.5
    assert sigma == pytest.approx(10.08209210254704, rel=1e-12)
    replaced = kifer_smith_thakurta(1.0, 1e-5, lipschitz=1.0, smoothness=0.25, adjacency="replace_one")
    assert replaced == (0.5, pytest.approx(2 * sigma))


def test_kifer_smith_thakurta_is_valid_and_wasteful():
    """T38 against T39 (delta 4.3e-11 at a claimed 1e-5) and T40 (sigma = 6.000)."""
    strength, sigma = kifer_smith_thakurta(1.0, 1e-5, lipschitz=1.0, smoothness=0.25)
    found = objective_delta(1.0, sigma, 0.25 / strength, "add_remove", monotone=False)
    assert found == pytest.approx(4.327110197486985e-11, rel=1e-6)
    assert objective_noise_multiplier(1.0, 1e-5, 0.5, "add_remove") == pytest.approx(5.999662673551357, rel=1e-9)


def test_the_slide_of_gradient_descent():
    """T45, golden dpgd_sigma."""
    given = {"steps": 100, "n": 10_000, "lipschitz": 1.0}
    slide, exact = dpgd_slide_sigma(0.5, 1e-5, **given), dpgd_sigma(0.5, 1e-5, **given)
    assert slide == pytest.approx(0.2616190325300112, rel=1e-12)
    assert exact == pytest.approx(0.014063653351165014, rel=1e-9)
    assert slide / exact == pytest.approx(18.602494387302215, rel=1e-9)
    mu = 2 * 10 / (10_000 * slide)
    assert epsilon_bracket(mu, 1e-5)[1] == pytest.approx(0.020169054151954715, rel=1e-9)


def test_the_slide_is_refused_where_its_theorems_end():
    with pytest.raises(AssumptionError, match="epsilon < 1"):
        dpgd_slide_sigma(1.0, 1e-5, steps=100, n=10_000, lipschitz=1.0)


def test_algorithm_2_of_2008_is_refused_with_its_counterexample():
    """T35."""
    with pytest.raises(AssumptionError, match=r"T35.*0\.1 claimed.*1\.2285.*T36a"):
        nips08_algorithm_2(1, 0.1)


@pytest.mark.parametrize("bad", [-1.0, 0.0, float("nan"), "1"])
def test_nonsense_is_refused(bad):
    with pytest.raises(ParameterError, match="epsilon"):
        jmlr11(1, 0.1, bad, 0.25)
    with pytest.raises(ParameterError, match="epsilon"):
        kifer_smith_thakurta(bad, 1e-5, lipschitz=1.0, smoothness=0.25)
    with pytest.raises(ParameterError, match="lipschitz"):
        dpgd_sigma(1.0, 1e-5, steps=1, n=1, lipschitz=bad)
    with pytest.raises(AdjacencyError):
        kifer_smith_thakurta(1.0, 1e-5, lipschitz=1.0, smoothness=0.25, adjacency="swap")


def test_old_paths_still_work():
    """The calibrations moved from `published`, the sensitivities from `constants`."""
    with pytest.warns(DeprecationWarning, match=r"use dperm\.methods\.literature\.dpgd_sigma"):
        assert published.dpgd_sigma is dpgd_sigma
    with pytest.warns(DeprecationWarning, match=r"use dperm\.sensitivity\.output_sensitivity"):
        assert constants.output_sensitivity is output_sensitivity
    with pytest.raises(AttributeError, match="no attribute 'no_such_name'"):
        published.no_such_name  # noqa: B018
