# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""User-level privacy: all records of one group together move a sum by at most the planned bound, in clip norms."""

import enum
import unicodedata

import numpy as np
import pytest
import torch
from torch import nn
from torch_spies import replace_noise
from torch_training import KINDS, attached, data_of, model_of, plan_of, walk

from dperm.errors import ParameterError
from dperm.torch.plan import DPSGD

LARGE = 1e6


@pytest.fixture
def sums(monkeypatch):
    """The sums to which noise is added."""
    found = []

    def add(noise, totals, stream):
        found.append(torch.cat([total.reshape(-1).double() for total in totals]))
        return [total.clone() for total in totals]

    replace_noise(monkeypatch, add)
    return found


def sum_of(sums, plan, x, group) -> torch.Tensor:
    model = nn.Linear(2, 1, bias=False)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.0)
    with plan.attach(model, optimizer, (x,), group=group) as private:
        for (batch,) in private:
            private.step(model(batch)[:, 0])
    return sums[-1]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("most", [1, 2, 5])
def test_a_person_moves_the_sum_by_the_bound_at_most(most, kind, sums):
    """Nine records of one person, all alike and very long, are as many as the bound says, added or replaced."""
    plan = plan_of(rate=1.0, steps=1, records_per_group=most, clipping=KINDS[kind], physical_batch_size=4)
    rest, others = torch.randn(20, 2, generator=torch.Generator().manual_seed(1)), np.arange(20) // 3
    x = torch.cat([rest, torch.full((9, 2), LARGE)])
    group = np.concatenate([others, np.full(9, 99)])
    within, without = sum_of(sums, plan, x, group), sum_of(sums, plan, rest, others)
    moved = float(torch.linalg.vector_norm(within - without))
    assert moved <= most * (1 + 1e-5)
    assert moved >= 0.99 * most
    assert plan.noise.numbers["sensitivity"] >= most
    replaced = sum_of(sums, plan, torch.cat([rest, torch.full((9, 2), -LARGE)]), group)
    assert float(torch.linalg.vector_norm(within - replaced)) <= 2 * most * (1 + 1e-5)


def test_records_of_a_person_count_wherever_they_are(sums):
    plan = plan_of(rate=1.0, steps=1, records_per_group=2)
    x = torch.full((6, 2), LARGE)
    spread = sum_of(sums, plan, x, [1, 2, 1, 2, 1, 1])
    assert float(torch.linalg.vector_norm(spread)) == pytest.approx(4, rel=1e-5)


class Person(enum.IntEnum):
    FIRST = 1


SPELLINGS = {
    "text": ["alice", np.str_("alice"), unicodedata.normalize("NFD", "alice")],
    "numbers": [1, True, Person.FIRST, np.int16(1)],
    "normal forms": [unicodedata.normalize(form, "Zoé") for form in ("NFC", "NFD")],
}


@pytest.mark.parametrize("name", SPELLINGS)
def test_a_person_whose_keys_are_equal_moves_the_sum_by_one_clip_norm(name, sums):
    """Keys of different types that Python calls equal, or that differ in their Unicode normal form, are one person."""
    plan = plan_of(rate=1.0, steps=1, records_per_group=1)
    x = torch.full((len(SPELLINGS[name]), 2), LARGE)
    moved = float(torch.linalg.vector_norm(sum_of(sums, plan, x, SPELLINGS[name])))
    assert 0.99 <= moved <= 1 + 1e-5


@pytest.mark.parametrize("grade", ["fast", "exact"])
def test_the_noise_grows_with_the_bound(grade):
    one, five = (plan_of(grade=grade, records_per_group=most) for most in (1, 5))
    assert five.noise.scale == pytest.approx(5 * one.noise.scale, rel=1e-3)
    assert five.expected_batch_size == 5 * one.expected_batch_size
    (first, _), *_ = one.event.singles()
    (second, _), *_ = five.event.singles()
    assert first.event.noise_multiplier == pytest.approx(second.event.noise_multiplier, rel=1e-3)


def test_keys_and_bound_go_together():
    for plan, group in ((plan_of(), np.arange(40)), (plan_of(records_per_group=2), None)):
        with pytest.raises(ParameterError, match="records_per_group"), attached(plan, group=group):
            pass


def test_n_counts_groups():
    plan = DPSGD(rate=0.2, steps=3, grade="fast", records_per_group=2).plan(20, 2.0, 1e-3, "replace_one")
    model = model_of()
    with attached(plan, model, data_of(), group=np.arange(40) // 2) as private:
        assert walk(private, model) == 3
