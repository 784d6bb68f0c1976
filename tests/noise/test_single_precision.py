# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""The grade `fast` (T10): as close to a Gaussian as single precision makes it, and no closer.

That its low-order bits leak is shown in tests/attacks.
"""

import math

import numpy as np
import pytest
from scipy.special import ndtr

from dperm import ApproxDP
from dperm.errors import ParameterError
from dperm.mechanisms import GaussianMechanism
from dperm.noise import NotPrivateBits
from dperm.noise.grade import Grade
from dperm.noise.single_precision import floating_gaussian

GOAL = ApproxDP(1.0, 1e-5, "add_remove")


@pytest.mark.parametrize("size", [400_000, pytest.param(4_000_000, marks=pytest.mark.slow)])
def test_the_noise_is_normal_as_far_as_statistics_can_see(size, statistics):
    values = floating_gaussian(size, NotPrivateBits(41).stream()).astype(np.float64)
    places = ndtr(values)
    found = [statistics.kolmogorov_smirnov(places), statistics.smooth(places)]
    assert min(found) > statistics.level, found
    assert max(abs(statistics.correlation(series, lag)) for series in (values, abs(values)) for lag in (1, 2)) < 3.9


@pytest.mark.parametrize("size", [0, 1, 2, 3, 65_536, 65_537, 200_001])
def test_any_number_of_values_is_drawn(size, stream):
    values = floating_gaussian(size, stream)
    assert values.shape == (size,)
    assert values.dtype == np.float32
    assert np.isfinite(values).all()


def test_the_two_halves_of_a_block_are_not_related(stream, statistics):
    """Cosine and sine of the same angle with the same radius are independent."""
    values = floating_gaussian(65_536, stream).astype(np.float64).reshape(2, -1)
    for first, second in ((values[0], values[1]), (np.square(values[0]), np.square(values[1]))):
        assert abs(np.corrcoef(first, second)[0, 1]) * math.sqrt(first.size) < 3.9


def test_the_noise_ends_where_its_documentation_says(scripted):
    """The smallest uniform is 2^-33: sqrt(66 log 2) = 6.76 standard deviations. No theorem has such an end."""
    assert float(floating_gaussian(2, scripted([0]))[0]) == pytest.approx(math.sqrt(66 * math.log(2)), rel=1e-6)
    assert (floating_gaussian(2, scripted([2**64 - 1])) == 0).all()


def test_the_grades_are_named_and_nothing_else_is_one():
    assert Grade.of("exact") is Grade.EXACT
    assert Grade.of(Grade.FAST) is Grade.FAST
    with pytest.raises(ParameterError, match="grade"):
        Grade.of("safe")


def test_a_record_names_the_grade():
    for grade in ("exact", "fast"):
        release = GaussianMechanism.calibrate(1.0, GOAL, grade=grade).release(0.0)
        assert release.record.grade == grade
        assert ("leak" in release.record.noise) == (grade == "fast")


@pytest.mark.parametrize("sensitivity", [1e-200, 1e-46, 1e-40, 1.0, 1e38, 1e100])
@pytest.mark.parametrize("grade", ["exact", "fast"])
def test_every_sensitivity_gets_noise_of_its_scale(sensitivity, grade):
    """Also far beyond single precision, where a careless product is 0 (the value itself is released) or infinite."""
    mechanism = GaussianMechanism.calibrate(sensitivity, GOAL, dim=1000, grade=grade)
    noise = mechanism.release(np.zeros(1000)).value / mechanism.scale
    assert 0.8 < np.sqrt(np.square(noise).mean()) < 1.2
    assert len(np.unique(noise)) > 990
