# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""TrainingCanaries: made of public constants, put in by independent fair coins."""

import dataclasses

import numpy as np
import pytest
import torch
from torch.utils.data import DataLoader, Dataset, TensorDataset

from dperm.errors import ParameterError
from dperm.torch import DPSGD
from dperm.torch.audit import TrainingCanaries, mislabelled_canaries, one_hot, random_canaries, with_canaries
from dperm.torch.audit.canary_dataset import check_plan

INPUTS, TARGETS = torch.randn(50, 3, generator=torch.Generator().manual_seed(1)), torch.zeros(50, dtype=torch.long)
DATA = (torch.ones(7, 3), torch.ones(7, dtype=torch.long))


class Mapped(Dataset):
    """Records as a user's data set gives them: an array and a number."""

    def __len__(self) -> int:
        return 7

    def __getitem__(self, place):
        return np.full(3, place, dtype=np.float32), place % 2


def canaries(**options) -> TrainingCanaries:
    return TrainingCanaries((INPUTS, TARGETS), **{"seed": 1, **options})


def test_coins_are_fair_and_follow_from_the_seed():
    many = TrainingCanaries((torch.zeros(4000, 1), torch.zeros(4000)), seed=3)
    assert abs(many.included.mean() - 0.5) < 5 / np.sqrt(4 * 4000)
    assert np.array_equal(many.included, TrainingCanaries(many.records, seed=3).included)
    assert not np.array_equal(many.included, TrainingCanaries(many.records, seed=4).included)


def test_coins_without_a_seed_differ():
    records = (torch.zeros(100, 1), torch.zeros(100))
    assert not np.array_equal(TrainingCanaries(records).included, TrainingCanaries(records).included)


def test_coins_cannot_be_chosen():
    with pytest.raises(ValueError, match="coins"):
        dataclasses.replace(canaries(), coins=np.repeat([True, False], 25))
    with pytest.raises(ValueError, match="read-only"):
        canaries().included[0] = True


@pytest.mark.parametrize(
    ("records", "message"),
    [
        ((INPUTS[:39], TARGETS[:39]), "records must hold at least 40 canaries, got 39"),
        ((INPUTS, TARGETS[:40]), "records must be a pair .* as many inputs as targets"),
        ([INPUTS, TARGETS], "records must be a pair"),
        ((INPUTS,), "records must be a pair"),
        ((INPUTS.numpy(), TARGETS.numpy()), "records must be a pair"),
        ((INPUTS * torch.nan, TARGETS), "records must be finite"),
    ],
    ids=["too few", "unequal", "a list", "no targets", "arrays", "NaN"],
)
def test_bad_records_are_refused(records, message):
    with pytest.raises(ParameterError, match=message):
        TrainingCanaries(records)


def test_alternatives_are_like_the_canaries():
    with pytest.raises(ParameterError, match=r"alternatives must have inputs like those of records: shape \(50, 3\)"):
        canaries(alternatives=(INPUTS[:45], TARGETS[:45]))
    with pytest.raises(ParameterError, match="alternatives must have targets"):
        canaries(alternatives=(INPUTS, TARGETS.float()))
    with pytest.raises(ParameterError, match="alternatives must differ from records"):
        canaries(alternatives=(INPUTS, TARGETS))


def test_those_that_are_in_come_after_the_data():
    found = canaries()
    inputs, targets = with_canaries(DATA, found)
    chosen = torch.from_numpy(found.included.copy())
    assert torch.equal(inputs, torch.cat([DATA[0], INPUTS[chosen]]))
    assert torch.equal(targets, torch.cat([DATA[1], TARGETS[chosen]]))
    assert torch.equal(with_canaries(TensorDataset(*DATA), found)[0], inputs)


def test_alternatives_stand_in_the_place_of_those_that_are_out():
    found = canaries(alternatives=(-INPUTS, TARGETS + 1))
    inputs, targets = with_canaries(DATA, found)
    signs = torch.where(torch.from_numpy(found.included.copy()), 1, -1)
    assert torch.equal(inputs[7:], INPUTS * signs[:, None])
    assert torch.equal(targets[7:], (1 - signs) // 2)


def test_data_sets_of_arrays_and_numbers_are_joined_in_their_own_types():
    found = canaries()
    together = with_canaries(Mapped(), found)
    assert len(together) == 7 + found.included.sum()
    inputs, targets = next(iter(DataLoader(together, batch_size=len(together))))
    chosen = torch.from_numpy(found.included.copy())
    assert torch.equal(inputs[:7, 0], torch.arange(7.0))
    assert torch.equal(inputs[7:], INPUTS[chosen])
    assert targets.tolist() == [0, 1, 0, 1, 0, 1, 0] + [0] * int(chosen.sum())


@pytest.mark.parametrize(
    ("dataset", "message"),
    [
        ((torch.ones(7, 4), DATA[1]), r"canaries must have inputs like those of dataset: shape \(4,\)"),
        ((DATA[0].double(), DATA[1]), "canaries must have inputs like those of dataset: .* torch.float64, got"),
        ((DATA[0], DATA[1].float()), "canaries must have targets"),
        ((DATA[0],), "dataset must hold pairs"),
        (DataLoader(TensorDataset(*DATA)), "dataset must be the data set itself"),
        ([("a text", 1)], "dataset must hold tensors, arrays or numbers"),
    ],
    ids=["another shape", "another type", "another target", "no targets", "a loader", "texts"],
)
def test_canaries_must_look_like_the_data(dataset, message):
    with pytest.raises(ParameterError, match=message):
        with_canaries(dataset, canaries())


def test_one_hot_canaries_have_a_feature_each():
    found = one_hot(40, torch.tensor(2), shape=(6, 7), scale=5.0)
    inputs, targets = found.records
    assert inputs.shape == (40, 6, 7)
    assert torch.equal(inputs.flatten(1), 5 * torch.eye(42)[:40])
    assert torch.equal(targets, torch.full((40,), 2))


def test_there_are_no_more_one_hot_canaries_than_features():
    with pytest.raises(ParameterError, match="count must be a whole number from 1 to 42"):
        one_hot(43, torch.tensor(0), shape=(6, 7))


def test_random_canaries_have_all_classes_and_coins_of_their_own():
    found = random_canaries(300, 3, shape=(2, 2), seed=5)
    assert found.records[0].shape == (300, 2, 2)
    assert set(found.records[1].tolist()) == {0, 1, 2}
    again = random_canaries(300, 3, shape=(2, 2), seed=5)
    assert torch.equal(found.records[0], again.records[0])
    assert np.array_equal(found.included, again.included)


def test_mislabelled_canaries_never_keep_their_class():
    labels = torch.arange(60) % 3
    found = mislabelled_canaries(torch.zeros(60, 2), labels, classes=3, seed=1).records[1]
    assert not bool((found == labels).any())
    assert set(found.tolist()) == {0, 1, 2}


@pytest.mark.parametrize("labels", [torch.arange(50), torch.zeros(50), torch.zeros(50, 1, dtype=torch.long)])
def test_labels_must_be_classes(labels):
    with pytest.raises(ParameterError, match="labels must be whole numbers from 0 to 2"):
        mislabelled_canaries(INPUTS, labels, classes=3)


def plan_of(n: int, adjacency: str, **options):
    return DPSGD(rate=0.5, steps=2, grade="fast", **options).plan(n, 2.0, 1e-3, adjacency)


@pytest.mark.parametrize(
    ("plan", "options", "message"),
    [
        (plan_of(50, "add_remove"), {}, r"plan must be made for .* n=50 is not more than the 50 canaries"),
        (plan_of(7, "replace_one"), {"alternatives": (-INPUTS, TARGETS)}, "n=7 is not 7 . 50. Plan with n=57"),
        (plan_of(57, "replace_one"), {}, "canaries must have alternatives under replace_one"),
        (plan_of(57, "add_remove"), {"alternatives": (-INPUTS, TARGETS)}, "canaries must have no alternatives"),
        (plan_of(57, "add_remove", records_per_group=2), {}, "plan must not have records_per_group"),
    ],
    ids=["n without canaries", "another n", "no alternatives", "alternatives", "groups"],
)
def test_a_plan_must_be_made_for_data_and_canaries(plan, options, message):
    with pytest.raises(ParameterError, match=message):
        check_plan(plan, canaries(**options), DATA)


def test_fitting_plans_are_accepted():
    check_plan(plan_of(57, "add_remove"), canaries(), DATA)
    check_plan(plan_of(57, "replace_one"), canaries(alternatives=(-INPUTS, TARGETS)), DATA)
