# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Numbers of runs have exactly the laws of T80.

Exactness is tested from both sides: the digits of U are scripted to agree with a border of the distribution function
for 320 bits, and to lie below or above it from there on. Level of the statistics: see conftest.py.
"""

import mpmath as mp
import numpy as np
import pytest

from dperm.accounting import Runs
from dperm.errors import ParameterError
from dperm.mechanisms import draw_runs
from dperm.noise import NotPrivateBits
from dperm.noise.run_counts import CHUNK, negative_binomial_runs, poisson_runs

DEEP = 5
LAWS = [
    Runs.geometric(mean=10),
    Runs.logarithmic(mean=4),
    Runs.negative_binomial(-0.5, 0.05),
    Runs.negative_binomial(2.5, 0.3),
    Runs.negative_binomial(-1e-9, 0.2),
    Runs.negative_binomial(100.0, 0.2),
    Runs.poisson(0.3),
    Runs.poisson(7.5),
]


def cdf(runs, count):
    """P(K <= count) from the definitions, to the working precision of mpmath."""
    fields = runs.fields()
    if fields["law"] == "poisson":
        mean = mp.mpf(fields["mean"])
        return mp.fsum(mp.exp(-mean) * mean**k / mp.factorial(k) for k in range(count + 1))
    eta, gamma = mp.mpf(fields["eta"]), mp.mpf(fields["gamma"])
    total, term = mp.mpf(0), mp.mpf(1)
    for k in range(1, count + 1):
        term = (1 - gamma) if k == 1 else term * (1 - gamma) * (k - 1 + eta) / k
        total += term
    first = eta / (gamma**-eta - 1) if eta else 1 / mp.log(1 / gamma)
    return total * first


@pytest.mark.parametrize("runs", LAWS, ids=str)
@pytest.mark.parametrize("count", [1, 3, 40])
def test_a_uniform_number_beside_a_border_is_decided_by_its_digits(runs, count, scripted):
    """T80: U just below P(K <= k) gives at most k, and U just above gives k + 1."""
    with mp.workdps(140):
        border = cdf(runs, count)
        if border > 1 - mp.mpf(2) ** -250 or border < mp.mpf(2) ** -250:
            return
        place = int(mp.floor(border * mp.mpf(2) ** (64 * DEEP)))
    for number, expected in ((place - 1, count), (place + 1, count + 1)):
        words = [(number >> (64 * k)) & (2**64 - 1) for k in reversed(range(DEEP))]
        assert draw_runs(runs, scripted(words)) == expected


@pytest.mark.parametrize("runs", LAWS[:4] + LAWS[6:], ids=str)
def test_counts_have_their_probabilities(runs, statistics):
    """T80: Pearson's statistic over 4000 draws."""
    stream, size = NotPrivateBits(811).stream(), 4000
    drawn = np.bincount([draw_runs(runs, stream) for _ in range(size)], minlength=400)
    expected = np.array([runs.probability(k) for k in range(len(drawn))])
    expected[-1] += 1 - expected.sum()
    assert statistics.chi_square_tail(*statistics.merged(drawn, size * expected)) > statistics.level


def test_large_poisson_means_are_sums(statistics):
    """A mean above the largest part: the sum of independent samples has the law of the whole mean."""
    mean, stream, size = 2.5 * CHUNK, NotPrivateBits(812).stream(), 1500
    drawn = np.bincount([poisson_runs(mean, stream) for _ in range(size)], minlength=400)
    expected = np.array([Runs.poisson(mean).probability(k) for k in range(len(drawn))])
    expected[-1] += 1 - expected.sum()
    assert statistics.chi_square_tail(*statistics.merged(drawn, size * expected)) > statistics.level


def test_exactly_one_run_reads_no_bits():
    assert draw_runs(Runs.geometric(mean=1), None) == 1


@pytest.mark.parametrize(
    "draw",
    [
        lambda stream: negative_binomial_runs(-1.0, 0.1, stream),
        lambda stream: negative_binomial_runs(1.0, 0.0, stream),
        lambda stream: poisson_runs(-1.0, stream),
        lambda stream: draw_runs(10, stream),
    ],
)
def test_invalid_parameters_are_refused_before_any_bit(draw):
    with pytest.raises(ParameterError):
        draw(None)
