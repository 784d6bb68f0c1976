# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Noise for several kinds of sums with one goal: all of them are in what is certified."""

import pytest

from dperm import ApproxDP
from dperm.accounting import account
from dperm.mechanisms.calibration import covers
from dperm.methods.sampled_noise import (
    JointSums,
    SampledSums,
    joint_multiplier,
    joint_noise,
    sampled_noise,
    total_event,
)

BOTH = pytest.mark.parametrize("adjacency", ["add_remove", "replace_one"])
STEPS = SampledSums(lipschitz=1.0, rate=0.1, steps=50, dim=10)
SNAPSHOTS = SampledSums(lipschitz=2.0, rate=1.0, steps=3, dim=10, numerical_error=1e-3)


def goal(adjacency: str) -> ApproxDP:
    return ApproxDP(1.0, 1e-4, adjacency)


@BOTH
def test_one_part_is_the_noise_of_its_own(adjacency):
    assert joint_noise([JointSums(STEPS)], goal(adjacency)) == (sampled_noise(STEPS, goal(adjacency)),)


@BOTH
def test_all_parts_together_meet_the_goal_and_not_much_more(adjacency):
    wanted = goal(adjacency)
    noises = joint_noise([JointSums(STEPS), JointSums(SNAPSHOTS, 4.0)], wanted)
    event = total_event(noises)
    assert covers(wanted, event)
    assert account(event, adjacency).epsilon(wanted.delta) > 0.9999 * wanted.epsilon
    steps, snapshots = noises
    assert snapshots.scale / 2.0 == pytest.approx(4 * steps.scale)
    assert steps.scale > sampled_noise(STEPS, wanted).scale
    assert snapshots.scale > sampled_noise(SNAPSHOTS, wanted).scale


@BOTH
def test_errors_of_any_part_cost_noise(adjacency):
    parts = [JointSums(STEPS), JointSums(SNAPSHOTS, 4.0)]
    ideal = joint_multiplier(parts, goal(adjacency))
    assert 1.0001 * ideal < joint_noise(parts, goal(adjacency))[0].scale < 1.01 * ideal
