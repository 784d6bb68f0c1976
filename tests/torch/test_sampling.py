# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Poisson samples of records and groups, cut into micro-batches. Thresholds fail by chance below once in 1e6 runs."""

import itertools

import numpy as np
import pytest
import torch
from scipy import stats

from dperm.errors import DataError, ParameterError
from dperm.noise import NotPrivateBits
from dperm.noise.bits import SystemBits
from dperm.torch.records import LoadedRecords, TensorRecords, records_of
from dperm.torch.sampling import Groups, Sampler, SingletonGroups, groups_of

LEVEL = 1e-7


def records(count: int) -> TensorRecords:
    """Records that are their own numbers, from 1: padding is 0."""
    return TensorRecords((torch.arange(1, count + 1),))


def sampler(count: int, rate: float, size: int = 1000, *, groups=None, bits=None) -> Sampler:
    return Sampler(records(count), groups or SingletonGroups(count), rate, size, (bits or SystemBits()).stream())


def samples(found: Sampler, steps: int) -> list[list[int]]:
    """The records of each sample, put together from its micro-batches."""
    drawn, current = [], []
    for part in found.batches(steps):
        (values,) = part.batch
        assert len(values) == max(part.rows, 1)
        assert part.rows or values.tolist() == [0]
        assert part.rows <= found.size
        current += values.tolist()[: part.rows]
        if part.last:
            drawn.append(current)
            current = []
    assert current == []
    return drawn


def table(drawn: list[list[int]], count: int) -> np.ndarray:
    found = np.zeros((len(drawn), count), dtype=np.int64)
    for step, rows in enumerate(drawn):
        found[step, np.array(rows, dtype=np.int64) - 1] = 1
    return found


def assert_poisson(drawn: np.ndarray, rate: float) -> None:
    """Counts of records, of pairs in one sample, of records in neighbouring samples, and sizes: as if independent."""
    steps, count = drawn.shape
    per_record = ((drawn.sum(0) - steps * rate) ** 2 / (steps * rate * (1 - rate))).sum()
    assert LEVEL < stats.chi2.sf(per_record, count) < 1 - LEVEL
    pairs = (drawn.T @ drawn)[np.triu_indices(count, 1)]
    # the counts of pairs that share a record hang together: one bound for each of them, by Bonferroni
    assert stats.binom.sf(pairs.max() - 1, steps, rate**2) > LEVEL / len(pairs)
    assert stats.binom.cdf(pairs.min(), steps, rate**2) > LEVEL / len(pairs)
    sizes = drawn.sum(1)
    each = (sizes - count * rate) ** 2 / (count * rate * (1 - rate))  # of mean 1, and of variance kurtosis - 1
    variance = 2 + float(stats.binom.stats(count, rate, moments="k"))
    assert abs(each.sum() - steps) < 5.5 * np.sqrt(steps * variance)
    again = int((drawn[1:] * drawn[:-1]).sum())
    assert stats.binomtest(again, (steps - 1) * count, rate**2).pvalue > LEVEL


@pytest.mark.parametrize("rate", [0.02, 0.25, 0.9])
def test_every_record_is_drawn_at_the_rate_independently(rate):
    assert_poisson(table(samples(sampler(60, rate), 4000), 60), rate)


def test_shuffled_batches_would_be_found_out():
    """Fixed sizes, and every record once in an epoch: the check above is not blind."""
    rng = np.random.default_rng(4622)
    shuffled = np.concatenate(
        [np.repeat(np.eye(4, dtype=np.int64), 15, 1)[:, rng.permutation(60)] for _ in range(1000)]
    )
    with pytest.raises(AssertionError):
        assert_poisson(shuffled, 0.25)


@pytest.mark.parametrize("size", [1, 7, 30, 31])
def test_micro_batches_are_the_parts_of_a_sample(size):
    """Cut in any way, the same bits draw the same samples; no record is twice in one, and order is kept."""
    whole = samples(sampler(50, 0.6, bits=NotPrivateBits(3)), 40)
    assert samples(sampler(50, 0.6, size, bits=NotPrivateBits(3)), 40) == whole
    assert all(one < two for drawn in whole for one, two in itertools.pairwise(drawn))


def test_parts_are_full_but_for_the_last():
    for part in sampler(50, 0.6, 7).batches(40):
        assert part.rows == 7 or part.last


def test_a_rate_of_one_draws_everything():
    assert samples(sampler(10, 1.0, 4), 3) == [list(range(1, 11))] * 3


@pytest.mark.parametrize("count", [0, 1, 3])
def test_empty_samples_are_one_row_of_padding_each(count):
    parts = list(sampler(count, 1e-9).batches(20))
    assert [(part.rows, part.last, part.batch[0].tolist()) for part in parts] == [(0, True, [0])] * 20


@pytest.mark.parametrize("workers", [0, 2])
def test_empty_samples_stay_in_their_places_under_loaders_that_run_ahead(workers):
    """A data set that is read by workers gives the parts of tensors, empty ones included."""
    loaded = LoadedRecords(list(range(1, 9)), torch.tensor, workers)
    found = Sampler(loaded, SingletonGroups(8), 0.1, 2, NotPrivateBits(11).stream())
    expected = [(p.rows, p.last, p.batch[0].tolist()) for p in sampler(8, 0.1, 2, bits=NotPrivateBits(11)).batches(30)]
    assert [(p.rows, p.last, p.batch.tolist()) for p in found.batches(30)] == expected
    assert sum(rows == 0 for rows, _, _ in expected) > 5


# Groups.


def test_groups_are_drawn_whole_and_in_order():
    keys = ["b", "a", "b", "c", "b", "a"]
    found = groups_of(keys, 6, 10)
    assert found.count == 3
    members = {(2, 6), (1, 3, 5), (4,)}
    for drawn in samples(sampler(6, 0.5, groups=found, bits=NotPrivateBits(1)), 50):
        for group in members:
            assert set(drawn) >= set(group) or not set(drawn) & set(group)
    assert [(found.positions(np.array([k])) + 1).tolist() for k in range(3)] == [[1, 3, 5], [2, 6], [4]]
    assert (found.positions(np.array([1, 2])) + 1).tolist() == [2, 6, 4]
    assert found.positions(np.array([], dtype=np.int64)).tolist() == []


@pytest.mark.parametrize("most", [1, 2, 3])
def test_a_group_gives_its_first_records_and_no_more_than_the_bound(most):
    rng = np.random.default_rng(4623)
    keys = rng.integers(0, 12, 100)
    found = groups_of(keys, 100, most)
    for k in range(found.count):
        expected = np.flatnonzero(keys == list(dict.fromkeys(keys.tolist()))[k])[:most]
        assert found.positions(np.array([k])).tolist() == expected.tolist()


def test_groups_are_drawn_at_the_rate_independently():
    keys = np.repeat(np.arange(40), 3)
    drawn = table(samples(sampler(120, 0.2, groups=groups_of(keys, 120, 2)), 2000), 120)
    first, second, third = drawn[:, 0::3], drawn[:, 1::3], drawn[:, 2::3]
    assert np.array_equal(first, second)
    assert not third.any()
    assert_poisson(first, 0.2)


KEYS = {
    "integers": np.array([7, 7, 1]),
    "strings": ["x", "x", "y"],
    "a tensor": torch.tensor([5, 5, 2]),
    "pairs": [("north", 1), ("north", 1), ("south", 1)],
}


@pytest.mark.parametrize("name", KEYS)
def test_keys_may_be_integers_strings_and_tuples_of_them(name):
    found = groups_of(KEYS[name], 3, 5)
    assert sorted(found.positions(np.array([k])).tolist() for k in range(2)) == [[0, 1], [2]]


def test_records_without_a_key_are_refused():
    """Several NaN may be one person or many: neither reading is safe."""
    with pytest.raises(DataError, match="A key is missing"):
        groups_of([np.nan, 1.0, np.nan], 3, 5)


def test_keys_for_another_number_of_records_are_refused_as_such():
    with pytest.raises(DataError, match="The number of keys is not that of the records"):
        groups_of([1, 2], 3, 5)


BAD = {
    "too few": [1, 2],
    "too many": [1, 2, 3, 4],
    "two dimensions": [[1, 2], [3, 4], [5, 6]],
    "none": [],
    "a number": 3,
    "ragged": [[1], [2, 3], [4]],
    "not to be sorted": [None, 1, "a"],
    "objects": [object(), object(), object()],
}


@pytest.mark.parametrize("name", BAD)
def test_bad_keys_are_refused_by_name_and_without_numbers(name):
    with pytest.raises(DataError, match="group must") as caught:
        groups_of(BAD[name], 3, 5)
    assert not any(sign.isdigit() for sign in str(caught.value))


def test_positions_of_all_groups_are_all_records():
    found = groups_of([3, 1, 2, 1, 3], 5, 9)
    assert isinstance(found, Groups)
    assert sorted(found.positions(np.arange(3)).tolist()) == [0, 1, 2, 3, 4]


# Data sets.


def test_a_data_set_of_tensors_is_read_as_tensors():
    X, y = torch.ones(4, 2), torch.arange(4)
    for dataset in ((X, y), torch.utils.data.TensorDataset(X, y)):
        found = records_of(dataset)
        assert isinstance(found, TensorRecords)
        assert found.count == 4
        (batch,) = found.batches(iter([np.array([2, 0])]))
        assert batch[1].tolist() == [2, 0]


def test_a_lone_tensor_and_a_list_of_pairs_are_map_style():
    for dataset in (torch.arange(6.0).reshape(3, 2), [(torch.ones(2), k) for k in range(3)]):
        found = records_of(dataset)
        assert isinstance(found, LoadedRecords)
        assert found.count == 3


def test_padding_is_zeros_in_the_shapes_of_a_record():
    rows = [({"image": torch.full((2, 2), 5.0), "length": 3}, 7)] * 2
    inputs, label = records_of(rows).padding(3)
    assert inputs["image"].tolist() == torch.zeros(3, 2, 2).tolist()
    assert inputs["length"].tolist() == [0, 0, 0]
    assert label.tolist() == [0, 0, 0]


def test_reading_does_not_move_torch_s_own_random_numbers():
    before = torch.random.get_rng_state()
    list(LoadedRecords([1, 2, 3], torch.tensor, 0).batches(iter([np.array([1]), np.array([0, 2])])))
    assert torch.equal(before, torch.random.get_rng_state())


def test_a_collate_function_of_one_s_own_is_used_for_tensors_too():
    found = records_of((torch.arange(4),), collate=lambda rows: torch.stack([row[0] for row in rows]) * 10)
    (batch,) = found.batches(iter([np.array([1, 3])]))
    assert batch.tolist() == [10, 30]


def test_empty_tensors_are_data_like_any_other():
    """How many records there are is private: none is a number too."""
    found = records_of((torch.ones(0, 3), torch.ones(0)))
    assert found.count == 0
    assert found.padding(2)[0].shape == (2, 3)


def test_subclasses_of_tensor_data_sets_keep_their_ways():
    class Doubled(torch.utils.data.TensorDataset):
        def __getitem__(self, index):
            return (2 * super().__getitem__(index)[0],)

    (batch,) = records_of(Doubled(torch.arange(4.0))).batches(iter([np.array([3])]))
    assert batch[0].tolist() == [6.0]


def test_loaders_are_refused_with_the_way_out():
    with pytest.raises(ParameterError, match=r"loader\.dataset"):
        records_of(torch.utils.data.DataLoader([1, 2]))
