# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""The made-up data are what the lecture says: on the sphere, with a margin, or with noise in a strip."""

import numpy as np
import pytest

from dperm.reproduce.spheres import SETS, separable, unseparable

BOTH = pytest.mark.parametrize("make", SETS.values(), ids=SETS)


@BOTH
def test_rows_have_norm_one_and_cover_the_sphere(make):
    sample = make(4000, 10, 0)
    assert len(sample) == 4000 and sample.rows.shape == (4000, 10)
    assert np.linalg.norm(sample.rows, axis=1) == pytest.approx(1)
    assert np.abs(sample.rows[:, 1:].mean(axis=0)).max() < 0.025  # five standard errors
    assert (sample.rows**2).mean(axis=0) == pytest.approx(0.1, abs=0.012)
    assert set(sample.labels) == {-1, 1}


def test_the_separable_set_has_a_margin_and_no_wrong_label():
    sample = separable(4000, 10, 0)
    distances = sample.rows[:, 0] * sample.labels
    assert distances.min() >= 0.03 and distances.min() < 0.031
    assert sample.error(np.eye(10)[0]) == 0.0


def test_the_other_set_has_a_fifth_of_the_labels_wrong_in_the_strip_and_none_elsewhere():
    sample = unseparable(40_000, 10, 0)
    in_strip = np.abs(sample.rows[:, 0]) < 0.1
    is_wrong = sample.rows[:, 0] * sample.labels < 0
    assert not is_wrong[~in_strip].any()
    assert is_wrong[in_strip].mean() == pytest.approx(0.2, abs=0.02)
    assert sample.error(np.eye(10)[0]) == is_wrong.mean() == pytest.approx(0.047, abs=0.006)


@BOTH
def test_a_seed_gives_the_same_data_and_another_seed_others(make):
    assert np.array_equal(make(50, 3, 1).rows, make(50, 3, 1).rows)
    assert not np.array_equal(make(50, 3, 1).rows, make(50, 3, 2).rows)


def test_a_part_of_a_sample_is_bounded_data():
    part = separable(50, 3, 1).at(slice(10, 30))
    data = part.bounded()
    assert (data.rows, data.space.radius) == (20, pytest.approx(1.0))
    assert part.error(np.zeros(3)) == 1.0  # who predicts nothing is wrong
