# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Normals by torch: the law and the words of `dperm.noise.single_precision`."""

import numpy as np
import pytest

from dperm.noise.simulation import NotPrivateBits
from dperm.noise.single_precision import floating_gaussian
from dperm.torch import gaussian
from dperm.torch.gaussian import floating_pool, torch_gaussian

pytestmark = pytest.mark.usefixtures("both_ways")


@pytest.mark.parametrize("size", [0, 1, 2, 7, 1000, 65_536])
def test_numbers_are_those_of_the_noise_package(size):
    found, truth = (draw(size, NotPrivateBits(3).stream()) for draw in (torch_gaussian, floating_gaussian))
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, truth, atol=2e-5)


class Scripted:
    """Words that are given."""

    def __init__(self, words: list[int]) -> None:
        self.held = words

    def words(self, count: int) -> np.ndarray:
        return np.array(self.held[:count], dtype=np.uint64)


@pytest.mark.parametrize("word", [0, 2**32 - 1, 2**31, 2**64 - 1])
def test_the_ends_of_the_words_are_finite(word):
    """The smallest of them is the longest normal, of 6.76 deviations."""
    found = torch_gaussian(2, Scripted([word]))
    assert np.isfinite(found).all()
    assert np.hypot(*found) <= 6.764
    assert np.hypot(*torch_gaussian(2, Scripted([0]))) == pytest.approx(6.7637, abs=1e-3)


def test_blocks_are_drawn_one_after_the_other(monkeypatch):
    monkeypatch.setattr(gaussian, "BLOCK", 8)
    found = torch_gaussian(100, NotPrivateBits(3).stream())
    assert len(np.unique(found)) == 100
    assert found[:16] == pytest.approx(torch_gaussian(16, NotPrivateBits(3).stream()))


def test_moments_of_many():
    """Of 2^19 numbers in two blocks: 5 deviations of each mean."""
    found = torch_gaussian(2**19, NotPrivateBits(5).stream()).astype(np.float64)
    halves = found.reshape(2, -1)
    assert abs(found.mean()) < 5 * 2**-9.5
    assert abs((found**2).mean() - 1) < 5 * 2**-9
    assert abs((halves[0] * halves[1]).mean()) < 5 * 2**-9


def test_a_stream_has_one_pool():
    stream = NotPrivateBits(1).stream()
    assert floating_pool(stream) is floating_pool(stream)
    assert not set(floating_pool(stream).take(50)) & set(floating_pool(stream).take(50))
