# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Clopper-Pearson bounds: golden numbers, exact tails, edges and huge counts."""

import mpmath
import numpy as np
import pytest

from dperm.audit.intervals import clopper_pearson_lower, clopper_pearson_upper
from dperm.errors import ParameterError


def exact_cdf(k: int, n: int, p: float) -> mpmath.mpf:
    """P(Bin(n, p) <= k) to fifty digits, term by term."""
    with mpmath.workdps(50):
        p = mpmath.mpf(p)
        term = total = mpmath.exp(n * mpmath.log1p(-p))
        for j in range(k):
            term *= mpmath.mpf(n - j) / (j + 1) * p / (1 - p)
            total += term
        return total


def test_the_golden_bounds():
    assert clopper_pearson_lower(90, 100, 0.05) == pytest.approx(0.8362823767241852, rel=4e-15)
    assert clopper_pearson_upper(10, 100, 0.05) == pytest.approx(0.16371762327581477, rel=4e-15)


@pytest.mark.parametrize(
    ("k", "n"), [(k, n) for n in (1, 7, 100, 10**6, 10**9, 10**12) for k in (0, 1, 2, 5, 30, 200) if k <= n]
)
@pytest.mark.parametrize("alpha", [0.05, 0.025, 1e-7, 0.9])
def test_the_tails_at_the_bounds_are_alpha_and_no_more(k, n, alpha):
    low, high = float(clopper_pearson_lower(k, n, alpha)), float(clopper_pearson_upper(k, n, alpha))
    least = alpha * (1 - 1e-9 - 3 * n * 2**-53) - 2e-15
    if k > 0:
        assert least <= 1 - exact_cdf(k - 1, n, low) <= alpha * (1 + 1e-15)
    if k < n:
        assert least <= exact_cdf(k, n, high) <= alpha * (1 + 1e-15)


@pytest.mark.parametrize("n", [1, 5, 100, 10**9, 10**12])
def test_no_success_and_nothing_but_successes(n):
    assert clopper_pearson_lower(0, n, 0.05) == 0
    assert clopper_pearson_upper(n, n, 0.05) == 1
    assert clopper_pearson_lower(n, n, 0.05) == pytest.approx(0.05 ** (1 / n), rel=1e-14 + 1e-15 * n)
    assert clopper_pearson_upper(0, n, 0.05) == pytest.approx(-np.expm1(np.log(0.05) / n), rel=1e-14 + 1e-15 * n)
    assert clopper_pearson_lower(n, n, 0.05) < 1


def test_without_trials_nothing_is_known():
    assert clopper_pearson_lower(0, 0, 0.05) == 0
    assert clopper_pearson_upper(0, 0, 0.05) == 1


def test_the_bounds_mirror_each_other_and_broadcast():
    k = np.arange(31)
    low, high = clopper_pearson_lower(k, 30, 0.05), clopper_pearson_upper(30 - k, 30, 0.05)
    assert low.shape == (31,)
    np.testing.assert_allclose(low, 1 - high, atol=1e-14)
    assert (np.diff(low) > 0).all()
    assert clopper_pearson_lower(k[:, None], [30, 40], [0.01, 0.05]).shape == (31, 2)


def test_halves_of_a_trillion():
    low, high = clopper_pearson_lower(5 * 10**11, 10**12, 0.05), clopper_pearson_upper(5 * 10**11, 10**12, 0.05)
    assert 0.5 - low == pytest.approx(1.6448536 / 2e6, rel=1e-3)
    assert high - 0.5 == pytest.approx(1.6448536 / 2e6, rel=1e-3)


@pytest.mark.parametrize(
    ("k", "n", "alpha", "word"),
    [
        (-1, 5, 0.1, "successes"),
        (6, 5, 0.1, "successes"),
        (0.5, 5, 0.1, "integers"),
        (1, 5, 0, "alpha"),
        (1, 5, 1, "alpha"),
        ("a", 5, 0.1, "successes"),
        (1, ["b"], 0.1, "trials"),
        (np.nan, 5, 0.1, "successes"),
        (1, 5, "c", "alpha"),
        (1, 5, None, "alpha"),
    ],
    ids=["negative", "more", "half", "alpha 0", "alpha 1", "text", "texts", "nan", "alpha text", "no alpha"],
)
def test_nonsense_is_refused(k, n, alpha, word):
    for bound in (clopper_pearson_lower, clopper_pearson_upper):
        with pytest.raises(ParameterError, match=word):
            bound(k, n, alpha)
