# SPDX-FileCopyrightText: 2026 The dperm developers
# SPDX-License-Identifier: Apache-2.0
"""Laws of both releases of a preparation, against numbers from their definitions (T72-T74), and splits (T71)."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import norm

from dperm import ApproxDP, account
from dperm.accounting import Gaussian, ParallelParts
from dperm.accounting.thresholded import fresh_value_probability
from dperm.data.canonical import canonical_column
from dperm.noise import NotPrivateBits
from dperm.preparation import PreparationPlan, TargetKind
from dperm.preparation import plan as plan_module
from dperm.preparation.bins import BINS, FIRST_POSITIVE, TEXT, ZERO
from dperm.preparation.plan import PrivateColumns
from dperm.preparation.profile import ColumnProfile, noisy_profiles
from dperm.preparation.schema import class_labels
from dperm.preparation.values import TextValues, counted_column, noisy_values, number_edges

GOAL = ApproxDP(1.0, 1e-5, "add_remove")
BOTH = pytest.mark.parametrize("adjacency", ["add_remove", "replace_one"])
DEVIATIONS = 5


def assert_share(found: int, of: int, probability: float) -> None:
    """A binomial share, within five standard deviations; the bits of the test are fixed."""
    assert found / of == pytest.approx(probability, abs=DEVIATIONS * math.sqrt(probability * (1 - probability) / of))


def delta_for(mu: float, epsilon: float) -> float:
    """Profile of a Gaussian mechanism (T6)."""
    return float(norm.cdf(mu / 2 - epsilon / mu) - math.exp(epsilon) * norm.cdf(-mu / 2 - epsilon / mu))


# --- T72 ---


def test_canonical_numbers_have_one_text():
    """T72: the shortest decimal without ".0", whatever the type of the column."""
    columns = (
        [1, 2**53, 7],
        [1.0, 2.0**53, 7.0, 0.1],
        np.array([1, 2**53, 7], dtype=np.uint64),
        ["1", "9007199254740992", 7],
    )
    for column in columns:
        _, texts = canonical_column(column).values()
        assert set(texts) - {"0.1"} == {"1", "9007199254740992", "7"}


def shown_bins(counts: np.ndarray, threshold_deviations: float) -> tuple[np.ndarray, PreparationPlan]:
    """Return the shown counts of 100 columns with these counts; 0 where a bin is not shown."""
    plan = PreparationPlan.for_goal(["a"], GOAL)
    shown = np.zeros((100, BINS))
    threshold = threshold_deviations * plan.profile_noise.scale
    stream = NotPrivateBits(1).stream()
    for row, profile in zip(
        shown, noisy_profiles(np.tile(counts, 100), plan.profile_noise, threshold=threshold, stream=stream), strict=True
    ):
        row[list(profile.counts)] = list(profile.counts.values())
    assert (shown[shown != 0] > threshold).all()
    return shown, plan


def test_empty_and_occupied_bins_are_shown_by_one_law():
    """T72: noise for every bin, and one threshold for all: an occupied bin below it appears nowhere."""
    counts = np.zeros(BINS)
    counts[: BINS // 2] = 1.0
    shown, plan = shown_bins(counts, 2.0)
    half = 100 * (BINS // 2)
    occupied, empty = np.count_nonzero(shown[:, : BINS // 2]), np.count_nonzero(shown[:, BINS // 2 :])
    assert_share(occupied, half, norm.sf(2 - 1 / plan.profile_noise.scale))
    assert_share(empty, 100 * (BINS - BINS // 2), norm.sf(2))


def test_a_bin_is_seen_as_often_as_its_count_says():
    """T72: a bin whose count is z deviations above the threshold is seen with probability Phi(z)."""
    plan = PreparationPlan.for_goal(["a"], GOAL)
    for deviations in (-1.0, 0.0, 1.0):
        counts = np.full(BINS, plan.profile_threshold + deviations * plan.profile_noise.scale)
        shown, _ = shown_bins(counts, plan.profile_threshold / plan.profile_noise.scale)
        assert_share(np.count_nonzero(shown), shown.size, norm.cdf(deviations))


def test_few_empty_bins_are_believed():
    """T72: the threshold is sigma Phi^-1(1 - beta/(B d)), beta = 0.01 expected false bins of the whole table."""
    for columns in (1, 15, 300):
        plan = PreparationPlan.for_goal([f"c{place}" for place in range(columns)], GOAL)
        false = BINS * columns * norm.sf(plan.profile_threshold / plan.profile_noise.scale)
        assert false == pytest.approx(0.01, rel=1e-6)


# --- T73 ---


@BOTH
@pytest.mark.parametrize("columns", [1, 4, 40])
@pytest.mark.parametrize("epsilon", [0.01, 1.0, 20.0])
def test_the_tail_of_the_rounded_noise_meets_the_threshold(epsilon, columns, adjacency, monkeypatch):
    """T73 on a grid, in exact arithmetic: 1 + g k above the threshold implies that the noise exceeds tau - 1.

    k = round(N/g) is at least (N/g) - 1/2, so the threshold of the run has to be half a step above tau.
    """
    goal = ApproxDP(epsilon, 1e-3, adjacency)
    plan = PreparationPlan.for_goal([f"c{place}" for place in range(columns)], goal)
    used = []
    monkeypatch.setattr(
        plan_module,
        "noisy_values",
        lambda *given, threshold, stream: used.append(threshold) or [TextValues({})] * columns,
    )
    plan.draw(PrivateColumns.of({name: ["x"] for name in plan.columns}), NotPrivateBits(1).stream())
    step = Fraction(plan.value_noise.calibration.grid.step)
    assert (Fraction(1) / step).denominator == 1  # counts lie on the grid
    smallest = math.floor((Fraction(used[0]) - 1) / step) + 1  # smallest k that is shown
    assert step * (smallest - Fraction(1, 2)) >= Fraction(plan.value_threshold) - 1
    assert used[0] <= plan.value_threshold + 2 * float(step) + 1e-9
    shown = fresh_value_probability(plan.value_threshold, plan.value_noise.scale, plan.width)
    assert 0.999 * plan.threshold_delta <= shown <= plan.threshold_delta


@pytest.mark.parametrize("values", [1, 3])
def test_several_fresh_values_are_shown_as_often_as_t73_says(values):
    """T73 simulated: a record with fresh values in several columns, 1 - Phi((tau - 1)/sigma)^d.

    The theory page's simulation of sigma = 3, tau = 7 and d = 1 has the share 0.0228405 of two million draws.
    """
    plan = PreparationPlan.for_goal(["a"], GOAL)
    deviation, runs = plan.value_noise.scale, 6000
    columns = [canonical_column([f"{column} {place}" for place in range(runs)]) for column in range(values)]
    found = noisy_values(
        columns, [None] * values, plan.value_noise, threshold=1 + 2 * deviation, stream=NotPrivateBits(2).stream()
    )
    shown = {text.split()[1] for column in found for text in column.counts}
    expected = fresh_value_probability(1 + 2 * deviation, deviation, values)
    assert_share(len(shown), runs, expected)
    if values == 1:
        assert expected == pytest.approx(0.0228405, abs=4 * math.sqrt(0.02275 / 2e6))


def test_the_order_of_the_records_does_not_show():
    """Values are sorted by their noisy counts, and equal counts by the value: the order of records is private."""
    plan = PreparationPlan.for_goal(["a"], GOAL)
    texts = [f"value {place}" for place in range(300)]
    (found,) = noisy_values(
        [canonical_column(texts)], [None], plan.value_noise, threshold=-math.inf, stream=NotPrivateBits(3).stream()
    )
    items = [(count, text) for text, count in found.counts.items()]
    assert len(items) == 300
    assert items == sorted(items, reverse=True)


def test_no_more_classes_than_the_event_covers():
    """T70: the number of classes that were found does not choose the event; rarer ones are left out."""
    found = TextValues({"b": 90.0, "a": 80.0, "d": 70.0, "c": 60.0})
    assert class_labels(found, 2) == ("a", "b")
    assert class_labels(found, 3) == ("a", "b", "d")


# --- T74 ---


@pytest.mark.parametrize(("count", "cells"), [(1.0, 1), (79.0, 1), (160.0, 2), (640.0, 8), (700.0, 8), (1e9, 256)])
def test_a_cell_has_eight_deviations_of_noise(count, cells):
    """T74: 2^floor(log2(c / (8 sigma))) cells, at most 256; zero has its own."""
    edges = number_edges(ColumnProfile({FIRST_POSITIVE + 1074: count}), 10.0, per_cell=8.0, most_cells=256)
    assert edges.tolist() == [1 + place / cells for place in range(cells + 1)]
    profile = ColumnProfile({TEXT: 1e9, ZERO: 1e9})
    assert number_edges(profile, 10.0, per_cell=8.0, most_cells=256).tolist() == [0.0, 5e-324]


@BOTH
def test_a_record_moves_the_second_release_by_the_sensitivity(adjacency):
    """T73, T74: text and numbers share one release; sqrt(d) or sqrt(2 d), by a record that differs in every column."""
    plan = PreparationPlan.for_goal(
        ["a", "b", "c"], ApproxDP(1.0, 1e-5, adjacency), target="y", task=TargetKind.CLASSIFICATION
    )
    rest = [("u", 1.0, "v", 0), ("w", 3.0, 2.0, 1)] * 3
    records = {"add_remove": [("u", 3.5, None, 0), None], "replace_one": [("u", 3.5, "v", 0), ("w", 1.0, 7.0, 1)]}
    edges, sums = [None, np.array([1.0, 2.0, 4.0]), None, None], []
    for record in records[adjacency]:
        rows = [*rest, *([] if record is None else [record])]
        columns = [canonical_column(list(cells)) for cells in zip(*rows, strict=True)]
        counts = {}
        for place, (column, cells) in enumerate(zip(columns, edges, strict=True)):
            found = counted_column(column, cells)
            values = found.texts or range(len(found.counts))
            counts |= {(place, value): count for value, count in zip(values, found.counts, strict=True)}
        sums.append(counts)
    moved = math.sqrt(sum((sums[0].get(key, 0) - sums[1].get(key, 0)) ** 2 for key in {**sums[0], **sums[1]}))
    assert moved == pytest.approx(math.sqrt(3 if adjacency == "add_remove" else 8))  # a missing cell has no value
    assert moved <= plan.value_noise.statistic.sensitivity


# --- T71: exact sizes ---


def split_laws(records: tuple[int, ...], splits: list[tuple[int, ...]]) -> np.ndarray:
    """Law of the noisy sums of both parts, N(0, 1) on each, for a uniform choice of splits; on a grid."""
    grid = np.arange(-9.0, 9.0, 0.05)
    law = np.zeros((len(grid), len(grid)))
    for split in splits:
        first = sum(record for record, part in zip(records, split, strict=True) if part)
        second = sum(record for record, part in zip(records, split, strict=True) if not part)
        law += np.multiply.outer(norm.pdf(grid - first), norm.pdf(grid - second)) * 0.05**2 / len(splits)
    return law


def delta_of_split(splits, epsilon: float) -> float:
    """Exact delta of removing the first record, +1, whose neighbour across the border is -1."""
    records = (1, 1, -1, 0)
    one, other = (split_laws(rows, splits(len(rows))) for rows in (records, records[1:]))
    return max(np.maximum(p - math.exp(epsilon) * q, 0).sum() for p, q in ((one, other), (other, one)))


def first_half(count: int) -> list[tuple[int, ...]]:
    return [tuple(place < (count + 1) // 2 for place in range(count))]


def exact_halves(count: int) -> list[tuple[int, ...]]:
    size = (count + 1) // 2
    return [split for split in itertools.product((0, 1), repeat=count) if sum(split) == size]


def coins(count: int) -> list[tuple[int, ...]]:
    return list(itertools.product((0, 1), repeat=count))


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 2.0])
def test_splits_of_exact_size_exceed_the_claim_under_add_remove(epsilon):
    """T71 (i), E42: removing a record moves another one across the border: a replacement and a removal.

    Two Gaussian stages with mu = 1 read one part each. Independent coins keep the claim of `ParallelParts`, mu = 1. The
    split into first and second half has mu = sqrt(2^2 + 1^2), attained here.
    """
    claim = account(ParallelParts((Gaussian(1.0), Gaussian(1.0))), "add_remove").delta(epsilon)
    assert claim == pytest.approx(delta_for(1.0, epsilon), rel=1e-9)
    assert delta_of_split(coins, epsilon) <= claim
    assert delta_of_split(first_half, epsilon) == pytest.approx(delta_for(math.sqrt(5), epsilon), rel=1e-3)
    assert delta_of_split(first_half, epsilon) > 2 * claim


def test_random_splits_of_exact_size_exceed_the_claim_too():
    """T71 (i): secrecy of the permutation does not help at a small delta; two records, one in each part."""
    grid = np.arange(-9.0, 9.0, 0.02)

    def law(pairs):
        shifted = [np.multiply.outer(norm.pdf(grid - a), norm.pdf(grid - b)) * 0.02**2 for a, b in pairs]
        return sum(shifted) / len(pairs)

    both, one = law([(1, -1), (-1, 1)]), law([(-1, 0)])  # the record +1 is removed
    for epsilon in (1.0, 2.0, 3.0):
        found = float(np.maximum(both - math.exp(epsilon) * one, 0).sum())
        assert found > delta_for(1.0, epsilon)
