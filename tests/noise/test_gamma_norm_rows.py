# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Many vectors of gamma-norm noise at once: the law of one (T7), independent."""

import numpy as np
import pytest
from scipy import stats

from dperm.errors import ParameterError
from dperm.noise import NotPrivateBits
from dperm.noise.gamma_norm import gamma_norm, gamma_norm_rows

SCALE = 2.0**40
LEVEL = 1e-4


def rows(count, dim, seed=1, scale=SCALE):
    return gamma_norm_rows(scale, dim, count, NotPrivateBits(seed).stream())


def test_one_row_is_what_the_sampler_draws():
    for dim in (1, 5):
        assert np.array_equal(rows(1, dim)[0], gamma_norm(SCALE, dim, NotPrivateBits(1).stream()))


def test_lengths_and_directions_have_the_law():
    drawn = rows(20_000, 3) / SCALE
    lengths = np.linalg.norm(drawn, axis=1)
    assert stats.kstest(lengths, "gamma", args=(3,)).pvalue > LEVEL
    assert stats.kstest(drawn[:, 0] / lengths, "uniform", args=(-1, 2)).pvalue > LEVEL
    assert stats.kstest(1.05 * lengths, "gamma", args=(3,)).pvalue < LEVEL
    assert abs(np.corrcoef(lengths[1:], lengths[:-1])[0, 1]) < 0.03


def test_in_one_dimension_it_is_laplace_noise():
    assert stats.kstest(rows(20_000, 1)[:, 0] / SCALE, "laplace").pvalue > LEVEL


def test_coarse_grids_and_long_rows_work():
    small = rows(5000, 1, scale=0.5)[:, 0]
    assert (small == 0).mean() == pytest.approx(1 - np.exp(-1), abs=0.03)  # 1 - e^-1/2s
    assert rows(2, 2**10 + 1).shape == (2, 2**10 + 1) and rows(0, 3).shape == (0, 3)


def test_bad_arguments_are_refused():
    for wrong in ((0.0, 1, 5), (1.0, 0, 5), (1.0, 1, -1)):
        with pytest.raises(ParameterError):
            gamma_norm_rows(*wrong, NotPrivateBits(1).stream())
