# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Unsafe mutants of the preparation of wide tables (T72, T76), each against a check that must fail on it."""

import math
from collections.abc import Callable
from types import ModuleType
from typing import NamedTuple

import numpy as np
import pytest

from dperm import ApproxDP, account
from dperm.data import Numeric
from dperm.noise import NotPrivateBits
from dperm.preparation import Encoding, NumberPlan
from dperm.privacy import Adjacency


def norm_histogram_counts_twice(module):
    assert module.norm_histogram_sensitivity(Adjacency.REPLACE_ONE) >= math.sqrt(2)


def pooled_counts_are_covered(module):
    assert module.pooled_count_sensitivity(5, Adjacency.ADD_REMOVE) >= 5
    assert module.pooled_count_sensitivity(5, Adjacency.REPLACE_ONE) >= 5 * math.sqrt(2)


def every_norm_is_in_one_interval(module):
    edges = module.norm_edges(2.0)
    assert module.norm_counts(np.array([0.0, 1e-9, 1.0, 2.0, 3.0, math.inf]), edges).sum() == 6
    assert len(module.norm_counts(np.array([3.0]), edges)) == module.NORM_BINS


def empty_intervals_receive_noise(module):
    noise = NumberPlan.for_goal(["a"], ApproxDP(1.0, 1e-6, "add_remove"), row_norm=True).norm_noise
    module.VISIBLE = -100.0
    found = module.noisy_row_norms(np.full(9, 1.0), 2.0, noise, NotPrivateBits(1).stream())
    assert np.count_nonzero(found.counts) == module.NORM_BINS


def numbers_are_charged_for_all_releases(module):
    goal = ApproxDP(1.0, 1e-6, "add_remove")
    plan = module.NumberPlan.for_goal(["a", "b"], goal, row_norm=True)
    parts = plan.profile_noise.event + plan.value_noise.event + plan.norm_noise.event
    assert account(plan.event, "add_remove").delta(1.0) >= account(parts, "add_remove").delta(1.0) * (1 - 1e-9)


def tables_are_charged_for_all_releases(module):
    known = {"columns": ("a", "b"), "adjacency": Adjacency.ADD_REMOVE, "mu": 0.3, "threshold_delta": 1e-9}
    plan = module.PreparationPlan(encoding=Encoding.SCALED, **known)
    parts = plan.profile_noise.event + plan.value_noise.event + plan.norm_noise.event
    assert account(plan.event, "add_remove").delta(1.0) >= account(parts, "add_remove").delta(1.0)


def a_norm_depends_on_its_own_record(module):
    encoder = module.PublicEncoder({"a": Numeric(-1, 1, canonical=True), "b": Numeric(-1, 1, canonical=True)})
    alone = encoder.row_norms({"a": [0.5, 0.1], "b": [0.2, 0.3]})
    more = encoder.row_norms({"a": [0.5, 0.1, 9.0], "b": [0.2, 0.3, -9.0]})
    assert more[:2].tolist() == alone.tolist()


def no_row_is_longer_than_the_norm(module):
    rows = np.random.default_rng(0).normal(size=(2000, 60))
    for norm in (0.1, 3.0, 7.0):
        squares = [math.fsum(entry * entry for entry in row) for row in module.scaled_down(rows, norm).tolist()]
        assert max(squares) <= norm * norm
    assert np.isfinite(module.scaled_down(np.full((1, 4), 1e308), 1.0)).all()


class Mutant(NamedTuple):
    """One changed line, and the check that must fail."""

    module: str
    old: str
    new: str
    check: Callable[[ModuleType], None]


MUTANTS = [
    Mutant(
        "dperm.sensitivity.preparation",
        "return histogram_sensitivity(1, adjacency)",
        "return 1.0",
        norm_histogram_counts_twice,
    ),
    Mutant(
        "dperm.sensitivity.preparation",
        "return raised(count * pooled_histogram_sensitivity(adjacency))",
        "return raised(math.sqrt(count) * pooled_histogram_sensitivity(adjacency))",
        pooled_counts_are_covered,
    ),
    Mutant(
        "dperm.preparation.row_norms",
        'np.clip(np.searchsorted(edges, norms, side="left") - 1, 0, NORM_BINS - 1)',
        'np.maximum(np.searchsorted(edges, norms, side="left") - 1, 0)',
        every_norm_is_in_one_interval,
    ),
    Mutant(
        "dperm.preparation.row_norms",
        "visible = np.where(noisy > VISIBLE * mechanism.scale, noisy, 0.0)",
        "visible = np.where(counts > 0, noisy, 0.0)",
        empty_intervals_receive_noise,
    ),
    Mutant(
        "dperm.preparation.numbers",
        "return counts if self.norm_noise is None else counts + self.norm_noise.event",
        "return counts",
        numbers_are_charged_for_all_releases,
    ),
    Mutant(
        "dperm.preparation.plan",
        "return counts if self.norm_noise is None else counts + self.norm_noise.event",
        "return counts",
        tables_are_charged_for_all_releases,
    ),
    Mutant(
        "dperm.data.encoder",
        "return np.sqrt(squared)",
        "return np.sqrt(squared / squared.max())",
        a_norm_depends_on_its_own_record,
    ),
    Mutant(
        "dperm.data.row_scaling",
        "longest = norm * (1 - (rows.shape[1] + 16) * 2.0**-52)",
        "longest = norm",
        no_row_is_longer_than_the_norm,
    ),
]


@pytest.mark.parametrize("mutant", MUTANTS, ids=[f"{mutant.module}: {mutant.check.__name__}" for mutant in MUTANTS])
def test_an_unsafe_mutant_is_killed(mutant, assert_killed):
    assert_killed(mutant.check, mutant.module, mutant.old, mutant.new)
