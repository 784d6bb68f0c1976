# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""The numbers come out right: values near the truth, noise of the size that was planned."""

import math

import numpy as np
import pytest

from dperm.errors import ParameterError
from dperm.mechanisms.releases import Count, Covariance, Histogram, Mean, Sum
from dperm.mechanisms.releases.covariance import nearest_semidefinite
from dperm.mechanisms.releases.noisy_statistic import NoisyStatistic
from dperm.privacy import GDP, Adjacency, ApproxDP, PureDP

BOTH = [("replace_one", 10_000), ("add_remove", None)]
GOALS = [lambda a: PureDP(1.0, a), lambda a: ApproxDP(1.0, 1e-2, a), lambda a: GDP(0.5, a)]


@pytest.fixture(scope="module")
def values():
    return np.random.default_rng(20).normal(40.0, 12.0, 10_000)


@pytest.fixture(scope="module")
def rows():
    return np.random.default_rng(21).normal(size=(10_000, 4)) @ np.diag([1.0, 0.5, 0.2, 0.1])


def deviation(release):
    """The deviation of one coordinate of the noise (T5, T6, T7)."""
    mechanism = release.mechanism
    return mechanism.scale * {"laplace": math.sqrt(2), "gamma norm": math.sqrt(mechanism.dim + 1)}.get(
        mechanism.name, 1
    )


@pytest.mark.parametrize("goal", GOALS)
@pytest.mark.parametrize(("adjacency", "n"), BOTH)
def test_the_mean_of_ten_thousand_values(goal, adjacency, n, values, seeded):
    """T5: within 6 deviations, which are (high - low)/(n epsilon) and the like."""
    release = Mean(goal(adjacency), bounds=(0.0, 100.0), n=n)
    found = seeded(release, values, seed=1, times=20)
    error = found - np.clip(values, 0, 100).mean()
    assert np.abs(error).max() <= 6 * deviation(release) / 10_000
    assert np.abs(error).max() >= 0.5 * deviation(release) / 10_000


@pytest.mark.parametrize("goal", GOALS)
@pytest.mark.parametrize("bounds", [(0.0, 50.0), (-10.0, 30.0), (1e5, 1e5 + 1.0)])
@pytest.mark.parametrize(("adjacency", "n"), BOTH)
def test_the_sum_of_clipped_values(goal, bounds, adjacency, n, values, seeded):
    release = Sum(goal(adjacency), bounds)
    (found,) = seeded(release, values, seed=2)
    assert abs(found - np.clip(values, *bounds).sum()) <= 6 * deviation(release)


@pytest.mark.parametrize("goal", GOALS)
@pytest.mark.parametrize(("adjacency", "n"), BOTH)
def test_the_sum_of_clipped_rows(goal, adjacency, n, rows, seeded):
    release = Sum(goal(adjacency), norm=0.8, dim=4)
    (found,) = seeded(release, rows, seed=3)
    truth = (rows * np.minimum(1, 0.8 / np.linalg.norm(rows, axis=1, keepdims=True))).sum(axis=0)
    assert np.abs(found - truth).max() <= 6 * deviation(release)


@pytest.mark.parametrize("goal", GOALS)
@pytest.mark.parametrize(("adjacency", "n"), BOTH)
def test_counts_and_histograms(goal, adjacency, n, values, seeded):
    count = Count(goal(adjacency))
    (found,) = seeded(count, values > 40, seed=4)
    assert abs(found - np.count_nonzero(values > 40)) <= 6 * deviation(count) + 0.5
    bins = Histogram(goal(adjacency), edges=[0, 20, 40, 60])
    (counts,) = seeded(bins, values, seed=5)
    truth = np.histogram(np.clip(values, 0, 60), [0, 20, 40, 60])[0]
    assert counts.dtype == np.int64 and np.abs(counts - truth).max() <= 6 * deviation(bins) + 0.5


def test_a_count_is_an_int_and_may_be_negative(seeded):
    released = Count(PureDP(0.1, "add_remove")).release([False])
    assert type(released.value) is int
    assert seeded(Count(PureDP(0.1, "add_remove")), [False], seed=6, times=40).min() < 0


def test_bins_are_closed_on_the_left_and_the_last_one_on_both_sides():
    data = [-1.0, 0.0, 0.5, 1.0, 2.0, 3.0, 3.5]
    clipped = Histogram(PureDP(1.0, "add_remove"), edges=[0.0, 1.0, 3.0])
    dropped = Histogram(PureDP(1.0, "add_remove"), edges=[0.0, 1.0, 3.0], outside="drop")
    assert clipped.totals(data).values == [3, 4]
    assert dropped.totals(data).values == [2, 3] == np.histogram(data, [0.0, 1.0, 3.0])[0].tolist()


def test_categories_are_compared_record_by_record():
    """One string among numbers does not turn the others into strings, and no record has two places."""
    release = Histogram(PureDP(1.0, "add_remove"), categories=[1, "1", "a"])
    assert release.totals([1, 1.0, True, 2]).values == [3, 0, 0]
    assert release.totals([1, 1.0, True, "a"]).values == [3, 0, 1]
    near = Histogram(PureDP(1.0, "add_remove"), categories=[2**24, 2**24 + 1])
    assert sum(near.totals(np.full(3, 2**24, dtype=np.float32)).values) == 3
    assert release.totals(np.array(["a", "1", "b"])).values == [0, 1, 1]


@pytest.mark.parametrize(("adjacency", "n"), BOTH)
@pytest.mark.parametrize("psd", [False, True])
def test_the_covariance_of_ten_thousand_rows(adjacency, n, psd, rows, seeded):
    """T6: each entry within 6 deviations; off the diagonal they are smaller by sqrt 2."""
    release = Covariance(GDP(0.5, adjacency), 4.0, dim=4, center=[0.1, 0.0, 0.0, 0.0], n=n, psd=psd)
    (found,) = seeded(release, rows, seed=7)
    moved = rows - [0.1, 0.0, 0.0, 0.0]
    moved *= np.minimum(1, 4.0 / np.linalg.norm(moved, axis=1, keepdims=True))
    assert (found == found.T).all()
    assert np.abs(found - moved.T @ moved / 10_000).max() <= 6 * deviation(release) / 10_000 + 1e-5


@pytest.mark.parametrize("norm", [1.0, math.nextafter(1.0, 0.0), 0.3])
def test_products_of_many_rows_are_summed_exactly(norm):
    """T10: over several blocks, against Python's integers, with every row on the sphere and all products large."""
    rng = np.random.default_rng(24)
    rows = np.concatenate([rng.normal(size=(20_000, 3)) * 1e200, np.full((5_000, 3), 7.0), np.eye(3)[[0] * 9_000]])
    release = Covariance(GDP(1.0, "add_remove"), norm, dim=3)
    steps = np.array(release.clip.integers(rows).tolist(), dtype=object)
    products = [sum(steps[:, i] * steps[:, j]) * (128 if i == j else 181) for i in range(3) for j in range(i, 3)]
    assert release.totals(rows).values == [*products, release.clip.largest * 128 * len(rows)]
    assert release.totals(rng.permutation(rows)) == release.totals(np.asfortranarray(rows)) == release.totals(rows)


def test_a_semidefinite_matrix_has_no_negative_eigenvalue():
    noisy = np.random.default_rng(22).normal(size=(6, 6))
    noisy = noisy + noisy.T
    found = nearest_semidefinite(noisy)
    values = np.linalg.eigvalsh(noisy)
    assert np.linalg.eigvalsh(found).min() >= -1e-12
    assert np.linalg.norm(found - noisy) == pytest.approx(np.linalg.norm(values[values < 0]))
    assert np.allclose(nearest_semidefinite(found), found)


@pytest.mark.parametrize(("adjacency", "n"), [("replace_one", 1), ("add_remove", None)])
def test_noise_in_many_entries_has_the_planned_size(adjacency, n, seeded):
    """T5, T6, T7: the root mean square over thousands of entries, seed fixed; nothing of it is signal."""
    histogram = Histogram(PureDP(0.2, adjacency), edges=np.arange(4001.0))
    noise = seeded(histogram, [0.5], seed=8)[0, 1:]
    assert math.sqrt(np.mean(noise**2.0)) == pytest.approx(math.sqrt(2) * histogram.mechanism.scale, rel=0.05)
    for goal in (GDP(1.0, adjacency), PureDP(1.0, adjacency)):
        total = Sum(goal, norm=1.0, dim=4000)
        noise = seeded(total, np.zeros((1, 4000)), seed=9)[0]
        assert math.sqrt(np.mean(noise**2)) == pytest.approx(deviation(total), rel=0.05)
    if n is not None:
        moment = Covariance(GDP(1.0, adjacency), 1.0, dim=80, n=n)
        (noise,) = seeded(moment, np.zeros((1, 80)), seed=10)
        upper = noise[np.triu_indices(80, 1)]
        assert upper.std() == pytest.approx(moment.mechanism.scale / math.sqrt(2), rel=0.05)
        assert np.diag(noise).std() == pytest.approx(moment.mechanism.scale, rel=0.25)


def test_repeated_means_have_the_planned_deviation(seeded):
    """T5: E26's number, a deviation of 1.414e-3 for n = 10^4 values in [0, 1] and epsilon = 0.1."""
    release = Mean(PureDP(0.1, "replace_one"), bounds=(0.0, 1.0), n=10_000)
    found = seeded(release, np.full(10_000, 0.5), seed=11, times=500)
    assert found.mean() == pytest.approx(0.5, abs=3e-4)
    assert found.std() == pytest.approx(1.414e-3, rel=0.12)


def test_the_mean_under_add_remove_stays_within_its_bounds(seeded):
    release = Mean(PureDP(0.01, "add_remove"), bounds=(-1.0, 2.0))
    found = seeded(release, [0.0], seed=12, times=100)
    assert found.min() == -1.0 and found.max() == 2.0


def test_a_narrow_interval_far_from_zero_loses_nothing(seeded):
    """Under replace-one the middle is public: it is subtracted before the noise and put back after it."""
    low = 1e9
    data = low + np.random.default_rng(23).uniform(0, 1e4, 1000)
    release = Sum(GDP(100.0, "replace_one"), bounds=(low, low + 1e4))
    (found,) = seeded(release, data, seed=13)
    assert abs(found - math.fsum(data)) <= 6 * deviation(release)


def hands_no_private_number_on(module):
    """C0.1: under add/remove nothing but the noisy statistic reaches what is released."""
    for adjacency, expected in (("replace_one", 3), ("add_remove", None)):
        probe = Count(PureDP(1.0, adjacency))
        assert module.NoisyStatistic._read(probe, [True, False, True]).n == expected


def refuses_a_private_number(module):
    with pytest.raises(ParameterError):
        module.public_n(None, Adjacency.REPLACE_ONE)
    try:
        module.public_n(10, Adjacency.ADD_REMOVE)
    except ParameterError:
        return
    raise AssertionError("n is private under add/remove")


def releases_the_number_with_noise(module):
    """T5, E27: under add/remove the statistic has the count as its second entry, and noise for both."""
    release = module.Mean(PureDP(1.0, "add_remove"), bounds=(0.0, 1.0))
    assert release.totals([0.5] * 4).values[1:] == [4 * release.clip.radius]
    assert release.mechanism.dim == 2


def test_the_base_of_the_releases_is_abstract():
    with pytest.raises(TypeError, match="abstract"):
        NoisyStatistic(PureDP(1.0, "add_remove"))


@pytest.mark.parametrize(
    ("check", "module", "old", "new"),
    [
        (
            hands_no_private_number_on,
            "noisy_statistic",
            "totals.records if self.adjacency is Adjacency.REPLACE_ONE else None",
            "totals.records",
        ),
        (refuses_a_private_number, "parameters", "if n is not None:", "if False:"),
        (
            releases_the_number_with_noise,
            "mean",
            "[self.clip.radius * found] if self.adjacency is Adjacency.ADD_REMOVE else []",
            "[]",
        ),
    ],
    ids=["the private n is divided by", "a private n is accepted", "the count is not released"],
)
def test_unsafe_mutants_die(check, module, old, new, assert_killed):
    assert_killed(check, f"dperm.mechanisms.releases.{module}", old, new)
