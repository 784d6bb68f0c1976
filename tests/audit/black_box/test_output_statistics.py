# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Statistics for outputs of unknown laws: a direction, differences between steps, low-order bits (A12)."""

import numpy as np
import pytest

from dperm import GDP, ApproxDP, PureDP
from dperm.audit.black_box import (
    BatchSubject,
    FixedThreshold,
    audit,
    low_bits,
    low_order_bits,
    of_mechanism,
    projection,
    step_differences,
)
from dperm.audit.black_box.output_statistics import lowest_bits
from dperm.audit.guesses import pure_from_guesses
from dperm.mechanisms import GammaNormMechanism, GaussianMechanism, LaplaceMechanism
from dperm.noise import NotPrivateBits

PURE = PureDP(1.0, "add_remove")
APPROX = ApproxDP(1.0, 1e-5, "add_remove")


def raw_laplace(seed):
    """Laplace noise in doubles, around 1 with the record and around 0 without."""
    rng = np.random.default_rng(seed)
    return lambda included: (included + rng.laplace(size=len(included)))[:, None]


def test_the_golden_number_of_raw_doubles():
    assert pure_from_guesses(43_119, 43_119, confidence=0.95).epsilon == pytest.approx(9.57, abs=0.005)


def test_raw_doubles_are_caught_by_their_low_order_bits_alone():
    """A fifth of the runs without the record cannot be 1 plus noise; none with it."""
    ratio = FixedThreshold("likelihood ratio", lambda w: np.abs(w[:, 0]) - np.abs(w[:, 0] - 1), 1 - 1e-9)
    subject = BatchSubject("raw doubles", PURE, raw_laplace(1), (ratio, low_order_bits(0.0, 1.0), low_bits()))
    found = audit(subject, runs=200_000, seed=1)
    assert found.violation and found.strongest == "low-order bits"
    assert found.bounds["low-order bits"].epsilon > 9  # of about 43,000 guesses none is wrong
    assert found.bounds["lowest bit"].epsilon > 3
    assert found.bounds["likelihood ratio"].epsilon <= 1


@pytest.mark.parametrize(
    "mechanism",
    [
        LaplaceMechanism.calibrate(1.0, PURE),
        GaussianMechanism.calibrate(1.0, APPROX),
        GammaNormMechanism.calibrate(1.0, PURE),
    ],
    ids=["Laplace", "Gaussian", "gamma norm"],
)
def test_noise_on_a_grid_gives_nothing_away(mechanism):
    subject = of_mechanism(mechanism, bits=NotPrivateBits(3))
    for statistic in (low_order_bits(subject.without, subject.included), low_bits()):
        found = audit(subject, runs=20_000, statistics=[statistic], confidence=0.999, seed=1)
        assert not found.violation


def test_the_rule_also_guesses_in():
    """The same with the record at 0."""
    swapped = BatchSubject("raw", PURE, lambda included: raw_laplace(2)(~included), (low_order_bits(1.0, 0.0),))
    assert audit(swapped, runs=50_000, seed=1).bound.epsilon > 7


def test_the_lowest_bit_of_a_row():
    found = lowest_bits(np.array([[1.0, 4.0], [3.0, 0.75], [0.0, 0.0], [-(1 + 2.0**-52), 1.0]]))
    assert found.tolist() == [0.0, -2.0, 1100.0, -52.0]


def direction(seed):
    """The record shows in one direction, which correlated noise hides in every coordinate."""
    rng = np.random.default_rng(seed)

    def draw(included):
        common = rng.normal(0, 10.0, (len(included), 1))
        return common * [[1.0, 1.0]] + rng.normal(0, 0.5, (len(included), 2)) + included[:, None] * [[1.0, -1.0]]

    return draw


def test_the_projection_finds_the_direction():
    found = audit(BatchSubject("correlated", PURE, direction(1), (projection(),)), runs=4000, seed=1)
    coordinate = FixedThreshold("first", lambda outputs: outputs[:, 0])
    blind = audit(BatchSubject("correlated", PURE, direction(1), (coordinate,)), runs=4000, seed=1)
    assert found.violation and found.bound.epsilon > 3 and blind.bound.epsilon < 0.5


def steps(seed, *, reused):
    """Ten noisy sums, of which the record adds 1 to the first half and -1 to the others: 10 steps of mu = 1/sigma."""
    rng = np.random.default_rng(seed)
    signs = np.where(np.arange(10) < 5, 1.0, -1.0)

    def draw(included):
        noise = rng.normal(0, 10.0, (len(included), 1 if reused else 10))
        return (included[:, None] * signs + noise)[:, :, None]

    return draw


def test_noise_that_is_reused_is_missed_by_the_sum_and_seen_in_differences():
    claimed = GDP(np.sqrt(10) / 10, "add_remove")
    total = FixedThreshold("sum", lambda outputs: outputs.sum(axis=(1, 2)) - 0.0)
    statistics = (total, step_differences())
    reused = audit(BatchSubject("reused", claimed, steps(1, reused=True), statistics), runs=2000, seed=1)
    assert reused.violation and reused.strongest == "differences between steps"
    assert reused.bounds["sum"].epsilon < reused.claimed_epsilon(1e-5)
    fresh = audit(BatchSubject("fresh", claimed, steps(1, reused=False), statistics), runs=2000, seed=1)
    assert not fresh.violation
